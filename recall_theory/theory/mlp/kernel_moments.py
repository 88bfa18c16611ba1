"""What step three needs of an activation: its kernel at infinite width, and what m neurons add to it.

All values h = z_in + z_trig (or z_in alone) have squared norms near 2 (or 1), and the kernel of two of them fluctuates
with the norms and the angle. `Kernel` tabulates the Hermite coefficients of phi over the norms that occur;
`of_values` integrates over the value of another fact, `of_neurons` over the weights of one neuron.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...activations import Activation
from ...numerics.gaussian_kernels import gaussian_rule, hermite_coefficients
from ...numerics.quadrature import condense, gauss_coordinate, gauss_gamma, gauss_hermite

__all__ = ["Kernel", "Neurons", "Values", "of_neurons", "of_values"]

FloatArray = NDArray[np.float64]

ORDER = 30  # Hermite coefficients; values overlap by about 1/2, so that the rest is below 2^-30
NORMS = 14  # Chebyshev nodes over the logarithm of the squared norm
PLANE = 5  # nodes of each coordinate of the other value in the plane of h_k and z_trig
RADIUS = 3  # nodes of the rest of its norm
REACH = 17 / 2  # standard deviations of a neuron's input
STEP = 1 / 8
PART = 12  # nodes of a neuron's input between two kinks of phi
BESIDE = 7  # nodes of its input beside h_k, through the trigger
TINY = np.finfo(float).tiny


class Kernel:
    """kappa(s1, s2, rho) for squared norms within [low, high], from a table of Hermite coefficients."""

    def __init__(self, phi: Activation, low: float, high: float):
        self.phi = phi
        self.order = ORDER if phi.degree is None else max(phi.degree, 1)
        n = np.arange(NORMS)
        self._middle, self._half = np.log(low * high) / 2, max(np.log(high / low) / 2, STEP)
        angle = np.pi * (n + 1 / 2) / NORMS
        values = hermite_coefficients(phi, np.exp(self._middle + self._half * np.cos(angle)), self.order)
        transform = 2 / NORMS * np.cos(n[:, None] * angle)
        transform[0] /= 2
        self._table = transform @ values  # (NORMS, order + 1)

    def coefficients(self, s: Any) -> FloatArray:
        """c_0..c_order (..., order + 1) of phi(sqrt(s) u) in orthonormal Hermite polynomials."""
        t = np.clip((np.log(s) - self._middle) / self._half, -1, 1)
        out: FloatArray = np.polynomial.chebyshev.chebval(t, self._table).transpose(
            *range(1, t.ndim + 1), 0) if t.ndim else np.polynomial.chebyshev.chebval(t, self._table)
        return out

    def __call__(self, s1: Any, s2: Any, rho: Any) -> FloatArray:
        """E phi(u) phi(v) for variances s1, s2 and covariance rho; all broadcast."""
        c1, c2 = self.coefficients(np.asarray(s1)), self.coefficients(np.asarray(s2))
        r = rho / np.sqrt(s1 * s2)
        out = 0 * r
        for n in range(self.order, -1, -1):
            out = out * r + c1[..., n] * c2[..., n]
        return np.asarray(out)


@dataclasses.dataclass(frozen=True)
class Values:
    """The kernel of a fact's value with the others', at infinite width; fields of the facts' shape.

    mean and variance over the others; along: its slopes along h_k and along the rest of z_trig, per standard
    coordinate; norm: covariance with |z_a|^2; third: the third central moment.
    """

    mean: FloatArray
    variance: FloatArray
    along: tuple[FloatArray, FloatArray]
    norm: FloatArray
    third: FloatArray


def of_values(kernel: Kernel, d: Any, s: FloatArray, t: FloatArray, tau: FloatArray, sphere: bool = False) -> Values:
    """Over z_a, for |h_k|^2 = s, z_trig.h_k = t and |z_trig|^2 = tau (0 where values lack the trigger); on the sphere
    |z_a| = 1."""
    x, wx = gauss_coordinate(d, PLANE) if sphere else gauss_hermite(PLANE)
    r, wr = gauss_gamma(0 if sphere else 2 / max(d - 2, 1), 1 if sphere else RADIUS)
    x1, x2, radius = (v.ravel() for v in np.meshgrid(x, x, r, indexing="ij"))
    w = (wx[:, None, None] * wx[:, None] * wr).ravel()
    s, t, tau = s[..., None], t[..., None], tau[..., None]
    along, rest = t / np.sqrt(s), np.sqrt(np.maximum(tau - t**2 / s, 0))
    norm = radius if sphere else (x1**2 + x2**2 + max(d - 2, 0) * radius) / d
    other = np.maximum(tau + 2 * (along * x1 + rest * x2) / np.sqrt(d) + norm, TINY)
    rho = t + np.sqrt(s / d) * x1
    limit = np.sqrt(s * other)
    value = kernel(s, other, np.clip(rho, -limit, limit))
    mean = (w * value).sum(-1)
    off = value - mean[..., None]
    variance = (w * off**2).sum(-1)
    return Values(mean, variance, ((w * off * x1).sum(-1), (w * off * x2).sum(-1)),
                  (w * off * (norm - 1)).sum(-1), (w * off**3).sum(-1))


@dataclasses.dataclass(frozen=True)
class Neurons:
    """What one neuron contributes, as a variable over its weights; fields of the facts' shape.

    own: E phi(w.h_k)^2. noise: E of phi(w.h_k)^2 times the variance of phi(w.h_a) over the others (m times the
    variance of the kernel beyond the infinite width's). spread, skewness: of y = X^2 - X Fbar, the part of (own - mean)
    of one neuron. on_own, on_mean, on_variance: regressions of the kernel with itself, of its mean and of its
    variance on y; left: the part of the variance's own fluctuation that y does not explain (variance and third
    moment, per neuron); left_on, bent: how that part's variance and its mean go with y and with y^2; third: what a
    neuron adds to the third central moment of the kernel over the others.
    """

    own: FloatArray
    noise: FloatArray
    spread: FloatArray
    skewness: FloatArray
    on_own: FloatArray
    on_mean: FloatArray
    on_variance: FloatArray
    left: FloatArray
    left_third: FloatArray
    left_on: FloatArray
    bent: FloatArray
    third: FloatArray


class Bare:
    """Mean, variance and slopes of phi(v + sqrt(omega) x) over x ~ N(0, 1), by v and omega."""

    def __init__(self, phi: Activation, reach: float):
        x = np.linspace(-REACH, REACH, 1 + round(2 * REACH / STEP))
        density = np.exp(-x**2 / 2)
        density /= density.sum()
        self.v = np.linspace(-reach, reach, 1 + 2 * int(np.ceil(reach / STEP)))
        rows = []
        for omega in (1 - STEP, 1, 1 + STEP):
            f = phi.phi(self.v[:, None] + np.sqrt(omega) * x)
            mean = f @ density
            # by parts: sqrt(omega) E phi' = E phi x, omega E phi'' = E phi (x^2 - 1)
            variance = f**2 @ density - mean**2
            rows.append(np.stack([mean, variance, f @ (density * x) / np.sqrt(omega),
                                  f @ (density * (x**2 - 1)) / omega, np.gradient(variance, self.v),
                                  (f - mean[:, None])**3 @ density], axis=-1))
        low, middle, high = rows
        # the parabola in omega, and in v at each point of the grid: (v, power of f, power of g, quantity)
        by_omega = np.stack([middle, (high - low) / 2, (high + low) / 2 - middle], axis=1)
        before, here, after = by_omega[:-2], by_omega[1:-1], by_omega[2:]
        self.table = np.stack([here, (after - before) / 2, (after + before) / 2 - here], axis=1).reshape(
            len(here), 3, 3 * 6)

    def __call__(self, v: FloatArray, omega: FloatArray) -> FloatArray:
        """(6, ...): mean, variance, E phi', E phi'', d variance/dv, third central moment, quadratic in v and omega."""
        u = (v - self.v[1]) / (self.v[1] - self.v[0])
        i = np.clip(np.rint(u).astype(int), 0, len(self.table) - 1)
        f = np.clip(u - i, -1, 1)[..., None]
        g = np.clip((omega - 1) / STEP, -4, 4)[..., None]
        by_omega = self.table[i, 0] + f * (self.table[i, 1] + f * self.table[i, 2])
        out = by_omega[..., :6] + g * (by_omega[..., 6:12] + g * by_omega[..., 12:])
        return np.ascontiguousarray(np.moveaxis(out, -1, 0))


