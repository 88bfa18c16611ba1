"""`recall-theory verify`: prediction beside simulation, with a verdict a cell."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from ..numerics.formatting import NOTHING, brief, count, deviation, number, plural, signed
from ..settings import SIZES
from .answers import EXIT_CODES, Answer, Output, command, cores
from .options import choice, file_option, option
from .text_layout import Block, Remark, Table, legend, marked, table

if TYPE_CHECKING:
    from ..settings import Setting
    from ..verification.problem import P, Problem, S
    from ..verification.results import Comparison, JudgedCells, Verification

MOST_BIASED = 2  # groups that are named above the table
# A term of a variant, up to the comma behind it; a comma in an expression's brackets parts no terms.
TERM = re.compile(r"(?P<words>.+?)(?P<size> [0-9,]+)?(?:, (?![^()]*\))|$)")
MARKS = {"agree": " ", "disagree": "!", "inconclusive": "?"}
DETAILS = "Each comparison with its interval, margin and design effect."
SHORT_REASONS = {"too skewed to judge": "too skewed", "too few seeds to show rare failures": "too few seeds"}


def grid_options(grids: str) -> list[click.Parameter]:
    """The options of every verification; `grids` are the names of those that are shipped."""
    return [
        file_option("grid", f"{grids}, or a TOML file with one table [[cell]] a setting  [default: default]",
                    metavar="GRID", default="default"),
        option("seeds", default=None, help="seeds a cell; planned from the predicted spread where absent"),
        option("seed"),
        option("jobs", default=None, help="processes that share the seeds; all cores where absent"),
    ]


@command("verify",
         "verify --grid my_grid.toml --seeds 200 --seed 7 --json --output verdict.json",
         "verify --predictor mylaws:recall --until conclusive",
         params=[*grid_options("default, full, attention-only, mlp"),
                 choice("until", ["conclusive"], "go on in each cell until its verdicts are conclusive, any cell "
                        "disagrees, or it has had --seeds (50,000); the intervals are wider, and hold however long "
                        "that takes", metavar="conclusive"),
                 file_option("predictor", "judge your own formula: module:function, law.py:function, or a file of "
                             "expressions in V, L, d, N, m", metavar="PREDICTOR"),
                 option("margin", default=None, help="largest difference that still counts as agreement, in a cell or "
                        "over a group; what each formula declares where absent")],
         details=DETAILS)
def verify_command(output: Output, predictor: str | None, **values: Any) -> Answer:
    """Lay predictions beside simulations over a grid of settings; a file may give eta and gamma. Each observable of
    each cell gets a verdict: agree, disagree, or inconclusive; and so does the mean error over each group of cells.
    Exit code 0 if all agree, 1 if any disagrees, else 3."""
    from ..theory.predict import predict
    from ..verification.predictors import explain, load, paragraph
    from ..verification.problem import THREE_STEP_RECALL

    def cell(setting: Setting) -> dict[str, int | str | None]:
        return {name: getattr(setting, name) for name in SIZES[:4]} | {"variant": variant(setting)}

    judged = predict if predictor is None else load(predictor)
    result, answer = verified(output, THREE_STEP_RECALL, predictor or "the theory", cell, predictor=judged, **values)
    if predictor is None:
        return answer
    explanation = explain(result)
    data = {**answer.data, "predictor": predictor, "explanation": dataclasses.asdict(explanation)}
    blocks = [*answer.blocks[:2], paragraph(explanation), *answer.blocks[2:]]
    return dataclasses.replace(answer, data=data, blocks=blocks)


def verified(output: Output, problem: Problem[S, P], subject: str,
             cell_of: Callable[[S], Mapping[str, int | str | None]], *, grid: str, seed: int | None, jobs: int | None,
             **how: Any) -> tuple[Verification[S, P], Answer]:
    """A verification of a problem over a grid, and the answer about it: the verdict, then one line a cell.

    `cell_of` gives the sizes that say which cell a setting is, by heading, and a "variant" in words.
    """
    from ..verification.engine import verify
    from ..verification.problem import load_grid

    settings, used = load_grid(grid, problem), output.seed(seed)
    wanted = len(settings)

    def finished(result: Verification[S, P]) -> str:
        early = ", before all had their seeds" if len(result.cells) == wanted else ""
        return f"{len(result.cells):,} of {plural(wanted, 'cell')}{early}; --seed {used} repeats them"

    result = output.measure(
        "seeds", lambda progress: verify(settings, seed=used, jobs=jobs or cores(), problem=problem,
                                         progress=lambda done, total, _: progress(done, total),
                                         announce=output.say if output.progress else None, **how), finished)

    comparisons, cells = result.comparisons, result.cells
    tally = ", ".join(f"{n:,} {verdict}" for verdict, n in result.tally().items())
    seeds = sum(cell.seeds for cell in cells)
    done = plural(wanted, "cell") if len(cells) == wanted else f"{len(cells):,} of {wanted:,} cells"
    planned = "" if result.seeds_planned is None else f" of {result.seeds_planned:,} planned: the verdict is certain"
    at, name, worst = result.largest
    place = ", ".join(f"{size} = {count(value)}" for size, value in cell_of(at.setting).items()
                      if not isinstance(value, str))
    margins = sorted({f"{c.margin:.2g}" for _, _, c in comparisons}, key=float)
    observables = dict.fromkeys(observable for _, observable, _ in comparisons)
    pairs = {o: _pairs([cell.comparisons.get(o) for cell in cells]) for o in observables}
    rows = [{"cell": i + 1, **cell_of(cell.setting), "seeds": cell.seeds, **{o: of[i] for o, of in pairs.items()},
             "verdict": marked(cell.verdict, cell.remarks)} for i, cell in enumerate(cells)]
    sizes = ", ".join(cell_of(at.setting))
    records = [{**cell.setting.to_dict(), "seed": used, "seeds": cell.seeds, "margin": c.margin,
                **({} if cell.remarks is None else {"checked": not cell.remarks}), "observable": name, **c.record()}
               for cell, name, c in comparisons]
    return result, Answer(result.to_dict(), records, [
        f"Verdict on {subject}: {result.verdict}. Of {plural(len(comparisons), 'comparison')}: {tally}."
        f"{bias_in_words(result)}",
        f"Grid {grid}: {done}, --seed {used}, {seeds:,} seeds in all{planned}. Largest difference: "
        f"{signed(worst.difference)}, {name} at {place}.{_seeds_for_verdicts(result)}",
        one_line(rows, ", ".join((sizes, *pairs, "verdict")), labels=len(sizes.split(", ")),
                 marked=[i for i, cell in enumerate(cells) if cell.verdict != "agree"]),
        *legend(cell.remarks for cell in cells),
        Remark(f"Columns: predicted/observed, margins {' to '.join(dict.fromkeys((margins[0], margins[-1])))}."),
    ], lambda: [one_line(rows, f"cell, {sizes}, seeds", "Cells"), *_details(result)], EXIT_CODES[result.verdict])


def variant(setting: Setting) -> str:
    """What a setting is beside its sizes V, L, d and N: embeddings, trigger, MLP; nothing where all is as usual."""
    parts = [] if setting.embedding == "gaussian" else [setting.embedding]
    if not setting.trigger_in_value:
        parts.append("keys only")
    if not setting.is_limit:
        parts.append(f"beta {number(setting.beta)}")
    if setting.m is not None:
        parts.append(f"{setting.activation} {count(setting.m)}")
    return ", ".join(parts)


def one_line(rows: Sequence[Mapping[str, object]], columns: str, title: str = "", **layout: Any) -> Table:
    """A table of one line a row. Where it is too wide, a letter stands for the words of each term in its column
    "variant", but for a size at the end, and is explained below: "orthogonal, relu 64" is "ab 64".
    """
    letters: dict[str, str] = {}

    def abbreviated(term: re.Match[str]) -> str:
        return letters.setdefault(term["words"], chr(ord("a") + len(letters))) + (term["size"] or "")

    short = [{**row, "variant": TERM.sub(abbreviated, str(row["variant"]))} for row in rows]
    whole, narrow = (table(each, columns, title, whole=("variant", "verdict"), **layout) for each in (rows, short))
    key = "; ".join(f"{letter} = {words}" for words, letter in letters.items())
    return dataclasses.replace(whole, narrower=[narrow, f"Variants: {key}."] if letters else ())


def _pairs(comparisons: Sequence[Comparison | None]) -> list[str | None]:
    """The prediction and the observed mean of each comparison, with the strokes between them below one another."""
    texts = [None if c is None else (brief(c.predicted), brief(c.observed.mean)) for c in comparisons]
    left, right = (max(len(pair[side]) for pair in texts if pair) for side in (0, 1))
    return [pair and f"{pair[0]:>{left}}/{pair[1]:<{right}}" for pair in texts]


def bias_in_words(judged: JudgedCells[S, P]) -> str:
    """Over which groups of cells the predictions are biased, where they are, or over how many they agree.

    Where every cell is decided, also the groups that had too few seeds.
    """
    from ..verification.results import biases_in_words

    pooled, wrong = judged.pooled, judged.biased
    if not pooled:
        return ""
    if not wrong:
        agree = sum(test.verdict == "agree" for test in pooled)
        still_open = biases_in_words(
            ((test.group, test.observable) for test in pooled if test.verdict == "inconclusive"), MOST_BIASED)
        decided = not any(cell.is_open for cell in judged.cells)  # else a line says what the cells themselves take
        undecided = f"; too few seeds to judge {still_open}" if still_open and decided else ""
        total = plural(len(pooled), "bias", "biases")
        return f" Pooled over the grid: {agree} of {total} within the margin{undecided}."
    agrees = all(cell.verdict == "agree" for cell in judged.cells)
    where = "Agree in each cell, biased over the grid" if agrees else "Biased over the grid"
    groups = "; ".join(f"{test.group} {test.observable} {test.in_percent} %" for test in wrong[:MOST_BIASED])
    more = f"; and {len(wrong) - MOST_BIASED} more" if len(wrong) > MOST_BIASED else ""
    return f" {where}: {groups}{more}."


def _seeds_for_verdicts(result: Verification[S, P]) -> str:
    """What verdicts would take where some are inconclusive."""
    had = sorted({cell.seeds for cell in result.cells if cell.is_open})
    if not had:
        return ""
    here = " to ".join(f"{n:,}" for n in dict.fromkeys((had[0], had[-1])))
    is_anytime = any(c.method == "anytime" for _, _, c in result.comparisons)
    if is_anytime or result.seeds_wanted <= had[0]:
        return f" More than {here} seeds a cell may decide what is inconclusive."
    return f" Verdicts take some {result.seeds_wanted:,} seeds a cell; here {here}."


def _details(result: Verification[S, P]) -> list[Block]:
    """Each comparison with its interval, margin and design effect: a table for each observable; and the groups."""
    rows: dict[str, list[dict[str, object]]] = {}
    for i, cell in enumerate(result.cells, start=1):
        for observable, c in cell.comparisons.items():
            # One seed has no width.
            width = deviation((c.usual[1] - c.usual[0]) / 2) if len(c.observed.values) > 1 else NOTHING
            rows.setdefault(observable, []).append({
                "cell": i, "predicted": c.predicted, "observed": c.observed.mean,
                "difference": f"{signed(c.difference)} ± {width}", "margin": f"{c.margin:.2g}",
                "design effect": c.design_effect, "verdict": SHORT_REASONS.get(c.reason, c.verdict)})
    groups: dict[str, dict[str, str]] = {}
    for test in result.pooled:
        row = groups.setdefault(test.group, {"group": test.group})
        row[test.observable] = f"{test.in_percent} {MARKS[test.verdict]}"
    pooled: list[Block] = [
        table(groups.values(), title="Bias over the grid, predicted − observed, in % of observed", whole=("group",)),
        Remark("Each with its 95 % interval. The margin is 0.5 % or 0.001, the larger; ! is beyond it, ? undecided."),
    ]
    return [
        *(table(of, title=observable.capitalize(), whole=("verdict",)) for observable, of in rows.items()),
        Remark("Difference is observed - predicted, with the half width of its 95 % interval over seeds. A comparison "
               "agrees when that lies within the margin, and disagrees when its interval at "
               f"{100 * result.confidence:.7g} %, corrected for all comparisons and looks, lies wholly outside. The "
               "design effect is the variance over seeds in units of that of as many independent facts."),
        *(pooled if groups else []),
    ]
