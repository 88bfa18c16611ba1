"""Recall of random superposition: the probability that noise turns a code by less than its nearest rival is away.

e_s = sum_w B_w c_{f_w(s)}: codes c uniform on the unit sphere of R^k, one B_w with orthonormal columns in R^d for
each of `words` relations (or words of relations). Asked for w, the model scores attribute a by <c_a, B_w^T e_s>.
With c the right code, B_w^T e_s = c + B_w^T x, x the sum of n = words - 1 independent uniform unit vectors of R^d;
N - 1 other codes are independent of it. So

    recall = E Q(A),   Q(a) = Pr(angle of c + B_w^T x to c <= a),   Pr(A > a) = Pr(angle of two codes > a)^(N-1),

which is exact at every N, k, d and number of words. Derivation: docs/derivations/geometric.md.
"""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

from .flight import Rule, gauss_rule

__all__ = ["nearest_rival", "recall", "recall_given_angle"]

FloatArray = NDArray[np.float64]

LENGTHS, DIRECTIONS = 12, 48  # nodes of the length of x and of its direction
CORNER = 8  # up to so many dimensions beyond k the indicator of the event is sharp, and takes more nodes
CORNER_DIRECTIONS = 400
STEP = 1 / 2  # of the grid of log(-log quantile), on which the density of a Gumbel variable is analytic
LOWEST, HIGHEST = -36, 4  # where that density is below e^-36 of one


def nearest_rival(N: int, k: int) -> tuple[FloatArray, NDArray[np.bool_], FloatArray]:
    """The angle A from a code to the nearest of N - 1 others in R^k: sin^2 A, whether A > pi/2, and weights.

    With F the distribution function of one coordinate of a uniform unit vector, F(cos A)^(N-1) is uniform; the
    grid is that of the trapezoid rule over t, F(cos A) = exp(-e^t / (N - 1)).
    """
    from scipy.special import betaincinv

    t = np.arange(LOWEST, HIGHEST, STEP)
    near = -np.expm1(-np.exp(t) / (N - 1))  # the chance that one rival is closer than A
    behind = near > 1 / 2
    sin2 = betaincinv((k - 1) / 2, 1 / 2, np.minimum(2 * np.where(behind, 1 - near, near), 1))
    return sin2, behind, STEP * np.exp(t - np.exp(t))


@functools.lru_cache(maxsize=64)
def _first_coordinate(d: int, nodes: int) -> Rule:
    """Gauss rule for the first coordinate of a uniform unit vector in R^d, weight (1 - u^2)^((d-3)/2)."""
    from scipy.linalg import eigh_tridiagonal

    j = np.arange(1, nodes, dtype=float)
    with np.errstate(invalid="ignore", divide="ignore"):
        square = j * (j + d - 3) / ((2 * j + d - 2) * (2 * j + d - 4))
    square[0] = 1 / d  # the formula is 0/0 in two dimensions
    points, vectors = eigh_tridiagonal(np.zeros(nodes), np.sqrt(square))
    return points, vectors[0] ** 2


def recall_given_angle(words: int, k: int, d: int, sin2: FloatArray, behind: NDArray[np.bool_]) -> FloatArray:
    """Q(a): the chance that interference turns the right code by no more than a, for each angle a given by
    sin^2 a and whether a > pi/2.

    The direction u of x has u_1 along the code, and |u_2|^2 = (1 - u_1^2) Beta((k-1)/2, (d-k)/2) of the rest of
    it is seen: the angle of c + B^T x is that of (1 + |x| u_1, |x| |u_2|).
    """
    from scipy.special import betainc

    if words == 1:
        return np.ones_like(sin2)
    lengths, length_weights = gauss_rule(words - 1, d, LENGTHS)
    u, u_weights = _first_coordinate(d, CORNER_DIRECTIONS if d - k <= CORNER else DIRECTIONS)
    ahead = 1 + np.sqrt(lengths)[:, None] * u
    across = lengths[:, None] * (1 - u * u)
    weight = (length_weights[:, None] * u_weights).ravel()
    with np.errstate(divide="ignore"):
        tan2 = sin2 / (1 - sin2)
        limit = np.minimum(ahead.ravel()[:, None] ** 2 / across.ravel()[:, None] * tan2, 1)
    within = betainc((k - 1) / 2, (d - k) / 2, limit) if d > k else (limit >= 1).astype(float)
    forward = ahead.ravel()[:, None] > 0
    inside = np.where(behind, np.where(forward, 1, 1 - within), np.where(forward, within, 0))
    found: FloatArray = weight @ inside
    return found


def recall(N: int, words: int, k: int, d: int) -> float:
    """Expected recall of one query: `words` codes superposed, N attributes.

    >>> round(recall(100, 4, 16, 64), 4)
    0.9154
    """
    sin2, behind, weights = nearest_rival(N, k)
    return min(float(weights @ recall_given_angle(words, k, d, sin2, behind)), 1.0)
