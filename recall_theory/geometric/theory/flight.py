"""The squared length of a sum of n independent uniform unit vectors in R^d (a random flight): its exact moments,
and the Gauss rule that they determine."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["gauss_rule", "moments"]

Rule = tuple[NDArray[np.float64], NDArray[np.float64]]


def moments(n: int, d: float, count: int, dps: int = 60) -> list[Any]:
    """E |x|^(2j) for j below `count`, as mpmath numbers, x the sum of n unit vectors in R^d.

    The characteristic function of one unit vector is 0F1(; d/2; -|t|^2/4), that of an isotropic x is
    sum_j (-|t|^2/4)^j E|x|^(2j) / (j! (d/2)_j): the moments are the coefficients of the n-th power of a power
    series, found by Miller's recurrence.

    >>> [float(m) for m in moments(3, 4, 3)]
    [1.0, 3.0, 12.0]
    """
    import mpmath

    with mpmath.workdps(dps):
        half = mpmath.mpf(d) / 2
        scale = [j * (half + j - 1) for j in range(1, count)]
        single = [mpmath.mpf(1)]
        for s in scale:
            single.append(single[-1] / s)
        power = [mpmath.mpf(1)]
        for m in range(1, count):
            power.append(mpmath.fsum(((n + 1) * i - m) * single[i] * power[m - i] for i in range(1, m + 1)) / m)
        found, factor = [power[0]], mpmath.mpf(1)
        for s, p in zip(scale, power[1:], strict=True):
            factor *= s
            found.append(p * factor)
        return found


@functools.lru_cache(maxsize=256)
def gauss_rule(n: int, d: float, nodes: int) -> Rule:
    """Values of |x|^2 and their weights, exact for every polynomial in |x|^2 of degree below 2 * nodes.

    Fewer nodes where the law has fewer points: n = 1 is the single length 1.
    """
    import mpmath
    from scipy.linalg import eigh_tridiagonal

    if n == 1:
        return np.ones(1), np.ones(1)
    # Moments of a narrow law differ little: each step of Chebyshev's algorithm loses the digits of one variance,
    # 2 (n - 1) / (n d) in units of the squared mean.
    dps = 40 + 2 * nodes * math.ceil(1 + math.log10(d))
    with mpmath.workdps(dps):
        before = [mpmath.mpf(0)] * (2 * nodes)
        row = [m / mpmath.mpf(n) ** j for j, m in enumerate(moments(n, d, 2 * nodes, dps))]
        centres: list[Any] = [row[1]]  # of the orthogonal polynomials' three-term recurrence
        gaps: list[Any] = [0]
        for i in range(1, nodes):
            new = [mpmath.mpf(0)] * (2 * nodes)
            for j in range(i, 2 * nodes - i):
                new[j] = row[j + 1] - centres[-1] * row[j] - gaps[-1] * before[j]
            centres.append(new[i + 1] / new[i] - row[i] / row[i - 1])
            gaps.append(new[i] / row[i - 1])
            before, row = row, new
        diagonal = np.array([float(c) for c in centres])
        beside = np.sqrt(np.array([float(g) for g in gaps[1:]]))
    points, vectors = eigh_tridiagonal(diagonal, beside)
    return n * np.maximum(points, 0), vectors[0] ** 2
