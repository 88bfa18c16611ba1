"""Attention at finite rates: a softmax of the tokens' scores, its moments in closed form, and labels by their weights.

A softmax weight is a chance: that a token's score leads once every score has a Gumbel variable added to it. So its
moments are those of the limit's attention with one more integral, and the limit is where scores are wide beside
that variable. docs/derivations/finite_rates.md has the derivation.
"""

from __future__ import annotations

import dataclasses
import functools

import numpy as np
from scipy.special import exp1, ndtr, ndtri

from ..numerics.arrays import TINY, FloatArray
from ..numerics.quadrature import condense, gauss_gamma, gauss_hermite, gauss_legendre
from .accuracy import Accuracy
from .domain import Batch
from .formulas import finite_rate_formulas as fr
from .seed import Seeds, kernel_by_scores, score_cumulants, seed_nodes, shape_score, step_two_of, tau_nodes
from .training_attention import BELOW_ONE, EMPTY, summed_by_class

LOWEST_LOG = -30.0  # logarithm of an argument below which the exponential integral is minus Euler's number less it
CELLS_OF_INTEGRAL = 128  # a unit of that logarithm, on which a cubic is as good as the integral
LOWEST_LOG_RATE, HIGHEST_LOG_RATE = -16.0, 5.0  # logarithms of a rate: outside, no Gumbel variable has any mass
LEAST_RISE = 1e-10  # guard: acts where scores have an end, as on a circle, so that no cell is empty
LEAST_SUM = 2.0**-500  # guard: acts on sums whose square would be no number
LEAST_WEIGHT = 1e-20  # guard: keeps attention above 0, so that high powers of it are numbers
FEW_OF = 2.5  # times the mean of a binomial number, up to which it is counted
RARE = 1e-6  # weight of a seed below which it is left out


@dataclasses.dataclass(frozen=True)
class SoftSeeds:
    """Rows (R,) over seeds: their law, the weight of each, the standard deviation `heat` of the tokens' logits, and the
    correlation `tie` of a token's score with its label's count."""

    seeds: Seeds
    weight: FloatArray
    heat: FloatArray
    tie: FloatArray

    def at(self, zeta: FloatArray) -> FloatArray:
        """(R, F): the logit of an informative token whose score is zeta (R, F)."""
        return np.asarray(self.heat[:, None] * (zeta + self.seeds.snr[:, None]))


def soft_seeds(batch: Batch, accuracy: Accuracy) -> SoftSeeds:
    """Nodes of one setting over |z_trig|^2, the lead, and |z_EOS|^2, which scales all logits."""
    assert batch.beta is not None
    tau, w_tau = tau_nodes(batch.d, batch.embedding, accuracy.soft_tau)
    of_seeds = seed_nodes(batch, {}, tau, accuracy)
    shape, rows = np.broadcast_shapes(of_seeds.weight.shape, of_seeds.square.shape), tau.shape[1]
    T, square, weight = (np.broadcast_to(a, shape)[0].reshape(rows, -1)
                         for a in (of_seeds.lead, of_seeds.square, of_seeds.weight))
    weight = weight / weight.sum(-1, keepdims=True)
    lead, w_lead = condense(T, weight, accuracy.soft_lead)
    # the noise's logarithm goes with the lead: regressed on it and its square
    middle = (weight * T).sum(-1, keepdims=True)
    width = np.sqrt((weight * (T - middle)**2).sum(-1, keepdims=True)) + TINY
    basis, x = ((a - middle) / width for a in (T, lead))
    powers = np.stack([np.ones_like(basis), basis, basis**2], -1)
    fit = np.linalg.solve(np.einsum("ti,tia,tib->tab", weight, powers, powers),
                          np.einsum("ti,tia,ti->ta", weight, powers, np.log(square) / 2)[..., None])
    sigma = np.exp((np.stack([np.ones_like(x), x, x**2], -1) @ fit)[..., 0])
    one = np.ones(1)
    query, w_query = (one, one) if batch.sphere else gauss_gamma(2 / batch.d[0], accuracy.soft_query)
    mass = (w_tau[0][:, None] * w_lead)[..., None] * w_query
    used = mass > RARE
    t, T, sigma, scale = (np.broadcast_to(a, mass.shape)[used] for a in (
        tau[0][:, None, None], lead[..., None], sigma[..., None], query))
    each = batch.at(np.zeros(len(t), dtype=np.intp))
    typical = {name: np.broadcast_to(x[0, :-1, None, None], mass.shape)[used][:, None, None]
               for name, x in of_seeds.noise.items()}
    p, snr = step_two_of(each, {}, 2, tau=t[:, None, None]), (T / sigma)[:, None, None]
    skew, excess, rise, aligned = (a.reshape(-1) for a in (
        *score_cumulants(p, typical, snr, (sigma**2)[:, None, None]), *kernel_by_scores(p, typical, snr)))
    seeds = Seeds(each.V, each.L, each.d, each.N, t, T / sigma, skew, excess, rise, aligned, batch.e, batch.sphere)
    tie = fr.count_tie(each.V, each.L, each.d, each.N, batch.e, t) / sigma
    return SoftSeeds(seeds, mass[used] / mass[used].sum(), batch.beta * scale * sigma, tie)


