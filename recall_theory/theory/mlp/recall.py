"""Recall and accuracy of the Attention-MLP model at given seeds: step three, its weights and its rivals.

With Gaussian outputs the logits of fact k are, given the stored strengths theta_j = c_j kappa(j, k) - mean, exactly
    S_j ~ chi_d theta_j/sqrt(Theta) + noise orthogonal to theta,   Theta = sum theta^2,
as for Attention-only with the kernel in the place of the inner product. What is new is the law of theta: the
kernel's over the other values, the m neurons' on top of it, and their joint fluctuation with the signal.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr, ndtr, ndtri

from ..quadrature import gauss_coordinate, gauss_gamma, gauss_hermite, gauss_poisson
from ..recall.training import Classes, Seeds, attended_share
from ..recall.training import classes as grouped
from .kernel import Bare, Kernel, of_neurons, of_values

__all__ = ["Facts", "facts", "recall_given"]

FloatArray = NDArray[np.float64]
TINY = np.finfo(float).tiny
LARGEST = 700  # exponents are kept from overflow

SCORE = 6  # nodes of a fact's own token score
ASIDE = 2  # of the rest of its overlap with the trigger
RADIUS = 2  # of the rest of its norm
WEIGHTS = 5  # of the neurons' fluctuation at a fact
SHAPE = 4  # of the kernel with another fact's value
SHARES = 3  # of the share of a fact's sequences that are attended rightly, given its score
COUNTS = 8  # of the number of training samples
CHI = 2  # of the output embeddings' overall length
SCALE = 3  # of the fluctuation of the rivals' total strength
NOISE = 8  # of the noise on the fact's own logit, half as many again where all attention is right
ASIDE_OF_NEURONS = 15  # of w.z_trig
LOWEST, HIGHEST, BINS = 0, 9, 37  # of the own logit, for pairs of facts
FARTHEST = 1000  # the grid's end, where embeddings are all but orthogonal
TERMS = 12
FEWEST = 1 / 10**4  # rivals of a kind that count
STEP = 4 / 5  # of the grid of own logits


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
    D, wD = _skewed(neurons.skewness / np.sqrt(m), WEIGHTS if loud else WEIGHTS - 2)
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
    skewed = 2 * (classes_part**2 + walk**2) + wide["left_third"] * ((1 + il) / plain)**3
    r, wr = _skewed(skewed / np.maximum(relative, TINY)**(3 / 2), SCALE)
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

    log_lost = _rivals(V, d, lam, groups, right, missed, mid, v, aside, kw_var, wide["skewness"], k0, power,
                       theta, logit, pull, W, sphere)
    right_at = np.exp(-np.exp(np.minimum(log_lost, LARGEST)))
    each_recall = (W * right_at).sum(-1)
    recall = (weight * each_recall).sum(-1)
    by_share = (W * right_at).reshape(R, FW, ak.shape[-1], -1).sum(-1)
    joint = (weight * (ak * by_share).sum(-1)).sum(-1)
    within = _scatter(known, bare, values, V, d, m, e, lam, mid[..., 0], power, weight, W * weight[..., None], log_lost)
    # what all facts share besides: the neurons' fluctuation, and the length of the outputs' sum
    by_D = each_recall.reshape(D.shape)
    steep = (known.weight * (wD * D * by_D).sum(-1) / np.maximum((wD * D**2).sum(-1), TINY)).sum(-1)
    shared_D = _shared_fluctuation(bare, e * known.tau, m)
    lead = chi * T / np.sqrt(Th)
    per_lead = (weight[..., None] * (W * right_at).reshape(lead.shape[:2] + (-1,)) * np.broadcast_to(
        x / np.sqrt(Qx / Th) * lead, np.broadcast_shapes(lead.shape, Qx.shape, x.shape)).reshape(R, FW, -1)).sum((1, 2))
    f = within["overlap"]
    loose = (weight * (classes_part + walk)).sum(-1)
    variance = within["variance"] + steep**2 * shared_D + per_lead**2 * f**2 * (1 / (2 * d) + loose / 4)
    return {"recall": recall, "joint": joint, "attention": (known.weight * (share * share_weight).sum(-1)).sum(-1),
            "within": np.maximum(variance, 0)}


def _shared_fluctuation(bare: Bare, tau: FloatArray, m: float) -> FloatArray:
    """(R,): covariance over the weights of two facts' (own - mean): the variance of E[y | w.z_trig], over m."""
    x, w = gauss_hermite(ASIDE_OF_NEURONS)
    v = np.sqrt(tau)[:, None] * x
    spread = bare(v, np.ones_like(v))[1]
    mean = (w * spread).sum(-1, keepdims=True)
    out: FloatArray = (w * (spread - mean)**2).sum(-1) / m
    return out


