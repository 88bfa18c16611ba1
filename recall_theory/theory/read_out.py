"""The facts of a seed, and how step three reads their values out: by their inner product, or through an MLP's neurons.

Facts are nodes over a token's embedding, its attention score and the value that is read out for it. The kernel is what
the two models differ by: everything after it is one law. docs/derivations/recall.md.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Protocol

import numpy as np

from ..numerics.arrays import TINY, FloatArray, Rows
from ..numerics.quadrature import gauss_coordinate, gauss_hermite, gauss_of_gamma
from .accuracy import Accuracy
from .seed import Seeds
from .training_attention import SPECK, best_of_noise, score_nodes, score_of_token

Rule = Callable[[FloatArray], tuple[FloatArray, FloatArray]]  # nodes and weights at these relative variances

MOST_SWELL = 1.0  # guard: acts at a few neurons, where tokens of high scores would be another scale
LEAST_LEFT = 1 / 20  # share of a variance that what is known of it leaves open; acts at d of a few


@dataclasses.dataclass(frozen=True)
class Facts(Rows):
    """Nodes over facts, fields (R, F): a row a seed. z is the token's embedding, w = z + e z_trig the value read out.

    weight: of a row it sums to 1. zeta: the token's standardised attention score. s = |w|^2, t = e z_trig.w,
    own = z.w. alpha: overlap of w with a token per unit of that token's score; alone: what it is if the direction of
    attention knows nothing of tokens.
    picked: chance that a sequence of another label, attended wrongly, attends to this token. top: 1 where its score is
    known to be the highest, else 0. alike: so many facts in a row have the same score.
    """

    alike: int
    weight: FloatArray
    zeta: FloatArray
    s: FloatArray
    t: FloatArray
    own: FloatArray
    alpha: FloatArray
    alone: FloatArray
    picked: FloatArray
    top: FloatArray


@dataclasses.dataclass(frozen=True)
class Tokens(Rows):
    """Nodes (R, F) over a token z, of which so many in a row are `alike` in score: weight, standardised score zeta,
    norm = |z|^2, and the part `across` of its overlap with the trigger that its score leaves open."""

    alike: int
    weight: FloatArray
    zeta: FloatArray
    norm: FloatArray
    across: FloatArray


def token_nodes(seeds: Seeds, u: FloatArray, w_u: FloatArray, n_trigger: int, free: int, lengths: Rule) -> Tokens:
    """A token's nodes: of its score, at normal quantiles u with weights (R, n), times n_trigger over its overlap with
    the trigger, times the rule of gamma variables `lengths` over its squared norm in all but `free` dimensions."""
    R, d, one = len(seeds.V), seeds.d[:, None], np.ones((len(seeds.V), 1))
    if seeds.sphere:
        p, w_p = gauss_coordinate(seeds.d - 1, n_trigger)
        q, w_q = one, one
    else:
        p, w_p = (np.broadcast_to(a, (R, n_trigger)) for a in gauss_hermite(n_trigger))
        q, w_q = lengths(2 / np.maximum(seeds.d - free, 1))
    shape = (R, u.shape[1], n_trigger, q.shape[1])

    def flat(a: FloatArray) -> FloatArray:
        return np.ascontiguousarray(np.broadcast_to(a, shape)).reshape(R, -1)

    weight = flat(w_u[:, :, None, None] * w_p[:, None, :, None] * w_q[:, None, None])
    zeta = flat(score_of_token(seeds, u)[:, :, None, None])
    p, q = flat(p[:, None, :, None]), flat(q[:, None, None])
    if seeds.sphere:
        norm, p = np.ones_like(zeta), np.sqrt(np.maximum(1 - zeta**2 / d, 0)) * p
    else:
        norm = (zeta**2 + p**2 + q * np.maximum(d - free, 0)) / d
    return Tokens(shape[2] * shape[3], weight, zeta, norm, np.sqrt(seeds.beside[:, None] / d) * p)


def facts(seeds: Seeds, accuracy: Accuracy, *, scores: bool) -> Facts:
    """Facts by their overlap with the trigger, their length and, unless attention is sure and it plays no part, their
    attention score.
    """
    R, e = len(seeds.V), seeds.e
    u, w_zeta = score_nodes(seeds, accuracy) if scores else (np.zeros((R, 1)), np.ones((R, 1)))
    top = np.zeros_like(u)
    if seeds.top is not None:  # its token is the last node
        one = 1 / seeds.V[:, None]
        u, w_zeta, top = (np.concatenate(pair, axis=1) for pair in (
            (u, seeds.top[:, None]), (w_zeta * (1 - one), one), (top, 1 + 0 * one)))
    n_zeta = u.shape[-1]
    # Without the trigger in the values a fact's overlap with it plays no part; beside scores it needs less.
    n_p = 1 if not e else accuracy.trigger if n_zeta == 1 else -(-accuracy.trigger // 2)
    free = (n_zeta > 1) + (n_p > 1)  # coordinates of z that have nodes of their own
    at = token_nodes(seeds, u, w_zeta, n_p, free, functools.partial(gauss_of_gamma, n=accuracy.length, root=True))
    picked = best_of_noise(seeds, at.zeta[:, ::at.alike], top)
    picked, top = (np.repeat(a, at.alike, axis=1) for a in (picked, top))
    d, tau, snr = seeds.d[:, None], seeds.tau[:, None], seeds.bounded_snr[:, None]
    tilt = snr * at.zeta / d + at.across
    # s is a square, which in one and two dimensions the rules over its parts may take below zero
    s = np.maximum(at.norm + e * (2 * tilt + tau), SPECK)
    alpha, alone = ((rise * at.zeta + e * snr) / d for rise in (seeds.rise[:, None], 1))
    return Facts(at.alike, at.weight, at.zeta, s, e * (tau + tilt), at.norm + e * tilt, alpha, alone, picked, top)


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
    swell, bare_swell (R,): slope of the logarithm of that variance in the token's score, as of K(j, j).
    common: the part of the variance, beside that by scores, which is the same for all facts k. together: correlation
    of two facts over the draw of the neurons. linear: squared slope of K in the overlap of two values. tied: slope of
    K(j, k) in what it is for the same token's value without the trigger, at most 1. tail: excess
    kurtosis of K(j, k) over tokens j that single neurons add beyond a gamma variable's of that skewness; 0 without an
    MLP. broader: what a gamma variable of that skewness has of such a kurtosis, in units of theirs.
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
    swell: FloatArray
    bare_swell: FloatArray
    common: FloatArray
    together: FloatArray
    linear: FloatArray
    tied: FloatArray
    tail: float = 0.0
    broader: float = np.inf
    draw: NeuronDraw | None = None


class ReadOut(Protocol):
    """How step three reads values out: by their inner product, or through the neurons of an MLP."""

    def moments(self, seeds: Seeds, facts: Facts) -> Kernel:
        """The kernel's moments for the values that are read out for the facts (R, F)."""

    def between(self, s1: FloatArray, s2: FloatArray, product: FloatArray) -> FloatArray:
        """The kernel, averaged over neurons, of values of these squared norms and this inner product."""

    def averaged(self) -> ReadOut:
        """The same at a single node over the draw of the neurons, for what that draw moves little."""


