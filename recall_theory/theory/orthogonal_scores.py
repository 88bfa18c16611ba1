"""Scores under orthogonal embeddings: their law over tokens and seeds, and the attention that it leaves.

With orthonormal tokens a score is a polynomial of counts. Given how many sequences each label has, the scores of the V
tokens are independent but for their sum, and each is a sum over labels of a cubic polynomial of how often the token
stands there, a binomial count. Proofs: docs/derivations/orthogonal.md. All in units of 1/(N L)^2.
"""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln, ndtr

from ..numerics.arrays import TINY, FloatArray, Rows
from ..numerics.forced_choice import binomial_over_poisson
from ..numerics.quadrature import condense, gauss_binomial, gauss_hermite, gauss_parts_of_normal, gauss_skewed
from ..numerics.unit_sphere import (
    coordinate_of_score,
    score_of_coordinate,
    score_of_skewed,
    skewed_of_score,
    wallace_scale,
)
from .accuracy import SEED_ROUNDING, Accuracy
from .formulas import orthogonal_formulas as terms
from .formulas.step_two import distinct_tokens

ALMOST = 1 - 2**-53  # the greatest probability that is not 1
CUBIC_NODES = 6  # Gauss nodes that give the first three cumulants of a cubic exactly
COUNT_END = 9  # standard deviations of a count that sums run over: what is beyond is e^-40 of it
SCORE_END = 5  # standard deviations of a fact's score that are summed over: beyond lie 6e-7 of the facts
FLAT_SPHERE = 1e-12  # 1/dimension of the sphere that stands for a normal law
SMALL = 1e-6  # nodes of less probability are left out
LEAST_SKEW = 1 / 1000  # a skewness below it, or a negative one, is taken as this: the law is then normal
MOST_SKEW = 8**0.5  # a skewness above that of chi^2 with one degree of freedom is taken as this
LEAST_PART = 1 / 4  # of its mean, what a variance keeps where its regression would cross zero


@dataclasses.dataclass(frozen=True)
class Labels:
    """Counts of a label: cells n (K,), `step` apart, with their probabilities (K,) by the binomial law of a single
    count and by the Poisson law that leaves it where all are held to a sum of N. `rate` is N/V."""

    n: FloatArray
    step: int
    rate: float
    binomial: FloatArray
    poisson: FloatArray


def label_counts(V: float, N: float, cells: int) -> Labels:
    """The cells of a label's count: every one where they are few, else `cells` a standard deviation."""
    rate = N / V
    step = max(1, round(np.sqrt(rate) / cells))
    first = step * int(max(0, rate - COUNT_END * np.sqrt(rate)) / step)
    n = np.arange(first, min(rate + COUNT_END * (1 + np.sqrt(rate)), N) + step, step).astype(float)
    poisson = n * np.log(rate) - rate - gammaln(n + 1)
    binomial = np.where(n <= N, poisson + binomial_over_poisson(np.minimum(n, N), N, V), -np.inf)
    laws = [np.exp(log - log.max()) for log in (binomial, poisson)]
    return Labels(n, step, rate, *(law / law.sum() for law in laws))


@dataclasses.dataclass(frozen=True)
class ScoreLaw:
    """A token's score over its standard deviation: a coordinate on a sphere, skewed as a chi-squared variable is.

    `flat` is 1/dimension of the sphere; coordinates `taken` leave less of the common square to the others.
    """

    skew: FloatArray
    flat: FloatArray

    def coordinate(self, x: FloatArray) -> FloatArray:
        """The coordinate, of variance 1, at score x."""
        return np.asarray(score_of_skewed(x, self.skew))

    def score(self, u: FloatArray) -> FloatArray:
        """The score at coordinate u."""
        return np.asarray(skewed_of_score(u, self.skew))

    def quantile(self, u: FloatArray, *taken: FloatArray) -> FloatArray:
        """The normal quantile of coordinate u, given others."""
        flat = self.flat.reshape(self.flat.shape + (1,) * (np.ndim(u) - self.flat.ndim))
        b = u * np.sqrt(flat / self._left(flat, taken))
        return score_of_coordinate(np.clip(b, -1, 1), wallace_scale(1 / flat - len(taken)), 1 - ALMOST)

    def at_quantile(self, z: FloatArray, *taken: FloatArray) -> FloatArray:
        """The coordinate at the normal quantile z, given others: the inverse of `quantile`."""
        scale = wallace_scale(1 / self.flat - len(taken))
        return coordinate_of_score(z, scale) * np.sqrt(self._left(self.flat, taken) / self.flat)

    @staticmethod
    def _left(flat: FloatArray, taken: tuple[FloatArray, ...]) -> FloatArray:
        """What coordinates leave of the square."""
        result: FloatArray = np.maximum(1 - flat * sum((u * u for u in taken), np.zeros(())), flat)
        return result


