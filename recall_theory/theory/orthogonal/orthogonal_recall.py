"""Recall under orthogonal embeddings: a competition of counts.

Attended rightly, label j answers token k by n_j (1 + 1[j = k]) if the trigger is in the values and by
n_k 1[j = k] if not: recall is a comparison of multinomial counts. Where training attended
wrongly, the counts are thinned by rank: a token outranked by J others keeps a share
(1 - J/V)^(L-1) of its sequences, and hands the rest to the tokens that outrank it.
Proofs: docs/derivations/orthogonal.md.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, ndtr, ndtri, pdtr, pdtrc

from ...numerics.quadrature import gauss_hermite, gauss_legendre
from .orthogonal_attention import TINY, AttentionNodes, chi_squared_quantile, chi_squared_quantile_inverse

__all__ = ["RecallNodes", "recall_nodes"]

FloatArray = NDArray[np.float64]
Pairs = tuple[FloatArray, FloatArray, FloatArray, FloatArray]

RANKS = 8  # ranks told apart; the tokens below share the mean of what is left
NODES_LEAD = 5  # nodes over the lead in units of the token spread
NODES_TOP = 8  # Gauss-Legendre nodes over the probability scale of the greatest score
NODES_SCORE = 41
REACH = 9  # standard deviations of a count that the sums run over
ALMOST = 1 - np.finfo(float).epsneg  # the greatest number below 1
LOWEST = 8  # guard: standard deviations below which no token scores, at V beyond 10^14
ENOUGH = 1000  # with more samples a fact, no count of a fact is twice that of another (e^-0.11 ENOUGH)


@dataclasses.dataclass(frozen=True)
class RecallNodes:
    """Mean and standard deviation over seeds of recall and accuracy."""

    recall: float
    recall_std: float
    accuracy: float
    accuracy_std: float


@dataclasses.dataclass(frozen=True)
class Groups:
    """Tokens by J, the number of others that outrank them by the lead: rows are nodes.

    share (nodes, RANKS): fraction of the tokens with that J; keep (nodes, RANKS): the share of its
    sequences that such a token keeps; taken (RANKS,): of a sequence, the chance that the token of that rank
    is the best of the noise; overlap (nodes, RANKS, RANKS): fraction of tokens of that J and that rank.
    """

    weight: FloatArray
    share: FloatArray
    keep: FloatArray
    taken: FloatArray
    overlap: FloatArray


def recall_nodes(V: float, L: int, d: float, N: float, e: int, attention: AttentionNodes) -> RecallNodes:
    """Recall and accuracy of the trained model over the seeds, given the law of its attention.

    >>> from .orthogonal_attention import attention_nodes
    >>> round(recall_nodes(64, 8, 65, 128, 1, attention_nodes(64, 8, 65, 128, 1)).recall, 4)
    0.2377
    """
    N = min(N, ENOUGH * V)
    perfect = attention.mean >= 1
    groups = _perfect() if perfect else _ranked(V, L, attention)
    blur = np.sqrt(V) if e == 1 and d == V else 0.0  # 1 / sd of a token's overlap with the trigger
    return _compete(V, N, e, blur, groups)


def _perfect() -> Groups:
    """All attention right: one group, nothing taken from it."""
    one = np.ones((1, 1))
    return Groups(np.ones(1), one, one, np.zeros(1), np.ones((1, 1, 1)))


def _ranked(V: float, L: int, attention: AttentionNodes) -> Groups:
    """The groups at nodes of (lead, greatest score): given both, ranks follow from binomial counts."""
    ratio = attention.lead / attention.sd
    mean = ratio @ attention.weight
    sd = np.sqrt(float((ratio - mean) ** 2 @ attention.weight))
    # the squared skewness 8/dof is averaged: dof itself has no mean where skewnesses of both signs occur
    dof = np.asarray(1 / (attention.weight @ (1 / attention.dof)))
    x, wx = gauss_hermite(NODES_LEAD, symmetric=True)
    u, wu = gauss_legendre(NODES_TOP)
    # The greatest of V uniforms is U^(1/V); its complement keeps the digits at large V.
    top = -ndtri(-np.expm1(np.log(u) / V))
    lead = np.repeat(mean + sd * x, NODES_TOP)
    top = np.tile(top, NODES_LEAD)
    weight = (wx[:, None] * wu).ravel()
    edge = chi_squared_quantile(top, dof)
    border = chi_squared_quantile_inverse(edge - lead, dof)
    border = np.where(lead > 0, np.minimum(border, top), top)
    below = ndtr(border) / ndtr(top)  # a token other than the top: that it is outranked by the top at least
    share = np.zeros((len(lead), RANKS))
    share[:, 0] = (1 + (V - 1) * (1 - below)) / V
    # Tokens below the border: J - 1 of the V - 2 others lie above the token's score plus the lead.
    floor = np.minimum(-ndtri(1 / (4 * V)), LOWEST)
    low = np.minimum(-floor, border - 1)
    grid = low[:, None] + (border - low)[:, None] * np.linspace(0, 1, NODES_SCORE)
    density = np.exp(((grid**2).min(axis=1, keepdims=True) - grid**2) / 2)
    density[:, [0, -1]] /= 2
    density /= density.sum(axis=1, keepdims=True)
    reached = ndtr(chi_squared_quantile_inverse(chi_squared_quantile(grid, dof) + lead[:, None], dof))
    above = np.clip(1 - reached / ndtr(top)[:, None], TINY, 1 - np.finfo(float).eps)
    keep = np.ones((len(lead), RANKS)) * np.maximum(1 - np.arange(RANKS) / V, 0) ** (L - 1)
    others = max(V - 2, 0)
    total = np.exp((L - 1) * (np.log1p(-1 / V) + np.log1p(-above * others / V)))
    kept = 0.0
    for j in range(1, RANKS - 1):
        if j - 1 <= others:
            log = _log_binomial(others, j - 1) + (j - 1) * np.log(above) + (others - j + 1) * np.log1p(-above)
            chance = (np.exp(log) * density).sum(axis=1)
            share[:, j] = chance * (V - 1) * below / V
            kept = kept + share[:, j] * keep[:, j]
    share[:, -1] = np.maximum(1 - share[:, :-1].sum(axis=1), 0)
    mean_kept = (total * density).sum(axis=1) * (V - 1) * below / V
    least = (1 - (RANKS - 1) / V) ** (L - 1) if V > RANKS else 0.0
    keep[:, -1] = np.clip((mean_kept - kept) / np.maximum(share[:, -1], TINY), 0, least)
    edges = np.maximum(1 - np.arange(RANKS + 1) / V, 0) ** (L - 1)
    taken = edges[:-1] - edges[1:]
    taken[-1] = 0  # spread over all lower ranks: next to nothing each
    ends = np.concatenate([np.zeros((len(lead), 1)), np.cumsum(share, axis=1)], axis=1)
    ranks = np.append(np.arange(RANKS) / V, 1)
    overlap = (np.minimum(ends[:, 1:, None], ranks[None, None, 1:])
               - np.maximum(ends[:, :-1, None], ranks[None, None, :-1]))
    return Groups(weight, share, keep, taken, np.maximum(overlap, 0))


def _log_binomial(n: float, k: int) -> float:
    return float(np.log(np.maximum(n - np.arange(k), TINY)).sum() - gammaln(k + 1))


def _counts(lam: float, lowest: float) -> FloatArray:
    """The counts that sums run over: all in reach of lam, or where these are many a regular part."""
    step = max(1, int(np.sqrt(lam) / 4))
    first = step * int(max(0, lowest - REACH * np.sqrt(lowest)) / step)
    return np.arange(first, lam + REACH * np.sqrt(lam) + REACH + step, step)


def _mass(log: FloatArray, m: FloatArray) -> FloatArray:
    """Probabilities (..., m) from their logarithms at single counts; each stands for its neighbours."""
    mass = np.exp(log)
    return mass if m[1] == m[0] + 1 else mass / np.maximum(mass.sum(axis=-1, keepdims=True), TINY)


def _own_counts(V: float, N: float, keep: FloatArray, m: FloatArray) -> FloatArray:
    """Binomial(N, keep/V) probabilities (..., m) of the counts m, at any N and V."""
    lam = N / V
    with np.errstate(divide="ignore"):
        falling = np.cumsum(np.log(np.maximum(1 - np.arange(m[-1]) / N, 0)))  # log N!/((N-m)! N^m)
        log = (m * np.log(np.maximum(lam * keep, TINY)) - gammaln(m + 1)
               + np.concatenate([[0], falling])[m.astype(int)] + (N - m) * np.log1p(-keep / V))
    return _mass(np.where(m <= N, log, -np.inf), m)


def _compete(V: float, N: float, e: int, blur: float, groups: Groups) -> RecallNodes:
    """The competition of the own count (1 + e) m with those of V - 1 other labels, at every node."""
    lam = N / V
    m = _counts(lam, lam * float(groups.keep.min()))
    goal = (1 + e) * m
    rate = lam * (e * groups.keep[:, :, None] + groups.taken * _outranked(len(groups.taken)))  # (nodes, J, rank)
    law = _blurred(rate, goal, m, blur) if blur else _plain(rate, goal)
    below, equal = ((groups.share[:, :, None, None] * part).sum(axis=1) for part in law)  # (nodes, rank, m)
    log = np.log1p(-np.minimum(below, ALMOST))
    chance = _credit(V, log, equal)
    spread = _conditioning(lam, groups, goal)
    if e == 1:
        chance = np.minimum(chance * _sum_factor(V - 1, N, m, *spread, lam)[:, None, :], 1)
    own = _own_counts(V, N, groups.keep[:, :, None], m)  # (nodes, J, m)
    known = np.einsum("njm,nrm->njr", own, chance)
    recall = (known * groups.overlap).sum(axis=(1, 2))
    right = (known * groups.overlap * groups.keep[:, :, None]).sum(axis=(1, 2))
    wrong = _wrong_answers(V, lam, groups, own, m)
    lowest = log[:, -1, :], equal[:, -1, :], spread  # the rank from which next to nothing is taken
    pair = (_pairs(V, N, lam, blur, groups, own, m, *lowest) if e == 1 else
            _pairs_unseen(V, N, groups, recall, right))
    return _over_seeds(V, groups, recall, right, wrong, pair)


def _outranked(ranks: int) -> FloatArray:
    """(J, rank): whether a token outranked by J others is outranked by the one of that rank."""
    j, r = np.arange(ranks)[:, None], np.arange(ranks)
    return (j > r).astype(float)


def _plain(rate: FloatArray, goal: FloatArray) -> tuple[FloatArray, FloatArray]:
    """P(count > goal) and P(count = goal) of Poisson counts."""
    r = rate[..., None]
    equal = np.exp(goal * np.log(np.maximum(r, TINY)) - r - gammaln(goal + 1))
    return pdtrc(goal, r), np.where((r == 0) & (goal > 0), 0, equal)


def _blurred(rate: FloatArray, goal: FloatArray, n: FloatArray, blur: float) -> tuple[FloatArray, FloatArray]:
    """The same where each count is multiplied by 1 + t, t normal with sd 1/blur: ties only at nought."""
    with np.errstate(divide="ignore", invalid="ignore"):
        above = np.where(n > 0, ndtr((1 - goal[:, None] / np.maximum(n, 1)) * blur), 0)
    r = rate[..., None]
    counts = _mass(n * np.log(np.maximum(r, TINY)) - r - gammaln(n + 1), n)
    equal = np.where(goal == 0, np.exp(-r), 0)
    return np.clip(counts @ above.T, 0, 1), equal


def _credit(V: float, log: FloatArray, equal: FloatArray) -> FloatArray:
    """E[1/(1 + ties)] where V - 1 others stay at or below: log is that of P(one does), equal P(a tie).

    Zero where nothing but nought would do is handled by the same sum.
    """
    share = np.minimum(equal * np.exp(-log), 1)
    with np.errstate(divide="ignore", over="ignore"):
        tied = -np.expm1(V * np.log1p(-share)) / np.maximum(V * share, TINY)
    return np.exp((V - 1) * log) * np.where(V * share > TINY / np.finfo(float).eps, tied, 1)


def _conditioning(lam: float, groups: Groups, goal: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Mean and variance (nodes, m) of a label's count n given that what it kept does not exceed goal."""
    kept = lam * groups.keep[:, :, None]
    rest = lam - kept
    here = pdtr(goal, kept)
    once = np.where(goal > 0, pdtr(np.maximum(goal - 1, 0), kept), 0)
    twice = np.where(goal > 1, pdtr(np.maximum(goal - 2, 0), kept), 0)
    share = groups.share[:, :, None]
    total = np.maximum((share * here).sum(axis=1), TINY)
    mean = (share * (kept * once + rest * here)).sum(axis=1) / total
    pairs = (share * (kept**2 * twice + 2 * kept * once * rest + rest**2 * here)).sum(axis=1) / total
    return mean, np.maximum(pairs + mean - mean**2, lam * np.finfo(float).eps)


