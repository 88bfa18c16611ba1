"""Intervals for a mean over seeds, and the rule, fixed beforehand, that says which one applies.

The error of a t interval in its thinner tail is off by the factor exp(D) to leading order,

    D = |skewness| z^3 / (3 sqrt(n)),        z the normal quantile of the confidence,

because the studentised mean has third cumulant -2 skewness/sqrt(n). The rule:

- D at most 1/4: Student's t;
- D at most 1: BCa, which corrects for skewness to second order, with the error alpha exp(-2D) in the place of alpha:
  among the samples that look just tame enough are those that a wilder law happens to bring;
- beyond: no interval that leans on normality can be trusted. What is left is one that holds for any law on [0, 1]. It
  is wide, and where it is too wide for a verdict the comparison is "too skewed to judge".

Whichever applies, a failure too rare to be among n seeds may exist: a t or BCa interval never excludes the means that a
share `unseen_share` of seeds at 0, or at 1, would bring, taken at a third of the error.

For values that are 0 or 1 coverage can be summed exactly: tests do it for every share of failures, over all samples
and over those judged by t or BCa alone.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .bounded import guaranteed_interval, unseen_share

FloatArray = NDArray[np.float64]

T_UP_TO, BCA_UP_TO = 0.25, 1.0  # of D
SELECTED = 2.0  # BCa intervals have the error alpha exp(-SELECTED D)
UNSEEN = 1 / 3  # of the error, which failures that no seed shows may take
HALVINGS = 60


@dataclasses.dataclass(frozen=True)
class Intervals:
    """Ends of intervals (...,) in [0, 1] and the method of each: "t", "BCa" or "any law"."""

    low: FloatArray
    high: FloatArray
    method: NDArray[np.str_]


def mean_intervals(values: FloatArray, confidence: float) -> Intervals:
    """Intervals for the means of rows of values (..., n) in [0, 1], one value a seed.

    >>> rng = np.random.default_rng(0)
    >>> mean_intervals(rng.normal(0.5, 0.1, size=(2, 500)), 0.95).method.tolist()
    ['t', 't']
    """
    rows = np.asarray(values, dtype=float).reshape(-1, values.shape[-1])
    n = rows.shape[1]
    mean = rows.mean(axis=1)
    if n < 2:
        return _shaped(values, np.zeros(len(rows)), np.ones(len(rows)), np.full(len(rows), "any law"))
    skew = skewness(rows)
    off = tail_error(skew, n, confidence)
    low, high = _student(rows, confidence)
    method = np.where(off <= T_UP_TO, "t", np.where(off <= BCA_UP_TO, "BCa", "any law"))
    bent, wild = method == "BCa", method == "any law"
    if bent.any():
        low[bent], high[bent] = bca_interval(rows[bent], bca_confidence(off[bent], confidence))
    p = unseen_share(n, 1 - UNSEEN * (1 - confidence))
    low = np.minimum(low, mean * (1 - p))
    high = np.maximum(high, 1 - (1 - mean) * (1 - p))
    if wild.any():
        low[wild], high[wild] = guaranteed_interval(rows[wild], confidence)
    return _shaped(values, np.clip(low, 0, 1), np.clip(high, 0, 1), method)


def _shaped(values: FloatArray, low: FloatArray, high: FloatArray, method: NDArray[np.str_]) -> Intervals:
    shape = values.shape[:-1]
    return Intervals(low.reshape(shape), high.reshape(shape), method.reshape(shape))


def tail_error(skew: Any, n: int, confidence: float) -> Any:
    """D of the rule: the logarithm of the factor by which a t interval's error in one tail is off."""
    from scipy.special import ndtri

    return abs(skew) * float(ndtri((1 + confidence) / 2)) ** 3 / (3 * math.sqrt(n))


