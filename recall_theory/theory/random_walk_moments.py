"""A sum x of n independent uniform unit vectors in R^d: the Gauss rules of its squared length and of one coordinate."""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..numerics.quadrature import condense, gauss_coordinate

FloatArray = NDArray[np.float64]


class RandomWalk(NamedTuple):
    """Quadrature nodes of x, its squared length and its component along a fixed direction, and their weights."""

    squared: FloatArray
    along: FloatArray
    weights: FloatArray


@functools.lru_cache(maxsize=256)
def squared_length_rule(n: int, d: float, nodes: int) -> tuple[FloatArray, FloatArray]:
    """Values of |x|^2 and their weights, exact for every polynomial in |x|^2 of degree below 2 * nodes.

    x is a walk of half the steps and another of the rest: |x + y|^2 = |x|^2 + |y|^2 + 2 |x||y| u, with u the cosine of
    the angle between them, is integrated exactly by the rules of all three.

    >>> squared, weights = squared_length_rule(3, 4, 3)
    >>> round(float(weights @ squared), 9), round(float(weights @ squared**2), 9)
    (3.0, 12.0)
    """
    if n == 1:
        return np.ones(1), np.ones(1)
    (one, w_one), (other, w_other) = (squared_length_rule(m, d, nodes) for m in (n // 2, n - n // 2))
    u, w = gauss_coordinate(d, nodes, least=2)
    one, w_one = one[:, None, None], w_one[:, None, None]
    other, w_other = other[:, None], w_other[:, None]
    total = np.maximum(one + other + 2 * np.sqrt(one * other / d) * u, 0)
    squared, weights = condense(total.ravel(), (w_one * w_other * w).ravel(), nodes)
    return np.maximum(squared, 0), weights


@functools.lru_cache(maxsize=64)
def random_walk_rule(n: int, d: float, lengths: int, directions: int) -> RandomWalk:
    """The law of x at so many nodes for its length, times so many for its direction.

    >>> x = random_walk_rule(3, 16, 4, 8)
    >>> round(float(x.weights @ x.along**2), 12)       # n/d
    0.1875
    """
    squared, length_weights = squared_length_rule(n, d, lengths)
    u, u_weights = gauss_coordinate(d, directions, least=2)
    shape = (len(squared), len(u))
    return RandomWalk(np.broadcast_to(squared[:, None], shape).ravel(),
                      (np.sqrt(squared / d)[:, None] * u).ravel(), (length_weights[:, None] * u_weights).ravel())