@dataclasses.dataclass(frozen=True)
class Seeds(Rows):
    """Weighted nodes (S,) of the seeds' law; all scores of a seed are in units of their standard deviation over tokens.

    `lead` of the informative token; skew and flat of the law of scores; centre (S, K) and spread (S, K), mean and
    standard deviation of the score of a token of each count; `changed`, the seed's sum over its label counts,
    standardised.
    """

    weight: FloatArray
    lead: FloatArray
    skew: FloatArray
    flat: FloatArray
    centre: FloatArray
    spread: FloatArray
    changed: FloatArray

    @property
    def law(self) -> ScoreLaw:
        """The law of scores, (S, 1)."""
        return ScoreLaw(self.skew[:, None], self.flat[:, None])


def condensed(seeds: Seeds, n: int, parts: FloatArray | None = None) -> Seeds:
    """A Gauss rule of n leads in the place of all; the rest is averaged, and `changed` regressed on the lead.

    One rule for each of `parts` (P, S), weights of the seeds in it, that has any; all are one part by default."""
    parts = seeds.weight[None] if parts is None else parts[parts.sum(axis=1) > SMALL**2]
    mass = parts.sum(axis=1, keepdims=True)
    mean = parts / mass
    leads, weights = condense(np.broadcast_to(seeds.lead, mean.shape), mean, n)
    skew, flat, centre, spread, changed, middle = (mean @ x for x in (
        seeds.skew, seeds.flat, seeds.centre, seeds.spread, seeds.changed, seeds.lead))
    off = seeds.lead - middle[:, None]
    slope = (mean * off) @ seeds.changed / np.maximum((mean * off**2).sum(axis=1), TINY)
    part, node = np.nonzero(weights > SMALL)
    lead = leads[part, node]
    return Seeds((mass * weights)[part, node], lead, skew[part], flat[part], centre[part], spread[part],
                 changed[part] + slope[part] * (lead - middle[part]))


@dataclasses.dataclass(frozen=True)
class _Pull:
    """Of what one label adds to a token's score, by the label's count (K,): mean, variance, third cumulant, the part of
    the variance linear in the token's own count M there, and the covariances of M with it and with its square."""

    mean: FloatArray
    variance: FloatArray
    third: FloatArray
    linear: FloatArray
    with_count: FloatArray
    square_with_count: FloatArray


def _pull(x: FloatArray, m: FloatArray, w: FloatArray) -> _Pull:
    mean = (w * x).sum(axis=-1)
    z, c = x - mean[:, None], m - (w * m).sum(axis=-1, keepdims=True)
    variance, third, shared, count, square = ((w * a).sum(axis=-1) for a in (z**2, z**3, z * c, c * c, z * z * c))
    return _Pull(mean, variance, third, shared**2 / np.maximum(count, TINY), shared, square)


