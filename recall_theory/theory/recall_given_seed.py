"""Recall at a given seed: one fact's right label against the V - 1 others.

A seed is given by tau = |z_trig|^2 and by the lead S of the trigger in attention ("snr"). The logit of
the right label and those of its competitors are independent mixtures of Gaussians once the lengths are given;
the competitors' mixture runs over their label counts and over how well they were attended in training.
Proofs: docs/derivations/recall.md. Everything is vectorised over rows, one a node of a seed law.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from .competitors import BELOW, STEP, kinds, one_above, steps_to_top
from .correct_label import FAR, FINE, PAD, averaged, make_grid, own_nodes, places, spread_out
from .fact import Facts, weights
from .training_attention import BELOW_ONE, EMPTY, SPECK, TINY, Classes, Seeds

FloatArray = NDArray[np.float64]


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


def compete(seeds: Seeds, groups: Classes, facts_: Facts, n_above: int = 3, n_own: int = 9,
            n_length: int = 3, n_count: int | None = None) -> Node:
    """Recall at each row's node: the right label's score against the best of V - 1 others."""
    w = weights(seeds, groups, facts_)
    V, d = seeds.V[:, None], seeds.d[:, None]
    noise = np.maximum(V - 2, 1) * w.square
    nodes = own_nodes(seeds, groups, facts_, w, noise, n_above, n_own, n_length)
    rivals = kinds(seeds, groups, facts_, w, noise, n_count)
    top = steps_to_top(seeds, groups, facts_, w, noise)
    J = int(top.max()) + 1
    score = np.asarray(BELOW + STEP * np.arange(J), dtype=float)
    grid = make_grid(seeds, nodes, J)
    at = places(seeds, nodes, grid)
    mass, lead = nodes.flat(nodes.mass), nodes.flat(nodes.lead)
    density = spread_out(at, mass, grid.typical)
    gain = _mean(spread_out(at, mass * nodes.flat(nodes.gain_unit) * at.beyond, grid.gains), density)
    shift = _mean(spread_out(at, mass * lead, grid.typical), density) / V[:, :, None]
    above = one_above(seeds, rivals, w, score, gain, shift, noise)
    # past a row's own top, which may be lower than that of its company, nothing changes
    reached = np.minimum(np.arange(J), top[:, None])[:, None, :]
    above = np.take_along_axis(above, np.broadcast_to(reached, above.shape), axis=-1)
    win = mass * averaged(at, grid, _wins(above, V[:, :, None]))
    W = facts_.weight
    scores, law = _rebin(-ndtri(np.clip(above, TINY, BELOW_ONE)), density * W[:, :, None])
    middle, own = nodes.flat(nodes.middle), nodes.flat(nodes.own)
    mean = (W * (mass * middle).sum(-1)).sum(-1)
    variance = (W * (mass * (middle**2 + nodes.flat(nodes.wider) * own)).sum(-1)).sum(-1) - mean**2
    loose = (W * (mass * own).sum(-1)).sum(-1)
    return Node(
        recall=(W * win.sum(-1)).sum(-1),
        attended=(W * (win * nodes.flat(nodes.share)).sum(-1)).sum(-1),
        count_covariance=(W * (win * nodes.flat(nodes.surplus)).sum(-1)).sum(-1),
        scores=scores, mass=law, noise=np.minimum(loose / np.maximum(variance, TINY), 1),
        shared=(W * w.shared).sum(-1), length_share=(W * nodes.typical).sum(-1),
        gain=(W * np.sqrt(d / noise)).sum(-1), cross=(W * w.cross).sum(-1),
        trigger=(W * facts_.t).sum(-1), token=(W * facts_.s).sum(-1) / seeds.d)


def _mean(total: FloatArray, mass: FloatArray) -> FloatArray:
    """The mean total/mass on a grid, and the overall mean where there is no mass."""
    mean = total.sum(-1, keepdims=True) / np.maximum(mass.sum(-1, keepdims=True), EMPTY)
    return np.where(mass > EMPTY, total / np.maximum(mass, EMPTY), mean)


def _wins(above: FloatArray, V: FloatArray) -> FloatArray:
    """(R, F, U): the chance that all V - 1 competitors stay below a score, on the fine grid.

    From the chance that one does not, above (R, F, J): the doubly logarithmic curve is smooth, a cubic fills it in.
    """
    curve = np.log(-(V - 1) * np.log1p(-np.clip(above, TINY, BELOW_ONE)))
    ends = 2 * curve[..., :1] - curve[..., 1:2], 2 * curve[..., -1:] - curve[..., -2:-1]
    y = np.concatenate([ends[0], curve, ends[1]], axis=-1)
    between = (9 * (y[..., 1:-2] + y[..., 2:-1]) - y[..., :-3] - y[..., 3:]) / 16
    fine = np.empty((*curve.shape[:-1], FINE * (curve.shape[-1] - 1) + 1))
    fine[..., ::FINE], fine[..., 1::FINE] = curve, between
    lost = np.minimum(np.exp(fine), FAR)
    return np.exp(-np.pad(lost, ((0, 0), (0, 0), (PAD, PAD)), mode="edge"))


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
