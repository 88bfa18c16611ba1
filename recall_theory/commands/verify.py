"""`recall-theory verify`: prediction beside simulation, with a verdict a cell."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from ..numerics.formatting import NOTHING, brief, count, deviation, number, plural, signed
from ..settings import SIZES
from .command import EXIT_CODES, Answer, Command, Output, cores
from .options import choice, file_option, option
from .text_layout import Block, Remark, Table, label, legend, marked, table

if TYPE_CHECKING:
    from ..settings import Setting
    from ..verification.problem import P, Problem, S
    from ..verification.results import Comparison, JudgedCells, Verification

_WORD_AND_SIZE = re.compile(r"(.*?)( [0-9,]+)?$")  # "relu 1,024"


def run(output: Output, grid: str, predictor: str | None, **values: Any) -> Answer:
    from ..theory.predict import predict
    from ..verification.predictors import load as load_predictor
    from ..verification.problem import THREE_STEP_RECALL

    judged = predict if predictor is None else load_predictor(predictor)

    def answer(result: Verification, wanted: int) -> Answer:
        given = verification_answer(result, grid, wanted, SIZES[:4], variant, predictor or "the theory")
        if predictor is None:
            return given
        from ..verification.predictors import explain, paragraph

        explanation = explain(result)
        data = {**given.data, "predictor": predictor, "explanation": dataclasses.asdict(explanation)}
        blocks = [*given.blocks[:2], paragraph(explanation), *given.blocks[2:]]
        return dataclasses.replace(given, data=data, blocks=blocks)

    return verified(output, THREE_STEP_RECALL, grid, answer, predictor=judged, **values)


def verified(output: Output, problem: Problem[S, P], grid: str, answer: Callable[[Verification[S, P], int], Answer], *,
             seed: int | None, jobs: int | None, **how: Any) -> Answer:
    """The answer about a verification of a problem over a grid; `answer` is given it and the cells of the grid."""
    from ..verification.engine import verify
    from ..verification.problem import load_grid

    settings, used = load_grid(grid, problem), output.seed(seed)

    return output.measure(
        "seeds",
        lambda progress: verify(settings, seed=used, jobs=jobs or cores(), problem=problem,
                                progress=lambda done, total, _: progress(done, total),
                                announce=output.say if output.progress else None, **how),
        lambda result: answer(result, len(settings)),
        lambda result: f"{len(result.cells):,} of {plural(len(settings), 'cell')}"
                       + (", before all had their seeds" if len(result.cells) == len(settings) else "")
                       + f"; --seed {used} repeats them")


def variant(setting: Setting) -> str:
    """What a setting is beside its sizes V, L, d and N: embeddings, trigger, MLP; nothing where all is as usual."""
    parts = [] if setting.embedding == "gaussian" else [setting.embedding]
    if not setting.trigger_in_value:
        parts.append("keys only")
    if setting.m is not None:
        parts.append(f"{setting.activation} {count(setting.m)}")
    if not setting.is_limit:
        parts.append(f"beta {number(setting.beta)}")
    return ", ".join(parts)


def one_line(rows: Sequence[Mapping[str, object]], title: str = "", **layout: Any) -> Table:
    """A table of one line a row, whose column "variant" has initials where its words are too long for the width.

    The column is left out where no row has any.
    """
    variants = [str(row["variant"]) for row in rows]
    if not any(variants):
        return table(({k: v for k, v in row.items() if k != "variant"} for row in rows), title, **layout)
    short, key = _initials(variants)
    narrower: list[Block] = [
        table(({**row, "variant": code} for row, code in zip(rows, short, strict=True)), title,
              formats={"variant": label}, **layout),
        f"Variants: {key}.",
    ]
    whole = table(rows, title, formats={"variant": label}, **layout)
    return dataclasses.replace(whole, narrower=narrower)


def _initials(variants: Sequence[str]) -> tuple[list[str], str]:
    """Each variant with its words cut to initials ("orthogonal, relu 64": "or 64"), and what these stand for."""
    initials: dict[str, str] = {}
    short = []
    for variant in variants:
        codes = []
        for term in filter(None, re.split(r", (?![^()]*\))", variant)):  # a comma in an expression parts no terms
            word, size = _WORD_AND_SIZE.findall(term)[0]
            if word not in initials:
                same = sum(code[0] == word[0] for code in initials.values())
                initials[word] = f"{word[0]}{same + 1 if same else ''}"
            codes.append(initials[word] + size)
        short.append("".join(codes))
    return short, "; ".join(f"{code} = {word}" for word, code in sorted(initials.items(), key=lambda item: item[1]))


def verification_answer(result: Verification[S, P], grid: str, wanted: int, sizes: Sequence[str],
                        variant: Callable[[S], str], subject: str) -> Answer:
    """What `verify` prints: the verdict, then one line a cell; `wanted` is the number of cells in the grid.

    `sizes` are the attributes of a setting that say which cell it is, and `variant` words for the rest.
    """
    comparisons = result.comparisons
    tally = ", ".join(f"{n:,} {verdict}" for verdict, n in result.tally().items())
    done = plural(wanted, "cell") if len(result.cells) == wanted else f"{len(result.cells):,} of {wanted:,} cells"
    cell, name, worst = result.largest
    seeds = sum(c.seeds for c in result.cells)
    early = ""
    if result.seeds_planned is not None:
        early = f" The verdict is certain: the run ended after {seeds:,} of {result.seeds_planned:,} planned seeds."
    blocks: list[Block] = [
        f"Verdict on {subject}: {result.verdict}. Of {plural(len(comparisons), 'comparison')}: {tally}."
        f"{early}{bias_in_words(result)}",
        f"Grid {grid}: {done}, {seeds:,} seeds in all, --seed {result.seed}. Largest "
        f"difference: {signed(worst.difference)}, {name} at {_sizes(cell.setting, sizes)}."
        + _seeds_for_verdicts(result),
        _cells(result, sizes, variant),
        *legend(cell.remarks for cell in result.cells),
        Remark(f"Columns: predicted/observed, margins {_margins(result)}."),
    ]
    records = [{**cell.setting.to_dict(), "seed": result.seed, "seeds": cell.seeds, "margin": c.margin,
                **({} if cell.remarks is None else {"checked": not cell.remarks}), "observable": name, **c.record()}
               for cell, name, c in comparisons]
    return Answer(result.to_dict(), records, blocks, lambda: _details(result, sizes, variant),
                  EXIT_CODES[result.verdict])


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


def _pooled(result: Verification[S, P]) -> list[Block]:
    """One line a group of cells, with its mean error on each observable."""
    if not result.pooled:
        return []
    rows: dict[str, dict[str, object]] = {}
    for test in result.pooled:
        row = rows.setdefault(test.group, {"group": test.group})
        row[test.observable] = f"{test.in_percent} {MARKS[test.verdict]}"
    return [
        table(rows.values(), "Bias over the grid, predicted − observed, in % of observed", formats={"group": label}),
        Remark("Each with its 95 % interval. The margin is 0.5 % or 0.001, the larger; ! is beyond it, ? is not "
               "decided, which leaves the verdict to the cells."),
    ]


def _margins(result: Verification[S, P]) -> str:
    margins = sorted({c.margin for _, _, c in result.comparisons})
    return f"{margins[0]:.2g} to {margins[-1]:.2g}" if len(margins) > 2 else " or ".join(f"{x:.2g}" for x in margins)


def _sizes(setting: object, sizes: Sequence[str]) -> str:
    return ", ".join(f"{size} = {count(getattr(setting, size))}" for size in sizes)


def _seeds_for_verdicts(result: Verification[S, P]) -> str:
    """What verdicts would take where some are inconclusive."""
    still_open = [cell for cell in result.cells if cell.is_open]
    if not still_open:
        return ""
    had = " to ".join(f"{n:,}" for n in sorted({min(c.seeds for c in still_open), max(c.seeds for c in still_open)}))
    if any(c.method == "anytime" for c in still_open[0].comparisons.values()):
        return f" More than {had} seeds a cell may decide what is inconclusive."
    widest = result.seeds_wanted
    if widest <= min(cell.seeds for cell in still_open):
        return f" What is inconclusive lies near the margin: only many more seeds than {had} a cell would decide it."
    return f" Verdicts take some {widest:,} seeds a cell; here {had}."


def _cells(result: Verification[S, P], sizes: Sequence[str], variant: Callable[[S], str]) -> Table:
    """One line a cell."""
    observables = dict.fromkeys(name for _, name, _ in result.comparisons)
    shown = {o: _pairs([cell.comparisons.get(o) for cell in result.cells]) for o in observables}
    rows = []
    for i, cell in enumerate(result.cells):
        row: dict[str, object] = {size: getattr(cell.setting, size) for size in sizes}
        row |= {"variant": variant(cell.setting), **{o: shown[o][i] for o in observables},
                "verdict": marked(cell.verdict, cell.remarks)}
        rows.append(row)
    disagreeing = [i for i, cell in enumerate(result.cells) if cell.verdict != "agree"]
    return one_line(rows, marked=disagreeing, labels=len(sizes) + 1)


def _pairs(comparisons: Sequence[Comparison | None]) -> list[str | None]:
    """The prediction and the observed mean of each comparison, with the strokes between them below one another."""
    texts = [None if c is None else (brief(c.predicted), brief(c.observed.mean)) for c in comparisons]
    left, right = (max(len(pair[side]) for pair in texts if pair) for side in (0, 1))
    return [pair and f"{pair[0]:>{left}}/{pair[1]:<{right}}" for pair in texts]


MOST_BIASED = 2  # groups that are named above the table
MARKS = {"agree": " ", "disagree": "!", "inconclusive": "?"}
SHORT_REASONS = {"too skewed to judge": "too skewed", "too few seeds to show rare failures": "too few seeds"}


def _details(result: Verification[S, P], sizes: Sequence[str], variant: Callable[[S], str]) -> list[Block]:
    """Each comparison with its interval, margin and design effect: a table for each observable."""
    cells = [{"cell": i, **{size: getattr(cell.setting, size) for size in sizes}, "variant": variant(cell.setting),
              "seeds": cell.seeds} for i, cell in enumerate(result.cells, start=1)]
    blocks: list[Block] = [one_line(cells, "Cells", labels=len(sizes) + 2)]
    for observable in dict.fromkeys(name for _, name, _ in result.comparisons):
        rows = [_in_detail(i, cell.comparisons[observable]) for i, cell in enumerate(result.cells, start=1)
                if observable in cell.comparisons]
        blocks.append(table(rows, observable.capitalize(), formats={"verdict": label}))
    return [
        *blocks,
        Remark("Difference is observed - predicted, with the half width of its 95 % interval over seeds. A comparison "
               "agrees when that lies within the margin of zero, and disagrees when its interval at "
               f"{100 * result.confidence:.7g} %, corrected for all comparisons and looks, lies wholly outside. It is "
               "inconclusive otherwise: also where the values of its seeds are too skewed for an interval, and where "
               "they are too few to show rare failures. The design effect is the variance over seeds in units of that "
               "of as many independent facts."),
        *_pooled(result),
    ]


def _in_detail(cell: int, c: Comparison) -> dict[str, object]:
    width = deviation((c.usual[1] - c.usual[0]) / 2) if len(c.observed.values) > 1 else NOTHING  # one seed says nothing
    return {"cell": cell, "predicted": c.predicted, "observed": c.observed.mean,
            "difference": f"{signed(c.difference)} ± {width}", "margin": f"{c.margin:.2g}",
            "design effect": c.design_effect, "verdict": SHORT_REASONS.get(c.reason, c.verdict)}


def grid_options(grids: str) -> list[click.Parameter]:
    """The options of every verification; `grids` are the names of those that are shipped."""
    return [
        file_option("grid", f"{grids}, or a TOML file with one table [[cell]] a setting  [default: default]",
                    metavar="GRID", default="default"),
        option("seeds", default=None, help="seeds a cell; planned from the predicted spread where absent"),
        option("seed"),
        option("jobs", default=None, help="processes that share the seeds; all cores where absent"),
    ]


DETAILS = "Each comparison with its interval, margin and design effect."
command = Command(
    "verify", run,
    params=[
        *grid_options("default, full, attention-only, mlp"),
        choice("until", ["conclusive"], "go on in each cell until its verdicts are conclusive, any cell disagrees, or "
               "it has had --seeds (50,000); the intervals are wider, and hold however long that takes",
               metavar="conclusive"),
        file_option("predictor", "judge your own formula: module:function, law.py:function, or a file of expressions "
                    "in V, L, d, N, m", metavar="PREDICTOR"),
        option("margin", default=None, help="largest difference that still counts as agreement, in a cell or over a "
               "group; what each formula declares where absent"),
    ],
    details=DETAILS,
    help="Lay predictions beside simulations over a grid of settings; a file may give eta and gamma. Each "
         "observable of each cell gets a verdict: agree, disagree, or inconclusive; and so does the mean error over "
         "each group of cells. Exit code 0 if all agree, 1 if any disagrees, else 3.",
    examples=["verify", "verify --grid my_grid.toml --seeds 200 --seed 7 --json --output verdict.json",
              "verify --predictor mylaws:recall --until conclusive"],
)
