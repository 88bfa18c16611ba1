"""The variance of recall from seed to seed, at seeds that share |z_trig|^2 and the lead.

V^-1 times that of one fact, and the covariance of two facts: their competitors are the same labels, each is the other's
competitor, the lengths of their noise move together, and so do neurons. docs/derivations/recall.md has the derivation.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from scipy.special import log_ndtr, ndtr, ndtri

from ..numerics.arrays import TINY, FloatArray
from ..numerics.quadrature import gauss_coordinate, gauss_legendre
from .accuracy import Accuracy
from .correct_label import Nodes
from .formulas import recall_formulas as rf
from .read_out import LEAST_LEFT, Kernel
from .strengths import Stored
from .training_attention import SPECK, Classes, Seeds

__all__ = ["Law", "law_of_facts", "scatter"]


FULL = 1 - 1e-6  # greatest correlation of two facts' competitors; acts where nearly all noise is shared
LOG_WON, LOG_LOST = -9.0, 2.5  # logarithms of the expected competitors above, beyond which a fact is won, or lost


@dataclasses.dataclass(frozen=True)
class Law:
    """What facts of a seed are like. On points (R, A) of the logarithm of the expected number of competitors above:

    hazards: these. mass: of facts. logit: the own. noise: of the output in it. shift, left: mean and variance of the
    logit that such a fact's label has where another fact is read out. Logits are in a competitor's standard deviations.
    Averages over facts (R,): surplus: Cov(recall, n_k). shared: correlation of two facts' competitors. length: the part
    Q/Theta of the lead that the noise's length moves. gain: of a competitor's logit per unit of its strength. cross: of
    a fact's noise per unit of its overlap with another fact. pair, triple, four: means of products of K around a cycle
    of two, three and four facts, relative to a competitor's squared strength to the power 1, 3/2 and 2. mean, token: of
    the kernel with other values, and its variance. neurons: variance that the neurons' draw brings to all facts
    together.
    """

    hazards: FloatArray
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
    neurons: FloatArray


def law_of_facts(seeds: Seeds, groups: Classes, kernel: Kernel, stored: Stored, nodes: Nodes, accuracy: Accuracy,
                 *, right: FloatArray, log: FloatArray) -> Law:
    """The law from the nodes over facts; right, log (R, E, P, M): chance of recall, and the hazards' logarithms."""
    V, d, lam = seeds.V, seeds.d, seeds.lam
    W, D = kernel.weight, kernel.nodes
    R = len(V)

    def mean(a: FloatArray) -> FloatArray:
        return np.asarray((W * a).sum(-1))

    def full(a: FloatArray) -> FloatArray:
        return a[:, None, None, None]

    wide = np.sqrt(1 + d / V)
    gain = mean(np.sqrt(d[:, None] / (np.maximum(V - 2, 1)[:, None] * stored.square))) / wide
    shared = np.clip(mean(stored.shared), 0, 1 - SPECK)
    of_count = nodes.mass.sum(-1)  # (R, E, P)
    middle = (nodes.mass * nodes.logit).sum(-1) / np.maximum(of_count, TINY)
    noise = (nodes.logit - middle[..., None]) / full(wide)
    # the fact's label where other facts are read out: K is symmetric, and its mean over them that of the fact itself
    of_fact = W.reshape(R, -1, D)
    usual = (of_fact * kernel.mean.reshape(R, -1, D)).sum(-1) / np.maximum(of_fact.sum(-1), TINY)
    strength = (nodes.surplus / lam[:, None, None] + nodes.share) * np.repeat(usual, D, axis=1)[..., None]
    strength = strength - mean((of_count * strength).sum(-1))[:, None, None]
    scaled = nodes.logit / np.sqrt(1 + nodes.gain**2 / full(np.maximum(V - 1, 1)))
    shift = full(shared) * noise + (gain[:, None, None] * strength)[..., None]
    changed = (shared / wide)[:, None, None]**2 * nodes.noise + (gain[:, None, None] * strength)**2
    changed = mean((of_count * changed).sum(-1))[:, None]

    # nodes go into cells, and the mass of a cell to the two points beside it
    n, each_point = accuracy.pair, accuracy.cells
    fine = each_point * (n - 1) + 1
    mass = (W[..., None, None] * nodes.mass).ravel()
    place = np.clip((log.ravel() - LOG_WON) * ((fine - 1) / (LOG_LOST - LOG_WON)) + 1 / 2, 0, fine - 1 / 2)
    cell = place.astype(np.intp) + np.repeat(np.arange(R) * fine, len(mass) // R)
    split = np.maximum(1 - np.abs(np.arange(fine)[:, None] / each_point - np.arange(n)), 0)

    def total(a: FloatArray) -> FloatArray:
        sums = np.bincount(cell, mass * a.ravel(), R * fine)
        return np.asarray(sums, dtype=float).reshape(R, fine) @ split

    each = total(np.ones(1))
    whole = np.maximum(each, TINY)
    drawn = total(shift) / whole
    left = 1 - changed + total(shift**2) / whole - drawn**2

    recall = (nodes.mass * right).sum(-1)

    def by_neurons(a: FloatArray) -> FloatArray:
        """Variance (R,) over the neurons' draw, at a fact."""
        a = a.reshape(R, -1, D)
        usual = (of_fact * a).sum(-1) / np.maximum(of_fact.sum(-1), TINY)
        return np.asarray((of_fact * (a - usual[..., None])**2).sum((-1, -2)))

    # recall is decided by lead^2/square; facts share of the lead's scatter `together`, of the square's shared^2
    lead = np.log(np.maximum(kernel.own - kernel.mean, kernel.own * SPECK))
    root = np.log(stored.square) / 2
    scattered = mean(kernel.together) * by_neurons(lead) + shared**2 * by_neurons(root)
    neurons = by_neurons(recall.sum(-1)) * np.clip(scattered / np.maximum(by_neurons(lead - root), TINY), 0, 1)
    square = mean(stored.square)
    unit = (groups.weight * groups.share * (groups.share + 1 / lam[:, None])).sum(-1) / square
    pair, triple, four = _cycles(mean(kernel.variance - kernel.common), mean(kernel.linear), d, kernel.width)
    points = np.broadcast_to(np.linspace(LOG_WON, LOG_LOST, n), each.shape)
    return Law(points, each, total(scaled) / whole, total(noise) / whole, drawn, left,
               surplus=mean((recall * nodes.surplus).sum(-1)), shared=shared, length=mean(nodes.length),
               gain=gain * wide, cross=unit * mean(kernel.linear) / d,
               pair=unit / (1 + 1 / lam) * pair, triple=unit * triple / np.sqrt(square), four=unit**2 * four,
               mean=mean(kernel.mean), token=mean(kernel.variance + kernel.slope**2),
               neurons=neurons)


def _cycles(variance: FloatArray, linear: FloatArray, d: FloatArray,
            m: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """E K(a, b)^2, E K(a, b) K(b, c) K(c, a) and the same of four facts, apart from what all share, (R,) each.

    Traces of the powers of the kernel as an operator, from its variance and squared slope: the neurons' covariances
    over values are slope u_i.u_j beside the variance of one, u_i random unit vectors of d dimensions.
    """
    slope, rest = np.sqrt(linear), np.maximum(variance - linear / d, 0)
    return rf.cycle_two(slope, d, rest), rf.cycle_three(slope, d, m, rest), rf.cycle_four(slope, d, m, rest)


def scatter(seeds: Seeds, law: Law, accuracy: Accuracy) -> FloatArray:
    """(R,): variance of recall over seeds at a row."""
    V, d, lam, e = seeds.V, seeds.d, seeds.lam, seeds.e
    h, pairs = law.mass, np.maximum(V - 1, 1)[:, None]
    log_below = -np.exp(law.hazards) / pairs
    A = -ndtri(np.clip(-np.expm1(log_below), TINY, 1 - SPECK))  # the own logit as the quantile of one competitor
    alone = np.exp(pairs * log_below)
    recall = (h * alone).sum(-1)
    f0, kappa, g = law.shared, law.cross, law.gain
    spread = 1 + d / V  # variance of a competitor in units of its output's noise
    turn = kappa * (1 + law.mean * d / (lam + 1)) * (1 - f0)  # of f per unit of a fact's z.z_trig
    inputs = law.four + 2 * e * seeds.tau * turn**2 / d + (1 - f0) ** 2 / V
    overlap = (1 - f0**2) ** 2 / d + inputs
    hazard = h * alone * pairs * np.exp(-A * A / 2 - log_below) / np.sqrt(2 * np.pi)
    middle = law.logit - law.noise
    push, lead = hazard.sum(-1), (hazard * middle).sum(-1)  # d recall/d(own logit), and /d(its lead's logarithm)
    widen = (hazard * A).sum(-1)  # of a competitor's log deviation
    # a fact's label where another is read out: their overlap K is part of both noises, and of the overlap f of these
    tie = np.sqrt(d / V / spread) * law.triple / overlap
    mixed = 2 * (law.pair / V)[:, None, None] * middle[:, :, None] * law.noise[:, None, :]
    joint = np.zeros_like(V)
    x, w = gauss_coordinate((1 - f0**2) ** 2 / overlap, accuracy.overlap)  # as two directions' overlap is
    angle, w_angle = gauss_legendre(accuracy.angle)
    a, b = A[:, :, None], A[:, None, :]
    for xi, wi in zip(x.T, w.T, strict=True):
        off = np.sqrt(overlap) * xi
        end = np.arcsin(np.clip(f0 + off, -FULL, FULL))
        excess = np.zeros((len(V), A.shape[1], A.shape[1]))
        for t, wt in zip(angle, w_angle, strict=True):  # Plackett: d Phi_2/d f along the arc
            s = np.sin(end * t)[:, None, None]
            excess += wt * np.exp(-(a * a + b * b - 2 * a * b * s) / (2 * (1 - s * s)))
        both = ndtr(a) * ndtr(b) + excess * end[:, None, None] / (2 * np.pi)
        shift = law.shift + off[:, None] * (law.noise + tie[:, None])
        left = law.left - ((2 * f0 + off) * off / spread + tie**2 * overlap)[:, None]
        left = np.maximum(left[:, None, :] + mixed, LEAST_LEFT)
        mutual = log_ndtr((law.logit[:, :, None] - shift[:, None, :]) / np.sqrt(left))
        mutual = mutual + mutual.transpose(0, 2, 1)
        joint += wi * (h[:, :, None] * h[:, None, :] * np.exp(
            np.maximum(V - 2, 0)[:, None, None] * np.log(np.maximum(both, TINY)) + mutual)).sum((1, 2))
    noises = push**2 / spread * law.pair / V - 2 * push / np.sqrt(spread) * lead * law.triple / np.sqrt(d * V)
    lengths = lead**2 * ((f0**2 + inputs) / (2 * d) + law.length**2 * f0**2 / (2 * V))
    rival = push * g / np.sqrt(spread) * law.mean + widen * g**2 / spread * law.token
    counts = (law.surplus - rival) ** 2 / lam
    found = (recall - counts) / V - recall**2 + (1 - 1 / V) * joint + noises + lengths + law.neurons
    part = V * recall - np.floor(V * recall)  # recall is a multiple of 1/V: no law of this mean varies less
    return np.asarray(np.clip(found, part * (1 - part) / V**2, recall * (1 - recall)))
