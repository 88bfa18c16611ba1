"""Settings observed on as many seeds each, for what is laid beside a curve or a plane."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ..settings import Setting
from ..simulate.run import check_affordable
from ..simulate.workers import collect
from .problem import observe_exactly

Values = tuple[float, ...]
Estimate = tuple[float, float | None]  # a mean over seeds and its standard error, None for a single seed
R = TypeVar("R")


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
        check_affordable(setting)

    def of_whole_settings(rows: list[Values]) -> R:
        blocks = [np.array(rows[i:i + seeds]) for i in range(0, len(rows) - seeds + 1, seeds)]
        return result([[_estimate(column) for column in block.T] for block in blocks])

    tasks = [(s, seed, i * seeds + j) for i, s in enumerate(settings) for j in range(seeds)]
    return of_whole_settings(collect(observe, tasks, jobs=jobs, progress=progress, partial=of_whole_settings))


def _estimate(values: NDArray[np.float64]) -> Estimate:
    if len(values) < 2:
        return float(values.mean()), None
    return float(values.mean()), float(values.std(ddof=1) / np.sqrt(len(values)))
