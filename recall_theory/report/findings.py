"""What a store shows, for a terminal: the tally of verdicts, what has no prediction, critical sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import scaling
from .answer import Answer, Block, Column, Prose, Table
from .numbers import plural, signed
from .predict import OBSERVABLES, describe

if TYPE_CHECKING:
    from ..sweep.store_analysis import StoreSummary


def answer(found: StoreSummary, store: str) -> Answer:
    """The findings in three forms; the page is made by `recall_theory.web.report_page`."""
    return Answer(found.to_dict(), found.analysis.records(), _blocks(found, store))


def _blocks(found: StoreSummary, store: str) -> list[Block]:
    e = found.analysis
    seeds = sum(c.seeds for c in e.cells) + sum(r.seeds for r in e.refused)
    blocks: list[Block] = [Prose(f"Does the theory agree with the simulations in {store}?", heading=True),
                           Prose(f"{plural(len(e.all_problems), 'cell')}, {plural(seeds, 'seed')} in all.")]
    if e.cells:
        rows = [[o or "all", *(f"{n:,}" for n in e.tally(o).values())] for o in (*OBSERVABLES, None)]
        cell, name, worst = e.largest
        blocks += [Table([Column("observable", words=True), *map(Column, e.tally())], rows),
                   Prose(f"Largest difference: {signed(worst.difference)}, {name} at {describe(cell.setting)}.\n"
                         f"Verdict: {e.verdict}.")]
    if e.refused:
        blocks.append(Prose(f"Without a prediction: {plural(len(e.refused), 'cell')}; {e.refused[0].reason}."))
    for s in found.slices:
        for x in s.scalings:
            blocks += scaling.answer(x).blocks[:-2]
    blocks.append(Prose("--output report.html writes the page: every comparison, figures, phase diagrams and formulas.",
                        remark=True))
    return blocks
