"""The kinds of figure about a store, by their names."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from ..errors import SettingError
from ..settings import OBSERVABLES
from ..sweep.store_analysis import StoreSummary
from ..theory.phase import PhaseDiagram
from ..verification.results import Cell
from .agreement import agreement_figure, describe_agreement
from .fitted_scaling import describe_scaling, scaling_figure
from .phase_diagram import describe_slice, slice_figure
from .residuals import describe_residuals, residual_figure, varied_sizes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

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
    >>> from recall_theory.sweep.store_analysis import summarise_store
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
