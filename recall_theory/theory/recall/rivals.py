"""The law of one competitor's score, on a grid of the right label's."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from ..quadrature import gauss_poisson
from .facts import FLOOR, Facts, Weights
from .training import EMPTY, TINY, Classes, Seeds

FloatArray = NDArray[np.float64]

STEP = 1 / 2  # of the grid of own scores, in standard deviations of a competitor
BELOW = -3 / 2  # where that grid begins: a lower own score loses for V >= 64, and hardly wins for less
ABOVE = 7 / 2  # how far it goes beyond sqrt(2 ln V), the typical best competitor
RARE = 1 / 1000  # expected number of competitors above the grid
OVERSHOOT = 3 / 2  # how far beyond sqrt(2 ln V) the tail of a competitor still matters
FEWEST_COUNTS, MOST_COUNTS = 3, 12  # nodes over counts, so that
ERROR = 1 / 5000  # is the greatest relative error of that tail
FARTHEST = 40  # the grid's end where embeddings are all but orthogonal and counts decide
CLOSE_BY = 1e-5  # a gap whose square is lost beside 1, where a quotient becomes a derivative
CAP = 49 / 50  # greatest cosine between an output embedding and the value read out


def coordinate_scale(d: Any) -> Any:
    """D such that sqrt(-D ln(1 - b^2)) is the normal score of a coordinate b (Peizer and Pratt)."""
    nu = np.maximum(d - 1, 1)
    return (nu - 2 / 3 + 1 / (10 * nu)) ** 2 / (nu - 5 / 6)


@dataclasses.dataclass(frozen=True)
class Kind:
    """Competitors of one class of attention and one count of right picks, per lam: all but index (R,)."""

    index: int
    count: FloatArray
    weight: FloatArray


def kinds(seeds: Seeds, groups: Classes, w: Weights, noise: FloatArray, n: int | None = None) -> list[Kind]:
    """The kinds of competitors: n counts a class, or as many as their bearing on the best competitor asks for."""
    gain = np.sqrt(seeds.d[:, None] / noise)
    tilt = np.sqrt(2 * np.log(seeds.V)) + OVERSHOOT
    found = []
    for c in range(groups.weight.shape[1]):
        mean = seeds.lam * groups.share[:, c]
        if n is None:
            swing = gain * np.sqrt(w.bias[:, :, c] ** 2 + w.spread[:, :, c]) * (np.sqrt(mean) / seeds.lam)[:, None]
            counts, weights = gauss_poisson(mean, nodes_for(float((tilt[:, None] * swing).max())))
        else:
            counts, weights = gauss_poisson(mean, n)
        for k in range(counts.shape[1]):
            weight = groups.weight[:, c] * weights[:, k]
            if weight.max() >= EMPTY:
                found.append(Kind(c, counts[:, k] / seeds.lam, weight))
    return found


def nodes_for(power: float) -> int:
    """How many Gauss nodes integrate exp(power z) over a normal z to within ERROR: the remainder's leading term."""
    n, remainder = 1, power**2 / 2 * np.exp(-power * power / 2)
    while remainder > ERROR and n < MOST_COUNTS:
        n += 1
        remainder *= power**2 / (2 * (2 * n - 1))
    return max(n, FEWEST_COUNTS)


def steps_to_top(seeds: Seeds, of: list[Kind], w: Weights, facts: Facts, noise: FloatArray) -> NDArray[np.intp]:
    """(R,): steps of the grid up to an own score that hardly any competitor exceeds.

    Where counts are few and d is large, that is further than sqrt(2 ln V).
    """
    most = np.max([np.where(seeds.V * kind.weight > RARE, kind.count, 0) for kind in of], axis=0)
    gain = np.sqrt(seeds.d / np.maximum(noise.mean(-1), TINY))
    deviation = np.sqrt(facts.s.mean(-1) / seeds.d)
    reach = gain * (np.maximum(most * facts.t.mean(-1) - w.mean.mean(-1), 0) + 2 * most * deviation)
    top = np.maximum(np.sqrt(2 * np.log(seeds.V)), np.minimum(reach, FARTHEST)) + ABOVE
    return np.asarray(np.ceil((top - BELOW) / STEP), dtype=np.intp)


def one_below(seeds: Seeds, of: list[Kind], w: Weights, score: FloatArray, gain: FloatArray, shift: FloatArray,
              noise: FloatArray) -> FloatArray:
    """(R, F, J): the chance that one competitor stays below each own score of the grid (J,)."""
    below = np.zeros_like(gain)
    D = coordinate_scale(seeds.d)[:, None, None]
    tail = -6 / (seeds.d + 2)[:, None, None]  # excess kurtosis of one coordinate of a unit vector
    for kind in of:
        c, count = kind.index, kind.count[:, None]
        theta = (count * w.bias[:, :, c] + w.rest[:, :, c] - w.mean)[:, :, None] - shift
        varies = (count**2 * w.spread[:, :, c] + w.rest_variance[:, :, c])[:, :, None]
        if seeds.sphere:
            z = _tilted_score(score, gain * theta, gain**2 * varies, D, tail)
        else:
            left = np.maximum(1 - (theta**2 + varies) / noise[:, :, None], FLOOR)
            z = (score - gain * theta) / np.sqrt(left + gain**2 * varies)
        below += kind.weight[:, None, None] * ndtr(z)
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
