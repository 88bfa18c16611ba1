"""How training attended at a given seed: which share of a label's samples was attended rightly.

Rows are nodes of a seed law. docs/derivations/recall.md, "Training attention".
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
from scipy.special import log_ndtr, ndtr, ndtri

from ..numerics.arrays import TINY, FloatArray, Rows
from ..numerics.quadrature import (
    FINE_NODES,
    condense,
    gauss_binomial,
    gauss_hermite,
    gauss_legendre,
    gauss_parts_of_normal,
)
from .accuracy import Accuracy
from .seed import Seeds, quantile_of_score, shape_score

END_EDGES = np.array([1 / 50, 49 / 50])  # shares between which and 0 or 1 most labels lie
LONG = 1 / 2  # times the vocabulary: sequences as long as this hold the token of the top score in 0.39 of cases
# Guards against rounding, none of which moves a result:
SPECK = 1e-9  # relative size below which a variance, or a mass left over, is as good as none
BELOW_ONE = 1 - 1e-15  # the greatest chance whose complement has a logarithm worth taking
EMPTY = 1e-13  # a weight that adds nothing in double precision, as of a class that holds no label


def is_long(V: float, L: float) -> bool:
    """Whether sequences hold the token of the top score so often that the law asks for that score."""
    return L >= V * LONG


def top_nodes(seeds: Seeds, weight: FloatArray, accuracy: Accuracy) -> tuple[FloatArray, FloatArray]:
    """Nodes and weights (R, n) over the highest of V scores, fewer of them at seeds of little weight (R,); one that is
    not used has the weight 0."""
    q, w = gauss_legendre(FINE_NODES)
    u = ndtri(np.exp(np.log(q) / seeds.V[:, None]))
    n, less = accuracy.score_top, (weight <= accuracy.light) + 1 * (weight <= accuracy.light / 10)
    number = np.maximum(n - less, 1)
    top, of_top = np.zeros((2, len(u), n))
    for k in range(1, n + 1):
        top[number == k, :k], of_top[number == k, :k] = condense(u[number == k], w + 0 * u[number == k], k)
    return top, of_top


def chance_above(seeds: Seeds, u: FloatArray) -> FloatArray:
    """(R, F): the chance that a token scores above the quantile u, given that it is not the one of the top score."""
    if seeds.top is None:
        return np.asarray(ndtr(-u))
    return np.asarray(np.maximum(1 - ndtr(u) / ndtr(seeds.top)[:, None], 0))


def score_of_token(seeds: Seeds, u: FloatArray) -> FloatArray:
    """The same of a token whose embedding is looked at: on the sphere a score in units of its spread is sqrt(d) times a
    coordinate of a unit vector."""
    zeta, most = shape_score(seeds, u), np.sqrt(seeds.d)[:, None]
    return np.clip(zeta, -most, most) if seeds.sphere else zeta


@dataclasses.dataclass(frozen=True)
class Attended(Rows):
    """Share (R, F, n) of a fact's sequences that attend to it, with weights."""

    share: FloatArray
    weight: FloatArray


def attended_share(seeds: Seeds, zeta: FloatArray, n: int, top: FloatArray) -> Attended:
    """The share given the token's score zeta (R, F), random over seeds through the number of tokens that outrank it.
    top (R, F): 1 where the token is known to be the one of the top score, else 0."""
    u, others = quantile_of_score(seeds, zeta + seeds.snr[:, None]), (seeds.V - 1)[:, None] + 0 * zeta
    if seeds.top is None:
        above, weight = gauss_binomial(others, chance_above(seeds, u), n)
    else:
        above, weight = few_of(others - (1 - top), chance_above(seeds, u), n)
        above = above + ((1 - top) * (u < seeds.top[:, None]))[..., None]
    V, L = seeds.V[:, None, None], seeds.L[:, None, None]
    above = above + (seeds.snr < 0)[:, None, None]  # then another copy of the token itself wins too
    return Attended(np.exp((L - 1) * np.log1p(-np.minimum(above / V, BELOW_ONE))), weight)


def few_of(trials: FloatArray, chance: FloatArray, n: int) -> tuple[FloatArray, FloatArray]:
    """Nodes and weights (R, F, n) of a binomial variable of so many trials of that chance (R, F): the counts 0 to
    n - 2, which long sequences tell from each other, and the mean of the rest."""
    q, trials = np.minimum(chance, BELOW_ONE)[..., None], np.maximum(trials, 0)[..., None]
    k = np.arange(n - 1)
    ways = np.cumprod(np.concatenate([1 + 0 * trials, np.maximum(trials - k[:-1], 0) / (k[:-1] + 1)], -1), -1)
    p = ways * q**k * np.exp((trials - k) * np.log1p(-q))
    rest = np.maximum(1 - p.sum(-1, keepdims=True), 0)
    mean = (trials * q - (k * p).sum(-1, keepdims=True)) / np.maximum(rest, TINY)
    counts = np.concatenate([k + 0 * p, np.clip(np.where(rest > SPECK, mean, n - 1), 0, trials)], axis=-1)
    return counts, np.concatenate([p, rest], axis=-1)


