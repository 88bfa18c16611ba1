"""One coordinate of a uniform unit vector of R^d: its normal score, and back.

A coordinate b has the density (1 - b^2)^((d-3)/2), and its normal score is about sign(b) sqrt(-D ln(1 - b^2)). Two
choices of the scale D are in use, the better one last.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .arrays import FloatArray

TINY = float(np.finfo(float).tiny)


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
