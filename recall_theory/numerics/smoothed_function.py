"""What noise on its argument makes of a function: moments of phi(v + width x) over x, tabulated by v."""

from __future__ import annotations

import functools

import numpy as np

from .arrays import FloatArray
from .coordinate_rules import split_at
from .gaussian_kernels import RealFunction


class SmoothedFunction:
    """Moments of phi(v + width x) over x, for each of some widths.

    x is normal, or at d > 0 sqrt(d) times a coordinate of a uniform unit vector.

    In this order: the mean; the means of (phi - mean) times x's orthogonal polynomials 1 to 4; the variance; the third
    central moment; the means of (phi - mean)^2 times the first two.
    """

    def __init__(self, phi: RealFunction, d: float, widths: FloatArray, n: int, steps: int, reach: int):
        """`n` nodes on each piece between kinks, `steps` points of the table to a unit of v, up to |v| = reach."""
        self.steps, self.last = steps, (reach + 1) * steps
        v = np.arange(-self.last, self.last + 1) / steps if reach else np.zeros(1)
        width = widths[:, None, None]
        kinks = (np.array(phi.kinks) - v[:, None]) / width if phi.kinks else np.zeros((len(widths), len(v), 0))
        x, p = split_at(kinks, d, n if phi.kinks else 2 * n)
        f = phi.phi(v[:, None] + width * x)
        mean = (p * f).sum(-1, keepdims=True)
        off = f - mean
        polynomials = _orthogonal(x, d)
        moments = [mean[..., 0], *((p * off * h).sum(-1) for h in polynomials), (p * off**2).sum(-1),
                   (p * off**3).sum(-1), *((p * off**2 * h).sum(-1) for h in polynomials[:2])]
        self.rows = np.stack(moments, axis=-1).reshape(-1, len(moments))
        self.stride = 0 if len(v) == 1 else len(v)

    def __call__(self, v: FloatArray) -> FloatArray:
        """(9, ...) at v (..., widths, n), by the cubic through four points; where v is 0 only, for a reach of 0."""
        if not self.stride:
            at_zero = np.moveaxis(self.rows[:, None], -1, 0)  # (9, widths, 1)
            return np.asarray(at_zero.reshape(len(at_zero), *(1,) * (v.ndim - 2), -1, 1) + 0 * v)
        u = v * self.steps + self.last
        i = np.floor(u).astype(np.intp)
        f = u - i
        i += self.stride * np.arange(v.shape[-2])[:, None]
        cubic = (-f * (f - 1) * (f - 2) / 6, (f + 1) * (f - 1) * (f - 2) / 2, -(f + 1) * f * (f - 2) / 2,
                 (f + 1) * f * (f - 1) / 6)
        out = sum(weight[..., None] * self.rows.take(i + k, axis=0) for k, weight in enumerate(cubic, start=-1))
        return np.ascontiguousarray(np.moveaxis(np.asarray(out), -1, 0))


def _orthogonal(x: FloatArray, d: float) -> tuple[FloatArray, ...]:
    """Monic orthogonal polynomials 1 to 4 of a normal x (Hermite), or of a coordinate times sqrt(d) (Gegenbauer)."""
    a, b = (d / (d + 2), d / (d + 4)) if d else (1.0, 1.0)
    return x, x**2 - 1, x**3 - 3 * a * x, x**4 - 6 * b * x**2 + 3 * a * b


@functools.lru_cache(maxsize=64)
def smoothed(phi: RealFunction, d: float, widths: tuple[float, ...], n: int, steps: int,
             reach: int) -> SmoothedFunction:
    """A `SmoothedFunction`, kept. What it says at a v does not depend on its reach."""
    return SmoothedFunction(phi, d, np.array(widths), n, steps, reach)
