"""Intervals for a mean over seeds, and the rule, fixed beforehand, that says which one applies.

A fact is not a sample: the facts of one seed share its trigger, attention vector and label frequencies. Everything here
counts seeds. The error of a t interval in its thinner tail is off by the factor exp(D) to leading order,

    D = |skewness| z^3 / (3 sqrt(n)),        z the normal quantile of the confidence.

Up to D of 1/4 the interval is Student's t. Up to 1 it is BCa, with the error alpha exp(-2D) in the place of alpha.
Beyond, it is one that holds for any law on [0, 1], from betting on the values (Orabona and Jun 2021) and from their
range. A t or BCa interval never excludes the means that a share `unseen_share` of seeds at 0, or at 1, would bring,
taken at a third of the error. The page docs/verdict.md says why, and how often these intervals hold the true mean.
"""

from __future__ import annotations

import dataclasses
import math
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ..numerics.thresholds import bisect_arrays

FloatArray = NDArray[np.float64]
Number = TypeVar("Number", float, FloatArray)

T_UP_TO, BCA_UP_TO = 0.25, 1.0  # of D
SELECTED = 2.0  # BCa intervals have the error alpha exp(-SELECTED D)
UNSEEN = 1 / 3  # share of the error that failures which no seed shows may take
HALVINGS = 60
MOST_U = 1 - 2.0**-50
FLAT = 1e-14  # range of values at most 1 below which they are equal but for rounding


@dataclasses.dataclass(frozen=True)
class Intervals:
    """Ends of intervals (R,) in [0, 1] and the method of each: "t", "BCa" or "any law"."""

    low: FloatArray
    high: FloatArray
    method: NDArray[np.str_]


def mean_intervals(rows: FloatArray, confidence: float) -> Intervals:
    """Intervals for the means of rows of values (R, n) in [0, 1], one value a seed.

    >>> rng = np.random.default_rng(0)
    >>> mean_intervals(rng.normal(0.5, 0.1, size=(2, 500)), 0.95).method.tolist()
    ['t', 't']
    """
    count, n = rows.shape
    if n < 2:
        return Intervals(np.zeros(count), np.ones(count), np.full(count, "any law"))
    log_error = tail_error(skewness(rows), n, confidence)
    method = np.where(log_error <= T_UP_TO, "t", np.where(log_error <= BCA_UP_TO, "BCa", "any law"))
    low, high = student_interval(rows, confidence)
    bent, wild = method == "BCa", method == "any law"
    if bent.any():
        low[bent], high[bent] = bca_interval(rows[bent], bca_confidence(log_error[bent], confidence))
    p, mean = unseen_share(n, 1 - UNSEEN * (1 - confidence)), rows.mean(axis=1)
    low = np.minimum(low, mean * (1 - p))
    high = np.maximum(high, 1 - (1 - mean) * (1 - p))
    if wild.any():
        low[wild], high[wild] = guaranteed_interval(rows[wild], confidence)
    return Intervals(np.clip(low, 0, 1), np.clip(high, 0, 1), method)


def tail_error(skew: Number, n: int, confidence: float) -> Number:
    """D of the rule: the logarithm of the factor by which a t interval's error in one tail is off."""
    from scipy.special import ndtri

    return abs(skew) * float(ndtri((1 + confidence) / 2)) ** 3 / (3 * math.sqrt(n))


def bca_confidence(log_error: Number, confidence: float) -> Number:
    """The confidence of a BCa interval whose t interval would be off by the factor exp(log_error)."""
    return 1 - (1 - confidence) * np.exp(-SELECTED * log_error)


def skewness(rows: FloatArray) -> FloatArray:
    """The third standardised moment (R,) of rows (R, n); 0 where all values of a row are the same."""
    from scipy import stats

    result = np.zeros(len(rows))
    varied = np.ptp(rows, axis=1) > FLAT
    if varied.any():
        result[varied] = stats.skew(rows[varied], axis=1)
    return result


