"""How training attended at a given seed: which share of a label's samples was attended rightly.

Rows are nodes of a seed law. docs/derivations/recall.md, "Training attention".
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
from scipy.special import log_ndtr, ndtr

from ..numerics.arrays import TINY, FloatArray, Rows
from ..numerics.quadrature import gauss_binomial, gauss_hermite
from .accuracy import Accuracy
from .seed import normal_score, score_of_normal

END_EDGES = np.array([1 / 50, 49 / 50])  # shares between which and 0 or 1 most labels lie
LONG = 1  # times the vocabulary: sequences longer than this see the top tokens nearly always
# Guards against rounding, none of which moves a result:
SPECK = 1e-9  # relative size below which a variance, or a mass left over, is as good as none
BELOW_ONE = 1 - 1e-15  # the greatest chance whose complement has a logarithm worth taking
EMPTY = 1e-13  # a weight that adds nothing in double precision, as of a class that holds no label


@dataclasses.dataclass(frozen=True)
class Seeds(Rows):
    """Rows: sizes, the seed's tau and snr, and the shape of its token scores. All fields (R,)."""

    V: FloatArray
    L: FloatArray
    d: FloatArray
    N: FloatArray
    tau: FloatArray
    snr: FloatArray
    skew: FloatArray
    excess: FloatArray
    e: int
    sphere: bool

    @property
    def lam(self) -> FloatArray:
        return self.N / self.V


def shape_score(seeds: Seeds, u: FloatArray) -> FloatArray:
    """The standardised score (R, ...) of a token, from its normal quantile u."""
    return np.asarray(score_of_normal(u, seeds.skew[:, None], seeds.excess[:, None]))


def score_of_token(seeds: Seeds, u: FloatArray) -> FloatArray:
    """The same of a token whose embedding is looked at: on the sphere a score in units of its spread is sqrt(d) times a
    coordinate of a unit vector."""
    zeta, most = shape_score(seeds, u), np.sqrt(seeds.d)[:, None]
    return np.clip(zeta, -most, most) if seeds.sphere else zeta


def quantile_of_score(seeds: Seeds, x: FloatArray) -> FloatArray:
    """The normal quantile (R, ...) of a standardised score, the inverse of `shape_score`."""
    return np.asarray(normal_score(x, seeds.skew[:, None], seeds.excess[:, None]))


@dataclasses.dataclass(frozen=True)
class Attended(Rows):
    """Share (R, F, n) of a fact's sequences that attend to it, with weights."""

    share: FloatArray
    weight: FloatArray


def attended_share(seeds: Seeds, zeta: FloatArray, n: int) -> Attended:
    """The share given the token's score zeta (R, F), random over seeds through the number of tokens that outrank it."""
    u = quantile_of_score(seeds, zeta + seeds.snr[:, None])
    above, weight = outranking(seeds, ndtr(-u), n)
    V, L = seeds.V[:, None, None], seeds.L[:, None, None]
    above = above + (seeds.snr < 0)[:, None, None]  # then another copy of the token itself wins too
    return Attended(np.exp((L - 1) * np.log1p(-np.minimum(above / V, BELOW_ONE))), weight)


def outranking(seeds: Seeds, chance: FloatArray, n: int) -> tuple[FloatArray, FloatArray]:
    """How many of V - 1 tokens outrank a token, each with a chance (R, F): nodes and weights (R, F, n).

    Long sequences tell 0 from 1 from 2: their nodes are these counts and the mean of the rest, in place of Gauss's.
    """
    gauss, w_gauss = gauss_binomial((seeds.V - 1)[:, None] + 0 * chance, chance, n)
    q = np.minimum(chance, BELOW_ONE)[..., None]
    trials = (seeds.V - 1)[:, None, None]
    k = np.arange(n - 1)
    ways = np.cumprod(np.concatenate([1 + 0 * trials, np.maximum(trials - k[:-1], 0) / (k[:-1] + 1)], -1), -1)
    p = ways * q**k * np.exp((trials - k) * np.log1p(-q))
    rest = np.maximum(1 - p.sum(-1, keepdims=True), 0)
    mean = (trials * q - (k * p).sum(-1, keepdims=True)) / np.maximum(rest, TINY)
    counts = np.concatenate([k + 0 * p, np.clip(np.where(rest > SPECK, mean, n - 1), 0, trials)], axis=-1)
    long = (seeds.L > seeds.V * LONG)[:, None, None]
    return np.where(long, counts, gauss), np.where(long, np.concatenate([p, rest], axis=-1), w_gauss)


