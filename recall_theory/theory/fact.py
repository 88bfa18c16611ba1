"""The facts of a seed: nodes over a token's embedding, its attention score and the value that is read out for it."""

from __future__ import annotations

import dataclasses

import numpy as np
from scipy.special import ndtr, ndtri

from ..numerics.arrays import FloatArray, Rows
from ..numerics.quadrature import gauss_coordinate, gauss_hermite, gauss_of_gamma, gauss_parts_of_normal
from .accuracy import Accuracy
from .training_attention import BELOW_ONE, SPECK, Seeds, best_pick, quantile_of_score, score_of_token, shape_score

__all__ = ["Facts", "facts"]


@dataclasses.dataclass(frozen=True)
class Facts(Rows):
    """Nodes over facts, fields (R, F): a row a seed. z is the token's embedding, w = z + e z_trig the value read out.

    weight: of a row it sums to 1. zeta: the token's standardised attention score. norm = |z|^2, tilt = z_trig.z,
    s = |w|^2, t = e z_trig.w, own = z.w. alpha: overlap of w with a token per unit of that token's score.
    picked: chance that a sequence of another label, attended wrongly, attends to this token. alike: so many facts in a
    row have the same score.
    """

    alike: int
    weight: FloatArray
    zeta: FloatArray
    norm: FloatArray
    tilt: FloatArray
    s: FloatArray
    t: FloatArray
    own: FloatArray
    alpha: FloatArray
    picked: FloatArray


def score_nodes(seeds: Seeds, accuracy: Accuracy) -> tuple[FloatArray, FloatArray]:
    """Normal quantiles of a token's score and weights (R, n): Gauss's rules of the parts where a sequence's noise holds
    many tokens that outrank it, few, and next to none. The share of right attention goes from 0 to 1 in the middle one,
    which a single rule over all scores would miss."""
    expected = (seeds.V * best_pick(seeds))[:, None]
    chance = np.minimum(np.array([accuracy.many_ahead, accuracy.few_ahead]) / expected, BELOW_ONE)
    edges = quantile_of_score(seeds, shape_score(seeds, -ndtri(chance)) - seeds.snr[:, None])
    u, w = gauss_parts_of_normal(edges, (accuracy.score_below, accuracy.score, accuracy.score_above))
    used = (w > accuracy.rare).any(axis=0)
    return u[:, used], w[:, used] / w[:, used].sum(axis=-1, keepdims=True)


def facts(seeds: Seeds, accuracy: Accuracy, *, scores: bool) -> Facts:
    """Facts by their overlap with the trigger, their length and, unless attention is sure and it plays no part, their
    attention score.
    """
    R, e = len(seeds.V), seeds.e
    d = seeds.d[:, None, None, None]
    u, w_zeta = score_nodes(seeds, accuracy) if scores else (np.zeros((R, 1)), np.ones((R, 1)))
    n_zeta = u.shape[-1]
    zeta = score_of_token(seeds, u)[:, :, None, None]
    # Without the trigger in the values a fact's overlap with it plays no part; beside scores it needs less.
    n_p = 1 if not e else accuracy.trigger if n_zeta == 1 else -(-accuracy.trigger // 2)
    free = (n_zeta > 1) + (n_p > 1)  # coordinates of z that have nodes of their own
    if seeds.sphere:
        p, w_p = gauss_coordinate(seeds.d - 1, n_p) if e else (np.zeros((R, 1)), np.ones((R, 1)))
        q, w_q = np.ones((R, 1)), np.ones((R, 1))
    else:
        p, w_p = (np.broadcast_to(a, (R, n_p)) for a in gauss_hermite(n_p))
        q, w_q = gauss_of_gamma(2 / np.maximum(seeds.d - free, 1), accuracy.length, root=True)
    p, w_p = p[:, None, :, None], w_p[:, None, :, None]
    q, w_q = q[:, None, None], w_q[:, None, None]
    tau = seeds.tau[:, None, None, None]
    most = np.sqrt(tau * d)
    snr = np.clip(seeds.snr[:, None, None, None], -most, most)
    across = np.sqrt(np.maximum(tau - snr**2 / d, 0))  # of the trigger, to attention
    rest = np.sqrt(np.maximum(1 - zeta**2 / d, 0)) if seeds.sphere else 1
    tilt = snr * zeta / d + across * rest * p / np.sqrt(d)
    norm = 1.0 if seeds.sphere else (zeta**2 + p**2 + q * np.maximum(d - free, 0)) / d
    above = ndtr(-quantile_of_score(seeds, zeta[:, :, 0, 0]))[:, :, None, None]
    missing = best_pick(seeds)[:, None, None, None]
    # a token that r others outrank is picked with (1 - missing)^r missing
    picked = missing * np.exp((seeds.V[:, None, None, None] - 1) * np.log1p(-missing * np.minimum(above, BELOW_ONE)))
    shape = (R, n_zeta, n_p, q.shape[-1])

    def flat(a: object) -> FloatArray:
        return np.ascontiguousarray(np.broadcast_to(np.asarray(a, dtype=float), shape)).reshape(R, -1)

    # s is a square, which in one and two dimensions the rules over its parts may take below zero
    return Facts(n_p * q.shape[-1], flat(w_zeta[:, :, None, None] * w_p * w_q), flat(zeta), flat(norm), flat(tilt),
                 np.maximum(flat(norm + e * (2 * tilt + tau)), SPECK), flat(e * (tau + tilt)),
                 flat(norm + e * tilt), flat((zeta + e * snr) / d), flat(picked))
