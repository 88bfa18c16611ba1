"""Recall of random superposition: the chance that noise turns a code by less than its nearest rival is away.

e_s = sum_w B_w c_{f_w(s)}: codes c uniform on the unit sphere of R^k, one B_w with orthonormal columns in R^d for
each of `words` relations (or words of relations). Asked for w, the model scores attribute a by <c_a, B_w^T e_s>.
With c the right code, B_w^T e_s = c + B_w^T x, x the sum of n = words - 1 independent uniform unit vectors of R^d;
the N - 1 other codes are independent of it. So

    recall = E Q(A),   Q(a) = Pr(angle of c + B_w^T x to c <= a),   Pr(A > a) = Pr(angle of two codes > a)^(N-1),

which is exact at every N, k, d and number of words. Derivation: docs/derivations/geometric.md.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .flight import Rule, gauss_rule

__all__ = ["COARSE", "FINE", "Angles", "Nodes", "interference", "nearest_rival", "recall", "turned_at_most"]

FloatArray = NDArray[np.float64]

STEP = 1 / 2  # of the grid of log(-log quantile), on which the density of a Gumbel variable is analytic
CORNERED = 1 / 16  # the same where d = k: what is averaged there has corners
LOWEST, HIGHEST = -36, 4  # where that density is below e^-36
CORNER = 32  # up to so many dimensions beyond k the edge of the event is sharp, and takes more nodes


class Nodes(NamedTuple):
    """Nodes for the length of the interference x and for its direction, and for the direction in a corner."""

    lengths: int
    directions: int
    corner: int


FINE = Nodes(12, 64, 400)  # within 1e-3 for a handful of attributes and d near k, mostly within 1e-6
COARSE = Nodes(6, 24, 100)  # for searches: within 1e-3 where recall is high


class Angles(NamedTuple):
    """Angles a from 0 to pi: sin^2 a, whether a > pi/2."""

    sin2: FloatArray
    behind: NDArray[np.bool_]


class Interference(NamedTuple):
    """Nodes of x, its squared length and its component along the right code, and their weights."""

    squared: FloatArray
    along: FloatArray
    weights: FloatArray


def nearest_rival(N: int, k: int, step: float = STEP) -> tuple[Angles, FloatArray]:
    """The angle A from a direction in R^k to the nearest of N - 1 codes, and the weights of its values.

    With F the distribution function of one coordinate of a uniform unit vector, F(cos A)^(N-1) is uniform; the
    grid is that of the trapezoid rule over t, F(cos A) = exp(-e^t / (N - 1)).
    """
    from scipy.special import betaincinv

    t = np.arange(LOWEST, HIGHEST, step)
    near = -np.expm1(-np.exp(t) / (N - 1))  # the chance that one rival is closer than A
    behind = near > 1 / 2
    sin2 = betaincinv((k - 1) / 2, 1 / 2, np.minimum(2 * np.where(behind, 1 - near, near), 1))
    weights = np.exp(t - np.exp(t))
    return Angles(sin2, behind), weights / weights.sum()


@functools.lru_cache(maxsize=64)
def _first_coordinate(d: float, nodes: int) -> Rule:
    """Gauss rule for the first coordinate of a uniform unit vector in R^d, weight (1 - u^2)^((d-3)/2)."""
    from scipy.linalg import eigh_tridiagonal

    j = np.arange(2, nodes, dtype=float)
    square = np.concatenate([[1 / d], j * (j + d - 3) / ((2 * j + d - 2) * (2 * j + d - 4))])
    points, vectors = eigh_tridiagonal(np.zeros(nodes), np.sqrt(square))
    return points, vectors[0] ** 2


@functools.lru_cache(maxsize=64)
def interference(words: int, k: int, d: float, nodes: Nodes = FINE) -> Interference:
    """The law of x at the nodes of its Gauss rules."""
    squared, length_weights = gauss_rule(words - 1, d, nodes.lengths)
    sharp = d > k and (d - k <= CORNER or 4 * words > d)
    u, u_weights = _first_coordinate(d, nodes.corner if sharp else nodes.directions)
    shape = (len(squared), len(u))
    return Interference(np.broadcast_to(squared[:, None], shape).ravel(),
                        (np.sqrt(squared)[:, None] * u).ravel(), (length_weights[:, None] * u_weights).ravel())


def turned_at_most(x: Interference, k: int, d: float, angles: Angles) -> FloatArray:
    """The chance that interference turns the right code by no more than each angle, at each node of x; shape
    (nodes, angles).

    The code reads 1 + x_1 along itself. Across it k - 1 of the d - 1 other coordinates of x are seen, a
    Beta((k-1)/2, (d-k)/2) share of their square.
    """
    from scipy.special import betainc

    if d == k:
        return _turned_unprojected(x, k, angles)
    ahead, across = 1 + x.along, x.squared - x.along**2
    with np.errstate(divide="ignore"):
        tan2 = angles.sin2 / (1 - angles.sin2)
        share = np.minimum((ahead**2 / across)[:, None] * tan2, 1)
    within = betainc((k - 1) / 2, (d - k) / 2, share)
    forward = ahead[:, None] > 0
    found: FloatArray = np.where(angles.behind, np.where(forward, 1, 1 - within), np.where(forward, within, 0))
    return found


def _turned_unprojected(x: Interference, k: int, angles: Angles) -> FloatArray:
    """`turned_at_most` where the map is onto (d = k), averaged over the direction of x: as a function of that
    direction the event is an indicator, and no rule for smooth functions does it justice.

    In the triangle of sides 1, |x| and c + x, the direction theta of x and the angle a that it turns c by have
    |x| sin(theta - a) = sin a.
    """
    from scipy.special import betainc

    def below(theta: FloatArray) -> FloatArray:
        """The chance that a random direction is within theta of c."""
        cap = betainc((k - 1) / 2, 1 / 2, np.sin(theta) ** 2) / 2
        return np.where(theta > np.pi / 2, 1 - cap, cap)

    squared, which = np.unique(x.squared, return_inverse=True)
    length = np.sqrt(squared)[:, None]
    sine = np.sqrt(angles.sin2)
    a = np.where(angles.behind, np.pi - np.arcsin(sine), np.arcsin(sine))
    turn = np.arcsin(np.minimum(sine / length, 1))
    short = (length < 1) & (~angles.behind) & (sine < length)
    beyond = np.where(short, 1 - below(np.minimum(a + np.pi - turn, np.pi)), 0)
    found: FloatArray = np.where((length >= 1) | short, below(np.minimum(a + turn, np.pi)) + beyond, 1)
    return found[which]


def recall(N: int, words: int, k: int, d: float, nodes: Nodes = FINE) -> float:
    """Expected recall of one query: `words` codes superposed, N attributes, 2 <= k <= d.

    >>> round(recall(100, 4, 16, 64), 4)
    0.9154
    """
    if words == 1:
        return 1.0
    angles, chances = nearest_rival(N, k, CORNERED if d == k else STEP)
    x = interference(words, k, d, nodes)
    return min(float(x.weights @ turned_at_most(x, k, d, angles) @ chances), 1.0)
