"""The three steps as plain loops that numba compiles, and products of matrices: no blocks, no ties, all tokens held."""

from __future__ import annotations

import numba
import numpy as np


@numba.njit
def count(informative, noise, table):  # type: ignore[no-untyped-def]
    for i in range(len(noise)):
        for position in range(noise.shape[1]):
            table[informative[i], noise[i, position]] += 1


@numba.njit
def pulled(informative, noise, pull, own, weight):  # type: ignore[no-untyped-def]
    L, rest = noise.shape[1] + 1, 0.0
    for i in range(len(noise)):
        k = informative[i]
        mean = own[k]
        for position in range(L - 1):
            mean += pull[k, noise[i, position]]
        mean /= L
        for position in range(L - 1):
            token = noise[i, position]
            weight[token] += pull[k, token] - mean
        weight[k] += own[k] - mean
        rest += own[k] - mean
    return rest


@numba.njit
def attended(informative, noise, scores, trigger_score, z_in, values, total):  # type: ignore[no-untyped-def]
    for i in range(len(noise)):
        k, best = informative[i], noise[i, 0]
        greatest = scores[best]
        for position in range(1, noise.shape[1]):
            token = noise[i, position]
            if scores[token] > greatest:
                best, greatest = token, scores[token]
        if scores[k] + trigger_score > greatest:
            total[k] += values[k]
        else:
            total[k] += z_in[best]


def train(z_in, z_out, z_trig, informative, noise):  # type: ignore[no-untyped-def]
    """Logits (V, V) of the informative tokens; row k of z_out (V, d) is the output of its label; noise (N, L-1)."""
    V, N, L = len(z_in), len(noise), noise.shape[1] + 1
    residuals, values, table = z_out - z_out.mean(axis=0), z_in + z_trig, np.zeros((V, V))
    count(informative, noise, table)
    n = np.bincount(informative, minlength=V)
    val1 = residuals.T @ (table @ z_in + n[:, None] * values) / (N * L)
    pull = np.matmul(residuals @ val1, z_in.T, out=table)
    own, weight = pull.diagonal() + residuals @ val1 @ z_trig, np.zeros(V)
    rest = pulled(informative, noise, pull, own, weight)
    g = (weight @ z_in + rest * z_trig) / (N * L)
    total = np.zeros_like(z_in)
    attended(informative, noise, z_in @ g, z_trig @ g, z_in, values, total)
    return values @ (residuals.T @ total / N).T @ z_out.T
