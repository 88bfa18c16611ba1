"""Recall and accuracy at finite rates: eta -> 0 with beta = eta*gamma finite, where training and test mix values.

The hierarchy is the limit's (`recall`), with weights in the place of right and wrong attention: a label's samples count
by their weight, their noise tokens are stored beside them, and a fresh sequence is read out as the mixture that the
softmax makes of it. docs/derivations/finite_rates.md has the derivation.
"""

from __future__ import annotations

import dataclasses
import functools

import numpy as np
from scipy.special import gammaln, ndtr, ndtri

from ..numerics.arrays import TINY, FloatArray
from ..numerics.quadrature import condensation, gauss_hermite, gauss_of_gamma
from ..settings import SettingError
from .accuracy import Accuracy
from .competitors import LEAST_EXPECTED, Kinds, merged, power_variance
from .correct_label import OwnLabel, counts_of
from .domain import Batch
from .formulas import finite_rate_formulas as fr
from .read_out import Kernel, Tokens, left_open, token_nodes
from .recall import recall_and_accuracy, rules_of
from .seed import SeedLaws, Seeds, quantile_of_score
from .soft_attention import Labels, Mixture, Softmax, labels, mixtures, soft_seeds
from .strengths import Stored
from .training_attention import SPECK, Classes
from .variance import answers, scatter

MOST_TIED = 0.95  # guard: of a correlation that is known to leading order in V
LARGEST_LOGIT = 300.0  # guard: acts on logits beyond which a softmax is an argmax, as far as floats tell
NAMES = ("recall", "accuracy", "recall_std", "accuracy_std", "weight")
COPIES = np.array([1.0, 2.0, 3.0])  # how often a noise token stands in a fresh sequence: more hardly ever up to L = V


@dataclasses.dataclass(frozen=True)
class Value:
    """What is read out for a fact, (R, E): h = a (z_k + e z_trig) + noise, a = 1 and no noise for recall.

    weight: of the entry. t = e z_trig.h, s = |h|^2, alpha: overlap of h with a token per unit of that token's score,
    own = (z_k + e z_trig).h, token = z_k.h. free: variance of a token's overlap with h that its score leaves open.
    wobble: variance of `own`. copies: mean overlap of h with a noise token of training that is among its own, and met:
    that of the square. top, rest, squares: weight of the greatest noise token, of all others, and the sum of their
    squares.
    """

    weight: FloatArray
    t: FloatArray
    s: FloatArray
    alpha: FloatArray
    free: FloatArray
    own: FloatArray
    token: FloatArray
    wobble: FloatArray
    copies: FloatArray
    met: FloatArray
    top: FloatArray
    rest: FloatArray
    squares: FloatArray


@dataclasses.dataclass(frozen=True)
class Trained:
    """What training leaves behind, whatever is read out: classes of labels, and nodes (R, E) over a fact's token, with
    what its label and the others store of that token."""

    softmax: Softmax
    groups: Labels
    at: Tokens

    @functools.cached_property
    def logit(self) -> FloatArray:
        """(R, E): of the fact's token."""
        return self.softmax.soft.at(self.at.zeta)

    @functools.cached_property
    def weights(self) -> tuple[FloatArray, FloatArray]:
        """E a and E a^2 (R, E, vocabulary) over the fact's sequences."""
        return self.softmax.weights(self.logit)

    @functools.cached_property
    def share(self) -> FloatArray:
        """(R, E): the first of these, over the vocabulary too."""
        return self.weights[0] @ self.softmax.w_vocabulary

    @functools.cached_property
    def astray(self) -> FloatArray:
        """(R, E): mean score of the noise beside the fact's token."""
        return self.softmax.noise(self.logit)[0]

    @functools.cached_property
    def picked(self) -> FloatArray:
        """(R, E): the share of the fact's token in the noise of another label."""
        return self.softmax.picked(self.at.zeta)

    @functools.cached_property
    def copies(self) -> FloatArray:
        """(R, E): the weight of other copies of the fact's token in its own sequences."""
        return self.softmax.copies(self.at.zeta)

    @functools.cached_property
    def usual(self) -> FloatArray:
        """(R,): mean weight of a label's samples."""
        return np.asarray((self.groups.weight * self.groups.a).sum(-1))

    @functools.cached_property
    def samples(self) -> FloatArray:
        """(R,): N (E a)^2/E a^2, as many samples of equal weight as vary a label's weight by as much."""
        return np.asarray(self.softmax.seeds.N * self.usual**2 / (self.groups.weight * self.groups.a2).sum(-1))

    def over_labels(self, a: FloatArray) -> FloatArray:
        """(R, E): the mean of a (R, E, C) over labels."""
        return np.asarray((self.groups.weight[:, None] * a).sum(-1))

    @functools.cached_property
    def counted(self) -> tuple[FloatArray, FloatArray]:
        """`summed_weights` of the classes, (R, C, nodes)."""
        groups = self.groups
        return summed_weights(self.softmax, groups.quantile, groups.between, groups.a, groups.a2)

    @functools.cached_property
    def own_counted(self) -> tuple[FloatArray, FloatArray]:
        """The same of the fact, (R, E, vocabulary, nodes)."""
        (a, a2), quantile = self.weights, quantile_of_score(self.softmax.seeds, self.at.zeta)
        return summed_weights(self.softmax, quantile[..., None], 0 * a, a, a2, own=True)


