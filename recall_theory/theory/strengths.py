"""How strongly labels are stored in the value that is read out: from the kernel's moments to those of theta.

Label j is stored with strength theta_j = c_j K(j, k) + ... - mean, K the kernel of the read-out (`kernel`), c_j the
label's count of rightly attended samples per lam. docs/derivations/recall.md has the derivation.
"""

from __future__ import annotations

import dataclasses
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from .fact import Facts
from .training_attention import SPECK, Classes, Seeds, best_pick

__all__ = ["Kernel", "ReadOut", "Stored", "power_variance", "stored"]

FloatArray = NDArray[np.float64]


@dataclasses.dataclass(frozen=True)
class Kernel:
    """Moments of the kernel K(j, k) of other labels' values j with the value k that is read out, fields (R, E).

    An entry is a fact at a node of what the neurons' draw does to it (`nodes` of them a fact; 1 without an MLP):
    weight sums to 1 over a row. own: K(k, k). mean, slope, variance, skewness: of K(j, k) over tokens j, whose mean
    rises by `slope` per unit of the token's attention score; variance and skewness are those left at a given score.
    bare_mean, bare_slope, bare_variance: the same for values without the trigger; bare_own: K(z_k, k).
    power_variance, power_skewness: of the competitors' total strength over the draw of the neurons, relative.
    common: the part of `variance` that goes with the trigger and so is shared by all facts.
    """

    nodes: int
    weight: FloatArray
    own: FloatArray
    mean: FloatArray
    slope: FloatArray
    variance: FloatArray
    skewness: FloatArray
    bare_mean: FloatArray
    bare_slope: FloatArray
    bare_variance: FloatArray
    bare_own: FloatArray
    power_variance: FloatArray
    power_skewness: FloatArray


class ReadOut(Protocol):
    """How step three reads values out: by their inner product, or through the neurons of an MLP."""

    def moments(self, seeds: Seeds, facts: Facts) -> Kernel:
        """The kernel's moments for the values that are read out for the facts (R, F)."""

    def between(self, s1: FloatArray, s2: FloatArray, product: FloatArray) -> FloatArray:
        """The kernel, averaged over neurons, of values of these squared norms and this inner product."""


@dataclasses.dataclass(frozen=True)
class Stored:
    """The strengths of the other labels by class, fields (R, E, C), and over all of them, (R, E).

    A label of count c has the mean c bias + rest - mean and the variance c^2 spread + rest_variance.
    square: E theta^2 of one competitor. common_pick: variance of the overlap with what all labels pick wrongly.
    off: what a wrong pick of the fact's own label brings. missed (R,): share of wrong attention.
    """

    bias: FloatArray
    spread: FloatArray
    rest: FloatArray
    rest_variance: FloatArray
    mean: FloatArray
    square: FloatArray
    common_pick: FloatArray
    off: FloatArray
    missed: FloatArray


def stored(seeds: Seeds, groups: Classes, kernel: Kernel, picked: FloatArray) -> Stored:
    """First two moments of what each class of labels stores in the value read out; picked (R, E) as in `Facts`."""
    lam = seeds.lam[:, None, None]
    share, weight = groups.share[:, None], groups.weight[:, None]
    slope, bare = kernel.slope[..., None], kernel.bare_slope[..., None]
    bias = kernel.mean[..., None] + groups.zeta[:, None] * slope
    wrong = (kernel.bare_mean + picked * kernel.bare_own)[..., None] + groups.wrong[:, None] * bare
    spread = kernel.variance[..., None] + groups.zeta_variance[:, None] * slope**2
    rest = (1 - share) * wrong
    missed = (groups.weight * (1 - groups.share)).sum(-1)
    # Wrong picks fall on few tokens, so that their overlap with w is common to all labels.
    best = best_pick(seeds)
    together = best / (2 - best)  # the chance that two wrong picks agree
    common_pick = together[:, None] * kernel.bare_variance
    rest_variance = ((1 - share) / lam * (wrong**2 + kernel.bare_variance[..., None])
                     + groups.share_variance[:, None] * (bias - wrong) ** 2
                     + (1 - share - missed[:, None, None]) ** 2 * common_pick[..., None])
    expected = share * bias + rest
    mean = (weight * expected).sum(-1)
    square = (weight * ((expected - mean[..., None]) ** 2 + share * bias**2 / lam
                        + share * (share + 1 / lam) * spread + rest_variance)).sum(-1)
    # nothing attended rightly, and nothing wrongly by chance
    square = np.maximum(square, SPECK * kernel.own**2 / seeds.d[:, None])
    off = kernel.bare_mean + groups.wrong[:, :1] * kernel.bare_slope
    return Stored(bias, spread, rest, rest_variance, mean, square, common_pick, off, missed)


def power_variance(seeds: Seeds, mean: FloatArray, variance: FloatArray, kurtosis: FloatArray | float) -> FloatArray:
    """Relative variance (R, E) of sum_j theta_j^2 over the draw of V - 1 independent labels of Poisson counts.

    (E theta^4/(E theta^2)^2 - 1)/V at right attention, for kernels of these moments, normal where `kurtosis` is 3.
    """
    i = 1 / seeds.lam[:, None]
    t, v = mean, variance
    fourth = (t**4 * (3 * i**2 + i**3) + 6 * t * t * v * (i + 4 * i**2 + i**3)
              + kurtosis * v * v * (1 + 6 * i + 7 * i**2 + i**3))
    second = t * t * i + v * (1 + i)
    return np.asarray(np.maximum(fourth / second**2 - 1, 0) / seeds.V[:, None])
