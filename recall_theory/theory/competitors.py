"""The law of one competitor's logit, as the correct label's logit and the competitor's gain ask for it."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np

from ..numerics.arrays import TINY, FloatArray
from ..numerics.quadrature import FINE_NODES, condensation, gauss_hermite, gauss_legendre
from .accuracy import Accuracy
from .correct_label import counts_of
from .formulas import recall_formulas as rf
from .read_out import Kernel
from .seed import Seeds
from .strengths import Stored

LEAST_EXPECTED = 1e-6  # competitors expected of a kind that is left out
FEWEST = 4.0  # guard: tokens, below which the mean of one over the root of all competitors' squares has no bound
SYMMETRIC = 1e-12  # a kernel's skewness that is rounding, as of odd activations
LEAST_RANGE = 1e-6  # of an expected number; acts where there is none
NOTHING = 1e-100  # guard: of a mean square, where nothing is stored


@dataclasses.dataclass(frozen=True)
class Kinds:
    """Competitors by class and counts: weight (R, E or 1, K) of a kind; mean and variance (R, E, K) of its strength;
    the part of the variance `by_kernel` that is skewed, and its skewness (R, E, K or 1), 0 where that is rounding, as a
    gamma variable `broader` times as wide has it; power (R, E) of all V - 1 together, and its relative variance
    `varied`, without what tails add. Kinds of one `group` (K,) share its `labels` (R, G): a label is one of them, by
    their weights."""

    weight: FloatArray
    mean: FloatArray
    variance: FloatArray
    by_kernel: FloatArray
    skewness: FloatArray
    power: FloatArray
    varied: FloatArray
    group: FloatArray
    labels: FloatArray
    broader: float = np.inf


def kinds(seeds: Seeds, kernel: Kernel, stored: Stored, counts: int, accuracy: Accuracy) -> Kinds:
    """The kinds of competitors: by the number of their rightly attended samples, over the classes of labels, and by
    whether others attended to the value itself; those of a class that is a single label come last.

    counts: of samples that are kinds by themselves; if 0, kinds are nodes of a Gauss rule over all classes' counts,
    and a strength is normal at a node, of the mean and variance that the classes have there.
    """
    C = stored.groups.share.shape[1]
    ends = (0, C - 1, C) if stored.groups.single else (0, C)
    parts = [_of_classes(seeds, kernel, stored, slice(*where), counts, accuracy)
             for where in itertools.pairwise(ends)]
    weight = np.concatenate([weight for weight, _ in parts], axis=-1)
    moments = [np.concatenate(column, axis=-1) for column in zip(*(column for _, column in parts), strict=True)]
    weight = np.where(weight * seeds.V[:, None, None] > LEAST_EXPECTED, weight, 0)
    keep = (weight > 0).any(axis=(0, 1))
    weight, mean, variance, by_kernel, _ = (part[..., keep] for part in (weight, *moments))
    group = np.repeat(np.arange(len(parts)), [part.shape[-1] for part, _ in parts])[keep]
    others = np.maximum(seeds.V - 1, 1)
    # of the kernel at a given score, which is a part of what it varies by
    spread = np.maximum((stored.weight * stored.spread).sum(-1), kernel.variance)
    skewness = kernel.skewness * (kernel.variance / spread)**(3 / 2)
    found = Kinds(weight, mean, variance, np.clip(by_kernel, 0, variance),
                  np.where(np.abs(skewness) > SYMMETRIC, skewness, 0)[..., None],
                  np.maximum(seeds.V - 2, 1)[:, None] * stored.square,
                  power_variance(seeds, weight, mean, variance), group.astype(float),
                  np.stack([others, np.ones_like(others)][:len(parts)], axis=-1), kernel.broader)
    if not have_tails(seeds, kernel, accuracy):
        return found
    return _with_tail(found, kernel.tail, accuracy.tail)


def power_variance(seeds: Seeds, weight: FloatArray, mean: FloatArray, variance: FloatArray) -> FloatArray:
    """Relative variance (R, E) of sum_j theta_j^2 over the draw of V - 1 independent labels of kinds of this weight
    (R, E or 1, K), mean and variance (R, E, K), with the kurtosis of an overlap."""
    V, d, whole = seeds.V[:, None], seeds.d[:, None, None], weight.sum(-1)
    kurtosis = 3 * d / (d + 2) if seeds.sphere else 3
    square = np.maximum((weight * (mean**2 + variance)).sum(-1) / whole, NOTHING)
    fourth = (weight * rf.fourth(mean, variance, kurtosis)).sum(-1) / whole
    return np.asarray(np.maximum(rf.power_variance(V, square, fourth), 0))


def have_tails(seeds: Seeds, kernel: Kernel, accuracy: Accuracy) -> bool:
    """Whether competitors' logits have tails that a normal law has not."""
    ratio = float((seeds.d / seeds.V).max())  # one setting's, wherever there is a tail
    return bool(kernel.tail * (ratio / (1 + ratio))**2 >= accuracy.tailless)