def facts(seeds: Seeds, accuracy: Accuracy) -> Tokens:
    """Nodes over a fact's token."""
    u, w = (a + np.zeros((len(seeds.V), 1)) for a in gauss_hermite(accuracy.soft_score))
    n = accuracy.soft_trigger if seeds.e else 1
    return token_nodes(seeds, u, w, n, 1 + seeds.e, functools.partial(gauss_of_gamma, n=accuracy.length, root=True))


def read(trained: Trained, mixed: Mixture | None) -> Value:
    """The value that is read out: of the fact alone, or of a fresh sequence with this noise."""
    soft, at = trained.softmax.soft, trained.at
    seeds, zeta, nothing = soft.seeds, at.zeta, np.zeros_like(at.zeta)
    V, d, tau, e = seeds.V[:, None], seeds.d[:, None], seeds.tau[:, None], seeds.e
    snr, across = seeds.bounded_snr[:, None], at.across
    a, again, top, rest, squares, tilt, copies, met = 1 + nothing, *[nothing] * 7
    if mixed is not None:
        # all in units of the greatest noise token's exponential
        own = soft.heat[:, None] * (zeta + snr - mixed.top[:, None])
        again = mixed.copies * np.exp(np.clip(own - soft.heat[:, None] * snr, -LARGEST_LOGIT, LARGEST_LOGIT))
        own = np.exp(np.clip(own, -LARGEST_LOGIT, LARGEST_LOGIT))
        total = own + again + mixed.often + mixed.rest[:, None]
        a, again, top, rest = own / total, again / total, mixed.often / total, mixed.rest[:, None] / total
        squares = mixed.squares[:, None] / total**2
        tilt = top * mixed.top[:, None] + rest * mixed.score[:, None]
        of_top, of_rest, of_squares = (share[:, None] for share in mixed.met)
        copies, met = top * of_top + rest * of_rest, top**2 * of_top + squares * of_squares
    alike = top**2 + squares
    noise = alike + np.maximum((top + rest)**2 - alike, 0) / V  # tokens drawn twice add up
    token = a + again  # of z_k in the mixture
    # the trigger's overlap with the mixture is shared out between the fact and the noise
    size = np.sqrt(token**2 + noise)
    with_fact, with_noise = snr * zeta / d + across * token / size, snr * tilt / d + across * noise / size
    joint = zeta * tilt / d
    s = token**2 * at.norm + e * a * (a * tau + 2 * token * with_fact + 2 * with_noise) + 2 * token * joint + noise
    t = e * (a * tau + snr * (token * zeta + tilt) / d + across * size)
    overlap = token * at.norm + e * a * with_fact + joint
    s, alone = np.maximum(s + tilt**2 / d, SPECK), (token * zeta + e * a * snr + tilt) / d
    alpha = alone + (seeds.rise[:, None] - 1) * (token * zeta + tilt) / d
    return Value(at.weight, t, s, alpha, left_open(s / d, alone, token**2 * seeds.risen[:, None] / d**2),
                 overlap + e * (a * tau + token * with_fact + with_noise), overlap, noise / d,
                 copies, met, top, rest, squares)


