"""The three steps as count tables in scipy.sparse: what a user who has differentiated the model by hand would write.

Samples come sorted by label, so that the noise tokens of a label are a run, and a row of a sparse table as they stand.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array


def train(z_in, z_out, z_trig, informative, noise):  # type: ignore[no-untyped-def]
    """Logits (V, V) of the informative tokens; row k of z_out (V, d) is the output of its label; noise (N, L-1)."""
    (V, _), N, L, one = z_in.shape, len(noise), noise.shape[1] + 1, np.ones(noise.size)
    residuals, values, n = z_out - z_out.mean(axis=0), z_in + z_trig, np.bincount(informative, minlength=V)
    tokens = csr_array((one, noise.ravel(), np.arange(N + 1) * (L - 1)), (N, V))
    table = csr_array((one, noise.ravel(), np.append(0, np.cumsum(n)) * (L - 1)), (V, V)).toarray()
    val1 = residuals.T @ (table @ z_in + n[:, None] * values) / (N * L)

    pull = residuals @ val1 @ z_in.T  # (V, V)
    own = pull.diagonal() + residuals @ val1 @ z_trig
    mean = (pull[informative[:, None], noise].sum(axis=1) + own[informative]) / L
    rest = n * own - np.bincount(informative, mean, V)
    weight = np.einsum("kb,kb->b", table, pull) - tokens.T @ mean + rest
    g = (weight @ z_in + rest.sum() * z_trig) / (N * L)

    scores = z_in @ g
    best = noise[np.arange(N), scores[noise].argmax(axis=1)]
    right = scores[informative] + z_trig @ g > scores[best]
    lost = csr_array((np.ones(N - right.sum()), (informative[~right], best[~right])), (V, V))
    total = np.bincount(informative[right], minlength=V)[:, None] * values + lost @ z_in
    return values @ (residuals.T @ total / N).T @ z_out.T