def seed_law(V: float, L: int, d: float, N: float, e: int, labels: Labels, *,
             accuracy: Accuracy) -> tuple[Seeds, FloatArray]:
    """The seeds' law at L >= 2, d >= V, and the law of a label's count (2, K) where `changed` is -1 and 1.

    e: 1 if the trigger is in the values, else 0.
    """
    n, p0, x, c, rho = labels.n, labels.binomial, labels.n - labels.rate, 1 - 1 / L, (L - 1) / V
    m, w = gauss_binomial(n * (L - 1), np.full(n.shape, 1 / V), CUBIC_NODES)
    w = w / w.sum(axis=-1, keepdims=True)
    other, own = (_pull(f(V, L, N, e, n[:, None], m), m, w) for f in (terms.pull, terms.own_pull))
    rest = other.variance + terms.shared_power_given(V, L, n, 0)
    beside = own.variance + terms.shared_power_given(V, L, n, 1)
    centre = own.mean - other.mean
    centre = centre - p0 @ centre

    # Seeds differ in the sum over labels of what each adds to the variance over tokens.
    each = ((1 - 1 / V) * rest + other.linear / (V - 1) + (beside + centre**2) / V
            + terms.shared_sequences_given(V, L, n**2 - n) - 2 * (c * rho * n / V) ** 2)
    change, square = (_given_sum(f, x, p0) for f in (each, x * x))
    size = float(np.sqrt(p0 @ change**2))
    change = change / size if size > SEED_ROUNDING * np.abs(rest).max() else 0 * change
    free = V * max(float(p0 @ square**2 - (p0 @ (square * change)) ** 2), 0)  # variance of sum x^2 given that sum
    # Skewed as it is, or as much as keeps it positive.
    positive = 2 * size / np.sqrt(V) / np.maximum(p0 @ each + 2 * (c * rho * N / V) ** 2 / V, TINY)
    skewness = np.clip(p0 @ change**3 / np.sqrt(V), min(positive, MOST_SKEW), MOST_SKEW)
    changed, weight = gauss_skewed(skewness, accuracy.orthogonal_labels * (4 if V < accuracy.small / 4 else 1))

    by = np.append(0.0, changed)
    p = p0 * (1 + change * by[:, None] / np.sqrt(V))  # by regression, for means only: negative where a count is rare
    x2, n2, n3, nx2, xn2 = (V * p @ f for f in (x * x, n * n, n**3, n * x * x, (x * n) ** 2))
    s1, s2 = rho * N, rho**2 * n2
    common = (V * p @ (rest + other.linear / (V - 1)) + 2 * (c / V) ** 2 * np.maximum(s1**2 - s2, 0)
              + terms.shared_sequences_given(V, L, n2 - N))[:, None]
    spread = np.maximum(common - rest + beside, np.maximum(common * LEAST_PART, TINY))
    middle = centre - (p @ centre)[:, None]
    third = (V * p @ other.third + 8 * c**3 * (3 * s2 * s1 / V**2 - s1**3 / V**3))[:, None] - other.third + own.third
    total = _parts_of_first((p * (spread + middle**2)).sum(axis=1), np.zeros(len(by)))
    # The skewness hardly moves with the sum: the line alone would turn the third cumulant negative.
    skew = float((p * (third + 3 * middle * spread + middle**3))[0].sum() / (weight @ total[1:] ** (3 / 2)))
    # How the variance over tokens moves with the lead: both hold the counts of a token beside its own label.
    slope = (1 - 2 / L) * (1 - 1 / V) * n
    both = slope * own.with_count
    moved = (p * (2 * middle * (both - (p @ both)[:, None]) + slope * own.square_with_count)).sum(axis=1) * V / (V - 1)
    lead = terms.lead_given(V, L, N, e, x2)
    more, shared = free * (terms.lead_given(V, L, N, e, x2 + 1) - lead) ** 2, 0 * lead
    if d == V:
        extra, shared = terms.trigger_weight_noise_given(V, L, N, e, x2, nx2=nx2, xn2=xn2)
        lead, more = lead + e * c * rho * x2, more + np.maximum(extra, 0)
    noise = _parts_of_first(terms.lead_noise_given(V, L, N, n2, n3), more)
    given = _Given(changed, weight, *(value[1:] for value in (lead, noise, total, moved, shared, middle, spread)))
    seeds = _nodes(V if d == V else np.inf, accuracy, skew, given)
    if d == V:
        parts = [seeds.weight * ((seeds.changed == one) & side) for one in np.unique(changed)
                 for side in (seeds.lead < 0, seeds.lead >= 0)]
        seeds = condensed(seeds, accuracy.orthogonal_lead, np.array(parts))
    change = change - labels.poisson @ change
    tilted = [labels.poisson * np.maximum(1 + change * sign / np.sqrt(V), 0) for sign in (-1, 1)]
    return seeds, np.array([law / law.sum() for law in tilted])


def _given_sum(f: FloatArray, x: FloatArray, p: FloatArray) -> FloatArray:
    """What of f (K,) is left by its mean and its regression on x, whose sum over labels is fixed."""
    result: FloatArray = f - p @ f - p @ (f * x) / np.maximum(p @ (x * x), TINY) * x
    return result


def _parts_of_first(values: FloatArray, more: FloatArray) -> FloatArray:
    """values + more (A,), no value below a part of the first sum, that at the mean."""
    return np.asarray(np.maximum(values, max(float(values[0] + more[0]), TINY**0.5) * LEAST_PART) + more)


class _Given(NamedTuple):
    """At standardised sums `changed` (A,) over the label counts, of that weight: mean and variance of the lead, the
    variance over tokens and how it moves with the lead, the covariance of the trigger's weight with the lead, and mean
    and variance (A, K) of a token's score by its count."""

    changed: FloatArray
    weight: FloatArray
    lead: FloatArray
    noise: FloatArray
    total: FloatArray
    moved: FloatArray
    shared: FloatArray
    centre: FloatArray
    spread: FloatArray