@dataclasses.dataclass(frozen=True)
class Noise:
    """What a class of labels stores with its noise tokens, (R, E, C): a label of weight c has the mean c bias + rest,
    the variance c^2 spread + fixed + drawn (1 + grows (c/a - 1)) and a third moment that grows likewise; wrong: mean
    overlap of its noise."""

    wrong: FloatArray
    bias: FloatArray
    rest: FloatArray
    spread: FloatArray
    fixed: FloatArray
    drawn: FloatArray
    grows: FloatArray
    third: FloatArray


def stored_noise(trained: Trained, value: Value) -> Noise:
    """What each class of labels stores, as the values (R, E) read it."""
    softmax, groups, picked = trained.softmax, trained.groups, trained.picked
    lam = softmax.seeds.lam[:, None, None]
    a, a2, zeta, varied, spread, tied, astray, squares = (getattr(groups, name)[:, None] for name in (
        "a", "a2", "zeta", "varied", "spread", "tied", "astray", "squares"))
    alpha, token, free = value.alpha[..., None], value.token[..., None], value.free[..., None]
    along = fr.along(a, a2)
    wrong = (picked * value.token + value.copies)[..., None] + astray * alpha
    missed = 1 - 2 * a + a2
    met = picked * value.token**2 + value.met
    drawn = (np.maximum(missed - along**2 * a2, 0) * wrong**2 + missed * free * softmax.agreement[:, None, None]
             + squares * (free + met[..., None])) / lam
    common = (1 - a - groups.missed[:, None, None])**2 * softmax.agreement[:, None, None] * free
    bias = value.t[..., None] + zeta * alpha + along * wrong
    slope = value.t[..., None] + zeta * alpha - wrong
    fixed = varied * slope**2 + 2 * tied * a * alpha * slope + common
    grows = np.clip(along * a / np.maximum(1 - a, TINY), 0, 1)
    third = picked[..., None] * token**3 * squares**2 / np.maximum(1 - a, SPECK) / lam**2
    spread = free + spread * alpha**2
    return Noise(wrong, bias, (1 - a - along * a) * wrong, spread, fixed, drawn, grows, third)


def competing_labels(trained: Trained, value: Value, noise: Noise,
                     mixed: Mixture | None) -> tuple[Kinds, FloatArray, FloatArray]:
    """Kinds of competitors, the mean (R, E) over labels that is taken from all, and E theta^2 (R, E)."""
    groups, seeds, (R, E) = trained.groups, trained.softmax.seeds, value.s.shape
    V = seeds.V[:, None]
    counted, p = trained.counted
    mean = trained.over_labels((p * counted).sum(-1)[:, None] * noise.bias + noise.rest)
    c = counted[:, None]
    grown = 1 + np.maximum(noise.grows[..., None] * (c / groups.a[:, None, :, None] - 1), -1)
    centre = c * noise.bias[..., None] + noise.rest[..., None] - mean[..., None, None]
    # guard: acts at counts far below their mean, where scores and weights that go together leave less than nothing
    kept = c - groups.taken[:, None, :, None]  # of its own token
    fixed = np.maximum(kept**2 * noise.spread[..., None] + noise.fixed[..., None], 0)
    varies = fixed + noise.drawn[..., None] * grown
    parts = [_over_classes((groups.weight[..., None] * p, centre, varies, noise.third[..., None] * grown),
                           value.weight, trained.softmax.accuracy.soft_kind)]
    group, labels = [np.zeros(parts[0][0][0].size)], [np.maximum(V - 1, 1)]
    if mixed is not None:
        found = _of_the_sequence(trained, value, noise, mixed)
        parts[0] = (parts[0][0] * np.maximum(1 - found[0].sum((1, 2)), 0)[:, None, None], *parts[0][1:])
        parts.append((found[0], found[1] - mean[..., None, None], found[2], np.zeros_like(found[2])))
        # the greatest is one label, and the others are so many distinct ones
        group.append(np.repeat([1, *[2] * len(COPIES)], found[0].shape[-1]))
        distinct = -V * np.expm1(-np.maximum(seeds.L - 2, 0)[:, None] / V)
        labels += [np.ones_like(V), np.maximum(distinct, 1)]
    weight = np.concatenate([part[0].reshape(R, -1) for part in parts], -1)
    strength, variance, third = (np.concatenate([part[i].reshape(R, E, -1) for part in parts], -1) for i in (1, 2, 3))
    square = np.maximum((weight[:, None] * (strength**2 + variance)).sum(-1), SPECK * value.own**2 / seeds.d[:, None])
    weight = np.where(weight * V > LEAST_EXPECTED, weight, 0)
    keep = (weight > 0).any(axis=0)
    variance, third = variance[..., keep], third[..., keep]
    cube = variance**(3 / 2)
    skewness = np.where(cube > TINY, third / np.maximum(cube, TINY), 0)
    weight, strength = weight[:, None, keep], strength[..., keep]
    kinds = Kinds(weight, strength, variance, variance, skewness, np.maximum(V - 2, 1) * square,
                  power_variance(seeds, weight, strength, variance), np.concatenate(group)[keep],
                  np.concatenate(labels, axis=-1))
    return kinds, mean, square


