"""Averages of an activation over Gaussian inputs: quadrature that splits at kinks, Hermite coefficients.

u is N(0, 1) throughout and s is the variance of phi's argument. Orthonormal Hermite polynomials
h_n = He_n/sqrt(n!) are used, so that a coefficient's square is that part's energy.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.polynomial.legendre import leggauss
from numpy.typing import ArrayLike, NDArray

from .functions import normal_density
from .named import Activation
from .parse import refused

__all__ = ["check_resolved", "gaussian_mean", "gaussian_rule", "hermite_coefficients", "stein_means"]

Array = NDArray[np.float64]

REACH = 14.0  # standard deviations; the density is 1e-43 there
PANEL = 1.0  # longest panel, in standard deviations
POINTS = 16  # Gauss-Legendre points a panel


def gaussian_rule(phi: Activation, s: ArrayLike, points: int = POINTS) -> tuple[Array, Array]:
    """Nodes x (..., n) and weights (..., n) with sum w f(x) = E f(sqrt(s) u), for f that bends only where
    phi does; s is of shape (...).

    >>> from recall_theory.activation import activation
    >>> x, w = gaussian_rule(activation("relu"), 2.0)
    >>> float((w * np.maximum(x, 0)**2).sum())
    1.0
    """
    std = np.sqrt(np.asarray(s, dtype=float))[..., None]
    if all(k == 0 for k in phi.kinks):
        u, w = _panels(np.array([-REACH, 0.0, REACH]), points)
        return std * u, np.broadcast_to(w, (*std.shape[:-1], len(w)))
    kinks = np.array(phi.kinks)
    with np.errstate(divide="ignore", invalid="ignore"):
        inner = np.clip(np.nan_to_num(kinks / std, nan=0.0, posinf=REACH, neginf=-REACH), -REACH, REACH)
    ends = np.full((*inner.shape[:-1], 1), REACH)
    u, w = _panels(np.concatenate([-ends, inner, ends], axis=-1), points)
    return std * u, w


def _panels(edges: Array, points: int) -> tuple[Array, Array]:
    """Gauss-Legendre nodes and Gaussian weights between consecutive edges (..., k), panel by panel."""
    lengths = np.diff(edges, axis=-1)  # (..., k-1)
    # every interval is cut alike over the batch, by the longest that occurs there
    longest = lengths.reshape(-1, lengths.shape[-1]).max(axis=0, initial=0.0)
    t, weight = leggauss(points)
    nodes, weights = [], []
    for i, length in enumerate(longest):
        panels = max(1, int(np.ceil(length / PANEL)))
        width = lengths[..., i, None] / panels
        middle = edges[..., i, None] + width * (np.arange(panels) + 1 / 2)
        nodes.append((middle[..., None] + width[..., None] / 2 * t).reshape(*middle.shape[:-1], -1))
        weights.append(np.broadcast_to(width[..., None] / 2 * weight, (*middle.shape, points)).reshape(
            *middle.shape[:-1], -1))
    u = np.concatenate(nodes, axis=-1)
    return u, np.concatenate(weights, axis=-1) * normal_density(u)


def gaussian_mean(phi: Activation, f: Callable[[Array], Array], s: ArrayLike) -> Array:
    """E f(x), x ~ N(0, s), of shape s.shape, for f that bends only where phi does.

    >>> from recall_theory.activation import activation
    >>> float(gaussian_mean(activation("relu"), activation("relu").phi, 2 * np.pi))
    1.0
    """
    x, w = gaussian_rule(phi, s)
    return np.asarray((w * f(x)).sum(axis=-1))


def hermite_coefficients(phi: Activation, s: ArrayLike, order: int) -> Array:
    """c_0..c_order of phi(sqrt(s) u) = sum c_n h_n(u): shape (..., order+1).

    c_n = E phi(sqrt(s) u) h_n(u), and sum c_n^2 = E phi^2.

    >>> from recall_theory.activation import activation
    >>> hermite_coefficients(activation("quadratic"), 1.0, 3).round(12) + 0.0
    array([0. , 0. , 1.41421356, 0. ])
    """
    x, w = gaussian_rule(phi, s)
    std = np.sqrt(np.asarray(s, dtype=float))[..., None]
    unit = np.ones_like(std)  # nodes of u; at s = 0 phi is constant and any rule will do
    u = np.where(std > 0, x / np.where(std > 0, std, unit), 0.0)
    if not std.all():
        plain, plain_w = _panels(np.array([-REACH, REACH]), POINTS)
        if np.ndim(s) == 0:
            u, w, x = plain, plain_w, np.zeros_like(plain)
        else:
            raise ValueError("hermite_coefficients takes an array of positive variances")
    return project(phi.phi(x) * w, u, order)


def project(weighted: Array, u: Array, order: int) -> Array:
    """sum over nodes of weighted * h_n(u), for n = 0..order, on a last axis."""
    previous, current = np.zeros_like(u), np.ones_like(u)
    found = np.empty((*weighted.shape[:-1], order + 1))
    for n in range(order + 1):
        found[..., n] = (weighted * current).sum(axis=-1)
        previous, current = current, (u * current - np.sqrt(n) * previous) / np.sqrt(n + 1)
    return found


def stein_means(phi: Activation, s: ArrayLike) -> tuple[Array, Array, Array, Array]:
    """E phi, E phi', E phi'', E phi''' at variance s, from phi alone: E phi^(n) = sqrt(n!/s^n) c_n, which
    also holds where phi bends.

    >>> from recall_theory.activation import activation
    >>> [round(float(x), 6) for x in stein_means(activation("relu"), 1.0)]
    [0.398942, 0.5, 0.398942, 0.0]
    """
    s = np.asarray(s, dtype=float)
    c = hermite_coefficients(phi, s, 3)
    return c[..., 0], c[..., 1] / np.sqrt(s), c[..., 2] * np.sqrt(2 / s**2), c[..., 3] * np.sqrt(6 / s**3)


def check_resolved(phi: Activation) -> None:
    """Raise `SettingError` where the quadrature does not see phi: two rules disagree on E phi^2."""
    for s in (1 / 4, 2.0):
        fine, coarse = (float((w * phi.phi(x) ** 2).sum()) for x, w in
                        (gaussian_rule(phi, s, points) for points in (POINTS, POINTS - 4)))
        if not abs(fine - coarse) <= 1e-8 * (abs(fine) + 1e-12):
            raise refused(phi.name, "it varies too fast to be averaged over Gaussian inputs")
