"""Gauss rules: few nodes and weights that integrate a variable's polynomials exactly.

Parameters are arrays (...), nodes and weights (..., n), from the eigenvalues of a Jacobi matrix (Golub and Welsch,
1969); rules of fixed variables are NumPy's and SciPy's.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln, pdtrc, roots_sh_legendre

from .arrays import TINY, FloatArray

FINE_NODES = 64  # Legendre nodes that stand for a part of a normal law; its Gauss rule of fewer nodes is made of them
NORMAL_END = 9.0  # standard deviations at which a normal law ends: beyond lies 1e-19
POINT_SPREAD = 2**-44  # relative spread below which a discrete measure is one point
SYMMETRIC = 1e-4  # half the skewness below which a variable counts as symmetric: a guard against 0/0
GAMMA_END, GAMMA_FALL = 8.0, 40.0  # where a gamma variable ends: standard deviations, or falls of its logarithm by e
GAMMA_RULES = 120  # rules, over the logarithm of the relative variance, that a spline joins
GAMMA_STEPS = 400  # of a gamma variable's logarithm, from which its Gauss rule in another variable is made
LEAST_VARIANCE = 1e-8  # below it a gamma variable moves nothing, as far as floats tell
MOST_VARIANCE = 64.0  # above it a gamma variable is 0, as good as always: its logarithm has no rule in floats
WEIGHTLESS = 1e-60  # weight of a point that moves no mean, and whose distance in standard deviations has no square
MASS_LEFT_OUT = 1e-9  # mass that a rule of explicit counts leaves out, and shares among them; V labels hold V times it


def golub_welsch(diagonal: FloatArray, beside: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Nodes and weights (..., n) of the Gauss rule of a Jacobi matrix."""
    n = diagonal.shape[-1]
    matrix = np.zeros((*diagonal.shape[:-1], n, n))
    i = np.arange(n)
    matrix[..., i, i] = diagonal
    matrix[..., i[1:], i[:-1]] = beside
    nodes, vectors = np.linalg.eigh(matrix)
    return nodes, vectors[..., 0, :] ** 2


