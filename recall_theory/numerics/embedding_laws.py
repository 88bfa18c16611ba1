"""Random embeddings of the laws that a setting names."""

from __future__ import annotations

import numpy as np

from .arrays import FloatArray


def random_rows(rng: np.random.Generator, n: int, d: int, embedding: str) -> FloatArray:
    """(n, d) random embeddings of the named law."""
    z = rng.standard_normal((n, d))
    if embedding == "gaussian":
        z /= np.sqrt(d)
        return z
    if embedding == "sphere":
        z /= np.linalg.norm(z, axis=1, keepdims=True)
        return z
    q, r = np.linalg.qr(z.T)  # (d, n); the signs make it uniform over orthonormal frames
    return np.ascontiguousarray((q * np.sign(np.diag(r))).T)


def random_embeddings(rng: np.random.Generator, V: int, d: int, law: str) -> tuple[FloatArray, FloatArray, FloatArray]:
    """z_in (V, d), z_out (V, d) and z_trig (d,), drawn in the order in which a seed's stream has them.

    With orthogonal ones z_trig is orthogonal to z_in too where d > V.
    """
    if law == "orthogonal" and d > V:
        both = random_rows(rng, V + 1, d, law)
        z_in, z_trig = both[:V], both[V]
    else:
        z_in = random_rows(rng, V, d, law)
        z_trig = random_rows(rng, 1, d, "sphere" if law == "orthogonal" else law)[0]
    return z_in, random_rows(rng, V, d, law), z_trig
