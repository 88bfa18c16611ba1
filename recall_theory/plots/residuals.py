"""Observed - predicted against a size: as a difference of probabilities, and in standard errors."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from statistics import mean
from typing import TYPE_CHECKING

from ..verification.results import Cell
from .agreement import DOTTED
from .marks import Mark, draw_marks, mark_legend
from .style import COLOURS, log_ticks, panel_grid

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SIZES = {"V": "vocabulary", "L": "sequence length", "d": "embedding dimension", "N": "training samples",
         "m": "MLP width", "N/V": "samples a fact"}
APART = 0.012  # of the axis: the observables of a cell stand side by side


def _having(cells: Mapping[int, Cell], size: str) -> dict[int, float]:
    """The value of a size, or of N/V, at the cells that have one."""
    values = {i: cell.setting.ratio if size == "N/V" else getattr(cell.setting, size) for i, cell in cells.items()}
    return {i: float(value) for i, value in values.items() if value is not None}


def varied_sizes(cells: Mapping[int, Cell]) -> list[str]:
    """The sizes that differ among the cells: of V, L, d, N, m and N/V."""
    return [size for size in SIZES if len(set(_having(cells, size).values())) > 1]


def residual_figure(cells: Mapping[int, Cell], observables: Sequence[str], sizes: Sequence[str],
                    width: str) -> Figure:
    """Two panels for each size: differences with bars of one standard error, and differences in standard errors."""
    figure, panels = panel_grid(2 * len(sizes), width, height=0.6, legend_rows=2)
    margins = sorted({cell.margin for cell in cells.values()})
    drawn: list[Mark] = []
    for size, left, right in zip(sizes, panels[::2], panels[1::2], strict=True):
        marks = _marks(cells, size, observables)
        drawn += marks
        standardised = [dataclasses.replace(m, y=m.y / (m.high - m.y), low=None, high=None)
                        for m in marks if m.high is not None]
        ends = [abs(end) for m in marks for end in (m.y, m.low, m.high) if end is not None]
        reach = max(1.5 * margins[-1], 1.1 * max(ends))
        left.set_ylim(-reach, reach)
        for margin in margins:
            for sign in (1, -1):
                left.axhline(sign * margin, color=COLOURS["muted"], lw=0.6, ls=DOTTED)
        values = _having(cells, size).values()
        for panel, of_panel, label in ((left, marks, "observed − predicted"),
                                       (right, standardised, "in standard errors")):
            panel.axhline(0, color=COLOURS["muted"], lw=0.8, zorder=1)
            log_ticks(panel, "x", min(values), max(values))
            draw_marks(panel, of_panel, size=3.4)
            panel.margins(x=0.06)
            panel.set(ylabel=label, xlabel=size if size == "N/V" else f"{SIZES[size]} {size}")
    mark_legend(figure, drawn, columns=6 if width == "double" else 3)
    return figure


def _marks(cells: Mapping[int, Cell], size: str, observables: Sequence[str]) -> list[Mark]:
    """One mark a comparison, those of a cell a little apart, with ends one standard error away."""
    having = _having(cells, size)
    step = math.log(max(having.values()) / min(having.values())) * APART
    marks = []
    for i, value in having.items():
        for k, observable in enumerate(observables):
            c = cells[i].comparisons[observable]
            x, se = value * math.exp(step * (k - (len(observables) - 1) / 2)), c.observed.se
            ends = (c.difference - se, c.difference + se) if se > 0 else (None, None)
            marks.append(Mark(i, observable, c.verdict, x, c.difference, *ends))
    return marks


def describe_residuals(cells: Mapping[int, Cell], observables: Sequence[str], size: str) -> str:
    """What the panels of a size show, in words and numbers."""
    having = _having(cells, size)
    low, high = min(having.values()), max(having.values())
    middle = math.sqrt(low * high)
    parts = []
    for o in observables:
        of_size = [(value, cells[i].comparisons[o]) for i, value in having.items()]
        below = mean([c.difference for value, c in of_size if value <= middle])
        above = mean([c.difference for value, c in of_size if value > middle])
        most = max((abs(c.difference / c.observed.se) for _, c in of_size if c.observed.se > 0), default=math.nan)
        errors = "no standard error is known" if math.isnan(most) else f"at most {most:.1f} standard errors"
        parts.append(f"{o}: {below:+.4f} on average up to {size} = {middle:.3g}, {above:+.4f} beyond; {errors}")
    return f"Observed - predicted against {size} from {low:g} to {high:g}. {'. '.join(parts)}."
