"""Predicted against observed: on the diagonal the theory is right, between the dotted lines within its margin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ..verification.results import Cell
from .marks import VERDICTS, Mark, draw_marks, mark_legend
from .style import COLOURS, panel_grid

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DOTTED = (0, (1, 2))


def agreement_figure(cells: Mapping[int, Cell], observables: Sequence[str], width: str) -> Figure:
    """One square panel for each observable, with a mark for each of the numbered cells."""
    from matplotlib.lines import Line2D

    figure, panels = panel_grid(len(observables), width, height=1, columns=3, legend_rows=2)
    muted = COLOURS["muted"]
    margins = sorted({cell.margin for cell in cells.values()})
    marks = {o: [_mark(i, o, cell) for i, cell in cells.items()] for o in observables}
    for panel, (observable, of_panel) in zip(panels, marks.items(), strict=True):
        panel.axline((0, 0), slope=1, color=muted, lw=0.8)
        for offset in (*margins, *(-margin for margin in margins)):
            panel.axline((0, offset), slope=1, color=muted, lw=0.6, ls=DOTTED)
        draw_marks(panel, of_panel)
        panel.set(xlim=(-0.03, 1.03), ylim=(-0.03, 1.03), aspect="equal", xlabel=f"{observable}, predicted",
                  ylabel="observed")
    band = Line2D([], [], color=muted, lw=0.8, ls=DOTTED, label="margin")
    mark_legend(figure, [m for group in marks.values() for m in group], columns=7 if width == "double" else 4,
                more=[band])
    return figure


def _mark(number: int, observable: str, cell: Cell) -> Mark:
    c = cell.comparisons[observable]
    single = len(c.observed.values) < 2
    ends = (None, None) if single else (max(0.0, c.predicted + c.low), min(1.0, c.predicted + c.high))
    return Mark(number, observable, c.verdict, c.predicted, c.observed.mean, *ends)


def describe_agreement(cells: Mapping[int, Cell], observable: str) -> str:
    """What the panel of an observable shows, in words and numbers."""
    comparisons = [cell.comparisons[observable] for cell in cells.values()]
    predicted = [c.predicted for c in comparisons]
    observed = [c.observed.mean for c in comparisons]
    differences = [c.difference for c in comparisons]
    verdicts = [c.verdict for c in comparisons]
    tally = ", ".join(f"{verdicts.count(v)} {v}" for v in VERDICTS if v in verdicts)
    return (f"Predicted against observed {observable} of {len(cells)} cells. Predicted from {min(predicted):.3f} to "
            f"{max(predicted):.3f}, observed from {min(observed):.3f} to {max(observed):.3f}. Observed - predicted "
            f"lies between {min(differences):+.4f} and {max(differences):+.4f}. Verdicts: {tally}.")
