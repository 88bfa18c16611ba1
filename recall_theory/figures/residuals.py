"""Observed - predicted against a size: above, as a difference of probabilities; below, in standard errors."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import mean
from typing import Any

from ..pages.palette import light
from ..simulate.observables import OBSERVABLES
from ..verification.results import Cell
from .marks import Mark, draw, legend
from .style import WIDTHS
from .ticks import plain_ticks

SIZES = {"V": "vocabulary", "L": "sequence length", "d": "embedding dimension", "N": "training samples",
         "m": "MLP width", "N/V": "samples a fact"}
APART = 0.012  # of the axis: observables of a cell stand side by side


def size_of(cell: Cell, size: str) -> float | None:
    """The value of a size, or of N/V, at a cell; None where it has none."""
    value = cell.setting.ratio if size == "N/V" else getattr(cell.setting, size)
    return None if value is None else float(value)


def varied(cells: Mapping[int, Cell]) -> list[str]:
    """The sizes that differ among the cells."""
    return [s for s in SIZES if len({v for c in cells.values() if (v := size_of(c, s)) is not None}) > 1]


def figure(plt: Any, cells: Mapping[int, Cell], sizes: Sequence[str], observables: Sequence[str] = OBSERVABLES,
           width: str = "double") -> Any:
    """A column of two panels for each size."""
    across = 1 if width == "single" else min(2, len(sizes))
    down = -(-len(sizes) // across)
    made, panels = plt.subplots(2 * down, across, figsize=(WIDTHS[width], 3.3 * down + 0.3), squeeze=False, sharex="col"
                                if down == 1 else False, layout="constrained")
    for k, size in enumerate(sizes):
        top, bottom = panels[2 * (k // across)][k % across], panels[2 * (k // across) + 1][k % across]
        _column(top, bottom, cells, size, observables)
    for k in range(len(sizes), across * down):
        for row in (0, 1):
            panels[2 * (k // across) + row][k % across].set_axis_off()
    legend(made, marks(cells, sizes[0], observables), columns=3 if across == 1 else 6)
    return made


def _column(top: Any, bottom: Any, cells: Mapping[int, Cell], size: str, observables: Sequence[str]) -> None:
    colours = light()
    values = [v for c in cells.values() if (v := size_of(c, size)) is not None]
    for panel, found, label in ((top, marks(cells, size, observables), "observed − predicted"),
                                (bottom, marks(cells, size, observables, errors=True), "in standard errors")):
        panel.axhline(0, color=colours["muted"], lw=0.8, zorder=1)
        draw(panel, found, size=3.4)
        panel.set_xscale("log")
        panel.set_ylabel(label)
        panel.margins(x=0.06)
        plain_ticks(panel.xaxis, values)
    widest = max(cell.margin for cell in cells.values())
    for margin in sorted({cell.margin for cell in cells.values()}):
        for sign in (1, -1):
            top.axhline(sign * margin, color=colours["muted"], lw=0.6, ls=(0, (1, 2)))
    reach = max([1.5 * widest, *(1.1 * abs(end) for m in marks(cells, size, observables)
                                 for end in (m.y, m.low, m.high) if end is not None)])
    top.set_ylim(-reach, reach)
    bottom.set_xlabel(size if size == "N/V" else f"{SIZES[size]} {size}")


def marks(cells: Mapping[int, Cell], size: str, observables: Sequence[str] = OBSERVABLES,
          errors: bool = False) -> list[Mark]:
    """One mark a comparison, a little apart within a cell, with a bar of one standard error to both sides. In standard
    errors, those without one are left out."""
    found = []
    values = [v for c in cells.values() if (v := size_of(c, size)) is not None]
    step = math.log(max(values) / min(values)) * APART if values else 0.0
    for i, cell in cells.items():
        at = size_of(cell, size)
        if at is None:
            continue
        for k, name in enumerate(observables):
            c = cell.comparisons[name]
            x = at * math.exp(step * (k - (len(observables) - 1) / 2))
            if not errors:
                se = c.observed.se
                ends = (c.difference - se, c.difference + se) if se > 0 else (None, None)
                found.append(Mark(i, name, c.verdict, x, c.difference, *ends))
            elif c.observed.se > 0:
                found.append(Mark(i, name, c.verdict, x, c.difference / c.observed.se))
    return found


def words(cells: Mapping[int, Cell], size: str, observables: Sequence[str] = OBSERVABLES) -> str:
    """What the panels show, for those who don't see them."""
    at = [(v, cell) for cell in cells.values() if (v := size_of(cell, size)) is not None]
    low, high = min(v for v, _ in at), max(v for v, _ in at)
    middle = math.sqrt(low * high)
    parts = []
    for o in observables:
        by = [(v, cell.comparisons[o]) for v, cell in at]
        lower, upper = (mean([c.difference for v, c in by if (v > middle) == above]) for above in (False, True))
        most = max((abs(c.difference / c.observed.se) for _, c in by if c.observed.se > 0), default=math.nan)
        parts.append(f"{o}: {lower:+.4f} on average up to {size} = {middle:.3g}, {upper:+.4f} beyond; "
                     + ("no standard error is known" if math.isnan(most) else f"at most {most:.1f} standard errors"))
    return f"Observed - predicted against {size} from {low:g} to {high:g}. " + ". ".join(parts) + "."
