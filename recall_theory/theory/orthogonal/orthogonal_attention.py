"""Attention under orthogonal embeddings: the law of the scores and what it leaves of the attention.

With orthonormal tokens a score is a polynomial of counts: S_b = sum_y G_yb (G_yb - mean_y G_yb) + ..., where
G_yb is how often token b stands in training sequences of label y. Given the label counts, its second
and third cumulants over tokens are sums over labels of Poisson moments; a chi-squared law matches them.
Proofs: docs/derivations/orthogonal.md. Everything is in units of 1/(N L)^2.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from ...numerics.cumulants import gamma_of_score, score_of_gamma
from ...numerics.quadrature import gauss_hermite
from ..formulas.orthogonal_formulas import (
    label_noise_given,
    lead_given,
    lead_noise_given,
    noise_counts_given,
    own_sequences,
    shared_sequences_given,
)

__all__ = ["AttentionNodes", "attention_nodes", "distinct_competitors", "chi_squared_quantile"]

FloatArray = NDArray[np.float64]

NODES_LABELS = 5  # Gauss-Hermite nodes over sum_y n_y^2
NODES_LEAD = 7  # over the lead T given the label counts, and over the trigger's overlaps where d = V
NODES_SCORE = 41  # equidistant nodes over a token's standardised score
REACH = 5  # standard deviations that they span on either side
TINY = np.finfo(float).tiny
OVERFLOW = 500  # guard: exponents are kept from overflow, where a chance is nil
LEAST_SKEW = 1 / 1024  # below it the law is a normal one to the precision wanted


@dataclasses.dataclass(frozen=True)
class AttentionNodes:
    """The seeds' joint law of lead and token scores, as weighted nodes, all arrays (nodes,).

    `lead` is z_trig.g, `sd` the standard deviation over tokens of z_b.g, `dof` the degrees of freedom of its law,
    `weight` the nodes' probabilities. `attention` (nodes,) is the mean attention at each.
    """

    lead: FloatArray
    sd: FloatArray
    dof: FloatArray
    weight: FloatArray
    attention: FloatArray
    mean: float
    std: float


def chi_squared_quantile(z: FloatArray, dof: FloatArray) -> FloatArray:
    """A standardised chi-squared variable at the normal quantile z."""
    return np.sqrt(dof / 2) * (gamma_of_score(z, 2 / dof) - 1)


def chi_squared_quantile_inverse(s: FloatArray, dof: FloatArray) -> FloatArray:
    """The normal quantile z of a standardised chi-squared variable s."""
    return score_of_gamma(1 + s * np.sqrt(2 / dof), 2 / dof)


def distinct_competitors(V: float, n: int) -> tuple[float, float]:
    """Mean and variance of the number of distinct tokens, one given token aside, among n drawn from V.

    >>> mean, variance = distinct_competitors(64, 199)
    >>> round(mean, 4), round(variance, 4)
    (60.2566, 2.2617)
    """
    if n == 0:
        return 0.0, 0.0
    one = np.exp(n * np.log1p(-1 / V))
    two = np.exp(n * np.log1p(-2 / V)) if V > 2 else 0.0
    mean = -(V - 1) * np.expm1(n * np.log1p(-1 / V))
    # The two large parts cancel at V >> n, where at most n/V of them is left.
    variance = (V - 1) * one * (1 - one) + (V - 1) * (V - 2) * (two - one * one)
    return float(mean), float(min(max(variance, 0.0), (V - 1) * (1 - one)))


def label_moments(V: float, N: float, skewed: FloatArray) -> dict[str, FloatArray]:
    """Sums over labels of powers of n_y and x_y = n_y - lam given Q = sum x_y^2, at the nodes `skewed`.

    Each power is regressed on Q: its coefficient on the second Poisson-Charlier polynomial.
    """
    lam = N / V
    variance = 2 * N * (N - 1) * (V - 1) / V**2
    third = V * (8 * lam**3 + 4 * lam**2)
    dof = np.maximum(8 * variance**3 / third**2, 1)
    excess = np.sqrt(variance) * chi_squared_quantile(skewed, np.asarray(dof))
    q = N * (1 - 1 / V) + excess
    nxx = V * lam * (1 + lam) + (3 + lam) * excess
    nxxx = V * lam * (1 + 4 * lam) + (6 * lam + 7 + 3 * lam) * excess
    return {"x2": q, "nx2": nxx, "nx3": nxxx, "n2": q + N * lam, "n2x": nxx + lam * q,
            "n2x2": nxxx + lam * nxx, "n3": nxx + 2 * lam * q + lam**2 * N}


def attention_nodes(V: float, L: int, d: float, N: float, e: int) -> AttentionNodes:
    """Lead, token spread and attention of the trained model over the seeds.

    V, L, d, N as in `Setting`, d >= V; e: 1 if the trigger is in the values, else 0.

    >>> round(attention_nodes(64, 200, 65, 64, 1).mean, 3)
    0.146
    """
    one = np.ones(1)
    if L == 1:  # nothing to be mistaken for
        return AttentionNodes(one, one, one, one, one, 1.0, 0.0)
    x, w = gauss_hermite(NODES_LEAD, symmetric=True)
    z, wz = gauss_hermite(NODES_LABELS, symmetric=True)
    n = label_moments(V, N, z)
    lead, lead_variance, variance, third = _given_labels(V, L, N, e, n)
    if d > V:
        leads = lead[:, None] + np.sqrt(lead_variance)[:, None] * x
        spread, skew = np.broadcast_arrays(variance[:, None], third[:, None])
        spread, skew = spread + 0 * leads, skew + 0 * leads
        weight = wz[:, None] * w
    else:
        leads, spread = _trigger_in_span(V, L, N, e, n, lead, lead_variance, variance, x)
        skew = third[:, None, None] + 0 * leads
        weight = wz[:, None, None] * w[:, None] * w
    sd = np.sqrt(np.maximum(spread, TINY)).ravel()
    dof = 8 / np.maximum(skew.ravel() / sd**3, LEAST_SKEW) ** 2
    dof = np.maximum(dof, 1)
    return _attend(V, L, leads.ravel(), sd, dof, weight.ravel())


def _given_labels(V: float, L: int, N: float, e: int, n: dict[str, FloatArray]) -> tuple[
        FloatArray, FloatArray, FloatArray, FloatArray]:
    """Mean and variance of the lead, variance and third cumulant of a token's score, given the labels."""
    lam, rho, c = N / V, (L - 1) / V, 1 - 1 / L
    # A score is sum_y [c C2(M_y) + (a + k x_y)(M_y - E M_y)] + own part: C2 the Poisson-Charlier polynomial.
    a, k = (1 - lam) / L, c * rho - (1 + e) / L
    cubic = a**3 * N + 3 * a * a * k * n["x2"] + 3 * a * k * k * n["nx2"] + k**3 * n["nx3"]
    square_linear = a * n["n2"] + k * n["n2x"]
    square_linear2 = a * a * n["n2"] + 2 * a * k * n["n2x"] + k * k * n["n2x2"]
    variance = (noise_counts_given(V, L, N, n["n2"]) + label_noise_given(V, L, N, e, n["x2"], n["nx2"])
                + shared_sequences_given(V, L, n["n2"]) + own_sequences(V, L, N, e))
    third = (c**3 * (8 * rho**3 * n["n3"] + 4 * rho**2 * n["n2"]) + 12 * c * c * rho**2 * square_linear
             + 6 * c * rho**2 * square_linear2 + rho * cubic)
    return (lead_given(V, L, N, e, n["x2"]), lead_noise_given(V, L, N, n["n2"], n["n3"]), variance, third)


