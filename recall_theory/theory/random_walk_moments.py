"""The squared length of a sum of n independent uniform unit vectors in R^d: its exact moments, and the Gauss rule
that they determine."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..numerics.quadrature import golub_welsch

if TYPE_CHECKING:
    from mpmath import mpf

__all__ = ["squared_length_moments", "squared_length_rule"]

FloatArray = NDArray[np.float64]


def squared_length_moments(n: int, d: float, count: int, digits: int = 60) -> list[mpf]:
    """E |x|^(2j) for j below `count`, x the sum of n unit vectors in R^d, computed with so many decimal digits.

    The characteristic function of one unit vector is 0F1(; d/2; -|t|^2/4), that of an isotropic x is
    sum_j (-|t|^2/4)^j E|x|^(2j) / (j! (d/2)_j): the moments are the coefficients of the n-th power of a power
    series, computed by Miller's recurrence.

    >>> [float(m) for m in squared_length_moments(3, 4, 3)]
    [1.0, 3.0, 12.0]
    """
    import mpmath

    with mpmath.workdps(digits):
        half = mpmath.mpf(d) / 2
        scale = [j * (half + j - 1) for j in range(1, count)]
        single = [mpmath.mpf(1)]
        for s in scale:
            single.append(single[-1] / s)
        power = [mpmath.mpf(1)]
        for m in range(1, count):
            power.append(mpmath.fsum(((n + 1) * i - m) * single[i] * power[m - i] for i in range(1, m + 1)) / m)
        moments, factor = [power[0]], mpmath.mpf(1)
        for s, p in zip(scale, power[1:], strict=True):
            factor *= s
            moments.append(p * factor)
        return moments


@functools.lru_cache(maxsize=256)
def squared_length_rule(n: int, d: float, nodes: int) -> tuple[FloatArray, FloatArray]:
    """Values of |x|^2 and their weights, exact for every polynomial in |x|^2 of degree below 2 * nodes.

    n = 1 is the single length 1, of weight 1.
    """
    import mpmath

    if n == 1:
        return np.ones(1), np.ones(1)
    # Moments of a narrow law differ little: each step of Chebyshev's algorithm loses the digits of one variance,
    # 2 (n - 1) / (n d) in units of the squared mean.
    digits = 40 + 2 * nodes * math.ceil(1 + math.log10(d))
    with mpmath.workdps(digits):
        before = [mpmath.mpf(0)] * (2 * nodes)
        moments = squared_length_moments(n, d, 2 * nodes, digits)
        row = [m / mpmath.mpf(n) ** j for j, m in enumerate(moments)]
        centres, gaps = [row[1]], [mpmath.mpf(0)]  # of the orthogonal polynomials' three-term recurrence
        for i in range(1, nodes):
            new = [mpmath.mpf(0)] * (2 * nodes)
            for j in range(i, 2 * nodes - i):
                new[j] = row[j + 1] - centres[-1] * row[j] - gaps[-1] * before[j]
            centres.append(new[i + 1] / new[i] - row[i] / row[i - 1])
            gaps.append(new[i] / row[i - 1])
            before, row = row, new
        diagonal = np.array([float(c) for c in centres])
        beside = np.sqrt(np.array([float(g) for g in gaps[1:]]))
    points, weights = golub_welsch(diagonal, beside)
    return n * np.maximum(points, 0), weights
