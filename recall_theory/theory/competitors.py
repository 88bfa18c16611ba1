"""The law of one competitor's logit, as the correct label's logit and the competitor's gain ask for it."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
from scipy.special import ndtr, ndtri

from ..numerics.arrays import TINY, FloatArray
from ..numerics.quadrature import condensation, gauss_hermite
from ..numerics.unit_sphere import coordinate_of_score, peizer_pratt_scale, score_of_skewed
from .accuracy import Accuracy
from .correct_label import Nodes, counts_of
from .read_out import Kernel
from .strengths import Stored
from .training_attention import BELOW_ONE, Classes, Seeds

# a cubic through values at 0, 1, 2, 3 in powers
CUBIC = np.array([[1, 0, 0, 0], [-11 / 6, 3, -3 / 2, 1 / 3], [1, -5 / 2, 2, -1 / 2], [-1 / 6, 1 / 2, -1 / 2, 1 / 6]])
EXPECTED_IF_LOST, EXPECTED_IF_WON = 12.0, 1e-4  # competitors above: with so many (few) a fact is as good as lost (won)
NEARLY_LOST, NEARLY_WON = 5.0, 1e-2  # the same for the nodes over the noise, which have one each beyond
ROOM = 1 / 4  # standard deviations of a competitor beyond the logits where that is so
TAIL_END = 12  # standard deviations, as far as tails are corrected
STEEPEST = 49 / 50  # cosine between an output and what is read out; acts on the sphere at d of a few
LEAST_GAP = 1e-5  # a gap whose square is lost beside 1, where a quotient becomes a derivative
LEAST_CHANCE = 1 / 100  # of a competitor to stay below, where so few labels are left that no fact is ever lost
LEAST_EXPECTED = 1e-6  # competitors expected of a kind that is left out
GAIN_END = 4  # standard deviations of the gain within which it has points: beyond, the nearest one serves
LEAST_RANGE = 1e-6  # of a gain or logit; acts where nodes coincide
LEAST_TABLE = 1 / 8  # of logits, or of gains' inverse hyperbolic sines: derivatives of a narrower table are rounding


@dataclasses.dataclass(frozen=True)
class Kinds:
    """Competitors by class and counts: weight (R, E or 1, K) of a kind; mean, variance and third central moment
    (R, E, K) of its strength (None if all are 0); power (R, E) of all V - 1 together. The last `single` kinds are those
    of one label."""

    weight: FloatArray
    mean: FloatArray
    variance: FloatArray
    third: FloatArray | None
    power: FloatArray
    single: int = 0


def kinds(seeds: Seeds, groups: Classes, kernel: Kernel, stored: Stored, counts: int, accuracy: Accuracy) -> Kinds:
    """The kinds of competitors: by the number of their rightly attended samples, over the classes of labels, and by
    whether others attended to the value itself; those of a class that is a single label come last.

    counts: of samples that are kinds by themselves; if 0, kinds are nodes of a Gauss rule over all classes' counts,
    and a strength is normal at a node, of the mean and variance that the classes have there.
    """
    C = groups.share.shape[1]
    ends = (0, C - 1, C) if groups.single else (0, C)
    parts = [_of_classes(seeds, groups, kernel, stored, slice(*where), counts, accuracy)
             for where in itertools.pairwise(ends)]
    weight = np.concatenate([weight for weight, _ in parts], axis=-1)
    moments = [np.concatenate(column, axis=-1) for column in zip(*(column for _, column in parts), strict=True)]
    weight = np.where(weight * seeds.V[:, None, None] > LEAST_EXPECTED, weight, 0)
    keep = (weight > 0).any(axis=(0, 1))
    mean, variance, by_kernel, _, *third = (part[..., keep] for part in moments)
    single = int(np.asarray(keep)[parts[0][0].shape[-1]:].sum())
    found = Kinds(weight[..., keep], mean, variance, third[0] if third else None,
                  np.maximum(seeds.V - 2, 1)[:, None] * stored.square, single)
    ratio = float((seeds.d / seeds.V).max())  # one setting's, wherever there is a tail
    if kernel.tail * (ratio / (1 + ratio))**2 < accuracy.tailless:
        return found
    return _with_tail(found, np.clip(by_kernel, 0, variance), kernel.tail, accuracy.tail)


def _of_classes(seeds: Seeds, groups: Classes, kernel: Kernel, stored: Stored, which: slice, counts: int,
                accuracy: Accuracy) -> tuple[FloatArray, list[FloatArray]]:
    """The kinds of some of the classes: weights (R, E or 1, K), and mean, variance, its part by the kernel, picks of
    the value itself and, if there is one, third central moment, (R, E, K) each."""
    R, E = kernel.own.shape
    share = groups.share[:, which]
    bias, spread, rest, rest_variance, picks = (
        of[..., which] for of in (stored.bias, stored.spread, stored.rest, stored.rest_variance, stored.picks))
    n, p = counts_of(seeds.lam[:, None] * share, accuracy.competitor, counts)
    right = n / seeds.lam[:, None, None]
    count = right[:, None]
    # picks of the value itself are kinds where samples are few; elsewhere that moves 0.0001 at most
    few, pick = seeds.lam[:, None, None] < accuracy.few, stored.pick[..., None]
    rest, rest_variance = (q + np.where(few, 0, picks * by) for q, by in ((rest, pick), (rest_variance, pick**2)))
    mean = count * bias[..., None] + rest[..., None] - stored.mean[..., None, None]
    by_kernel = (count - stored.taken[:, None, which, None])**2 * spread[..., None]
    parts: list[FloatArray] = [mean, by_kernel + rest_variance[..., None], by_kernel,
                               np.where(few, picks, 0)[..., None] + 0 * mean]
    if kernel.skewness.any():
        parts.append(count**3 * (kernel.skewness * kernel.variance**(3 / 2))[..., None, None] + 0 * mean)
    moments: list[FloatArray] = [part.reshape(R, E, -1) for part in parts]
    among = groups.weight[:, which] / groups.weight[:, which].sum(-1, keepdims=True)
    weight = (among[..., None] * p).reshape(R, -1)
    classes = share.shape[1]
    if counts and classes > 1:
        whole = np.maximum(weight.reshape(R, classes, counts).sum(axis=1), TINY)
        each = (np.eye(counts)[:, None] * weight.reshape(R, 1, classes, counts)).reshape(R, counts, -1)
        weight = whole
        moments = _merged(each / whole[..., None], *moments)
    elif weight.shape[-1] > accuracy.kind:
        _, weight, operator = condensation(right.reshape(R, -1), weight, accuracy.kind)
        moments = _merged(operator, *moments)
    weight = weight[:, None] * stored.weight[..., which].sum(-1, keepdims=True)
    return _picked(weight, moments, stored.pick) if moments[3].any() else (weight, moments)


def _picked(weight: FloatArray, moments: list[FloatArray], pick: FloatArray) -> tuple[FloatArray, list[FloatArray]]:
    """The kinds without a pick of the value itself, and those with one or more, which store `pick` (R, E) each: their
    number is Poisson distributed, given that it is not 0."""
    mean, variance, by_kernel, picks, *third = moments
    picks = np.maximum(picks, LEAST_EXPECTED * LEAST_RANGE)
    pick, number = pick[..., None], picks / -np.expm1(-picks)
    again = mean + number * pick, variance + np.maximum(number * (1 + picks - number), 0) * pick**2
    both = [np.concatenate(pair, axis=-1) for pair in zip(
        (mean, variance, by_kernel, picks, *third), (*again, by_kernel, picks, *third), strict=True)]
    return np.concatenate([weight * np.exp(-picks), weight * -np.expm1(-picks)], axis=-1), both


def _with_tail(kinds: Kinds, by_kernel: FloatArray, excess: float, n: int) -> Kinds:
    """The kinds as mixtures of n each over the part `by_kernel` (R, E, K) of the variance, lognormal, so that this part
    of a strength has that excess kurtosis."""
    x, weight = gauss_hermite(n)
    scale = np.exp(np.sqrt(np.log1p(excess / 3)) * x)
    scale = scale / (weight * scale).sum()
    varied = kinds.variance[..., None] + by_kernel[..., None] * (scale - 1)
    varied = varied.reshape(*kinds.variance.shape[:-1], -1)
    third = None if kinds.third is None else np.repeat(kinds.third, n, axis=-1)
    each = (kinds.weight[..., None] * weight).reshape(*kinds.weight.shape[:-1], -1)
    return Kinds(each, np.repeat(kinds.mean, n, axis=-1), varied, third, kinds.power, kinds.single * n)


def _merged(operator: FloatArray, mean: FloatArray, variance: FloatArray, *others: FloatArray) -> list[FloatArray]:
    """Moments (R, E, K) of what is merged from kinds (R, E, J), by weights (R, K, J) that sum to 1 over J."""
    take = np.swapaxes(operator, -1, -2)
    merged = mean @ take
    least = variance.min(axis=-1, keepdims=True)  # weights of a Gauss rule may be negative
    return [merged, np.maximum((mean**2 + variance) @ take - merged**2, least), *(part @ take for part in others)]


@dataclasses.dataclass(frozen=True)
class Hazard:
    """log of the expected number of competitors above a logit, (R, E, G, J), on G gains and J scaled logits.

    A scaled logit is the logit over the standard deviation of a competitor at its gain w, sqrt(1 + w^2/(V - 1)), from
    low to high in even steps. Gains are Chebyshev points of asinh(w/root), root (R, 1, 1) = sqrt(V - 1), between
    middle - half and middle + half: as a function of it that standard deviation has its singularities farther away.
    """

    log: FloatArray
    middle: FloatArray
    half: FloatArray
    low: FloatArray
    high: FloatArray
    root: FloatArray

    def at(self, scaled: FloatArray, gain: FloatArray) -> FloatArray:
        """The same at nodes (R, E, M): a polynomial through all gains, cubics in the logit; constant past the ends."""
        R, E, G, J = self.log.shape
        to_powers = np.linalg.inv(np.vander(chebyshev(G), increasing=True))
        of_gain = np.tensordot(to_powers, self.log, axes=(1, 2))  # (G, R, E, J)
        powers = np.stack([sum(c * of_gain[..., k : J - 3 + k] for k, c in enumerate(row) if c) for row in CUBIC], 1)
        powers = powers.reshape(G, 4, -1)
        place = np.clip((scaled - self.low) / (self.high - self.low) * (J - 1), 0, J - 1)
        first = np.clip(place.astype(np.intp) - 1, 0, J - 4)
        f = place - first
        cell = np.arange(R * E).reshape(R, E, 1) * (J - 3) + first
        t = np.clip((np.arcsinh(gain / self.root) - self.middle) / self.half, -1, 1)
        out = np.zeros_like(t)
        for cubic in powers[::-1]:
            line = cubic[3].take(cell)
            for part in cubic[2::-1]:
                line *= f
                line += part.take(cell)
            out *= t
            out += line
        return out


def chebyshev(n: int) -> FloatArray:
    """The n Chebyshev points of (-1, 1)."""
    return np.asarray(np.cos(np.pi * (np.arange(n) + 1 / 2) / n))


def scaled_logit(seeds: Seeds, nodes: Nodes) -> FloatArray:
    """The logits of the nodes (R, E, M) in standard deviations of a competitor at their gains."""
    per = (1 / np.maximum(seeds.V - 1, 1))[:, None, None, None]
    return np.asarray(nodes.logit / np.sqrt(1 + nodes.gain**2 * per)).reshape(*nodes.lead.shape[:2], -1)


def left_of(square: FloatArray, power: FloatArray) -> FloatArray:
    """The part of a label's noise beside its own strength, of that square, among all labels' power: 1 - share to third
    order in the share, and above 0 where a label alone stores most of what is read out (V of a few tokens)."""
    share = square / power
    return np.asarray(1 / (1 + share + share**2))


def _spread(kinds: Kinds, mean: FloatArray, u: FloatArray) -> FloatArray:
    """The standard deviation (R, E, G, K) of a kind's logit, for gains per root power u (R, E, G)."""
    left = left_of(mean**2 + kinds.variance, kinds.power[..., None])
    return np.asarray(np.sqrt(left[:, :, None] + u[..., None]**2 * kinds.variance[:, :, None]))


