"""The facts of a seed, and the weights of the outputs in the value that each reads out."""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from ..numerics.quadrature import gauss_coordinate, gauss_gamma, gauss_hermite
from .training_attention import BELOW_ONE, SPECK, TINY, Classes, Seeds, best_pick, quantile_of_score, shape_score

FloatArray = NDArray[np.float64]

FLOOR = 1 / 20  # least share of a competitor's variance that is left to it


@dataclasses.dataclass(frozen=True)
class Facts:
    """Quadrature over facts, fields (R, F): w is the value read out, z the token's embedding.

    s = |w|^2, t = z_trig.w (0 if the trigger is not in the values), alpha = overlap of w with a token
    per unit of the token's score, own = z.w, picked = chance that a wrong pick of another label is this token;
    so many neighbours share a score: `same_score`.
    """

    weight: FloatArray
    zeta: FloatArray
    s: FloatArray
    t: FloatArray
    alpha: FloatArray
    own: FloatArray
    picked: FloatArray
    same_score: int = 1


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
    # a square, which in one and two dimensions the rules over its parts may take below zero
    s = np.maximum(length + e * (2 * with_trigger + seeds.tau[:, None]), SPECK)
    return Facts(weight, zeta, s,
                 e * (seeds.tau[:, None] + with_trigger), (zeta + e * snr) / d,
                 length + e * with_trigger, picked, same_score=shape[2] * shape[3])


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
