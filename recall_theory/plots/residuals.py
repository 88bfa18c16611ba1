"""Observed - predicted against a size: as a difference of probabilities, and in standard errors."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import mean
from typing import TYPE_CHECKING

from ..verification.results import Cell, Comparison
from .agreement import DOTTED
from .marks import Mark, draw_marks, mark_legend
from .style import COLOURS, log_ticks, panel_grid

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SIZES = {"V": "vocabulary", "L": "sequence length", "d": "embedding dimension", "N": "training samples",
         "m": "MLP width", "N/V": "samples a fact"}
APART = 0.012  # of the axis: the observables of a cell stand side by side


def _at(cell: Cell, size: str) -> float:
    """The value of a size, or of N/V, at a cell; NaN where it has none."""
    value = cell.setting.ratio if size == "N/V" else getattr(cell.setting, size)
    return math.nan if value is None else float(value)


def _having(cells: Mapping[int, Cell], size: str) -> dict[int, tuple[float, Cell]]:
    """The cells that have a size, with its value."""
    return {i: (_at(cell, size), cell) for i, cell in cells.items() if not math.isnan(_at(cell, size))}


def varied_sizes(cells: Mapping[int, Cell]) -> list[str]:
    """The sizes that differ among the cells: of V, L, d, N, m and N/V."""
    return [size for size in SIZES if len({value for value, _ in _having(cells, size).values()}) > 1]


def residual_figure(cells: Mapping[int, Cell], observables: Sequence[str], sizes: Sequence[str],
                    width: str) -> Figure:
    """Two panels for each size: differences with bars of one standard error, and differences in standard errors."""
    figure, panels = panel_grid(2 * len(sizes), width, height=0.6, legend_rows=2)
    for size, left, right in zip(sizes, panels[::2], panels[1::2], strict=True):
        _differences(left, cells, size, observables)
        _standardised(right, cells, size, observables)
    marks = _marks(cells, sizes[0], observables)
    mark_legend(figure, marks, columns=6 if width == "double" else 3)
    return figure


def _differences(panel: Axes, cells: Mapping[int, Cell], size: str, observables: Sequence[str]) -> None:
    marks = _marks(cells, size, observables)
    margins = sorted({cell.margin for cell in cells.values()})
    for margin in margins:
        for sign in (1, -1):
            panel.axhline(sign * margin, color=COLOURS["muted"], lw=0.6, ls=DOTTED)
    ends = [abs(end) for m in marks for end in (m.y, m.low, m.high) if end is not None]
    reach = max(1.5 * margins[-1], 1.1 * max(ends))
    panel.set_ylim(-reach, reach)
    _finish(panel, cells, size, marks, "observed − predicted")


def _standardised(panel: Axes, cells: Mapping[int, Cell], size: str, observables: Sequence[str]) -> None:
    errors = {(i, o): cell.comparisons[o].observed.se for i, cell in cells.items() for o in observables}
    marks = [Mark(m.cell, m.observable, m.verdict, m.x, m.y / errors[m.cell, m.observable])
             for m in _marks(cells, size, observables) if errors[m.cell, m.observable] > 0]
    _finish(panel, cells, size, marks, "in standard errors")


def _finish(panel: Axes, cells: Mapping[int, Cell], size: str, marks: Sequence[Mark], label: str) -> None:
    values = [value for value, _ in _having(cells, size).values()]
    panel.axhline(0, color=COLOURS["muted"], lw=0.8, zorder=1)
    log_ticks(panel, "x", min(values), max(values))
    draw_marks(panel, marks, size=3.4)
    panel.margins(x=0.06)
    panel.set(ylabel=label, xlabel=size if size == "N/V" else f"{SIZES[size]} {size}")


def _marks(cells: Mapping[int, Cell], size: str, observables: Sequence[str]) -> list[Mark]:
    """One mark a comparison, those of a cell a little apart, with ends one standard error away."""
    having = _having(cells, size)
    values = [value for value, _ in having.values()]
    step = math.log(max(values) / min(values)) * APART
    marks = []
    for i, (value, cell) in having.items():
        for k, observable in enumerate(observables):
            c, x = cell.comparisons[observable], value * math.exp(step * (k - (len(observables) - 1) / 2))
            mark = Mark(i, observable, c.verdict, x, c.difference, *_error_bar(c))
            marks.append(mark)
    return marks


def _error_bar(c: Comparison) -> tuple[float, float] | tuple[None, None]:
    se = c.observed.se
    return (c.difference - se, c.difference + se) if se > 0 else (None, None)


def describe_residuals(cells: Mapping[int, Cell], observables: Sequence[str], size: str) -> str:
    """What the panels of a size show, in words and numbers."""
    having = _having(cells, size).values()
    low, high = min(value for value, _ in having), max(value for value, _ in having)
    middle = math.sqrt(low * high)
    parts = []
    for o in observables:
        of_size = [(value, cell.comparisons[o]) for value, cell in having]
        below = mean([c.difference for value, c in of_size if value <= middle])
        above = mean([c.difference for value, c in of_size if value > middle])
        most = max((abs(c.difference / c.observed.se) for _, c in of_size if c.observed.se > 0), default=math.nan)
        errors = "no standard error is known" if math.isnan(most) else f"at most {most:.1f} standard errors"
        parts.append(f"{o}: {below:+.4f} on average up to {size} = {middle:.3g}, {above:+.4f} beyond; {errors}")
    return f"Observed - predicted against {size} from {low:g} to {high:g}. {'. '.join(parts)}."
