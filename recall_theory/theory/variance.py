"""The variance of recall from seed to seed, at seeds that share |z_trig|^2 and the lead.

V^-1 times that of one fact, and the covariance of two facts: their competitors are the same labels, each is the other's
competitor, the lengths of their noise move together, and so do neurons. docs/derivations/recall.md has the derivation.
"""

from __future__ import annotations

import dataclasses
import functools

import numpy as np
from scipy.special import ndtr, ndtri

from ..numerics.array_functions import normal_below
from ..numerics.arrays import TINY, FloatArray, copied
from ..numerics.quadrature import gauss_coordinate, gauss_legendre, gauss_of_gamma
from . import fact_loops
from .accuracy import Accuracy
from .competitors import Kinds, have_tails, tails_in_power
from .correct_label import OwnLabel
from .formulas import recall_formulas as rf
from .read_out import LEAST_LEFT, Kernel
from .seed import Seeds
from .strengths import Stored
from .training_attention import SPECK

__all__ = ["Law", "answers", "scatter"]

EXPECTED_IF_LOST, EXPECTED_IF_WON = 12.0, 1e-4  # competitors above: with so many (few) a fact is as good as lost (won)
NEARLY_LOST, NEARLY_WON = 5.0, 1e-2  # the same for the nodes over the noise, which have one each beyond
NEAREST = 8  # points over the logit, through which a polynomial gives the one in their middle
FULL = 1 - 1e-6  # greatest correlation of two facts' competitors; acts where nearly all noise is shared
LEAST_CHANCE = 1 / 100  # of a competitor to stay below, where so few labels are left that no fact is ever lost


@dataclasses.dataclass(frozen=True)
class Law:
    """What facts of a seed are like. On points (R, A) of the logarithm of the expected number of competitors above:

    mass: of facts. logit: the own. noise: of the output in it. shift, left: mean and variance of the
    logit that such a fact's label has where another fact is read out. Logits are in a competitor's standard deviations.
    Averages over facts (R,): surplus: Cov(recall, n_k). shared: correlation of two facts' competitors. length: the part
    Q/Theta of the lead that the noise's length moves. gain: of a competitor's logit per unit of its strength. cross: of
    a fact's noise per unit of its overlap with another fact. pair, triple, four: means of products of K around a cycle
    of two, three and four facts, relative to a competitor's squared strength to the power 1, 3/2 and 2. mean, token: of
    the kernel with other values, and its variance. spread: variance of a competitor in units of its output's noise.
    neurons: variance that the neurons' draw brings to all facts together.
    """

    mass: FloatArray
    logit: FloatArray
    noise: FloatArray
    shift: FloatArray
    left: FloatArray
    surplus: FloatArray
    shared: FloatArray
    length: FloatArray
    gain: FloatArray
    cross: FloatArray
    pair: FloatArray
    triple: FloatArray
    four: FloatArray
    mean: FloatArray
    token: FloatArray
    spread: FloatArray
    neurons: FloatArray


