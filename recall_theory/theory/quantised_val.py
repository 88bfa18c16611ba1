"""What Val's quantisation to a few bits does to the read-out and to the strengths of the labels, without an MLP.

It adds noise to the entries, as strengths that all competitors share, and keeps less than their share of what the
label counts' noise stores along the trigger. docs/derivations/quantisation.md has the derivation.
"""

from __future__ import annotations

import dataclasses

from ..numerics.arrays import FloatArray
from ..numerics.quantiser import compression, quantiser_noise
from .formulas import recall_formulas as rf
from .read_out import Kernel
from .strengths import Stored, stored
from .training_attention import Classes, Seeds, best_pick

__all__ = ["in_few_bits"]


def in_few_bits(seeds: Seeds, groups: Classes, kernel: Kernel, picked: FloatArray, bits: int) -> tuple[Kernel, Stored]:
    """The kernel and `strengths.stored` with Val's entries quantised to `bits`; kernel fields are (R, E)."""
    missed = (groups.weight * (1 - groups.share)).sum(-1)[:, None]
    alone = rf.stored_alone(groups.share, seeds.lam[:, None], missed, best_pick(seeds)[:, None])
    counts = groups.share / seeds.lam[:, None] + groups.share_variance + (1 - groups.share - missed)**2
    trigger = seeds.e * seeds.tau * (groups.weight * counts).sum(-1)
    entries = (groups.weight * alone).sum(-1) + trigger  # an entry's variance, in units of V/d^2
    lost = (compression(bits) * trigger / entries)[:, None] * kernel.mean
    kept = dataclasses.replace(kernel, own=kernel.own - lost, mean=kernel.mean - lost)

    found = stored(seeds, groups, kept, picked)
    noise = rf.quantiser_square(seeds.V[:, None], seeds.d[:, None], quantiser_noise(bits), entries[:, None], kernel.own)
    square = found.square + noise
    own = (1 - found.shared) * found.square + noise * (1 - kernel.mean / kernel.own)  # that two facts do not share
    return kept, dataclasses.replace(found, square=square, shared=1 - own / square)
