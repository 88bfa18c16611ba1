"""The law of one competitor's score, on a grid of the right label's."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from .facts import FLOOR, Facts, Weights
from .training import EMPTY, TINY, Classes, Seeds

FloatArray = NDArray[np.float64]

STEP = 1 / 2  # of the grid of own scores, in standard deviations of a competitor
BELOW = -3 / 2  # where that grid begins: a lower own score loses for V >= 64, and hardly wins for less
ABOVE = 7 / 2  # how far it goes beyond sqrt(2 ln V), the typical best competitor
RARE = 1 / 1000  # expected number of competitors above the grid
FARTHEST = 40  # the grid's end where embeddings are all but orthogonal and counts decide
CLOSE_BY = 1e-5  # a gap whose square is lost beside 1, where a quotient becomes a derivative
CAP = 49 / 50  # greatest cosine between an output embedding and the value read out


def coordinate_scale(d: Any) -> Any:
    """D such that sqrt(-D ln(1 - b^2)) is the normal score of a coordinate b (Peizer and Pratt)."""
    nu = np.maximum(d - 1, 1)
    return (nu - 2 / 3 + 1 / (10 * nu)) ** 2 / (nu - 5 / 6)


def steps_to_top(seeds: Seeds, groups: Classes, w: Weights, facts_: Facts, n_right: FloatArray,
             w_right: FloatArray, noise: FloatArray) -> NDArray[np.intp]:
    """(R,): steps of the grid up to an own score that hardly any competitor exceeds."""
    seen = seeds.V[:, None, None] * groups.weight[..., None] * w_right > RARE
    most = np.where(seen, n_right, 0).max(axis=(1, 2)) / seeds.lam
    gain = np.sqrt(seeds.d / np.maximum(noise.mean(-1), TINY))
    deviation = np.sqrt(facts_.s.mean(-1) / seeds.d)
    reach = gain * (np.maximum(most * facts_.t.mean(-1) - w.mean.mean(-1), 0) + 2 * most * deviation)
    top = np.maximum(np.sqrt(2 * np.log(seeds.V)), np.minimum(reach, FARTHEST)) + ABOVE
    return np.asarray(np.ceil((top - BELOW) / STEP), dtype=np.intp)


def one_below(seeds: Seeds, groups: Classes, w: Weights, grid: FloatArray, gain: FloatArray,
                 shift: FloatArray, n_right: FloatArray, w_right: FloatArray, noise: FloatArray) -> FloatArray:
    """(R, F, J): the chance that one competitor stays below each own score of the grid (J,)."""
    below = np.zeros_like(gain)
    score = grid
    D = coordinate_scale(seeds.d)[:, None, None]
    tail = -6 / (seeds.d + 2)[:, None, None]  # excess kurtosis of one coordinate of a unit vector
    token = w.spread
    for c in range(groups.weight.shape[1]):
        for n in range(n_right.shape[2]):
            weight = groups.weight[:, c] * w_right[:, c, n]
            if weight.max() < EMPTY:
                continue
            count = (n_right[:, c, n] / seeds.lam)[:, None]
            theta = (count * w.bias[:, :, c] + w.rest[:, :, c] - w.mean)[:, :, None] - shift
            varies = (count**2 * token[:, :, c] + w.rest_variance[:, :, c])[:, :, None]
            if seeds.sphere:
                z = _tilted_score(score, gain * theta, gain**2 * varies, D, tail)
            else:
                left = np.maximum(1 - (theta**2 + varies) / noise[:, :, None], FLOOR)
                z = (score - gain * theta) / np.sqrt(left + gain**2 * varies)
            below += weight[:, None, None] * ndtr(z)
    return below


def _tilted_score(score: FloatArray, centre: FloatArray, variance: FloatArray, D: FloatArray,
                  tail: FloatArray) -> FloatArray:
    """The normal score of a cosine below which a competitor on the sphere stays.

    Given the value read out, an output embedding follows a von Mises-Fisher law with mean cosine `centre`, itself
    random with `variance`; its signed root 2 (psi(x) - psi(m)) is linearised at the likeliest m.
    """
    x = np.sign(score) * np.sqrt(-np.expm1(-score**2 / D))
    inside = -score**2 / D
    m = centre
    for _ in range(2):
        m = np.clip(m, -CAP, CAP)
        rest, gap = 1 - m * m, x - m
        z = np.sign(gap) * np.sqrt(np.maximum(D * (np.log(rest) - inside) - 2 * D * m * gap / rest, 0))
        flat = np.abs(gap) < CLOSE_BY
        slope = np.where(flat, np.sqrt(rest * rest / ((1 + m * m) * D)), gap / np.where(z == 0, 1, z))
        slope = slope * D * (1 + m * m) / rest**2
        total = 1 + slope**2 * variance
        z = (z + slope * (m - centre)) / np.sqrt(total)
        m = centre + variance * slope / np.sqrt(total) * z
    t = np.clip(z, -12, 12)
    return np.asarray(t - tail * (1 - 1 / total) ** 2 / 24 * (t**3 - 3 * t))