def _of_classes(seeds: Seeds, kernel: Kernel, stored: Stored, which: slice, counts: int,
                accuracy: Accuracy) -> tuple[FloatArray, list[FloatArray]]:
    """The kinds of some of the classes: weights (R, E or 1, K), and mean, variance, its part by the kernel and picks of
    the value itself, (R, E, K) each."""
    R, E = kernel.own.shape
    share, among = stored.groups.share[:, which], stored.groups.weight[:, which]
    bias, spread, rest, rest_variance, picks = (
        of[..., which] for of in (stored.bias, stored.spread, stored.rest, stored.rest_variance, stored.picks))
    n, p = counts_of(seeds.lam[:, None] * share, accuracy.competitor, counts)
    right = n / seeds.lam[:, None, None]
    count = right[:, None]
    # picks of the value itself are kinds where samples are few; elsewhere that moves 0.0001 at most
    few, pick = seeds.lam[:, None, None] < accuracy.few, stored.pick[..., None]
    rest, rest_variance = (q + np.where(few, 0, picks * by) for q, by in ((rest, pick), (rest_variance, pick**2)))
    mean = count * bias[..., None] + rest[..., None] - stored.mean[..., None, None]
    by_kernel = (count - stored.groups.taken[:, None, which, None])**2 * spread[..., None]
    parts: list[FloatArray] = [mean, by_kernel + rest_variance[..., None], by_kernel,
                               np.where(few, picks, 0)[..., None] + 0 * mean]
    moments: list[FloatArray] = [part.reshape(R, E, -1) for part in parts]
    weight = ((among / among.sum(-1, keepdims=True))[..., None] * p).reshape(R, -1)
    classes = share.shape[1]
    if counts and classes > 1:
        whole = np.maximum(weight.reshape(R, classes, counts).sum(axis=1), TINY)
        each = (np.eye(counts)[:, None] * weight.reshape(R, 1, classes, counts)).reshape(R, counts, -1)
        weight = whole
        moments = merged(each / whole[..., None], *moments)
    elif weight.shape[-1] > accuracy.kind:
        _, weight, operator = condensation(right.reshape(R, -1), weight, accuracy.kind)
        moments = merged(operator, *moments)
    weight = weight[:, None] * stored.weight[..., which].sum(-1, keepdims=True)
    return _picked(weight, moments, stored.pick) if moments[3].any() else (weight, moments)


def _picked(weight: FloatArray, moments: list[FloatArray], pick: FloatArray) -> tuple[FloatArray, list[FloatArray]]:
    """The kinds without a pick of the value itself, and those with one or more, which store `pick` (R, E) each: their
    number is Poisson distributed, given that it is not 0."""
    mean, variance, by_kernel, picks = moments
    picks = np.maximum(picks, LEAST_EXPECTED * LEAST_RANGE)
    pick, number = pick[..., None], picks / -np.expm1(-picks)
    again = mean + number * pick, variance + np.maximum(number * (1 + picks - number), 0) * pick**2
    both = [np.concatenate(pair, axis=-1) for pair in zip(
        (mean, variance, by_kernel, picks), (*again, by_kernel, picks), strict=True)]
    return np.concatenate([weight * np.exp(-picks), weight * -np.expm1(-picks)], axis=-1), both


def _scales(excess: float, n: int) -> tuple[FloatArray, FloatArray]:
    """Nodes and weights of a lognormal variable of mean 1, times which the variance of a normal variable gives it that
    excess kurtosis."""
    spread = np.sqrt(np.log1p(excess / 3))
    x, weight = gauss_hermite(int(np.ceil(n * (1 + 5 * min(spread, 1)) / 6)))  # nodes as the spread asks for
    scale = np.exp(spread * x)
    return scale / (weight * scale).sum(), weight


def _with_tail(kinds: Kinds, excess: float, n: int) -> Kinds:
    """The kinds as mixtures of n each over the part `by_kernel` of the variance, lognormal, so that this part of a
    strength has that excess kurtosis. What is read out counts in units of all strengths together, of which a
    competitor's own square is a part."""
    scale, weight = _scales(excess, n)
    rest, by_kernel = (kinds.variance - kinds.by_kernel)[..., None], kinds.by_kernel[..., None] * scale
    alone = np.maximum(kinds.variance, TINY)
    together = np.maximum(kinds.power[..., None], alone)
    times = 1 / (1 + kinds.by_kernel[..., None] * (scale - 1) / together[..., None])
    times = times * (alone / (weight * times * (rest + by_kernel)).sum(-1).clip(TINY))[..., None]
    each, varied, by_kernel = (a.reshape(*a.shape[:2], -1) for a in (
        kinds.weight[..., None] * weight, times * (rest + by_kernel), times * by_kernel))
    mean, group = (np.repeat(a, len(scale), axis=-1) for a in (kinds.mean, kinds.group))
    return dataclasses.replace(kinds, weight=each, mean=mean, variance=varied, by_kernel=by_kernel, group=group)


def tails_in_power(seeds: Seeds, kernel: Kernel, accuracy: Accuracy) -> float:
    """What tails add to the relative variance of Q, all competitors' squared strengths together: rare ones make most of
    it, so that a gamma variable has the variance at which its mean of 1/sqrt(Q) is theirs."""
    if not have_tails(seeds, kernel, accuracy):
        return 0.0
    V = max(float(seeds.V[0]), FEWEST)
    scale, weight = _scales(kernel.tail, accuracy.tail)
    u, w = gauss_legendre(FINE_NODES)
    x = u / (1 - u)
    # E e^(-x^2 Q), whose integral over all x is sqrt(pi)/2 E 1/sqrt(Q)
    laplace = (weight * rf.tail_decay(V, scale, x[:, None]**2)).sum(-1)**(V - 1)
    return float(rf.tail_power(2 / np.sqrt(np.pi) * (w / (1 - u)**2 * laplace).sum())) - 2 / (V - 1)


def merged(operator: FloatArray, mean: FloatArray, variance: FloatArray, *others: FloatArray) -> list[FloatArray]:
    """Moments (R, E, K) of what is merged from kinds (R, E, J), by weights (R, K, J) that sum to 1 over J."""
    take = np.swapaxes(operator, -1, -2)
    merged = mean @ take
    least = variance.min(axis=-1, keepdims=True)  # weights of a Gauss rule may be negative
    return [merged, np.maximum((mean**2 + variance) @ take - merged**2, least), *(part @ take for part in others)]