def _scatter(known: Facts, bare: Bare, values: Any, V: float, d: float, m: float, e: int, lam: float, mid: FloatArray,
             power: FloatArray, weight: FloatArray, W: FloatArray, log_lost: FloatArray) -> dict[str, FloatArray]:
    """The variance (R,) of the mean of V facts' successes at a row, and the overlap of two facts' rival strengths.

    Facts meet the same rivals: the logits of a rival at two facts correlate by the part of the strengths that all
    facts share, and each of the two is the other's rival.
    """
    tau = e * known.tau
    # shared strengths: along z_trig, by the norms, by the neurons, by the counts
    along, rest = known.t / np.sqrt(known.s), np.sqrt(np.maximum(tau[:, None] - known.t**2 / known.s, 0))
    to_trigger = (along * values.along[0] + rest * values.along[1]) / np.sqrt(np.maximum(tau, TINY))[:, None]
    mean = [(known.weight * q).sum(-1) for q in (to_trigger, values.norm)]
    x, w = gauss_hermite(ASIDE_OF_NEURONS)
    v = np.sqrt(tau)[:, None] * x
    common, spread = bare(v, np.ones_like(v))[:2]
    same = mean[0]**2 + mean[1]**2 * d / 2 + (w * common**2 * spread).sum(-1) / m
    total = (weight * power).sum(-1)
    k0 = (weight * mid).sum(-1)
    f = np.clip((k0**2 / lam + same * (1 + 1 / lam)) / total, 0, 1 - 1 / 100)
    # the law of the own logit in units of a rival's, on a grid
    per_rival = np.exp(np.minimum(log_lost, LARGEST)) / (V - 1)
    logit = np.clip(-ndtri(np.maximum(-np.expm1(-per_rival), TINY)), LOWEST, HIGHEST)
    A = np.linspace(LOWEST, HIGHEST, BINS)
    h = A[1] - A[0]
    u = (logit - LOWEST) / h
    i = np.minimum(u.astype(int), BINS - 2)
    part = u - i
    row = np.arange(len(logit))[:, None, None] * BINS
    mass = (np.bincount((row + i).ravel(), (W * (1 - part)).ravel(), len(logit) * BINS)
            + np.bincount((row + i + 1).ravel(), (W * part).ravel(), len(logit) * BINS)).reshape(-1, BINS)
    ok = np.exp((V - 1) * log_ndtr(A))
    recall = (mass * ok).sum(-1)
    a, b = A[:, None], A[None, :]
    f_ = f[:, None, None]
    density = np.exp(-(a**2 + b**2) / 2 - log_ndtr(a) - log_ndtr(b)) / (2 * np.pi)
    series: Any = 0  # of the bivariate normal in f, over Phi Phi: Hermite polynomials, until f^n/n! is small
    one, two = (np.ones_like(a), a), (np.ones_like(b), b)
    factor = f_
    for n in range(1, TERMS):
        series = series + factor * one[0] * two[0]
        one, two = (one[1], a * one[1] - n * one[0]), (two[1], b * two[1] - n * two[0])
        factor = factor * f_ / (n + 1)
    joint = np.exp(np.clip((V - 2) * np.log1p(np.maximum(density * series, -9 / 10)), -LARGEST, LARGEST / 2))
    root = np.sqrt(1 - f_**2)
    usual = (mass * A).sum(-1)[:, None, None]  # the noise of the own logit correlates with the other fact's rival
    each_other = np.exp(log_ndtr((a - f_ * (b - usual)) / root) + log_ndtr((b - f_ * (a - usual)) / root)
                        - log_ndtr(a) - log_ndtr(b))
    both = np.minimum(joint * each_other, 1 / np.maximum(np.maximum(ok[:, None], ok), TINY))
    pair = np.einsum("ri,rj,rij->r", mass * ok, mass * ok, both)
    return {"variance": recall * (1 - recall) / V + (1 - 1 / V) * np.maximum(pair - recall**2, -recall / V),
            "overlap": f}


def _skewed(skewness: FloatArray, n: int) -> tuple[FloatArray, FloatArray]:
    """(..., n) nodes and weights of mean 0, variance 1 and the given skewness: a shifted gamma variable."""
    half = np.maximum(np.abs(skewness) / 2, 1 / 10**4)
    x, w = gauss_gamma(half**2, n)
    x = (x - 1) / half[..., None]
    # a skewness that is all rounding has no sign of its own
    return np.where((skewness < -2 / 10**4)[..., None], -x, x), w


def _normal(x: FloatArray, d: float) -> FloatArray:
    """The normal quantile of sqrt(d) times one coordinate of a unit vector, as `attention.law.normal_score` has it."""
    left = np.maximum(1 - x * x / d, FEWEST**4)
    return np.copysign(np.sqrt(-max(d - 3 / 2, 1 / 2) * np.log(left)), x)


