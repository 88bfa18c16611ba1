"""How strongly labels are stored in the value that is read out: from the kernel's moments to those of theta.

Label j is stored with strength theta_j = c_j K(j, k) + ... - mean, K the kernel of the read-out (`read_out`), c_j the
label's count of rightly attended samples per lam. docs/derivations/recall.md has the derivation.

Val's quantisation to a few bits, without an MLP, adds noise to the entries, as strengths that all competitors share,
and keeps less than their share of what the label counts' noise stores along the trigger, and of the facts'
interference. The derivation: docs/derivations/quantisation.md.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from scipy.special import ndtr

from ..numerics.arrays import TINY, FloatArray, Rows
from ..numerics.quadrature import condensation, gauss_hermite
from ..numerics.quantiser import compression, product_kept, quantiser_noise
from .formulas import recall_formulas as rf
from .read_out import Kernel, NeuronDraw, swelling
from .seed import Seeds
from .training_attention import SPECK, Classes, best_pick

# powers of a value's scale in the moments of its kernel
SCALES = {"own": 1, "usual": 1, "mean": 1, "slope": 1, "bare_mean": 1, "bare_slope": 1, "bare_own": 1, "variance": 2,
          "bare_variance": 2, "common": 2, "linear": 2, "skewness": 0, "together": 0, "tied": 0}


@dataclasses.dataclass(frozen=True)
class Stored(Rows):
    """The strengths of the other labels by these classes, `groups`, fields (R, E, C), and over all of them, (R, E).

    weight (R, E or 1, C): of the classes. A label of count c has the mean c bias + rest - mean and the variance
    (c - taken)^2 spread + rest_variance, taken that of `groups`; beside that, a Poisson number of mean `picks` of its
    samples attend to the value itself, and store pick (R, E) each. square: E theta^2 of one competitor. best (R, E):
    chance that one token is among a sequence's noise. bare: variance of a wrong pick's overlap. missed (R,): share of
    wrong attention. shared: the part of `square` that is the same for all facts. known: its part that labels store, 1
    but where quantisation adds noise. common: overlap of the value with what wrong picks attend to, in excess of its
    mean, where facts have nodes over that; then `best` is 0, as nothing of what wrong picks agree on is left to chance.
    """

    groups: Classes
    weight: FloatArray
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
    known: FloatArray
    common: FloatArray


@dataclasses.dataclass(frozen=True)
class Others(Rows):
    """The other labels as a fact sees them, by class: weight (R, E or 1, C) of a class, and the chance picked (R, E, C)
    that a sequence of it attends to the fact's own token, which stands among its noise and ahead of its informative
    one: at most the class's share of wrong attention, of which it is a part. best (R, E): chance that the token which
    most wrong picks attend to is among a sequence's noise; 0 where it is the fact's own."""

    weight: FloatArray
    picked: FloatArray
    best: FloatArray


def others_of(seeds: Seeds, groups: Classes, zeta: FloatArray, picked: FloatArray, top: FloatArray) -> Others:
    """The other labels of facts (R, F), whose fields are as in `read_out.Facts`. The label of the token of the highest
    score is one of them, if it is not the fact's own."""
    ahead = zeta[..., None] - (groups.zeta + seeds.snr[:, None])[:, None]
    # whatever outranks a label's own token, the highest score does
    chance = np.maximum(ndtr(ahead / np.sqrt(groups.zeta_variance + SPECK)[:, None]), top[..., None])
    weight = groups.weight[:, None]
    if groups.single:
        one = ((1 - top) / np.maximum(seeds.V - 1, 1)[:, None])[..., None]
        rest = weight[..., :-1] / weight[..., :-1].sum(-1, keepdims=True) * (1 - one)
        weight = np.concatenate([rest, one], axis=-1)
    return Others(weight, np.minimum(picked[..., None] * chance, 1 - groups.share[:, None]),
                  best_pick(seeds)[:, None] * (1 - top))