@functools.lru_cache(maxsize=64)
def neuron_rule(phi: Activation, s: float) -> tuple[FloatArray, FloatArray]:
    """Nodes and weights (n,) over u ~ N(0, 1) for functions of phi(sqrt(s) u): a Gauss rule between any two kinks.

    >>> from recall_theory.activations import activation
    >>> u, w = neuron_rule(activation("relu"), 2.0)
    >>> len(u), round(float((w * np.maximum(u, 0)**2).sum()), 12)
    (24, 0.5)
    """
    x, w = gaussian_rule(phi, s)
    edges = np.unique(np.searchsorted(x, phi.kinks or (0.0,)))
    nodes, weights = [], []
    for u_part, w_part in zip(np.split(x / np.sqrt(s), edges), np.split(w, edges), strict=True):
        mass = float(w_part.sum())
        if mass > 1 / 10**12:
            u, p = condense(u_part, w_part / mass, PART)
            nodes.append(u)
            weights.append(mass * p)
    return np.concatenate(nodes), np.concatenate(weights)


def of_neurons(phi: Activation, bare: Bare, d: Any, m: Any, s: FloatArray, t: FloatArray, tau: FloatArray,
               values: Values) -> Neurons:
    """Over the weights of a neuron, for the facts of `of_values`."""
    y1, p1 = neuron_rule(phi, float(np.median(s)) if any(phi.kinks) else 1.0)  # where kinks lie at 0, s plays no part
    y2, p2 = gauss_hermite(BESIDE)
    w = p1[:, None] * p2
    s, t, tau = (q[..., None, None] for q in (s, t, tau))
    along, rest = t / np.sqrt(s), np.sqrt(np.maximum(tau - t**2 / s, 0))
    X = phi.phi(np.sqrt(s[..., 0]) * y1)[..., None]
    v = along * y1[:, None] + rest * y2
    omega = np.broadcast_to((y1[:, None]**2 + y2**2 + d - 2) / d, v.shape)
    mean, variance, first, second, bend, cube = bare(v, omega)

    def E(f: FloatArray) -> FloatArray:
        return np.asarray((w * f).sum((-2, -1)))

    own = E(X**2 + 0 * v)
    noise = E(X**2 * variance)
    common = mean * X
    l1, l2 = (q[..., None, None] for q in values.along)
    # covariance over the others of phi(w.h_a) with the kernel at infinite width
    overlap = (l1 * y1[:, None] + l2 * y2) / np.sqrt(d)  # of the kernel's slope with the neuron's weights
    drag = (overlap * first
            + values.norm[..., None, None] * omega * second / 2)
    pull = X * drag
    whole = E(pull)[..., None, None]  # E pull is the variance at infinite width: use the exact one
    sound = np.abs(whole) > E(np.abs(pull))[..., None, None] / 10**9  # a sum that cancels is rounding
    pull = np.where(sound, pull * values.variance[..., None, None] / np.where(sound, whole, 1), pull)
    y = X**2 - common
    y0 = y - E(y)[..., None, None]
    spread = E(y0**2)
    safe = np.maximum(spread, TINY)
    budget = X**2 * variance / m + 2 * pull
    on_variance = E(y0 * budget) / safe
    rest = budget - E(budget)[..., None, None] - on_variance[..., None, None] * y0
    left = E(rest**2)
    return Neurons(own, noise, spread, E(y0**3) / safe**(3 / 2), E(y0 * X**2) / safe, E(y0 * common) / safe,
                   on_variance, left, E(rest**3), E(y0 * rest**2) / safe,
                   E(y0**2 * rest) / safe**2, 3 * E(X**2 * overlap * bend) + E(X**3 * cube) / m)
