"""Prediction beside simulation, cell by cell, and the verdict on the whole."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .answer import Answer, Block, Column, Prose, Table
from .numbers import NOTHING, count, number, plural, probability, signed

if TYPE_CHECKING:
    from ..verification.results import Cell, Comparison, Verification

VERDICTS = ("agree", "disagree", "inconclusive")


def answer(found: Verification, grid: str, wanted: int, exit_code: int, predictor: str | None = None) -> Answer:
    """The verification in its three forms; `wanted` is the number of cells in the grid."""
    data = found.to_dict()
    if len(found.cells) < wanted:
        data["interrupted"] = True
    blocks = _blocks(found, grid, wanted, predictor)
    if predictor is not None:
        from ..verification.residual_analysis import explain, paragraph

        why = explain(found)
        data |= {"predictor": predictor, "explanation": why.to_dict()}
        blocks.append(Prose(paragraph(why)))
    records = [
        {**cell.setting.to_dict(), "seed": found.seed, "seeds": cell.seeds, "margin": cell.margin, "observable": name,
         **c.record()}
        for cell in found.cells for name, c in cell.comparisons.items()]
    return Answer(data, records, blocks, exit_code)


def _blocks(found: Verification, grid: str, wanted: int, predictor: str | None) -> list[Block]:
    from ..verification.verdicts import VERDICT_ALPHA

    plain = all(variant(c) == "gaussian" for c in found.cells)
    sizes = [Column(name) for name in ("V", "L", "d", "N")]
    more = [] if plain else [Column("variant", words=True)]
    columns = [*sizes, *more, Column("seeds"), Column("observable", words=True), Column("predicted"),
               Column("observed"), Column("difference"), Column("design effect"), Column("detectable bias"),
               Column("verdict", words=True)]
    rows: list[Sequence[str]] = []
    marked = set()
    for cell in found.cells:
        for i, (name, c) in enumerate(cell.comparisons.items()):
            if c.verdict != "agree":
                marked.add(len(rows))
            about = _about(cell, plain)
            rows.append([*(about if i == 0 else [""] * len(about)), name, probability(c.predicted),
                         probability(c.observed.mean), difference(c), number(c.design_effect, 2), detectable(c),
                         verdict(c)])
    done = plural(len(found.cells), "cell")
    if len(found.cells) < wanted:
        done += f" of {wanted:,}, interrupted"
    subject = "the theory" if predictor is None else predictor
    return [
        Prose(f"Does {subject} agree with the simulation?", heading=True),
        Prose(f"Grid {grid}: {done}, {sum(c.seeds for c in found.cells):,} seeds in all, "
              f"--seed {found.seed}."),
        Table(columns, rows, groups=5 + len(more), marked=frozenset(marked)),
        Prose(_summary(found)),
        Prose(f"Difference is observed - predicted, with the half width of its interval over seeds at "
              f"{100 * found.confidence:.7g} % ({100 * (1 - VERDICT_ALPHA):g} % for all comparisons together). A "
              f"comparison agrees when the interval lies within the margin ({_margins(found)}) of zero, disagrees "
              "when it lies wholly outside, and is inconclusive otherwise. The design effect is the variance over "
              "seeds in units of that of V independent facts. A bias of the margin and the detectable bias together is "
              "found 9 times in 10.",
              remark=True),
    ]


def _margins(found: Verification) -> str:
    each = sorted({cell.margin for cell in found.cells})
    if len(each) > 2:
        return f"{each[0]:g} to {each[-1]:g}"
    plain, deep = ({c.margin for c in found.cells if (c.setting.m is not None) == mlp} for mlp in (False, True))
    if len(plain) == len(deep) == 1 and len(each) == 2:
        return f"{plain.pop():g}; with an MLP {deep.pop():g}"
    return " or ".join(f"{m:g}" for m in each)


def _about(cell: Cell, plain: bool) -> list[str]:
    s = cell.setting
    sizes = [count(getattr(s, name)) for name in ("V", "L", "d", "N")]
    return [*sizes, *([] if plain else [variant(cell)]), count(cell.seeds)]


def variant(cell: Cell) -> str:
    """What a cell is beside its sizes V, L, d and N: embeddings, trigger, MLP."""
    s = cell.setting
    words = s.embedding + ("" if s.trigger_in_value else ", trigger in keys only")
    return words if s.m is None else f"{words}, m = {count(s.m)} ({s.activation})"


def difference(c: Comparison) -> str:
    """Observed - predicted, with the half width of its interval."""
    half = (c.high - c.low) / 2
    width = f"{half:.4f}" if len(c.observed.values) > 1 else NOTHING  # a single seed says nothing
    return f"{signed(c.difference)} ± {width}"


def detectable(c: Comparison) -> str:
    """The smallest detectable bias, where there is one."""
    return f"{c.detectable:.4f}" if c.detectable < 1 else NOTHING


def verdict(c: Comparison) -> str:
    """The word, and why it is inconclusive where it isn't the width alone."""
    return c.verdict + (f": {c.reason}" if c.reason else "")


def _summary(found: Verification) -> str:
    comparisons = [(cell, name, c) for cell in found.cells for name, c in cell.comparisons.items()]
    tally = ", ".join(f"{sum(c.verdict == v for _, _, c in comparisons):,} {v}" for v in VERDICTS)
    cell, name, worst = max(comparisons, key=lambda item: abs(item[2].difference))
    s = cell.setting
    return (f"Of {plural(len(comparisons), 'comparison')}: {tally}. Largest difference: "
            f"{signed(worst.difference)}, {name} at V = {count(s.V)}, L = {count(s.L)}, d = {count(s.d)}, "
            f"N = {count(s.N)}.\nVerdict: {found.verdict}.")
