"""Around recall at a node: the answers to wrongly attended sequences, and the facts' scatter over seeds.

Both follow docs/derivations/recall.md. Rows are nodes of a seed law, as in `recall.node`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr, ndtr, ndtri

from ..numerics.quadrature import gauss_hermite, gauss_legendre, gauss_poisson
from .fact import FLOOR, Facts, weights
from .recall_given_seed import Node
from .training_attention import SPECK, TINY, Classes, Seeds, best_pick, shape_score

__all__ = ["scatter", "wrong_answers"]

FloatArray = NDArray[np.float64]

FULL = 1 - 1 / 1_000_000  # greatest correlation of two facts' competitors
POINTS, COUNTS = 21, 5  # of the score that answers, and of counts: for a part of order 1/V
CLOSE = 99 / 100  # greatest correlation of an own score with a competitor's


# --- what a wrongly attended token answers -------------------------------------------------------------

def wrong_answers(seeds: Seeds, groups: Classes, n: int = 6) -> FloatArray:
    """(R,): the part of accuracy that comes from sequences attended wrongly, of order 1/V.

    The best noise token b is read out instead. Its answer is right if the informative token is the one that b's
    value yields and b outranks it. The rank of b is geometric: with
    p the chance that one token is among the noise, r tokens outrank b with probability (1 - p)^r p, and b outranks
    a label whose share of right attention is below (1 - p)^(r + 1/2), since more than r tokens outrank that one.
    """
    R = len(seeds.V)
    u, w_u = gauss_legendre(n)
    p, w_p = gauss_hermite(2)
    best = best_pick(seeds)[:, None]
    kept = np.log1p(-best)  # log of the chance that one token is not among the noise
    rank = np.minimum(np.floor(np.log(u) / kept), seeds.V[:, None] - 1)  # tokens that outrank b
    zeta = shape_score(seeds, -ndtri((rank + 1 / 2) / seeds.V[:, None]))
    zeta, p, rank = np.repeat(zeta, 2, axis=1), np.tile(p, n), np.repeat(rank, 2, axis=1)
    weight = np.repeat(w_u, 2) * np.tile(w_p, n)
    d = seeds.d[:, None]
    most = np.sqrt(seeds.tau * seeds.d)
    with_trigger = seeds.e * (np.clip(seeds.snr, -most, most)[:, None] * zeta / d
                              + np.sqrt(np.maximum(seeds.tau[:, None] - seeds.snr[:, None] ** 2 / d, 0) / d) * p)
    length = 1 + (zeta**2 - 1) / d if not seeds.sphere else 1 + 0 * zeta
    picked = best * np.exp(rank * kept)
    read = Facts(np.broadcast_to(weight, (R, 2 * n)), zeta, length, with_trigger, zeta / d, length, picked)
    w = weights(seeds, groups, read)
    noise = np.maximum(seeds.V - 2, 1)[:, None] * w.square
    gain = np.sqrt(d / noise)[:, :, None]
    top = np.sqrt(2 * np.log(seeds.V)) + 5
    grid = (-2 + (top + 2)[:, None] * np.linspace(0, 1, POINTS))[:, None, :]
    count, w_count = gauss_poisson(seeds.lam[:, None] * groups.share, COUNTS)
    each = np.zeros((groups.weight.shape[1], R, 2 * n, POINTS))
    for c in range(len(each)):
        for k in range(COUNTS):
            right = (count[:, c, k] / seeds.lam)[:, None]
            theta = (right * w.bias[:, :, c] + w.rest[:, :, c] - w.mean)[:, :, None]
            varies = (right**2 * w.spread[:, :, c] + w.rest_variance[:, :, c])[:, :, None]
            left = np.maximum(1 - (theta**2 + varies) / noise[:, :, None], FLOOR)
            each[c] += w_count[:, c, k][:, None, None] * ndtr(
                (grid - gain * theta) / np.sqrt(left + gain**2 * varies))
        each[c] *= groups.weight[:, c][:, None, None]
    below = each.sum(axis=0)
    below = (below[..., 1:] + below[..., :-1]) / 2
    # b itself as a label: it scored high, so that its own sequences attended to it
    own_theta = (length + with_trigger - w.mean)[:, :, None]
    own = ndtr(((grid[..., 1:] + grid[..., :-1]) / 2 - gain * own_theta)
               / np.sqrt(1 + gain**2 * ((length + with_trigger) ** 2 / seeds.lam[:, None])[:, :, None]))
    V = seeds.V[:, None, None]
    density = np.exp((V - 2) * np.log(np.maximum(below, TINY))) * V
    answer = (np.diff(each, axis=-1) * (density * own)).sum(-1)  # (C, R, F)
    itself = (np.exp((V - 1) * np.log(np.maximum(below, TINY)))[..., 1:] * np.diff(own, axis=-1)).sum(-1)
    answer = answer / np.maximum(answer.sum(axis=0) + itself, TINY)
    outranked = groups.share.T[:, :, None] < np.exp((rank + 1 / 2) * kept)
    out: FloatArray = (weight * (answer * outranked).sum(axis=0)).sum(-1) / seeds.V
    return out


# --- scatter of recall over seeds that share tau and the snr --------------------------------------------

def scatter(seeds: Seeds, node: Node, n_angle: int = 8) -> FloatArray:
    """(R,): variance of recall over seeds at a node.

    V^-1 Var of one fact, less what a fixed sum of label counts removes, plus the covariance of two facts: their
    competitors are correlated, each is the other's competitor, and the lengths of their noise move together.
    """
    V, d, lam, e = seeds.V, seeds.d, seeds.lam, seeds.e
    A, h = node.scores, node.mass
    log_below = log_ndtr(A)
    alone = np.exp((V - 1)[:, None] * log_below)
    recall = (h * alone).sum(-1)
    f0 = np.clip(node.shared, 0, 1 - SPECK)
    kappa, g = node.cross, node.gain
    spread = 1 + d / V  # variance of a competitor in units of its output's noise
    turn = kappa * (1 + node.trigger * d / (lam + 1)) * (1 - f0)  # of f per unit of a fact's z.z_trig
    inputs = (kappa**2 + 2 * e * seeds.tau * turn**2) / d + (1 - f0) ** 2 / V
    overlap = (1 - f0**2) ** 2 / d + inputs
    hazard = h * alone * (V - 1)[:, None] * np.exp(-A * A / 2 - log_below) / np.sqrt(2 * np.pi)
    push, widen = hazard.sum(-1), (hazard * A).sum(-1)  # d recall/d(own score), of a competitor's log deviation
    x, w = gauss_hermite(3)
    mean = (h * A).sum(-1)
    total = np.maximum((h * (A - mean[:, None])**2).sum(-1), TINY)
    gap = A - mean[:, None]
    own = gap * (node.noise * np.sqrt(spread))[:, None]  # the output's own noise, given the score
    slope = (f0 * node.noise + e * g**2 / spread * (seeds.tau * (1 + seeds.tau) / lam + seeds.tau / d) / total)
    slope = np.clip(slope, 0, np.sqrt(1 / total) * CLOSE)
    left = 1 - slope**2 * total
    left = np.maximum(left[:, None] + (2 * (g * kappa)[:, None] * own + kappa[:, None]**2 * (own**2 - 1))
                      / (d * spread)[:, None], FLOOR)
    beaten = (A[:, :, None] - (slope[:, None] * gap)[:, None, :]) / np.sqrt(left)[:, None, :]
    mutual = log_ndtr(beaten)
    mutual = mutual + mutual.transpose(0, 2, 1)
    joint = np.zeros_like(V)
    angle, w_angle = gauss_legendre(n_angle)
    for xi, wi in zip(x, w, strict=True):
        f = np.clip(f0 + np.sqrt(overlap) * xi, -FULL, FULL)
        end = np.arcsin(f)
        a, b = A[:, :, None], A[:, None, :]
        excess = np.zeros((len(V), A.shape[1], A.shape[1]))
        for t, wt in zip(angle, w_angle, strict=True):  # Plackett: d Phi_2/d f along the arc
            s = np.sin(end * t)[:, None, None]
            excess += wt * np.exp(-(a * a + b * b - 2 * a * b * s) / (2 * (1 - s * s)))
        both = ndtr(a) * ndtr(b) + excess * end[:, None, None] / (2 * np.pi)
        joint += wi * (h[:, :, None] * h[:, None, :] * np.exp(
            (V - 2)[:, None, None] * np.log(np.maximum(both, TINY)) + mutual)).sum((1, 2))
    lead = push * mean
    noises = push**2 / spread * kappa / (1 + 1 / lam) / V - 2 * push / np.sqrt(spread) * lead * kappa * g / d**2
    lengths = lead**2 * ((f0**2 + inputs) / (2 * d) + node.length_share**2 * f0**2 / (2 * V))
    rival = push * g / np.sqrt(spread) * node.trigger + widen * g**2 / spread * node.token
    counts = (node.count_covariance - rival) ** 2 / lam
    return np.asarray(np.maximum((recall - counts) / V - recall**2 + (1 - 1 / V) * joint + noises + lengths, 0))