def sure_classes(seeds: Seeds) -> Classes:
    """All labels in one class whose training attended rightly."""
    one, zero = np.ones((len(seeds.V), 1)), np.zeros((len(seeds.V), 1))
    return Classes(one, one, zero, zero, zero, zero, zero)


@dataclasses.dataclass(frozen=True)
class Classes(Rows):
    """Groups (R, C) of labels by their share of right attention in training, with within-group variances.

    weight, share, zeta (their tokens' score), wrong (mean score of what their other sequences attend to), taken (what
    all labels store of their tokens on average, as wrong picks, and thus is taken from what they store). If `single`,
    the last class is the one label of the token of the top score.
    """

    weight: FloatArray
    share: FloatArray
    zeta: FloatArray
    wrong: FloatArray
    share_variance: FloatArray
    zeta_variance: FloatArray
    taken: FloatArray
    single: bool = dataclasses.field(default=False, kw_only=True)


def summed_by_class(share: FloatArray, weight: FloatArray, n: int) -> Callable[[FloatArray], FloatArray]:
    """Weighted sums (R, C) over labels, grouped by their share (R, F, n) from 0 to 1: so many even classes, the first
    and the last of them with those near 0 and 1 apart. A function of values and weights that broadcast with `share`."""
    inner = (np.arange(n) + 1 / 2) / n
    edges = np.sort(np.concatenate([inner, END_EDGES]))
    R, C = len(share), len(edges) + 1
    # a share that is an edge, as 1/2 is with two tokens, is above it whatever rounding makes of it
    group = (np.arange(R)[:, None, None] * C + np.searchsorted(edges, share + SPECK)).ravel()

    def total(values: FloatArray) -> FloatArray:
        sums = np.bincount(group, (weight * values).ravel(), minlength=R * C)
        return np.asarray(sums, dtype=float).reshape(R, C)

    return total


