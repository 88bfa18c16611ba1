"""Standardised variables that are nearly normal, from their cumulants: normal quantiles both ways."""

from __future__ import annotations

from typing import Any

import numpy as np

from .arrays import FloatArray


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

    >>> round(float(score_of_skewed(2.0, 0.6)), 4)  # that of the gamma variable is 1.7956
    1.7961
    """
    a = np.asarray(skew) / 6
    root = np.cbrt(1 + 3 * a * x)
    return np.asarray(a + 3 * x / (root * (root + 1) + 1))
