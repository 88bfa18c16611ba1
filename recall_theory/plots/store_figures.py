"""The figures about a store: predicted against observed, what is left by size, phase diagrams, critical sizes.

Shape and colour of a mark say which observable it is, the filling says which verdict. Marks of one observable and
verdict form a group whose id ends in "marks:OBSERVABLE:CELL,CELL,...", their intervals one that ends in
"intervals:OBSERVABLE:CELL,CELL,...", in the order of the cells: a page can tell which is which.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from statistics import mean
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..errors import SettingError
from ..settings import OBSERVABLES
from ..sweep.scaling_experiment import Scaling
from ..sweep.store_summary import Slice2D, StoreSummary
from ..theory.phase import PhaseDiagram
from ..verification.results import Cell
from .diagrams import draw_plane, regions
from .style import COLOURS, DOTTED, SIZE_WORDS, figure_legend, key, log_ticks, panel_grid, size_label

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SHAPES = {"attention": "^", "recall": "o", "accuracy": "s"}
VERDICTS = ("agree", "inconclusive", "disagree")  # the last is drawn on top
OBSERVABLES_APART = 0.012  # of the axis: the observables of a cell stand side by side
SPARE = 1.1  # beyond the outermost critical sizes, as a factor
ARROW = 1.25  # the factor that the arrow of an interval without an end spans

Cells = Mapping[int, Cell]  # by their numbers in the store


class Mark(NamedTuple):
    """One comparison in a figure: its cell's number, its place, and the ends of its interval in y (NaN: no interval).
    """

    cell: int
    observable: str
    verdict: str
    x: float
    y: float
    low: float = math.nan
    high: float = math.nan


Drawn = tuple[Sequence[Mark], Sequence["Artist"]]  # marks, and further entries of the legend


class Panel(NamedTuple):
    """One panel of a figure: its title, what it shows in words and numbers, and what draws it into some axes."""

    title: str
    words: str
    draw: Callable[[Sequence[Axes]], Drawn]


@dataclasses.dataclass(frozen=True)
class StoreFigure:
    """A figure of panels that have `axes_each` axes of a `height` in units of their width, `columns` of them side by
    side where there is room, and a legend of the marks, as wide as `legend` says of the width "single" and "double".
    `prefix` stands before the names of observables there."""

    panels: Sequence[Panel]
    height: float
    columns: int = 2
    axes_each: int = 1
    legend_rows: int = 0
    legend: tuple[int, int] = (1, 1)
    prefix: str = ""

    def draw(self, width: str, panels: Sequence[Panel] | None = None) -> Figure:
        """All panels, or some of them, in a figure that is "single" or "double" in width."""
        panels = panels or self.panels
        figure, axes = panel_grid(self.axes_each * len(panels), width, height=self.height, columns=self.columns,
                                  legend_rows=self.legend_rows)
        marks: list[Mark] = []
        more: dict[str, Artist] = {}
        for k, panel in enumerate(panels):
            drawn, handles = panel.draw(axes[self.axes_each * k:self.axes_each * (k + 1)])
            marks += drawn
            more |= {str(handle.get_label()): handle for handle in handles}
        observables = [o for o in SHAPES if any(m.observable == o for m in marks)]
        entries = [key(self.prefix + o, ls="", marker=SHAPES[o], ms=4, color=COLOURS[o]) for o in observables]
        shape = SHAPES[observables[0]] if len(observables) == 1 else "o"
        for verdict in VERDICTS:
            if any(m.verdict == verdict for m in marks):
                face, edge = _colours(COLOURS["muted"], verdict)
                entries.append(key(verdict, ls="", marker=shape, ms=4, mfc=face, mec=edge))
        entries += [more[label] for label in sorted(more)]
        figure_legend(figure, entries, self.legend[width == "double"])
        return figure


def _colours(colour: str, verdict: str) -> tuple[str, str]:
    """Face and edge of a mark."""
    if verdict == "disagree":
        return COLOURS["disagree"], COLOURS["ink"]
    return COLOURS["paper"] if verdict == "inconclusive" else colour, colour


def draw_marks(axes: Axes, marks: Sequence[Mark], size: float = 4.0) -> None:
    """Draw marks of `size` points with their intervals."""
    for (observable, shape), (level, verdict) in itertools.product(SHAPES.items(), enumerate(VERDICTS)):
        group = [m for m in marks if m.observable == observable and m.verdict == verdict]
        bars = [m for m in group if not math.isnan(m.low)]
        of_bars, of_marks = (f"{observable}:{','.join(str(m.cell) for m in of)}" for of in (bars, group))
        if bars:
            axes.vlines([m.x for m in bars], [m.low for m in bars], [m.high for m in bars], COLOURS[observable], lw=0.6,
                        zorder=3 + level, gid=f"intervals:{of_bars}")
        if group:
            face, edge = _colours(COLOURS[observable], verdict)
            axes.scatter([m.x for m in group], [m.y for m in group], size**2, marker=shape, zorder=6 + level,
                         facecolors=face, edgecolors=edge, linewidths=0.9, gid=f"marks:{of_marks}")


def store_figure(summary: StoreSummary, name: str, observables: Sequence[str] = OBSERVABLES,
                 cells: Cells | None = None) -> StoreFigure:
    """The figure "agreement", "residuals", "phase" or "scaling" of some observables and (by their numbers) cells.

    Raises `SettingError` where the store has nothing for it to show.

    >>> from recall_theory.sweep import product, sweep
    >>> from recall_theory.sweep.store_summary import summarise_store
    >>> summary = summarise_store(sweep(product({"d": [16, 32]}, V=16, L=2, N=128), seeds=3, seed=1))
    >>> store_figure(summary, "agreement").panels[1].words[:46]
    'Predicted against observed recall of 2 cells. '
    """
    cells = dict(enumerate(summary.analysis.cells)) if cells is None else cells
    if not cells:
        raise SettingError("store", "the theory describes none of the store's cells: there is nothing to draw")
    if name == "agreement":
        panels = [_agreement(cells, observable) for observable in observables]
        return StoreFigure(panels, height=1, columns=3, legend_rows=2, legend=(4, 7))
    if name == "residuals":
        panels = list(_residuals(cells, observables))
        why = "no size differs among the cells of the store"
        figure = StoreFigure(panels, height=0.6, axes_each=2, legend_rows=2, legend=(3, 6))
    elif name == "phase":
        drawn = [(s, s.diagram) for s in summary.slices if isinstance(s.diagram, PhaseDiagram)]
        every = {region for _, diagram in drawn for region in regions(diagram)}
        panels = [_phase(cells, plane, diagram, every) for plane, diagram in drawn]
        why = next((str(s.diagram) for s in summary.slices), "the store's cells scan no two sizes together")
        figure = StoreFigure(panels, height=0.85, legend_rows=4, legend=(2, 4), prefix="simulated ")
    else:
        panels = [_scaling(s, x) for s in summary.slices for x in s.scalings if x.observable in observables]
        why = f"no observable crosses {summary.at:g} along two scans or more, with intervals that have an end"
        figure = StoreFigure(panels, height=0.8)
    if not panels:
        raise SettingError("figure", f"figure={name!r}: {why}")
    return figure


def _agreement(cells: Cells, observable: str) -> Panel:
    """Predicted against observed, with the interval of the difference and the largest margin as a band."""
    compared = {i: cell.comparisons[observable] for i, cell in cells.items()}

    def draw(axes: Sequence[Axes]) -> Drawn:
        marks = []
        for i, c in compared.items():
            ends = (max(0.0, c.predicted + c.low), min(1.0, c.predicted + c.high))
            mark = Mark(i, observable, c.verdict, c.predicted, c.observed.mean)
            marks.append(mark if len(c.observed.values) < 2 else mark._replace(low=ends[0], high=ends[1]))
        margin, muted = max(cell.margin for cell in cells.values()), COLOURS["muted"]
        axes[0].axline((0, 0), slope=1, color=muted, lw=0.8)
        for offset in (margin, -margin):
            axes[0].axline((0, offset), slope=1, color=muted, lw=0.6, ls=DOTTED)
        draw_marks(axes[0], marks)
        axes[0].set(xlim=(-0.03, 1.03), ylim=(-0.03, 1.03), aspect="equal", xlabel=f"{observable}, predicted",
                    ylabel="observed")
        return marks, [key("margin", color=muted, lw=0.8, ls=DOTTED)]

    predicted, observed, differences, verdicts = zip(
        *((c.predicted, c.observed.mean, c.difference, c.verdict) for c in compared.values()), strict=True)
    tally = ", ".join(f"{verdicts.count(v)} {v}" for v in VERDICTS if v in verdicts)
    words = (f"Predicted against observed {observable} of {len(cells)} cells. Predicted from {min(predicted):.3f} to "
             f"{max(predicted):.3f}, observed from {min(observed):.3f} to {max(observed):.3f}. Observed - predicted "
             f"lies between {min(differences):+.4f} and {max(differences):+.4f}. Verdicts: {tally}.")
    return Panel(observable, words, draw)


def _residuals(cells: Cells, observables: Sequence[str]) -> Iterator[Panel]:
    """Against each size that differs: differences with bars of one standard error, and in standard errors."""
    for size in SIZE_WORDS:
        values = {i: cell.setting.ratio if size == "N/V" else getattr(cell.setting, size) for i, cell in cells.items()}
        having = {i: float(value) for i, value in values.items() if value is not None}
        if len(set(having.values())) < 2:
            continue
        low, high = min(having.values()), max(having.values())
        middle = math.sqrt(low * high)
        parts = []
        for o in observables:
            compared = [(value > middle, cells[i].comparisons[o]) for i, value in having.items()]
            below, above = (mean(c.difference for beyond, c in compared if beyond == side) for side in (False, True))
            most = max((abs(c.difference / c.observed.se) for _, c in compared if c.observed.se > 0), default=math.nan)
            errors = "no standard error is known" if math.isnan(most) else f"at most {most:.1f} standard errors"
            parts.append(f"{o}: {below:+.4f} on average up to {size} = {middle:.3g}, {above:+.4f} beyond; {errors}")
        words = f"Observed - predicted against {size} from {low:g} to {high:g}. {'. '.join(parts)}."
        yield Panel(size, words, partial(_draw_residuals, {i: cells[i] for i in having}, having, observables, size))


def _draw_residuals(cells: Cells, values: Mapping[int, float], observables: Sequence[str], size: str,
                    axes: Sequence[Axes]) -> Drawn:
    low, high = min(values.values()), max(values.values())
    margin = max(cell.margin for cell in cells.values())
    marks, standardised = [], []
    for (i, cell), (k, observable) in itertools.product(cells.items(), enumerate(observables)):
        c = cell.comparisons[observable]
        beside = math.log(high / low) * OBSERVABLES_APART * (k - (len(observables) - 1) / 2)
        mark = Mark(i, observable, c.verdict, values[i] * math.exp(beside), c.difference)
        if c.observed.se > 0:
            standardised.append(mark._replace(y=c.difference / c.observed.se))
            mark = mark._replace(low=c.difference - c.observed.se, high=c.difference + c.observed.se)
        marks.append(mark)
    reach = max(1.5 * margin, 1.1 * np.nanmax(np.abs([(m.y, m.low, m.high) for m in marks])))
    axes[0].set_ylim(-reach, reach)
    for level in (margin, -margin):
        axes[0].axhline(level, color=COLOURS["muted"], lw=0.6, ls=DOTTED)
    for panel, drawn, label in zip(axes, (marks, standardised), ("observed − predicted", "in standard errors"),
                                   strict=True):
        panel.axhline(0, color=COLOURS["muted"], lw=0.8, zorder=1)
        log_ticks(panel, "x", low, high)
        draw_marks(panel, drawn, size=3.4)
        panel.margins(x=0.06)
        panel.set(ylabel=label, xlabel=size_label(size))
    return marks, []


def _phase(cells: Cells, plane: Slice2D, diagram: PhaseDiagram, every: Collection[str]) -> Panel:
    """The plane of a slice with its cells; the filling of a mark is the verdict on accuracy."""
    accuracies = {i: cells[i].comparisons["accuracy"] for i in plane.cells if i in cells}

    def draw(axes: Sequence[Axes]) -> Drawn:
        marks = [Mark(i, "accuracy", c.verdict, getattr(cells[i].setting, plane.x), getattr(cells[i].setting, plane.y))
                 for i, c in accuracies.items()]
        handles = draw_plane(axes[0], diagram, {(m.x, m.y): accuracies[m.cell].observed.mean for m in marks}, every)
        draw_marks(axes[0], marks)
        axes[0].set_title(plane.title())
        return marks, handles

    names = [name for row in diagram.binding for name in row]
    binds = ", ".join(f"{name} in {100 * names.count(name) / len(names):.0f} %" for name in regions(diagram))
    same = sum((c.observed.mean >= diagram.target) == (c.predicted >= diagram.target) for c in accuracies.values())
    x, y = diagram.x_values, diagram.y_values
    words = (f"Phase diagram over {diagram.x} from {x[0]:,g} to {x[-1]:,g} and {diagram.y} from {y[0]:,g} to "
             f"{y[-1]:,g} ({plane.title()}). What binds: {binds} of the plane. Predicted accuracy from "
             f"{diagram.accuracy.min():.3f} to {diagram.accuracy.max():.3f}. Of {len(accuracies)} simulated cells "
             f"{same} lie on the predicted side of accuracy {diagram.target:g}.")
    return Panel(f"{plane.x} and {plane.y} at {plane.title()}", words, draw)


def _scaling(plane: Slice2D, scaling: Scaling) -> Panel:
    """Critical sizes with intervals beside the predicted ones, and the fitted line."""
    assert scaling.line is not None
    what = f"{scaling.of} at which {scaling.observable} is {scaling.at:g}"
    points = []
    for p in scaling.points:
        observed = p.reason or f"{p.observed:.4g} ({p.interval[0]:.4g} to {p.interval[1]:.4g})"
        predicted = "none" if math.isnan(p.predicted) else f"{p.predicted:.4g}"
        points.append(f"at {scaling.along} = {p.value:,} observed {observed}, predicted {predicted}")
    low, high = scaling.interval
    exponent = "none" if math.isnan(scaling.predicted_exponent) else f"{scaling.predicted_exponent:.3f}"
    words = (f"The {what}: {'; '.join(points)}. Fitted exponent {scaling.line.slope:.3f} ({low:.3f} to {high:.3f}), "
             f"predicted {exponent}.")
    return Panel(f"{what}, at {plane.title()}", words, partial(_draw_scaling, scaling))


def _draw_scaling(scaling: Scaling, axes: Sequence[Axes]) -> Drawn:
    panel, = axes
    colour = COLOURS[scaling.observable]
    predicted = [(p.value, p.predicted) for p in scaling.points if not math.isnan(p.predicted)]
    if predicted:
        panel.plot(*zip(*predicted, strict=True), color=COLOURS["ink"], lw=1.0, ls=(0, (4, 2)), marker="_", ms=7,
                   mew=1.2, label="predicted", zorder=3)
    value, observed, low, high = np.array([(p.value, p.observed, *p.interval) for p in scaling.points
                                           if not math.isnan(p.observed)]).T
    no_low, no_high = ~(low > 0), ~np.isfinite(high)
    low, high = np.where(no_low, observed / ARROW, low), np.where(no_high, observed * ARROW, high)
    panel.errorbar(value, observed, yerr=[observed - low, high - observed], uplims=no_low, lolims=no_high, color=colour,
                   ls="", marker=SHAPES[scaling.observable], ms=4.5, elinewidth=0.9, label="observed, 95 % interval",
                   zorder=5)
    assert scaling.line is not None
    x = np.geomspace(value.min(), value.max(), 50)
    half = scaling.interval[1] - scaling.line.slope
    panel.plot(x, np.exp(scaling.line.intercept) * x**scaling.line.slope, color=colour, zorder=4,
               label=f"fit: exponent {scaling.line.slope:.2f} ± {half:.2f}")
    ends = [size for _, size in predicted] + [*low, *high]
    bottom, top = min(ends) / SPARE, max(ends) * SPARE
    short = max(1.0, math.sqrt(2 * bottom / top))  # a factor of two at least, so that noise doesn't look like a law
    along = [p.value for p in scaling.points]
    log_ticks(panel, "x", min(along), max(along))
    log_ticks(panel, "y", bottom / short, top * short)
    panel.set(xlabel=size_label(scaling.along), ylim=(bottom / short, top * short),
              ylabel=f"{scaling.of} at which {scaling.observable} is {scaling.at:g}")
    panel.margins(x=0.08)
    panel.legend(fontsize=6.5, loc="lower left", bbox_to_anchor=(0, 1.01), borderaxespad=0, handlelength=2.2)
    return [], []
