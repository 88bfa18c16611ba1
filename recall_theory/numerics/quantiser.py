"""Uniform quantisation of a matrix to b bits a number, and the noise that it adds where numbers are normal.

The 2^b levels are even and lie symmetrically about 0, from -k to k root mean squares of the matrix: one scale a
matrix. k is where a normal number and its level correlate most (at b = 1, signs, any k will do): a wider range wastes
levels, a narrower one clips. With Q the level of a standard normal X and rho their correlation, Q = alpha X + noise,
the noise not correlated with X and of variance alpha^2 (1/rho^2 - 1): in units of X, `quantiser_noise`.
"""

from __future__ import annotations

import functools

import numpy as np
import scipy
from scipy.special import betainc, ndtr, poch

from .arrays import FloatArray

FINEST = 16  # bits; the noise of more is below 10^-8 of the numbers' variance, and nothing is rounded there
LARGEST_SHARE = 0.9  # of a product of normal variables in a number's variance: at 1 the density at 0 is infinite
TRANSFORM_STEP, TRANSFORM_END = 1 / 8, 28.0  # of the rule over a Fourier transform, to rounding up to that share
WIDEST_RANGE = 7.0  # root mean squares, which a range of 16 bits stays below


def noise_at(loading: float, bits: int) -> float:
    """1/rho^2 - 1 for normal numbers and levels from -loading to loading standard deviations.

    >>> round(noise_at(1.0, 1), 6), round(noise_at(2.0, 2), 4)  # signs: pi/2 - 1
    (0.570796, 0.1349)
    """
    step = 2 * loading / 2**bits
    edge = np.arange(1, 2 ** (bits - 1))
    density = np.exp(-((edge * step) ** 2) / 2)
    product = step * (1 + 2 * density.sum()) / np.sqrt(2 * np.pi)  # E X Q
    square = step**2 * (1 / 4 + 4 * (edge * ndtr(-edge * step)).sum())  # E Q^2
    return float(square / product**2 - 1)


def direction_kept(loading: FloatArray, bits: int, d: float) -> tuple[FloatArray, FloatArray]:
    """The logarithm of cos^2 of the angle by which rounding turns a vector of uniform direction in R^d, its mean and
    its variance (n,), for levels from -loading to loading (n,) root mean squares of its coordinates.

    With X a coordinate and Q its level, cos^2 is (sum X Q)^2/(sum X^2 sum Q^2). Means are those of a coordinate of a
    uniform direction; how the sums vary at a given sum of X^2 is taken from normal coordinates, to first order in 1/d.
    Derivation: docs/derivations/geometric.md.

    >>> mean, variance = direction_kept(np.array([4.0]), 1, 100)
    >>> round(float(np.exp(mean + variance / 2)[0]), 4), round(2 / np.pi + (1 - 2 / np.pi) / 100, 4)  # exact for signs
    (0.6403, 0.6403)
    """
    positive = 2 ** (bits - 1)
    step = np.asarray(loading, dtype=float)[:, None] / positive
    number = np.arange(positive)
    edge, level = number * step, (number + 1 / 2) * step
    # coordinates of a uniform direction above each edge: their mean, over the density at 0, and their chance
    inside = np.maximum(1 - edge[:, 1:] ** 2 / d, 0)
    at_0 = np.sqrt(d / np.pi) / 2 / poch(d / 2, 1 / 2)
    product = step[:, 0] * at_0 * (1 + 2 * (inside ** ((d - 1) / 2)).sum(axis=1))
    chance = betainc((d - 1) / 2, 1 / 2, inside) / 2
    square = step[:, 0] ** 2 * (1 / 4 + 4 * (number[1:] * chance).sum(axis=1))

    # X^0 to X^3 of normal coordinates in the cells on both sides of 0
    density, above = np.exp(-(edge**2) / 2) / np.sqrt(2 * np.pi), ndtr(-edge)
    one, x, x2, x3 = (2 * (-np.diff(beyond, append=0)) for beyond in (
        above, density, above + edge * density, (edge**2 + 2) * density))

    def mean(values: FloatArray) -> FloatArray:
        return np.asarray(values.sum(axis=1))

    xq, q2, x2q2 = mean(level * x), mean(level**2 * one), mean(level**2 * x2)
    xq_x2, q2_x2 = mean(level * x3) - xq, x2q2 - q2  # covariances with X^2, of variance 2
    of_product = (x2q2 - xq**2 - xq_x2**2 / 2) / xq**2 / d
    of_square = (mean(level**4 * one) - q2**2 - q2_x2**2 / 2) / q2**2 / d
    of_both = (mean(level**3 * x) - xq * q2 - xq_x2 * q2_x2 / 2) / (xq * q2) / d
    return (2 * np.log(product) - np.log(square) - of_product + of_square / 2,
            np.maximum(4 * of_product + of_square - 4 * of_both, 0))


