"""From observed values to a verdict: an interval over seeds, and an equivalence test.

A fact is not a sample: the facts of one seed share its trigger, attention vector and label frequencies.
Everything here counts seeds. A closed form has a finite-size error, so a formula agrees when the interval
of observed - predicted lies inside its margin, disagrees when it lies outside, and the comparison is
inconclusive otherwise.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

AGREE, DISAGREE, INCONCLUSIVE = "agree", "disagree", "inconclusive"
ALPHA = 0.05  # of the whole family of comparisons


def student_interval(values: NDArray[np.float64], confidence: float) -> tuple[float, float]:
    """The two-sided t interval of the mean over seeds; infinite for a single seed."""
    from scipy import stats

    n = len(values)
    mean = float(values.mean())
    if n < 2:
        return -math.inf, math.inf
    half = float(stats.t.ppf((1 + confidence) / 2, n - 1)) * float(values.std(ddof=1)) / math.sqrt(n)
    return mean - half, mean + half


def family_confidence(comparisons: int, alpha: float = ALPHA) -> float:
    """The confidence of each interval that keeps the family's error below alpha (Bonferroni)."""
    return 1 - alpha / max(1, comparisons)


def judge(low: float, high: float, margin: float) -> str:
    """The verdict on an interval (low, high) of observed - predicted."""
    if -margin <= low and high <= margin:
        return AGREE
    if high < -margin or low > margin:
        return DISAGREE
    return INCONCLUSIVE


def worst(verdicts: list[str]) -> str:
    """One verdict for many: any disagreement wins, then any doubt."""
    for verdict in (DISAGREE, INCONCLUSIVE):
        if verdict in verdicts:
            return verdict
    return AGREE


def seeds_needed(std: float, margin: float, confidence: float) -> int:
    """Seeds for an interval whose half width is 0.6 of the margin, at a seed-to-seed deviation std."""
    from scipy import stats

    z = float(stats.norm.ppf((1 + confidence) / 2))
    # Beyond 1e9 the square would only overflow: no run has so many seeds.
    return max(2, math.ceil(min(z * std / (0.6 * margin), 1e9) ** 2))
