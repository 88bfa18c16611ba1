"""Verdicts: an equivalence test on an interval, its error rate over a family, and what a sample can show.

A prediction for random embeddings has an error at any finite size. The theory declares how large it may be, a margin
that was fixed before anything was compared. It agrees when the interval of observed - predicted lies inside the margin,
disagrees when the interval lies outside, and the comparison is inconclusive otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from ..settings import Setting

AGREE, DISAGREE, INCONCLUSIVE = "agree", "disagree", "inconclusive"

# Declared margins, differences of probabilities.
ATTENTION_ONLY = 2 / 100
MLP = 3 / 100  # the kernel of a finite width adds an error of its own
GEOMETRIC = 2 / 100  # its law of one pass is exact

ALPHA = 0.05  # error of a whole family of intervals
# The same for verdicts, both sides together. A formula whose error equals its margin is only wronged on one side, so
# that no right formula is called wrong in more than one run of 1,000.
VERDICT_ALPHA = 0.002
POWER = 0.9  # at which one comparison detects its smallest detectable bias; three cells miss it once in 1,000


def declared_margin(setting: Setting) -> float:
    """The declared margin of every observable predicted at a setting.

    >>> declared_margin(Setting(V=64, L=4, d=64, N=4096)), declared_margin(Setting(V=64, L=4, d=64, N=4096, m=256))
    (0.02, 0.03)
    """
    return ATTENTION_ONLY if setting.m is None else MLP


def family_confidence(comparisons: int, alpha: float = ALPHA) -> float:
    """The confidence of each interval that keeps the error of the whole family below alpha (Bonferroni)."""
    return 1 - alpha / max(1, comparisons)


def judge(low: float, high: float, margin: float) -> str:
    """The verdict on an interval (low, high) of observed - predicted."""
    if -margin <= low and high <= margin:
        return AGREE
    return DISAGREE if high < -margin or low > margin else INCONCLUSIVE


def worst(verdicts: Iterable[str]) -> str:
    """One verdict for many: any disagreement wins, then any doubt."""
    return max(verdicts, key=(AGREE, INCONCLUSIVE, DISAGREE).index, default=AGREE)


def smallest_detectable_bias(mean: float, low: float, high: float, se: float) -> float:
    """The bias beyond the margin that this comparison would call a disagreement with probability 0.9.

    `low` and `high` are the ends of the interval of the mean, `se` is its standard error (NaN where it isn't known:
    nothing is detectable).
    """
    from scipy.special import ndtri

    if not math.isfinite(se):
        return math.inf
    return max(mean - low, high - mean) + float(ndtri(POWER)) * se