def answers(seeds: Seeds, kernel: Kernel, stored: Stored, own: OwnLabel, kinds: Kinds, accuracy: Accuracy, *,
            weight: FloatArray) -> tuple[FloatArray, Law]:
    """The chance (R, E, P) that a fact is answered rightly, at each node of its own label, and the law of such facts.
    weight (R,): of the seeds."""
    V, d, lam, groups = seeds.V, seeds.d, seeds.lam, stored.groups
    W = kernel.weight

    def mean(a: FloatArray) -> FloatArray:
        return np.asarray((W * a).sum(-1))

    wide = np.sqrt(1 + d / V * mean(stored.known))
    gain = mean(np.sqrt(d[:, None] / (np.maximum(V - 2, 1)[:, None] * stored.square))) / wide
    shared = np.clip(mean(stored.shared), 0, 1 - SPECK)
    # the fact's label where other facts are read out: K is symmetric, and its mean over them that of the fact itself
    strength = (own.surplus / lam[:, None, None] + own.share) * kernel.usual[..., None]
    strength = strength - mean((own.weight * strength).sum(-1))[:, None, None]
    moved = gain[:, None, None] * strength
    power, square = kinds.power[..., None], own.lead**2
    power = power + square / np.maximum(V - 1, 1)[:, None, None]
    wider = 1 + d[:, None, None] * own.astray / power  # squared: the noise of the own output to a competitor's
    third = rf.third(kinds.mean, kinds.variance, np.maximum(kinds.by_kernel, 0)**1.5 * kinds.skewness)
    lean = rf.power_lean((groups.weight * groups.share).sum(-1, keepdims=True), (kinds.weight * third).sum(-1),
                         stored.square, np.maximum(kinds.varied * V[:, None], 2))
    in_all = weight[:, None] * W
    if have_tails(seeds, kernel, accuracy):
        accuracy = dataclasses.replace(accuracy, logit=2 * accuracy.logit)
    varied = kinds.varied + tails_in_power(seeds, kernel, accuracy)
    rows = _rows(seeds, varied, shared, wide, accuracy)
    coarse = _rows(seeds, varied, shared, wide, accuracy.coarse()) if in_all.min() < accuracy.slight else rows
    facts = copied(fact_loops.Facts, W, in_all, kinds.power, kinds.varied / 4, lean, own.usual, own.weight,
                   own.lead, np.sqrt(wider), moved)
    each, totals = fact_loops.answers(rows, coarse, facts, _competitors(kinds, V))

    split = np.arange(totals.shape[1])[:, None] / accuracy.cells - np.arange(accuracy.pair)
    at_points = np.moveaxis(totals, 1, 2) @ np.maximum(1 - np.abs(split), 0)
    mass, scaled, noise, shift, shift_square = np.moveaxis(at_points, 1, 0)
    scaled = scaled * (np.sqrt(1 + d / V) / wide)[:, None]  # there all of a competitor's square is its own strength
    whole = np.maximum(mass, TINY)
    changed = (shared / wide)[:, None, None]**2 * wider * power / (power + square) + moved**2
    changed = mean((own.weight * changed).sum(-1))[:, None]

    recall = (own.weight * each).sum(-1)
    neurons = np.zeros_like(V) if kernel.draw is None else kernel.draw.variance_in_common(recall)
    theta = mean(stored.square)
    unit = (groups.weight * groups.share * (groups.share + 1 / lam[:, None])).sum(-1) / theta
    pair, triple, four = _cycles(mean(kernel.variance - kernel.common), mean(kernel.linear), d, kernel.width)
    return each, Law(
        mass=mass, logit=scaled / whole, noise=noise / whole,
        shift=shift / whole,
        left=1 - changed + shift_square / whole - (shift / whole)**2,
        surplus=mean((own.weight * each * own.surplus).sum(-1)), shared=shared,
        length=mean(kinds.power / (kinds.power + np.maximum(kernel.own - kernel.mean, 0)**2)), gain=gain * wide,
        cross=unit * mean(kernel.linear) / d, pair=unit / (1 + 1 / lam) * pair, triple=unit * triple / np.sqrt(theta),
        four=unit**2 * four, mean=mean(kernel.mean), token=mean(kernel.variance + kernel.slope**2),
        spread=wide**2, neurons=neurons)


def _competitors(kinds: Kinds, V: FloatArray) -> fact_loops.Competitors:
    """The kinds with the scores beyond which they decide nothing more."""
    others = np.maximum(V - 1, 1)
    expected = others[:, None, None] * kinds.weight
    far = np.stack([np.where(expected > 2 * won, -ndtri(won / np.maximum(expected, 2 * won)), np.inf)
                    for won in (EXPECTED_IF_WON, NEARLY_WON)])
    near = np.stack([-ndtri(np.minimum(lost / others, 1 - LEAST_CHANCE)) for lost in (EXPECTED_IF_LOST, NEARLY_LOST)])
    return copied(fact_loops.Competitors, kinds.weight, far, kinds.mean, kinds.variance, kinds.by_kernel,
                  kinds.skewness, kinds.broader, near, kinds.group, kinds.labels)


