"""The figures about a store, by their names."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from ..errors import SettingError
from ..sweep.store_summary import Findings
from ..theory.phase import PhaseDiagram
from .agreement import agreement_figure, describe_agreement
from .fitted_scaling import describe_scaling, scaling_figure
from .phase_diagram import describe_slice, slice_figure
from .residuals import describe_residuals, residual_figure, varied_sizes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

@dataclasses.dataclass(frozen=True)
class StoreFigure:
    """A figure that isn't drawn yet: `draw()` draws it for `style.picture`, `descriptions` has one text a panel."""

    draw: Callable[[], Figure]
    descriptions: tuple[str, ...]


def store_figure(findings: Findings, name: str, width: str, observables: Sequence[str]) -> StoreFigure:
    """The figure "agreement", "residuals", "phase" or "scaling" of some observables, "single" or "double" in width.

    Raises `SettingError` where the store has nothing for it to show.

    >>> from recall_theory.sweep.store_summary import findings
    >>> from recall_theory.sweep import product, sweep
    >>> summary = findings(sweep(product({"d": [16, 32]}, V=16, L=2, N=128), seeds=3, seed=1))
    >>> store_figure(summary, "agreement", "single", ["recall"]).descriptions[0][:46]
    'Predicted against observed recall of 2 cells. '
    """
    cells = dict(enumerate(findings.evidence.cells))
    if not cells:
        raise SettingError("store", "the theory describes none of the store's cells: there is nothing to draw")

    if name == "agreement":
        return StoreFigure(partial(agreement_figure, cells, observables, width),
                           tuple(describe_agreement(cells, o) for o in observables))
    if name == "residuals":
        sizes = varied_sizes(cells)
        if not sizes:
            raise SettingError("figure", "figure='residuals': no size differs among the cells of the store")
        return StoreFigure(partial(residual_figure, cells, sizes, observables, width),
                           tuple(describe_residuals(cells, size, observables) for size in sizes))
    if name == "phase":
        slices = [(s.plane, s.diagram) for s in findings.scanned if isinstance(s.diagram, PhaseDiagram)]
        if not slices:
            why = next((str(s.diagram) for s in findings.scanned), "the store's cells scan no two sizes together")
            raise SettingError("figure", f"figure='phase': {why}")
        return StoreFigure(partial(slice_figure, cells, slices, width),
                           tuple(describe_slice(cells, plane, diagram) for plane, diagram in slices))
    scalings = [x for s in findings.scanned for x in s.scalings if x.observable in observables]
    if not scalings:
        raise SettingError("figure", f"figure='scaling': no observable crosses {findings.at:g} along two scans or "
                                     "more, with intervals that have an end")
    return StoreFigure(partial(scaling_figure, scalings, width), tuple(map(describe_scaling, scalings)))
