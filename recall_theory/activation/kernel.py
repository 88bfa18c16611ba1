"""The kernel kappa(s1, s2, rho) = E phi(u) phi(v): u, v Gaussian of variances s1, s2 and covariance rho.

Three ways: closed forms (identity, relu, erf), the Hermite series, which ends for polynomials, and a
two-dimensional quadrature. `kernel` picks the cheapest that is good to 1e-10 of sqrt(E phi(u)^2 E phi(v)^2).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .gaussian import REACH, _panels, gaussian_rule, hermite_coefficients
from .named import Activation

__all__ = ["kernel", "kernel_by_quadrature", "kernel_by_series"]

Array = NDArray[np.float64]

ORDER = 80  # of the series
GOOD = 1e-10  # of the geometric mean of the two energies


def kernel(phi: Activation, s1: ArrayLike, s2: ArrayLike, rho: ArrayLike) -> Array:
    """kappa(s1, s2, rho); the arguments broadcast, |rho| <= sqrt(s1 s2).

    >>> from .named import activation
    >>> float(kernel(activation("relu"), 1.0, 1.0, 0.0))  # 1/(2 pi)
    0.159154943
    """
    a, b, c = np.broadcast_arrays(*(np.asarray(x, dtype=float) for x in (s1, s2, rho)))
    limit = np.sqrt(a * b)
    if (np.abs(c) > limit * (1 + 1e-9)).any():
        raise ValueError("a covariance rho may not exceed sqrt(s1 s2)")
    c = np.clip(c, -limit, limit)
    closed = CLOSED.get(phi.name)
    if closed is not None:
        return np.asarray(closed(a, b, c))
    value, error, scale = kernel_by_series(phi, a, b, c)
    poor = error > GOOD * scale
    if poor.any():
        value = np.array(value)
        value[poor] = kernel_by_quadrature(phi, a[poor], b[poor], c[poor])
    return value


def _relu(s1: Array, s2: Array, rho: Array) -> Array:
    """The arc-cosine kernel (Cho and Saul, 2009): |u||v| (sin t + (pi - t) cos t)/(2 pi)."""
    size = np.sqrt(s1 * s2)
    cos = np.clip(np.divide(rho, size, out=np.zeros_like(size), where=size > 0), -1, 1)
    angle = np.arccos(cos)
    return size / (2 * np.pi) * (np.sqrt((1 - cos) * (1 + cos)) + (np.pi - angle) * cos)


def _erf(s1: Array, s2: Array, rho: Array) -> Array:
    """The arc-sine kernel (Williams, 1997)."""
    return 2 / np.pi * np.arcsin(2 * rho / np.sqrt((1 + 2 * s1) * (1 + 2 * s2)))


CLOSED: dict[str, Callable[[Array, Array, Array], Array]] = {
    "identity": lambda s1, s2, rho: rho,
    "relu": _relu,
    "erf": _erf,
    "quadratic": lambda s1, s2, rho: 2 * rho**2 + (s1 - 1) * (s2 - 1),
}


def kernel_by_series(phi: Activation, s1: Array, s2: Array, rho: Array,
                     order: int = ORDER) -> tuple[Array, Array, Array]:
    """sum c_n(s1) c_n(s2) (rho/sqrt(s1 s2))^n, a bound on its error, and the scale sqrt(E phi^2 E phi^2).

    The bound is |r|^(order+1) times the energies left out; a polynomial's series ends.
    """
    if phi.degree is not None:
        order = phi.degree
    c1, energy1 = _coefficients(phi, s1, order)
    c2, energy2 = _coefficients(phi, s2, order)
    size = np.sqrt(s1 * s2)
    r = np.divide(rho, size, out=np.zeros_like(size), where=size > 0)
    value = np.zeros_like(r)
    for n in range(order, -1, -1):  # Horner
        value = value * r + c1[..., n] * c2[..., n]
    left = np.sqrt(_left(c1, energy1) * _left(c2, energy2))
    bound = np.zeros_like(r) if phi.degree is not None else np.abs(r) ** (order + 1) * left
    return value, bound, np.sqrt(energy1 * energy2)


def _left(c: Array, energy: Array) -> Array:
    """The energy beyond the series, never below what rounding can hide."""
    return np.maximum(energy - (c**2).sum(axis=-1), 1e-15 * energy)


def _coefficients(phi: Activation, s: Array, order: int) -> tuple[Array, Array]:
    """Hermite coefficients (..., order+1) and E phi^2, computed once for each different variance."""
    different, where = np.unique(s, return_inverse=True)
    where = where.reshape(s.shape)
    safe = np.where(different > 0, different, 1.0)
    c, energy = np.empty((len(different), order + 1)), np.empty(len(different))
    for i in range(0, len(different), 256):  # bounds the memory
        part = slice(i, i + 256)
        x, w = gaussian_rule(phi, safe[part])
        c[part] = hermite_coefficients(phi, safe[part], order)
        energy[part] = (w * phi.phi(x) ** 2).sum(axis=-1)
    zero = different == 0
    if zero.any():
        c[zero], c[zero, 0] = 0.0, float(phi.phi(0.0))
        energy[zero] = float(phi.phi(0.0)) ** 2
    return c[where], energy[where]


def kernel_by_quadrature(phi: Activation, s1: ArrayLike, s2: ArrayLike, rho: ArrayLike) -> Array:
    """The double integral, one pair of variables at a time: panels end at the kinks of both and shrink
    towards them, as |r| -> 1 makes the inner average nearly bend there too."""
    a, b, c = np.broadcast_arrays(*(np.asarray(x, dtype=float) for x in (s1, s2, rho)))
    found = [_double_integral(phi, *x) for x in zip(a.flat, b.flat, c.flat, strict=True)]
    return np.array(found).reshape(a.shape)


def _double_integral(phi: Activation, s1: float, s2: float, rho: float) -> float:
    std1, std2 = np.sqrt(s1), np.sqrt(s2)
    r = 0.0 if std1 * std2 == 0 else float(np.clip(rho / (std1 * std2), -1, 1))
    rest = np.sqrt((1 - r) * (1 + r))
    bends = [k / std1 for k in phi.kinks if std1 > 0]
    bends += [k / (r * std2) for k in phi.kinks if r * std2 != 0]
    near = 2.0 ** -np.arange(1, 25)
    cuts = [-REACH, REACH, *(b + sign * x for b in bends for sign in (-1, 1) for x in (0.0, *near))]
    edges = np.unique([x for x in cuts if abs(x) <= REACH])
    u, w = _panels(edges, 16)
    if rest < 1e-12:
        return float((w * phi.phi(std1 * u) * phi.phi(np.sign(r) * std2 * u)).sum())
    total = 0.0
    for i in range(0, len(u), 512):
        part = slice(i, i + 512)
        middle = r * u[part, None]
        with np.errstate(divide="ignore", invalid="ignore"):
            inner = [np.nan_to_num((k / std2 - middle) / rest, nan=0.0) for k in phi.kinks]
        ends = np.full_like(middle, REACH)
        v, wv = _panels(np.sort(np.concatenate(
            [-ends, *(np.clip(x, -REACH, REACH) for x in inner), ends], axis=1), axis=1), 16)
        mean = (wv * phi.phi(std2 * (middle + rest * v))).sum(axis=1)
        total += float((w[part] * phi.phi(std1 * u[part])) @ mean)
    return total