def deciding(kinds: Kinds, mean: FloatArray, w: FloatArray, V: FloatArray, lost: float = EXPECTED_IF_LOST,
             won: float = EXPECTED_IF_WON) -> tuple[FloatArray, FloatArray]:
    """(R, E): scaled logits below which a fact is lost and above which it is won, at all gains w (R, E, G).

    mean (R, E, K): of the kinds' strengths.
    """
    u = w / np.sqrt(kinds.power)[..., None]
    sigma = np.sqrt(1 + w**2 / np.maximum(V - 1, 1)[:, None, None])[..., None]
    place, width = u[..., None] * mean[:, :, None] / sigma, _spread(kinds, mean, u) / sigma
    expected = (np.maximum(V - 1, 1)[:, None, None] * kinds.weight)[:, :, None]
    far = ndtri(1 - np.minimum(won / np.maximum(expected, 2 * won), 1 / 2))
    high = np.where(expected > 2 * won, place + far * width, -np.inf).max((-1, -2))
    # of all competitors together, as if their mixture were normal, and the same of the kinds that there are
    low = np.full(high.shape, np.inf)
    near = ndtri(np.maximum(1 - lost / np.maximum(V - 1, 1), LEAST_CHANCE))[:, None, None]
    for least in (0, 1):
        weight = np.where(expected > least, kinds.weight[:, :, None], 0)
        total = weight.sum(-1)
        centre, square = ((weight * of).sum(-1) / np.maximum(total, TINY) for of in (place, width**2 + place**2))
        end = centre + near * np.sqrt(np.maximum(square - centre**2, 0))
        low = np.minimum(low, np.where(total > 0, end, np.inf).min(-1) - 2 * ROOM)
    return low, np.maximum(high + ROOM, low + LEAST_RANGE)


