"""Recall and end-to-end accuracy, averaged over seeds, with their spread from seed to seed.

Recall = E_seed E_fact E_x (1 - Q(x))^(V-1): facts at a seed, the correct label's logit x, and the chance Q(x) of one
competitor to exceed it. Accuracy weighs facts by their attention and adds what wrong picks answer. The kernel by which
values are read out is an argument. docs/derivations/recall.md has the derivation.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray

from .accuracy import Accuracy
from .batch import Batch, One
from .competitors import hazard, kinds
from .correct_label import nodes_of
from .fact import facts
from .read_out import InnerProduct, Neurons, ReadOut
from .seed import seed_law, tau_nodes
from .strengths import stored
from .training_attention import TINY, Classes, Seeds, attended_share, classes, sure_classes
from .variance import Law, law_of_score, scatter
from .wrong_answers import wrong_answers

__all__ = ["recall_and_accuracy"]

FloatArray = NDArray[np.float64]

ENTRIES = 150_000  # nodes computed at a time: what fits a processor's cache; decides no value
LARGEST = 5.0  # logarithm of the expected number of competitors above, from where on e^-e^x is 0


@dataclasses.dataclass(frozen=True)
class Rules:
    """Which quadrature a setting gets: one class of attention if it is sure, few nodes if almost; every count a kind if
    counts are far apart; so many points over the logit."""

    sure: bool
    almost: bool
    exact: bool
    points: int


def rules_of(one: One, miss: float, accuracy: Accuracy) -> Rules:
    """The rules of a setting whose attention misses so much."""
    V, d, e, lam = one.V, one.d, one.e, one.N / one.V
    power = (V - 1) * (e / lam + (1 + 1 / lam) * (1 + e) / d)
    apart = e / lam * np.sqrt(d / power)  # logits between two counts of a competitor
    return Rules(sure=bool(miss < accuracy.sure), almost=bool(miss < accuracy.almost),
                 exact=bool(apart > accuracy.apart), points=int(np.ceil(accuracy.logit * np.sqrt(1 + d / V))))


def recall_given(seeds: Seeds, read_out: ReadOut, rules: Rules, accuracy: Accuracy) -> tuple[FloatArray, ...]:
    """(R,) each: recall, E[share recall] over facts, accuracy from wrong picks, variance of recall at the row, and the
    attention of training, E share."""
    if rules.sure:
        groups, n_zeta = sure_classes(seeds), 1
    else:
        groups, n_zeta = classes(seeds, accuracy), -(-accuracy.score // (2 if rules.almost else 1))
    read = facts(seeds, n_zeta, accuracy)
    share, share_weight = np.ones((*read.s.shape, 1)), np.ones((*read.s.shape, 1))
    if not rules.sure:
        share, share_weight = attended_share(seeds, read.zeta, accuracy.outranking)
    kernel = read_out.moments(seeds, read)
    D = kernel.nodes
    share, share_weight, picked = (np.repeat(a, D, axis=1) for a in (share, share_weight, read.picked))
    parts, start, rows = [], 0, 1
    while start < len(seeds.V):
        i = slice(start, start + rows)
        part, of = seeds.at(i), kernel.at(i)
        group = Classes(*(getattr(groups, f.name)[i] for f in dataclasses.fields(groups)))
        store = stored(part, group, of, picked[i])
        nodes = nodes_of(part, of, store, share[i], share_weight[i], rules.exact, accuracy)
        law = hazard(part, kinds(part, group, of, store, rules.exact, accuracy), nodes, rules.points, accuracy)
        shape = (*of.own.shape, -1)
        log = law.at(nodes.logit.reshape(shape), nodes.gain.reshape(shape))
        right = np.exp(-np.exp(np.minimum(log, LARGEST))).reshape(nodes.mass.shape)
        each = (nodes.mass * right).sum(-1)  # (R, E, P)
        W = of.weight
        recall = (W * each.sum(-1)).sum(-1)
        attended = (W * (each * nodes.share).sum(-1)).sum(-1)
        mass = (W[..., None] * nodes.mass.reshape(shape)).reshape(len(W), -1)
        hazards, law_mass = law_of_score(log.reshape(len(W), -1), mass, accuracy.pair)

        def mean(a: FloatArray, W: FloatArray = W) -> FloatArray:
            return np.asarray((W * a).sum(-1))

        logit = nodes.logit.reshape(shape)
        middle = mean((nodes.mass.reshape(shape) * logit).sum(-1))
        varied = mean((nodes.mass.reshape(shape) * (logit - middle[:, None, None])**2).sum(-1))
        by_neurons = each.sum(-1).reshape(len(W), -1, D)
        w_neurons = W.reshape(len(W), -1, D)
        fact = np.maximum(w_neurons.sum(-1), TINY)
        usual = (w_neurons * by_neurons).sum(-1) / fact
        moved = ((w_neurons * (by_neurons - usual[..., None])**2).sum(-1)).sum(-1)
        right_share = (group.weight * group.share * (group.share + 1 / part.lam[:, None])).sum(-1)
        d = part.d
        own = scatter(part, Law(
            recall=recall, hazards=hazards, mass=law_mass,
            surplus=mean((each * nodes.surplus).sum(-1)), noise=np.minimum(mean(nodes.noise) / np.maximum(varied, TINY), 1),
            shared=mean(store.shared), length=mean(nodes.length),
            gain=mean(np.sqrt(d[:, None] / (np.maximum(part.V - 2, 1)[:, None] * store.square))),
            cross=right_share / d * mean(of.linear / store.square), mean=mean(of.mean),
            token=mean(of.variance + of.slope**2), neurons=moved * mean(of.together)), accuracy)
        parts.append((recall, attended, own))
        start += rows
        rows = max(1, int(ENTRIES / max(nodes.mass[0].size, 1)))
    recall, attended, own = (np.concatenate(column) for column in zip(*parts, strict=True))
    wrong = 0 * recall if rules.sure else wrong_answers(seeds, groups, read_out, accuracy)
    return recall, attended, wrong, own, (read.weight * (share[:, ::D] * share_weight[:, ::D]).sum(-1)).sum(-1)


def seeds_of(one: One, sure: bool, accuracy: Accuracy) -> tuple[Seeds, FloatArray]:
    """The seeds of a setting at which recall is computed, and their weights (R,)."""
    if sure:
        tau, weights = tau_nodes(np.array([one.d]), one.embedding, accuracy.seed_tau)
        zero = np.zeros(tau.shape[1])
        L, shape = 1.0, (tau[0], zero, zero, zero)
        weight = weights[0]
    else:
        fewer = dataclasses.replace(accuracy, tau_nodes=accuracy.seed_tau, behind_nodes=accuracy.seed_behind,
                                    ahead_nodes=accuracy.seed_ahead * (2 if one.sphere else 1))
        law = seed_law(one.V, one.L, one.d, one.N, one.embedding, bool(one.e), m=one.m, phi=one.phi, accuracy=fewer)
        used = law.weight[0] > 0
        L, shape = one.L, tuple(a[0][used] for a in (law.tau, law.snr, law.skew, law.excess))
        weight = law.weight[0][used]
        zero = np.zeros_like(weight)
    return Seeds(zero + one.V, zero + L, zero + one.d, zero + one.N, *shape, one.e, one.sphere), weight


def recall_and_accuracy(batch: Batch, missed: FloatArray, finite: FloatArray,
                        accuracy: Accuracy) -> dict[str, FloatArray]:
    """Recall and accuracy with their standard deviations over seeds, each (B,).

    missed (B,): what attention misses. finite (B,): variance of attention at a seed's tau and lead.
    """
    out = {name: np.zeros(len(missed)) for name in ("recall", "accuracy", "recall_std", "accuracy_std")}
    for i, one in enumerate(batch):
        rules = rules_of(one, float(missed[i]), accuracy)
        read_out: ReadOut = InnerProduct()
        if one.phi is not None and one.m is not None:
            read_out = Neurons(one.phi, one.m, one.d, one.sphere, accuracy)
        seeds, weight = seeds_of(one, rules.sure, accuracy)
        recall, attended, wrong, own, attention = recall_given(seeds, read_out, rules, accuracy)
        if rules.sure:
            attended = attended * (1 - missed[i])
        share = np.minimum(attended / np.maximum(recall, TINY), 1)
        same = (seeds.tau[:, None] == seeds.tau) * weight
        turn = attention - (same @ attention) / same.sum(-1)  # at the same tau
        for name, value, scale in (("recall", recall, 1.0), ("accuracy", attended + wrong, share)):
            mean = weight @ value
            slope = np.clip((weight @ (turn * value)) / max(weight @ turn**2, TINY), 0, 1)
            out[name][i] = mean
            out[name + "_std"][i] = np.sqrt(weight @ (value - mean)**2 + weight @ (own * scale**2)
                                            + slope**2 * finite[i])
    return out
