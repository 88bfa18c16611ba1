"""The right label's own strength, at nodes over the fact's training samples. docs/derivations/recall.md."""

from __future__ import annotations

import dataclasses

import numpy as np
from scipy.special import gammaln

from ..numerics.arrays import TINY, FloatArray, Rows
from ..numerics.quadrature import condense_with, gauss_poisson
from .accuracy import Accuracy
from .formulas import recall_formulas as rf
from .read_out import Kernel
from .seed import Seeds
from .strengths import Stored
from .training_attention import Attended

__all__ = ["OwnLabel", "Samples", "counts_of", "own_label", "samples_of"]


@dataclasses.dataclass(frozen=True)
class OwnLabel:
    """The right label before its noise, at nodes (R, E, P) over its samples: their weight, its strength `lead`, the
    `share` of right attention, the `surplus` of right picks over their mean, and the variance `astray` along its own
    output of what its other tokens store, and of the mean of all labels, which is taken off. usual (R, E): the strength
    less that of other labels, at a typical count."""

    weight: FloatArray
    lead: FloatArray
    share: FloatArray
    surplus: FloatArray
    astray: FloatArray
    usual: FloatArray


def counts_of(mean: FloatArray, n: int, each: int) -> tuple[FloatArray, FloatArray]:
    """Poisson counts (..., n) and weights: n nodes, or `each` count from 0 on if that is not 0."""
    if not each:
        return gauss_poisson(mean, n)
    count = np.arange(each, dtype=float)
    m = np.maximum(mean, TINY)[..., None]
    return np.broadcast_to(count, (*mean.shape, each)), np.exp(count * np.log(m) - m - gammaln(count + 1))


@dataclasses.dataclass(frozen=True)
class Samples(Rows):
    """A fact's training samples that were attended rightly, per their mean number if all were: nodes (R, F, P) of that
    `right` with weights, and the share that is expected of them. (R, F): mean score `wrong` of what the others attend
    to, and the share `copied` of samples that attend to a copy of the fact's own token among their noise, which of two
    copies scores the highest where the trigger's score is negative.
    """

    weight: FloatArray
    right: FloatArray
    share: FloatArray
    wrong: FloatArray
    copied: FloatArray


def samples_of(seeds: Seeds, attended: Attended, wrong: FloatArray, copied: FloatArray, accuracy: Accuracy,
               counts: int) -> Samples:
    """The samples of facts whose sequences attend to them so, `wrong` and `copied` (R, F) as in `Samples`. counts: of
    samples that are summed over, each by itself; if 0, there are nodes over them."""
    count, weight = counts_of(seeds.lam[:, None, None] * attended.share, accuracy.count, counts)
    right, share, weight = (np.broadcast_to(a, count.shape).reshape(*count.shape[:2], -1) for a in (
        count / seeds.lam[:, None, None, None], attended.share[..., None], attended.weight[..., None] * weight))
    if counts:  # the same counts at every share
        each = (*count.shape[:2], -1, counts)
        weight, part, right = weight.reshape(each), (weight * share).reshape(each), right[..., :counts]
        weight, part = weight.sum(axis=2), part.sum(axis=2)
        share = part / np.maximum(weight, TINY)
    if right.shape[-1] > accuracy.strength:
        right, weight, share = condense_with(right, weight, share, accuracy.strength)
    return Samples(weight, right, share, wrong, copied)


def own_label(seeds: Seeds, kernel: Kernel, stored: Stored, samples: Samples) -> OwnLabel:
    """The right label at the nodes over each fact's samples."""
    V, lam = (a[:, None, None] for a in (seeds.V, seeds.lam))
    a, off = samples.share, (kernel.bare_mean + samples.wrong * kernel.bare_slope)[..., None]
    missed = stored.missed[:, None, None]
    copies = {"copied": samples.copied[..., None], "itself": kernel.bare_own[..., None]}
    lead = rf.lead(V, lam, lam * samples.right, a, kernel.own[..., None], off, average=stored.mean[..., None],
                   missed=missed, common=stored.common[..., None], **copies)
    # what the fact's own wrong picks store: the tokens that all labels pick, others by chance, and copies of its own
    astray = rf.own_astray(a, lam, off, stored.bare[..., None], missed, stored.best[..., None], **copies)
    usual = (kernel.own - kernel.mean) * (a * samples.weight).sum(-1)
    astray = np.maximum(astray, 0) + stored.square[..., None] / V
    return OwnLabel(samples.weight, lead, a, lam * (samples.right - a), astray, usual)
