"""Averages of a function over Gaussian inputs: quadrature that splits at kinks, Hermite coefficients.

The last part is what noise on its argument makes of a function: moments of phi(v + width x) over x, tabulated by v.

u is N(0, 1) throughout and s is the variance of the function's argument. Orthonormal Hermite polynomials
h_n = He_n/sqrt(n!) are used, so that a coefficient's square is that part's energy.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike

from .arrays import FloatArray
from .quadrature import gauss_legendre
from .unit_sphere import split_at

KERNEL_END = 14.0  # standard deviations; the density is 1e-43 there
PANEL = 1.0  # longest panel, in standard deviations
POINTS_A_PANEL = 16  # Gauss-Legendre points a panel
MOMENTS = 10  # of a smoothed function
NO_PART = 2**-40  # of the mean size of a function: coefficients below it are rounding, and count as 0


class RealFunction(Protocol):
    """A function of one real variable: its values, and where its slope jumps."""

    @property
    def kinks(self) -> tuple[float, ...]: ...

    def phi(self, x: ArrayLike) -> FloatArray: ...


def normal_density(x: FloatArray) -> FloatArray:
    """exp(-x^2/2)/sqrt(2 pi), of an array in its own memory."""
    square = np.multiply(x, x)
    square *= -1 / 2
    density = np.exp(square, out=square if square.ndim else None)
    density *= 1 / np.sqrt(2 * np.pi)
    return density


def gaussian_rule(phi: RealFunction, s: ArrayLike, points: int = POINTS_A_PANEL) -> tuple[FloatArray, FloatArray]:
    """Nodes x (..., n) and weights (..., n) with sum w f(x) = E f(sqrt(s) u), for f that bends only where phi does; s
    is of shape (...).

    >>> from recall_theory.activations import activation
    >>> x, w = gaussian_rule(activation("relu"), 2.0)
    >>> float((w * np.maximum(x, 0)**2).sum())
    1.0
    """
    std = np.sqrt(np.asarray(s, dtype=float))[..., None]
    if all(k == 0 for k in phi.kinks):
        u, w = _panels(np.array([-KERNEL_END, 0.0, KERNEL_END]), points)
        return std * u, np.broadcast_to(w, (*std.shape[:-1], len(w)))
    with np.errstate(divide="ignore", invalid="ignore"):
        inner = np.nan_to_num(np.array(phi.kinks) / std, nan=0.0, posinf=KERNEL_END, neginf=-KERNEL_END)
    ends = np.full((*inner.shape[:-1], 1), KERNEL_END)
    u, w = _panels(np.concatenate([-ends, np.clip(inner, -KERNEL_END, KERNEL_END), ends], axis=-1), points)
    return std * u, w


def _panels(edges: FloatArray, points: int) -> tuple[FloatArray, FloatArray]:
    """Gauss-Legendre nodes and Gaussian weights between consecutive edges (..., k), panel by panel."""
    lengths = np.diff(edges, axis=-1)  # (..., k-1)
    # every interval is cut alike over the batch, by the longest that occurs there
    longest = lengths.reshape(-1, lengths.shape[-1]).max(axis=0, initial=0.0)
    t, weight = gauss_legendre(points)
    nodes, weights = [], []
    for i, length in enumerate(longest):
        panels = max(1, int(np.ceil(length / PANEL)))
        width = lengths[..., i, None] / panels
        start = edges[..., i, None] + width * np.arange(panels)
        shape = (*start.shape[:-1], -1)
        nodes.append((start[..., None] + width[..., None] * t).reshape(shape))
        weights.append(np.broadcast_to(width[..., None] * weight, (*start.shape, points)).reshape(shape))
    u = np.concatenate(nodes, axis=-1)
    return u, np.concatenate(weights, axis=-1) * normal_density(u)


def gaussian_mean(phi: RealFunction, f: Callable[[FloatArray], FloatArray], s: ArrayLike) -> FloatArray:
    """E f(x), x ~ N(0, s), of shape s.shape, for f that bends only where phi does.

    >>> from recall_theory.activations import activation
    >>> float(gaussian_mean(activation("relu"), activation("relu").phi, 2 * np.pi))
    1.0
    """
    x, w = gaussian_rule(phi, s)
    return np.asarray((w * f(x)).sum(axis=-1))


def hermite_coefficients(phi: RealFunction, s: ArrayLike, order: int) -> FloatArray:
    """c_0..c_order of phi(sqrt(s) u) = sum c_n h_n(u): shape (..., order+1), for variances s of at least 0.

    c_n = E phi(sqrt(s) u) h_n(u), and sum c_n^2 = E phi^2.

    >>> from recall_theory.activations import activation
    >>> hermite_coefficients(activation("quadratic"), 1.0, 3)
    array([0. , 0. , 1.41421356, 0. ])
    """
    s = np.asarray(s, dtype=float)
    safe = np.where(s > 0, s, 1.0)
    x, w = gaussian_rule(phi, safe)
    c = hermite_projection(phi.phi(x) * w, x / np.sqrt(safe)[..., None], order)
    constant = np.zeros(order + 1)
    constant[0] = float(phi.phi(0.0))
    return np.where(s[..., None] > 0, c, constant)


def hermite_projection(weighted: FloatArray, u: FloatArray, order: int) -> FloatArray:
    """sum over nodes of weighted * h_n(u), for n = 0..order, on a last axis; exactly 0 where only rounding is left, as
    of the even ones of an odd function."""
    previous, current = np.zeros_like(u), np.ones_like(u)
    found = np.empty((*weighted.shape[:-1], order + 1))
    for n in range(order + 1):
        found[..., n] = (weighted * current).sum(axis=-1)
        previous, current = current, (u * current - np.sqrt(n) * previous) / np.sqrt(n + 1)
    found[np.abs(found) < NO_PART * np.abs(weighted).sum(axis=-1, keepdims=True)] = 0
    return found


class Smoothed(NamedTuple):
    """Moments of phi(v + width x) over x, a row (MOMENTS,) for each v = -last/steps, ..., last/steps (v = 0 alone, for
    a last of 0), for one of the `widths` after another.

    In this order: the mean; the means of (phi - mean) times x's orthogonal polynomials 1 to 4; the variance; the third
    central moment; the means of (phi - mean)^2 times the first two; the fourth cumulant.
    """

    rows: FloatArray
    widths: int
    steps: int
    last: int


@functools.lru_cache(maxsize=64)
def smoothed(phi: RealFunction, d: float, widths: tuple[float, ...], n: int, steps: int, reach: int) -> Smoothed:
    """The table for `n` nodes on each piece between kinks and `steps` points to a unit of v, up to |v| = reach and one
    unit beyond. x is normal, or at d > 0 sqrt(d) times a coordinate of a uniform unit vector."""
    last = (reach + 1) * steps if reach else 0
    v = np.arange(-last, last + 1) / steps
    width = np.array(widths)[:, None, None]
    kinks = (np.array(phi.kinks) - v[:, None]) / width if phi.kinks else np.zeros((len(widths), len(v), 0))
    x, p = split_at(kinks, d, n if phi.kinks else 2 * n)
    f = phi.phi(v[:, None] + width * x)
    mean = (p * f).sum(-1, keepdims=True)
    off = f - mean
    polynomials = _orthogonal(x, d)
    one, two = p * off, p * off * off
    square = two.sum(-1)
    moments = [mean[..., 0], *((one * h).sum(-1) for h in polynomials), square, (two * off).sum(-1),
               *((two * h).sum(-1) for h in polynomials[:2]), (two * off * off).sum(-1) - 3 * square**2]
    return Smoothed(np.stack(moments, axis=-1).reshape(-1, MOMENTS), len(widths), steps, last)


def _orthogonal(x: FloatArray, d: float) -> tuple[FloatArray, ...]:
    """Monic orthogonal polynomials 1 to 4 of a normal x (Hermite), or of a coordinate times sqrt(d) (Gegenbauer)."""
    a, b = (d / (d + 2), d / (d + 4)) if d else (1.0, 1.0)
    square = x * x
    return x, square - 1, x * (square - 3 * a), square * (square - 6 * b) + 3 * a * b

