"""Settings as arrays: what the law takes."""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray

from ..activations import Activation
from ..numerics.arrays import FloatArray

__all__ = ["Batch"]


@dataclasses.dataclass(frozen=True)
class Batch:
    """Settings that differ in their sizes V, L, d, N and m, arrays (B,).

    m and phi are None without an MLP, e is 1 if the trigger is in the values, else 0.
    """

    V: FloatArray
    L: FloatArray
    d: FloatArray
    N: FloatArray
    m: FloatArray | None
    phi: Activation | None
    embedding: str
    e: int
    bits: int | None = None  # to which the entries of Val are quantised

    @property
    def sphere(self) -> bool:
        """Whether embeddings have norm 1."""
        return self.embedding == "sphere"

    def at(self, rows: NDArray[np.intp]) -> Batch:
        """Some of the settings."""
        return Batch(self.V[rows], self.L[rows], self.d[rows], self.N[rows], None if self.m is None else self.m[rows],
                     self.phi, self.embedding, self.e, self.bits)