def _rows(seeds: Seeds, varied: FloatArray, shared: FloatArray, wide: FloatArray,
          accuracy: Accuracy) -> fact_loops.Rows:
    """The seeds, with the rules of quadrature over a fact's lengths, the relative variance of the competitors' power
    being `varied` (R, E), and over its noise, and of the hazard's table."""
    power, w_power = gauss_of_gamma(varied, accuracy.power, root=True)
    chi, w_chi = gauss_of_gamma(2 / seeds.d, accuracy.chi, root=True)
    lengths = (a.reshape(*power.shape[:2], -1) for a in (
        power[..., None] + 0 * chi[:, None, None], 0 * power[..., None] + chi[:, None, None],
        np.maximum(w_power, 0)[..., None] * w_chi[:, None, None]))  # joined by splines, they may be just below 0
    return copied(fact_loops.Rows, seeds.V, seeds.d, shared, wide, *lengths, *gauss_legendre(accuracy.noise),
                  *_points_of_gain(accuracy.gain), _to_points(accuracy.logit), accuracy.cells * (accuracy.pair - 1) + 1,
                  accuracy.slight, accuracy.negligible, seeds.sphere)


@functools.cache
def _to_points(n: int) -> FloatArray:
    """(n, 2 n - 1): values at n even points, and in the middle of any two by the polynomial through the nearest."""
    out, points = np.zeros((n, 2 * n - 1)), np.arange(float(n))
    out[:, ::2] = np.eye(n)
    for i in range(n - 1):
        first = min(max(i + 1 - NEAREST // 2, 0), max(n - NEAREST, 0))
        near = slice(first, first + NEAREST)
        weight = _barycentric(points[near])[1] / (i + 1 / 2 - points[near])
        out[near, 2 * i + 1] = weight / weight.sum()
    return out


@functools.cache
def _points_of_gain(n: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Chebyshev's points (n,), and of the polynomial through values there what takes these to the coefficients of
    powers, and to its derivative at the points (n, n)."""
    x = np.cos(np.pi * (np.arange(n) + 1 / 2) / n)
    gap, weight = _barycentric(x)
    slopes = weight / weight[:, None] / gap
    np.fill_diagonal(slopes, 0)
    return x, np.linalg.inv(np.vander(x, increasing=True)), slopes - np.diag(slopes.sum(axis=1))


def _barycentric(x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The gaps (n, n) between points x (n,), 1 from one to itself, and the weights (n,) of the polynomial through them.
    """
    gap = x[:, None] - x + np.eye(len(x))
    return gap, 1 / gap.prod(axis=1)


def _cycles(variance: FloatArray, linear: FloatArray, d: FloatArray,
            m: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """E K(a, b)^2, E K(a, b) K(b, c) K(c, a) and the same of four facts, apart from what all share, (R,) each.

    Traces of the powers of the kernel as an operator, from its variance and squared slope: the neurons' covariances
    over values are slope u_i.u_j beside the variance of one, u_i random unit vectors of d dimensions.
    """
    slope, rest = np.sqrt(linear), np.maximum(variance - linear / d, 0)
    return rf.cycle_two(slope, d, rest), rf.cycle_three(slope, d, m, rest), rf.cycle_four(slope, d, m, rest)


def _joint_recall(law: Law, seeds: Seeds, A: FloatArray, overlap: FloatArray, tie: FloatArray,
                  accuracy: Accuracy) -> FloatArray:
    """(R,): the chance that two facts are both answered rightly, at own logits that are quantiles A (R, A) of one
    competitor. overlap (R,): mean square of the overlap of two facts' competitors beside `shared`. tie (R,): of a
    fact's label where another is read out, as the facts' overlap K is part of both noises and of that overlap."""
    V, f0, spread = (a[:, None] for a in (seeds.V, law.shared, law.spread))
    x, w = gauss_coordinate((1 - law.shared**2)**2 / overlap, accuracy.overlap)  # as two directions' overlap is
    off = np.sqrt(overlap)[:, None] * x
    moved = law.shift[:, None] + off[..., None] * (law.noise + tie[:, None])[:, None]
    left = law.left[:, None] - ((2 * f0 + off) * off / spread + (tie**2 * overlap)[:, None])[..., None]
    # of each one (third axis) beside each other (last)
    mixed = (2 * law.pair / seeds.V)[:, None, None] * (law.logit - law.noise)[..., None] * law.noise[:, None]
    variance = np.maximum(left[:, :, None] + mixed[:, None], LEAST_LEFT)
    alone = normal_below((law.logit[:, None, :, None] - moved[:, :, None]) / np.sqrt(variance))
    alone = np.log(np.maximum(alone, TINY))
    one, other = np.tril_indices(A.shape[1])

    end = np.arcsin(np.clip(f0 + off, -FULL, FULL))[..., None]
    angle, w_angle = gauss_legendre(accuracy.angle)
    s = np.sin(end * angle)[:, :, None]
    x, y = (A[:, None, i, None] for i in (one, other))
    # Plackett: d Phi_2/d correlation along the arc
    excess = np.exp(-(x * x + y * y - 2 * x * y * s) / (2 * (1 - s * s))) @ w_angle
    below = ndtr(A)
    both = (below[:, one] * below[:, other])[:, None] + excess * end / (2 * np.pi)
    log = np.maximum(V - 2, 0)[..., None] * np.log(np.maximum(both, TINY))
    log += alone[:, :, one, other] + alone[:, :, other, one]
    share = law.mass[:, one] * law.mass[:, other] * np.where(one == other, 1, 2)
    return np.asarray((w[..., None] * share[:, None] * np.exp(log)).sum((1, 2)))


def scatter(seeds: Seeds, law: Law, accuracy: Accuracy) -> FloatArray:
    """(R,): variance of recall over seeds at a row."""
    V, d, lam, e = seeds.V, seeds.d, seeds.lam, seeds.e
    h, pairs = law.mass, np.maximum(V - 1, 1)[:, None]
    log_below = -np.exp(np.linspace(fact_loops.LOG_WON, fact_loops.LOG_LOST, accuracy.pair)) / pairs
    A = -ndtri(np.clip(-np.expm1(log_below), TINY, 1 - SPECK))  # the own logit as the quantile of one competitor
    alone = np.exp(pairs * log_below)
    recall = (h * alone).sum(-1)
    f0, kappa, g = law.shared, law.cross, law.gain
    spread = law.spread
    turn = kappa * (1 + law.mean * d / (lam + 1)) * (1 - f0)  # of f per unit of a fact's z.z_trig
    inputs = law.four + 2 * e * seeds.tau * turn**2 / d + (1 - f0) ** 2 / V
    overlap = (1 - f0**2) ** 2 / d + inputs
    hazard = h * alone * pairs * np.exp(-A * A / 2 - log_below) / np.sqrt(2 * np.pi)
    middle = law.logit - law.noise
    push, lead = hazard.sum(-1), (hazard * middle).sum(-1)  # d recall/d(own logit), and /d(its lead's logarithm)
    widen = (hazard * A).sum(-1)  # of a competitor's log deviation
    joint = _joint_recall(law, seeds, A, overlap, np.sqrt(d / V / spread) * law.triple / overlap, accuracy)
    noises = push**2 / spread * law.pair / V - 2 * push / np.sqrt(spread) * lead * law.triple / np.sqrt(d * V)
    lengths = lead**2 * ((f0**2 + inputs) / (2 * d) + law.length**2 * f0**2 / (2 * V))
    rival = push * g / np.sqrt(spread) * law.mean + widen * g**2 / spread * law.token
    counts = (law.surplus - rival) ** 2 / lam
    found = (recall - counts) / V - recall**2 + (1 - 1 / V) * joint + noises + lengths + law.neurons
    part = V * recall - np.floor(V * recall)  # recall is a multiple of 1/V: no law of this mean varies less
    return np.asarray(np.clip(found, part * (1 - part) / V**2, recall * (1 - recall)))
