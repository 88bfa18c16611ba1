"""How many rivals beat a fact: their law on a grid of own logits."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from ...numerics.quadrature import gauss_gamma, gauss_poisson
from ...numerics.unit_sphere import leading_scale, score_of_coordinate
from ..training_attention import Classes

__all__ = ["rivals", "skewed"]

FloatArray = NDArray[np.float64]
TINY = np.finfo(float).tiny

SHAPE = 4  # nodes of the kernel with another fact's value
COUNTS = 8  # of the number of training samples
FARTHEST = 1000  # the grid's end, where embeddings are all but orthogonal
FEWEST = 1 / 10**4  # rivals of a kind that count
STEP = 4 / 5  # of the grid of own logits


def skewed(skewness: FloatArray, n: int) -> tuple[FloatArray, FloatArray]:
    """(..., n) nodes and weights of mean 0, variance 1 and the given skewness: a shifted gamma variable."""
    half = np.maximum(np.abs(skewness) / 2, 1 / 10**4)
    x, w = gauss_gamma(half**2, n)
    x = (x - 1) / half[..., None]
    # a skewness that is all rounding has no sign of its own
    return np.where((skewness < -2 / 10**4)[..., None], -x, x), w


def rivals(V: float, d: float, lam: float, groups: Classes, right: FloatArray, missed: FloatArray,
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
    nodes, node_weight = skewed(skewness, SHAPE)
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
                in_normal = score_of_coordinate(lead / np.sqrt(d), leading_scale(d), FEWEST**4) if sphere else lead
                found += weight * ndtr(in_normal)
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
