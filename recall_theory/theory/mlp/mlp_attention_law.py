"""The law over seeds of step two with an MLP: the lead in units of the tokens' noise, and attention from it.

The same quadrature over seeds as `attention.law`, on the moments of `mlp.terms`: tau, |rbar|^2, the tokens' squared
noise and the lead differ from seed to seed; given them tokens are independent draws.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...numerics.quadrature import condense, gauss_gamma, gauss_hermite
from ..attention_law import FAR, SeedLaw, bounded_moment
from ..formulas import attention_formulas as at
from ..formulas import mlp_formulas as mt
from ..formulas.generic import power_of_complement
from ..score_distribution import score_cumulants

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
    h3: Any
    h4: Any
    h5: Any
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


def seed_law(V: Any, L: Any, d: Any, N: Any, m: Any, k: StepTwo, embedding: str = "gaussian",
             trigger_in_value: bool = True, tau_nodes: int = TAU_NODES) -> SeedLaw:
    """Quadrature nodes over seeds for tau and the snr, with their weights: fields of shape (B, K).

    V, L, d, N, m and the moments in k are numbers or arrays (B,).
    """
    sizes = [a.ravel() for a in np.broadcast_arrays(*(np.atleast_1d(np.asarray(v, float)) for v in (V, L, d, N, m)))]
    moments = [np.broadcast_to(v, sizes[0].shape) for v in dataclasses.astuple(k)]
    e = 1 if trigger_in_value else 0
    kappa = 1 if embedding == "gaussian" else 0
    V1, L1, d1, N1, m1 = (a[:, None, None, None, None] for a in sizes)  # (B, tau, b0, chi, x)
    k1 = StepTwo(*(a[:, None, None, None, None] for a in moments))
    if kappa:
        tau1, w_tau = gauss_gamma(2 / sizes[2], tau_nodes)
    else:
        tau1, w_tau = np.ones((len(sizes[2]), 1)), np.ones((len(sizes[2]), 1))
    b01, w_b0 = gauss_gamma(2 / sizes[2] + 2 / sizes[0], SCALE_NODES)
    chi1, w_chi = gauss_gamma(_noise_spread(V1, L1, d1, N1, m1, e, kappa, k1)[:, 0, 0, 0, 0], SCALE_NODES)
    x, w_x = gauss_hermite(LEAD_NODES)
    tau = tau1[:, :, None, None, None]
    b0 = b01[:, None, :, None, None]
    chi = chi1[:, None, None, :, None]
    parts = _parts(V1, L1, d1, N1, m1, e, tau, b0, kappa, k1)
    perp = sum(p[0] for p in parts.values())
    of_lead = sum(p[1] for p in parts.values())
    mean = mt.lead(V1, L1, d1, N1, e, tau, b0, kappa, k1.A, k1.A2, k1.h1)
    T = mean + np.sqrt(of_lead) * x
    overlap = T**2 / (tau * d1)
    turn = _turn(V1, L1, d1, N1, e, tau, b0, kappa, k1, of_lead)
    plain = perp * V1 / (V1 - 1) * (1 - 1 / d1) * chi
    squared = np.maximum(overlap + 2 * T / tau * turn * (T - mean) + plain, overlap + plain * FLOOR)
    snr = np.clip(T / np.sqrt(np.maximum(squared, TINY)), -FAR, FAR)
    w = np.broadcast_to(w_b0[:, None, :, None, None] * w_chi[:, None, None, :, None] * w_x, snr.shape)
    B, n_tau = tau1.shape
    nodes, weights = condense(snr.reshape(B, n_tau, -1), w.reshape(B, n_tau, -1), SNR_NODES)
    rivals, spread = at.distinct_rivals(sizes[0], sizes[1]), at.distinct_rivals_variance(sizes[0], sizes[1])
    half = np.minimum(np.sqrt(np.maximum(spread, 0)), rivals)
    flat = (B, -1)
    V2, L2, d2, N2, m2 = (a[:, None, None] for a in sizes)
    skew, excess = _shape(V2, L2, d2, N2, m2, e, tau1[:, :, None], kappa,
                          StepTwo(*(a[:, None, None] for a in moments)), nodes)
    return SeedLaw(
        weight=(w_tau[:, :, None] * weights).reshape(flat),
        tau=np.broadcast_to(tau1[:, :, None], nodes.shape).reshape(flat),
        snr=nodes.reshape(flat),
        skew=np.broadcast_to(skew, nodes.shape).reshape(flat),
        excess=np.broadcast_to(excess, nodes.shape).reshape(flat),
        rivals=np.stack([rivals - half, rivals + half], axis=-1),
        rivals_weight=np.full((B, 2), 1 / 2),
        alone=np.asarray(power_of_complement(sizes[0], sizes[1] - 1)),
        V=sizes[0],
        dimension=None if kappa else sizes[2],
    )


def _parts(V: Any, L: Any, d: Any, N: Any, m: Any, e: int, tau: Any, b0: Any, kappa: int,
           k: StepTwo) -> dict[str, tuple[Any, Any]]:
    """`mlp.terms.attention_parts`: expansions in 1/V may turn negative at a vocabulary of a few tokens, cut at zero."""
    return {name: (np.maximum(token, TINY), np.maximum(lead, TINY))
            for name, (token, lead) in mt.attention_parts(V, L, d, N, m, e, tau, b0, kappa, k).items()}


def _shape(V: Any, L: Any, d: Any, N: Any, m: Any, e: int, tau: FloatArray, kappa: int, k: StepTwo,
           snr: FloatArray) -> tuple[Any, Any]:
    """Third and fourth cumulant of the standardised token scores: the linear part's, by norms and counts.

    0 where the activation has next to no linear part: what is left then is close to Gaussian.
    """
    parts = _parts(V, L, d, N, m, e, tau, 1, kappa, k)
    S = sum(token for token, _ in parts.values())
    linear = k.A * at.lead(V, L, d, N, e, 1, 1) >= k.A2 * mt.quadratic_lead(V, L, d, e, 1, kappa)
    unit = np.where(linear, k.A**2, 1)  # in units in which the linear part has coefficient 1
    stored = sum(parts[name][0] for name in ("mean bias: mean embedding", "gradient noise: noise tokens",
                                             "gradient noise: informative tokens"))
    left = np.maximum(1 - snr**2 / (tau * d), FLOOR)
    skew, excess = score_cumulants(V, L, d, N, e, tau, kappa, S / unit, stored / unit, (S / left - S) / unit,
                                   snr * np.sqrt(S / left / unit))
    plain = 0 if kappa else -6 / (d + 2)  # of one coordinate of a unit vector
    return np.where(linear, skew, 0), np.where(linear, excess, plain)


def _noise_spread(V: Any, L: Any, d: Any, N: Any, m: Any, e: int, kappa: int, k: StepTwo) -> Any:
    """Relative variance over seeds of the tokens' squared noise, a quadratic form of a Gaussian g."""
    parts = _parts(V, L, d, N, m, e, 1, 1, kappa, k)
    root: Any = 0
    total: Any = 0

    for name, (token, _) in parts.items():
        p = POWERS[name]
        root = root + np.sqrt(bounded_moment(2 * p + 2, V, d, kappa)) / bounded_moment(p + 1, V, d, kappa) * token
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