def golub_welsch_of_many(diagonal: FloatArray, beside: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The same by machine code, which takes half a second to load and is faster from some hundred matrices on."""
    from .jacobi_matrices import eigen

    n = diagonal.shape[-1]
    rows = diagonal.size // n
    nodes, vectors = eigen(diagonal.reshape(rows, n), beside.reshape(rows, n - 1))
    return nodes.reshape(diagonal.shape), vectors[:, 0].reshape(diagonal.shape)**2


def gauss_gamma(relative_variance: ArrayLike, n: int) -> tuple[FloatArray, FloatArray]:
    """Nodes and weights (..., n) for a gamma variable of mean 1 and the given relative variance.

    chi^2_d / d is the case 2/d. A variance of 0 gives nodes at 1.

    >>> x, w = gauss_gamma(2 / 16, 3)
    >>> round(float((w * x**2).sum()), 12)
    1.125
    """
    v = np.asarray(relative_variance, dtype=float)[..., None]
    i = np.arange(n)
    return golub_welsch(1 + 2 * i * v, np.sqrt(i[1:] * v * (1 + (i[1:] - 1) * v)))


def gauss_of_gamma(relative_variance: ArrayLike, n: int, *, root: bool = False) -> tuple[FloatArray, FloatArray]:
    """The same variable: nodes and weights (..., n) of the Gauss rule in its logarithm, or in its root. What depends on
    it by either is smooth where the variable itself comes near 0.

    >>> x, w = gauss_of_gamma(2 / 3, 4, root=True)  # of a Maxwell distribution
    >>> round(float((w * x**2.5).sum()), 5)
    2.45685
    """
    variance = np.clip(np.asarray(relative_variance, dtype=float), LEAST_VARIANCE, MOST_VARIANCE)
    rules, bends = _gamma_rules(n, root)
    place = np.log(variance / LEAST_VARIANCE) * ((GAMMA_RULES - 1) / np.log(MOST_VARIANCE / LEAST_VARIANCE))
    i = np.minimum(place.astype(int), GAMMA_RULES - 2)
    t = (place - i)[..., None]
    rule = (1 - t) * rules[i] + t * rules[i + 1] - t * (1 - t) * ((2 - t) * bends[i] + (1 + t) * bends[i + 1])
    standardised, weights = np.split(rule, 2, axis=-1)
    log = np.sqrt(variance)[..., None] * standardised
    return (1 + log)**2 if root else np.exp(log), weights


@functools.cache
def _gamma_rules(n: int, root: bool) -> tuple[FloatArray, FloatArray]:
    """The rules (GAMMA_RULES, 2 n), evenly over the logarithm of the relative variance: nodes of the root less 1, or of
    the logarithm, per standard deviation, and weights; and a sixth of what they bend by from one to the next in the
    cubic spline that joins them, of one piece over each end's two steps. SciPy's is the same, and takes as long to load
    as most answers do. Errors are below 1e-5 up to 5 nodes."""
    log_variance = np.linspace(np.log(LEAST_VARIANCE), np.log(MOST_VARIANCE), GAMMA_RULES)
    spread = np.exp(log_variance / 2)[:, None]
    shape = 1 / spread**2
    left = np.minimum(-GAMMA_END * spread, -GAMMA_FALL / shape)
    right = GAMMA_END * spread + np.log1p(GAMMA_END / shape)
    log = left + (right - left) * np.linspace(0, 1, GAMMA_STEPS)
    weight = np.exp(shape * (log - np.expm1(log)))
    nodes, w = condense(np.expm1(log / 2) if root else log, weight / weight.sum(-1, keepdims=True), n)
    rules = np.concatenate([nodes / spread, w], axis=-1)
    matrix = 4 * np.eye(GAMMA_RULES) + np.eye(GAMMA_RULES, k=1) + np.eye(GAMMA_RULES, k=-1)
    matrix[[0, -1]] = 0
    matrix[0, :3] = matrix[-1, -3:] = 1, -2, 1
    return rules, np.linalg.solve(matrix, np.pad(np.diff(rules, 2, axis=0), ((1, 1), (0, 0))))


def gauss_skewed(skewness: ArrayLike, n: int) -> tuple[FloatArray, FloatArray]:
    """Nodes and weights (..., n) of mean 0, variance 1 and the given skewness: a gamma variable, shifted.

    >>> x, w = gauss_skewed(-0.5, 3)
    >>> round(float(w @ x**2), 12), round(float(w @ x**3), 12)
    (1.0, -0.5)
    """
    half = np.asarray(skewness, dtype=float) / 2
    size = np.maximum(np.abs(half), SYMMETRIC)
    x, w = gauss_gamma(size**2, n)
    return np.where(half < 0, -1, 1)[..., None] * (x - 1) / size[..., None], w


def gauss_beta(a: float, b: float, n: int) -> tuple[FloatArray, FloatArray]:
    """A Beta(a, b) variable, for any positive a and b: nodes and weights (n,). SciPy's overflows from a + b = 1000 on.

    >>> x, w = gauss_beta(2.0, 3.0, 4)
    >>> round(float((w * x).sum()), 12), round(float((w * x**3).sum()), 12)
    (0.4, 0.114285714286)
    """
    k, s = np.arange(1, n), a + b
    middle = np.concatenate([[(a - b) / s], (a - b) * (s - 2) / ((2 * k + s - 2) * (2 * k + s))])
    i = k[1:]
    square = (4 * i * (i + a - 1) * (i + b - 1) * (i + s - 2)
              / ((2 * i + s - 2) ** 2 * (2 * i + s - 1) * (2 * i + s - 3)))
    first = 4 * a * b / (s**2 * (s + 1))  # at i = 1 a factor cancels, which is 0/0 where s = 1
    x, w = golub_welsch(middle, np.sqrt(np.concatenate([[first], square])))
    return np.clip((1 + x) / 2, 0, 1), w


def gauss_coordinate(d: Any, n: int, least: float = 3.0) -> tuple[FloatArray, FloatArray]:
    """sqrt(d) times one coordinate of a uniform unit vector of R^d: nodes and weights (..., n). Below `least`
    dimensions, at least 2, the rule of so many serves."""
    d = np.maximum(np.asarray(d, dtype=float), least)[..., None]
    i = np.arange(2, n)
    square = d * i * (i + d - 3) / ((2 * i + d - 2) * (2 * i + d - 4))
    beside = np.sqrt(np.concatenate([np.ones_like(d), square], axis=-1))
    return golub_welsch(np.zeros((*d.shape[:-1], n)), beside[..., :n - 1])


def gauss_poisson(mean: Any, n: int) -> tuple[FloatArray, FloatArray]:
    """A Poisson variable: 0..n-1 itself where all but MASS_LEFT_OUT of its mass is there, else n Gauss-Charlier nodes.

    >>> x, w = gauss_poisson(100.0, 5)
    >>> round(float((w * (x - 100)**2).sum()), 9)
    100.0
    """
    distinct, place = np.unique(np.ravel(mean).astype(float), return_inverse=True)  # classes share most
    i = np.arange(n, dtype=float)
    log_p = i * np.log(np.maximum(distinct[:, None], TINY)) - gammaln(i + 1)
    w = np.exp(log_p - log_p.max(axis=-1, keepdims=True))
    x, w = np.tile(i, (len(distinct), 1)), w / w.sum(axis=-1, keepdims=True)
    many = pdtrc(n - 1, distinct) >= MASS_LEFT_OUT
    x[many], w[many] = gauss_charlier(distinct[many], n, golub_welsch_of_many)
    shape = (*np.shape(mean), n)
    return x[place].reshape(shape), w[place].reshape(shape)


def gauss_charlier(mean: Any, n: int, rule: Callable[..., tuple[FloatArray, FloatArray]] = golub_welsch,
                   ) -> tuple[FloatArray, FloatArray]:
    """The n-point Gauss rule of a Poisson variable, its nodes kept from falling below 0; `rule` is that of a Jacobi
    matrix.

    >>> x, w = gauss_charlier(2, 6)
    >>> round(float(w @ x**3), 10)
    22.0
    """
    mean = np.asarray(mean, dtype=float)[..., None]
    i = np.arange(n)
    scale = np.maximum(np.sqrt(mean), 1)  # so that counts of any size are found to the same digits
    x, w = rule(i / scale, np.sqrt(mean * i[1:]) / scale)
    return np.maximum(mean + scale * x, 0), w


def gauss_binomial(trials: Any, chance: Any, n: int) -> tuple[FloatArray, FloatArray]:
    """A binomial variable: n Gauss-Krawtchouk nodes and weights (..., n)."""
    i = np.arange(n)
    t, q = (np.asarray(a, dtype=float)[..., None] for a in (trials, chance))
    x, w = golub_welsch_of_many(np.maximum(q * (t - i) + i * (1 - q), 0),
                                np.sqrt(np.maximum(i[1:] * q * (1 - q) * (t - i[1:] + 1), 0)))
    return np.clip(x, 0, t), w


@functools.cache
def gauss_hermite(n: int, symmetric: bool = False) -> tuple[FloatArray, FloatArray]:
    """A standard normal variable: nodes and weights (n,), which are not to be written to.

    With `symmetric` it is NumPy's rule, whose middle node is exactly 0. Without, that node is 0 but for rounding: laws
    that branch on the sign of a lead, or divide by a norm, have no value of their own there at L = 1 or d <= 2.
    """
    if not symmetric:
        return _read_only(*golub_welsch(np.zeros(n), np.sqrt(np.arange(1, n))))
    x, w = np.polynomial.hermite_e.hermegauss(n)
    return _read_only(x, w / w.sum())


@functools.cache
def gauss_legendre(n: int) -> tuple[FloatArray, FloatArray]:
    """A uniform variable on (0, 1): nodes and weights (n,), which are not to be written to."""
    return _read_only(*roots_sh_legendre(n))


def gauss_parts_of_normal(edges: ArrayLike, counts: Sequence[int]) -> tuple[FloatArray, FloatArray]:
    """Nodes and weights (..., sum of counts) of a standard normal variable: the Gauss rules, of so many nodes each, of
    its parts between the edges (..., len(counts) - 1), which ascend.

    >>> x, w = gauss_parts_of_normal([0.5], (3, 3))
    >>> round(float(w[:3].sum()), 9), round(float(w @ x**2), 9)  # Phi(0.5)
    (0.691462461, 1.0)
    """
    x, w = gauss_legendre(FINE_NODES)
    inner = np.clip(np.asarray(edges, dtype=float), -NORMAL_END, NORMAL_END)
    end = np.full((*inner.shape[:-1], 1), NORMAL_END)
    ends = np.concatenate([-end, inner, end], axis=-1)
    nodes, weights = [], []
    for i, n in enumerate(counts):
        low, high = ends[..., i : i + 1], ends[..., i + 1 : i + 2]
        z = low + (high - low) * x
        mass = (high - low) * w * np.exp(-z * z / 2) / np.sqrt(2 * np.pi) + TINY
        total = mass.sum(axis=-1, keepdims=True)
        of_part, weight = condense(z, mass / total, n)
        nodes.append(of_part)
        weights.append(weight * total)
    whole = np.concatenate(weights, axis=-1)
    return np.concatenate(nodes, axis=-1), whole / whole.sum(axis=-1, keepdims=True)


def _read_only(nodes: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """A rule that callers share."""
    nodes.flags.writeable = weights.flags.writeable = False
    return nodes, weights


def condense(x: FloatArray, w: FloatArray, n: int) -> tuple[FloatArray, FloatArray]:
    """The n-point Gauss rule (..., n) of a discrete measure (..., M), by the Lanczos recursion."""
    return _lanczos(x, w, n)[:2]


def condensation(x: FloatArray, w: FloatArray, n: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """`condense`, and the matrix (..., n, M) that takes a function on the measure to what it is at the nodes: its
    regression on the polynomials of x below degree n, so that means of its products with one keep what it has.

    >>> x = np.linspace(-1, 1, 9)
    >>> nodes, weights, operator = condensation(x, np.full(9, 1 / 9), 3)
    >>> bool(np.allclose(operator @ x**2, nodes**2))
    True
    """
    nodes, weights, basis, root, turn = _lanczos(x, w, n)
    return nodes, weights, turn @ (basis * root[..., None, :])


def condense_with(x: FloatArray, w: FloatArray, values: FloatArray,
                  n: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """`condense`, and what a function of these values (..., M) on the measure is at the nodes (..., n): the same as by
    the matrix of `condensation`, which costs as much as the nodes."""
    nodes, weights, basis, root, turn = _lanczos(x, w, n)
    return nodes, weights, (turn @ (basis @ (root * values)[..., None]))[..., 0]


def _lanczos(x: FloatArray, w: FloatArray, n: int) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray]:
    """Nodes and weights; orthonormal polynomials (..., n, M) of x, times the roots (..., M) of the points' weights, and
    these; and the matrix (..., n, n) that takes a function's coefficients to what it is at the nodes."""
    from .jacobi_matrices import eigen, recursion  # here: it loads numba, which takes longer than some answers

    w = np.where(w > WEIGHTLESS, w, 0)
    size = np.abs(x).max(-1, keepdims=True)  # so that no square underflows
    x = x / np.where(size > 0, size, 1)
    mean, root = (w * x).sum(-1, keepdims=True), np.sqrt(w)
    if n == 1:
        return size * mean, np.ones_like(mean), root[..., None, :], root, np.ones_like(mean)[..., None]
    spread = np.sqrt((w * (x - mean)**2).sum(-1, keepdims=True)) + TINY
    t = np.where(spread > POINT_SPREAD * np.abs(mean), (x - mean) / spread, 0)
    M = w.shape[-1]
    basis, diagonal, beside = recursion(t.reshape(-1, M), root.reshape(-1, M), n)
    nodes, vectors = eigen(diagonal, beside)
    nodes, vectors = nodes.reshape(*w.shape[:-1], n), vectors.reshape(*w.shape[:-1], n, n)
    first = vectors[..., 0, :]
    real = np.abs(first) > POINT_SPREAD  # the others weigh nothing and lie where rounding puts them: they get means
    turn = np.where(real[..., None], np.swapaxes(vectors, -1, -2) / np.where(real, first, 1)[..., None], np.eye(n)[0])
    return (size * (mean + spread * np.where(real, nodes, 0)), np.where(real, first, 0)**2,
            basis.reshape(*w.shape[:-1], n, M), root, turn)
