"""Simulated settings on a phase diagram: chosen by a fixed rule before anything is simulated."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ..settings import OBSERVABLES, check_integer, check_seed, check_seeds
from ..simulate.run import check_affordable
from ..theory.phase import PhaseDiagram, Point, place
from .problem import observe_exactly
from .sampling import mean_and_error, observe_settings

__all__ = ["chosen_cells", "with_points"]

MOST_POINTS = 1000
ACCURACY = OBSERVABLES.index("accuracy")


def chosen_cells(diagram: PhaseDiagram, points: int) -> list[tuple[int, int]]:
    """The (row, column) of `points` cells spread evenly over the plane: the R2 sequence, snapped to cells."""
    rows, columns = diagram.accuracy.shape
    check_integer("points", points, 1, min(MOST_POINTS, rows * columns))
    plastic = 1.32471795724474602596  # the real root of x^3 = x + 1
    chosen: dict[tuple[int, int], None] = {}
    for k in itertools.count(1):
        if len(chosen) == points:
            break
        chosen[int((1 / 2 + k / plastic**2) % 1 * rows), int((1 / 2 + k / plastic) % 1 * columns)] = None
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
    fixed = dict(diagram.fixed)
    ratio = fixed.pop("ratio", None)
    settings = [place(diagram.x, diagram.y, float(diagram.x_values[i]), float(diagram.y_values[j]), fixed, ratio)
                for j, i in cells]
    for setting in settings:
        check_affordable(setting)

    def with_observed(observed: list[NDArray[np.float64]]) -> PhaseDiagram:
        marks = [Point(float(diagram.x_values[i]), float(diagram.y_values[j]), *mean_and_error(values[:, ACCURACY]),
                       float(diagram.accuracy[j, i]))
                 for (j, i), values in zip(cells, observed, strict=False)]
        return dataclasses.replace(diagram, points=tuple(marks))

    return with_observed(observe_settings(observe_exactly, settings, seeds, seed, jobs=jobs, progress=progress,
                                          partial=with_observed))
