"""The scatter of recall over seeds of one (tau, snr): facts share rivals, neurons and lengths."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr, ndtri

from ...numerics.quadrature import gauss_hermite
from .kernel_moments import Bare
from .mlp_fact import Facts

__all__ = ["scatter", "shared_fluctuation"]

FloatArray = NDArray[np.float64]
TINY = np.finfo(float).tiny
LARGEST = 700  # exponents are kept from overflow

ASIDE_OF_NEURONS = 15  # nodes of w.z_trig
LOWEST, HIGHEST, BINS = 0, 9, 37  # of the own logit, for pairs of facts
TERMS = 12  # of the bivariate normal law's series


def shared_fluctuation(bare: Bare, tau: FloatArray, m: float) -> FloatArray:
    """(R,): covariance over the weights of two facts' (own - mean): the variance of E[y | w.z_trig], over m."""
    x, w = gauss_hermite(ASIDE_OF_NEURONS)
    v = np.sqrt(tau)[:, None] * x
    spread = bare(v, np.ones_like(v))[1]
    mean = (w * spread).sum(-1, keepdims=True)
    out: FloatArray = (w * (spread - mean)**2).sum(-1) / m
    return out


def scatter(known: Facts, bare: Bare, values: Any, V: float, d: float, m: float, e: int, lam: float, mid: FloatArray,
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
