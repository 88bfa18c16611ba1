"""The inner product as the kernel of step three: the Attention-only model."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .fact import Facts
from .strengths import Kernel, power_variance
from .training_attention import Seeds

__all__ = ["InnerProduct"]

FloatArray = NDArray[np.float64]

LEAST_TOKEN = 1 / 20  # share of a token's overlap that its score leaves open; acts at d of a few


class InnerProduct:
    """Val reads values out as they are: K(h, h') = h.h', normal over the other values."""

    def moments(self, seeds: Seeds, facts: Facts) -> Kernel:
        """Exact: given w, the overlaps z_j.w are independent N(0, s/d)."""
        d = seeds.d[:, None]
        token = np.maximum(facts.s / d - facts.alpha**2, facts.s / d * LEAST_TOKEN)
        zero = np.zeros_like(facts.s)
        walk = power_variance(seeds, facts.t, facts.s / d, 3 * d / (d + 2) if seeds.sphere else 3)
        return Kernel(1, facts.weight, facts.s, facts.t, facts.alpha, token, zero, zero, facts.alpha, token, facts.own,
                      walk, 2 * np.sqrt(walk))

    def between(self, s1: FloatArray, s2: FloatArray, product: FloatArray) -> FloatArray:
        """The inner product itself."""
        return product
