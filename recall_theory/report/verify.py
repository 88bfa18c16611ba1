"""Prediction beside simulation, cell by cell, and the verdict on the whole."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .answer import Answer, Block, Column, Prose, Table
from .numbers import NOTHING, count, plural, probability, signed

if TYPE_CHECKING:
    from ..verify import Cell, Comparison, Verification

VERDICTS = ("agree", "disagree", "inconclusive")


def answer(found: Verification, grid: str, wanted: int, exit_code: int) -> Answer:
    """The verification in its three forms; `wanted` is the number of cells in the grid."""
    data = found.to_dict()
    if len(found.cells) < wanted:
        data["interrupted"] = True
    records = [
        {**cell.setting.to_dict(), "seed": found.seed, "seeds": cell.seeds, "observable": name,
         "predicted": c.predicted, "predicted_std": c.predicted_std, "observed": c.observed.mean,
         "se": c.observed.se, "std": c.observed.std, "difference": c.difference, "low": c.low,
         "high": c.high, "verdict": c.verdict}
        for cell in found.cells for name, c in cell.comparisons.items()]
    return Answer(data, records, _blocks(found, grid, wanted), exit_code)


def _blocks(found: Verification, grid: str, wanted: int) -> list[Block]:
    plain = all(_variant(c) == "gaussian" for c in found.cells)
    sizes = [Column(name) for name in ("V", "L", "d", "N")]
    more = [] if plain else [Column("variant", words=True)]
    columns = [*sizes, *more, Column("seeds"), Column("observable", words=True), Column("predicted"),
               Column("observed"), Column("difference"), Column("verdict", words=True)]
    rows: list[Sequence[str]] = []
    marked = set()
    for cell in found.cells:
        for i, (name, c) in enumerate(cell.comparisons.items()):
            if c.verdict != "agree":
                marked.add(len(rows))
            about = _about(cell, plain)
            rows.append([*(about if i == 0 else [""] * len(about)), name, probability(c.predicted),
                         probability(c.observed.mean), _difference(c), c.verdict])
    done = plural(len(found.cells), "cell")
    if len(found.cells) < wanted:
        done += f" of {wanted:,}, interrupted"
    return [
        Prose("Does the theory agree with the simulation?", heading=True),
        Prose(f"Grid {grid}: {done}, {sum(c.seeds for c in found.cells):,} seeds in all, "
              f"--seed {found.seed}."),
        Table(columns, rows, groups=5 + len(more), marked=frozenset(marked)),
        Prose(_summary(found)),
        Prose(f"Difference is observed - predicted, with the half width of its interval over seeds at "
              f"{100 * found.confidence:.5g} % (95 % for all comparisons together). A comparison agrees when "
              f"the interval lies within {found.margin:g} of zero, disagrees when it lies wholly outside, and "
              "is inconclusive otherwise.", remark=True),
    ]


def _about(cell: Cell, plain: bool) -> list[str]:
    s = cell.setting
    sizes = [count(getattr(s, name)) for name in ("V", "L", "d", "N")]
    return [*sizes, *([] if plain else [_variant(cell)]), count(cell.seeds)]


def _variant(cell: Cell) -> str:
    s = cell.setting
    words = s.embedding + ("" if s.trigger_in_value else ", trigger in keys only")
    return words if s.m is None else f"{words}, m = {count(s.m)} ({s.activation})"


def _difference(c: Comparison) -> str:
    half = (c.high - c.low) / 2
    width = f"{half:.4f}" if half < 1 else NOTHING  # a single seed has no interval
    return f"{signed(c.difference)} ± {width}"


def _summary(found: Verification) -> str:
    comparisons = [(cell, name, c) for cell in found.cells for name, c in cell.comparisons.items()]
    tally = ", ".join(f"{sum(c.verdict == v for _, _, c in comparisons):,} {v}" for v in VERDICTS)
    cell, name, worst = max(comparisons, key=lambda item: abs(item[2].difference))
    s = cell.setting
    return (f"Of {plural(len(comparisons), 'comparison')}: {tally}. Largest difference: "
            f"{signed(worst.difference)}, {name} at V = {count(s.V)}, L = {count(s.L)}, d = {count(s.d)}, "
            f"N = {count(s.N)}.\nVerdict: {found.verdict}.")