def ends_of(seeds: Seeds, kinds: Kinds, kernel: Kernel, share: FloatArray) -> tuple[FloatArray, FloatArray]:
    """(R, E): logits below which a fact is lost and above which it is won, with room for the gain's spread; share (R, E
    or 1) of a fact's sequences that are attended rightly."""
    lead = (kernel.own - kernel.mean) * share
    w = np.sqrt(seeds.d[:, None] * kinds.power / (kinds.power + np.maximum(lead, 0)**2))
    V = seeds.V
    low, high = deciding(kinds, kinds.mean - (lead / V[:, None])[..., None], w[..., None], V,
                         NEARLY_LOST, NEARLY_WON)
    sigma = np.sqrt(1 + w**2 / np.maximum(V - 1, 1)[:, None])
    return low * sigma, high * sigma


def hazard(seeds: Seeds, kinds: Kinds, nodes: Nodes, scaled: FloatArray, points: int, accuracy: Accuracy) -> Hazard:
    """The hazard over the logits and gains of the correct label's nodes, at so many points over the logit."""
    R, E = kinds.power.shape
    V = seeds.V[:, None, None]
    mass, logit, gain = (a.reshape(R, E, -1) for a in (nodes.mass, nodes.logit, nodes.gain))
    root = np.sqrt(kinds.power)[..., None]
    per = 1 / np.maximum(V - 1, 1)
    many = np.sqrt(np.maximum(V - 1, 1))

    # points over the gain
    centre = np.einsum("rem,rem->re", mass, gain)[..., None]
    spread = np.sqrt(np.maximum(np.einsum("rem,rem,rem->re", mass, gain, gain)[..., None] - centre**2, 0))
    least = np.maximum(gain.min(-1, keepdims=True), centre - GAIN_END * spread)
    most = np.minimum(gain.max(-1, keepdims=True), centre + GAIN_END * spread)
    least, most = np.arcsinh(least / many), np.arcsinh(most / many)
    middle, half = (least + most) / 2, np.maximum((most - least) / 2, LEAST_TABLE)
    w = many * np.sinh(middle + half * chebyshev(accuracy.gain))
    sigma = np.sqrt(1 + w**2 * per)
    u = w / root

    # the correct label's strength is taken from all others, a (V - 1)-th each; its logit tells of it
    of_node = nodes.mass.sum(-1)
    shift = (of_node * nodes.lead).sum(-1, keepdims=True)
    by_lead = np.einsum("repm,repm->rep", nodes.mass, nodes.logit)
    usual = by_lead.sum(-1, keepdims=True)
    varied = np.einsum("rem,rem,rem->re", mass, logit, logit)[..., None] - usual**2
    slope = (by_lead * nodes.lead).sum(-1, keepdims=True) - usual * shift
    slope = slope / np.maximum(varied, LEAST_RANGE)
    mean = kinds.mean - shift / V

    low, high = deciding(kinds, mean, w, seeds.V)
    ends = scaled.min(-1), scaled.max(-1)
    low = np.clip(low, *ends)
    high = np.maximum(np.minimum(high, ends[1]), low + LEAST_TABLE)
    sd = _spread(kinds, mean, u)

    x = (low[..., None] + (high - low)[..., None] * np.linspace(0, 1, points))[:, :, None] * sigma[..., None]
    x = x + u[..., None] * (slope / V)[..., None] * (x - usual[..., None])
    skew = None if kinds.third is None else u[..., None]**3 * kinds.third[:, :, None] * (1 / sd)**3
    if seeds.sphere:
        d = seeds.d[:, None, None, None]
        D, tail = peizer_pratt_scale(d), -6 / (d + 2)
        unit = (u / np.sqrt(d[..., 0]))[..., None]

        def score(k: int) -> FloatArray:
            centre, varies = mean[:, :, None, None, k], kinds.variance[:, :, None, None, k]
            return tilted_score(x, unit * centre, unit**2 * varies, D, tail)
    else:
        steep = 1 / sd
        place = u[..., None] * mean[:, :, None] * steep

        def score(k: int) -> FloatArray:
            return np.asarray(steep[..., k, None] * x - place[..., k, None])

    drawn = kinds.weight.shape[-1] - kinds.single
    above = np.zeros_like(x)
    alone = np.zeros_like(x) if kinds.single else above
    for k in range(drawn + kinds.single):
        z = score(k)
        if skew is not None:
            z = score_of_skewed(z, skew[..., k, None])
        of = above if k < drawn else alone
        of += kinds.weight[:, :, None, None, k] * ndtr(-z)
    many_others = np.maximum(V - 1, 1)[..., None]
    rate = -many_others * np.log1p(-np.minimum(above, BELOW_ONE))
    if kinds.single:
        rate -= np.log1p(-np.minimum(many_others * alone, BELOW_ONE))
    rate = _constrained(rate, _Grid(w, half * many * sigma, sigma, per, low, high), nodes.loose)
    return Hazard(np.log(np.maximum(rate, TINY)), middle, half, low[..., None], high[..., None], many)


