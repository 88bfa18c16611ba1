"""Seeds of the cells of a grid, simulated in planned stages."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..simulate.workers import collect

__all__ = ["SeedScheduler", "cell_seed", "first_stage", "mean_and_error", "observe_settings"]

FEWEST_SEEDS, MOST_SEEDS = 48, 6000  # of a first stage, whatever the plan
TASK = 16  # seeds that a worker takes at a time: handing them over one by one takes a fifth of a small seed's time
SHARES = 8  # at least, for each worker, of every cell

FloatArray = NDArray[np.float64]
S = TypeVar("S")
Values = tuple[float, ...]
Draw = Callable[[S, int, range], list[Values]]  # of a setting, its seed, and which of its draws


class SeedScheduler(Generic[S]):
    """The observed values of each cell of a grid so far; `draw` makes those of some seeds of a setting.

    `progress` is called with (seeds done, seeds in all, setting).
    """

    def __init__(self, grid: Sequence[S], draw: Draw[S], *, seed: int, jobs: int,
                 progress: Callable[[int, int, S], None] | None = None):
        self.grid, self.draw, self.seed, self.jobs, self.progress = grid, draw, seed, jobs, progress
        self.values: list[list[Values]] = [[] for _ in grid]

    def extend(self, plan: Sequence[int]) -> None:
        """Simulate until every cell has as many seeds as planned; an interrupt keeps what was finished."""
        batches = [(c, indices) for c, n in enumerate(plan) for indices in self._batches(len(self.values[c]), n)]
        done = sum(map(len, self.values))
        total = done + sum(len(indices) for _, indices in batches)
        awaited = iter(batches)

        def keep(values: list[Values]) -> None:
            nonlocal done
            c, indices = next(awaited)
            self.values[c] += values
            done += len(indices)
            if self.progress is not None:
                self.progress(done, total, self.grid[c])

        tasks = ((self.grid[c], cell_seed(self.seed, c), indices) for c, indices in batches)
        collect(self.draw, tasks, jobs=self.jobs, each=keep)

    def run_stage(self, plan: Sequence[int]) -> None:
        """As `extend`; an interrupt leaves every cell with the seeds of whole stages."""
        before = [len(v) for v in self.values]
        try:
            self.extend(plan)
        except KeyboardInterrupt:
            for values, had, n in zip(self.values, before, plan, strict=True):
                if len(values) < n:
                    del values[had:]
            raise

    @property
    def sampled(self) -> list[int]:
        """The numbers of the cells that have any values."""
        return [c for c, v in enumerate(self.values) if v]

    def _batches(self, start: int, stop: int) -> list[range]:
        """The draws from start to stop in the portions that workers take."""
        step = min(TASK, math.ceil(stop / (SHARES * self.jobs))) or 1
        return [range(i, min(i + step, stop)) for i in range(start, stop, step)]


def first_stage(planned: int) -> int:
    """How many of the planned seeds a first stage takes."""
    return min(max(planned, FEWEST_SEEDS), MOST_SEEDS)


def cell_seed(seed: int, number: int) -> int:
    """The seed of cell `number` of a grid: cells must not share their draws."""
    return int(np.random.SeedSequence((seed, number)).generate_state(1, np.uint64)[0])


def observe_settings(observe: Callable[[S, int, int], Values], settings: Sequence[S], seeds: int, seed: int, *,
                     jobs: int = 1, progress: Callable[[int, int], None] | None = None,
                     partial: Callable[[list[FloatArray]], object] | None = None) -> list[FloatArray]:
    """The observables (seeds, ...) of each setting, on `seeds` seeds of its own each: settings that shared their
    embeddings would err together.

    `progress` is called with (seeds done, seeds in all). On Ctrl-C `Interrupted` carries `partial(those of the settings
    whose seeds are all there)`.
    """

    def of_settings(rows: list[Values]) -> list[FloatArray]:
        return [np.array(rows[i:i + seeds]) for i in range(0, len(rows) - seeds + 1, seeds)]

    tasks = [(s, seed, i * seeds + j) for i, s in enumerate(settings) for j in range(seeds)]
    return of_settings(collect(observe, tasks, jobs=jobs, progress=progress,
                               partial=None if partial is None else lambda rows: partial(of_settings(rows))))


def mean_and_error(values: FloatArray) -> tuple[float, float | None]:
    """The mean of values (n,), and its standard error where there are several."""
    return float(values.mean()), float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else None
