"""Predicted against observed: on the diagonal the theory is right, within the dotted lines as right as it claims."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..pages.palette import light
from ..simulate.observables import OBSERVABLES
from ..verification.results import Cell
from .marks import VERDICTS, Mark, draw, legend
from .style import WIDTHS


def marks(cells: Mapping[int, Cell], observables: Sequence[str] = OBSERVABLES) -> list[Mark]:
    """One mark a comparison; the interval is that of the observed mean."""
    return [Mark(i, o, c.verdict, c.predicted, c.observed.mean, *_ends(c)) for i, cell in cells.items()
            for o, c in cell.comparisons.items() if o in observables]


def _ends(c: Any) -> tuple[float | None, float | None]:
    if len(c.observed.values) < 2:
        return None, None
    return max(0.0, c.predicted + c.low), min(1.0, c.predicted + c.high)


def figure(plt: Any, cells: Mapping[int, Cell], observables: Sequence[str] = OBSERVABLES, width: str = "double") -> Any:
    """One square panel for each observable: side by side over two columns, one below the other in one."""
    from matplotlib.lines import Line2D

    across = len(observables) if width == "double" else 1
    down = -(-len(observables) // across)
    inches = WIDTHS[width]
    made, panels = plt.subplots(down, across, figsize=(inches, inches / across * down + 0.3), squeeze=False,
                                layout="constrained")
    colours, everything = light(), marks(cells, observables)
    margins = sorted({cell.margin for cell in cells.values()})
    for panel, observable in zip(panels.flat, observables, strict=True):
        panel.plot([0, 1], [0, 1], color=colours["muted"], lw=0.8)
        for margin in margins:
            for sign in (1, -1):
                panel.plot([0, 1], [sign * margin, 1 + sign * margin], color=colours["muted"], lw=0.6, ls=(0, (1, 2)))
        draw(panel, [m for m in everything if m.observable == observable])
        panel.set(xlim=(-0.03, 1.03), ylim=(-0.03, 1.03), aspect="equal", xlabel=f"{observable}, predicted",
                  ylabel="observed")
    band = Line2D([], [], color=colours["muted"], lw=0.8, ls=(0, (1, 2)), label="margin")
    legend(made, everything, columns=4 if across == 1 else 7, more=[band])
    return made


def words(cells: Mapping[int, Cell], observable: str) -> str:
    """What the panel shows, for those who don't see it."""
    by = [cell.comparisons[observable] for cell in cells.values()]
    differences = [c.difference for c in by]
    tally = ", ".join(f"{n} {v}" for v in VERDICTS if (n := sum(c.verdict == v for c in by)))
    return (f"Predicted against observed {observable} of {len(by)} cells. Predicted from "
            f"{min(c.predicted for c in by):.3f} to {max(c.predicted for c in by):.3f}, observed from "
            f"{min(c.observed.mean for c in by):.3f} to {max(c.observed.mean for c in by):.3f}. Observed - predicted "
            f"lies between {min(differences):+.4f} and {max(differences):+.4f}. Verdicts: {tally}.")
