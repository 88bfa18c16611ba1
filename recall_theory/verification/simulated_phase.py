"""Simulated settings on a phase diagram: chosen by a fixed rule before anything is simulated."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable

from ..settings import check_integer, check_seed, check_seeds
from ..theory.phase import PhaseDiagram, Point, place
from .sampling import Estimate, observe_settings

MOST_POINTS = 1000
PLASTIC = 1.32471795724474602596  # the real root of x^3 = x + 1


def chosen_cells(diagram: PhaseDiagram, points: int) -> list[tuple[int, int]]:
    """The (row, column) of `points` cells spread evenly over the plane: the R2 sequence, snapped to cells."""
    rows, columns = diagram.accuracy.shape
    check_integer("points", points, 1, min(MOST_POINTS, rows * columns))
    chosen: dict[tuple[int, int], None] = {}
    for k in itertools.count(1):
        if len(chosen) == points:
            break
        chosen[int((1 / 2 + k / PLASTIC**2) % 1 * rows), int((1 / 2 + k / PLASTIC) % 1 * columns)] = None
    return list(chosen)


def with_points(diagram: PhaseDiagram, points: int = 12, seeds: int = 8, seed: int | None = None, *,
                jobs: int = 1, progress: Callable[[int, int], None] | None = None) -> PhaseDiagram:
    """The diagram with `points` of its settings simulated on `seeds` seeds each.

    Raises `SettingError` where a number is out of range, or a setting too large to simulate, and `Interrupted` (a
    KeyboardInterrupt) with the points whose seeds were finished by then where Ctrl-C stops it.
    """
    check_seeds(seeds)
    seed = check_seed(seed)
    cells = chosen_cells(diagram, points)
    at = [(float(diagram.x_values[i]), float(diagram.y_values[j])) for j, i in cells]
    fixed = dict(diagram.fixed)
    ratio = fixed.pop("ratio", None)

    def with_observed(observed: list[list[Estimate]]) -> PhaseDiagram:
        marks = [Point(x, y, *accuracy, float(diagram.accuracy[cell]))
                 for (x, y), cell, (_, _, accuracy) in zip(at, cells, observed, strict=False)]
        return dataclasses.replace(diagram, points=tuple(marks))

    return observe_settings([place(diagram.x, diagram.y, x, y, fixed, ratio) for x, y in at], seeds, seed,
                            with_observed, jobs=jobs, progress=progress)