def by_signal(kernel: Kernel, stored: Stored, scores: int, n: int, lone: FloatArray) -> Kernel:
    """The kernel at n nodes over the facts of each of so many scores and the draw of the neurons: over their signal to
    noise (own - mean)/sqrt(square), which decides whether they are recalled; what else differs is regressed on it.
    Facts that weigh less than `lone` (R,) together are one, the mean of all."""
    R, each = len(kernel.own), kernel.own.shape[1] // scores
    if kernel.nodes == 1 and each <= n:
        return kernel
    lead = np.maximum(kernel.own - kernel.mean, kernel.own * SPECK)
    signal = (lead / np.sqrt(stored.square)).reshape(R, scores, each)
    weight = kernel.weight.reshape(R, scores, each)
    total = np.maximum(weight.sum(-1, keepdims=True), TINY)
    _, mass, operator = condensation(signal, weight / total, min(n, each))
    few = total < lone[:, None, None]
    operator = np.where(few[..., None], (weight / total)[:, :, None], operator)
    mass = np.where(few, np.eye(1, mass.shape[-1])[0], mass)

    def at_nodes(values: FloatArray) -> FloatArray:
        values = values.reshape(R, scores, each)
        found = (operator @ values[..., None])[..., 0]
        # guard: a regression on few values may leave their range, by which an identity of many neurons would differ
        least, most = values.min(-1, keepdims=True), values.max(-1, keepdims=True)
        room = (most - least) / 2
        least = np.where(least > 0, np.maximum(least - room, least / 2), least - room)
        return np.clip(found, least, most + room).reshape(R, -1)

    # each moment in units of the noise, whose scale is no matter of its own
    scale = np.sqrt(stored.square)
    usual = np.exp(at_nodes(np.log(scale)))
    columns = {name: at_nodes(getattr(kernel, name) / scale**power) * usual**power for name, power in SCALES.items()}
    draw = None
    if kernel.nodes > 1:
        back = np.swapaxes(operator * mass[..., None], -1, -2) / np.maximum(weight / total, TINY)[..., None]
        draw = NeuronDraw(kernel.weight.reshape(R, -1, kernel.nodes), back, np.ones(R))
        # recall is decided by lead^2/square; facts share of the lead's scatter `together`, of the square's shared^2
        together, both = ((kernel.weight * values).sum(-1) for values in (kernel.together, stored.shared))
        log, root = np.log(lead), np.log(stored.square) / 2
        shared = together * draw.variance(log) + np.clip(both, 0, 1 - SPECK)**2 * draw.variance(root)
        draw = dataclasses.replace(draw, shared=np.clip(shared / np.maximum(draw.variance(log - root), TINY), 0, 1))
    return dataclasses.replace(kernel, **columns, weight=(mass * total).reshape(R, -1), draw=draw)


def stored(seeds: Seeds, groups: Classes, kernel: Kernel, others: Others) -> Stored:
    """First moments of what each class of labels stores in the value read out."""
    lam = seeds.lam[:, None, None]
    share, weight, picked = groups.share[:, None], others.weight, others.picked
    slope, bare = kernel.slope[..., None], kernel.bare_slope[..., None]
    bias = kernel.mean[..., None] + groups.zeta[:, None] * slope
    wrong = kernel.bare_mean[..., None] + groups.wrong[:, None] * bare
    itself, some = kernel.bare_own[..., None], np.maximum(1 - share, SPECK)
    elsewhere = 1 - picked / some
    mean_wrong = elsewhere * wrong + (1 - elsewhere) * itself
    variance, bare_variance = (
        of[..., None] * swelling(per[:, None] * score)[:, None] for of, per, score in (
            (kernel.variance, kernel.swell, groups.zeta), (kernel.bare_variance, kernel.bare_swell, groups.wrong)))
    spread = variance + groups.zeta_variance[:, None] * slope**2
    missed = (groups.weight * (1 - groups.share)).sum(-1)
    # Wrong picks fall on few tokens, so that their overlap with w is common to all labels.
    best, every = others.best[..., None], missed[:, None, None]
    rest_variance = rf.stored_rest(share, lam, bias, wrong, bare_variance,
                                   groups.share_variance[:, None], missed=every, best=best, elsewhere=elsewhere)
    pick, picks = itself / lam, rf.stored_picks(share, lam, picked / some)
    mean = (weight * rf.stored_mean(share, bias, mean_wrong)).sum(-1)
    square = rf.stored_square(share, lam, bias, mean_wrong, spread, mean[..., None],
                              rest=rest_variance + picks * pick**2, taken=groups.taken[:, None])
    square = (weight * square).sum(-1)
    # nothing attended rightly, and nothing wrongly by chance
    square = np.maximum(square, SPECK * kernel.own**2 / seeds.d[:, None])
    alone = (weight * rf.stored_alone(share, lam, every, best, taken=groups.taken[:, None])).sum(-1)
    alone = alone * (kernel.variance - kernel.common)
    astray = weight * np.maximum(1 - share, SPECK)
    bare_variance = (astray * bare_variance).sum(-1) / astray.sum(-1)
    return Stored(groups, weight, bias, spread, (1 - share) * elsewhere * wrong, rest_variance, picks, pick[..., 0],
                  mean, square, others.best, bare_variance, missed, 1 - alone / square, np.ones_like(square),
                  np.zeros_like(square))


