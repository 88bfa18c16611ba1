"""`recall-theory verify`: prediction beside simulation, with a verdict a cell."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from ..numerics.formatting import NOTHING, count, plural, signed
from .command import EXIT_CODES, Answer, Command, Output
from .options import choice, file_option, option
from .text_layout import Block, Remark, Table, table, words

if TYPE_CHECKING:
    from ..settings import Setting
    from ..verification.problem import P, Problem, S
    from ..verification.results import Verification

SIZES = ("V", "L", "d", "N")


def run(output: Output, grid: str, predictor: str | None, **values: Any) -> Answer:
    from ..theory.predict import predict
    from ..verification.predictors import load as load_predictor
    from ..verification.problem import THREE_STEP_RECALL

    judged = predict if predictor is None else load_predictor(predictor)

    def answer(result: Verification, wanted: int) -> Answer:
        given = verification_answer(result, grid, wanted, SIZES, variant, predictor or "the theory")
        if predictor is None:
            return given
        from ..verification.residual_analysis import explain, paragraph

        explanation = explain(result)
        data = {**given.data, "predictor": predictor, "explanation": dataclasses.asdict(explanation)}
        return dataclasses.replace(given, data=data, blocks=[*given.blocks[:2], paragraph(explanation),
                                                             *given.blocks[2:]])

    return verified(output, THREE_STEP_RECALL, grid, answer, predictor=judged, **values)


def verified(output: Output, problem: Problem[S, P], grid: str, answer: Callable[[Verification[S, P], int], Answer], *,
             seed: int | None, jobs: int | None, **how: Any) -> Answer:
    """The answer about a verification of a problem over a grid; `answer` is given it and the cells of the grid."""
    from ..verification.engine import verify
    from ..verification.grids import load_grid

    settings, used = load_grid(grid, problem), output.seed(seed)
    return output.measure(
        "seeds",
        lambda progress: verify(settings, seed=used, jobs=jobs or cores(), problem=problem,
                                progress=lambda done, total, _: progress(done, total), **how),
        lambda result: answer(result, len(settings)),
        lambda result: f"{len(result.cells)} of {len(settings)} cells; --seed {used} repeats them")


def cores() -> int:
    """Cores that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        return os.cpu_count() or 1


def variant(setting: Setting) -> str:
    """What a setting is beside its sizes V, L, d and N: embeddings, trigger, MLP; nothing where all is as usual."""
    parts = [] if setting.embedding == "gaussian" else [setting.embedding]
    if not setting.trigger_in_value:
        parts.append("keys only")
    if setting.m is not None:
        parts.append(f"{setting.activation} {count(setting.m)}")
    return ", ".join(parts)


def verification_answer(result: Verification[S, P], grid: str, wanted: int, sizes: Sequence[str],
                        variant: Callable[[S], str], subject: str) -> Answer:
    """What `verify` prints: the verdict, then one line a cell; `wanted` is the number of cells in the grid.

    `sizes` are the attributes of a setting that say which cell it is, and `variant` words for the rest.
    """
    comparisons = [(cell, name, c) for cell in result.cells for name, c in cell.comparisons.items()]
    tally = ", ".join(f"{sum(c.verdict == verdict for _, _, c in comparisons):,} {verdict}" for verdict in EXIT_CODES)
    done = plural(len(result.cells), "cell")
    if len(result.cells) < wanted:
        done += f" of {wanted:,}, interrupted"
    cell, name, worst = max(comparisons, key=lambda item: abs(item[2].difference))
    margins = sorted({cell.margin for cell in result.cells})
    within = f"{margins[0]:g} to {margins[-1]:g}" if len(margins) > 2 else " or ".join(f"{x:g}" for x in margins)
    blocks: list[Block] = [
        f"Verdict on {subject}: {result.verdict}. Of {plural(len(comparisons), 'comparison')}: {tally}.",
        f"Grid {grid}: {done}, {sum(c.seeds for c in result.cells):,} seeds in all, --seed {result.seed}. Largest "
        f"difference: {signed(worst.difference)}, {name} at {_sizes(cell.setting, sizes)}.",
        _cells(result, sizes, variant),
        Remark(f"Of each observable the prediction, then what was observed. A cell agrees when the interval of every "
               f"difference lies within the margin ({within})."),
    ]
    records = [{**cell.setting.to_dict(), "seed": result.seed, "seeds": cell.seeds, "margin": cell.margin,
                "observable": name, **c.record()} for cell, name, c in comparisons]
    return Answer(result.to_dict(), records, blocks, lambda: _details(result, sizes, variant),
                  EXIT_CODES[result.verdict])