def _nodes(V: float, accuracy: Accuracy, skew: float, given: _Given) -> Seeds:
    """As many seeds at each sum over the label counts. V is infinite where the trigger lies beside the tokens."""
    of_sum, lead, noise, total, moved, shared = (x[:, None, None] for x in given[1:7])
    counts = (accuracy.orthogonal_lead,) * 2
    if np.isinf(V):
        x, weight = gauss_parts_of_normal(-lead / np.sqrt(noise), counts)
        leads = big = lead + np.sqrt(noise) * x
    else:
        x, weight = (a[:, None] for a in gauss_hermite(accuracy.orthogonal_trigger, symmetric=True))
        big = lead + np.sqrt(noise) * x
    own = total * np.maximum(1 + moved / noise * (big - lead) / total, LEAST_PART)
    if not np.isinf(V):
        # z_trig = sum_b t_b z_b: the lead is T = W + sum_b t_b S_b, and scores are S_b + W t_b, which is T t_b and what
        # of S_b is orthogonal to t.
        rest = np.sqrt(np.maximum(own - shared**2 / noise, own * LEAST_PART))
        middle = big + shared / noise * (big - lead)
        z, w = gauss_parts_of_normal(-(middle / rest), counts)
        leads, weight, own = middle + rest * z, weight * w, (1 - 1 / V) * own + 0 * z
    variance = own + leads**2 / V
    leads, share, own, variance, weight = (
        np.ravel(a) for a in (leads, leads**2 / V / variance, own, variance, weight * of_sum))
    part = own / variance
    at = np.repeat(np.arange(len(total)), len(leads) // len(total))  # the sum of each
    kept = (part / given.total[at])[:, None]
    return Seeds(weight, leads / np.sqrt(variance), np.clip(skew * part ** (3 / 2), LEAST_SKEW, MOST_SKEW),
                 np.maximum(share**2 / (V + 2 - 2 * share**2), FLAT_SPHERE), np.sqrt(kept) * given.centre[at],
                 np.sqrt(kept * given.spread[at] + share[:, None]), given.changed[at])


def distinct_trials(V: float, n: float) -> tuple[float, float]:
    """The binomial law, trials and chance, of the mean and variance of the distinct tokens among n, one given aside."""
    mean, variance = distinct_tokens(V - 1, V, n)
    return mean / (1 - variance / mean), 1 - variance / mean


def attention(V: float, L: int, seeds: Seeds, accuracy: Accuracy) -> tuple[float, float]:
    """Mean attention and its standard deviation over seeds; L >= 2."""
    law = seeds.law
    z = np.linspace(-SCORE_END, SCORE_END, accuracy.orthogonal_fact)
    wz = np.exp(-z * z / 2)
    wz /= wz.sum()
    u = law.at_quantile(z)
    border = law.coordinate(law.score(u) + seeds.lead[:, None])
    above = ndtr(-law.quantile(border, u))  # (S, z): that a token outscores the fact
    trials, chance = distinct_trials(V, L - 1)
    # Where the lead is negative, a copy of the fact's own token among the noise wins too.
    outside = np.exp((L - 1) * np.log1p(-1 / V))
    alone = np.where(seeds.lead < 0, outside, 1)[:, None]
    each = np.exp(trials * np.log1p(-np.minimum(chance * above, ALMOST))) * alone
    one = each @ wz
    mean = float(one @ seeds.weight)
    if mean >= 1 - accuracy.orthogonal_certain:
        return 1.0, 0.0

    more, wider = distinct_trials(V, 2 * (L - 1))  # of two sequences of one fact
    same = (np.exp(more * np.log1p(-np.minimum(wider * above, ALMOST))) * alone**2) @ wz
    row, pair = np.repeat(above[:, :, None], len(z), axis=2), np.tile(wz[:, None] * wz, (len(one), 1, 1))
    if (seeds.flat > FLAT_SPHERE).any():  # two facts and a competitor share one square
        row = ndtr(-law.quantile(border[:, :, None], u[:, :, None], u[:, None, :]))
        square, size = law.flat * u * u, 1 / law.flat
        left, single = (np.log1p(-np.minimum(s, ALMOST)) for s in (square[:, :, None] + square[:, None, :], square))
        log = (size - 4)[..., None] * left - ((size - 3) * single)[:, :, None] - ((size - 3) * single)[:, None, :]
        pair = pair * np.exp(np.minimum(log / 2, COUNT_END))
        pair = pair / pair.sum(axis=(1, 2), keepdims=True)
    column, inside = np.swapaxes(row, 1, 2), 1 - outside
    none = 1 - chance * (row + column - inside * np.minimum(row, column))
    # That the other fact's token stays below this one's border: a step, of which each node has its share.
    beats = np.clip((law.quantile(border)[:, :, None] - z) / (z[1] - z[0]) + 1 / 2, 0, 1)
    other = (1 - inside + inside * beats) * (1 - inside + inside * np.swapaxes(beats, 1, 2))
    both = np.exp(trials * max(V - 2, 0) / (V - 1) * np.log(np.maximum(none, TINY))) * other * alone[..., None] ** 2
    two = (both * pair).sum(axis=(1, 2)) - np.einsum("nij,ni->n", pair, each) ** 2
    variance = float((two * (1 - 1 / V) + (same - one**2) / V + (one - mean) ** 2) @ seeds.weight)
    return min(mean, 1.0), float(np.sqrt(min(max(variance, 0.0), mean * (1 - mean))))
