"""Intervals for the mean of values in [0, 1] that hold whatever their law.

Bet on the values: with a stake b, wealth is multiplied by b x/m + (1 - b)(1 - x)/(1 - m) at each value x. Where m is
the true mean this is a fair game for every b in [0, 1], and so is the mixture of all b with density Beta(1/2, 1/2): by
Ville's inequality its wealth ever exceeds 1/alpha with a probability of at most alpha. The wealth of the best single b
is at most sqrt(pi) Gamma(n+1)/Gamma(n+1/2) times the mixture's (Cover and Ordentlich 1996). A mean m is therefore given
up as soon as

    max_b sum_i log(b x_i/m + (1 - b)(1 - x_i)/(1 - m)) >= log(1/alpha) + log(sqrt(pi) Gamma(n+1)/Gamma(n+1/2)),

and the true mean is ever given up, at any n, with a probability of at most alpha (Orabona and Jun 2021). So one may
look after every seed, and stop when one likes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

HALVINGS = 60
MOST = 1 - 2.0**-50  # of u
BLOCK = 1 << 22  # values looked at together


def anytime_interval(values: FloatArray, confidence: float) -> tuple[FloatArray, FloatArray]:
    """Low and high ends (...,) for the mean of values (..., n) in [0, 1]; they hold at all n together.

    >>> low, high = anytime_interval(np.full(100, 0.5), 0.95)
    >>> bool(0.3 < low < 0.5 < high < 0.7)
    True
    """
    rows = values.reshape(-1, values.shape[-1])
    high = _upper(rows, confidence)
    low = 1 - _upper(1 - rows, confidence)
    return low.reshape(values.shape[:-1]), high.reshape(values.shape[:-1])


def guaranteed_interval(values: FloatArray, confidence: float) -> tuple[FloatArray, FloatArray]:
    """Low and high ends (...,) for the mean of n values (..., n) in [0, 1], n fixed beforehand.

    What two intervals share, each with half of the error: the bets above, and the range that was seen. More than a
    share p of all values lies below the least of n with probability (1 - p)^n at most, and likewise above the greatest.
    """
    half = (1 + confidence) / 2
    low, high = anytime_interval(values, half)
    p = unseen_share(values.shape[-1], half)
    return (np.maximum(low, values.min(axis=-1) * (1 - p)),
            np.minimum(high, 1 - (1 - values.max(axis=-1)) * (1 - p)))


def unseen_share(n: int, confidence: float) -> float:
    """The largest share of seeds whose kind may be missing among n seeds, on each side, at this confidence.

    >>> round(unseen_share(32, 0.95), 3)
    0.109
    """
    return float(-np.expm1(np.log((1 - confidence) / 2) / n))


def log_price(n: int, confidence: float) -> float:
    """log(1/alpha), and what it costs not to know the best bet beforehand."""
    from scipy.special import gammaln

    return float(-np.log(1 - confidence) + np.log(np.pi) / 2 + gammaln(n + 1) - gammaln(n + 0.5))


def _upper(rows: FloatArray, confidence: float) -> FloatArray:
    """The greatest mean (R,) that the rows (R, n) don't make one give up."""
    n = rows.shape[1]
    step = max(1, BLOCK // n)
    wanted = log_price(n, confidence) / n
    ends: list[FloatArray] = [_upper_of(rows[i:i + step], wanted) for i in range(0, len(rows), step)]
    return np.concatenate(ends) if ends else np.empty(0)


def _upper_of(x: FloatArray, wanted: float) -> FloatArray:
    """The m above the rows' means at which the best bet's mean log wealth is `wanted`.

    The best b makes the mean of 1/wealth 1. In terms of u in (0, 1) every wealth is then h (1 - u x) with h the mean of
    1/(1 - u x), and m = (1 - 1/h)/u: one unknown in which log wealth grows. Where even u = 1 (b = 0) is not enough the
    best bet stays b = 0, and the end follows in closed form.
    """
    low, high = np.zeros(len(x)), np.full(len(x), MOST)
    for _ in range(HALVINGS):
        u = (low + high) / 2
        left = 1 - u[:, None] * x
        enough = np.log(left).mean(axis=1) + np.log((1 / left).mean(axis=1)) >= wanted
        high, low = np.where(enough, u, high), np.where(enough, low, u)
    u = (low + high) / 2
    h = (1 / (1 - u[:, None] * x)).mean(axis=1)
    inside = (1 - 1 / h) / u
    with np.errstate(divide="ignore", invalid="ignore"):  # a value of 1 never lets b = 0 be the best bet
        logs = np.log(1 - x).mean(axis=1)
        corner: FloatArray = -np.expm1(logs - wanted)
        short = logs + np.log((1 / (1 - x)).mean(axis=1)) < wanted
    return np.where(short, corner, inside)
