"""The variance of recall from seed to seed, at seeds that share |z_trig|^2 and the lead.

V^-1 times that of one fact, and the covariance of two facts: their competitors are the same labels, each is the other's
competitor, the lengths of their noise move together, and so do neurons. docs/derivations/recall.md has the derivation.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr, ndtr, ndtri

from ..numerics.quadrature import gauss_hermite, gauss_legendre
from .accuracy import Accuracy
from .training_attention import SPECK, TINY, Seeds

__all__ = ["Law", "law_of_score", "scatter"]

FloatArray = NDArray[np.float64]

FULL = 1 - 1e-6  # greatest correlation of two facts' competitors; acts where nearly all noise is shared
CLOSE = 99 / 100  # greatest correlation of an own score with a competitor's; acts at d of a few
LEAST_LEFT = 1 / 20  # share of a competitor's variance that is left to it; acts at d of a few
SURE, LOST = -9.0, 2.5  # logarithms of the expected competitors above between which a score is told apart


@dataclasses.dataclass(frozen=True)
class Law:
    """What facts of a seed are like, fields (R,), averages over facts.

    hazards (R, A) and mass (R, A): the law of the logarithm of the expected number of competitors above. surplus:
    Cov(recall, n_k). noise: share of the logit's variance that is the output's own noise. shared: correlation of two facts'
    competitors. length: the part Q/Theta of the lead that the noise's length moves. gain: of a competitor's score per
    unit of its strength. cross: of a fact's noise per unit of its overlap with another fact. mean, token: of the kernel
    with other values, and its variance. neurons: variance that the neurons' draw brings to all facts together.
    """

    recall: FloatArray
    hazards: FloatArray
    mass: FloatArray
    surplus: FloatArray
    noise: FloatArray
    shared: FloatArray
    length: FloatArray
    gain: FloatArray
    cross: FloatArray
    mean: FloatArray
    token: FloatArray
    neurons: FloatArray


def law_of_score(log: FloatArray, mass: FloatArray, n: int) -> tuple[FloatArray, FloatArray]:
    """The law (R, n) of the hazards' logarithms (R, M) with `mass`, on even points of their own."""
    R = len(log)
    u = np.clip((log - SURE) / (LOST - SURE) * (n - 1), 0, n - 1 - SPECK)
    i = u.astype(np.intp)
    upper = mass * (u - i)
    cell = (np.arange(R)[:, None] * n + i).ravel()
    out = np.bincount(cell, (mass - upper).ravel(), R * n) + np.bincount(cell + 1, upper.ravel(), R * n + 1)[:R * n]
    return np.broadcast_to(np.linspace(SURE, LOST, n), (R, n)), np.asarray(out, dtype=float).reshape(R, n)


def scatter(seeds: Seeds, law: Law, accuracy: Accuracy) -> FloatArray:
    """(R,): variance of recall over seeds at a row."""
    V, d, lam, e = seeds.V, seeds.d, seeds.lam, seeds.e
    h, pairs = law.mass, np.maximum(V - 1, 1)[:, None]
    log_below = -np.exp(law.hazards) / pairs
    A = -ndtri(np.clip(-np.expm1(log_below), TINY, 1 - SPECK))  # the score as the quantile of one competitor
    alone = np.exp(pairs * log_below)
    recall = (h * alone).sum(-1)
    f0 = np.clip(law.shared, 0, 1 - SPECK)
    kappa, g = law.cross, law.gain
    spread = 1 + d / V  # variance of a competitor in units of its output's noise
    turn = kappa * (1 + law.mean * d / (lam + 1)) * (1 - f0)  # of f per unit of a fact's z.z_trig
    inputs = (kappa**2 + 2 * e * seeds.tau * turn**2) / d + (1 - f0) ** 2 / V
    overlap = (1 - f0**2) ** 2 / d + inputs
    hazard = h * alone * pairs * np.exp(-A * A / 2 - log_below) / np.sqrt(2 * np.pi)
    push, widen = hazard.sum(-1), (hazard * A).sum(-1)  # d recall/d(own score), of a competitor's log deviation
    mean = (h * A).sum(-1)
    total = np.maximum((h * (A - mean[:, None])**2).sum(-1), TINY)
    gap = A - mean[:, None]
    own = gap * (law.noise * np.sqrt(spread))[:, None]  # the output's own noise, given the score
    slope = f0 * law.noise + e * g**2 / spread * (seeds.tau * (1 + seeds.tau) / lam + seeds.tau / d) / total
    slope = np.clip(slope, 0, np.sqrt(1 / total) * CLOSE)
    left = 1 - slope**2 * total
    left = np.maximum(left[:, None] + (2 * (g * kappa)[:, None] * own + kappa[:, None]**2 * (own**2 - 1))
                      / (d * spread)[:, None], LEAST_LEFT)
    beaten = (A[:, :, None] - (slope[:, None] * gap)[:, None, :]) / np.sqrt(left)[:, None, :]
    mutual = log_ndtr(beaten)
    mutual = mutual + mutual.transpose(0, 2, 1)
    joint = np.zeros_like(V)
    x, w = gauss_hermite(accuracy.overlap)
    angle, w_angle = gauss_legendre(accuracy.angle)
    a, b = A[:, :, None], A[:, None, :]
    for xi, wi in zip(x, w, strict=True):
        end = np.arcsin(np.clip(f0 + np.sqrt(overlap) * xi, -FULL, FULL))
        excess = np.zeros((len(V), A.shape[1], A.shape[1]))
        for t, wt in zip(angle, w_angle, strict=True):  # Plackett: d Phi_2/d f along the arc
            s = np.sin(end * t)[:, None, None]
            excess += wt * np.exp(-(a * a + b * b - 2 * a * b * s) / (2 * (1 - s * s)))
        both = ndtr(a) * ndtr(b) + excess * end[:, None, None] / (2 * np.pi)
        joint += wi * (h[:, :, None] * h[:, None, :] * np.exp(
            np.maximum(V - 2, 0)[:, None, None] * np.log(np.maximum(both, TINY)) + mutual)).sum((1, 2))
    lead = push * mean
    noises = push**2 / spread * kappa / (1 + 1 / lam) / V - 2 * push / np.sqrt(spread) * lead * kappa * g / d**2
    lengths = lead**2 * ((f0**2 + inputs) / (2 * d) + law.length**2 * f0**2 / (2 * V))
    rival = push * g / np.sqrt(spread) * law.mean + widen * g**2 / spread * law.token
    counts = (law.surplus - rival) ** 2 / lam
    return np.asarray(np.maximum((recall - counts) / V - recall**2 + (1 - 1 / V) * joint + noises + lengths
                                 + law.neurons, 0))
