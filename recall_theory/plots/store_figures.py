"""The figures about a store: predicted against observed, what is left by size, phase diagrams, critical sizes.

Shape and colour of a mark say which observable it is, the filling says which verdict. Marks of one observable and
verdict form a group whose id ends in "marks:OBSERVABLE:CELL,CELL,...", their intervals one that ends in
"intervals:OBSERVABLE:CELL,CELL,...", in the order of the cells: a page can tell which is which.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from statistics import mean
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..errors import SettingError
from ..numerics.formatting import number
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
    """One panel of a figure: its caption, what it shows in words and numbers, and what draws it into some axes."""

    caption: str
    words: str
    draw: Callable[[Sequence[Axes]], Drawn]


@dataclasses.dataclass(frozen=True)
class StoreFigure:
    """A figure of panels that have `axes_each` axes of a `height` in units of their width, `columns` of them side by
    side where there is room, and a legend of the marks."""

    panels: Sequence[Panel]
    height: float
    columns: int = 2
    axes_each: int = 1

    def draw(self, width: str, panels: Sequence[Panel] | None = None) -> Figure:
        """All panels, or some of them, in a figure that is "single" or "double" in width."""
        panels = panels or self.panels
        figure, axes = panel_grid(self.axes_each * len(panels), width, height=self.height, columns=self.columns)
        marks: list[Mark] = []
        more: dict[str, Artist] = {}
        for k, panel in enumerate(panels):
            drawn, handles = panel.draw(axes[self.axes_each * k:self.axes_each * (k + 1)])
            marks += drawn
            more |= {str(handle.get_label()): handle for handle in handles}
        entries = [key(f"{o}, observed", ls="", marker=shape, ms=4, color=COLOURS[o]) for o, shape in SHAPES.items()
                   if any(m.observable == o for m in marks)]
        for verdict in VERDICTS:
            if any(m.verdict == verdict for m in marks):
                face, edge = _colours(COLOURS["muted"], verdict)
                entries.append(key(verdict, ls="", marker="o", ms=4, mfc=face, mec=edge))
        figure_legend(figure, entries + [more[label] for label in sorted(more)])
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
        nothing = "no observable is drawn"
        figure = StoreFigure(panels, height=1, columns=3)
    elif name == "residuals":
        panels = list(_residuals(cells, observables))
        nothing = "no size differs among the cells of the store"
        figure = StoreFigure(panels, height=0.6, axes_each=2)
    elif name == "phase":
        drawn = [(s, s.diagram) for s in summary.slices if isinstance(s.diagram, PhaseDiagram)]
        every = {region for _, diagram in drawn for region in regions(diagram)}
        panels = [_phase(cells, plane, diagram, every) for plane, diagram in drawn]
        nothing = next((str(s.diagram) for s in summary.slices), "the store's cells scan no two sizes together")
        figure = StoreFigure(panels, height=0.85)
    else:
        panels = [_scaling(s, x) for s in summary.slices for x in s.scalings if x.observable in observables]
        nothing = f"no observable crosses {summary.at:g} along two scans or more, with intervals that have an end"
        figure = StoreFigure(panels, height=0.8)
    if not panels:
        raise SettingError("figure", f"figure={name!r}: {nothing}")
    return figure


def _agreement(cells: Cells, observable: str) -> Panel:
    """Predicted against observed, with the interval of the difference and the largest margin as a band."""
    compared = {i: cell.comparisons[observable] for i, cell in cells.items()}
    verdicts = [c.verdict for c in compared.values()]

    def draw(axes: Sequence[Axes]) -> Drawn:
        marks = [Mark(i, observable, c.verdict, c.predicted, c.observed.mean) if len(c.observed.values) < 2 else
                 Mark(i, observable, c.verdict, c.predicted, c.observed.mean,
                      max(0.0, c.predicted + c.low), min(1.0, c.predicted + c.high)) for i, c in compared.items()]
        margin, muted = max(cell.margin for cell in cells.values()), COLOURS["muted"]
        axes[0].axline((0, 0), slope=1, color=muted, lw=0.8)
        for offset in (margin, -margin):
            axes[0].axline((0, offset), slope=1, color=muted, lw=0.6, ls=DOTTED)
        draw_marks(axes[0], marks)
        axes[0].set(xlim=(-0.03, 1.03), ylim=(-0.03, 1.03), aspect="equal")
        axes[0].set(xlabel=f"{observable}, predicted", ylabel="observed")
        return marks, [key("margin", color=muted, lw=0.8, ls=DOTTED)]

    return Panel(
        f"Predicted and observed {observable}: on the line they are equal, the dotted lines are the largest margin.",
        f"Predicted against observed {observable} of {len(cells)} cells. Predicted from "
        f"{_range(c.predicted for c in compared.values())}, observed from "
        f"{_range(c.observed.mean for c in compared.values())}. Observed - predicted lies between "
        f"{_range((c.difference for c in compared.values()), '+.4f', ' and ')}. Verdicts: "
        f"{', '.join(f'{verdicts.count(v)} {v}' for v in VERDICTS if v in verdicts)}.", draw)


def _range(values: Iterable[float], form: str = ".3f", between: str = " to ") -> str:
    every = list(values)
    return f"{min(every):{form}}{between}{max(every):{form}}"


def _residuals(cells: Cells, observables: Sequence[str]) -> Iterator[Panel]:
    """Against each size that differs: differences with bars of one standard error, and in standard errors."""
    for size in SIZE_WORDS:
        values = {i: cell.setting.ratio if size == "N/V" else getattr(cell.setting, size) for i, cell in cells.items()}
        having = {i: float(value) for i, value in values.items() if value is not None}
        if len(set(having.values())) < 2:
            continue
        middle = math.sqrt(min(having.values()) * max(having.values()))
        parts = []
        for o in observables:
            compared = [(value > middle, cells[i].comparisons[o]) for i, value in having.items()]
            below, above = (mean(c.difference for beyond, c in compared if beyond == side) for side in (False, True))
            most = max((abs(c.difference / c.observed.se) for _, c in compared if c.observed.se > 0), default=math.nan)
            parts.append(f"{o}: {below:+.4f} on average up to {size} = {middle:.3g}, {above:+.4f} beyond; at most "
                         f"{most:.1f} standard errors.")
        yield Panel(f"Observed − predicted against {size}.",
                    f"Observed - predicted against {size} from {_range(having.values(), 'g')}. {' '.join(parts)}",
                    partial(_draw_residuals, {i: cells[i] for i in having}, having, observables, size))


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
    same = sum((c.observed.mean >= diagram.target) == (c.predicted >= diagram.target) for c in accuracies.values())
    return Panel(
        f"What binds over {plane.x} and {plane.y} at {plane.title()}, predicted; marks are simulated.",
        f"Phase diagram over {diagram.x} from {_range(diagram.x_values, ',g')} and {diagram.y} from "
        f"{_range(diagram.y_values, ',g')} ({plane.title()}). What binds: "
        f"{', '.join(f'{name} in {100 * names.count(name) / len(names):.0f} %' for name in regions(diagram))} of the "
        f"plane. Predicted accuracy from {_range(diagram.accuracy.flat)}. Of {len(accuracies)} simulated cells {same} "
        f"lie on the predicted side of accuracy {diagram.target:g}.", draw)


def _scaling(plane: Slice2D, scaling: Scaling) -> Panel:
    """Critical sizes with intervals beside the predicted ones, and the fitted line."""
    assert scaling.line is not None
    what = f"{scaling.of} at which {scaling.observable} is {scaling.at:g}"
    points = [f"at {scaling.along} = {p.value:,} observed {number(p.observed, 4)} ({p.interval_in_words}), predicted "
              f"{number(p.predicted, 4)}" for p in scaling.points]
    slope = scaling.line.slope
    low, high = scaling.interval
    exponent = "none" if math.isnan(scaling.predicted_exponent) else f"{scaling.predicted_exponent:.3f}"
    return Panel(f"The {what}, at {plane.title()}.",
                 f"The {what}: {'; '.join(points)}. Fitted exponent {slope:.3f} ({low:.3f} to {high:.3f}), "
                 f"predicted {exponent}.", partial(_draw_scaling, scaling, what))


def _draw_scaling(scaling: Scaling, what: str, axes: Sequence[Axes]) -> Drawn:
    panel, line = axes[0], scaling.line
    assert line is not None
    colour = COLOURS[scaling.observable]
    along, predicted = np.array([(p.value, p.predicted) for p in scaling.points]).T
    panel.plot(along, predicted, color=COLOURS["ink"], lw=1.0, ls=(0, (4, 2)), marker="_", ms=7, mew=1.2,
               label="predicted")
    value, observed, low, high = np.array([(p.value, p.observed, *p.interval) for p in scaling.points
                                           if not math.isnan(p.observed)]).T
    no_low, no_high = ~(low > 0), ~np.isfinite(high)
    low, high = np.where(no_low, observed / ARROW, low), np.where(no_high, observed * ARROW, high)
    panel.errorbar(value, observed, yerr=[observed - low, high - observed], uplims=no_low, lolims=no_high, ls="",
                   marker=SHAPES[scaling.observable], ms=4.5, elinewidth=0.9, label="observed, 95 % interval",
                   color=colour, zorder=5)
    panel.plot(value, np.exp(line.intercept) * value**line.slope, color=colour, zorder=4,
               label=f"fit: exponent {line.slope:.2f} ± {scaling.interval[1] - line.slope:.2f}")
    log_ticks(panel, "x", along.min(), along.max())
    log_ticks(panel, "y", np.nanmin([*predicted, *low]), np.nanmax([*predicted, *high]))
    panel.set(xlabel=size_label(scaling.along), ylabel=what)
    panel.margins(x=0.08)
    panel.legend(fontsize=6.5, loc="lower left", bbox_to_anchor=(0, 1.01), borderaxespad=0, handlelength=2.2)
    return [], []