@dataclasses.dataclass(frozen=True)
class _Grid:
    """Points of a hazard: gains w (R, E, G), their growth `per_point` of Chebyshev, a competitor's standard deviation
    sigma there, `per` (R, 1, 1) = 1/(V - 1), and ends of the scaled logit (R, E)."""

    w: FloatArray
    per_point: FloatArray
    sigma: FloatArray
    per: FloatArray
    low: FloatArray
    high: FloatArray


def _constrained(rate: FloatArray, grid: _Grid, loose: FloatArray) -> FloatArray:
    """The rate for competitors that are not independent: their strengths add up to minus the correct label's, their
    squares to Q, and their noises are orthogonal to them.

    Two strengths have the covariance -E theta^2/(V - 1), two squares one of the relative size -4 loose/V, two noises
    -theta_i theta_j/Q. To first order in each the chance P of a win becomes P less half the second derivative of P in
    what independent strengths would vary together, times that variance: the shift of all strengths, the logarithm of
    their scale (loose (R, E) its variance), the gain.
    """
    G, J = rate.shape[-2:]
    w, sigma, per, low, high = grid.w, grid.sigma, grid.per, grid.low, grid.high
    log = np.log(np.maximum(rate, TINY))
    step = ((high - low) / (J - 1))[..., None, None] * sigma[..., None]
    scaled = (low[..., None] + (high - low)[..., None] * np.linspace(0, 1, J))[:, :, None]
    slopes = _chebyshev_slopes(G)

    def by_logit(f: FloatArray) -> FloatArray:
        return np.gradient(f, axis=-1) / step

    def by_gain(f: FloatArray) -> FloatArray:
        """At a fixed logit instead of a fixed scaled one."""
        moved = by_logit(f) * scaled * (w * per / sigma)[..., None]
        return np.einsum("ik,...kj->...ij", slopes, f) / grid.per_point[..., None] - moved

    shift, grown = by_logit(log), w[..., None] * by_gain(log)
    kappa, loose = ((w * per)**2 * (1 + per))[..., None], loose[..., None, None]
    together = (1 - per) / np.maximum(w**2, LEAST_RANGE)
    alone = loose * (w[..., None] * by_gain(grown) + grown**2) + kappa * (by_logit(shift) + shift**2)
    pairs = (loose + together[..., None]) * grown**2 + kappa * shift**2
    fewer = np.exp(-np.abs(alone) / 2)  # the first order, 1 - alone/2, kept between 0 and 2 (at V of a few tokens)
    return rate * np.where(alone > 0, fewer, 2 - fewer) + rate**2 / 2 * pairs


