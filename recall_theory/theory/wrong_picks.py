"""What sequences that were attended wrongly answer: the best noise token is read out in place of the informative one.

docs/derivations/recall.md has the derivation.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from scipy.special import ndtr, ndtri

from ..numerics.array_functions import normal_below
from ..numerics.arrays import TINY, FloatArray
from ..numerics.quadrature import gauss_hermite, gauss_legendre, gauss_poisson
from .accuracy import Accuracy
from .formulas import recall_formulas
from .read_out import Facts, ReadOut
from .seed import Seeds
from .strengths import Stored, others_of, stored
from .training_attention import Classes, score_of_token

__all__ = ["wrong_answers"]

LOWEST_LOGIT, BEYOND_LARGEST = -2.0, 5.0  # a wrong pick's logit: from here to so far beyond sqrt(2 ln V)


def wrong_answers(seeds: Seeds, groups: Classes, read_out: ReadOut, accuracy: Accuracy) -> FloatArray:
    """(R,): the part of accuracy that comes from sequences attended wrongly.

    The answer of the best noise token b is right if the informative token is the one that b's value yields and b
    outranks it: if its share of right attention is below `outranks`, or if it is b itself and the trigger's score is
    negative.
    """
    read, tilt, outranks = _best_noise(seeds, accuracy)
    kernel = read_out.averaged().moments(seeds, read)
    kernel = dataclasses.replace(kernel, bare_own=kernel.own)  # what is read out lacks the trigger
    store = stored(seeds, groups, kernel, others_of(seeds, groups, read.zeta, read.picked, read.top))
    gain = np.sqrt(seeds.d[:, None] / (np.maximum(seeds.V - 2, 1)[:, None] * store.square))
    top = np.sqrt(2 * np.log(seeds.V)) + BEYOND_LARGEST
    grid = LOWEST_LOGIT + (top - LOWEST_LOGIT)[:, None] * np.linspace(0, 1, accuracy.answer)
    below = _logits_below(grid, seeds, groups, store, gain, accuracy)
    # the token itself as a label, in the middle of each step: it scored high, and its own sequences attended
    e, tau, norm = seeds.e, seeds.tau[:, None], read.own
    stored_own = read_out.between(norm + e * (2 * tilt + tau), norm, norm + e * tilt)
    steep = 1 / np.sqrt(1 + gain**2 * stored_own**2 / seeds.lam[:, None])
    step = (grid[:, None, :-1] + grid[:, None, 1:]) / 2
    own = ndtr((step - (gain * (stored_own - store.mean))[..., None]) * steep[..., None])
    log = np.log(np.maximum((below[..., :-1] + below[..., 1:]).sum(2) / 2, TINY))
    V = seeds.V[:, None, None]
    of_class = (np.diff(below) * (np.exp((V - 2) * log) * V * own)[:, :, None]).sum(-1)
    itself = (np.exp((V - 1) * log[..., 1:]) * np.diff(own)).sum(-1)
    outranked = groups.share[:, None] < outranks[..., None]
    right = (of_class * outranked).sum(-1) + np.where(seeds.snr[:, None] < 0, itself, 0)
    answer = right / np.maximum(of_class.sum(-1) + itself, TINY)
    return np.asarray((kernel.weight * answer).sum(-1) / seeds.V)


def _best_noise(seeds: Seeds, accuracy: Accuracy) -> tuple[Facts, FloatArray, FloatArray]:
    """The best noise token b as a fact that is read out, at nodes (R, n) over its rank and the trigger's noise; its
    overlap with the trigger; and the share of right attention of the labels that it outranks.

    At least r of V tokens outrank b with probability (1 - r/V)^(L - 1). b outranks a label whose share of right
    attention is below that of r + 1/2, since more than r tokens outrank that one.
    """
    e, n = seeds.e, accuracy.rank
    p, w_p = gauss_hermite(accuracy.answer_trigger if e else 1)
    V, L, d = seeds.V[:, None], seeds.L[:, None], seeds.d[:, None]
    if n < V.max():
        u, w_u = gauss_legendre(n)
        rank = np.minimum(np.floor(-np.expm1(np.log(u) / np.maximum(L - 1, 1)) * V), V - 1)
        w_rank = w_u + 0 * rank
    else:  # each by itself: all settings have this V
        rank = np.arange(n) + 0 * V
        w_rank = recall_formulas.ranked(V, L, rank)
    u = -ndtri((rank + 1 / 2) / V)
    if seeds.top is not None:
        highest = seeds.top[:, None]
        below = ndtr(highest) * (1 - (rank - 1 / 2) / np.maximum(V - 1, 1))
        u = np.where(rank == 0, highest, ndtri(np.clip(below, TINY, 1)))
    zeta = np.repeat(score_of_token(seeds, u), len(p), axis=1)
    rank, w_rank = (np.repeat(a, len(p), axis=1) for a in (rank, w_rank))
    p, weight = np.tile(p, n), w_rank * np.tile(w_p, n)
    tilt = seeds.bounded_snr[:, None] * zeta / d + np.sqrt(seeds.beside[:, None] / d) * p
    norm = np.maximum(1 + (0 if seeds.sphere else 1) * (zeta**2 - 1) / d, 1 / (4 * d))
    read = Facts(1, np.broadcast_to(weight, tilt.shape), zeta, norm, e * tilt, norm, seeds.rise[:, None] * zeta / d,
                 zeta / d, recall_formulas.ranked(V, L, rank), np.asarray(rank == 0, dtype=float))
    return read, tilt, (1 - (rank + 1 / 2) / V) ** (L - 1)


def _logits_below(grid: FloatArray, seeds: Seeds, groups: Classes, store: Stored, gain: FloatArray,
                  accuracy: Accuracy) -> FloatArray:
    """(R, F, C, A): the chance that a label is of a class and its logit below the points (R, A) of a grid, where so
    many facts (R, F) are read out; gain (R, F): logit of a unit of strength."""
    noise = np.maximum(seeds.V - 2, 1)[:, None] * store.square
    count, w_count = gauss_poisson(seeds.lam[:, None] * groups.share, accuracy.answer_count)
    right, again = (count / seeds.lam[:, None, None])[:, None], store.picks * store.pick[..., None]
    theta = right * store.bias[..., None] + (store.rest + again - store.mean[..., None])[..., None]
    variance = right**2 * store.spread[..., None] + (store.rest_variance + again * store.pick[..., None])[..., None]
    part = (theta**2 + variance) / noise[..., None, None]
    left = 1 / (1 + part + part**2)  # of its noise beside its own strength: 1 - part to third order, and above 0
    middle = gain[..., None, None] * theta
    steep = 1 / np.sqrt(left + (gain**2)[..., None, None] * variance)
    class_weight = w_count[:, None] * store.weight[..., None] + 0 * theta
    return np.stack([(of_class[..., None, :] @ normal_below((points - at[..., None]) * by[..., None]))[..., 0, :]
                     for points, of_class, at, by in zip(grid, class_weight, middle, steep, strict=True)])
