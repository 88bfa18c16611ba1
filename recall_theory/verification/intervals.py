"""Intervals for a mean over seeds, and the rule, fixed beforehand, that says which one applies.

A fact is not a sample: the facts of one seed share its trigger, attention vector and label frequencies. Everything here
counts seeds. Intervals are Student's, shifted for skewness by the first term of Cornish and Fisher (Johnson 1978):
mean + e (c +- z), z the quantile of t, e the standard error and c = (2 z^2 + 1) g/6, g the skewness of the mean. With q
the normal quantile of the confidence, an unshifted interval's error in one tail is off by the factor exp(D) to leading
order,

    D = |g| q^3 / 3.

Where D is above 1 the interval is one that holds for any law on [0, 1]: from betting on the values (Orabona and Jun
2021) and their range, or for a mean over cells Bernstein's with the observed variances (Maurer and Pontil 2009). See
docs/verdict.md.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..numerics.arrays import BoolArray, FloatArray
from ..numerics.thresholds import bisect_arrays

EXPANSION_UP_TO = 1.0  # of D
NEAR_ONE = 0.9  # means above it may hide failures of a few seeds
UNSEEN = 1 / 3  # share of the error that failures which no seed shows may take
HALVINGS = 60
MOST_U = 1 - 2.0**-50
FLAT = 1e-14  # range of values at most 1 below which they are equal but for rounding


@dataclasses.dataclass(frozen=True)
class Intervals:
    """Ends of intervals (R,) in [0, 1] and the method of each: "t", "rare failures", "any law" or "anytime"."""

    low: FloatArray
    high: FloatArray
    method: NDArray[np.str_]


def mean_intervals(rows: FloatArray, confidence: float, anytime: bool = False) -> Intervals:
    """Intervals for the means of rows of values (R, n) in [0, 1], one value a seed; `anytime` ones hold at all n.

    Where the mean is above 0.9 the lower end leaves room for failures that no seed shows ("rare failures" where that
    decides it), and so do both ends where all values are the same.
    """
    count, n = rows.shape
    if anytime:
        return Intervals(*anytime_interval(rows, confidence), np.full(count, "anytime"))
    if n < 2:
        return Intervals(np.zeros(count), np.ones(count), np.full(count, "any law"))
    mean, variance, third = _moments_of_means(rows)
    p, flat = unseen_share(n, 1 - UNSEEN * (1 - confidence)), variance == 0
    below, above = np.where((mean > NEAR_ONE) | flat, p * mean, 0), np.where(flat, p * (1 - mean), 0)
    low, high, method = _skewed_t((mean, variance, third), n - 1, confidence, below, above)
    wild = method == "any law"
    if wild.any():
        low[wild], high[wild] = guaranteed_interval(rows[wild], confidence)
    return Intervals(np.clip(low, 0, 1), np.clip(high, 0, 1), method)


def pooled_interval(samples: Sequence[FloatArray], confidence: float) -> tuple[float, float, str]:
    """The interval of the mean over cells of their means, and its method, from the values (n,) of each cell.

    Cells are independent of one another and weigh the same, however many seeds they have.
    """
    if min(len(x) for x in samples) < 2:
        return -math.inf, math.inf, "any law"
    seeds, cells = np.array([len(x) for x in samples]), len(samples)
    means, variances, thirds = np.concatenate([_moments_of_means(x[None]) for x in samples], axis=1)
    mean, variance = means.mean(), variances.sum() / cells**2
    freedom = variances.sum() ** 2 / max(float((variances**2 / (seeds - 1)).sum()), 1e-300)  # Welch and Satterthwaite's
    p, flat = -np.expm1(math.log(UNSEEN * (1 - confidence) / 2) / seeds), variances == 0
    # Failures that no seed shows, all in the cell where they weigh most.
    below = (p * means)[(means > NEAR_ONE) | flat].max(initial=0) / cells
    above = (p * (1 - means))[flat].max(initial=0) / cells
    low, high, method = _skewed_t((mean, variance, thirds.sum() / cells**3), max(freedom, 1), confidence, below, above)
    if method == "any law":
        log_tail = math.log(4 / (1 - confidence))
        half = math.sqrt(2 * variance * log_tail) + 7 / 3 * log_tail / (cells * (seeds.min() - 1))
        low, high = mean - half, mean + half
    return float(low), float(high), str(method)


def _moments_of_means(rows: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The mean of each row (R, n), and the estimated variance and third central moment of that mean, each (R,)."""
    n, mean = rows.shape[1], rows.mean(axis=1)
    off = np.where(np.ptp(rows, axis=1) > FLAT, rows.T - mean, 0).T
    return mean, (off**2).sum(axis=1) / (n * (n - 1)), (off**3).mean(axis=1) / n**2


def _skewed_t(moments: tuple[FloatArray, FloatArray, FloatArray], freedom: float, confidence: float, below: FloatArray,
              above: FloatArray) -> tuple[FloatArray, FloatArray, NDArray[np.str_]]:
    """Ends of t intervals shifted for skewness, from the moments of means, and their methods by the rule.

    The ends leave room for failures that no seed shows, which lie `below` and `above` the mean at most.
    """
    from scipy.special import ndtri, stdtrit

    mean, variance, third = moments
    error = np.sqrt(variance)
    skew = np.divide(third, error**3, out=np.zeros_like(error), where=error > 0)
    z = float(stdtrit(freedom, (1 + confidence) / 2))
    centre, half = mean + error * skew * (2 * z**2 + 1) / 6, error * z
    is_wild = np.abs(skew) * float(ndtri((1 + confidence) / 2)) ** 3 / 3 > EXPANSION_UP_TO
    method = np.where(is_wild, "any law", np.where(mean - below < centre - half, "rare failures", "t"))
    return np.minimum(centre - half, mean - below), np.maximum(centre + half, mean + above), method


def student_interval(values: FloatArray, confidence: float) -> tuple[FloatArray, FloatArray]:
    """The two-sided t interval of the mean of values (n,), or of each of the rows (R, n); infinite for n of 1."""
    from scipy.special import stdtrit

    n, mean = values.shape[-1], values.mean(axis=-1)
    if n < 2:
        return mean - math.inf, mean + math.inf
    half = stdtrit(n - 1, (1 + confidence) / 2) * values.std(axis=-1, ddof=1) / math.sqrt(n)
    return mean - half, mean + half


def anytime_interval(rows: FloatArray, confidence: float) -> tuple[FloatArray, FloatArray]:
    """Low and high ends (R,) for the means of rows of values (R, n) in [0, 1]; they hold at all n together."""
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
    """The largest share of seeds whose kind may be missing among n seeds, on each side, at this confidence."""
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

    def too_little(u: FloatArray) -> BoolArray:
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