def _sizes(setting: object, sizes: Sequence[str]) -> str:
    return ", ".join(f"{size} = {count(getattr(setting, size))}" for size in sizes)


def _cells(result: Verification[S, P], sizes: Sequence[str], variant: Callable[[S], str]) -> Table:
    """One line a cell."""
    observables = dict.fromkeys(name for cell in result.cells for name in cell.comparisons)
    variants = [variant(cell.setting) for cell in result.cells]
    rows = []
    for cell, name in zip(result.cells, variants, strict=True):
        row: dict[str, object] = {size: getattr(cell.setting, size) for size in sizes}
        if any(variants):
            row["variant"] = name
        row |= dict.fromkeys(observables)
        for o, c in cell.comparisons.items():
            row[o] = f"{three_digits(c.predicted)} {three_digits(c.observed.mean)}"
        rows.append({**row, "verdict": cell.verdict})
    disagreeing = [i for i, cell in enumerate(result.cells) if cell.verdict != "agree"]
    return table(rows, marked=disagreeing, labels=len(rows[0]) - len(observables) - 1)


def three_digits(p: float) -> str:
    """A probability in four characters: .853, 1.00."""
    text = f"{p:.3f}"
    return text[1:] if text.startswith("0") else text[:4]


def _details(result: Verification[S, P], sizes: Sequence[str], variant: Callable[[S], str]) -> list[Block]:
    """Each comparison with its interval, design effect and detectable bias."""
    from ..verification.verdicts import VERDICT_ALPHA

    rows: list[dict[str, object]] = []
    for cell in result.cells:
        about = ", ".join(filter(None, (_sizes(cell.setting, sizes), variant(cell.setting),
                                        plural(cell.seeds, "seed"))))
        for name, c in cell.comparisons.items():
            width = f"{(c.high - c.low) / 2:.4f}" if len(c.observed.values) > 1 else NOTHING  # one seed says nothing
            rows.append({"cell": about, "observable": name, "predicted": c.predicted, "observed": c.observed.mean,
                         "difference": f"{signed(c.difference)} ± {width}", "design effect": c.design_effect,
                         "detectable bias": f"{c.detectable:.4f}" if c.detectable < 1 else NOTHING,
                         "verdict": c.verdict + (f": {c.reason}" if c.reason else "")})
            about = ""
    return [
        table(rows, "Each comparison", formats={"cell": words}, labels=2),
        Remark(f"Difference is observed - predicted, with the half width of its interval over seeds at "
               f"{100 * result.confidence:.7g} % ({100 * (1 - VERDICT_ALPHA):g} % for all comparisons together). A "
               "comparison agrees when the interval lies within the margin of zero, disagrees when it lies wholly "
               "outside, and is inconclusive otherwise. The design effect is the variance over seeds in units of that "
               "of as many independent facts. A bias of the margin and the detectable bias together is found 9 times "
               "in 10."),
    ]


def grid_options(grids: str) -> list[click.Parameter]:
    """The options of every verification; `grids` are the names of those that are shipped."""
    return [
        file_option("grid", f"{grids}, or a TOML file with one table [[cell]] a setting  [default: default]",
                    metavar="GRID", default="default"),
        option("seeds", default=None, help="seeds a cell; planned from the predicted spread where absent"),
        option("seed"),
        option("jobs", default=None, help="processes that share the seeds; all cores where absent"),
    ]


DETAILS = "Each comparison with its interval, design effect and detectable bias."
command = Command(
    "verify", run,
    params=[
        *grid_options("default, full, attention-only, mlp"),
        choice("until", ["conclusive"], "go on in each cell until its verdicts are conclusive, or until it has had "
               "--seeds (50,000); the intervals are wider, and hold however long that takes", metavar="conclusive"),
        file_option("predictor", "judge your own formula: module:function, law.py:function, or a file of expressions "
                    "in V, L, d, N, m", metavar="PREDICTOR"),
        option("margin", default=None, help="largest difference that still counts as agreement; what each formula "
               "declares where absent"),
    ],
    details=DETAILS,
    help="Lay predictions beside simulations over a grid of settings. Each observable of each cell gets a verdict: "
         "agree, disagree, or inconclusive. Exit code 0 if all agree, 1 if any disagrees, else 3.",
    examples=["verify", "verify --grid my_grid.toml --seeds 200 --seed 7 --json --output verdict.json",
              "verify --predictor mylaws:recall --until conclusive"],
)
