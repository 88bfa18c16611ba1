"""Settings observed on as many seeds each: those of a list, or spread evenly over a phase diagram."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ..settings import Setting, check_integer, check_seed, check_seeds
from ..simulate.run import check_affordable
from ..simulate.workers import collect
from ..theory.phase import PhaseDiagram, Point, place
from .problem import observe_exactly

Values = tuple[float, ...]
Estimate = tuple[float, float | None]  # a mean over seeds and its standard error, None for a single seed
R = TypeVar("R")

MOST_POINTS = 1000  # on a phase diagram
PLASTIC = 1.32471795724474602596  # the real root of x^3 = x + 1


def cell_seed(seed: int, number: int) -> int:
    """The seed of cell `number` of a grid: cells must not share their draws."""
    return int(np.random.SeedSequence((seed, number)).generate_state(1, np.uint64)[0])


def observe_settings(settings: Sequence[Setting], seeds: int, seed: int, result: Callable[[list[list[Estimate]]], R], *,
                     observe: Callable[[Setting, int, int], Values] = observe_exactly, jobs: int = 1,
                     progress: Callable[[int, int], None] | None = None) -> R:
    """The `result` of the estimates of every observable, setting by setting.

    Each setting has `seeds` seeds of its own: settings that shared their embeddings would err together. `observe` gives
    the observables of one seed, and `progress` is called with (seeds done, seeds in all).

    Raises `SettingError` where a setting is too large to simulate. On Ctrl-C `Interrupted` carries the `result` of the
    first settings, those whose seeds are all there.
    """
    for setting in settings:
        check_affordable(setting, jobs)

    def of_whole_settings(rows: list[Values]) -> R:
        blocks = [np.array(rows[i:i + seeds]) for i in range(0, len(rows) - seeds + 1, seeds)]
        return result([[_estimate(column) for column in block.T] for block in blocks])

    tasks = [(s, seed, i * seeds + j) for i, s in enumerate(settings) for j in range(seeds)]
    return of_whole_settings(collect(observe, tasks, jobs=jobs, progress=progress, partial=of_whole_settings))


def _estimate(values: NDArray[np.float64]) -> Estimate:
    if len(values) < 2:
        return float(values.mean()), None
    return float(values.mean()), float(values.std(ddof=1) / np.sqrt(len(values)))


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
