"""Recall at a given seed: one fact's right label against the V - 1 others.

A seed is given by tau = |z_trig|^2 and by the lead S of the trigger in attention ("snr"). The logit of
the right label and those of its competitors are independent mixtures of Gaussians once the lengths are given;
the competitors' mixture runs over their label counts and over how well they were attended in training.
Proofs: docs/derivations/recall.md. Everything is vectorised over rows, one a node of a seed law.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr, ndtr, ndtri

from ..attention.law import normal_score
from ..quadrature import gauss_binomial, gauss_coordinate, gauss_gamma, gauss_hermite, gauss_poisson

FloatArray = NDArray[np.float64]

TINY = float(np.finfo(float).tiny)
SHARE_EDGES = np.arange(1, 10, 2) / 10  # classes are grouped by their share of right attention
END_EDGES = np.array([1 / 50, 49 / 50])  # and told apart near 0 and 1, where most of them lie
STEP = 1 / 2  # of the grid of own scores, in standard deviations of a competitor
BELOW = -3 / 2  # where that grid begins: a lower own score loses for V >= 64, and hardly wins for less
ABOVE = 7 / 2  # how far it goes beyond sqrt(2 ln V), the typical best competitor
LONG = 1  # times the vocabulary: sequences longer than this see the top tokens nearly always
RARE = 1 / 1000  # expected number of competitors above the grid
FARTHEST = 40  # the grid's end where embeddings are all but orthogonal and counts decide
FLOOR = 1 / 20  # least share of a competitor's variance that is left to it
# Guards against rounding, none of which moves a result:
SPECK = 1e-9  # relative size below which a variance, or a mass left over, is as good as none
BELOW_ONE = 1 - 1e-15  # the greatest chance whose complement has a logarithm worth taking
NEXT_TO_ONE = 1 - 1e-16  # the last float before 1
EMPTY = 1e-13  # a weight that adds nothing in double precision
CLOSE_BY = 1e-5  # a gap whose square is lost beside 1, where a quotient becomes a derivative
CAP = 49 / 50  # greatest cosine between an output embedding and the value read out


def coordinate_scale(d: Any) -> Any:
    """D such that sqrt(-D ln(1 - b^2)) is the normal score of a coordinate b (Peizer and Pratt)."""
    nu = np.maximum(d - 1, 1)
    return (nu - 2 / 3 + 1 / (10 * nu)) ** 2 / (nu - 5 / 6)


# --- how training attended ---------------------------------------------------------------------------

@dataclasses.dataclass(frozen=True)
class Seeds:
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


def shape_score(seeds: Seeds, u: Any) -> FloatArray:
    """The standardised score (R, ...) of a token, from its normal quantile u (Cornish-Fisher)."""
    d, skew, excess = seeds.d[:, None], seeds.skew[:, None], seeds.excess[:, None]
    excess = excess + 6 / (d + 2) if seeds.sphere else excess
    z = (u + skew / 6 * (u * u - 1) + excess / 24 * (u**3 - 3 * u)
         - skew**2 / 36 * (2 * u**3 - 5 * u))
    if seeds.sphere:
        z = np.copysign(np.sqrt(-d * np.expm1(-z * z / np.maximum(d - 3 / 2, 1 / 2))), z)
    return np.asarray(z)


def quantile_of_score(seeds: Seeds, x: Any) -> FloatArray:
    """The normal quantile (R, ...) of a standardised score, the inverse of `shape_score` to its order."""
    dimension = np.maximum(seeds.d, 2)[:, None] if seeds.sphere else None
    return np.asarray(normal_score(x, seeds.skew[:, None], seeds.excess[:, None], dimension))


def attended_share(seeds: Seeds, zeta: FloatArray, n: int) -> tuple[FloatArray, FloatArray]:
    """Share (R, F, n) of a token's sequences that attend to it, given its score zeta (R, F).

    Random over seeds through the number of tokens that outrank it, binomial; weights (R, F, n).
    """
    u = quantile_of_score(seeds, zeta + seeds.snr[:, None])
    above, weight = outranking(seeds, ndtr(-u), n)
    V, L = seeds.V[:, None, None], seeds.L[:, None, None]
    above = above + (seeds.snr < 0)[:, None, None]  # then another copy of the token itself wins too
    return np.exp((L - 1) * np.log1p(-np.minimum(above / V, BELOW_ONE))), weight


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


def classes(seeds: Seeds, n_zeta: int = 18, n_above: int = 4) -> Classes:
    """The labels grouped by how their training sequences attended."""
    u, w = gauss_hermite(n_zeta)
    zeta = shape_score(seeds, u)
    share, w_share = attended_share(seeds, zeta, n_above)
    weight = w[:, None] * w_share
    edges = np.sort(np.concatenate([SHARE_EDGES, END_EDGES]))
    R, C = len(zeta), len(edges) + 1
    group = (np.arange(R)[:, None, None] * C + np.searchsorted(edges, share)).ravel()

    def total(values: Any) -> FloatArray:
        sums = np.bincount(group, (weight * values).ravel(), minlength=R * C)
        return np.asarray(sums, dtype=float).reshape(R, C)

    mass = np.maximum(total(1 + 0 * share), TINY)
    z = zeta[:, :, None] + 0 * share
    a, zm = total(share) / mass, total(z) / mass
    used = (mass > EMPTY).any(axis=0)
    parts = (mass, a, zm, _wrong_score(seeds, zm), np.maximum(total(share**2) / mass - a * a, 0),
             np.maximum(total(z * z) / mass - zm * zm, 0))
    return Classes(*(p[:, used] for p in parts))


def best_pick(seeds: Seeds) -> FloatArray:
    """(R,): the chance that the token of the highest score is among the L - 1 noise tokens of a sequence."""
    return np.asarray(np.minimum(-np.expm1((seeds.L - 1) * np.log1p(-1 / seeds.V)), BELOW_ONE))


def _wrong_score(seeds: Seeds, zeta: FloatArray) -> FloatArray:
    """(R, C): mean score of the best noise token, given that it beats a token of score zeta."""
    x = np.linspace(-7, 9, 161)
    below = log_ndtr(quantile_of_score(seeds, x))
    distinct = seeds.V * best_pick(seeds)
    cdf = np.exp(distinct[:, None] * below)
    step = x[1] - x[0]
    tail = np.cumsum((1 - cdf)[:, ::-1], axis=-1)[:, ::-1] * step
    i = np.clip((zeta + seeds.snr[:, None] - x[0]) / step, 0, len(x) - 1).astype(int)
    more = np.take_along_axis(tail, i, -1) / np.maximum(1 - np.take_along_axis(cdf, i, -1), SPECK)
    return np.asarray(zeta + seeds.snr[:, None] + np.minimum(more, 2))


# --- the facts ---------------------------------------------------------------------------------------

@dataclasses.dataclass(frozen=True)
class Facts:
    """Quadrature over facts, fields (R, F): w is the value read out, z the token's embedding.

    s = |w|^2, t = z_trig.w (0 if the trigger is not in the values), alpha = overlap of w with a token
    per unit of the token's score, own = z.w, picked = chance that a wrong pick of another label is this token.
    """

    weight: FloatArray
    zeta: FloatArray
    s: FloatArray
    t: FloatArray
    alpha: FloatArray
    own: FloatArray
    picked: FloatArray


def facts(seeds: Seeds, n_zeta: int) -> Facts:
    """Facts by their attention score, their overlap with the trigger and their length."""
    R = len(seeds.V)
    d, e = seeds.d[:, None], seeds.e
    u, w_zeta = gauss_hermite(n_zeta)
    zeta = shape_score(seeds, u)
    # Without the trigger in the values a fact's overlap with it plays no part; beside scores it needs less.
    n_p = 1 if not e else 3 if n_zeta == 1 else 2
    free = (n_zeta > 1) + (n_p > 1)  # coordinates of z that have nodes of their own
    if seeds.sphere:
        p, w_p = gauss_coordinate(seeds.d - 1, n_p) if e else (np.zeros((R, 1)), np.ones((R, 1)))
        q, w_q = np.ones((R, 1)), np.ones((R, 1))
    else:
        p, w_p = (np.broadcast_to(a, (R, n_p)) for a in gauss_hermite(n_p))
        q, w_q = gauss_gamma(2 / np.maximum(seeds.d - free, 1), 2)
    shape = (R, n_zeta, n_p, q.shape[1])

    def spread(a: FloatArray, axis: int) -> FloatArray:
        others = [i for i in (1, 2, 3) if i != axis]
        return np.broadcast_to(np.expand_dims(a, others), shape).reshape(R, -1)

    zeta, p, q = spread(zeta, 1), spread(p, 2), spread(q, 3)
    weight = spread(w_zeta + np.zeros((R, n_zeta)), 1) * spread(w_p, 2) * spread(w_q, 3)
    most = np.sqrt(seeds.tau * seeds.d)
    snr = np.clip(seeds.snr, -most, most)[:, None]
    across = np.sqrt(np.maximum(seeds.tau[:, None] - snr**2 / d, 0))  # of the trigger, to attention
    rest = np.sqrt(np.maximum(1 - zeta**2 / d, 0)) if seeds.sphere else 1
    with_trigger = snr * zeta / d + across * rest * p / np.sqrt(d)
    length = (np.ones_like(zeta) if seeds.sphere else
              (zeta**2 + p**2 + q * np.maximum(d - free, 0)) / d)
    above = ndtr(-quantile_of_score(seeds, zeta))
    missing = best_pick(seeds)[:, None]  # a token that r others outrank is picked with (1 - missing)^r missing
    picked = missing * np.exp((seeds.V[:, None] - 1) * np.log1p(-missing * np.minimum(above, BELOW_ONE)))
    return Facts(weight, zeta, length + e * (2 * with_trigger + seeds.tau[:, None]),
                 e * (seeds.tau[:, None] + with_trigger), (zeta + e * snr) / d,
                 length + e * with_trigger, picked)


# --- the competition ---------------------------------------------------------------------------------

@dataclasses.dataclass(frozen=True)
class Weights:
    """The weights theta of the outputs in the value read out, fields (R, F) or (R, F, C).

    Label j has theta_j = count (bias + overlap) + rest - mean, count = right picks/lam: `bias` (R, F, C) is the mean
    overlap of a right pick, `spread` its variance, `rest` and `rest_variance` come from wrong picks, `mean`
    is theta's mean over labels, `square` that of (theta - mean)^2, `shared` the part of `square` that all facts share,
    `cross` that per unit of the overlap of two facts,
    `common_pick` the variance of the overlap with what all labels pick wrongly.
    """

    bias: FloatArray
    spread: FloatArray
    rest: FloatArray
    rest_variance: FloatArray
    mean: FloatArray
    square: FloatArray
    shared: FloatArray
    cross: FloatArray
    common_pick: FloatArray


def weights(seeds: Seeds, groups: Classes, facts_: Facts) -> Weights:
    """First two moments of what each group of labels puts into the value read out for each fact."""
    lam = seeds.lam[:, None, None]
    share, weight = groups.share[:, None], groups.weight[:, None]
    alpha = facts_.alpha[:, :, None]
    token = np.maximum(facts_.s / seeds.d[:, None] - facts_.alpha**2, facts_.s / seeds.d[:, None] * FLOOR)
    token = token[:, :, None]  # variance of a token's overlap with w, beside its attention score
    bias = facts_.t[:, :, None] + groups.zeta[:, None] * alpha
    wrong = groups.wrong[:, None] * alpha + (facts_.picked * facts_.own)[:, :, None]
    spread = token + groups.zeta_variance[:, None] * alpha**2
    rest = (1 - share) * wrong
    rest_variance = ((1 - share) / lam * (wrong**2 + token)
                     + groups.share_variance[:, None] * (bias - wrong) ** 2)
    expected = share * bias + rest
    # Wrong picks fall on few tokens, so that their overlap with w is common to all labels.
    best = best_pick(seeds)
    together = best / (2 - best)  # the chance that two wrong picks agree
    missed = 1 - share - (groups.weight * (1 - groups.share)).sum(-1)[:, None, None]
    common_pick = together[:, None] * token[:, :, 0]
    rest_variance = rest_variance + missed**2 * common_pick[:, :, None]
    mean = (weight * expected).sum(-1)
    square = (weight * ((expected - mean[:, :, None]) ** 2 + share * bias**2 / lam
                        + share * (share + 1 / lam) * spread + rest_variance)).sum(-1)
    square = np.maximum(square, SPECK * facts_.s / seeds.d[:, None])  # nothing attended rightly
    common = (seeds.e * (seeds.tau - np.minimum(seeds.snr**2 / seeds.d, seeds.tau)) / seeds.d)[:, None, None]
    alone = (weight * (share * (share + 1 / lam) + (1 - share) / lam + missed**2 * together[:, None, None])
             * np.maximum(token - common, 0)).sum(-1)
    right = (groups.weight * groups.share * (groups.share + 1 / seeds.lam[:, None])).sum(-1)[:, None]
    return Weights(bias, spread, rest, rest_variance, mean, square,
                   np.clip(1 - alone / np.maximum(square, TINY), 0, 1), right / seeds.d[:, None] / square,
                   common_pick)


@dataclasses.dataclass(frozen=True)
class Node:
    """What a seed's node yields, fields (R,): recall, attended = E[share recall] over facts, and the
    ingredients of the scatter over seeds that share the node.

    count_covariance: Cov(recall, n_k). scores (R, A) and mass (R, A): the law of the own score, as the
    quantile of a competitor. noise: share of its variance that is the output's own noise. shared (R,): correlation
    of two facts' competitors. length_share: the part Q/Theta of the lead that the noise's length moves. gain: of a
    competitor's score per unit of its weight. cross: of a fact's noise per unit of its overlap with another fact.
    trigger, token: mean of t, and variance of a token's overlap.
    """

    recall: FloatArray
    attended: FloatArray
    count_covariance: FloatArray
    scores: FloatArray
    mass: FloatArray
    noise: FloatArray
    shared: FloatArray
    length_share: FloatArray
    gain: FloatArray
    cross: FloatArray
    trigger: FloatArray
    token: FloatArray


def square_spread(lam: FloatArray, t: FloatArray, v: FloatArray) -> FloatArray:
    """E theta^4/(E theta^2)^2 - 1 of one competitor at right attention, from the Poisson moments of its count."""
    i = 1 / lam
    fourth = (t**4 * (3 * i**2 + i**3) + 6 * t * t * v * (i + 4 * i**2 + i**3)
              + 3 * v * v * (1 + 6 * i + 7 * i**2 + i**3))
    second = t * t * i + v * (1 + i)
    return np.asarray(np.maximum(fourth / second**2 - 1, 0))


def compete(seeds: Seeds, groups: Classes, facts_: Facts, n_above: int = 3, n_own: int = 9,
            n_noise: int = 7, n_count: int = 11) -> Node:
    """Recall at each row's node: the right label's score against the best of V - 1 others."""
    w = weights(seeds, groups, facts_)
    V, d, lam = seeds.V[:, None], seeds.d[:, None], seeds.lam[:, None]
    R, F = facts_.t.shape
    # the right label: its count, the noise of its output embedding, the length of the value
    share, w_share = attended_share(seeds, facts_.zeta, n_above)
    count, w_count = gauss_poisson(lam[:, :, None] * share, n_own)
    theta = count / lam[:, :, None, None] * facts_.s[:, :, None, None] - w.mean[:, :, None, None]
    theta = theta + ((1 - share) * (groups.wrong[:, :1] * facts_.alpha)[:, :, None])[..., None]
    theta = theta * (1 - 1 / V[:, :, None, None])
    noise = np.maximum((V - 2), 1) * w.square
    square = noise[:, :, None, None] + theta**2 / V[:, :, None, None]
    typical = noise / (noise + np.maximum(facts_.s - facts_.t, 0) ** 2)
    length = square_spread(lam, facts_.t, facts_.s / d) / V * typical**2
    stretch, w_stretch = gauss_gamma(2 / d + length, 3)
    x, w_x = gauss_hermite(n_noise)
    missed = 1 - share - (groups.weight * (1 - groups.share)).sum(-1)[:, None, None]
    wider = np.sqrt(1 + (d * w.common_pick)[:, :, None, None] * missed[..., None]**2 / square)[..., None, None]
    T, Q = theta[..., None, None], square[..., None, None]
    stretch, dd = stretch[:, :, None, None, :, None], d[:, :, None, None, None, None]
    if seeds.sphere:
        own = np.sign(x) * np.sqrt(-np.expm1(-x * x / coordinate_scale(dd))) * np.sqrt(Q * stretch) * wider
        size = np.sqrt(np.maximum(T * T + Q * stretch + 2 * T * own, SPECK * (T * T + Q)))
        cosine = (T + own) / size
        score = np.sign(cosine) * np.sqrt(-coordinate_scale(dd) * np.log1p(-np.minimum(cosine**2, BELOW_ONE)))
        gain = (Q * stretch + T * own) / (Q * size) * dd / (np.maximum(dd, 2) - 1)
    else:
        chi = np.sqrt(dd * stretch) * (1 + length[:, :, None, None, None, None] / 2)
        score = (chi * T + np.sqrt(Q) * wider * x) / np.sqrt(Q + T * T)
        gain = (chi - T / np.sqrt(Q) * x) / np.sqrt(Q + T * T)
    mass = (w_share[..., None] * w_count)[..., None, None] * w_stretch[:, :, None, None, :, None] * w_x
    full = mass.shape

    def flat(a: Any) -> FloatArray:
        return np.broadcast_to(a, full).reshape(R, F, -1)

    # tiny vocabularies on a circle can leave no noise at all: 0/0 is then no lead
    score, gain, mass = (flat(np.nan_to_num(a)) for a in (score, gain, mass))
    # a grid of own scores, on which the competitors' law is computed
    n_right, w_right = gauss_poisson(lam * groups.share, n_count)
    top = _highest(seeds, groups, w, facts_, n_right, w_right, noise)
    J = int(np.ceil((top - BELOW).max() / STEP)) + 2
    grid = BELOW + (top - BELOW)[:, None] * np.linspace(0, 1, J)
    u = np.clip((score - BELOW) / (grid[:, 1] - grid[:, 0])[:, None, None], 0, J - 1 - SPECK)
    low = u.astype(int)
    part = u - low
    base = np.arange(R * F).reshape(R, F, 1) * J
    place = (base + low).ravel()
    upper_mass = mass * part
    shares = (mass - upper_mass).ravel(), upper_mass.ravel()

    def deposit(values: Any = None) -> FloatArray:
        """Sums over the nodes of mass times values, shared between the two neighbours on the grid."""
        low_part, high_part = shares if values is None else (s * values.ravel() for s in shares)
        sums = (np.bincount(place, low_part, R * F * J)
                + np.bincount(place + 1, high_part, R * F * J))
        return np.asarray(sums, dtype=float).reshape(R, F, J)

    at = deposit()
    filled = np.maximum(at, TINY)
    mean_gain = _spread_out(deposit(gain), at)
    shift = np.where(at > 0, deposit(flat(T)) / filled, 0) / V[:, :, None]
    below = _competitors(seeds, groups, w, grid, mean_gain, shift, n_right, w_right, noise)
    curve = np.log(-(V[:, :, None] - 1) * np.log(np.clip(below, TINY, NEXT_TO_ONE)))
    mid = np.clip(low, 1, J - 3)
    f = u - mid
    i = base + mid
    value = 0.0
    for coefficient in _cubics(curve.reshape(-1)):
        value = value * f + coefficient[i]
    win = mass * np.exp(-np.exp(value))
    by_fact = win.sum(-1)
    attended = (win * flat(share[..., None, None, None])).sum(-1)
    surplus = flat((count - lam[:, :, None, None] * share[..., None])[..., None, None])
    W = facts_.weight
    upper = ndtri(np.clip(below, TINY, BELOW_ONE))
    scores, law = _rebin(upper, at * W[:, :, None])
    mean_score = (W * (mass * score).sum(-1)).sum(-1)
    variance = (W * (mass * score**2).sum(-1)).sum(-1) - mean_score**2
    remain = square / (square + theta**2)
    loose = (W * ((w_share[..., None] * w_count) * remain).sum((-1, -2))).sum(-1)
    return Node((W * by_fact).sum(-1), (W * attended).sum(-1), (W * (win * surplus).sum(-1)).sum(-1),
                scores, law, np.minimum(loose / np.maximum(variance, TINY), 1),
                (W * w.shared).sum(-1), (W * typical).sum(-1),
                (W * np.sqrt(d / noise)).sum(-1), (W * w.cross).sum(-1), (W * facts_.t).sum(-1),
                (W * facts_.s).sum(-1) / seeds.d)


def _cubics(y: FloatArray) -> tuple[FloatArray, ...]:
    """Coefficients, of the third power first, of the cubic through y[i-1..i+2] in units of the grid around i."""
    before, after, second = np.roll(y, 1), np.roll(y, -1), np.roll(y, -2)
    return ((3 * (y - after) + second - before) / 6, (before + after) / 2 - y,
            after - before / 3 - y / 2 - second / 6, y)


def _highest(seeds: Seeds, groups: Classes, w: Weights, facts_: Facts, n_right: FloatArray,
             w_right: FloatArray, noise: FloatArray) -> FloatArray:
    """(R,): an own score that hardly any competitor exceeds, where counts are few and d is large."""
    seen = seeds.V[:, None, None] * groups.weight[..., None] * w_right > RARE
    most = np.where(seen, n_right, 0).max(axis=(1, 2)) / seeds.lam
    gain = np.sqrt(seeds.d / np.maximum(noise.mean(-1), TINY))
    deviation = np.sqrt(facts_.s.mean(-1) / seeds.d)
    reach = gain * (np.maximum(most * facts_.t.mean(-1) - w.mean.mean(-1), 0) + 2 * most * deviation)
    return np.asarray(np.maximum(np.sqrt(2 * np.log(seeds.V)), np.minimum(reach, FARTHEST)) + ABOVE)


def _spread_out(total: FloatArray, at: FloatArray) -> FloatArray:
    """The mean total/at on a grid, and the overall mean where nothing was deposited."""
    value = np.where(at > 0, total / np.maximum(at, TINY), 0)
    mean = total.sum(-1, keepdims=True) / np.maximum(at.sum(-1, keepdims=True), TINY)
    return np.where(at > EMPTY, value, mean)


def _competitors(seeds: Seeds, groups: Classes, w: Weights, grid: FloatArray, gain: FloatArray,
                 shift: FloatArray, n_right: FloatArray, w_right: FloatArray, noise: FloatArray) -> FloatArray:
    """(R, F, J): the chance that one competitor stays below each own score of the grid."""
    below = np.zeros_like(gain)
    score = grid[:, None, :]
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


def _rebin(position: FloatArray, mass: FloatArray, n: int = 28) -> tuple[FloatArray, FloatArray]:
    """The law (R, n) of `position` (R, F, J) with `mass`, on an even grid of its own."""
    R = len(position)
    low, high = -2, 8
    u = np.clip((position - low) / (high - low) * (n - 1), 0, n - 1 - SPECK)
    i = u.astype(int)
    index = np.arange(R)[:, None, None] * n + i
    out = (np.bincount(index.ravel(), (mass * (1 - (u - i))).ravel(), R * n)
           + np.bincount((index + 1).ravel(), (mass * (u - i)).ravel(), R * n)).reshape(R, n)
    return np.broadcast_to(np.linspace(low, high, n), (R, n)), np.asarray(out, dtype=float)
