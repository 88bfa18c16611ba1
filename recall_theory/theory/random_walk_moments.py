"""A sum x of n independent uniform unit vectors in R^d: the exact moments of its squared length, and the Gauss rules
of its length and of one coordinate."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..numerics.quadrature import gauss_beta, golub_welsch

if TYPE_CHECKING:
    from mpmath import mpf

__all__ = ["RandomWalk", "random_walk_rule", "squared_length_moments", "squared_length_rule"]

FloatArray = NDArray[np.float64]


class RandomWalk(NamedTuple):
    """Quadrature nodes of x, its squared length and its component along a fixed direction, and their weights."""

    squared: FloatArray
    along: FloatArray
    weights: FloatArray


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


@functools.lru_cache(maxsize=64)
def coordinate_rule(d: float, nodes: int) -> tuple[FloatArray, FloatArray]:
    """Gauss rule for one coordinate of a uniform unit vector in R^d, 2 beta - 1 with both parameters (d - 1)/2."""
    share, weights = gauss_beta((d - 1) / 2, (d - 1) / 2, nodes)
    return 2 * share - 1, weights


@functools.lru_cache(maxsize=64)
def random_walk_rule(n: int, d: float, lengths: int, directions: int) -> RandomWalk:
    """The law of x at so many nodes for its length, times so many for its direction.

    >>> x = random_walk_rule(3, 16, 4, 8)
    >>> round(float(x.weights @ x.along**2), 12)       # n/d
    0.1875
    """
    squared, length_weights = squared_length_rule(n, d, lengths)
    u, u_weights = coordinate_rule(d, directions)
    shape = (len(squared), len(u))
    return RandomWalk(np.broadcast_to(squared[:, None], shape).ravel(),
                      (np.sqrt(squared)[:, None] * u).ravel(), (length_weights[:, None] * u_weights).ravel())
