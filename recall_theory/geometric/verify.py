"""`verify`: predicted beside observed recall over a grid of geometric settings, with an interval and a verdict each."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import statistics
from ..setting import SettingError
from ..simulate.result import Interrupted, Observable
from ..simulate.run import check_seed, check_seeds
from ..verify import FEWEST_SEEDS, MOST_SEEDS, cell_seed
from .setting import GeometricSetting
from .simulate.run import check_affordable, run_tasks
from .theory.predict import GeometricPrediction, predict

__all__ = ["GeometricCell", "GeometricVerification", "verify"]

MARGIN = 0.02  # the declared margin of the theory; its one-pass law is exact


@dataclasses.dataclass(frozen=True)
class GeometricCell:
    """One setting: its prediction, what was seen, the family-wise interval of the difference, and the verdict."""

    setting: GeometricSetting
    predicted: float
    predicted_std: float
    observed: Observable
    low: float
    high: float
    verdict: str

    @property
    def difference(self) -> float:
        """Observed mean less prediction."""
        return self.observed.mean - self.predicted

    def to_dict(self) -> dict[str, Any]:
        """The cell as the JSON contract has it."""
        return {"setting": self.setting.to_dict(), "seeds": len(self.observed.values),
                "predicted": {"recall": self.predicted, "std": {"recall": self.predicted_std}},
                "observed": {"recall": {"mean": self.observed.mean, "se": self.observed.se, "std": self.observed.std}},
                "difference": {"recall": self.difference}, "interval": {"recall": [self.low, self.high]},
                "verdict": {"recall": self.verdict}}


@dataclasses.dataclass(frozen=True)
class GeometricVerification:
    """All cells of a grid and the verdict on the whole."""

    seed: int
    margin: float
    confidence: float
    cells: tuple[GeometricCell, ...]

    @property
    def verdict(self) -> str:
        """disagree if any cell disagrees, else inconclusive if any is, else agree."""
        return statistics.worst([cell.verdict for cell in self.cells])

    def to_dict(self) -> dict[str, Any]:
        """The JSON contract of `recall-theory geometric verify`."""
        return {"schema_version": 1, "seed": self.seed, "margin": self.margin, "confidence": self.confidence,
                "cells": [cell.to_dict() for cell in self.cells], "verdict": self.verdict}


def verify(grid: Sequence[GeometricSetting] | str = "default", seeds: int | None = None, seed: int | None = None, *,
           jobs: int = 1, margin: float = MARGIN,
           predictor: Callable[[GeometricSetting], GeometricPrediction] = predict,
           progress: Callable[[int, int], None] | None = None) -> GeometricVerification:
    """Compare predictions with simulations on every setting of `grid`: a list, a shipped grid's name, or a TOML file.

    `seeds` a cell are planned from the predicted spread where None. `progress` is called with (seeds done, seeds in
    all). Ctrl-C raises `Interrupted` with the verification of the cells finished by then.

    >>> done = verify([GeometricSetting(N=20, R=2, d=32, code_length=8)], seeds=64, seed=1)
    >>> done.verdict in ("agree", "inconclusive", "disagree")
    True
    """
    if isinstance(grid, str):
        from .grid import load

        grid = load(grid)
    if not grid:
        raise SettingError("grid", "the grid holds no setting")
    if seeds is not None:
        check_seeds(seeds)
    if not 0 < margin < 1:
        raise SettingError("margin", f"margin={margin!r} is not a number above 0 and below 1")
    seed = check_seed(seed)
    confidence = statistics.family_confidence(len(grid))
    for setting in grid:
        check_affordable(setting)
    predictions = [predictor(setting) for setting in grid]
    plan = [seeds or _planned(p.std, margin, confidence) for p in predictions]
    values = [np.empty(n) for n in plan]
    slots = [(c, i) for c, n in enumerate(plan) for i in range(n)]
    tasks = ((grid[c], cell_seed(seed, c), i) for c, i in slots)

    def verification(cells: int) -> GeometricVerification:
        made = tuple(_cell(p, v, margin, confidence) for p, v in zip(predictions[:cells], values, strict=False))
        return GeometricVerification(seed, margin, confidence, made)

    whole = 0  # cells of which every seed is done
    try:
        for done, ((c, i), value) in enumerate(zip(slots, run_tasks(tasks, jobs), strict=True)):
            values[c][i] = value
            whole = c + (i == plan[c] - 1)
            if progress is not None:
                progress(done + 1, len(slots))
    except KeyboardInterrupt:
        if whole == 0:
            raise
        raise Interrupted(verification(whole)) from None
    return verification(len(plan))


def _planned(std: float, margin: float, confidence: float) -> int:
    """Seeds of one cell, fixed before anything is observed: from the predicted spread."""
    return int(np.clip(statistics.seeds_needed(std, margin, confidence), FEWEST_SEEDS, MOST_SEEDS))


def _cell(prediction: GeometricPrediction, values: np.ndarray, margin: float, confidence: float) -> GeometricCell:
    low, high = statistics.student_interval(values - prediction.recall, confidence)
    return GeometricCell(prediction.setting, prediction.recall, prediction.std, Observable(values), low, high,
                         statistics.judge(low, high, margin))
