"""Predicted beside simulated geometric recall, cell by cell, and the verdict on the whole."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..answer import Answer, Block, Column, Prose, Table
from ..numbers import count, plural, probability, signed
from ..verify import VERDICTS, detectable, difference, verdict

if TYPE_CHECKING:
    from ...geometric.geometric_prediction import GeometricPrediction
    from ...geometric.geometric_setting import GeometricSetting
    from ...verification.results import Cell, Verification


def answer(found: Verification[GeometricSetting, GeometricPrediction], grid: str, wanted: int,
           exit_code: int) -> Answer:
    """The verification in its three forms; `wanted` is the number of cells in the grid."""
    data = found.to_dict()
    if len(found.cells) < wanted:
        data["interrupted"] = True
    records = [{**c.setting.to_dict(), "seed": found.seed, "seeds": c.seeds, **c.comparisons["recall"].record()}
               for c in found.cells]
    return Answer(data, records, _blocks(found, grid, wanted), exit_code)


def _blocks(found: Verification[GeometricSetting, GeometricPrediction], grid: str, wanted: int) -> list[Block]:
    from ...verification.verdicts import VERDICT_ALPHA

    columns = [*(Column(name) for name in ("N", "R", "k", "d")), Column("hops", words=True), Column("seeds"),
               Column("predicted"), Column("observed"), Column("difference"), Column("detectable bias"),
               Column("verdict", words=True)]
    done = plural(len(found.cells), "cell") + ("" if len(found.cells) == wanted else f" of {wanted:,}, interrupted")
    tally = ", ".join(f"{sum(c.verdict == v for c in found.cells):,} {v}" for v in VERDICTS)
    worst = max((c.comparisons["recall"] for c in found.cells), key=lambda c: abs(c.difference))
    return [
        Prose("Does the theory of geometric recall agree with the simulation?", heading=True),
        Prose(f"Grid {grid}: {done}, {sum(c.seeds for c in found.cells):,} seeds in all, "
              f"--seed {found.seed}."),
        Table(columns, [_row(c) for c in found.cells], groups=5,
              marked=frozenset(i for i, c in enumerate(found.cells) if c.verdict != "agree")),
        Prose(f"Of {plural(len(found.cells), 'cell')}: {tally}. Largest difference: {signed(worst.difference)}.\n"
              f"Verdict: {found.verdict}."),
        Prose(f"Difference is observed - predicted, with the half width of its interval over seeds at "
              f"{100 * found.confidence:.7g} % ({100 * (1 - VERDICT_ALPHA):g} % for all cells together). A cell agrees "
              f"when the interval lies within {found.margin:g} of zero, disagrees when it lies wholly outside, and is "
              "inconclusive otherwise. A bias of the margin and the detectable bias together is found 9 times in 10.",
              remark=True),
    ]


def _row(cell: Cell[GeometricSetting, GeometricPrediction]) -> tuple[str, ...]:
    s, c = cell.setting, cell.comparisons["recall"]
    how = "chain of thought" if s.chain_of_thought else plural(s.depth, "layer")
    hops = "1" if s.hops == 1 else f"{s.hops}, {how}"
    return (count(s.N), count(s.R), count(s.k), count(s.width), hops, count(cell.seeds), probability(c.predicted),
            probability(c.observed.mean), difference(c), detectable(c), verdict(c))