def _over_classes(kinds: tuple[FloatArray, ...], weight: FloatArray, n: int) -> tuple[FloatArray, ...]:
    """Weight (R, C, counts), mean, variance and third moment (R, E, C, counts) of kinds, with n nodes at each count in
    the place of the classes, by their means over facts of this weight (R, E)."""
    share, *moments = (np.moveaxis(a, -1, 1) for a in kinds)  # classes come last
    if share.shape[-1] <= n:
        return kinds
    whole = share.sum(-1, keepdims=True)
    typical = (weight[:, None, :, None] * moments[0]).sum(-2)
    _, share, operator = condensation(typical, share / np.maximum(whole, TINY), n)
    mean, variance, third = merged(operator, *moments)
    return tuple(np.moveaxis(a, 1, -1) for a in (share * whole, mean, variance, np.maximum(third, 0)))


def _of_the_sequence(trained: Trained, value: Value, noise: Noise,
                     mixed: Mixture) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Weight (R, K, counts), mean and variance (R, E, K, counts) of the labels whose tokens are the noise of the
    sequence: that of the greatest weight, and the others, as often as they stand there."""
    softmax, groups = trained.softmax, trained.groups
    seeds, soft = softmax.seeds, softmax.soft
    V, others = seeds.V[:, None], np.maximum(seeds.L - 2, 0)[:, None]
    once = others / V
    often = np.exp(COPIES * np.log(np.maximum(once, TINY)) - once - gammaln(COPIES + 1))
    number = np.concatenate([1 + 0 * once, often * np.maximum(V - 2, 0)], -1) / np.maximum(V - 1, 1)
    zeta = np.stack([mixed.top, *[mixed.plain] * len(COPIES)], -1)
    a, a2 = ((w @ softmax.w_vocabulary) for w in softmax.weights(soft.at(zeta)))
    c, p = summed_weights(softmax, quantile_of_score(seeds, zeta), 0 * zeta, a, a2)
    c = c[:, None]
    each = value.rest / np.maximum(others, 1)
    spread = np.maximum(value.squares / np.maximum(others, 1) - each**2, 0)
    weight = np.concatenate([value.top[..., None], each[..., None] * COPIES], -1)
    # a token's score moves its weight here and in training, and its overlap with the value
    steep = (1 - a2 / a)[:, None]
    heat = (soft.heat * mixed.spread)[:, None, None] * steep
    spread = np.sqrt(spread)[..., None] * np.append(0, COPIES) * (1 + steep)
    spread[..., 1:] += (heat * value.t[..., None] + (mixed.spread[:, None] * value.alpha)[..., None])[..., 1:]
    wrong = trained.over_labels(noise.wrong)[..., None]
    along = fr.along(a, a2)
    bias = value.t[..., None] + zeta[:, None] * value.alpha[..., None] + weight + along[:, None] * wrong
    rest = (1 - a - along * a)[:, None] * wrong
    fixed = trained.over_labels(noise.drawn)[..., None]
    norms = 0 if seeds.sphere else 2 / seeds.d[:, None, None]
    kept = c - softmax.taken(zeta, groups.missed)[:, None, :, None]
    varies = kept**2 * (value.free[..., None] + spread**2 + norms * weight**2)[..., None] + fixed[..., None]
    return number[..., None] * p, c * bias[..., None] + rest[..., None], varies


def answered(trained: Trained, mixed: Mixture | None) -> tuple[FloatArray, FloatArray]:
    """(R,) each: the chance that what is read out is answered by the fact's label, and its variance over seeds at a
    row, which is found for facts alone."""
    softmax, groups = trained.softmax, trained.groups
    seeds, accuracy, value = softmax.seeds, softmax.accuracy, read(trained, mixed)
    lam = seeds.lam[:, None]
    noise, free = stored_noise(trained, value), value.free
    kinds, mean, square = competing_labels(trained, value, noise, mixed)
    zero = np.zeros_like(value.s)
    common = zero + (seeds.e * seeds.beside / seeds.d)[:, None]
    # in units of the mean weight counts are Poisson and have mean 1, as in the limit
    usual = trained.usual[:, None]
    kernel = Kernel(
        1, np.inf, weight=value.weight, own=trained.share * value.own, usual=usual * value.t, mean=usual * value.t,
        slope=usual * value.alpha, variance=usual**2 * free, skewness=zero, bare_mean=zero, bare_slope=value.alpha,
        bare_variance=free, bare_own=value.token, swell=0 * seeds.V, bare_swell=0 * seeds.V,
        common=usual**2 * common, together=zero, linear=zero + usual**2, tied=zero + 1)
    label = own_label(trained, value, kernel, noise, mean)
    power = (groups.weight * ((groups.a - groups.taken)**2 + groups.a2 / lam)).sum(-1)[:, None]
    alone = power * np.maximum(free - common, 0) + trained.over_labels(noise.drawn)
    shared = 1 - np.minimum(alone / square, 1)
    classes = Classes(groups.weight, groups.a / usual, groups.zeta, groups.astray, groups.varied / usual**2,
                      groups.spread, 0 * groups.a)
    store = Stored(classes, *(zero for _ in dataclasses.fields(Stored)[1:]))
    store = dataclasses.replace(store, square=square, shared=shared, known=np.ones_like(square))
    effective = dataclasses.replace(seeds, N=trained.samples)
    each, law = answers(effective, kernel, store, label, kinds, accuracy, weight=np.ones_like(seeds.V))
    chance = (value.weight * (label.weight * each).sum(-1)).sum(-1)
    return chance, scatter(seeds, law, accuracy) if mixed is None else np.zeros_like(chance)


def summed_weights(softmax: Softmax, quantile: FloatArray, between: FloatArray, a: FloatArray, a2: FloatArray,
                   *, own: bool = False) -> tuple[FloatArray, FloatArray]:
    """Sums (R, ..., nodes) of the weights of a label's samples, in units of N/V, and how likely each is. (R, ...): mean
    of the normal quantiles of the scores of such labels' tokens, and what they vary by `between` them; two moments of
    the samples' weights. own: of the right label, which has counts or nodes of its own."""
    lam, tie = (x.reshape(-1, *[1] * (a.ndim - 1)) for x in (softmax.seeds.lam, softmax.soft.tie))
    step, tie = fr.jump(a, a2), np.minimum(tie * a / np.sqrt(a2), MOST_TIED)
    usual = lam * a / step
    nodes = softmax.accuracy.count if own else softmax.accuracy.competitor
    n, p = counts_of(usual, nodes, softmax.counts[0 if own else 1])
    below = ndtri(np.clip(np.cumsum(p[..., :-1], axis=-1), TINY, 1 - SPECK))  # of a count, at any score
    below = ndtr(fr.count_by_score(below, tie[..., None], quantile[..., None], np.minimum(between, 1)[..., None]))
    return n * (step / lam)[..., None], np.diff(below, axis=-1, prepend=0, append=1)


