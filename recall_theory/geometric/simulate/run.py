"""`simulate`: random superposition drawn once a seed, and its recall."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from ...settings import SettingError
from ...simulate.observation import Interrupted, Observable
from ...simulate.run import check_seed, check_seeds, map_tasks
from ..construct.build import check_buildable
from ..setting import GeometricSetting
from .one import one_seed

__all__ = ["GeometricObservation", "check_affordable", "run_tasks", "simulate"]

Task = tuple[GeometricSetting, int, int]

MOST_WORK = 1e13  # multiplications a seed; some minutes of work


@dataclasses.dataclass(frozen=True)
class GeometricObservation:
    """Recall of `seeds` independent draws of one setting."""

    setting: GeometricSetting
    seed: int
    recall: Observable

    @property
    def seeds(self) -> int:
        """How many draws were made."""
        return len(self.recall.values)

    def to_dict(self) -> dict[str, Any]:
        """The JSON contract of `recall-theory geometric simulate`."""
        seen = self.recall
        return {"schema_version": 1, "setting": self.setting.to_dict(), "seed": self.seed, "seeds": self.seeds,
                "observed": {"recall": {"mean": seen.mean, "se": None if np.isnan(seen.se) else seen.se,
                                        "values": seen.values.tolist()}}}


def check_affordable(setting: GeometricSetting) -> None:
    """Raise `SettingError` where a seed would not fit in memory, or would take too long."""
    check_buildable(setting)
    work = float(setting.words) * setting.N * setting.k * (setting.N + 2 * setting.width)
    if work > MOST_WORK:
        raise SettingError("N", f"N={setting.N}: one seed of this simulation takes {work:.3g} multiplications, and "
                           f"{MOST_WORK:.0e} is the most it takes on; lower N, R or d (predict has no such limit)")


def simulate(setting: GeometricSetting, seeds: int = 32, seed: int | None = None, *, jobs: int = 1,
             progress: Callable[[int, int], None] | None = None) -> GeometricObservation:
    """Draw bijections, codes and maps `seeds` times, and count the queries that are answered rightly.

    `seed` fixes the draws (drawn and kept in the result where None); any number of `jobs` gives the same bits.
    `progress` is called with (done, seeds). Raises `SettingError` where a number is out of range or the model too
    large, and `Interrupted` (a KeyboardInterrupt) with the seeds finished by then where Ctrl-C stops it.

    >>> seen = simulate(GeometricSetting(N=50, R=3, d=64, code_length=16), seeds=4, seed=0)
    >>> 0.8 < seen.recall.mean <= 1
    True
    """
    check_seeds(seeds)
    seed = check_seed(seed)
    check_affordable(setting)
    values = np.empty(seeds)
    done = 0
    try:
        for value in run_tasks(((setting, seed, i) for i in range(seeds)), jobs):
            values[done] = value
            done += 1
            if progress is not None:
                progress(done, seeds)
    except KeyboardInterrupt:
        if done == 0:
            raise
        raise Interrupted(GeometricObservation(setting, seed, Observable(values[:done]))) from None
    return GeometricObservation(setting, seed, Observable(values))


def run_tasks(tasks: Iterable[Task], jobs: int = 1) -> Iterator[float]:
    """The recall of each task, in the tasks' order, as they become ready; `jobs` processes share the work."""
    return map_tasks(one_seed, tasks, jobs)