def classes(seeds: Seeds, accuracy: Accuracy) -> Classes:
    """The labels grouped by how their training sequences attended."""
    if seeds.top is None:
        u, w = gauss_hermite(accuracy.class_score)
        w = w + 0 * seeds.V[:, None]
    else:
        each = -(-accuracy.class_score // 3)
        u, w = score_nodes(seeds, accuracy, (each, each, each))
        w = w * (1 - 1 / seeds.V[:, None])
    zeta = shape_score(seeds, u)
    attended = attended_share(seeds, zeta, accuracy.class_above, 0 * zeta)
    share, weight = attended.share, w[..., None] * attended.weight
    total = summed_by_class(share, weight, accuracy.classes)
    mass = np.maximum(total(1 + 0 * share), TINY)
    z = zeta[..., None] + 0 * share
    a, zm = total(share) / mass, total(z) / mass
    # empty ones stay, so that a setting's sums round alike whatever it is computed with
    rest = Classes(np.where(mass > EMPTY, mass, 0), a, zm, wrong_score(seeds, zm, accuracy),
                   np.maximum(total(share**2) / mass - a * a, 0), np.maximum(total(z * z) / mass - zm * zm, 0),
                   total(taken_as_wrong(seeds, zeta, 0 * zeta)[..., None] + 0 * share) / mass)
    if seeds.top is None:
        return rest
    zeta = shape_score(seeds, seeds.top[:, None])
    attended = attended_share(seeds, zeta, accuracy.class_above, 1 + 0 * zeta)
    share = (attended.share * attended.weight).sum(-1)
    varied = np.maximum((attended.share**2 * attended.weight).sum(-1) - share**2, 0)
    single = Classes(1 / seeds.V[:, None], share, zeta, wrong_score(seeds, zeta, accuracy), varied, 0 * zeta,
                     taken_as_wrong(seeds, zeta, 1 + 0 * zeta))
    columns = {f.name: np.concatenate([getattr(rest, f.name), getattr(single, f.name)], axis=1)
               for f in dataclasses.fields(Classes) if f.name != "single"}
    return dataclasses.replace(rest, **columns, single=True)


def best_pick(seeds: Seeds) -> FloatArray:
    """(R,): the chance that the token of the highest score is among the L - 1 noise tokens of a sequence."""
    return np.asarray(np.minimum(-np.expm1((seeds.L - 1) * np.log1p(-1 / seeds.V)), BELOW_ONE))


def best_of_noise(seeds: Seeds, zeta: FloatArray, top: FloatArray) -> FloatArray:
    """The chance (R, n) that a token of score zeta (R, n) is the best of a sequence's noise: it is there, and outranks
    the distinct ones beside it, but the one of the top score where that is known; that one's `top` (R, n) is 1."""
    above = np.minimum(chance_above(seeds, quantile_of_score(seeds, zeta)), BELOW_ONE)
    missing = best_pick(seeds)[:, None]
    shorter = dataclasses.replace(seeds, L=np.maximum(seeds.L - 1, 1))
    beside = ((seeds.V - 1 - (seeds.top is not None)) * best_pick(shorter))[:, None]
    best = missing * np.exp(beside * np.log1p(-above))
    return np.asarray(best if seeds.top is None else np.where(top > 0, missing, best * (1 - missing)))


def taken_as_wrong(seeds: Seeds, zeta: FloatArray, top: FloatArray) -> FloatArray:
    """The chance (R, n) that a sequence attends to a token of score zeta (R, n), as in `best_of_noise`, wrongly: it
    outranks the informative one, too; less that of the token's own sequences, whose copy of it outranks it where the
    trigger's score is negative."""
    ahead = chance_above(seeds, quantile_of_score(seeds, zeta - seeds.snr[:, None]))
    return best_of_noise(seeds, zeta, top) * ((seeds.snr[:, None] >= 0) - ahead)


def wrong_score(seeds: Seeds, zeta: FloatArray, accuracy: Accuracy) -> FloatArray:
    """(R, C): mean score of the best noise token, given that it beats a token of score zeta (R, C)."""
    n = int(accuracy.reach * accuracy.score_steps)
    x = np.arange(-n, n + 1) / accuracy.score_steps
    u, best = quantile_of_score(seeds, x), best_pick(seeds)
    below = log_ndtr(u) if seeds.top is None else np.log1p(-np.minimum(chance_above(seeds, u), BELOW_ONE))
    distinct = (seeds.V - (seeds.top is not None)) * best
    above = -np.expm1(distinct[:, None] * below)
    tail = (np.cumsum(above[:, ::-1], axis=-1)[:, ::-1] - above / 2) / accuracy.score_steps
    place = np.clip((zeta + seeds.snr[:, None]) * accuracy.score_steps + n, 0, 2 * n)
    i = np.minimum(place.astype(int), 2 * n - 1)

    def at(f: FloatArray) -> FloatArray:
        low, high = (np.take_along_axis(f, k, -1) for k in (i, i + 1))
        return np.asarray((i + 1 - place) * low + (place - i) * high)

    beaten = zeta + seeds.snr[:, None]
    usual = beaten + at(tail) / np.maximum(at(above), SPECK)
    if seeds.top is None:
        return np.asarray(usual)
    top, best = shape_score(seeds, seeds.top[:, None]), best[:, None]
    by_top = best / (best + (1 - best) * at(above))  # chance that it is the token of the top score
    return np.asarray(np.where(beaten < top, by_top * top + (1 - by_top) * usual, usual))


def score_nodes(seeds: Seeds, accuracy: Accuracy,
                counts: tuple[int, int, int] | None = None) -> tuple[FloatArray, FloatArray]:
    """Normal quantiles of a token's score and weights (R, n): Gauss's rules of the parts where a sequence's noise holds
    many tokens that outrank it, few, and next to none. The share of right attention goes from 0 to 1 in the middle one,
    which a single rule over all scores would miss. Where the top score is known, these are the tokens below it, and in
    the last part its token does not outrank them.
    """
    counts = counts or (accuracy.score_below, accuracy.score, accuracy.score_above)
    expected = (seeds.V * best_pick(seeds))[:, None]
    chance = np.minimum(np.array([accuracy.many_ahead, accuracy.few_ahead]) / expected, BELOW_ONE)
    scores = shape_score(seeds, -ndtri(chance))
    if seeds.top is None:
        u, w = gauss_parts_of_normal(quantile_of_score(seeds, scores - seeds.snr[:, None]), counts)
    else:
        top = seeds.top[:, None]
        scores = np.concatenate([scores[:, :1], shape_score(seeds, top)], axis=1)
        few, none = np.hsplit(quantile_of_score(seeds, scores - seeds.snr[:, None]), 2)
        edges = np.minimum(np.concatenate([np.minimum(few, none), none, top], axis=1), top)
        u, w = (a[:, :-1] for a in gauss_parts_of_normal(edges, (*counts, 1)))
    w = np.where(w > accuracy.rare, w, 0)  # of each seed by itself, whatever it is computed with
    used = (w > 0).any(axis=0)
    return u[:, used], w[:, used] / w[:, used].sum(axis=-1, keepdims=True)
