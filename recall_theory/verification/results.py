"""What a verification consists of: comparisons of one observable, cells of one setting, and the whole."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..settings import Setting
from ..simulate.observables import OBSERVABLES
from ..simulate.observation import Observable
from ..theory.predict import Prediction
from . import statistics

TOO_SKEWED = "too skewed to judge"
TOO_FEW = "too few seeds to show rare failures"


@dataclasses.dataclass(frozen=True)
class Comparison:
    """One observable of one cell: what is claimed, what was seen, and the verdict.

    `low` and `high` are the ends of the family-wise interval of observed - predicted, by the `method` "t", "BCa", "any
    law" or "anytime". `reason` says why a comparison is inconclusive where it isn't the width alone. `design_effect` is
    the variance over seeds in units of that of V independent facts (NaN where nothing varies). `detectable` is the bias
    beyond the margin that would be found with probability 0.9. `predicted_std` is the spread that the library's
    own theory predicts (NaN where it describes none).
    """

    predicted: float
    predicted_std: float
    observed: Observable
    low: float
    high: float
    method: str
    verdict: str
    reason: str
    design_effect: float
    detectable: float

    @property
    def difference(self) -> float:
        """Observed mean less prediction."""
        return self.observed.mean - self.predicted

    def record(self) -> dict[str, Any]:
        """The comparison as a row of `--csv`."""
        return {"predicted": self.predicted, "predicted_std": self.predicted_std, "observed": self.observed.mean,
                "se": self.observed.se, "std": self.observed.std, "difference": self.difference, "low": self.low,
                "high": self.high, "method": self.method, "design_effect": self.design_effect,
                "smallest_detectable_bias": self.detectable, "verdict": self.verdict, "reason": self.reason}


@dataclasses.dataclass(frozen=True)
class Cell:
    """One setting of the grid with its margin and its comparisons, by observable.

    `theory` is the library's own prediction there, None where it has none.
    """

    setting: Setting
    seeds: int
    margin: float
    comparisons: dict[str, Comparison]
    theory: Prediction | None

    @property
    def verdict(self) -> str:
        """The worst of its verdicts."""
        return statistics.worst(c.verdict for c in self.comparisons.values())

    @property
    def is_open(self) -> bool:
        """Whether any of its verdicts is inconclusive."""
        return any(c.verdict == statistics.INCONCLUSIVE for c in self.comparisons.values())

    def to_dict(self) -> dict[str, Any]:
        """The cell as the JSON contract has it."""
        by = self.comparisons

        def each(f: Callable[[Comparison], Any]) -> dict[str, Any]:
            return {o: f(c) for o, c in by.items()}

        return {
            "setting": self.setting.to_dict(),
            "seeds": self.seeds,
            "margin": self.margin,
            "predicted": {**each(lambda c: c.predicted), "std": each(lambda c: finite(c.predicted_std))},
            "observed": each(lambda c: {"mean": c.observed.mean, "se": finite(c.observed.se),
                                        "std": finite(c.observed.std)}),
            "difference": each(lambda c: c.difference),
            "interval": each(lambda c: [c.low, c.high]),
            "method": each(lambda c: c.method),
            "design_effect": each(lambda c: finite(c.design_effect)),
            "smallest_detectable_bias": each(lambda c: finite(c.detectable)),
            "verdict": each(lambda c: c.verdict),
            "reason": each(lambda c: c.reason),
        }


@dataclasses.dataclass(frozen=True)
class Verification:
    """All cells of a grid and the verdict on the whole."""

    seed: int
    confidence: float
    cells: tuple[Cell, ...]

    @property
    def verdict(self) -> str:
        """disagree if any comparison disagrees, else inconclusive if any is, else agree."""
        return statistics.worst(cell.verdict for cell in self.cells)

    def to_dict(self) -> dict[str, Any]:
        """The JSON contract of `recall-theory verify`."""
        return {"schema_version": 1, "seed": self.seed, "confidence": self.confidence,
                "cells": [c.to_dict() for c in self.cells], "verdict": self.verdict}


def finite(x: float) -> float | None:
    """The number, or None where it is NaN or infinite."""
    return float(x) if math.isfinite(x) else None


def compare(setting: Setting, claimed: Mapping[str, float], margin: float, values: NDArray[np.float64],
            confidence: float, theory: Prediction | None, anytime: bool = False) -> Cell:
    """The cell of a setting from its observed values (seeds, 3); `anytime` where the number of seeds wasn't fixed.

    `claimed` has a mean for one or more of the observables, `confidence` is that of each interval, `theory` is what
    the library itself predicts there.

    >>> from recall_theory import predict
    >>> setting = Setting(V=16, L=2, d=32, N=128)
    >>> compare(setting, {"recall": 0.5}, 0.02, np.full((400, 3), 0.9), 0.95, predict(setting)).verdict
    'disagree'
    """
    spread = dict.fromkeys(OBSERVABLES, math.nan) if theory is None else theory.spread
    names = [name for name in OBSERVABLES if name in claimed]
    rows = np.ascontiguousarray(values.T[[OBSERVABLES.index(name) for name in names]])
    found = comparisons([(claimed[name], spread[name]) for name in names], rows, margin, confidence, setting.V, anytime)
    return Cell(setting, len(values), margin, dict(zip(names, found, strict=True)), theory)


def comparisons(predicted: Sequence[tuple[float, float]], rows: NDArray[np.float64], margin: float, confidence: float,
                facts: int, anytime: bool = False) -> list[Comparison]:
    """Means and spreads that are predicted, beside what was observed (one row each, of one value a seed)."""
    if anytime:
        lows, highs = statistics.anytime_interval(rows, confidence)
        methods = np.full(len(rows), "anytime")
    else:
        ends = statistics.mean_intervals(rows, confidence)
        lows, highs, methods = ends.low, ends.high, ends.method
    found = []
    for (mean, std), row, bottom, top, method in zip(predicted, rows, lows.tolist(), highs.tolist(), methods.tolist(),
                                                     strict=True):
        observed, low, high = Observable(row), bottom - mean, top - mean
        verdict = statistics.judge(low, high, margin)
        reason = ""
        if verdict == statistics.INCONCLUSIVE and not anytime:
            if len(row) < statistics.seeds_to_rule_out(margin, confidence):
                reason = TOO_FEW
            if method == "any law" and len(row) > 1:
                reason = TOO_SKEWED
        found.append(Comparison(
            mean, std, observed, low, high, method, verdict, reason, observed.design_effect(facts),
            statistics.smallest_detectable_bias(observed.mean, bottom, top, observed.se)))
    return found
