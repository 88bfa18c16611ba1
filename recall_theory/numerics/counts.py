"""Counts: binomial thinning, and places shared by ties."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import expi, gammaln, ndtr, xlog1py

from .arrays import FloatArray

ComplexArray = NDArray[np.complex128]

TINY = float(np.finfo(float).tiny)
EXACT = 1000  # trials below which factorials are computed; from there on Stirling's formula is good to 1e-4
FEW = 1 / 1000  # ties below which the first two terms of a series are all of it
MANY = 700  # ties above which e^-ties is nothing


def binomial_over_poisson(n: FloatArray, N: float, V: float) -> FloatArray:
    """ln of the probability of n <= N by the law Binomial(N, 1/V), over that by the Poisson law of its mean."""
    if N < EXACT:
        exact: FloatArray = (gammaln(N + 1) - gammaln(N - n + 1) - n * np.log(N)
                             + (N - n) * np.log1p(-1 / V) + N / V)
        return exact
    x = n - N / V  # Stirling's formula, without the terms that cancel
    result: FloatArray = -(N - n) * np.log1p(-x / (N * (1 - 1 / V))) - x - np.log1p(-n / N) / 2
    return result


def thinned(n: FloatArray, m: FloatArray, step: int, chance: FloatArray) -> FloatArray:
    """Probabilities (..., K, M) of m successes in n trials of that chance (...), in cells `step` wide.

    >>> thinned(np.array([2.0]), np.arange(3.0), 1, np.array(0.5)).tolist()
    [[0.25, 0.5, 0.25]]
    """
    p = np.asarray(np.clip(chance, 0, 1))[..., None, None]
    n, m = n[:, None], m[None, :]
    if step > 1:  # none at all is a cell of its own
        sd = np.maximum(np.sqrt(n * p * (1 - p)), FEW * step)
        none = np.exp(xlog1py(n, -p))
        upper, lower = (np.where(edge < step, none, ndtr((edge - n * p) / sd)) for edge in (m + step / 2, m - step / 2))
        return np.maximum(upper - np.where(m > 0, lower, 0.0), 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        log = np.where(m > 0, m * np.log(p), 0.0) + np.where(n > m, (n - m) * np.log1p(-p), 0.0)
    ways = gammaln(n + 1) - gammaln(m + 1) - gammaln(np.maximum(n - m, 0) + 1)
    return np.where(m <= n, np.exp(ways + np.where(m <= n, log, 0.0)), 0.0)


def log_of_one_plus(z: ComplexArray) -> ComplexArray:
    """ln(1 + z) to full precision where z is small, and finite at -1."""
    square = 2 * z.real + z.real**2 + z.imag**2
    result: ComplexArray = np.log1p(np.maximum(square, -1 + 2**-53)) / 2 + 1j * np.arctan2(z.imag, 1 + z.real)
    return result


def shared_places(ties: FloatArray) -> tuple[FloatArray, FloatArray]:
    """E[1/(1 + T)^2] and E[1/(2 + T)] over E[1/(1 + T)], T a Poisson number of that mean.

    >>> [x.round(4).tolist() for x in shared_places(np.array([0.0, 1.0]))]
    [[1.0, 0.767], [0.5, 0.582]]
    """
    few = ties < FEW
    x = np.where(few, 1.0, np.minimum(ties, MANY))
    once = -np.expm1(-x)
    squared = (expi(x) - np.euler_gamma - np.log(x)) * np.exp(-x) / once
    return np.where(few, 1 - ties / 4, squared), np.where(few, 1 / 2 + ties / 12, (x - once) / (x * once))
