"""The facts of a seed, as nodes over their values: norms, overlaps with the trigger, scores."""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray

from ...numerics.quadrature import gauss_gamma, gauss_hermite
from ..training_attention import Seeds

__all__ = ["Facts", "facts", "seeds_of"]

FloatArray = NDArray[np.float64]

SCORE = 6  # nodes of a fact's own token score
ASIDE = 2  # of the rest of its overlap with the trigger
RADIUS = 2  # of the rest of its norm


@dataclasses.dataclass(frozen=True)
class Facts:
    """Nodes over facts, of shape (R, F): one row a seed (tau, snr).

    s = |h_k|^2, t = z_trig.h_k, score the standardised score of token k, weight of a row summing to 1.
    """

    s: FloatArray
    t: FloatArray
    score: FloatArray
    weight: FloatArray
    tau: FloatArray
    snr: FloatArray
    norm: FloatArray
    tilt: FloatArray


def facts(d: float, e: int, tau: FloatArray, snr: FloatArray, kappa: int) -> Facts:
    """Nodes over the value of a fact for each row's |z_trig|^2 and snr."""
    snr = np.clip(snr, -np.sqrt(tau * d), np.sqrt(tau * d))
    aligned = bool((snr**2 > tau * d * (1 - 1 / 10**9)).all())  # scores are overlaps with the trigger, no rest
    z, wz = gauss_hermite(SCORE - aligned)
    p, wp = (np.zeros(1), np.ones(1)) if aligned else gauss_hermite(ASIDE)
    others = max(d - 2 + aligned, 1)
    r, wr = gauss_gamma(2 / others, RADIUS)
    z, p, r = (q.ravel() for q in np.meshgrid(z, p, r, indexing="ij"))
    w = (wz[:, None, None] * wp[:, None] * wr).ravel()
    tau_, snr_ = tau[:, None], snr[:, None]
    rest = np.sqrt(np.maximum(tau_ - snr_**2 / d, 0))
    tilt = snr_ * z / d + rest * p / np.sqrt(d)  # z_trig.z_k
    norm = (z**2 + p**2 + others * r) / d if kappa else np.ones_like(z)
    norm = np.broadcast_to(norm, tilt.shape)
    s = np.maximum(norm + e * (2 * tilt + tau_), 1 / (4 * d))
    return Facts(s, e * (tau_ + tilt), np.broadcast_to(z, tilt.shape), np.broadcast_to(w, tilt.shape), tau, snr,
                 norm, tilt)


def seeds_of(V: float, L: float, d: float, N: float, e: int, tau: FloatArray, snr: FloatArray, sphere: bool) -> Seeds:
    """The rows as `recall.node` takes them, with Gaussian token scores."""
    zero = np.zeros_like(tau)
    return Seeds(zero + V, zero + L, zero + d, zero + N, tau, np.minimum(snr, np.sqrt(tau * d)), zero, zero, e, sphere)
