"""Standardised variables that are nearly normal, from their cumulants: normal quantiles both ways."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["cornish_fisher", "gamma_of_score", "inverse_cornish_fisher", "score_of_gamma",
           "score_of_skewed"]

FloatArray = NDArray[np.float64]

LEAST_SLOPE = 1 / 2  # of a normal score in a variable, from where on the expansion gives way to its tangent
REACH = 7  # standard deviations to which the expansion is used at most


def cornish_fisher(u: Any, skew: Any, excess: Any) -> Any:
    """The standardised variable with third and fourth cumulants `skew` and `excess` at the normal quantile u."""
    return u + skew / 6 * (u * u - 1) + excess / 24 * (u**3 - 3 * u) - skew**2 / 36 * (2 * u**3 - 5 * u)


def inverse_cornish_fisher(x: Any, skew: Any, excess: Any) -> Any:
    """The normal quantile of a standardised variable x with third and fourth cumulants `skew` and `excess`.

    The expansion as far as it rises steadily, at most to +-REACH, and its tangent beyond; increasing in x.

    >>> float(inverse_cornish_fisher(2.0, 0.0, 0.0))
    2.0
    """
    low, high = _steady(skew, excess)
    t = np.clip(x, low, high)
    u = (t - skew / 6 * (t**2 - 1) - excess / 24 * (t**3 - 3 * t)
         + skew**2 / 36 * (4 * t**3 - 7 * t))
    slope = 1 - skew / 3 * t - excess / 8 * (t**2 - 1) + skew**2 / 36 * (12 * t**2 - 7)
    return u + np.maximum(slope, LEAST_SLOPE) * (x - t)


def _steady(skew: Any, excess: Any) -> tuple[FloatArray, FloatArray]:
    """Where around 0 the inverse expansion rises by LEAST_SLOPE or more, at most +-REACH.

    Large cumulants would turn it around within the values that count.
    """
    a, b = skew**2 / 3 - excess / 8, -skew / 3
    c = 1 + excess / 8 - 7 * skew**2 / 36 - LEAST_SLOPE
    root = np.sqrt(np.maximum(b * b - 4 * a * c, 0))
    q = -(b + np.copysign(root, b)) / 2
    with np.errstate(divide="ignore", invalid="ignore"):
        ends = np.stack(np.broadcast_arrays(q / a, c / q))
    ends = np.where((b * b >= 4 * a * c) & np.isfinite(ends), ends, np.inf)
    high = np.where(ends > 0, ends, np.inf).min(axis=0)
    low = np.where(ends < 0, ends, -np.inf).max(axis=0)
    inside = c > 0
    return np.where(inside, np.maximum(low, -REACH), 0), np.where(inside, np.minimum(high, REACH), 0)


def gamma_of_score(z: Any, variance: Any) -> FloatArray:
    """A gamma variable of mean 1 and the given variance at the normal quantile z (Wilson and Hilferty 1931); below 0
    where z is far below.

    >>> round(float(gamma_of_score(1.0, 2 / 50)), 4)  # that of chi^2_50/50 is 1.1987
    1.1985
    """
    a = np.asarray(variance) / 9
    return np.asarray((1 - a + z * np.sqrt(a)) ** 3)


def score_of_gamma(x: Any, variance: Any) -> FloatArray:
    """The normal quantile of a gamma variable x of mean 1 and the given variance: the inverse of `gamma_of_score`."""
    a = np.asarray(variance) / 9
    return np.asarray((np.cbrt(x) - 1 + a) / np.sqrt(a))


def score_of_skewed(x: Any, skew: Any) -> FloatArray:
    """The normal quantile of a standardised gamma variable x of the given skewness of either sign.

    >>> round(float(score_of_skewed(2.0, 0.6)), 4)  # that of the gamma variable is 1.7668
    1.7634
    """
    a = np.asarray(skew) / 6
    root = np.cbrt(1 + 3 * a * x)
    return np.asarray(a + 3 * x / (root * (root + 1) + 1))
