"""All that a store shows: judged cells, phase diagrams with the cells on them, critical sizes, and how to repeat it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ..settings import Setting, SettingError
from ..theory.phase import PhaseDiagram
from .analysis import Evidence, evidence
from .critical_sizes import critical
from .reproduce import Repeat, commands
from .results import Results
from .scaling import Scaling
from .slices import CELLS, Plane, diagram, planes

AT = 0.5  # the level whose crossings are critical


@dataclasses.dataclass(frozen=True)
class Scanned:
    """A plane of cells with its predicted phase diagram (or why there is none) and its critical sizes."""

    plane: Plane
    diagram: PhaseDiagram | str
    scalings: tuple[Scaling, ...]


@dataclasses.dataclass(frozen=True)
class Findings:
    """What a store shows. `at` is the level of critical sizes and of the boundaries in phase diagrams, `more` counts
    the planes beyond those in `scanned`."""

    evidence: Evidence
    at: float
    scanned: tuple[Scanned, ...]
    more: int
    repeats: tuple[Repeat, ...]

    def to_dict(self) -> dict[str, Any]:
        """The JSON contract of `recall-theory report`."""
        phases = [{"cells": list(s.plane.cells),
                   **(s.diagram.to_dict() if isinstance(s.diagram, PhaseDiagram) else
                      {"x": s.plane.x, "y": s.plane.y, "fixed": s.plane.fixed, "reason": s.diagram})}
                  for s in self.scanned]
        return {**self.evidence.to_dict(), "at": self.at, "phase": phases,
                "scaling": [x.to_dict() for s in self.scanned for x in s.scalings],
                "repeat": [r.command for r in self.repeats]}


def findings(results: Results, at: float = AT, *, phases: tuple[int, int] | None = CELLS,
             mapped: Callable[[Callable[[Setting], Any], Sequence[Setting]], Iterable[Any]] = map) -> Findings:
    """What the results of a sweep show; no phase diagrams where `phases`, their (columns, rows), is None.

    Raises `SettingError` where there is no result.

    >>> from recall_theory.sweep import product, sweep
    >>> cells = product({"d": [8, 16, 32], "L": [2, 4]}, V=16, N=128)
    >>> found = findings(sweep(cells, seeds=8, seed=1), phases=(3, 2))
    >>> found.scanned[0].diagram.accuracy.shape
    (2, 3)
    """
    if not results.found:
        raise SettingError("store", "the store holds no result of the present model")
    if not 0 < at < 1:
        raise SettingError("at", f"at={at!r} is not a number above 0 and below 1")
    found = evidence(results, mapped)
    settings = [cell.setting for cell in found.cells]
    chosen, more = planes(settings)
    scanned = [Scanned(p, "" if phases is None else diagram(p, settings, at, mapped, phases),
                       tuple(critical(found, p, at))) for p in chosen]
    counts = [*(cell.seeds for cell in found.cells), *(r.seeds for r in found.refused)]
    return Findings(found, at, tuple(scanned), more, tuple(commands(found.all_problems, counts)))
