"""Exact moments of a real Wishart matrix, the covariance of Gaussian embeddings about their mean; on the sphere the
law of what this covariance makes of the mean.

E tr W^k of a d x d matrix with n degrees of freedom is a polynomial in n and d with whole non-negative coefficients:
the numbers of pairings of 2k half-edges by their cycles. They follow from a power sum's expansion in zonal polynomials,

    E tr W^k = sum over partitions of k of (2k theta/j) prod_s (n + 2a'(s) - l'(s)) (d + 2a'(s) - l'(s)),
    theta = prod_(s != (1,1)) (2a'(s) - l'(s)),   j = prod_s (2a(s) + l(s) + 1)(2a(s) + l(s) + 2),

with a, l, a', l' the boxes right of, below, left of and above box s (Macdonald, Symmetric Functions, VI.10).
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from ...numerics.arrays import FloatArray
from .generic import Real, exp

MOST = 8  # moments that the law of the scores asks for


def _partitions(k: int, largest: int) -> Iterator[list[int]]:
    if k == 0:
        yield []
    for first in range(min(k, largest), 0, -1):
        for rest in _partitions(k - first, first):
            yield [first, *rest]


def _rising(contents: list[int]) -> list[int]:
    """Coefficients, lowest power first, of prod (x + content)."""
    out = [1]
    for content in contents:
        out = [content * low + high for low, high in zip([*out, 0], [0, *out], strict=True)]
    return out


@functools.cache
def pairings(k: int) -> tuple[tuple[int, int, int], ...]:
    """(i, j, number): E tr W^k = sum of number n^i d^j.

    >>> pairings(2)
    ((1, 1, 1), (1, 2, 1), (2, 1, 1))
    """
    total: dict[tuple[int, int], Fraction] = {}
    for shape in _partitions(k, k):
        column = [sum(1 for row in shape if row > j) for j in range(shape[0])]
        boxes = [(i, j) for i, row in enumerate(shape) for j in range(row)]
        contents = [2 * j - i for i, j in boxes]
        weight = Fraction(2 * k)
        for (i, j), content in zip(boxes, contents, strict=True):
            arm, leg = shape[i] - j - 1, column[j] - i - 1
            weight *= Fraction(content if i + j else 1, (2 * arm + leg + 1) * (2 * arm + leg + 2))
        if weight:
            powers = _rising(contents)
            for i, a in enumerate(powers):
                for j, b in enumerate(powers):
                    total[i, j] = total.get((i, j), Fraction(0)) + weight * a * b
    assert all(number.denominator == 1 for number in total.values())
    return tuple((i, j, int(number)) for (i, j), number in sorted(total.items()) if number)


def wishart(k: int, V: Real, d: Real, kappa: Real) -> Real:
    """E tr (d Sigma)^k / d for Sigma the covariance of V embeddings about their mean.

    Exact for Gaussian embeddings (kappa = 1). On the sphere (kappa = 0) to order 1/V: repeated tokens have |z|^2 + 1/d
    more to add if embeddings are Gaussian, and less on the sphere, so that every other order changes its sign.
    """
    n, orders = V - 1, [0] * (k + 1)  # by i + j
    n_to, d_to = [1], [1]
    for _ in range(k):
        n_to.append(n_to[-1] * n)
        d_to.append(d_to[-1] * d)
    for i, j, number in pairings(k):
        orders[i + j - 1] = orders[i + j - 1] + number * n_to[i] * d_to[j - 1]
    even, odd = sum(orders[k::-2]), sum(orders[k - 1::-2])
    return (even + (2 * kappa - 1) * odd) / V**k


def all_moments(V: Real, d: Real, kappa: Real) -> dict[int, Real]:
    """`wishart` for all k up to 8, and 1 for k = 0; of arrays all at once, by one product of matrices."""
    if not (isinstance(V, np.ndarray) and isinstance(d, np.ndarray) and isinstance(kappa, int) and kappa in (0, 1)):
        return {0: 1, **{k: wishart(k, V, d, kappa) for k in range(1, MOST + 1)}}
    V, d = np.broadcast_arrays(V, d)
    powers = np.arange(MOST + 1)[(slice(None), *[None] * V.ndim)]
    by_n = np.tensordot(_coefficients(int(kappa)), d**powers[:-1], 1)  # (k, i, ...)
    return {0: 1, **dict(enumerate((by_n * (V - 1)**powers[1:]).sum(axis=1) / V**powers[1:], 1))}


@functools.cache
def _coefficients(kappa: int) -> FloatArray:
    """(k, i, j), all from 1 on: of n^i d^(j - 1) in V^k `wishart`."""
    out = np.zeros((MOST, MOST, MOST))
    for k in range(1, MOST + 1):
        for i, j, number in pairings(k):
            out[k - 1, i - 1, j - 1] = number if kappa or (k - i - j + 1) % 2 == 0 else -number
    return out


def along_mean_on_sphere(V: Real, d: Real) -> tuple[Real, Real, Real]:
    """Mean square, third and fourth cumulant of z.Sigma zbar over the tokens z, about their mean, of a seed on the
    sphere.

    The mean square is exact. The cumulants are their leading order times the exponential of the next one relative to
    it, of exact ones: within 1 % of these from V = 24 on, the fourth within 8 %.
    """
    q, x = d / V, 1 / V
    square = (1 - x) * (1 - 2 * x) / (q**3 * (q + 2 * x) * V**4) * (
        q**3 + q**2 * (3 - 8 * x + 22 * x**2) + q * (1 - 3 * x + 16 * x**2 - 52 * x**3 + 120 * x**4)
        + 2 * x * (1 - 9 * x + 42 * x**2 - 120 * x**3 + 144 * x**4))
    r = (1 + 5 * q + 3 * q**2) / q**2
    third = -6 * (1 + q) * r / (q**3 * V**7) * exp(
        -x * (53 + 219 * q + 192 * q**2 + 20 * q**3) / (3 * (1 + q) * r * q**2))
    fourth = -6 * r**2 / (q**3 * V**9) * exp(
        -2 * x * (15 + 128 * q + 308 * q**2 + 250 * q**3 + 60 * q**4) / (r * q**2)**2)
    return square, third, fourth
