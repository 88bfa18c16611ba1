"""Recall and accuracy of the Attention-MLP model at given seeds: step three, its weights and its rivals.

With Gaussian outputs the logits of fact k are, given the stored strengths theta_j = c_j kappa(j, k) - mean, exactly
    S_j ~ chi_d theta_j/sqrt(Theta) + noise orthogonal to theta,   Theta = sum theta^2,
as for Attention-only with the kernel in the place of the inner product. What is new is the law of theta: the
kernel's over the other values, the m neurons' on top of it, and their joint fluctuation with the signal.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...numerics.quadrature import gauss_coordinate, gauss_gamma, gauss_hermite, gauss_poisson
from ..training_attention import attended_share
from ..training_attention import classes as grouped
from .kernel_moments import Bare, Kernel, of_neurons, of_values
from .mlp_competitors import COUNTS, rivals, skewed
from .mlp_fact import Facts, seeds_of
from .mlp_seed_variance import LARGEST, scatter, shared_fluctuation

__all__ = ["recall_given"]

FloatArray = NDArray[np.float64]
TINY = np.finfo(float).tiny

WEIGHTS = 5  # nodes of the neurons' fluctuation at a fact
SHARES = 3  # of the share of a fact's sequences that are attended rightly, given its score
CHI = 2  # of the output embeddings' overall length
SCALE = 3  # of the fluctuation of the rivals' total strength
NOISE = 8  # of the noise on the fact's own logit, half as many again where all attention is right


def recall_given(kernel: Kernel, bare: Bare, V: float, L: float, d: float, N: float, m: float, e: int,
                 known: Facts, sphere: bool = False, shares: int = SHARES) -> dict[str, FloatArray]:
    """(R,): mean over facts of recall, of attention, and of their product, for each row of `known`. On the
    sphere outputs have length 1, and one coordinate of a unit vector is not quite normal."""
    lam = N / V
    phi = kernel.phi
    s, t, tau, snr = known.s, known.t, known.tau[:, None], known.snr[:, None]
    R, F = s.shape
    values = of_values(kernel, d, s, t, e * tau + 0 * s, sphere)
    neurons = of_neurons(phi, bare, d, m, s, t, e * tau + 0 * s, values)
    seeds = seeds_of(V, L, d, N, e, known.tau, known.snr, False)
    groups = grouped(seeds)
    perfect = bool((groups.share > 1 - 1 / (100 * V)).all())
    share, share_weight = attended_share(seeds, known.score, 1 if perfect else shares)

    # the fact's direction against that of the scores: overlap of its value with a token of score 1
    along, rest = t / np.sqrt(s), np.sqrt(np.maximum(e * tau - t**2 / s, 0))
    g1 = (known.score + e * snr) / np.sqrt(d * s)
    g2 = np.where(rest > 1 / d, (e * snr / np.sqrt(d) - along * g1) / np.maximum(rest, 1 / d), 0)
    per_score = g1 * values.along[0] + g2 * values.along[1]

    # neurons: D is the fluctuation of own - mean over the weights, with its skewness
    loud = bool((neurons.spread > m * (neurons.own - values.mean)**2 / 16).any() or m < 16 * neurons.skewness.max()**2)
    D, wD = skewed(neurons.skewness / np.sqrt(m), WEIGHTS if loud else WEIGHTS - 2)
    D = D * np.sqrt(neurons.spread / m)[..., None]  # (R, F, W)
    own = neurons.own[..., None] + neurons.on_own[..., None] * D
    k0 = values.mean[..., None] + neurons.on_mean[..., None] * D
    total = (1 - 1 / m) * values.variance + neurons.noise / m
    var_D = (neurons.spread / m)[..., None]
    skew_D = (neurons.skewness / np.sqrt(m))[..., None]
    square = (D**2 - var_D - skew_D * np.sqrt(var_D) * D) / (2 + skew_D**2 / 2)  # per unit of its own square
    varied = np.maximum(total[..., None] + neurons.on_variance[..., None] * D + neurons.bent[..., None] * square,
                        total[..., None] / 8)
    left = np.maximum(neurons.left[..., None] + neurons.left_on[..., None] * D, neurons.left[..., None] / 8) / m
    stretch = varied / total[..., None]

    def flat(q: FloatArray) -> FloatArray:
        """(R, F, W) -> (R, F W)."""
        return np.ascontiguousarray(np.broadcast_to(q, D.shape)).reshape(R, -1)

    own, k0, stretch, weight = flat(own), flat(k0), flat(stretch), flat(known.weight[..., None] * wD)
    wide = {name: flat(q[..., None]) for name, q in (
        ("score", known.score), ("slope", per_score), ("total", total), ("neurons", neurons.noise / m),
        ("left_third", neurons.left_third / m**2),
        ("skewness", (values.third + neurons.third / m) / total**(3 / 2)))}
    # wrong picks: values without the trigger
    zero = 0 * s
    if perfect:
        kw, kw_slope, kw_var, kself = zero, zero, zero, zero
    else:
        wrong = of_values(kernel, d, s, zero, zero, sphere)
        kw, kw_var = wrong.mean, wrong.variance
        kw_slope = g1 * wrong.along[0]
        size = np.sqrt(s * known.norm)
        kself = kernel(s, known.norm, np.clip(known.norm + e * known.tilt, -size, size))
    kw, kw_slope, kw_var, kself = (flat(q[..., None]) for q in (kw, kw_slope, kw_var, kself))

    # strengths of the other classes (R, FW, C)
    wt, a, z = (q[:, None] for q in (groups.weight, groups.share, groups.zeta))
    slope = wide["slope"][..., None] * np.sqrt(stretch)[..., None]
    right = k0[..., None] + z * slope
    missed = kw[..., None] + groups.wrong[:, None] * kw_slope[..., None]
    aside = np.maximum(wide["total"] - wide["slope"]**2, wide["total"] / 8) * stretch
    v = aside[..., None] + groups.zeta_variance[:, None] * slope**2
    mean = a * right + (1 - a) * missed
    mid = (wt * mean).sum(-1, keepdims=True)
    astray = (1 - a) / lam * (missed**2 + kw_var[..., None]) + groups.share_variance[:, None] * (right - missed)**2
    strength = (mean - mid)**2 + a * right**2 / lam + a * (a + 1 / lam) * v + astray
    power = (wt * strength).sum(-1)  # E theta_j^2

    # the fact's own strength (R, FW, n)
    n, pn = gauss_poisson(lam * share, COUNTS)  # (R, F, shares, n)
    off = kw + groups.wrong[:, :1] * kw_slope

    def each(q: FloatArray) -> FloatArray:
        """(R, F, shares, n) -> (R, F W, shares n)."""
        full = np.broadcast_to(q, n.shape).reshape(R, F, -1)
        return np.repeat(full, D.shape[-1], axis=1)

    count, pn, ak = each(n), each(pn * share_weight[..., None]), each(share[..., None])
    theta = (count / lam * own[..., None] + (1 - ak) * off[..., None] - mid) * (1 - 1 / V)
    Q = (max(V - 2, 1) * power)[..., None] + theta**2 / V

    # relative variance of Q: a sum over V - 1 classes, and the neurons
    il = 1 / lam
    v0 = (wt * a * v).sum(-1) / np.maximum((wt * a).sum(-1), TINY)
    fourth = (k0**4 * (3 * il**2 + il**3) + 6 * k0**2 * v0 * (il + 4 * il**2 + il**3)
              + 3 * v0**2 * (1 + 6 * il + 7 * il**2 + il**3))
    plain = k0**2 * il + v0 * (1 + il)
    walk = 2 / d * (wide["neurons"] * stretch)**2  # of a random vector's squared length
    classes_part = np.maximum(fourth / plain**2 - 1, 0) / V
    walk, left = walk * ((1 + il) / plain)**2, flat(left) * ((1 + il) / plain)**2
    relative = classes_part + walk + left
    # sums of squares are gamma-like; the neurons' part has its own skewness
    third = 2 * (classes_part**2 + walk**2) + wide["left_third"] * ((1 + il) / plain)**3
    r, wr = skewed(third / np.maximum(relative, TINY)**(3 / 2), SCALE)
    r = np.maximum(1 + np.sqrt(relative)[..., None] * r, 1 / 8)  # (R, FW, SCALE)
    ch, wch = (np.ones(1), np.ones(1)) if sphere else gauss_gamma(2 / d, CHI)
    nodes = NOISE * 3 // 2 if perfect else NOISE
    x, wx = gauss_coordinate(d, nodes) if sphere else gauss_hermite(nodes)
    r, wr = r[:, :, None, None, :, None], wr[:, :, None, None, :, None]
    T, Qx = theta[..., None, None, None], Q[..., None, None, None] * r
    chi = np.sqrt(d * ch)[:, None, None]
    Th = Qx + T * T
    logit = (chi * T + np.sqrt(Qx) * x) / np.sqrt(Th)
    # where the weights make Q larger, the rivals' strengths are larger in proportion
    pull = np.sqrt(r) * (chi - T / np.sqrt(Qx) * x) / np.sqrt(Th)
    W = np.broadcast_to(pn[..., None, None, None] * wch[:, None, None] * wr * wx, logit.shape)
    FW = own.shape[1]
    logit, pull, W = (np.ascontiguousarray(q).reshape(R, FW, -1) for q in (logit, pull, W))

    log_lost = rivals(V, d, lam, groups, right, missed, mid, v, aside, kw_var, wide["skewness"], k0, power,
                       theta, logit, pull, W, sphere)
    right_at = np.exp(-np.exp(np.minimum(log_lost, LARGEST)))
    each_recall = (W * right_at).sum(-1)
    recall = (weight * each_recall).sum(-1)
    by_share = (W * right_at).reshape(R, FW, ak.shape[-1], -1).sum(-1)
    joint = (weight * (ak * by_share).sum(-1)).sum(-1)
    within = scatter(known, bare, values, V, d, m, e, lam, mid[..., 0], power, weight, W * weight[..., None], log_lost)
    # what all facts share besides: the neurons' fluctuation, and the length of the outputs' sum
    by_D = each_recall.reshape(D.shape)
    steep = (known.weight * (wD * D * by_D).sum(-1) / np.maximum((wD * D**2).sum(-1), TINY)).sum(-1)
    shared_D = shared_fluctuation(bare, e * known.tau, m)
    lead = chi * T / np.sqrt(Th)
    per_lead = (weight[..., None] * (W * right_at).reshape(lead.shape[:2] + (-1,)) * np.broadcast_to(
        x / np.sqrt(Qx / Th) * lead, np.broadcast_shapes(lead.shape, Qx.shape, x.shape)).reshape(R, FW, -1)).sum((1, 2))
    f = within["overlap"]
    loose = (weight * (classes_part + walk)).sum(-1)
    variance = within["variance"] + steep**2 * shared_D + per_lead**2 * f**2 * (1 / (2 * d) + loose / 4)
    return {"recall": recall, "joint": joint, "attention": (known.weight * (share * share_weight).sum(-1)).sum(-1),
            "within": np.maximum(variance, 0)}