def own_label(trained: Trained, value: Value, kernel: Kernel, noise: Noise, mean: FloatArray) -> OwnLabel:
    """The correct label's logit: over its count, what the vocabulary makes of its weight, lengths and noise."""
    softmax, groups, (a, a2), (c, p) = trained.softmax, trained.groups, trained.weights, trained.own_counted
    seeds = softmax.seeds
    V = seeds.V[:, None, None, None]
    astray = trained.astray * value.alpha + value.copies
    less = np.maximum(1 - trained.share, SPECK)
    wrong = (astray + trained.copies / less * value.token)[..., None, None]
    along = fr.along(a, a2)[..., None]
    usual = a[..., None]
    lead = (1 - 1 / V) * (c * (value.own[..., None, None] + along * wrong) + (1 - usual - along * usual) * wrong
                          - mean[..., None, None])
    fixed = trained.over_labels(noise.drawn)[..., None, None]
    common = (softmax.agreement[:, None] * value.free)[..., None, None]
    astray = common * (1 - usual - groups.missed[:, None, None, None])**2 + fixed
    astray = astray + c**2 * value.wobble[..., None, None]
    share = softmax.w_vocabulary[:, None] * p
    shape = (*value.s.shape, -1)
    mean = trained.usual[:, None, None, None]
    surplus = (trained.samples / seeds.V)[:, None, None, None] * (c - (p * c).sum(-1, keepdims=True)) / mean
    share, lead, usual, surplus, astray = (
        np.broadcast_to(q, c.shape).reshape(shape) for q in (share, lead, usual / mean, surplus, astray))
    if lead.shape[-1] > softmax.accuracy.strength:
        lead, share, operator = condensation(lead, share, softmax.accuracy.strength)
        usual, surplus, astray = ((operator @ q[..., None])[..., 0] for q in (usual, surplus, astray))
        astray = np.maximum(astray, 0)
    return OwnLabel(share, lead, usual, surplus, astray, kernel.own - kernel.mean)


