"""`verify`: predicted beside observed recall over a grid of geometric settings, with an interval and a verdict each."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from ..simulate.observation import Interrupted
from ..verification import statistics
from ..verification.results import Comparison, comparisons, finite
from ..verification.sampling import Looks, check_arguments, first_look
from .setting import GeometricSetting
from .simulate.one import one_seed
from .simulate.run import check_affordable
from .theory.predict import GeometricPrediction, predict

__all__ = ["GeometricCell", "GeometricVerification", "verify"]

MARGIN = 0.02  # the declared margin of the theory; its one-pass law is exact


@dataclasses.dataclass(frozen=True)
class GeometricCell:
    """One setting and the comparison of its predicted with its observed recall."""

    setting: GeometricSetting
    recall: Comparison

    @property
    def seeds(self) -> int:
        """How many draws were made."""
        return len(self.recall.observed.values)

    @property
    def verdict(self) -> str:
        """agree, disagree or inconclusive."""
        return self.recall.verdict

    @property
    def is_open(self) -> bool:
        """Whether the verdict is inconclusive."""
        return self.verdict == statistics.INCONCLUSIVE

    def to_dict(self) -> dict[str, Any]:
        """The cell as the JSON contract has it."""
        c = self.recall
        return {"setting": self.setting.to_dict(), "seeds": self.seeds,
                "predicted": {"recall": c.predicted, "std": {"recall": c.predicted_std}},
                "observed": {"recall": {"mean": c.observed.mean, "se": finite(c.observed.se),
                                        "std": finite(c.observed.std)}},
                "difference": {"recall": c.difference}, "interval": {"recall": [c.low, c.high]},
                "method": {"recall": c.method}, "design_effect": {"recall": finite(c.design_effect)},
                "smallest_detectable_bias": {"recall": finite(c.detectable)},
                "verdict": {"recall": c.verdict}, "reason": {"recall": c.reason}}


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

    Intervals, verdicts and the planned seeds, in two looks where `seeds` is None, are those of
    `recall_theory.verification.engine`. `progress` is called with (seeds done, seeds in all). Ctrl-C raises
    `Interrupted` with the
    verification of the cells finished by then. Raises `SettingError` for bad arguments.

    >>> done = verify([GeometricSetting(N=20, R=2, d=32, code_length=8)], seeds=64, seed=1)
    >>> done.verdict in ("agree", "inconclusive", "disagree")
    True
    """
    if isinstance(grid, str):
        from .grid import load

        grid = load(grid)
    seed = check_arguments(grid, seeds, seed, margin)
    for setting in grid:
        check_affordable(setting)
    predictions = [predictor(setting) for setting in grid]
    confidence = statistics.family_confidence(len(grid) * (1 if seeds else statistics.LOOKS), statistics.VERDICT_ALPHA)
    shown = None if progress is None else lambda done, total, c: progress(done, total)
    looks: Looks[float] = Looks(grid, some_seeds, seed, jobs, shown)

    def cell(c: int) -> GeometricCell:
        p, rows = predictions[c], np.array([looks.values[c]])
        return GeometricCell(grid[c], *comparisons([(p.recall, p.std)], rows, margin, confidence,
                                                   grid[c].N * grid[c].R))

    def verification(cells: Iterable[int]) -> GeometricVerification:
        return GeometricVerification(seed, margin, confidence, tuple(cell(c) for c in cells))

    try:
        if seeds is not None:
            looks.look([seeds] * len(grid))
        else:
            plan = [first_look(statistics.seeds_planned(p.recall, p.std, margin, confidence)) for p in predictions]
            looks.look_twice(plan, lambda: verification(range(len(grid))).cells)
    except KeyboardInterrupt:
        if not looks.seen:
            raise
        raise Interrupted(verification(looks.seen)) from None
    return verification(range(len(grid)))


def some_seeds(setting: GeometricSetting, seed: int, indices: range) -> list[float]:
    """The recall of some draws of a setting."""
    return [one_seed(setting, seed, i) for i in indices]
