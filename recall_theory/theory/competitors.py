"""The law of one competitor's score, on a grid of the right label's."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri, pdtrc, pdtrik

from ..numerics.quadrature import gauss_poisson
from ..numerics.unit_sphere import coordinate_of_score, peizer_pratt_scale
from .fact import FLOOR, Facts, Weights
from .training_attention import EMPTY, TINY, Classes, Seeds

FloatArray = NDArray[np.float64]

STEP = 1 / 2  # of the grid of own scores, in standard deviations of a competitor
BELOW = -3 / 2  # where that grid begins: a lower own score loses for V >= 64, and hardly wins for less
ABOVE = 7 / 2  # how far it goes beyond sqrt(2 ln V), the typical best competitor
RARE = 1 / 1000  # expected number of competitors above the grid
OVERSHOOT = 3 / 2  # how far beyond sqrt(2 ln V) the tail of a competitor still matters
FEWEST_COUNTS, MOST_COUNTS = 3, 8  # nodes over counts (8: to 2e-6 of recall wherever it was looked at), so that
ERROR = 1 / 10  # bounds the relative error of that tail (the actual one is far smaller)
UNUSUAL = 1 / 500  # facts of less weight do not set the grid's reach, nor its fineness
STEEP = 20  # the logarithm of a factor above which every rule is taken whole
ROUNDING = 1e-14  # the least chance whose complement a float tells from 1
MANY = 1000  # counts that are as good as normal
FARTHEST = 40  # the grid's end where embeddings are all but orthogonal and counts decide
CLOSE_BY = 1e-5  # a gap whose square is lost beside 1, where a quotient becomes a derivative
CAP = 49 / 50  # greatest cosine between an output embedding and the value read out


@dataclasses.dataclass(frozen=True)
class Kind:
    """Competitors of one class of attention and one count of right picks, per lam: all but index (R,)."""

    index: int
    count: FloatArray
    weight: FloatArray


def kinds(seeds: Seeds, groups: Classes, facts: Facts, w: Weights, noise: FloatArray,
          n: int | None = None) -> list[Kind]:
    """The kinds of competitors: n counts a class, or as many as their bearing on the best competitor asks for."""
    gain = np.where(facts.weight > UNUSUAL, np.sqrt(seeds.d[:, None] / np.maximum(noise, TINY)), 0)
    tilt = np.sqrt(2 * np.log(seeds.V)) + OVERSHOOT
    found = []
    for c in range(groups.weight.shape[1]):
        mean = seeds.lam * groups.share[:, c]
        if n is None:
            each = tilt * (gain * np.sqrt(w.bias[:, :, c] ** 2 + w.spread[:, :, c])).max(-1) / seeds.lam
            power = each * np.sqrt(mean * np.exp(np.minimum(each, STEEP)))  # its tail is heavier than a normal one
            counts, weights = gauss_poisson(mean, nodes_for(float(power.max())))
        else:
            counts, weights = gauss_poisson(mean, n)
        for k in range(counts.shape[1]):
            weight = groups.weight[:, c] * weights[:, k]
            if weight.max() >= EMPTY:
                found.append(Kind(c, counts[:, k] / seeds.lam, weight))
    return found


def nodes_for(power: float) -> int:
    """How many Gauss nodes give E exp(power z) over a normal z to a relative error of at most ERROR.

    The terms of its series are a Poisson law of mean power^2/2; n nodes get the first n of them right.
    """
    counts = np.arange(FEWEST_COUNTS, MOST_COUNTS)
    return FEWEST_COUNTS + int((pdtrc(counts - 1, power**2 / 2) > ERROR).sum())


def steps_to_top(seeds: Seeds, groups: Classes, facts: Facts, w: Weights, noise: FloatArray) -> NDArray[np.intp]:
    """(R,): steps of the grid up to an own score that hardly any competitor exceeds.

    The highest of a class is sought at its typical count, with the count's variance, and at the highest count of all.
    """
    lam, share = seeds.lam[:, None], groups.share
    chance = np.clip(RARE / np.maximum(seeds.V[:, None] * groups.weight, RARE), ROUNDING, 1 / 2)
    deviations = -ndtri(chance)
    mean = lam * share
    most = np.where(mean > MANY, mean + deviations * np.sqrt(mean), pdtrik(1 - chance, np.minimum(mean, MANY))) / lam
    gain = np.sqrt(seeds.d[:, None] / np.maximum(noise, TINY))[:, :, None]
    usual = facts.weight > UNUSUAL

    def reach(count: FloatArray, variance: FloatArray, deviations: Any) -> FloatArray:
        """(R,): of a label of this count (R, C), relative variance of counts (R, C), above its mean."""
        centre = count[:, None] * w.bias + w.rest - w.mean[:, :, None]
        varies = count[:, None] ** 2 * w.spread + w.rest_variance + variance[:, None] * (w.bias**2 + w.spread)
        highest = (gain * centre + deviations * np.sqrt(1 + gain**2 * varies)).max(axis=-1)
        return np.asarray(np.where(usual, highest, 0).max(axis=-1))

    far = np.fmax(reach(share, share / lam, deviations[:, None]), reach(most, 0 * share, 1))
    top = np.fmax(np.sqrt(2 * np.log(seeds.V)) + ABOVE, np.fmin(far, FARTHEST))
    return np.asarray(np.ceil((top - BELOW) / STEP), dtype=np.intp)


def one_above(seeds: Seeds, of: list[Kind], w: Weights, score: FloatArray, gain: FloatArray, shift: FloatArray,
              noise: FloatArray) -> FloatArray:
    """(R, F, J): the chance that one competitor exceeds each own score of the grid (J,)."""
    above = np.zeros_like(gain)
    D = peizer_pratt_scale(seeds.d)[:, None, None]
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
        above += kind.weight[:, None, None] * ndtr(-z)
    return above


def _tilted_score(score: FloatArray, centre: FloatArray, variance: FloatArray, D: FloatArray,
                  tail: FloatArray) -> FloatArray:
    """The normal score of a cosine below which a competitor on the sphere stays.

    Given the value read out, an output embedding follows a von Mises-Fisher law with mean cosine `centre`, itself
    random with `variance`; its signed root 2 (psi(x) - psi(m)) is linearised at the likeliest m.
    """
    x = coordinate_of_score(score, D)
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