def bca_confidence(off: Any, confidence: float) -> Any:
    """The confidence of a BCa interval whose t interval would be off by the factor exp(off)."""
    return 1 - (1 - confidence) * np.exp(-SELECTED * off)


def skewness(rows: FloatArray) -> FloatArray:
    """The third standardised moment (R,) of rows (R, n); 0 where all values of a row are the same."""
    centred = rows - rows.mean(axis=1, keepdims=True)
    variance = (centred**2).mean(axis=1)
    flat = variance <= 1e-28  # values are at most 1: what rounding leaves of equal ones
    third: FloatArray = (centred**3).mean(axis=1) / np.where(flat, 1, variance) ** 1.5
    return np.where(flat, 0, third)


def student_interval(values: FloatArray, confidence: float) -> tuple[float, float]:
    """The two-sided t interval of the mean over seeds; infinite for a single seed."""
    if len(values) < 2:
        return -math.inf, math.inf
    low, high = _student(np.asarray(values, dtype=float)[None], confidence)
    return float(low[0]), float(high[0])


def _student(rows: FloatArray, confidence: float) -> tuple[FloatArray, FloatArray]:
    from scipy.special import stdtrit

    n = rows.shape[1]
    half = stdtrit(n - 1, (1 + confidence) / 2) * rows.std(axis=1, ddof=1) / math.sqrt(n)
    mean = rows.mean(axis=1)
    return mean - half, mean + half


def bca_interval(rows: FloatArray, confidence: float | FloatArray) -> tuple[FloatArray, FloatArray]:
    """The BCa bootstrap interval (Efron 1987) of the means of rows (R, n), without resampling: low and high (R,).

    `confidence` is one for all rows, or one a row.

    For a mean the acceleration is skewness/(6 sqrt(n)), and so is the bias correction to the same order. Quantiles of
    the bootstrap mean come from its saddlepoint approximation (Davison and Hinkley 1988), which is good far into the
    tails: a corrected confidence of 1 - 1e-5 would take millions of resamples.
    """
    from scipy.special import ndtri

    a = skewness(rows) / (6 * math.sqrt(rows.shape[1]))
    ends = []
    for tail in ((1 - confidence) / 2, (1 + confidence) / 2):
        z = a + ndtri(tail)
        ends.append(_bootstrap_quantile(rows, a + z / (1 - a * z)))
    return ends[0], ends[1]


def _bootstrap_quantile(rows: FloatArray, z: FloatArray) -> FloatArray:
    """The mean of n draws from each row that the bootstrap exceeds with probability 1 - Phi(z), |z| not small.

    At tilt t the tilted mean has r = sign(t) sqrt(2n (t K' - K)) and v = t sqrt(n K''), and lies at the normal score
    r + log(v/r)/r (Barndorff-Nielsen's form), which grows with t: the tilt is found by halving.
    """
    n = rows.shape[1]
    mean, scale = rows.mean(axis=1), rows.std(axis=1)
    y = (rows - mean[:, None]) / np.where(scale > 0, scale, 1)[:, None]
    sign = np.sign(z)
    low, high = np.zeros(len(rows)), np.full(len(rows), 8.0) * (1 + np.abs(z)) / math.sqrt(n)
    position = np.zeros(len(rows))
    for _ in range(HALVINGS):
        size = (low + high) / 2
        t = sign * size
        top = (t[:, None] * y).max(axis=1)
        weight = np.exp(t[:, None] * y - top[:, None])
        total = weight.mean(axis=1)
        position = (weight * y).mean(axis=1) / total
        variance = (weight * (y - position[:, None]) ** 2).mean(axis=1) / total
        r = np.sqrt(np.maximum(2 * n * (t * position - np.log(total) - top), 1e-12))
        v = size * np.sqrt(n * np.maximum(variance, 1e-300))
        beyond = r + np.log(v / r) / r >= np.abs(z)
        high, low = np.where(beyond, size, high), np.where(beyond, low, size)
    return mean + scale * position
