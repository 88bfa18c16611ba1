"""Orthogonal embeddings: attention, recall, accuracy and their spread over seeds.

Attended rightly, label j answers token k by n_j (1 + 1[j = k]) if the trigger is in the values and by n_k 1[j = k] if
not: recall is a comparison of counts whose sum is N. Where training attended wrongly, counts are thinned by rank: a
token outranked by J others keeps a share (1 - J/V)^(L-1) of its sequences, and hands the rest to the tokens that
outrank it. Proofs: docs/derivations/orthogonal.md.
"""

from __future__ import annotations

import dataclasses
import functools

import numpy as np
from scipy.special import gammaln, ndtr, ndtri

from ..numerics.arrays import TINY, FloatArray
from ..numerics.forced_choice import RealOrComplex, log_of_one_plus, shared_places, thinned
from ..numerics.quadrature import gauss_hermite, gauss_legendre
from . import orthogonal_scores as scores
from .accuracy import DEFAULT, Accuracy
from .domain import Batch
from .formulas import orthogonal_formulas as terms

NAMES = ("attention", "attention_std", "recall", "accuracy", "recall_std", "accuracy_std")
ENOUGH = 1000  # samples a fact above which no count is twice another (e^-0.11 ENOUGH)
LEAST_SIDE = 1 / 10**4  # seeds of negative leads that are fewer are left out
LEAST_COUNT = 1e-12  # own counts of less probability are left out
FEW_TIES = 1e-4  # ties on average, below which a series is nearer than differences
SCORES_END = 7  # standard deviations at which scores end, and a sum of counts' transform
LOW = 5  # standard deviations below which 3e-7 of the tokens lie
SWEEPS = 3  # sweeps that restore the law of counts from that given scores: the last moves it by 1e-4
LOG_OF_NOTHING = -700  # a logarithm of what is as good as nothing


def orthogonal_prediction(batch: Batch, accuracy: Accuracy = DEFAULT) -> dict[str, FloatArray]:
    """Means and standard deviations over seeds of the three observables, embedding="orthogonal", d >= V.

    Keys: attention, recall, accuracy, and each with _std; every value is (B,). Attention and accuracy are those over
    all sequences of a seed, so that no test sample adds to their spread. There is none with an MLP: the features of
    orthogonal values are not orthogonal.

    >>> p = orthogonal_prediction(Batch.of(64, 8, 65, [64, 128, 1280], embedding="orthogonal"))
    >>> p["recall"].round(3)
    array([0.175, 0.237, 0.828])
    """
    sizes = (batch.V, batch.L, batch.d, batch.N)
    rows = [_one(V, int(L), d, N, batch.e, accuracy) for V, L, d, N in zip(*(x.tolist() for x in sizes), strict=True)]
    return dict(zip(NAMES, np.array(rows).reshape(-1, len(NAMES)).T, strict=True))


def orthogonal_attention(batch: Batch, accuracy: Accuracy = DEFAULT) -> FloatArray:
    """(B,): the mean attention alone, for less than half of what all costs."""
    found = np.ones(len(batch.V))
    for i, (V, L, d, N) in enumerate(zip(*(x.tolist() for x in (batch.V, batch.L, batch.d, batch.N)), strict=True)):
        if L > 1:
            labels = scores.label_counts(V, N, accuracy.orthogonal_cells)
            seeds, _ = scores.seed_law(V, int(L), d, N, batch.e, labels, accuracy=accuracy)
            found[i], _ = scores.attention(V, int(L), seeds, accuracy)
    return found


def orthogonal_terms(batch: Batch) -> dict[str, dict[str, FloatArray]]:
    """Named contributions (B,) to (noise/signal)^2 of attention and recall."""
    v, length, dim, n, e = batch.V, batch.L, batch.d, batch.N, batch.e
    long, inside = np.maximum(length, 2), (dim <= v) / v
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):  # no lead: infinite noise
        signal = terms.lead(v, long, n, e) ** 2
        found = {"noise token counts": (terms.noise_counts(v, long, n) + terms.shared_sequences(v, long, n)) / signal,
                 "label noise": terms.label_noise(v, long, n, e) / signal,
                 "own sequences": terms.own_sequences(v, long, n, e) / signal,
                 "lead noise": terms.lead_noise(v, long, n) / signal, "trigger overlap": inside}
    found = {name: np.nan_to_num(np.where(length > 1, value, 0)) for name, value in found.items()}
    # of the margin (1 + e) n_k - e n_j of recall
    margin = {"own count": (1 + e) ** 2 * v / n, "mean bias": e * v / n, "trigger overlap": e * inside}
    return {"attention": found, "recall": margin}


