"""What wrongly attended sequences of a test answer: the part of accuracy, of order 1/V, that comes from them."""

from __future__ import annotations

import dataclasses

import numpy as np
from scipy.special import ndtr, ndtri

from ..numerics.arrays import FloatArray
from ..numerics.quadrature import gauss_hermite, gauss_legendre, gauss_poisson
from .accuracy import Accuracy
from .competitors import left_of
from .fact import Facts
from .read_out import ReadOut
from .strengths import picked_by, stored
from .training_attention import TINY, Classes, Seeds, best_pick, score_of_token

__all__ = ["wrong_answers"]

LOWEST, BEYOND = -2.0, 5.0  # of the logit that answers: from here to so far beyond sqrt(2 ln V)


def wrong_answers(seeds: Seeds, groups: Classes, read_out: ReadOut, accuracy: Accuracy) -> FloatArray:
    """(R,): the part of accuracy that comes from sequences attended wrongly.

    The best noise token b is read out instead. Its answer is right if the informative token is the one that b's
    value yields and b outranks it. The rank of b is geometric: with p the chance that one token is among the noise, r
    tokens outrank b with probability (1 - p)^r p, and b outranks a label whose share of right attention is below
    (1 - p)^(r + 1/2), since more than r tokens outrank that one.
    """
    R, e = len(seeds.V), seeds.e
    n = accuracy.rank
    u, w_u = gauss_legendre(n)
    p, w_p = gauss_hermite(accuracy.answer_trigger if e else 1)
    V, d = seeds.V[:, None], seeds.d[:, None]
    best = best_pick(seeds)[:, None]
    kept = np.log1p(-best)  # log of the chance that one token is not among the noise
    rank = np.minimum(np.floor(np.log(u) / kept), V - 1)  # tokens that outrank b
    zeta = np.repeat(score_of_token(seeds, -ndtri((rank + 1 / 2) / V)), len(p), axis=1)
    rank, p, weight = np.repeat(rank, len(p), axis=1), np.tile(p, n), np.repeat(w_u, len(p)) * np.tile(w_p, n)
    tau, most = seeds.tau[:, None], np.sqrt(seeds.tau * seeds.d)[:, None]
    snr = np.clip(seeds.snr[:, None], -most, most)
    tilt = snr * zeta / d + np.sqrt(np.maximum(tau - snr**2 / d, 0) / d) * p
    norm = np.maximum(1 + (0 if seeds.sphere else 1) * (zeta**2 - 1) / d, 1 / (4 * d))
    weight = np.broadcast_to(weight, tilt.shape)
    read = Facts(1, weight, zeta, norm, tilt, norm, e * tilt, norm, zeta / d, best * np.exp(rank * kept))
    kernel = read_out.moments(seeds, read)
    kernel = dataclasses.replace(kernel, bare_own=kernel.own)  # what is read out lacks the trigger
    D = kernel.nodes
    store = stored(seeds, groups, kernel, np.repeat(picked_by(seeds, groups, read), D, axis=1))
    noise = np.maximum(V - 2, 1) * store.square
    gain = np.sqrt(d / noise)[..., None]
    top = np.sqrt(2 * np.log(seeds.V)) + BEYOND
    grid = (LOWEST + (top - LOWEST)[:, None] * np.linspace(0, 1, accuracy.answer))[:, None, :]
    count, w_count = gauss_poisson(seeds.lam[:, None] * groups.share, accuracy.answer_count)
    each = np.zeros((groups.weight.shape[1], R, kernel.own.shape[1], accuracy.answer))
    for c in range(len(each)):
        for k in range(count.shape[-1]):
            right = (count[:, c, k] / seeds.lam)[:, None]
            again = store.picks[..., c] * store.pick
            theta = (right * store.bias[..., c] + store.rest[..., c] + again - store.mean)[..., None]
            varies = (right**2 * store.spread[..., c] + store.rest_variance[..., c] + again * store.pick)[..., None]
            left = left_of(theta**2 + varies, noise[..., None])
            each[c] += w_count[:, c, k][:, None, None] * ndtr((grid - gain * theta) / np.sqrt(left + gain**2 * varies))
        each[c] *= groups.weight[:, c][:, None, None]
    below = each.sum(axis=0)
    below = (below[..., 1:] + below[..., :-1]) / 2
    # b itself as a label: it scored high, so that its own sequences attended to it
    stored_own = read_out.between(norm + e * (2 * tilt + tau), norm, norm + e * tilt)
    stored_own = np.repeat(stored_own, D, axis=1)[..., None]
    own = ndtr(((grid[..., 1:] + grid[..., :-1]) / 2 - gain * (stored_own - store.mean[..., None]))
               / np.sqrt(1 + gain**2 * stored_own**2 / seeds.lam[:, None, None]))
    log_below = np.log(np.maximum(below, TINY))
    density = np.exp((V[..., None] - 2) * log_below) * V[..., None]
    answer = (np.diff(each, axis=-1) * (density * own)).sum(-1)  # (C, R, E)
    itself = (np.exp((V[..., None] - 1) * log_below)[..., 1:] * np.diff(own, axis=-1)).sum(-1)
    answer = answer / np.maximum(answer.sum(axis=0) + itself, TINY)
    outranked = groups.share.T[:, :, None] < np.repeat(np.exp((rank + 1 / 2) * kept), D, axis=1)
    return np.asarray((kernel.weight * (answer * outranked).sum(axis=0)).sum(-1) / seeds.V)