def edges_of(bits: int) -> FloatArray:
    """The edges above 0 of the cells of normal numbers."""
    return 2 * best_loading(bits) / 2**bits * np.arange(1, 2 ** (bits - 1))


def compression(bits: int | None) -> float:
    """By how much less than normal numbers a heavier-tailed part of them is kept: -E Q H3/E Q X, H3 = X^3 - 3 X.

    A part of share p of the variance, a product of two independent normal variables, keeps 1 - p times this of the
    factor alpha, to first order in p: its fourth cumulant is 6 p^2.

    >>> compression(1), round(compression(2), 3), compression(None)
    (1.0, 0.456, 0.0)
    """
    if bits is None or bits > FINEST:
        return 0.0
    edges = edges_of(bits)
    density = np.exp(-(edges**2) / 2)
    return float((1 + 2 * ((1 - edges**2) * density).sum()) / (1 + 2 * density.sum()))


def product_kept(share: FloatArray, bits: int) -> FloatArray:
    """What rounding keeps of a product of two independent normal variables that is this share, below 1, of the
    variance of numbers otherwise normal: over what it keeps of the normal part.

    1 - `compression` times the share to first order. By the Fourier transform of the numbers' law.

    >>> product_kept(np.array([0.0, 0.01, 0.2]), 1).round(4)
    array([1.    , 0.9903, 0.8593])
    """
    share = np.minimum(share, LARGEST_SHARE)[..., None]
    t = np.arange(0, TRANSFORM_END, TRANSFORM_STEP)
    weight = np.exp(-(1 - share) * t**2 / 2) / np.sqrt(1 + share * t**2)
    weight = weight * (1 + 2 * np.cos(np.outer(t, edges_of(bits))).sum(axis=1))
    weight[..., 0] /= 2
    return np.asarray((weight / (1 + share * t**2)).sum(axis=-1) / weight.sum(axis=-1))


@functools.cache
def best_loading(bits: int) -> float:
    """The range, in root mean squares, at which normal numbers and their levels correlate most.

    >>> [round(best_loading(b), 2) for b in (2, 3, 4, 8)]
    [1.99, 2.34, 2.68, 3.94]
    """
    if bits == 1:
        return 1.0
    return float(scipy.optimize.minimize_scalar(noise_at, args=(bits,), bounds=(1, WIDEST_RANGE), method="bounded").x)


def quantiser_noise(bits: int | None) -> float:
    """Variance of the noise that quantisation to `bits` adds to normal numbers, over their own; 0 for None.

    >>> [round(quantiser_noise(b), 4) for b in (1, 2, 4, 8)], quantiser_noise(None)
    ([0.5708, 0.1349, 0.0117, 0.0001], 0.0)
    """
    return 0.0 if bits is None or bits > FINEST else noise_at(best_loading(bits), bits)


def nearest_level(values: FloatArray, loading: float, bits: int) -> FloatArray:
    """Each value as the middle of its cell, of 2^bits equal cells from -loading to loading; of the outermost beyond."""
    positive = 2 ** (bits - 1)
    step = loading / positive
    return np.asarray(step * (np.clip(np.floor(values / step), -positive, positive - 1) + 1 / 2))


def quantised(values: FloatArray, bits: int | None) -> FloatArray:
    """Each number of a matrix as the nearest of 2^bits even levels within `best_loading` root mean squares.

    >>> quantised(np.array([-2.0, -1.0, 1.0, 2.0]), 1).round(3)
    array([-0.791, -0.791,  0.791,  0.791])
    """
    if bits is None or bits > FINEST:
        return values
    loading = best_loading(bits) * float(np.sqrt(np.mean(values**2)))
    return values if loading == 0 else nearest_level(values, loading, bits)
