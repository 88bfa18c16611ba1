"""Simulated settings on a phase diagram: chosen by a fixed rule before anything is simulated."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np

from ..errors import Interrupted
from ..settings import Setting, SettingError
from ..simulate.run import check_affordable, check_seed, check_seeds, run_tasks
from ..theory.phase import PhaseDiagram, Point, place

MOST_POINTS = 1000


def chosen_cells(diagram: PhaseDiagram, points: int) -> list[tuple[int, int]]:
    """The (row, column) of `points` cells spread evenly over the plane: the R2 sequence, snapped to cells."""
    rows, columns = diagram.accuracy.shape
    if not (isinstance(points, int) and 1 <= points <= min(MOST_POINTS, rows * columns)):
        most = min(MOST_POINTS, rows * columns)
        raise SettingError("points", f"points={points!r} is not an integer from 1 to {most}")
    plastic = 1.32471795724474602596  # the real root of x^3 = x + 1
    found: list[tuple[int, int]] = []
    k = 0
    while len(found) < points:
        k += 1
        cell = (int((1 / 2 + k / plastic**2) % 1 * rows), int((1 / 2 + k / plastic) % 1 * columns))
        if cell not in found:
            found.append(cell)
    return found


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
    settings: list[Setting] = []
    for j, i in cells:
        settings.append(place(diagram.x, diagram.y, float(diagram.x_values[i]), float(diagram.y_values[j]),
                              fixed, ratio))
        check_affordable(settings[-1])
    # every point gets seeds of its own: points that shared their embeddings would err together
    tasks = ((s, seed, i, None, None) for i, s in enumerate(s for s in settings for _ in range(seeds)))
    seen: list[float] = []  # accuracies, seeds of a point together

    def with_those_seen() -> PhaseDiagram:
        found = []
        for number in range(len(seen) // seeds):
            (j, i), values = cells[number], np.array(seen[number * seeds:(number + 1) * seeds])
            se = float(values.std(ddof=1) / np.sqrt(seeds)) if seeds > 1 else None
            found.append(Point(float(diagram.x_values[i]), float(diagram.y_values[j]), float(values.mean()), se,
                               float(diagram.accuracy[j, i])))
        return dataclasses.replace(diagram, points=tuple(found))

    try:
        for triple in run_tasks(tasks, jobs):
            seen.append(triple[2])
            if progress is not None:
                progress(len(seen), len(settings) * seeds)
    except KeyboardInterrupt:
        raise Interrupted(with_those_seen()) from None
    return with_those_seen()
