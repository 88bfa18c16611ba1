"""The facts of a seed, and how step three reads their values out: by their inner product, or through an MLP's neurons.

Facts are nodes over a token's embedding, its attention score and the value that is read out for it. The kernel is what
the two models differ by: everything after it is one law. docs/derivations/recall.md.
"""

from __future__ import annotations

import dataclasses
from typing import Protocol

import numpy as np

from ..activations import Activation
from ..numerics.arrays import TINY, FloatArray, Rows
from ..numerics.quadrature import gauss_coordinate, gauss_hermite, gauss_of_gamma
from .accuracy import Accuracy
from .formulas import recall_formulas
from .kernel import NeuronKernel, ValueRead
from .training_attention import (
    BELOW_ONE,
    SPECK,
    Seeds,
    best_pick,
    chance_above,
    quantile_of_score,
    score_nodes,
    score_of_token,
)

LEAST_LEFT = 1 / 20  # share of a variance that what is known of it leaves open; acts at d of a few


@dataclasses.dataclass(frozen=True)
class Facts(Rows):
    """Nodes over facts, fields (R, F): a row a seed. z is the token's embedding, w = z + e z_trig the value read out.

    weight: of a row it sums to 1. zeta: the token's standardised attention score. norm = |z|^2, tilt = z_trig.z,
    s = |w|^2, t = e z_trig.w, own = z.w. alpha: overlap of w with a token per unit of that token's score.
    picked: chance that a sequence of another label, attended wrongly, attends to this token. top: 1 where its score is
    known to be the highest, else 0. alike: so many facts in a row have the same score.
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
    top: FloatArray


def facts(seeds: Seeds, accuracy: Accuracy, *, scores: bool) -> Facts:
    """Facts by their overlap with the trigger, their length and, unless attention is sure and it plays no part, their
    attention score.
    """
    R, e = len(seeds.V), seeds.e
    d = seeds.d[:, None, None, None]
    u, w_zeta = score_nodes(seeds, accuracy) if scores else (np.zeros((R, 1)), np.ones((R, 1)))
    top = np.zeros_like(u)
    if seeds.top is not None:  # its token is the last node
        one = 1 / seeds.V[:, None]
        u, w_zeta, top = (np.concatenate(pair, axis=1) for pair in (
            (u, seeds.top[:, None]), (w_zeta * (1 - one), one), (top, 1 + 0 * one)))
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
    above = np.minimum(chance_above(seeds, quantile_of_score(seeds, zeta[:, :, 0, 0])), BELOW_ONE)
    missing = best_pick(seeds)[:, None]
    # a token that r others outrank is picked with (1 - missing)^r missing
    picked = missing * np.exp((seeds.V[:, None] - 1) * np.log1p(-missing * above))
    if seeds.top is not None:
        picked = np.where(top > 0, missing, picked * (1 - missing) / (1 - missing * above))
    shape = (R, n_zeta, n_p, q.shape[-1])

    def flat(a: object) -> FloatArray:
        return np.ascontiguousarray(np.broadcast_to(np.asarray(a, dtype=float), shape)).reshape(R, -1)

    # s is a square, which in one and two dimensions the rules over its parts may take below zero
    return Facts(n_p * q.shape[-1], flat(w_zeta[:, :, None, None] * w_p * w_q), flat(zeta), flat(norm), flat(tilt),
                 np.maximum(flat(norm + e * (2 * tilt + tau)), SPECK), flat(e * (tau + tilt)),
                 flat(norm + e * tilt), flat((zeta + e * snr) / d), flat(picked[:, :, None, None]),
                 flat(top[:, :, None, None]))


# --- the kernel -------------------------------------------------------------------------------------------

@dataclasses.dataclass(frozen=True)
class NeuronDraw(Rows):
    """The draw of the neurons at each of F facts, D nodes of weight (R, F, D). back (R, S, F D/S, n) takes values at n
    nodes over the facts of each of S scores to all of these; shared (R,) is the part of recall's variance over the draw
    that all facts have in common."""

    weight: FloatArray
    back: FloatArray
    shared: FloatArray

    def variance(self, values: FloatArray) -> FloatArray:
        """(R,): the variance over the draw, at a fact, of values (R, F D)."""
        values, whole = values.reshape(self.weight.shape), np.maximum(self.weight.sum(-1), TINY)
        usual = (self.weight * values).sum(-1) / whole
        return np.asarray((self.weight * (values - usual[..., None])**2).sum((-1, -2)))

    def variance_in_common(self, recall: FloatArray) -> FloatArray:
        """(R,): what facts have in common of the variance of their recall (R, S n)."""
        recall = recall.reshape(len(recall), self.back.shape[1], -1, 1)
        return self.shared * self.variance(np.clip(self.back @ recall, 0, 1))


@dataclasses.dataclass(frozen=True)
class Kernel(Rows):
    """Moments of the kernel K(j, k) of other labels' values j with the value k that is read out, fields (R, E).

    An entry is a fact at a node of what the neurons' draw does to it (`nodes` of them a fact; 1 without an MLP),
    of which there are `width`. weight sums to 1 over a row. own: K(k, k). usual: the mean of K(j, k) over j and that
    draw. mean, slope, variance, skewness: of K(j, k) over tokens j, whose mean rises by `slope` per unit of the token's
    attention score; variance and skewness are those left at a given score.
    bare_mean, bare_slope, bare_variance: the same for values without the trigger; bare_own: K(z_k, k).
    power_variance: of the competitors' total strength, a gamma variable, over the draw of labels, relative.
    common: the part of the variance, beside that by scores, which is the same for all facts k. together: correlation
    of two facts over the draw of the neurons. linear: squared slope of K in the overlap of two values. tail: excess
    kurtosis of K(j, k) over tokens j that single neurons add; 0 without an MLP.
    """

    nodes: int
    width: float
    weight: FloatArray
    own: FloatArray
    usual: FloatArray
    mean: FloatArray
    slope: FloatArray
    variance: FloatArray
    skewness: FloatArray
    bare_mean: FloatArray
    bare_slope: FloatArray
    bare_variance: FloatArray
    bare_own: FloatArray
    power_variance: FloatArray
    common: FloatArray
    together: FloatArray
    linear: FloatArray
    tail: float = 0.0
    draw: NeuronDraw | None = None


class ReadOut(Protocol):
    """How step three reads values out: by their inner product, or through the neurons of an MLP."""

    def moments(self, seeds: Seeds, facts: Facts) -> Kernel:
        """The kernel's moments for the values that are read out for the facts (R, F)."""

    def between(self, s1: FloatArray, s2: FloatArray, product: FloatArray) -> FloatArray:
        """The kernel, averaged over neurons, of values of these squared norms and this inner product."""