def swelling(exponent: FloatArray) -> FloatArray:
    """By how much a score that moves the logarithm of a square by this makes it larger."""
    return np.asarray(np.exp(np.clip(exponent, -MOST_SWELL, MOST_SWELL)))


def left_open(variance: FloatArray, slope: FloatArray, risen: FloatArray | float = 0.0) -> FloatArray:
    """What a variable of slope 1 in the attention score leaves of a variance, and of what it is less where slopes have
    `risen` by so much in the mean square; at least a small share of it."""
    return np.asarray(np.maximum(variance / (1 + risen / variance) - slope**2, LEAST_LEFT * variance))


class InnerProduct:
    """Val reads values out as they are: K(h, h') = h.h', normal over the other values."""

    def moments(self, seeds: Seeds, facts: Facts) -> Kernel:
        """Exact: given w, the overlaps z_j.w are independent N(0, s/d)."""
        d = seeds.d[:, None]
        token = left_open(facts.s / d, facts.alone, seeds.risen[:, None] / d**2)
        zero = np.zeros_like(facts.s)
        trigger = seeds.e * seeds.beside / seeds.d
        return Kernel(
            1, np.inf, weight=facts.weight, own=facts.s, usual=facts.t, mean=facts.t, slope=facts.alpha,
            variance=token, skewness=zero, bare_mean=zero, bare_slope=facts.alpha, bare_variance=token,
            bare_own=facts.own, swell=0 * seeds.V, bare_swell=0 * seeds.V,
            common=zero + trigger[:, None], together=zero, linear=zero + 1, tied=zero + 1)

    def between(self, s1: FloatArray, s2: FloatArray, product: FloatArray) -> FloatArray:
        """The inner product itself."""
        return product

    def averaged(self) -> InnerProduct:
        """It has no neurons."""
        return self