def sure_classes(seeds: Seeds) -> Classes:
    """All labels in one class whose training attended rightly."""
    one, zero = np.ones((len(seeds.V), 1)), np.zeros((len(seeds.V), 1))
    return Classes(one, one, zero, zero, zero, zero)


@dataclasses.dataclass(frozen=True)
class Classes:
    """Groups (R, C) of labels by their share of right attention in training, with within-group variances.

    weight, share, zeta (their tokens' score), wrong (mean score of what their other sequences attend to).
    """

    weight: FloatArray
    share: FloatArray
    zeta: FloatArray
    wrong: FloatArray
    share_variance: FloatArray
    zeta_variance: FloatArray


def summed_by_class(share: FloatArray, weight: FloatArray, n: int) -> Callable[[FloatArray], FloatArray]:
    """Weighted sums (R, C) over labels, grouped by their share (R, F, n) from 0 to 1: so many even classes, the first
    and the last of them with those near 0 and 1 apart. A function of values and weights that broadcast with `share`."""
    inner = (np.arange(n) + 1 / 2) / n
    edges = np.sort(np.concatenate([inner, END_EDGES]))
    R, C = len(share), len(edges) + 1
    group = (np.arange(R)[:, None, None] * C + np.searchsorted(edges, share)).ravel()

    def total(values: FloatArray) -> FloatArray:
        sums = np.bincount(group, (weight * values).ravel(), minlength=R * C)
        return np.asarray(sums, dtype=float).reshape(R, C)

    return total


def classes(seeds: Seeds, accuracy: Accuracy) -> Classes:
    """The labels grouped by how their training sequences attended."""
    u, w = gauss_hermite(accuracy.class_score)
    zeta = shape_score(seeds, u)
    attended = attended_share(seeds, zeta, accuracy.class_above)
    share, weight = attended.share, w[:, None] * attended.weight
    total = summed_by_class(share, weight, accuracy.classes)
    mass = np.maximum(total(1 + 0 * share), TINY)
    z = zeta[:, :, None] + 0 * share
    a, zm = total(share) / mass, total(z) / mass
    used = (mass > EMPTY).any(axis=0)
    parts = (mass, a, zm, wrong_score(seeds, zm, accuracy), np.maximum(total(share**2) / mass - a * a, 0),
             np.maximum(total(z * z) / mass - zm * zm, 0))
    return Classes(*(p[:, used] for p in parts))


def best_pick(seeds: Seeds) -> FloatArray:
    """(R,): the chance that the token of the highest score is among the L - 1 noise tokens of a sequence."""
    return np.asarray(np.minimum(-np.expm1((seeds.L - 1) * np.log1p(-1 / seeds.V)), BELOW_ONE))


def wrong_score(seeds: Seeds, zeta: FloatArray, accuracy: Accuracy) -> FloatArray:
    """(R, C): mean score of the best noise token, given that it beats a token of score zeta (R, C)."""
    n = int(accuracy.reach * accuracy.score_steps)
    x = np.arange(-n, n + 1) / accuracy.score_steps
    below = log_ndtr(quantile_of_score(seeds, x))
    distinct = seeds.V * best_pick(seeds)
    above = -np.expm1(distinct[:, None] * below)
    tail = (np.cumsum(above[:, ::-1], axis=-1)[:, ::-1] - above / 2) / accuracy.score_steps
    place = np.clip((zeta + seeds.snr[:, None]) * accuracy.score_steps + n, 0, 2 * n)
    i = np.minimum(place.astype(int), 2 * n - 1)

    def at(f: FloatArray) -> FloatArray:
        low, high = (np.take_along_axis(f, k, -1) for k in (i, i + 1))
        return np.asarray((i + 1 - place) * low + (place - i) * high)

    more = at(tail) / np.maximum(at(above), SPECK)
    return np.asarray(zeta + seeds.snr[:, None] + more)
