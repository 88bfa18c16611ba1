"""The kinds of figure about a store, by their names; among them how a critical size scales."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

from ..errors import SettingError
from ..settings import OBSERVABLES
from ..sweep.scaling_experiment import CriticalSize, Scaling
from ..sweep.store_summary import StoreSummary
from ..theory.phase import PhaseDiagram
from ..verification.results import Cell
from .comparisons import (
    SHAPES,
    SIZE_WORDS,
    agreement_figure,
    describe_agreement,
    describe_residuals,
    residual_figure,
    varied_sizes,
)
from .diagrams import describe_slice, slice_figure
from .style import COLOURS, log_ticks, panel_grid

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SPARE = 1.1  # beyond the outermost marks, as a factor
ARROW = 1.25  # the factor that the arrow of an interval without an end spans

Item = TypeVar("Item")


@dataclasses.dataclass(frozen=True)
class StoreFigure(Generic[Item]):
    """A kind of figure: one panel for each of the `items`, by their titles.

    `draw(items, width)` draws some of them, `describe(item)` says in words and numbers what a panel shows.
    """

    items: Mapping[str, Item]
    draw: Callable[[Sequence[Item], str], Figure]
    describe: Callable[[Item], str]

    def whole(self, width: str) -> Figure:
        """All panels, "single" or "double" in width."""
        return self.draw(list(self.items.values()), width)


def store_figure(summary: StoreSummary, name: str, observables: Sequence[str] = OBSERVABLES,
                 cells: Mapping[int, Cell] | None = None) -> StoreFigure[Any]:
    """The figure "agreement", "residuals", "phase" or "scaling" of some observables and (by their numbers) cells.

    Raises `SettingError` where the store has nothing for it to show.

    >>> from recall_theory.sweep import product, sweep
    >>> from recall_theory.sweep.store_summary import summarise_store
    >>> summary = summarise_store(sweep(product({"d": [16, 32]}, V=16, L=2, N=128), seeds=3, seed=1))
    >>> figure = store_figure(summary, "agreement")
    >>> figure.describe("recall")[:46]
    'Predicted against observed recall of 2 cells. '
    """
    cells = dict(enumerate(summary.analysis.cells)) if cells is None else cells
    if not cells:
        raise SettingError("store", "the theory describes none of the store's cells: there is nothing to draw")

    if name == "agreement":
        return StoreFigure({o: o for o in observables}, partial(agreement_figure, cells),
                           partial(describe_agreement, cells))
    if name == "residuals":
        sizes = varied_sizes(cells)
        if not sizes:
            raise SettingError("figure", "figure='residuals': no size differs among the cells of the store")
        return StoreFigure({size: size for size in sizes}, partial(residual_figure, cells, observables),
                           partial(describe_residuals, cells, observables))
    if name == "phase":
        slices = {f"{s.slice.x} and {s.slice.y} at {s.slice.title()}": (s.slice, s.diagram)
                  for s in summary.slices if isinstance(s.diagram, PhaseDiagram)}
        if not slices:
            why = next((str(s.diagram) for s in summary.slices), "the store's cells scan no two sizes together")
            raise SettingError("figure", f"figure='phase': {why}")
        return StoreFigure(slices, partial(slice_figure, cells), partial(describe_slice, cells))
    scalings = {f"{x.of} at which {x.observable} is {x.at:g}, at {s.slice.title()}": x
                for s in summary.slices for x in s.scalings if x.observable in observables}
    if not scalings:
        raise SettingError("figure", f"figure='scaling': no observable crosses {summary.at:g} along two scans or "
                                     "more, with intervals that have an end")
    return StoreFigure(scalings, scaling_figure, describe_scaling)


# How critical sizes scale


def scaling_figure(scalings: Sequence[Scaling], width: str) -> Figure:
    """One panel for each scaling that has a critical size."""
    figure, panels = panel_grid(len(scalings), width, height=0.8)
    for panel, scaling in zip(panels, scalings, strict=True):
        predicted = [(p.value, p.predicted) for p in scaling.points if not math.isnan(p.predicted)]
        if predicted:
            panel.plot(*zip(*predicted, strict=True), color=COLOURS["ink"], lw=1.0, ls=(0, (4, 2)), marker="_", ms=7,
                       mew=1.2, label="predicted", zorder=3)
        ends = [*(size for _, size in predicted), *_draw_observed(panel, scaling)]
        low, high = min(ends) / SPARE, max(ends) * SPARE
        short = max(1.0, math.sqrt(2 * low / high))  # a factor of two at least, so that noise doesn't look like a law
        along = [p.value for p in scaling.points]
        log_ticks(panel, "x", min(along), max(along))
        log_ticks(panel, "y", low / short, high * short)
        panel.set(xlabel=f"{SIZE_WORDS[scaling.along]} {scaling.along}", ylim=(low / short, high * short),
                  ylabel=f"{scaling.of} at which {scaling.observable} is {scaling.at:g}")
        panel.margins(x=0.08)
        panel.legend(fontsize=6.5, loc="lower left", bbox_to_anchor=(0, 1.01), borderaxespad=0, handlelength=2.2)
    return figure


def _draw_observed(panel: Axes, scaling: Scaling) -> list[float]:
    """Observed sizes with intervals, of which the ends are returned, and the fitted line."""
    colour = COLOURS[scaling.observable]
    points: list[CriticalSize] = [p for p in scaling.points if not math.isnan(p.observed)]
    value, observed = np.array([(p.value, p.observed) for p in points]).T
    low, high = np.array([p.interval for p in points]).T
    no_low, no_high = ~(low > 0), ~np.isfinite(high)
    low, high = np.where(no_low, observed / ARROW, low), np.where(no_high, observed * ARROW, high)
    panel.errorbar(value, observed, yerr=[observed - low, high - observed], uplims=no_low, lolims=no_high, color=colour,
                   ls="", marker=SHAPES[scaling.observable], ms=4.5, elinewidth=0.9, label="observed, 95 % interval",
                   zorder=5)
    if scaling.line is not None:
        x = np.geomspace(value.min(), value.max(), 50)
        half = scaling.interval[1] - scaling.line.slope
        panel.plot(x, np.exp(scaling.line.intercept) * x**scaling.line.slope, color=colour, zorder=4,
                   label=f"fit: exponent {scaling.line.slope:.2f} ± {half:.2f}")
    return [*low, *high]


def describe_scaling(scaling: Scaling) -> str:
    """What the panel shows, in words and numbers."""
    points = []
    for p in scaling.points:
        low, high = p.interval
        observed = p.reason if math.isnan(p.observed) else f"{p.observed:.4g} ({low:.4g} to {high:.4g})"
        predicted = "none" if math.isnan(p.predicted) else f"{p.predicted:.4g}"
        points.append(f"at {scaling.along} = {p.value:,} observed {observed}, predicted {predicted}")
    fit = ""
    if scaling.line is not None:
        low, high = scaling.interval
        exponent = scaling.predicted_exponent
        predicted = "none" if math.isnan(exponent) else f"{exponent:.3f}"
        fit = f". Fitted exponent {scaling.line.slope:.3f} ({low:.3f} to {high:.3f}), predicted {predicted}"
    return f"The {scaling.of} at which {scaling.observable} is {scaling.at:g}: {'; '.join(points)}{fit}."
