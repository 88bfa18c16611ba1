"""Variables that are nearly normal: their normal scores (quantiles), and back.

They are standardised gamma variables and one coordinate of a uniform unit vector of R^d. A coordinate b has the density
(1 - b^2)^((d-3)/2), and its normal score is about sign(b) sqrt(-D ln(1 - b^2)). Two choices of the scale D are in use,
the better one last.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .arrays import FloatArray

TINY = float(np.finfo(float).tiny)


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


def wallace_scale(d: Any) -> Any:
    """D of Wallace (1959), whose root is ((8 nu + 1)/(8 nu + 3)) sqrt(nu) with nu = d - 1."""
    nu = np.maximum(d - 1, 1)
    return nu * ((8 * nu + 1) / (8 * nu + 3)) ** 2


def peizer_pratt_scale(d: Any) -> Any:
    """D of Peizer and Pratt (1968), (nu - 2/3 + 1/(10 nu))^2/(nu - 5/6) with nu = d - 1.

    >>> round(float(peizer_pratt_scale(100.0)), 3)
    98.502
    """
    nu = np.maximum(d - 1, 1)
    return (nu - 2 / 3 + 1 / (10 * nu)) ** 2 / (nu - 5 / 6)


def score_of_coordinate(b: Any, scale: Any, floor: float = TINY) -> FloatArray:
    """The normal score of a coordinate b; 1 - b^2 counts as at least `floor`.

    >>> round(float(score_of_coordinate(0.2, peizer_pratt_scale(100.0))), 4)  # Phi^-1(P(b < 0.2)) = 2.0054
    2.0053
    """
    square = np.asarray(b * b)
    log = np.where(square < 1 / 2, np.log1p(-np.minimum(square, 1 / 2)), np.log(np.maximum(1 - square, floor)))
    return np.asarray(np.copysign(np.sqrt(-scale * log), b))


def coordinate_of_score(z: Any, scale: Any) -> FloatArray:
    """The coordinate with the normal score z, the inverse of `score_of_coordinate`."""
    return np.asarray(np.copysign(np.sqrt(-np.expm1(-z * z / scale)), z))
