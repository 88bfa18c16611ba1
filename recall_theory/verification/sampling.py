"""Looks at the cells of a grid: seeds simulated as planned, and the values that they brought."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Generic, Protocol, TypeVar

from ..settings import SettingError
from ..simulate.run import check_seed, check_seeds, map_tasks
from . import statistics

FEWEST_SEEDS, MOST_SEEDS = 48, 6000  # of a first look, whatever the plan
TASK = 16  # seeds that a worker takes at a time: handing them over one by one takes a fifth of a small seed's time
SHARES = 8  # at least, for each worker, of every cell

Value = TypeVar("Value")
Work = Callable[[Any, int, range], list[Value]]  # of a setting, its seed, and which of its draws


class Judged(Protocol):
    """A cell as far as a second look asks about it."""

    @property
    def verdict(self) -> str: ...

    @property
    def is_open(self) -> bool: ...


class Looks(Generic[Value]):
    """The values seen in each cell so far; `work` finds those of some seeds of a setting.

    `progress` is called with (seeds done, seeds in all, number of the cell).
    """

    def __init__(self, grid: Sequence[Any], work: Work[Value], seed: int, jobs: int,
                 progress: Callable[[int, int, int], None] | None = None):
        self.grid, self.work, self.seed, self.jobs, self.progress = grid, work, seed, jobs, progress
        self.values: list[list[Value]] = [[] for _ in grid]

    def observe(self, plan: Sequence[int]) -> None:
        """Simulate until every cell has as many seeds as planned."""
        tasks = []
        for c, n in enumerate(plan):
            step = min(TASK, math.ceil(n / (SHARES * self.jobs))) or 1
            tasks += [(c, range(i, min(i + step, n))) for i in range(len(self.values[c]), n, step)]
        done = sum(map(len, self.values))
        total = done + sum(len(indices) for _, indices in tasks)
        found = map_tasks(self.work, ((self.grid[c], cell_seed(self.seed, c), indices) for c, indices in tasks),
                          self.jobs)
        for (c, indices), values in zip(tasks, found, strict=True):
            self.values[c] += values
            done += len(indices)
            if self.progress is not None:
                self.progress(done, total, c)

    def look(self, plan: Sequence[int]) -> None:
        """Observe; a Ctrl-C leaves every cell with the seeds of whole looks, and passes on."""
        before = [len(v) for v in self.values]
        try:
            self.observe(plan)
        except KeyboardInterrupt:
            for values, had, n in zip(self.values, before, plan, strict=True):
                if len(values) < n:
                    del values[had:]
            raise

    def look_twice(self, first: Sequence[int], judged: Callable[[], Iterable[Judged]]) -> None:
        """The planned look, and where no cell disagrees a second one at those that are open (`second_look`)."""
        self.look(first)
        cells = list(judged())
        if statistics.worst(cell.verdict for cell in cells) == statistics.INCONCLUSIVE:
            self.look(statistics.second_look(first, {c for c, cell in enumerate(cells) if cell.is_open}))

    @property
    def seen(self) -> list[int]:
        """The numbers of the cells that have any values."""
        return [c for c, v in enumerate(self.values) if v]


def first_look(planned: int) -> int:
    """How many of the planned seeds a first look takes."""
    return min(max(planned, FEWEST_SEEDS), MOST_SEEDS)


def cell_seed(seed: int, number: int) -> int:
    """The seed of cell `number` of a grid: cells must not share their draws."""
    import numpy as np

    return int(np.random.SeedSequence((seed, number)).generate_state(1, np.uint64)[0])


def check_arguments(grid: Sequence[Any], seeds: int | None, seed: int | None, margin: float | None) -> int:
    """Raise `SettingError` for what no verification can do; the seed, drawn where None."""
    if not grid:
        raise SettingError("grid", "the grid holds no setting")
    if seeds is not None:
        check_seeds(seeds)
    if margin is not None and not 0 < margin < 1:
        raise SettingError("margin", f"margin={margin!r} is not a number above 0 and below 1")
    return check_seed(seed)