@functools.cache
def _integral_table() -> FloatArray:
    """(4, cells): the powers of a cubic on each cell of E1(exp(x)), x from `LOWEST_LOG` to `HIGHEST_LOG_RATE` + 1, by
    Hermite's rule."""
    x = np.linspace(LOWEST_LOG, HIGHEST_LOG_RATE + 1, int((HIGHEST_LOG_RATE + 1 - LOWEST_LOG) * CELLS_OF_INTEGRAL) + 1)
    f, slope = exp1(np.exp(x)), -np.exp(-np.exp(x)) / CELLS_OF_INTEGRAL
    rise, here, there = np.diff(f), slope[:-1], slope[1:]
    return np.stack([f[:-1], here, 3 * rise - 2 * here - there, here + there - 2 * rise])


def _exponential_integral(x: FloatArray) -> FloatArray:
    """E1(exp(x)), whose derivative by x is -exp(-exp(x)); to 1e-12, from a table."""
    table = _integral_table()
    place = np.clip((x - LOWEST_LOG) * CELLS_OF_INTEGRAL, 0, table.shape[1])
    i = np.minimum(place.astype(np.intp), table.shape[1] - 1)
    place -= i
    out = table[3].take(i)
    for power in table[2::-1]:
        out *= place
        out += power.take(i)
    out -= np.minimum(x - LOWEST_LOG, 0)
    return out