def softened(laws: SeedLaws, missed: FloatArray, finite: FloatArray) -> dict[str, FloatArray]:
    """Recall, accuracy, their standard deviations over seeds and the informative token's mean attention weight, (B,)
    each, by the names "recall", "accuracy", "recall_std", "accuracy_std" and "weight", at the beta of the settings.

    Embeddings are Gaussian or on the sphere, without an MLP. Where no weight is between 0 and 1, as for sequences of
    one token, it is the limit's law, `recall_and_accuracy` of the same arguments; attention, the chance that the
    informative token has the greatest weight, is the limit's everywhere.
    """
    batch, accuracy = laws.batch, laws.accuracy
    found = {name: 1 - missed for name in NAMES}  # noqa: C420  # an array each
    hard = []
    near = dataclasses.replace(batch, d=np.minimum(batch.d, accuracy.wide * batch.V))
    for i, L in enumerate(batch.L):
        one = None if L == 1 else _one(near.at(np.array([i])), float(missed[i]), accuracy)
        if one is None:
            hard.append(i)
            continue
        for name in NAMES:
            found[name][i] = one[name]
    if hard:
        limit = SeedLaws(batch.at(np.array(hard)), accuracy)
        for name, values in recall_and_accuracy(limit, missed[hard], finite[hard]).items():
            found[name][hard] = values
    return found


def _one(batch: Batch, missed: float, accuracy: Accuracy) -> dict[str, float] | None:
    """One setting, whose attention misses so much in the limit; None where the mean of a (1 - a) says that no weight is
    between 0 and 1."""
    rules = rules_of(batch, 0, missed, accuracy)
    accuracy = rules.accuracy
    if missed > accuracy.almost:
        accuracy = dataclasses.replace(accuracy, soft_lead=2 * accuracy.soft_lead)
    soft = soft_seeds(batch, accuracy)
    if not np.isfinite(soft.heat).all() or not np.isfinite(soft.tie).all():
        given = ", ".join(f"{name}={getattr(batch, name)[0]:g}" for name in "VLdN")
        raise SettingError("eta", f"{given}: too far apart for the law at finite rates; leave eta and gamma out")
    softmax = Softmax(soft, accuracy, (rules.own, rules.counts))
    groups, weight = labels(softmax), soft.weight
    soft_share = (groups.weight * (groups.a - groups.a2 - groups.varied)).sum(-1)
    if weight @ soft_share <= accuracy.hard:
        return None
    trained = Trained(softmax, groups, facts(soft.seeds, accuracy))
    recall, own = answered(trained, None)
    right = sum(mixed.weight * answered(trained, mixed)[0] for mixed in mixtures(softmax))
    found = {"weight": float(weight @ (1 - groups.missed))}
    for name, value, scale in (("recall", recall, 1.0), ("accuracy", right, np.minimum(right / np.maximum(recall, TINY),
                                                                                      1))):
        found[name] = float(weight @ value)
        found[name + "_std"] = float(np.sqrt(weight @ ((value - found[name])**2 + own * scale**2)))
    return found