def _sum_factor(count: float, N: float, own: FloatArray, mean: FloatArray, variance: FloatArray,
                lam: float) -> FloatArray:
    """What conditioning on sum n = N does to P(all stay below): Levin's identity, normal sums."""
    rest = N - own
    log = (-(rest - count * mean) ** 2 / (2 * count * variance)
           + (rest - count * lam) ** 2 / (2 * count * lam))
    close = variance > lam / 4  # elsewhere nearly all of the sum is cut off, and the probability is nil
    return np.where(close, np.sqrt(lam / variance) * np.exp(np.minimum(log, 1)), 1)


def _wrong_answers(V: float, lam: float, groups: Groups, own: FloatArray, m: FloatArray) -> FloatArray:
    """Chance (nodes,) that a sequence is attended wrongly and answered by its label all the same.

    The token attended to answers with a label whose own token it outranks, unless its own count holds.
    """
    rate = lam * groups.taken * _outranked(len(groups.taken))
    below, equal = _plain(rate[None], m)
    above = np.minimum((groups.share[:, :, None, None] * below).sum(axis=1), ALMOST)
    equal = (groups.share[:, :, None, None] * equal).sum(axis=1)
    log = np.log1p(-above)
    chance = np.where(m == 0, np.exp((V - 1) * log), _credit(V, log, equal))
    among = np.maximum(groups.overlap.sum(axis=1), TINY)
    held = (np.einsum("njm,nrm->njr", own, chance) * groups.overlap).sum(axis=1) / among
    result: FloatArray = (groups.taken * (1 - held)).sum(axis=1) / V
    return result