def power_variance(seeds: Seeds, mean: FloatArray, variance: FloatArray, kurtosis: FloatArray | float) -> FloatArray:
    """Relative variance (R, E) of sum_j theta_j^2 over the draw of V - 1 independent labels of Poisson counts.

    (E theta^4/(E theta^2)^2 - 1)/V at right attention, for kernels of these moments, normal where `kurtosis` is 3.
    """
    relative = recall_formulas.power_variance(seeds.V[:, None], seeds.lam[:, None], mean, variance, kurtosis)
    return np.asarray(np.maximum(relative, 0))


class InnerProduct:
    """Val reads values out as they are: K(h, h') = h.h', normal over the other values."""

    def moments(self, seeds: Seeds, facts: Facts) -> Kernel:
        """Exact: given w, the overlaps z_j.w are independent N(0, s/d)."""
        d = seeds.d[:, None]
        token = np.maximum(facts.s / d - facts.alpha**2, facts.s / d * LEAST_LEFT)
        zero = np.zeros_like(facts.s)
        walk = power_variance(seeds, facts.t, facts.s / d, 3 * d / (d + 2) if seeds.sphere else 3)
        trigger = seeds.e * np.maximum(seeds.tau - seeds.snr**2 / seeds.d, 0)
        return Kernel(1, np.inf, facts.weight, facts.s, facts.t, facts.t, facts.alpha, token, zero, zero, facts.alpha,
                      token, facts.own, walk, zero + (trigger / seeds.d)[:, None], zero, zero + 1)

    def between(self, s1: FloatArray, s2: FloatArray, product: FloatArray) -> FloatArray:
        """The inner product itself."""
        return product


@dataclasses.dataclass(frozen=True)
class Neurons:
    """Through m random neurons of activation phi, on values of d dimensions."""

    phi: Activation
    m: float
    d: float
    sphere: bool
    accuracy: Accuracy

    def moments(self, seeds: Seeds, facts: Facts) -> Kernel:
        """The moments at nodes over the draw of the neurons, `kernel.NeuronKernel`; all seeds of one setting."""
        e = seeds.e
        snr = np.clip(seeds.snr, -np.sqrt(seeds.tau * seeds.d), np.sqrt(seeds.tau * seeds.d))
        read = ValueRead(facts.s, facts.t, e * seeds.tau[:, None], facts.alpha, (e * snr / seeds.d)[:, None])
        found = NeuronKernel(self.phi, self.m, self.d, self.sphere, self.accuracy).strengths(read)
        R, F, D = found.weight.shape
        trigger, length, neurons = ((facts.weight * part).sum(-1) for part in found.common)
        common = trigger**2 * (1 - e * snr**2 / (seeds.tau * seeds.d)) + length**2 + neurons

        def flat(a: FloatArray) -> FloatArray:
            return np.ascontiguousarray(np.broadcast_to(a, (R, F, D))).reshape(R, -1)

        variance = np.maximum(found.power - found.slope**2, LEAST_LEFT * found.power)
        bare = np.maximum(found.wrong_power - found.wrong_slope**2, LEAST_LEFT * found.wrong_power)
        mean, power = flat(found.mean), flat(found.power)
        walk = power_variance(seeds, mean, power, 3 * self.d / (self.d + 2) if self.sphere else 3)
        usual = np.repeat((found.weight * found.mean).sum(-1), D, axis=1)
        return Kernel(D, self.m, flat(facts.weight[..., None] * found.weight), flat(found.own), usual, mean,
                      flat(found.slope), flat(variance), flat(found.third / variance**(3 / 2)), flat(found.wrong_mean),
                      flat(found.wrong_slope), flat(bare), flat(found.itself), walk,
                      flat(common[:, None, None]), flat(found.together), flat(found.linear), found.tail)

    def between(self, s1: FloatArray, s2: FloatArray, product: FloatArray) -> FloatArray:
        """E phi(u) phi(v) over a neuron's weights."""
        x, p = gauss_hermite(self.accuracy.neuron_other)
        s1 = np.maximum(s1, SPECK)  # a square, which scores far out take below zero
        along = (product / np.sqrt(s1))[..., None, None]
        aside = np.sqrt(np.maximum(s2[..., None, None] - along**2, 0))
        beside = (self.phi.phi(along * x[:, None] + aside * x) * p).sum(-1)
        return np.asarray((self.phi.phi(np.sqrt(s1)[..., None] * x) * beside * p).sum(-1))