class Softmax:
    """Moments of the softmax weights at each row, from tables over the logarithm of a rate u.

    With X the sum of the others' exponentials in units of one's own, a = 1/(1 + X) = integral of exp(-u - u X) du, and
    exp(-u X) is a product over the tokens of a sequence: `mean` is its factor's mean over the vocabulary, from a score
    density that is constant on cells, which the exponential integral integrates exactly.

    counts: of samples of the right label, and of another, that are summed over each by itself; if 0, there are nodes.
    """

    def __init__(self, soft: SoftSeeds, accuracy: Accuracy, counts: tuple[int, int] = (0, 0)):
        seeds, heat = soft.seeds, soft.heat[:, None]
        self.soft, self.seeds, self.accuracy, self.counts = soft, seeds, accuracy, counts
        u = accuracy.reach * np.linspace(-1, 1, accuracy.soft_cells + 1)
        self.mass = np.diff(ndtr(u)) / (ndtr(u[-1]) - ndtr(u[0]))
        edge = shape_score(seeds, u + np.zeros((len(heat), 1))) + LEAST_RISE * u
        self.score = (edge[:, 1:] + edge[:, :-1]) / 2
        low = LOWEST_LOG_RATE - heat * edge[:, -1:]
        high = HIGHEST_LOG_RATE - heat * edge[:, :1]
        self.log = low + (high - low) * np.linspace(0, 1, accuracy.soft_table)  # (R, J)
        self.step = self.log[:, 1] - self.log[:, 0]
        x = self.log[..., None] + (heat * edge)[:, None]
        wide = (heat * np.diff(edge))[:, None]
        f = np.exp(-np.exp(np.minimum(x, HIGHEST_LOG_RATE + 1)))
        falls = -np.diff(f) / wide  # the mean over a cell of -f', f' the derivative by the logarithm
        self.mean = (-np.diff(_exponential_integral(x)) / wide) @ self.mass
        square = (-np.diff(_exponential_integral(x + np.log(2))) / wide) @ self.mass
        self.first = falls @ self.mass
        self.scored = (falls * self.score[:, None]) @ self.mass
        slope = np.exp(np.minimum(x, HIGHEST_LOG_RATE + 1)) * f
        self.second = self.first - (np.diff(slope) / wide) @ self.mass
        self.others = np.exp((seeds.L[:, None] - 2) * np.log(np.maximum(self.mean, TINY)))
        z, self.w_vocabulary = gauss_hermite(accuracy.soft_vocabulary)
        self.rate = self._rate(square, z)  # (R, J, vocabulary)

    def _rate(self, square: FloatArray, z: FloatArray) -> FloatArray:
        """(R, J, vocabulary): logarithms of the rate at which a sequence's noise outdoes a logit. Of the V - 1 other
        tokens each does by 1 - f, f of mean `mean` and E f^2 `square` (R, J); their sum differs from seed to seed.

        In two moments it is a binomial number of equal parts, as it is where f is 0 or 1. Where that is too large to be
        counted it is lognormal, at normal quantiles z (vocabulary,).
        """
        V, each = self.seeds.V[:, None], (self.seeds.L - 1)[:, None, None]
        first = np.clip(1 - self.mean, LEAST_SUM, 1)
        part = np.minimum(fr.jump(first, np.maximum(1 - 2 * self.mean + square, first**2)), 1)
        chance, total = np.minimum(first / part, BELOW_ONE), (V - 1) * first
        log = np.log1p(np.maximum(square - self.mean**2, 0) * (V - 1) / total**2)[..., None]
        many = np.minimum(total[..., None] * np.exp(np.sqrt(log) * z - log / 2), V[..., None] - 1)
        rate = -each * np.log1p(-many / V[..., None])

        most = self.accuracy.soft_others
        n = np.arange(min(float(V.max()) - 1, most) + 1)
        ways = np.cumsum(np.log(np.append(1, (V[0] - n[1:]) / n[1:])))
        among = np.exp(ways + n * np.log(chance)[..., None] + (V[..., None] - 1 - n) * np.log1p(-chance)[..., None])
        below = np.cumsum(among, axis=-1)
        none = np.exp(each * np.log1p(-part[..., None] * n / V[..., None]))
        few = chance * (V - 1) < most / FEW_OF
        ends = np.concatenate([[0], np.cumsum(self.w_vocabulary)])
        for v in range(len(z)):  # a vocabulary's quantile is the same for all logits
            inside = np.maximum(np.minimum(below, ends[v + 1]) - np.maximum(below - among, ends[v]), 0)
            share = (inside * none).sum(-1) / np.maximum(inside.sum(-1), TINY)
            rate[..., v] = np.where(few, -np.log(np.clip(share, TINY, 1)), rate[..., v])
        return np.log(np.maximum(rate, TINY))

    def _gumbel(self, order: int) -> tuple[FloatArray, FloatArray]:
        """Logarithms of u and weights of a gamma variable of that order."""
        z = np.linspace(LOWEST_LOG_RATE + 1, HIGHEST_LOG_RATE - 1, self.accuracy.soft_gumbel)
        w = np.exp(order * z - np.exp(z))
        return z, w / w.sum()

    def _at(self, table: FloatArray, log: FloatArray) -> FloatArray:
        """A table (R, J, ...) at logarithms (R, ...), linearly."""
        R, J = table.shape[:2]
        flat = log.reshape(R, -1)
        place = np.clip((flat - self.log[:, :1]) / self.step[:, None], 0, J - 1)
        i = np.minimum(place.astype(np.intp), J - 2)
        rows, rest = np.arange(R)[:, None], (place - i).reshape(*flat.shape, *[1] * (table.ndim - 2))
        found = table[rows, i] * (1 - rest) + table[rows, i + 1] * rest
        return np.asarray(found.reshape(*log.shape, *table.shape[2:]))

    def weights(self, logit: FloatArray) -> tuple[FloatArray, FloatArray]:
        """E a and E a^2 (R, F, vocabulary) over sequences, of informative tokens of these logits (R, F)."""
        out = []
        V, each = self.seeds.V[:, None, None, None], (self.seeds.L - 1)[:, None, None, None]
        lead = (self.soft.heat * self.seeds.snr)[:, None, None, None]
        for order in (1, 2):
            z, w = self._gumbel(order)
            rate = np.exp(self._at(self.rate, z - logit[..., None]))
            # one of the V tokens is the informative one itself, at a score below its own by the lead
            copy = -np.expm1(-np.exp(np.minimum(z[:, None] - lead, HIGHEST_LOG_RATE)))
            share = np.exp(-rate - each * copy / V * np.exp(rate / each))
            out.append(np.einsum("z,rfzv->rfv", w, share))
        share = np.maximum(out[0], LEAST_WEIGHT)
        return share, np.maximum(np.minimum(out[1], share), share**2)

    def noise(self, logit: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(R, F): mean score of the noise that is attended, by weight, and the mean of the sum of its squared weights,
        beside informative tokens of these logits (R, F)."""
        own = np.exp(-np.exp(np.minimum(self.log[:, None] + logit[..., None], HIGHEST_LOG_RATE + 1)))
        one, scored, squares = (((own * (table * self.others)[:, None]).sum(-1)
                                 * ((self.seeds.L - 1) * self.step)[:, None])
                                for table in (self.first, self.scored, self.second))
        return scored / np.maximum(one, TINY), squares

    @functools.cached_property
    def agreement(self) -> FloatArray:
        """(R,): the chance that two sequences attend to the same noise token, by weight."""
        logit = self.soft.heat[:, None] * self.score
        z, w = self._gumbel(1)
        chance = self._at(self.others, z - logit[..., None]) @ w
        return np.asarray((chance**2 @ self.mass) / (chance @ self.mass)**2 / self.seeds.V)

    def picked(self, zeta: FloatArray) -> FloatArray:
        """(R, F): the share that tokens of these scores have of the noise in another label's sequences."""
        z, w = self._gumbel(1)
        V = self.seeds.V[:, None]
        there = -np.expm1((self.seeds.L[:, None] - 1) * np.log1p(-1 / V))
        log = z - (self.soft.heat[:, None] * zeta)[..., None]
        found = np.minimum(there[..., None] * (1 - self._at(self.mean, log)), BELOW_ONE)
        none = np.exp((V - 1)[..., None] * np.log1p(-found))
        return np.asarray(there * (none @ w))

    @functools.cached_property
    def picks(self) -> FloatArray:
        """(R, cells): `picked` of the cells' scores."""
        return self.picked(self.score)

    def copies(self, zeta: FloatArray) -> FloatArray:
        """(R, F): the weight in a fact's own sequences of other copies of its token."""
        z, w = self._gumbel(1)
        log = z - (self.soft.heat[:, None] * zeta)[..., None]
        own = np.exp(-np.exp(np.minimum(log + self.soft.at(zeta)[..., None], HIGHEST_LOG_RATE + 1)))
        return np.asarray(((self.seeds.L - 1) / self.seeds.V)[:, None] * ((self._at(self.others, log) * own) @ w))

    def taken(self, zeta: FloatArray, missed: FloatArray) -> FloatArray:
        """(R, F): what all labels store of tokens of these scores on average, as noise, less what these tokens' own do;
        missed (R,): their mean weight on noise."""
        return np.asarray(missed[:, None] * self.picked(zeta) - self.copies(zeta))


@dataclasses.dataclass(frozen=True)
class Labels:
    """Classes (R, C) of labels by their weight. a, a2: E a and E a^2 over sequences; zeta: their tokens' score; varied,
    spread, tied: variances of a and of zeta within a class, and their covariance; astray: mean score of the noise;
    squares: of its squared weights. taken: what all labels store of their tokens on average, as noise, less what they
    do themselves. quantile, between: mean and variance of their scores' normal quantiles. missed (R,): weight on noise,
    over all."""

    weight: FloatArray
    a: FloatArray
    a2: FloatArray
    zeta: FloatArray
    varied: FloatArray
    spread: FloatArray
    tied: FloatArray
    astray: FloatArray
    squares: FloatArray
    taken: FloatArray
    quantile: FloatArray
    between: FloatArray
    missed: FloatArray


def labels(softmax: Softmax) -> Labels:
    """The labels grouped by the weight that their sequences attend to them with, in units of the greatest."""
    soft, seeds, accuracy = softmax.soft, softmax.seeds, softmax.accuracy
    R = len(soft.heat)
    u, w = gauss_hermite(accuracy.class_score)
    zeta = shape_score(seeds, u + np.zeros((R, 1)))
    a, a2 = softmax.weights(soft.at(zeta))
    heat = soft.heat[:, None]
    top = softmax.weights(soft.at(3 + heat**2 / 4))[0].max(-1, keepdims=True)
    total = summed_by_class(a / top, w[:, None] * softmax.w_vocabulary + 0 * a, accuracy.soft_classes)
    mass, z, u = total(np.ones(1)), zeta[..., None] + 0 * a, u[:, None] + 0 * a
    some = mass > EMPTY
    used = some.any(axis=0)

    def mean(values: FloatArray, empty: float) -> FloatArray:
        return np.asarray(np.where(some, total(values) / np.maximum(mass, EMPTY), empty))

    share, score, quantile = mean(a, 1 / 2), mean(z, 0), mean(u, 0)
    varied = np.maximum(mean(a * a, 1 / 4) - share**2, 0)
    second = np.maximum(mean(a2, 1 / 4) - varied, share**2)
    astray, squares = softmax.noise(soft.at(score))
    missed = (mass * (1 - share)).sum(-1)
    taken = mean(softmax.taken(zeta, missed)[..., None] + 0 * a, 0)
    spread = np.maximum(mean(z * z, 0) - score**2, 0)
    parts = (mass, share, second, score, varied, spread, mean(a * z, 0) - share * score, astray, squares, taken,
             quantile, np.maximum(mean(u * u, 0) - quantile**2, 0))
    names = [f.name for f in dataclasses.fields(Labels)]
    return Labels(**{name: part[:, used] for name, part in zip(names, parts, strict=False)}, missed=missed)


@dataclasses.dataclass(frozen=True)
class Mixture:
    """The noise tokens of a fresh sequence, (R,): the greatest score, the sum of exponentials of all others' logits in
    units of its own, that of their squares, the mean score by the first, and their plain mean score with its standard
    deviation; `met`, the shares of other sequences' noise of the greatest, of the others by their exponentials, and by
    the squares of these. Numbers: `weight`, `copies` of the informative token, how `often` the greatest is there."""

    weight: float
    copies: float
    top: FloatArray
    rest: FloatArray
    squares: FloatArray
    score: FloatArray
    plain: FloatArray
    spread: FloatArray
    met: tuple[FloatArray, FloatArray, FloatArray]
    often: float


def mixtures(softmax: Softmax) -> list[Mixture]:
    """Nodes over what stands beside the informative token: copies of it or none, the greatest score, and the sum of the
    rest given that."""
    often = float((softmax.seeds.L[0] - 1) / softmax.seeds.V[0])  # copies on average
    some = -np.expm1(-often)
    n = softmax.accuracy.soft_top
    return _mixtures(softmax, n, 1 - some, 0.0) + _mixtures(softmax, -(-n // 2), some, often / some)


def _mixtures(softmax: Softmax, nodes: int, chance: float, copies: float) -> list[Mixture]:
    """Those of so many copies, which have this chance."""
    seeds, accuracy, heat = softmax.seeds, softmax.accuracy, softmax.soft.heat[:, None]
    R, L = len(heat), seeds.L
    distinct = -seeds.V * np.expm1((L - 1) * np.log1p(-1 / seeds.V))
    once = max(float(L[0]) - 2, 0.0) / float(seeds.V[0])
    again = -np.expm1(-once)
    cases = [(1 + once, 1.0)]  # copies of the greatest, on average
    if not copies and again > accuracy.almost:
        cases = [(1.0, 1 - again), (1 + once / again, again)]
    out = []
    for level, weight in zip(*gauss_legendre(nodes), strict=True):
        quantile = np.minimum(ndtri(level**(1 / np.maximum(distinct, 1))), accuracy.reach)
        top = shape_score(seeds, quantile[:, None])[:, 0]
        below = (softmax.score < top[:, None]) * softmax.mass
        power = np.exp(np.minimum(heat * (softmax.score - top[:, None]), 0))
        below = below / np.maximum(below.sum(-1, keepdims=True), TINY)
        first, second, scored, plain = ((below * f).sum(-1) for f in (power, power**2, power * softmax.score,
                                                                      softmax.score))
        spread = np.sqrt(np.maximum((below * softmax.score**2).sum(-1) - plain**2, 0))
        met = (softmax.picked(top[:, None])[:, 0], *(
            (below * f * softmax.picks).sum(-1) / np.maximum((below * f).sum(-1), TINY) for f in (power, power**2)))
        score = scored / np.maximum(first, TINY)
        for often, of in cases:
            others = np.maximum(L - 1 - often, 0)
            mean = others * first
            variance = others * np.maximum(second - first**2, 0) / np.maximum(mean, LEAST_SUM)**2
            x, w = gauss_gamma(np.minimum(variance, R), accuracy.soft_rest)
            out += [Mixture(float(chance * weight * of * w[:, j].mean()), copies, top, mean * x[:, j],
                            others * second * x[:, j], score, plain, spread, met, often)
                    for j in range(accuracy.soft_rest)]
    return out