def _pairs_unseen(V: float, N: float, groups: Groups, recall: FloatArray, right: FloatArray) -> Pairs:
    """As `_pairs`, where the trigger is not in the values: two facts share only that sum n = N."""
    unseen = groups.share * np.exp(N * np.log1p(-groups.keep / V))
    both = np.expm1(-N / V * groups.keep[:, :, None] * groups.keep[:, None, :] / V)
    attended = unseen * groups.keep
    return (recall, recall**2 + np.einsum("ni,nij,nj->n", unseen, both, unseen),
            right, right**2 + np.einsum("ni,nij,nj->n", attended, both, attended))


def _pairs(V: float, N: float, lam: float, blur: float, groups: Groups, own: FloatArray, m: FloatArray,
           log: FloatArray, equal: FloatArray, spread: tuple[FloatArray, FloatArray]) -> Pairs:
    """For recall, then for accuracy: E of a fact's squared credit, and of two facts' credits, (nodes,)."""
    mix = (groups.share[:, :, None] * own).sum(axis=1)
    attended = (groups.share[:, :, None] * groups.keep[:, :, None] * own).sum(axis=1)
    attended2 = (groups.share[:, :, None] * groups.keep[:, :, None] ** 2 * own).sum(axis=1)
    share = np.minimum(equal * np.exp(-log), 1)
    # E[1/(c + ties)^p] over Binomial ties, the counts of ties being few wherever P(all below) is not nil
    ties = np.arange(3 * RANKS)
    with np.errstate(divide="ignore", invalid="ignore"):
        spots = (gammaln(V - 1) - gammaln(np.maximum(V - 1 - ties, 1)) - gammaln(ties + 1)
                 if V < ENOUGH**2 else ties * np.log(V) - gammaln(ties + 1))
        few = np.exp(spots + ties * np.log(np.maximum(share, TINY))[..., None]
                     + np.maximum(V - 2 - ties, 0) * np.log1p(-np.minimum(share, ALMOST))[..., None])
        few = np.where(ties <= V - 2, few, 0)
    few[..., 0] = np.where(share > 0, few[..., 0], 1)
    base = np.exp((V - 2) * log)
    square = base * (few / (1 + ties) ** 2).sum(axis=-1)
    single = base * (few / (1 + ties)).sum(axis=-1)
    joined = base * (few / (2 + ties)).sum(axis=-1)
    at_nought = m == 0
    joined_equal = base * (few / (2 + ties) ** 2).sum(axis=-1)
    low = np.minimum(np.arange(len(m))[:, None], np.arange(len(m)))
    least, most = np.minimum(m[:, None], m), np.maximum(m[:, None], m)
    if blur:
        with np.errstate(divide="ignore", invalid="ignore"):
            wins = ndtr((2 * least / np.maximum(most, 1) - 1) * blur)
        two = wins * single[:, low]
        two = np.where(least == 0, np.where(most == 0, joined_equal[:, low], 0), two)
    else:
        two = np.where(most == least, np.where(at_nought, joined_equal, square)[:, low],
                       np.where(most < 2 * least, single[:, low],
                                np.where((most == 2 * least) & (least > 0), joined[:, low], 0)))
    mean, variance = spread
    once = square * _sum_factor(V - 1, N, m, mean, variance, lam)
    two = two * _sum_factor(max(V - 2, 1), N, m[:, None] + m, mean[:, low], variance[:, low], lam)
    # Two labels' own counts are multinomial: 1 - (m - lam)(m' - lam)/N to first order in 1/N.
    two = np.minimum(two, 1) * np.maximum(1 - (m[:, None] - lam) * (m - lam) / N, 0)
    return ((mix * once).sum(axis=1), np.einsum("ni,nij,nj->n", mix, two, mix),
            (attended2 * once).sum(axis=1), np.einsum("ni,nij,nj->n", attended, two, attended))


def _over_seeds(V: float, groups: Groups, recall: FloatArray, right: FloatArray, wrong: FloatArray,
                pair: Pairs) -> RecallNodes:
    """Means over the nodes; variance = that of the nodes + 1/V of a fact's own + two facts' covariance."""
    w = groups.weight
    own, two, own_right, two_right = pair
    mean, hit = float(recall @ w), float(right @ w)
    variance = ((own - recall**2) / V + (two - recall**2) * (1 - 1 / V) + (recall - mean) ** 2) @ w
    variance_right = ((own_right - right**2) / V + (two_right - right**2) * (1 - 1 / V)
                      + (right - hit) ** 2) @ w
    return RecallNodes(min(mean, 1.0), float(np.sqrt(max(float(variance), 0))),
                       min(hit + float(wrong @ w), 1.0), float(np.sqrt(max(float(variance_right), 0))))
