"""Random embeddings, and one coordinate of a unit vector of R^d: rules of quadrature for it, and its normal score.

sqrt(d) times the coordinate has the density (1 - x^2/d)^((d - 3)/2) and is nearly normal. Which rule is best depends on
the function: `split_at` for one that bends, `equal_steps` for one that saturates, `quadrature.gauss_coordinate` for
polynomials. After them the rules of a sum x of n independent uniform unit vectors: of its squared length and of one
coordinate.

The normal score (quantile) of a coordinate b is about sign(b) sqrt(-D ln(1 - b^2)). Two choices of the scale D are in
use, the better one last. Standardised gamma variables have such scores too.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np
from scipy.special import betainc

from .arrays import TINY, FloatArray
from .quadrature import NORMAL_END, condense, gauss_beta, gauss_coordinate, gauss_gamma, gauss_legendre

FINE_NODES = 128  # points on one side of 0 from which a Gauss rule is made


def split_at(kinks: FloatArray, d: float, n: int) -> tuple[FloatArray, FloatArray]:
    """Nodes and weights (..., (K + 1) n): n Gauss-Legendre points on each piece between kinks (..., K).

    d = 0 is a normal variable.

    >>> x, w = split_at(np.array([0.5]), 8.0, 12)
    >>> round(float(w @ x**2), 9)
    1.0
    """
    t, weight = gauss_legendre(n)
    end = min(NORMAL_END, np.sqrt(d)) if d else NORMAL_END
    edge = np.full((*kinks.shape[:-1], 1), end)
    edges = np.concatenate([-edge, np.sort(np.clip(kinks, -end, end), axis=-1), edge], axis=-1)
    width = np.diff(edges, axis=-1)[..., None]
    x = edges[..., :-1, None] + width * t
    density = np.maximum(1 - x**2 / d, 0)**((d - 3) / 2) if d else np.exp(-x**2 / 2)
    p = (width * weight * density).reshape(*kinks.shape[:-1], -1)
    return x.reshape(p.shape), p / p.sum(-1, keepdims=True)


@functools.lru_cache(maxsize=256)
def split_at_zero(d: float, n: int) -> tuple[FloatArray, FloatArray]:
    """Nodes and weights (2n,): the Gauss rule of either side of 0.

    >>> x, w = split_at_zero(20.0, 8)
    >>> round(float(w @ np.maximum(x, 0)**2), 12)
    0.5
    """
    x, w = split_at(np.zeros(1), d, FINE_NODES)
    x, w = condense(x[FINE_NODES:], 2 * w[FINE_NODES:], n)
    return np.concatenate([-x[::-1], x]), np.concatenate([w[::-1], w]) / 2


@functools.lru_cache(maxsize=256)
def equal_steps(d: float, n: int, end: float = np.inf) -> tuple[FloatArray, FloatArray]:
    """Nodes and weights (n,) at equal steps of the angle whose sine is the coordinate, of density cos^(d - 2): out to
    `end` standard deviations at most.

    >>> x, w = equal_steps(20.0, 32)
    >>> round(float(w @ x**2), 9)
    1.0
    """
    balanced = np.sqrt(3 * n / (2 * d))  # the ends and the steps
    reach = min(end / np.sqrt(d), balanced, np.pi / 2)
    angle = reach * (2 * np.arange(n) + 1 - n) / n
    p = np.cos(angle)**(d - 2)
    return np.sqrt(d) * np.sin(angle), p / p.sum()


def cap_probability(d: float, angle: FloatArray) -> FloatArray:
    """The chance that a random direction of R^d is within an angle (radians) of a given one.

    >>> round(float(cap_probability(3, np.pi / 3)), 12)  # the coordinate is uniform, at d = 3
    0.25
    """
    cap = betainc((d - 1) / 2, 1 / 2, np.sin(angle) ** 2) / 2
    return np.where(angle > np.pi / 2, 1 - cap, cap)


# --- a sum of independent uniform unit vectors --------------------------------------------------------

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
    one, other = (squared_length_rule(m, d, nodes) for m in (n // 2, n - n // 2))
    return rule_of_sum(one, other, d, nodes)


def rule_of_sum(one: tuple[FloatArray, FloatArray], other: tuple[FloatArray, FloatArray], d: float,
                nodes: int) -> tuple[FloatArray, FloatArray]:
    """The rule of |x + y|^2 from those of two independent vectors of uniform direction."""
    (x, w_x), (y, w_y) = one, other
    u, w = gauss_coordinate(d, nodes, least=2)
    x, w_x = x[:, None, None], w_x[:, None, None]
    y, w_y = y[:, None], w_y[:, None]
    total = np.maximum(x + y + 2 * np.sqrt(x * y / d) * u, 0)
    squared, weights = condense(total.ravel(), (w_x * w_y * w).ravel(), nodes)
    return np.maximum(squared, 0), weights


def read_length_rule(n: int, k: int, d: float, lengths: int, nodes: int) -> tuple[FloatArray, FloatArray]:
    """The squared length of x seen through a map of k columns, d above k, and its weights.

    >>> squared, weights = read_length_rule(3, 4, 16, 4, 6)
    >>> round(float(weights @ squared), 9)       # n k/d
    0.75
    """
    squared, length_weights = squared_length_rule(n, d, lengths)
    share, share_weights = gauss_beta(k / 2, (d - k) / 2, nodes)
    return condense(np.outer(squared, share).ravel(), np.outer(length_weights, share_weights).ravel(), nodes)


@functools.lru_cache(maxsize=64)
def random_walk_rule(n: int, d: float, lengths: int, directions: int, noise: float = 0.0) -> RandomWalk:
    """The law of x at so many nodes for its length, times so many for its direction; of x and Gaussian noise of
    deviation `noise` on each coordinate, where there is some.

    >>> x = random_walk_rule(3, 16, 4, 8)
    >>> round(float(x.weights @ x.along**2), 12)       # n/d
    0.1875
    """
    if noise > 0:
        chi, chi_weights = gauss_gamma(2 / d, lengths)
        gaussian = noise**2 * d * chi, chi_weights
        squared, length_weights = (gaussian if n == 0 else
                                   rule_of_sum(squared_length_rule(n, d, lengths), gaussian, d, lengths))
    else:
        squared, length_weights = squared_length_rule(n, d, lengths)
    u, u_weights = gauss_coordinate(d, directions, least=2)
    shape = (len(squared), len(u))
    return RandomWalk(np.broadcast_to(squared[:, None], shape).ravel(),
                      (np.sqrt(squared / d)[:, None] * u).ravel(), (length_weights[:, None] * u_weights).ravel())


# --- nearly normal variables and their normal scores ----------------------------------------------------


def score_of_skewed(x: Any, skew: Any) -> Any:
    """The normal quantile of a standardised gamma variable x of the given skewness of either sign (Wilson and Hilferty
    1931).

    >>> round(float(score_of_skewed(2.0, 0.6)), 4)  # that of the gamma variable is 1.7956
    1.7961
    """
    a = skew / 6
    root = np.cbrt(1 + 3 * a * x)
    return a + 3 * x / (root * (root + 1) + 1)


def skewed_of_score(z: Any, skew: Any) -> Any:
    """A standardised gamma variable of the given skewness at the normal quantile z: inverts `score_of_skewed`. One of
    mean 1 and variance v has the skewness 2 sqrt(v); far below it comes out below 0.
    """
    a = skew / 6
    w = z - a
    return w * (1 + a * w * (1 + a * w / 3))  # NumPy's third power takes ten times as long


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


def score_of_coordinate(b: Any, scale: Any, floor: float = TINY) -> Any:
    """The normal score of a coordinate b; 1 - b^2 counts as at least `floor`.

    >>> round(float(score_of_coordinate(0.2, peizer_pratt_scale(100.0))), 4)  # Phi^-1(P(b < 0.2)) = 2.0054
    2.0053
    """
    square = b * b
    # each factor to full precision, without a branch: numbers and arrays alike, compiled or not
    log = np.log1p(-np.minimum(square, 1 / 2)) + np.log(np.minimum(2 * np.maximum(1 - square, floor), 1))
    return np.copysign(np.sqrt(-scale * log), b)


def coordinate_of_score(z: Any, scale: Any) -> Any:
    """The coordinate with the normal score z, the inverse of `score_of_coordinate`."""
    return np.copysign(np.sqrt(-np.expm1(-z * z / scale)), z)


# --- random embeddings ---------------------------------------------------------------------------------

def random_rows(rng: np.random.Generator, n: int, d: int, embedding: str) -> FloatArray:
    """(n, d) random embeddings of the named law."""
    z = rng.standard_normal((n, d))
    if embedding == "gaussian":
        z /= np.sqrt(d)
        return z
    if embedding == "sphere":
        z /= np.linalg.norm(z, axis=1, keepdims=True)
        return z
    q, r = np.linalg.qr(z.T)  # (d, n); the signs make it uniform over orthonormal frames
    return np.ascontiguousarray((q * np.sign(np.diag(r))).T)


def random_embeddings(rng: np.random.Generator, V: int, d: int, law: str) -> tuple[FloatArray, FloatArray, FloatArray]:
    """z_in (V, d), z_out (V, d) and z_trig (d,), drawn in the order in which a seed's stream has them.

    With orthogonal ones z_trig is orthogonal to z_in too where d > V.
    """
    if law == "orthogonal" and d > V:
        both = random_rows(rng, V + 1, d, law)
        z_in, z_trig = both[:V], both[V]
    else:
        z_in = random_rows(rng, V, d, law)
        z_trig = random_rows(rng, 1, d, "sphere" if law == "orthogonal" else law)[0]
    return z_in, random_rows(rng, V, d, law), z_trig