def _trigger_in_span(V: float, L: int, N: float, e: int, n: dict[str, FloatArray], lead: FloatArray,
                     lead_variance: FloatArray, variance: FloatArray,
                     x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Lead and token variance (labels, trigger, overlap) where z_trig = sum_b t_b z_b, t uniform (d = V).

    Scores become S_b + W t_b and the lead W + sum_b t_b S_b: the second part has the variance of S.
    """
    lam, rho, c = N / V, (L - 1) / V, 1 - 1 / L
    a, k = (1 - lam) / L, c * rho - (1 + e) / L
    q, nxx = n["x2"], n["nx2"]
    variance = variance + e * rho * n["n2x"]
    centre = lead + e * c * rho * q
    w_variance = lead_variance + e * (1 - 2 / L) ** 2 * ((rho * q) ** 2 + rho * nxx) + TINY
    shared = e * (1 - 2 / L) * rho * (a * q + k * nxx)
    weight = np.sqrt(w_variance)[:, None] * x  # W less its mean
    rest = np.sqrt(np.maximum(variance - shared**2 / w_variance, 0))
    overlap = (shared / w_variance)[:, None, None] * weight[:, :, None] + rest[:, None, None] * x
    w = (centre[:, None] + weight)[:, :, None]
    spread = variance[:, None, None] + w * (w + 2 * overlap) / V
    return w + overlap, np.maximum(spread, variance[:, None, None] / 4)


def _attend(V: float, L: int, lead: FloatArray, sd: FloatArray, dof: FloatArray,
            weight: FloatArray) -> AttentionNodes:
    """Attention at the nodes, its mean and its spread over seeds, by the law of one and of two facts."""
    number, scatter = distinct_competitors(V, L - 1)
    z = np.linspace(-REACH, REACH, NODES_SCORE)
    wz = np.exp(-z * z / 2)
    wz /= wz.sum()
    s = (lead / sd)[:, None]
    own = chi_squared_quantile(z, dof[:, None])
    below = np.maximum(ndtr(chi_squared_quantile_inverse(own + s, dof[:, None])), TINY)
    log = np.log(below)
    # Where the lead is negative, a copy of the fact's own token among the noise wins too.
    alone = np.exp((L - 1) * np.log1p(-1 / V)) ** (lead < 0)
    one = np.exp(np.minimum(number * log + scatter * log**2 / 2, 0)) @ wz * alone
    mean = min(float(one @ weight), 1.0)
    if mean >= 1 - SURE:
        return AttentionNodes(lead, sd, dof, weight, one, 1.0, 0.0)
    same = np.exp(2 * number * log + number * np.log1p(number / (V - 1) * (1 / below - 1))) @ wz * alone**2
    two = _two_facts(V, L, number, own, s, log, wz) * alone**2
    variance = float((two * (1 - 1 / V) + same / V) @ weight) - mean**2
    return AttentionNodes(lead, sd, dof, weight, one, mean, float(np.sqrt(max(variance, 0.0))))


SURE = 1 / 2**40  # attention this close to 1 is 1


def _two_facts(V: float, L: int, number: float, own: FloatArray, s: FloatArray, log: FloatArray,
               wz: FloatArray) -> FloatArray:
    """Probability (nodes,) that two sequences of different facts are both attended rightly, one seed.

    Their noise shares tokens, which must stay below the lower of the two informative scores.
    """
    inside = float(-np.expm1((L - 1) * np.log1p(-1 / V)))  # that a given token is in a sequence
    rest = max(number - inside, 0.0)  # competitors other than the other fact
    row, column = log[:, :, None], log[:, None, :]
    shared = rest / max(V - 2, 1) * np.expm1(np.minimum(-np.maximum(row, column), OVERFLOW))
    beats = own[:, None, :] < own[:, :, None] + s[:, :, None]
    other = (1 - inside + inside * beats) * (1 - inside + inside * np.swapaxes(beats, 1, 2))
    both = np.exp(rest * (row + column + np.log1p(shared)))
    result: FloatArray = np.einsum("nij,i,j->n", both * other, wz, wz)
    return result
