"""Rules for sqrt(d) times one coordinate of a uniform unit vector of R^d, whose density is (1 - x^2/d)^((d - 3)/2).

It is nearly normal. Which rule is best depends on the function: `split_at` for one that bends, `equal_steps` for one
that saturates, `quadrature.gauss_coordinate` for polynomials.
"""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

from .quadrature import condense

FloatArray = NDArray[np.float64]

END = 9.0  # standard deviations where a normal variable's rule ends; its density is 1e-18 there
FINE = 128  # points on one side of 0 from which a Gauss rule is made


def split_at(kinks: FloatArray, d: float, n: int) -> tuple[FloatArray, FloatArray]:
    """Nodes and weights (..., (K + 1) n): n Gauss-Legendre points on each piece between kinks (..., K).

    d = 0 is a normal variable.

    >>> x, w = split_at(np.array([0.5]), 8.0, 12)
    >>> round(float(w @ x**2), 9)
    1.0
    """
    t, weight = np.polynomial.legendre.leggauss(n)
    end = min(END, np.sqrt(d)) if d else END
    edge = np.full((*kinks.shape[:-1], 1), end)
    edges = np.concatenate([-edge, np.sort(np.clip(kinks, -end, end), axis=-1), edge], axis=-1)
    half = np.diff(edges, axis=-1)[..., None] / 2
    x = edges[..., :-1, None] + half * (1 + t)
    density = np.maximum(1 - x**2 / d, 0)**((d - 3) / 2) if d else np.exp(-x**2 / 2)
    p = (half * weight * density).reshape(*kinks.shape[:-1], -1)
    return x.reshape(p.shape), p / p.sum(-1, keepdims=True)


@functools.lru_cache(maxsize=256)
def split_at_zero(d: float, n: int) -> tuple[FloatArray, FloatArray]:
    """Nodes and weights (2n,): the Gauss rule of either side of 0.

    >>> x, w = split_at_zero(20.0, 8)
    >>> round(float(w @ np.maximum(x, 0)**2), 12)
    0.5
    """
    x, w = split_at(np.zeros(1), d, FINE)
    x, w = condense(x[FINE:], 2 * w[FINE:], n)
    return np.concatenate([-x[::-1], x]), np.concatenate([w[::-1], w]) / 2


@functools.lru_cache(maxsize=256)
def equal_steps(d: float, n: int) -> tuple[FloatArray, FloatArray]:
    """Nodes and weights (n,) at equal steps of the angle whose sine is the coordinate, of density cos^(d - 2).

    >>> x, w = equal_steps(20.0, 32)
    >>> round(float(w @ x**2), 9)
    1.0
    """
    reach = min(np.sqrt(3 * n / (2 * d)), np.pi / 2)  # standard deviations: balances the ends and the steps
    angle = reach * (2 * np.arange(n) + 1 - n) / n
    p = np.cos(angle)**(d - 2)
    return np.sqrt(d) * np.sin(angle), p / p.sum()
