"""The law over seeds of step two with an MLP: the lead in units of the tokens' noise, and attention from it.

The same quadrature over seeds as `attention.law`, on the moments of `mlp.terms`: tau, |rbar|^2, the tokens' squared
noise and the lead differ from seed to seed; given them tokens are independent draws.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..attention import terms as at
from ..attention.law import SeedLaw
from ..attention.shape import score_cumulants
from ..quadrature import condense, gauss_gamma, gauss_hermite
from . import terms as mt

__all__ = ["StepTwo", "seed_law"]

FloatArray = NDArray[np.float64]

TAU_NODES = 5
LEAD_NODES = 9
SCALE_NODES = 3
SNR_NODES = 9
TINY = np.finfo(float).tiny
FLOOR = 1 / 16  # the least factor by which fluctuations may shrink the squared noise


@dataclasses.dataclass(frozen=True)
class StepTwo:
    """The activation's moments at the input power of an averaged embedding (see `mlp.terms`)."""

    A: Any
    B: Any
    A2: Any
    h0: Any
    h1: Any
    h2: Any
    P0: Any
    P2: Any


# How many powers of the tokens' covariance a part's vectors have been turned by: z_b.g sees one more.
POWERS = {
    "mean bias: mean embedding": 2,
    "mean bias: trigger echo": 1,
    "gradient noise: noise tokens": 3,
    "gradient noise: informative tokens": 3,
    "gradient noise: sequence sampling": 1,
    "interference: class covariance": 1,
    "MLP noise: mean": 2,
    "MLP noise: neurons": 1,
}


def seed_law(V: float, L: float, d: float, N: float, m: float, k: StepTwo, embedding: str = "gaussian",
             trigger_in_value: bool = True, tau_nodes: int = TAU_NODES) -> SeedLaw:
    """Quadrature nodes over seeds for tau and the snr, with their weights: fields of shape (1, K)."""
    e = 1 if trigger_in_value else 0
    kappa = 1 if embedding == "gaussian" else 0
    if kappa:
        tau1, w_tau = gauss_gamma(2 / d, tau_nodes)
    else:
        tau1, w_tau = np.ones(1), np.ones(1)
    b01, w_b0 = gauss_gamma(2 / d + 2 / V, SCALE_NODES)
    chi1, w_chi = gauss_gamma(_noise_spread(V, L, d, N, m, e, kappa, k), SCALE_NODES)
    x, w_x = gauss_hermite(LEAD_NODES)
    tau = tau1[:, None, None, None]
    b0 = b01[:, None, None]
    chi = chi1[:, None]
    parts = mt.attention_parts(V, L, d, N, m, e, tau, b0, kappa, k)
    perp = sum(p[0] for p in parts.values())
    of_lead = sum(p[1] for p in parts.values())
    mean = mt.lead(V, L, d, N, e, tau, b0, k.A, k.A2, k.h1)
    T = mean + np.sqrt(of_lead) * x
    overlap = T**2 / (tau * d)
    turn = _turn(V, L, d, N, e, tau, b0, kappa, k, of_lead)
    plain = perp * V / (V - 1) * (1 - 1 / d) * chi
    squared = np.maximum(overlap + 2 * T / tau * turn * (T - mean) + plain, overlap + plain * FLOOR)
    snr = T / np.sqrt(squared)
    w = np.broadcast_to(w_b0[:, None, None] * w_chi[:, None] * w_x, snr.shape)
    n_tau = len(tau1)
    nodes, weights = condense(snr.reshape(n_tau, -1), w.reshape(n_tau, -1), SNR_NODES)
    rivals, spread = at.distinct_rivals(V, L), at.distinct_rivals_variance(V, L)
    half = np.minimum(np.sqrt(np.maximum(spread, 0)), rivals)
    flat = (1, -1)
    skew, excess = _shape(V, L, d, N, m, e, tau1[:, None], kappa, k, nodes)
    return SeedLaw(
        weight=(w_tau[:, None] * weights).reshape(flat),
        tau=np.broadcast_to(tau1[:, None], nodes.shape).reshape(flat),
        snr=nodes.reshape(flat),
        skew=np.broadcast_to(skew, nodes.shape).reshape(flat),
        excess=np.broadcast_to(excess, nodes.shape).reshape(flat),
        rivals=np.array([[rivals - half, rivals + half]]),
        rivals_weight=np.full((1, 2), 1 / 2),
        alone=np.asarray(at.power_of_complement(np.array([float(V)]), L - 1)),
        V=np.array([float(V)]),
    )


def _shape(V: float, L: float, d: float, N: float, m: float, e: int, tau: FloatArray, kappa: int, k: StepTwo,
           snr: FloatArray) -> tuple[Any, Any]:
    """Third and fourth cumulant of the standardised token scores: the linear part's, by norms and counts.

    0 where the activation has next to no linear part: what is left then is close to Gaussian.
    """
    parts = mt.attention_parts(V, L, d, N, m, e, tau, 1, kappa, k)
    S = sum(token for token, _ in parts.values())
    if k.A * at.lead(V, L, d, N, e, 1, 1) < k.A2 * mt.quadratic_lead(V, L, d, e, 1):
        return 0, 0
    unit = k.A**2  # in units in which the linear part has coefficient 1
    stored = sum(parts[name][0] for name in ("mean bias: mean embedding", "gradient noise: noise tokens",
                                             "gradient noise: informative tokens"))
    left = np.maximum(1 - snr**2 / (tau * d), FLOOR)
    return score_cumulants(V, L, d, N, e, tau, kappa, S / unit, stored / unit, (S / left - S) / unit,
                           snr * np.sqrt(S / left / unit))


def _noise_spread(V: float, L: float, d: float, N: float, m: float, e: int, kappa: int, k: StepTwo) -> Any:
    """Relative variance over seeds of the tokens' squared noise, a quadratic form of a Gaussian g."""
    parts = mt.attention_parts(V, L, d, N, m, e, 1, 1, kappa, k)
    root: Any = 0
    total: Any = 0
    for name, (token, _) in parts.items():
        p = POWERS[name]
        root = root + np.sqrt(at.wishart(2 * p + 2, V, d, kappa)) / at.wishart(p + 1, V, d, kappa) * token
        total = total + token
    return 2 / d * (root / total)**2


def _turn(V: Any, L: Any, d: Any, N: Any, e: Any, tau: Any, b0: Any, kappa: Any, k: StepTwo,
          of_lead: Any) -> Any:
    """Cov(z_trig.Sigma g, T)/Var T: the lead's fluctuation comes with a tilt of the tokens' scores."""
    c = 1 - 1 / L
    m = [1, *(at.wishart(p, V, d, kappa) for p in (1, 2, 3, 4))]
    rr = b0 * (1 - 1 / V) / N

    def tilt(p: int, token: Any, trigger: Any) -> Any:
        """tr (Sigma - 1/d) Sigma^p (c^2 Sigma + token)(c^2 Sigma + trigger) / d."""
        gap = {j: (m[j + 1] - m[j]) / d**(j + 1) for j in range(p, p + 3)}
        return c**4 * gap[p + 2] + c**2 * (token + trigger) * gap[p + 1] + token * trigger * gap[p]

    a = e * tau / L
    joint = tau * ((k.A + k.B)**2 * (at.noise_strength(V, L, d, N, b0) * tilt(1, -a / L, a * (c - 2 / L))
                                     + at.fact_strength(V, L, d, N, b0) * tilt(1, a * c, 3 * a * c))
                   + k.h1**2 * rr**2 / (V * d) * tilt(0, 0, a * c))
    return joint / of_lead