def _rivals(V: float, d: float, lam: float, groups: Classes, right: FloatArray, missed: FloatArray,
            mid: FloatArray, v: FloatArray, aside: FloatArray, kw_var: FloatArray, skewness: FloatArray,
            k0: FloatArray, power: FloatArray, theta: FloatArray, logit: FloatArray, pull: FloatArray,
            W: FloatArray, sphere: bool) -> FloatArray:
    """log of the expected number of rivals above the own logit, at each (R, FW, nodes)."""
    R, FW, _ = logit.shape
    a, wt = groups.share, groups.weight
    n, pn = gauss_poisson(lam * a, COUNTS)  # (R, C, n)
    c = n / lam
    low = -3 / 2
    reach = np.sqrt(d / np.maximum((V - 2) * power.mean(), d / FARTHEST**2))
    most = float((np.where(V * wt[..., None] * pn > 1 / 1000, c, 0)).max())
    top = max(np.sqrt(2 * np.log(V)) + 7 / 2,
              float(reach * (most * abs(float(k0.mean())) + most * 2 * np.sqrt(float(v.mean())))) + 5 / 2)
    top = min(top, FARTHEST)
    J = int(np.ceil((top - low) / STEP)) + 2
    grid = np.linspace(low, top, J)
    h = grid[1] - grid[0]
    u = np.clip((logit - low) / h, 0, J - 1 - 1 / 10**9)
    i = u.astype(int)
    f = u - i
    base = np.arange(R * FW).reshape(R, FW, 1) * J

    def deposit(q: Any) -> FloatArray:
        both = np.bincount((base + i).ravel(), (W * q * (1 - f)).ravel(), R * FW * J)
        both = both + np.bincount((base + i + 1).ravel(), (W * q * f).ravel(), R * FW * J)
        return np.asarray(both, dtype=float).reshape(R, FW, J)

    number, first, second = deposit(1), deposit(pull), deposit(pull**2)
    for _ in range(8):  # lends tiny weights to empty neighbours
        number, first, second = (q + (np.concatenate([q[..., 1:], 0 * q[..., :1]], -1)
                                      + np.concatenate([0 * q[..., :1], q[..., :-1]], -1)) / 10**4
                                 for q in (number, first, second))
    filled = number > 0
    g0 = np.where(filled, first / np.maximum(number, TINY), (W * pull).sum() / W.sum())
    spread = np.where(filled, second / np.maximum(number, TINY) - g0**2, 0)
    dg = np.sqrt(np.maximum(spread, (g0 / 1000)**2) + 1 / 10**12)
    G = np.stack([g0 - dg, g0 + dg], 2)  # (R, FW, 2, J)
    nodes, node_weight = _skewed(skewness, SHAPE)
    scale = np.sqrt(aside)
    square = G**2
    per_power = 1 / np.maximum(max(V - 2, 1) * power, TINY)
    found = np.zeros_like(G)
    for k in range(a.shape[1]):
        astray = (1 - a[:, k]) / lam
        for j in range(c.shape[-1]):
            w = wt[:, k] * pn[:, k, j]
            if (V * w).max() < FEWEST:
                continue
            cj = c[:, k, j][:, None]
            centre = cj * right[:, :, k] + (1 - a[:, k])[:, None] * missed[:, :, k] - mid[..., 0]
            wrong = astray[:, None] * (missed[:, :, k]**2 + kw_var)
            other = cj**2 * (v[:, :, k] - aside) + wrong
            for q in range(nodes.shape[-1]):
                if (V * w).max() * node_weight[..., q].max() < FEWEST:
                    continue
                mu = centre + cj * scale * nodes[..., q]
                own = np.maximum(1 - (mu**2 + other) * per_power, 1 / 20)
                mean, rest, varies, weight = (x[:, :, None, None] for x in (
                    mu, own, other, w[:, None] * node_weight[..., q]))
                lead = (G * mean - grid) / np.sqrt(rest + square * varies)
                found += weight * ndtr(_normal(lead, d) if sphere else lead)
    lost = np.minimum(found, 1 - 1 / 10**7)
    log_lost = np.log(np.maximum(-(V - 1) * np.log1p(-lost), TINY))
    slope = (log_lost[:, :, 1] - log_lost[:, :, 0]) / (2 * dg)
    middle = log_lost.mean(2)
    i3 = np.clip(i, 1, J - 3)
    f3 = u - i3
    at = base + i3
    flat = middle.ravel()
    cubic = (-f3 * (f3 - 1) * (f3 - 2) / 6 * flat[at - 1] + (f3 + 1) * (f3 - 1) * (f3 - 2) / 2 * flat[at]
             - (f3 + 1) * f3 * (f3 - 2) / 2 * flat[at + 1] + (f3 + 1) * f3 * (f3 - 1) / 6 * flat[at + 2])

    def linear(q: FloatArray) -> FloatArray:
        row = q.ravel()
        return np.asarray(row[base + i] * (1 - f) + row[base + i + 1] * f)

    out: FloatArray = cubic + linear(slope) * (pull - linear(g0))
    return out