def at_overlaps(kernel: Kernel, stored: Stored, n: int, lone: FloatArray) -> tuple[Kernel, Stored]:
    """Each fact (R, E) at n nodes in a row over the overlap of its value with what wrong picks attend to.

    Most wrong picks of long sequences attend to one token. Its overlap moves all labels that were attended wrongly
    together against those that were attended rightly; given it, it moves nothing but their means. The last class is the
    label of that token, whose own strength it is, too. A fact that weighs less than `lone` (R,) has the mean alone, at
    the first of its nodes."""
    x, w = gauss_hermite(n)
    facts, draw = kernel.own.shape[1], kernel.draw
    few = (kernel.weight < lone[:, None])[..., None]
    x, w = (np.where(few, alone, a).reshape(len(lone), -1) for alone, a in ((0 * x, x), (np.eye(1, n)[0], w)))
    if draw is not None:
        scores = draw.back.shape[1]
        draw = dataclasses.replace(draw, back=np.repeat(draw.back, n, axis=-1) * w.reshape(len(w), scores, 1, -1))
    kernel = kernel.repeated(n, facts)
    kernel = dataclasses.replace(kernel, weight=kernel.weight * w, draw=draw)
    before, share = stored.repeated(n, facts), stored.groups.share[:, None]
    missed = stored.missed[:, None, None]
    agreed = rf.agreement(before.best) * before.bare
    common, off = np.sqrt(agreed) * x, 1 - share - missed
    rest_given = off**2 * agreed[..., None]
    # the token's own label, the last class: its right picks store the overlap, less what all labels store of it
    last, kept = np.arange(share.shape[-1]) == share.shape[-1] - 1, share - stored.groups.taken[:, None]
    token, given = (last * a[..., None] for a in (
        kernel.tied * np.sqrt(before.bare) * x, kernel.tied**2 * before.bare))
    along = np.where(last, kept * token, off * common[..., None])
    deviation = share * before.bias + before.rest + before.picks * before.pick[..., None] - before.mean[..., None]
    moved = rf.stored_common(along, rest_given + kept**2 * given, deviation)
    square = np.maximum(before.square + (before.weight * moved).sum(-1), SPECK * before.square)
    fall = before.square / square
    return kernel, dataclasses.replace(
        before, bias=before.bias + token, rest=before.rest + along - share * token, common=common, square=square,
        best=0 * before.best, spread=np.maximum(before.spread - given, 0),
        rest_variance=np.maximum(before.rest_variance - rest_given, 0),
        shared=1 - (1 - before.shared) * fall, known=1 - (1 - before.known) * fall)


def in_few_bits(seeds: Seeds, groups: Classes, kernel: Kernel, others: Others, bits: int) -> tuple[Kernel, Stored]:
    """The kernel and `strengths.stored` with Val's entries quantised to `bits`; kernel fields are (R, E)."""
    missed = (groups.weight * (1 - groups.share)).sum(-1)[:, None]
    alone = rf.stored_alone(groups.share, seeds.lam[:, None], missed, best_pick(seeds)[:, None], taken=groups.taken)
    counts = groups.share / seeds.lam[:, None] + groups.share_variance + (1 - groups.share - missed)**2
    trigger = seeds.e * seeds.tau * (groups.weight * counts).sum(-1)
    facts = (groups.weight * alone).sum(-1)
    entries = facts + trigger  # an entry's variance, in units of V/d^2
    along = product_kept(trigger / entries, bits)[:, None]  # of what is read out along the trigger
    lost = (1 - along) * kernel.mean
    kept = dataclasses.replace(kernel, own=kernel.own - lost, mean=kernel.mean - lost,
                               variance=kernel.variance * (1 - (1 + along) * lost / kernel.own))

    found = stored(seeds, groups, kept, others)
    noise = rf.quantiser_square(seeds.V[:, None], seeds.d[:, None], quantiser_noise(bits), entries[:, None], kernel.own)
    # what is clipped, of the entries where a fact is large
    clipped = compression(bits) * facts / entries / seeds.V
    samples = np.maximum(seeds.lam * (groups.weight * groups.share).sum(-1), SPECK)
    at = {"clipped": clipped[:, None], "e": seeds.e, "tau": seeds.tau[:, None]}
    interference = (others.weight * alone[:, None]).sum(-1) * kept.variance
    less = (1 - rf.interference_kept(samples=samples[:, None], **at)) * np.minimum(interference, found.square)
    square = found.square - less + noise
    found = dataclasses.replace(found, spread=found.spread * rf.token_kept(**at)[..., None])
    # what two facts do not share
    own = (1 - found.shared) * found.square - less + noise * (1 - kernel.mean / kernel.own)
    return kept, dataclasses.replace(found, square=square, shared=1 - own / square, known=1 - noise / square)
