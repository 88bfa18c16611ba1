"""How strongly labels are stored in the value that is read out: from the kernel's moments to those of theta.

Label j is stored with strength theta_j = c_j K(j, k) + ... - mean, K the kernel of the read-out (`read_out`), c_j the
label's count of rightly attended samples per lam. docs/derivations/recall.md has the derivation.

Val's quantisation to a few bits, without an MLP, adds noise to the entries, as strengths that all competitors share,
and keeps less than their share of what the label counts' noise stores along the trigger. The derivation:
docs/derivations/quantisation.md.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from scipy.special import ndtr

from ..numerics.arrays import FloatArray
from ..numerics.quantiser import compression, quantiser_noise
from .formulas import recall_formulas as rf
from .read_out import Facts, Kernel
from .training_attention import SPECK, Classes, Seeds, best_pick


@dataclasses.dataclass(frozen=True)
class Stored:
    """The strengths of the other labels by class, fields (R, E, C), and over all of them, (R, E).

    A label of count c has the mean c bias + rest - mean and the variance c^2 spread + rest_variance; beside that, a
    Poisson number of mean `picks` of its samples attend to the value itself, and store pick (R, E) each.
    square: E theta^2 of one competitor. best (R, 1): chance that one token is among a sequence's noise. bare: variance
    of a wrong pick's overlap. missed (R,): share of wrong attention. shared: the part of `square` that is the same for
    all facts.
    """

    bias: FloatArray
    spread: FloatArray
    rest: FloatArray
    rest_variance: FloatArray
    picks: FloatArray
    pick: FloatArray
    mean: FloatArray
    square: FloatArray
    best: FloatArray
    bare: FloatArray
    missed: FloatArray
    shared: FloatArray


def picked_by(seeds: Seeds, groups: Classes, read: Facts) -> FloatArray:
    """(R, F, C): the chance that a sequence of a class attends to the fact's own token, which stands among its noise
    and ahead of its informative one: at most the class's share of wrong attention, of which it is a part."""
    ahead = read.zeta[..., None] - (groups.zeta + seeds.snr[:, None])[:, None]
    picked = read.picked[..., None] * ndtr(ahead / np.sqrt(groups.zeta_variance + SPECK)[:, None])
    return np.asarray(np.minimum(picked, 1 - groups.share[:, None]))


def stored(seeds: Seeds, groups: Classes, kernel: Kernel, picked: FloatArray) -> Stored:
    """First moments of what each class of labels stores in the value read out; picked (R, E, C) as in `picked_by`."""
    lam = seeds.lam[:, None, None]
    share, weight = groups.share[:, None], groups.weight[:, None]
    slope, bare = kernel.slope[..., None], kernel.bare_slope[..., None]
    bias = kernel.mean[..., None] + groups.zeta[:, None] * slope
    wrong = kernel.bare_mean[..., None] + groups.wrong[:, None] * bare
    itself, some = kernel.bare_own[..., None], np.maximum(1 - share, SPECK)
    mean_wrong = wrong + picked / some * itself
    spread = kernel.variance[..., None] + groups.zeta_variance[:, None] * slope**2
    missed = (groups.weight * (1 - groups.share)).sum(-1)
    # Wrong picks fall on few tokens, so that their overlap with w is common to all labels.
    best, every = best_pick(seeds)[:, None, None], missed[:, None, None]
    rest_variance = rf.stored_rest(share, lam, bias, wrong, kernel.bare_variance[..., None],
                                   groups.share_variance[:, None], missed=every, best=best)
    pick, picks = itself / lam, rf.stored_picks(share, lam, picked / some)
    mean = (weight * rf.stored_mean(share, bias, mean_wrong)).sum(-1)
    square = rf.stored_square(share, lam, bias, mean_wrong, spread, mean[..., None],
                              rest=rest_variance + picks * pick**2)
    square = (weight * square).sum(-1)
    # nothing attended rightly, and nothing wrongly by chance
    square = np.maximum(square, SPECK * kernel.own**2 / seeds.d[:, None])
    alone = (weight * rf.stored_alone(share, lam, every, best)).sum(-1) * (kernel.variance - kernel.common)
    return Stored(bias, spread, (1 - share) * wrong, rest_variance, picks, pick[..., 0], mean, square, best[..., 0],
                  kernel.bare_variance, missed, 1 - alone / square)


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