def _chebyshev_slopes(n: int) -> FloatArray:
    """(n, n): the derivative at the Chebyshev points of the polynomial through values at them."""
    x = chebyshev(n)
    gap = x[:, None] - x + np.eye(n)
    weight = 1 / gap.prod(axis=1)
    slopes = weight / weight[:, None] / gap
    np.fill_diagonal(slopes, 0)
    return np.asarray(slopes - np.diag(slopes.sum(axis=1)))


def tilted_score(score: FloatArray, centre: FloatArray, variance: FloatArray, D: FloatArray,
                 tail: FloatArray, *, steps: int = 2) -> FloatArray:
    """The normal score of a cosine below which a competitor on the sphere stays.

    Given the value read out, an output embedding follows a von Mises-Fisher law with mean cosine `centre`, itself
    random with `variance`; its signed root 2 (psi(x) - psi(m)) is linearised at the likeliest m, after so many `steps`.
    """
    x = coordinate_of_score(score, D)
    inside = -score**2 / D
    m = centre
    for _ in range(steps):
        m = np.clip(m, -STEEPEST, STEEPEST)
        rest, gap = 1 - m * m, x - m
        z = np.sign(gap) * np.sqrt(np.maximum(D * (np.log(rest) - inside) - 2 * D * m * gap / rest, 0))
        flat = np.abs(gap) < LEAST_GAP
        slope = np.where(flat, np.sqrt(rest * rest / ((1 + m * m) * D)), gap / np.where(z == 0, 1, z))
        slope = slope * D * (1 + m * m) / rest**2
        total = 1 + slope**2 * variance
        z = (z + slope * (m - centre)) / np.sqrt(total)
        m = centre + variance * slope / np.sqrt(total) * z
    t = np.clip(z, -TAIL_END, TAIL_END)
    return np.asarray(t - tail * (1 - 1 / total) ** 2 / 24 * (t**3 - 3 * t))