def _one(V: float, L: int, d: float, N: float, e: int, accuracy: Accuracy) -> tuple[float, ...]:
    """The values of `NAMES` in one setting."""
    few, cells = min(N, ENOUGH * V), accuracy.orthogonal_cells
    labels = scores.label_counts(V, few, cells)
    arena = _Arena(V, e, bool(e and d == V), labels, accuracy)
    mean, std = 1.0, 0.0
    if L > 1:
        every = labels if few == N else scores.label_counts(V, N, cells)
        seeds, tilted = scores.seed_law(V, L, d, N, e, every, accuracy=accuracy)
        mean, std = scores.attention(V, L, seeds, accuracy)
    if mean >= 1 - accuracy.orthogonal_sure:
        return mean, std, *_over_seeds(V, [(_compete(arena, _perfect(V, labels.poisson)), np.ones(1))])
    slope = 0.0
    if few == N:  # how recall moves with the label counts, as where all attention is right
        less, more = (float(_compete(arena, _perfect(V, law)).recall[0]) for law in tilted)
        slope = (more - less) / max(more + less, TINY)
    parts = []
    for behind, side in enumerate((seeds.lead >= 0, seeds.lead < 0)):
        if seeds.weight[side].sum() > LEAST_SIDE:
            at = scores.condensed(seeds.at(side), accuracy.orthogonal_ratio)
            factor = np.repeat(np.maximum(1 + slope * at.changed, 0), accuracy.orthogonal_top)
            parts.append((_compete(arena, _ranked(V, L, at, behind, labels, accuracy)), factor))
    return mean, std, *_over_seeds(V, parts)


@dataclasses.dataclass(frozen=True)
class _Groups:
    """Tokens by kind at nodes (S,) over seeds: all but the one of the greatest score by J, how many others outrank them
    by the lead; last that one itself.

    share (S, J + 1): fractions of the tokens but the greatest, and 1; law (J + 1, K): probabilities of their counts;
    keep (J + 1,): share of its sequences that such a token keeps; beaten (J + 1,): by how many ranks; taken (R,): of a
    sequence, the chance that the token of that rank is the best of the noise; overlap (S, J + 1, R): fraction of all
    tokens that are of that kind and rank.
    """

    weight: FloatArray
    share: FloatArray
    law: FloatArray
    keep: FloatArray
    beaten: FloatArray
    taken: FloatArray
    overlap: FloatArray


def _perfect(V: float, counts: FloatArray) -> _Groups:
    """All attention right: nothing is taken from any; counts (K,)."""
    return _Groups(np.ones(1), np.ones((1, 2)), np.stack([counts, counts]), np.ones(2), np.zeros(2), np.zeros(1),
                   np.array([[[1 - 1 / V], [1 / V]]]))


