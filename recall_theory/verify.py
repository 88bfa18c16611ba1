"""`verify`: predicted beside observed over a grid of settings, with an interval and a verdict each."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from . import statistics
from .setting import Setting, SettingError
from .simulate.observe import OBSERVABLES
from .simulate.result import Interrupted, Observable
from .simulate.run import check_affordable, check_seed, check_seeds, run_tasks
from .theory.predict import Prediction, predict

MARGIN = 0.02  # the declared margin of the attention-only theory, on every observable
FEWEST_SEEDS, MOST_SEEDS = 48, 6000


@dataclasses.dataclass(frozen=True)
class Comparison:
    """One observable of one cell: its prediction, what was seen, and the verdict."""

    predicted: float
    predicted_std: float
    observed: Observable
    low: float  # the family-wise interval of observed - predicted
    high: float
    verdict: str

    @property
    def difference(self) -> float:
        """Observed mean less prediction."""
        return self.observed.mean - self.predicted


@dataclasses.dataclass(frozen=True)
class Cell:
    """One setting of the grid with its three comparisons, by observable."""

    setting: Setting
    seeds: int
    comparisons: dict[str, Comparison]

    def to_dict(self) -> dict[str, Any]:
        """The cell as the JSON contract has it."""
        by = self.comparisons

        def each(f: Callable[[Comparison], Any]) -> dict[str, Any]:
            return {o: f(c) for o, c in by.items()}

        return {
            "setting": self.setting.to_dict(),
            "seeds": self.seeds,
            "predicted": {**each(lambda c: c.predicted), "std": each(lambda c: c.predicted_std)},
            "observed": each(lambda c: {"mean": c.observed.mean, "se": _finite(c.observed.se),
                                        "std": _finite(c.observed.std)}),
            "difference": each(lambda c: c.difference),
            "interval": each(lambda c: [_finite(c.low), _finite(c.high)]),
            "verdict": each(lambda c: c.verdict),
        }


@dataclasses.dataclass(frozen=True)
class Verification:
    """All cells of a grid and the verdict on the whole."""

    seed: int
    margin: float
    confidence: float
    cells: tuple[Cell, ...]

    @property
    def verdict(self) -> str:
        """disagree if any comparison disagrees, else inconclusive if any is, else agree."""
        return statistics.worst([c.verdict for cell in self.cells for c in cell.comparisons.values()])

    def to_dict(self) -> dict[str, Any]:
        """The JSON contract of `recall-theory verify`."""
        return {"schema_version": 1, "seed": self.seed, "margin": self.margin,
                "confidence": self.confidence, "cells": [c.to_dict() for c in self.cells],
                "verdict": self.verdict}


def _finite(x: float) -> float | None:
    return float(x) if np.isfinite(x) else None


def planned_seeds(prediction: Prediction, margin: float, confidence: float) -> int:
    """Seeds for one cell, fixed before anything is observed: from the predicted spread."""
    widest = max(prediction.spread.values())
    wanted = statistics.seeds_needed(widest, margin, confidence)
    return int(np.clip(wanted, FEWEST_SEEDS, MOST_SEEDS))


def verify(grid: Sequence[Setting] | str = "default", seeds: int | None = None, seed: int | None = None, *,
           jobs: int = 1, margin: float = MARGIN,
           predictor: Callable[[Setting], Prediction] = predict,
           progress: Callable[[int, int, Setting], None] | None = None) -> Verification:
    """Compare predictions with simulations on every setting of `grid`.

    `grid` is a list of settings, or the name of a shipped one. `seeds` a cell are planned from the predicted
    spread where None. Observables are summed over all sequences exactly, given the seed. `progress` is called
    with (seeds done, seeds in all, setting). Ctrl-C raises `Interrupted`, a KeyboardInterrupt, with the
    verification of the cells finished by then.

    >>> done = verify([Setting(V=32, L=4, d=64, N=1024)], seeds=8, seed=1)
    >>> done.verdict in ("agree", "disagree", "inconclusive")
    True
    """
    if isinstance(grid, str):
        from .grids import load

        grid = load(grid)
    if not grid:
        raise SettingError("grid", "the grid holds no setting")
    if seeds is not None:
        check_seeds(seeds)
    if not 0 < margin < 1:
        raise SettingError("margin", f"margin={margin!r} is not a number above 0 and below 1")
    seed = check_seed(seed)
    confidence = statistics.family_confidence(len(grid) * len(OBSERVABLES))
    for setting in grid:
        check_affordable(setting)
    predictions = [predictor(setting) for setting in grid]
    plan = [seeds or planned_seeds(p, margin, confidence) for p in predictions]
    tasks = ((setting, cell_seed(seed, number), i, None, None)
             for number, (setting, n) in enumerate(zip(grid, plan, strict=True)) for i in range(n))
    values = [np.empty((n, 3)) for n in plan]
    slots = ((c, i) for c, n in enumerate(plan) for i in range(n))
    whole = 0  # cells of which every seed is done
    try:
        for done, ((c, i), triple) in enumerate(zip(slots, run_tasks(tasks, jobs), strict=True)):
            values[c][i] = triple
            whole = c + (i == plan[c] - 1)
            if progress is not None:
                progress(done + 1, sum(plan), grid[c])
    except KeyboardInterrupt:
        if whole == 0:
            raise
        raise Interrupted(_verification(seed, margin, confidence, predictions[:whole], values)) from None
    return _verification(seed, margin, confidence, predictions, values)


def _verification(seed: int, margin: float, confidence: float, predictions: Sequence[Prediction],
                  values: Sequence[np.ndarray]) -> Verification:
    """The verdict on the first cells, as many as there are predictions."""
    cells = tuple(_compare(p, v, margin, confidence) for p, v in zip(predictions, values, strict=False))
    return Verification(seed, margin, confidence, cells)


def cell_seed(seed: int, number: int) -> int:
    """The seed of cell `number` of a grid: cells must not share their draws."""
    return int(np.random.SeedSequence((seed, number)).generate_state(1, np.uint64)[0])


def _compare(prediction: Prediction, values: np.ndarray, margin: float, confidence: float) -> Cell:
    comparisons = {}
    for name, column in zip(OBSERVABLES, values.T, strict=True):
        predicted = float(getattr(prediction, name))
        low, high = statistics.student_interval(column - predicted, confidence)
        comparisons[name] = Comparison(predicted, prediction.spread[name], Observable(column), low, high,
                                       statistics.judge(low, high, margin))
    return Cell(prediction.setting, len(values), comparisons)
