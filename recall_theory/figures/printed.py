"""A figure of a store for print, by its name."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

from ..settings import SettingError
from ..sweep.store_summary import Findings
from ..theory.phase import PhaseDiagram
from . import agreement, phase, residuals, scaling


@dataclasses.dataclass(frozen=True)
class Picture:
    """A figure not drawn yet: `make(pyplot)` draws it, `words` say what its panels show, one after the other."""

    make: Callable[[Any], Any]
    words: tuple[str, ...]


def printed(found: Findings, name: str, width: str, observables: Sequence[str]) -> Picture:
    """The figure "agreement", "residuals", "phase" or "scaling", "single" or "double" in width.

    `observables` are those that it shows. Raises `SettingError` where the store has nothing for it to show.

    >>> from recall_theory.evidence import findings
    >>> from recall_theory.sweep import product, sweep
    >>> found = findings(sweep(product({"d": [16, 32]}, V=16, L=2, N=128), seeds=3, seed=1))
    >>> printed(found, "agreement", "single", ["recall"]).words[0][:46]
    'Predicted against observed recall of 2 cells. '
    """
    cells = dict(enumerate(found.evidence.cells))
    if not cells:
        raise SettingError("store", "the theory describes none of the store's cells: there is nothing to draw")
    if name == "agreement":
        return Picture(lambda plt: agreement.figure(plt, cells, observables, width),
                       tuple(agreement.words(cells, o) for o in observables))
    if name == "residuals":
        sizes = residuals.varied(cells)
        if not sizes:
            raise SettingError("figure", "figure='residuals': no size differs among the cells of the store")
        return Picture(lambda plt: residuals.figure(plt, cells, sizes, observables, width),
                       tuple(residuals.words(cells, size, observables) for size in sizes))
    if name == "phase":
        planes = [(s.plane, s.diagram) for s in found.scanned if isinstance(s.diagram, PhaseDiagram)]
        if not planes:
            why = next((str(s.diagram) for s in found.scanned), "the store's cells scan no two sizes together")
            raise SettingError("figure", f"figure='phase': {why}")
        return Picture(lambda plt: phase.figure(plt, cells, planes, width),
                       tuple(phase.words(cells, plane, diagram) for plane, diagram in planes))
    scalings = [x for s in found.scanned for x in s.scalings if x.observable in observables]
    if not scalings:
        raise SettingError("figure", f"figure='scaling': no observable crosses {found.at:g} along two scans or more, "
                           "with intervals that have an end")
    return Picture(lambda plt: scaling.figure(plt, scalings, width), tuple(map(scaling.words, scalings)))