def _ranked(V: float, L: int, seeds: scores.Seeds, behind: int, labels: scores.Labels, accuracy: Accuracy) -> _Groups:
    """The groups at nodes of (lead, greatest score): given both, ranks follow from binomial counts.

    `behind` is 1 where leads are negative: a token among the noise then outranks itself as the informative one.
    """
    ranks, size, tops = accuracy.orthogonal_ranks, accuracy.orthogonal_score, accuracy.orthogonal_top
    # The greatest of V uniforms is U^(1/V), its complement keeps the digits at large V; both ends of U count.
    t, wt = gauss_legendre(tops)
    t, wt = t * t * (3 - 2 * t), wt * 6 * t * (1 - t)
    weight = (seeds.weight[:, None] * wt).ravel()
    at = seeds.at(np.repeat(np.arange(len(seeds.weight)), tops))
    law, lead = at.law, at.lead[:, None]
    top = law.at_quantile(np.tile(-ndtri(-np.expm1(np.log(t) / V)), len(seeds.weight))[:, None])
    greatest = law.score(top)
    cap = np.clip(law.quantile(top, top), -SCORES_END, SCORES_END)
    border = np.clip(law.quantile(law.coordinate(greatest - lead), top), -SCORES_END, cap)

    # Scores that the greatest outranks, and those that it does not.
    x, w = gauss_legendre(size)
    low = np.minimum(-LOW, border - 1)
    z = np.concatenate([low + (border - low) * x, border + (cap - border) * x], axis=1)
    wz = np.concatenate([(border - low) * w, (cap - border) * w], axis=1) * np.exp(-z * z / 2)
    wz = wz / np.maximum(wz.sum(axis=1, keepdims=True), TINY)
    outranked = np.repeat([True, False], size)
    u = law.at_quantile(z, top)
    score = law.score(u)
    above = 1 - ndtr(law.quantile(law.coordinate(score + lead), top, u)) / ndtr(law.quantile(top, top, u))
    above = np.where(outranked, np.clip(above, TINY, scores.ALMOST), TINY)
    others = max(V - 2, 0)
    chances = np.zeros((*z.shape, ranks))
    chances[..., 0] = ~outranked
    for j in range(min(ranks - 2, int(others) + 1)):
        log = (np.log(np.maximum(others - np.arange(j), TINY)).sum() - gammaln(j + 1) + j * np.log(above)
               + (others - j) * np.log1p(-above))
        chances[..., j + 1] = np.exp(log) * outranked
    chances[..., -1] = np.maximum(1 - chances.sum(axis=-1), 0)
    keep = np.maximum(1 - (np.arange(ranks) + behind) / V, 0) ** (L - 1)
    trials, chance = scores.distinct_trials(V, L - 1)
    kept = (keep[1] * keep[0] ** behind * outranked
            * np.exp(trials * np.log1p(-np.minimum(chance * above, scores.ALMOST))))
    rest = [float(weight @ (wz * a).sum(axis=1)) for a in (kept - chances[..., 1:-1] @ keep[1:-1], chances[..., -1])]
    keep[-1] = min(max(rest[0] / max(rest[1], TINY), 0), keep[-1])

    share = np.append((chances * wz[..., None]).sum(axis=1), np.ones((len(weight), 1)), axis=1)
    counts = labels.poisson
    law_of = np.tile(counts, (ranks + 1, 1))
    if at.centre.shape[1] == len(counts):  # else there are more than ENOUGH, which say nothing of the score
        far = (np.append(score, greatest, axis=1)[..., None] - at.centre[:, None]) / at.spread[:, None]
        log = np.log(np.maximum(counts, TINY) / at.spread)[:, None] - far**2 / 2
        post = np.exp(log - log.max(axis=-1, keepdims=True))
        post = post / post.sum(axis=-1, keepdims=True)
        law_of[:-1] = np.tensordot(chances * (weight[:, None] * wz)[..., None], post[:, :-1], ((0, 1), (0, 1)))
        law_of[-1] = weight @ post[:, -1]
        law_of = law_of / np.maximum(law_of.sum(axis=1, keepdims=True), TINY)
        total = weight @ share * np.append(np.full(ranks, 1 - 1 / V), 1 / V)
        # The greatest has the counts of those that none outranks: its own would come with a bound on others' counts.
        law_of[[0, -1]] = total[0] * law_of[0] + total[-1] * law_of[-1]
        for _ in range(SWEEPS):  # over all tokens, counts have their own law
            law_of = law_of / np.maximum(law_of.sum(axis=1, keepdims=True), TINY)
            law_of = law_of * counts / np.maximum(total @ law_of, TINY)
        law_of = law_of / np.maximum(law_of.sum(axis=1, keepdims=True), TINY)

    edges = np.maximum(1 - np.arange(ranks + 1) / V, 0) ** (L - 1)
    taken = np.append((edges[:-1] - edges[1:])[:-1], 0)  # what is spread over all lower ranks is next to nothing each
    ends = (1 + (V - 1) * np.pad(np.cumsum(share[:, :-1], axis=1), ((0, 0), (1, 0)))) / V
    steps = np.append(np.minimum(np.arange(ranks) / V, 1), 1)
    overlap = np.maximum(np.minimum(ends[:, 1:, None], steps[1:]) - np.maximum(ends[:, :-1, None], steps[:-1]), 0)
    first = np.zeros((len(weight), 1, ranks))
    first[..., 0] = 1 / V
    return _Groups(weight, share, law_of, np.append(keep, keep[0]), np.append(np.arange(ranks), 0), taken,
                   np.append(overlap, first, axis=1))