def student_interval(values: FloatArray, confidence: float) -> tuple[FloatArray, FloatArray]:
    """The two-sided t interval of the mean of values (n,), or of each of the rows (R, n); infinite for n of 1."""
    from scipy.special import stdtrit

    n, mean = values.shape[-1], values.mean(axis=-1)
    if n < 2:
        return mean - math.inf, mean + math.inf
    half = stdtrit(n - 1, (1 + confidence) / 2) * values.std(axis=-1, ddof=1) / math.sqrt(n)
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

    def tilted(size: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The tilted mean in standard deviations, and its normal score."""
        t = sign * size
        top = (t[:, None] * y).max(axis=1)
        weight = np.exp(t[:, None] * y - top[:, None])
        total = weight.mean(axis=1)
        position = (weight * y).mean(axis=1) / total
        variance = (weight * (y - position[:, None]) ** 2).mean(axis=1) / total
        r = np.sqrt(np.maximum(2 * n * (t * position - np.log(total) - top), 1e-12))
        v = size * np.sqrt(n * np.maximum(variance, 1e-300))
        return position, r + np.log(v / r) / r

    largest = np.full(len(rows), 8.0) * (1 + np.abs(z)) / math.sqrt(n)
    size, _ = bisect_arrays(lambda size: ~(tilted(size)[1] >= np.abs(z)), np.zeros(len(rows)), largest, HALVINGS)
    return mean + scale * tilted(size)[0]


def anytime_interval(rows: FloatArray, confidence: float) -> tuple[FloatArray, FloatArray]:
    """Low and high ends (R,) for the means of rows of values (R, n) in [0, 1]; they hold at all n together.

    >>> (low,), (high,) = anytime_interval(np.full((1, 100), 0.5), 0.95)
    >>> bool(0.3 < low < 0.5 < high < 0.7)
    True
    """
    return 1 - _betting_upper_ends(1 - rows, confidence), _betting_upper_ends(rows, confidence)


def guaranteed_interval(rows: FloatArray, confidence: float) -> tuple[FloatArray, FloatArray]:
    """Low and high ends (R,) for the means of rows of values (R, n) in [0, 1], n fixed beforehand.

    What two intervals share, each with half of the error: the bets above, and the range of the values. More than a
    share p of all values lies below the least of n with probability (1 - p)^n at most, and likewise above the greatest.
    """
    half = (1 + confidence) / 2
    low, high = anytime_interval(rows, half)
    p = unseen_share(rows.shape[1], half)
    return (np.maximum(low, rows.min(axis=1) * (1 - p)),
            np.minimum(high, 1 - (1 - rows.max(axis=1)) * (1 - p)))


def unseen_share(n: int, confidence: float) -> float:
    """The largest share of seeds whose kind may be missing among n seeds, on each side, at this confidence.

    >>> round(unseen_share(32, 0.95), 3)
    0.109
    """
    return float(-np.expm1(np.log((1 - confidence) / 2) / n))


def log_price(n: int, confidence: float) -> float:
    """The log wealth that gives a mean up: log(1/alpha), and what it costs not to know the best bet beforehand."""
    from scipy.special import gammaln

    return float(-np.log(1 - confidence) + np.log(np.pi) / 2 + gammaln(n + 1) - gammaln(n + 0.5))


def _betting_upper_ends(x: FloatArray, confidence: float) -> FloatArray:
    """The greatest mean (R,) that the rows x (R, n) don't make one give up: the best bet's log wealth is the price.

    A stake b multiplies wealth by b x/m + (1 - b)(1 - x)/(1 - m) at each value x, a fair game where m is the true mean.
    The wealth of the best b is at most sqrt(pi) Gamma(n+1)/Gamma(n+1/2) times that of a mixture of all (Cover and
    Ordentlich 1996), which ever exceeds 1/alpha with a probability of at most alpha (Ville).

    The best b makes the mean of 1/wealth 1. In terms of u in (0, 1) every wealth is then h (1 - u x) with h the mean of
    1/(1 - u x), and m = (1 - 1/h)/u: one unknown in which log wealth grows. Where even u = 1 (b = 0) is not enough the
    best bet stays b = 0, and the end follows in closed form.
    """
    count, n = x.shape
    price = log_price(n, confidence) / n

    def too_little(u: FloatArray) -> NDArray[np.bool_]:
        left = 1 - u[:, None] * x
        return np.log(left).mean(axis=1) + np.log((1 / left).mean(axis=1)) < price

    u, _ = bisect_arrays(too_little, np.zeros(count), np.full(count, MOST_U), HALVINGS)
    h = (1 / (1 - u[:, None] * x)).mean(axis=1)
    inside: FloatArray = (1 - 1 / h) / u
    with np.errstate(divide="ignore", invalid="ignore"):  # a value of 1 never lets b = 0 be the best bet
        logs = np.log(1 - x).mean(axis=1)
        corner = -np.expm1(logs - price)
        short = logs + np.log((1 / (1 - x)).mean(axis=1)) < price
    return np.where(short, corner, inside)