@dataclasses.dataclass(frozen=True)
class _Arena:
    """What all competitions of a setting share; `overlaps`: whether tokens' overlaps with the trigger count."""

    V: float
    e: int
    overlaps: bool
    labels: scores.Labels
    accuracy: Accuracy

    def comparison(self, rivals: FloatArray, m: FloatArray, e: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Whether a competitor's count (rows) exceeds or equals (1 + e) times an own count m (columns), (T, R, M), with
        the weights (T,) of nodes over the own token's overlap with the trigger."""
        rival, goal = rivals[:, None], (1 + e) * m
        ties = (rival == goal)[None].astype(float)
        if not (e and self.overlaps):
            return (rival > goal)[None].astype(float), ties, np.ones(1)
        x, w = gauss_hermite(self.accuracy.orthogonal_overlap * (2 if self.V < self.accuracy.small / 4 else 1), True)
        law = scores.ScoreLaw(np.ones((1, 1)), np.full((1, 1), 1 / self.V))
        u = law.at_quantile(x[None])[0][:, None, None]
        t = u / np.sqrt(self.V)
        # n_j (1 + t_j + t_k) > 2 n_k (1 + t_k), t_j given t_k; ties only at nought.
        least = np.where(rival > 0, goal / np.maximum(rival, 1), 0) * (1 + t) - 1 - t
        above = ndtr(-law.quantile(least * np.sqrt(self.V), np.broadcast_to(u, least.shape)))
        return np.where(rival > 0, above, 0.0), np.repeat(ties * (goal == 0), len(w), axis=0), w


@dataclasses.dataclass(frozen=True)
class _Ties:
    """The labels that an own count competes with: `log` of P(one stays at or below), complex as `below`, and `s`, the
    share of P that a tie has.

    Of n such labels the mean of 1/(1 + ties), all at or below, is the integral over v from 0 to 1 of P^n (1 - v s)^n.
    """

    log: RealOrComplex
    s: RealOrComplex

    @classmethod
    def of(cls, below: RealOrComplex, equal: RealOrComplex) -> _Ties:
        """Of P - 1 and P(a tie), or of these with a factor e^(i omega n)."""
        log = log_of_one_plus(below)
        return cls(log, equal * np.exp(-log))

    @functools.cached_property
    def untied(self) -> RealOrComplex:
        """The logarithm of the share of P without a tie."""
        return log_of_one_plus(-self.s)

    def integrals(self, n: float) -> tuple[RealOrComplex, RealOrComplex]:
        """The integral, and that with a factor v."""
        s, t = self.s, (n + 1) * self.s
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            none = np.exp(n * self.log)
            left = n * self.log + (n + 1) * self.untied
            tied = np.exp(np.where(left.real > LOG_OF_NOTHING, left, LOG_OF_NOTHING))
            first, second = (none - tied) / t, (none - tied * (1 + t)) / (t * (n + 2) * s)
        few = np.abs(t) < FEW_TIES
        return (np.where(few, none * (1 - n * s / 2 + n * (n - 1) * s**2 / 6), first),
                np.where(few, none * (1 / 2 - n * s / 3 + n * (n - 1) * s**2 / 8), second))

    def credit(self, n: float, top: RealOrComplex, top_equal: RealOrComplex) -> RealOrComplex:
        """The mean of 1/(1 + ties) where n of them and the token of the greatest score stay at or below: `top` is
        P(it does) - 1."""
        usual, lifted = self.integrals(n)
        return (1 + top) * usual - top_equal * lifted


def _plain_credit(V: float, *of: FloatArray) -> FloatArray:
    """The same of plain probabilities: P(one exceeds), P(a tie), and those of the greatest."""
    over, equal, top_over, top_equal = of
    return np.real(_Ties.of(-over, equal).credit(max(V - 2, 0), -top_over, top_equal))


@dataclasses.dataclass(frozen=True)
class _Won:
    """At nodes (S,): recall, accuracy by right attention and by wrong; of recall and of the second, the square of a
    fact's own credit, what two facts get together and what one does in their law (2, S)."""

    weight: FloatArray
    recall: FloatArray
    right: FloatArray
    wrong: FloatArray
    square: FloatArray
    two: FloatArray
    one: FloatArray


def _compete(arena: _Arena, groups: _Groups) -> _Won:
    """The competition of the own count (1 + e) m with those of V - 1 other labels, at every node.

    That the counts of all labels sum to N is kept by their characteristic function, at the frequencies omega.
    """
    V, e, labels = arena.V, arena.e, arena.labels
    n, step, keep, share, law = labels.n, labels.step, groups.keep, groups.share, groups.law
    rivals = n if (keep == 1).all() else np.arange(0, n[-1] + step, step)
    own = np.einsum("jn,jnm->jm", law, thinned(n, rivals, step, keep))
    likely = own.max(axis=0) > LEAST_COUNT
    m, own, seen = rivals[likely], own[:, likely], rivals[likely] > 0
    beats, level, wt = arena.comparison(rivals, m, e)
    over_all, tie_all = (np.tensordot(wt, a, 1) for a in (beats, level))

    # Of the lowest rank, from which nothing is taken: transforms over a label's count n, at frequencies up to where the
    # sum's has ended.
    count = arena.accuracy.orthogonal_sum * (2 if V < arena.accuracy.small / 4 else 1)
    omega = np.linspace(0, min(np.pi / step, SCORES_END / np.sqrt(V * labels.rate)), count + 1)
    w = np.where((omega == 0) | (omega == omega[-1]), 1 / 2, 1)
    turned = law[:, None] * (np.exp(1j * np.outer(omega, n - labels.rate)) - 1)  # (J + 1, omega, K)
    lowest = thinned(n, rivals, step, e * keep)
    over, tie = (np.concatenate(list(a), axis=1) for a in (beats, level))  # (R, T M)
    if not (e * keep == 1).all():
        over, tie = lowest @ over, lowest @ tie  # (J + 1, K, T M)
    changed, tied = turned @ (1 - over) - law[:, None] @ over, (turned + law[:, None]) @ tie
    others, greatest = slice(None, -1), slice(-1, None)
    shape = (-1, len(omega), len(wt), len(m))
    below, equal, *top = (np.tensordot(share[:, of], x[of], 1).reshape(shape)
                          for of in (others, greatest) for x in (changed, tied))
    ties = _Ties.of(below, equal)
    # Also where the fact is the greatest itself, and where there is one label less.
    one, one_top, two = (np.einsum("swtm,t->swm", x, wt) for x in (
        ties.credit(V - 2, *top), ties.integrals(V - 1)[0],
        ties.credit(V - 3, *top) if V > 2 else np.ones_like(below)))
    every = [log_of_one_plus(share[:, of] @ turned[of].sum(axis=-1)) for of in (others, greatest)]
    total = (np.exp((V - 1) * every[0] + every[1]) @ w).real[:, None, None]
    # The own label's: what it kept, and a Poisson count of what it lost.
    lost = labels.rate * (1 - keep)
    turn = np.exp(1j * omega[:, None, None] * (m - labels.rate * keep[:, None])
                  + (lost * (np.exp(1j * omega[:, None]) - 1 - 1j * omega[:, None]))[..., None])
    chance = np.concatenate([np.einsum("swm,wjm->sjm", credit, turn[:, of] * w[:, None, None]).real
                             for credit, of in ((one, others), (one_top, greatest))], axis=1) / total
    won = own * np.maximum(chance, 0)  # a chance over 1 is that a count of m makes the sum likelier

    # Of other ranks: by how much the taken counts lower it, the sum and the own token's overlap aside.
    taken = groups.taken * (groups.beaten[:, None] > np.arange(len(groups.taken)))  # by the token of that rank
    rank = np.stack([_rank_credit(arena, groups, rivals, e * keep + a, (over_all, tie_all)) for a in taken.T], axis=1)
    rank = np.clip(rank / np.maximum(rank[:, -1:], TINY), 0, 1)
    known = np.einsum("sjm,srm->sjr", won, rank) * groups.overlap
    # A token attended wrongly answers with a label whose own token it outranks, unless its own count holds.
    bare = [a[0] for a in arena.comparison(rivals, m, 0)[:2]]
    bare[1] = bare[1] * seen  # all at nought: the count of nobody holds
    held = np.stack([_rank_credit(arena, groups, rivals, a, bare) @ own.T for a in taken.T], axis=2)
    among = groups.overlap / np.maximum(groups.overlap.sum(axis=1, keepdims=True), TINY)
    wrong = (1 - (among * held).sum(axis=1)) @ groups.taken / V

    # Two facts: the counts of others must stay below the lower goal, and that must allow the greater own count.
    may, even = ((m > m[:, None]) & seen[:, None]).astype(float), np.zeros((len(m), len(m)))
    if e:
        may, even = may * (1 - over_all - tie_all)[likely].T, may * tie_all[likely].T
    spot = share[:, :-1] @ (law[:, None] @ lowest)[:-1, 0]
    tied = V * (spot @ tie_all) / np.maximum(1 - spot @ over_all, 1 - scores.ALMOST)
    squared, joined = shared_places(tied)
    fraction, moments = groups.overlap.sum(axis=2), []
    for part in (fraction, fraction * keep):
        pair = np.einsum("sj,wjm->swm", part, own * seen * turn)
        other = 2 * pair @ may.T + 2 * (pair @ even.T) * joined[:, None] + pair * squared[:, None]
        moments.append((np.einsum("sj,sjm,sm->s", part**2 / np.maximum(fraction, TINY), won, squared),
                        ((two * pair * other).sum(axis=2) @ w).real / total[:, 0, 0],
                        np.einsum("sj,sjm,m->s", part, won, seen)))
    return _Won(groups.weight, known.sum(axis=(1, 2)), known.sum(axis=2) @ keep, wrong,
                *(np.array(x) for x in zip(*moments, strict=True)))


def _rank_credit(arena: _Arena, groups: _Groups, rivals: FloatArray, chance: FloatArray,
                 of: tuple[FloatArray, ...] | list[FloatArray]) -> FloatArray:
    """The credit (S, M) where labels of each kind bring their counts with that chance (J + 1,)."""
    labels = arena.labels
    count = (groups.law[:, None] @ thinned(labels.n, rivals, labels.step, chance))[:, 0]
    others = groups.share[:, :-1] @ count[:-1]
    return _plain_credit(arena.V, *(x @ a for x in (others, count[-1]) for a in of))


def _over_seeds(V: float, parts: list[tuple[_Won, FloatArray]]) -> tuple[float, ...]:
    """Recall, accuracy and their spreads. With each part, how it moves with the label counts (S,), 1 on average.

    Variance = that of the nodes + 1/V of a fact's own + two facts' covariance, in which the label counts are already.
    """
    factor = np.concatenate([part[1] for part in parts])
    w, recall, right, wrong, *moments = (np.concatenate([getattr(part[0], field.name) for part in parts], axis=-1)
                                         for field in dataclasses.fields(_Won))
    w = w / w.sum()
    spreads = []
    for mean, square, two, one in zip((recall, right), *moments, strict=True):
        total = (square - mean**2) / V + (two - one**2) * (1 - 1 / V) + (mean * factor) ** 2
        spreads.append(max(float(total @ w - (mean @ w) ** 2 * (factor**2 @ w)), 0.0))
    means = min(float(recall * factor @ w), 1.0), min(float((right * factor + wrong) @ w), 1.0)
    return (*means, *(float(np.sqrt(min(x, p * (1 - p)))) for x, p in zip(spreads, means, strict=True)))
