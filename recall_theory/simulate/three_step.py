"""The fast path: the three-step limit from label-by-token count tables.

From a zero start, each gradient needs only how often token b stands in a sequence of label y and how each token
scores, never the N*L*d numbers of the embedded sequences. Equal to `reference` taken to the limit, on the same data.

Rows of every table are indexed by the informative token k, whose label is pi(k): row k of `u` is z_out(pi(k)), so that
the permutation disappears from the algebra.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..settings import Setting
from .data import Block, Embeddings, FloatArray, IntArray, Mlp, Samples, TokenArray

MOST_WAITING = 1 << 20  # numbers that say where sequences attend, held before they are counted
TIE = 1e-9  # scores this close, relative to the largest, are equal but for rounding
NOTHING = 1e-13  # a direction this small, relative to what it is the difference of, is zero but for rounding


@dataclasses.dataclass(frozen=True)
class Trained:
    """What three steps leave: everything that the observables need.

    `scores` (V,) are z_b.g and `trigger_score` is z_trig.g, in units of the step's own scale. `logits` (V, V): row k
    holds the logits, one for the label of each token, of h = value of informative token k. `wrong_logits` is the same
    with h = z_in(k), the value of a noise token.
    """

    scores: FloatArray
    trigger_score: float
    logits: FloatArray
    wrong_logits: FloatArray


def step_one(setting: Setting, emb: Embeddings, samples: Samples,
             out: FloatArray | None = None) -> tuple[FloatArray, FloatArray]:
    """The noise counts (V, V), in `out` if given, and Val1/eta (d, d) = (1/N) sum_i r_{y_i} hbar_i^T."""
    V, L, N = setting.V, setting.L, setting.N
    table = np.empty((V, V)) if out is None else out  # noise tokens only
    table.fill(0)
    if L > 1:
        for block in samples:
            rows, cells, _ = _cells(block, V)
            part = table[rows]
            part += np.bincount(cells.ravel(), minlength=part.size).reshape(part.shape)
    informative = samples.counts[:, None] * emb.informative_values(setting)
    hbar = table @ emb.z_in + informative  # (V, d), L times the sum over samples
    return table, emb.residuals.T @ hbar / (N * L)


def _cells(block: Block, V: int) -> tuple[slice, IntArray, IntArray]:
    """The rows of a (V, V) table that the informative tokens of a block span; where each noise token is in these, laid
    out flat, (L-1, n); and where the rows begin there, (n,)."""
    rows = slice(int(block.informative[0]), int(block.informative[-1]) + 1)
    first = (block.informative - rows.start) * V
    cells = block.noise.T.astype(np.intp)
    cells += first
    return rows, cells, first


def step_two(setting: Setting, emb: Embeddings, samples: Samples, table: FloatArray, val1: FloatArray,
             scratch: FloatArray | None = None) -> FloatArray:
    """g (d,): the direction of W1 z_EOS. The score of a key e is e.g. A table (V, V) to work in may be given."""
    V, L, N = setting.V, setting.L, setting.N
    n = samples.counts
    m = emb.residuals @ val1  # (V, d) rows Val1^T r
    pull = np.matmul(m, emb.z_in.T, out=scratch)  # (V, V) value score of token b at label k
    trigger_pull = m @ emb.z_trig if setting.trigger_in_value else np.zeros(V)
    own_pull = pull.diagonal() + trigger_pull  # of the informative position

    # g = (1/NL) sum_il key_il (value_il.m_i - mean over l of the same)
    weight = np.einsum("kb,kb->b", table, pull) + n * own_pull  # on z_in(b)
    trigger_weight = float(n @ own_pull)
    ones = np.ones(L - 1)
    for block in samples:
        rows, cells, first = _cells(block, V)
        mean = ones @ pull[rows].ravel().take(cells, mode="clip")  # (n,); "clip" spares a check
        mean += own_pull[block.informative]
        mean /= L
        weight[rows] -= np.bincount(block.informative - rows.start, weights=mean)
        trigger_weight -= float(mean.sum())
        if L > 1:
            cells -= first
            weight -= np.bincount(cells.ravel(), weights=np.tile(mean, L - 1), minlength=V)
    g: FloatArray = (weight @ emb.z_in + trigger_weight * emb.z_trig) / (N * L)
    return np.zeros_like(g) if cancels(setting, emb, float(np.linalg.norm(val1)), g) else g


def cancels(setting: Setting, emb: Embeddings, size: float, g: FloatArray, layer: Mlp | None = None) -> bool:
    """Whether g (d,), the direction of step two, is zero but for rounding, |Val1| being `size`.

    Where all values of all samples pull alike, as those of one sample of different orthogonal tokens do, nothing is
    learned in step two, and what is left would break the tie at will.
    """
    longest, outputs = (float(np.sqrt(np.einsum("vd,vd->v", z, z).max())) for z in (emb.z_in, emb.z_out))
    trigger = float(np.linalg.norm(emb.z_trig))
    value = longest + setting.trigger_in_value * trigger
    steepest = 1.0 if layer is None else layer.steepest(value)
    return float(np.linalg.norm(g)) <= NOTHING * size * outputs * steepest * value * (longest + trigger)


@dataclasses.dataclass(frozen=True)
class Ranking:
    """Tokens by score. order (V,) lists them upwards and rank (V,) inverts it; crowded (V,) is whether the next lower
    score ties with the token's own; scores within `scale` tie."""

    scores: FloatArray
    trigger_score: float
    scale: float
    order: IntArray
    rank: TokenArray
    crowded: NDArray[np.bool_]


def ranking(scores: FloatArray, trigger_score: float) -> Ranking:
    """The ranking of tokens by their scores."""
    V = len(scores)
    scale = TIE * float(np.abs(scores).max() + abs(trigger_score))
    order = np.argsort(scores, kind="stable")
    rank: NDArray[Any] = np.empty(V, dtype=np.uint16 if V <= 1 << 16 else np.uint32)
    rank[order] = np.arange(V)
    crowded = np.zeros(V, dtype=bool)
    crowded[order[1:]] = np.diff(scores[order]) <= scale
    return Ranking(scores, trigger_score, scale, order, rank, crowded)


@dataclasses.dataclass(frozen=True)
class Attended:
    """Where the attention of n sequences goes: the share (n,) on the informative position; all on the noise token
    best[i] for i in `lost`; for i in `tied`, shares `rest` (ties, L-1) on the noise."""

    share: FloatArray
    best: IntArray
    lost: IntArray
    tied: IntArray
    rest: FloatArray


def argmax_attention(by: Ranking, informative: IntArray, noise: NDArray[np.integer[Any]]) -> Attended:
    """Where n sequences attend: to the greatest score. Positions that tie share equally."""
    if noise.shape[1] == 0:
        none = np.zeros(0, dtype=np.intp)
        return Attended(np.ones(len(informative)), np.zeros_like(informative), none, none, np.zeros((0, 0)))
    best = by.order[by.rank.take(noise.T, mode="clip").max(axis=0)]
    score = by.scores[informative] + by.trigger_score
    lead = score - by.scores[best]
    share = (lead > 0).astype(float)
    close = (np.abs(lead) <= by.scale) | ((lead < 0) & by.crowded[best])
    tied, lost = np.flatnonzero(close), np.flatnonzero((lead < 0) & ~close)

    scores = by.scores[noise[tied]]  # (ties, L-1)
    top = np.maximum(by.scores[best[tied]], score[tied]) - by.scale
    rest = (scores >= top[:, None]).astype(float)
    here = (score[tied] >= top).astype(float)
    total = here + rest.sum(axis=1)
    share[tied] = here / total
    return Attended(share, best, lost, tied, rest / total[:, None])


@dataclasses.dataclass(frozen=True)
class TrainingAttention:
    """What some of the training sequences attend to, counted by label.

    `right` (V,) counts those that attend to the informative position alone, `wrong` (V, V) those that attend to one
    noise token alone. Of the n others, which tie, `label` (n,) is the informative token, `share` (n,) the attention on
    it and `rest` (n, L-1) that on the noise tokens `token` (n, L-1).
    """

    right: FloatArray
    wrong: sparse.csr_array
    label: IntArray
    share: FloatArray
    rest: FloatArray
    token: TokenArray

    def mixed(self, informative: FloatArray, noise: FloatArray, some: slice = slice(None)) -> FloatArray:
        """What some of those that tie attend to, (n, width), where `informative` and `noise` (V, width) are the values
        of tokens at the two kinds of position."""
        rest = self.rest[some]
        shares = _rows_in_order(rest.ravel(), self.token[some].ravel(), np.full(len(rest), rest.shape[1]), len(noise))
        mixed: FloatArray = shares @ noise + self.share[some, None] * informative[self.label[some]]
        return mixed


def training_attention(samples: Samples, scores: FloatArray, trigger_score: float) -> Iterator[TrainingAttention]:
    """What the training sequences attend to, in parts of bounded size."""
    by = ranking(scores, trigger_score)
    pieces: list[tuple[NDArray[Any], ...]] = []
    waiting = 0
    for block in samples:
        k = block.informative
        attended = argmax_attention(by, k, block.noise)
        lost, tied = attended.lost, attended.tied
        pieces.append((k[attended.share == 1], k[lost], attended.best[lost], k[tied], attended.share[tied],
                       attended.rest, block.noise[tied]))
        waiting += len(k) + attended.rest.size
        if waiting > MOST_WAITING:
            yield _counted(pieces, len(scores))
            pieces, waiting = [], 0
    if pieces:
        yield _counted(pieces, len(scores))


def _rows_in_order(values: FloatArray, columns: NDArray[Any], lengths: IntArray, width: int) -> sparse.csr_array:
    """The sparse matrix whose rows' values come one after the other, `lengths` of them in each row."""
    return sparse.csr_array((values, columns, np.concatenate(([0], np.cumsum(lengths)))), shape=(len(lengths), width))


def _counted(pieces: list[tuple[NDArray[Any], ...]], V: int) -> TrainingAttention:
    """The pieces of `training_attention` in one."""
    right, lost, best, label, share, rest, token = (np.concatenate(parts) for parts in zip(*pieces, strict=True))
    wrong = _rows_in_order(np.ones(len(lost)), best, np.bincount(lost, minlength=V), V)  # samples are in this order
    return TrainingAttention(np.bincount(right, minlength=V).astype(float), wrong, label, share, rest, token)


def step_three(setting: Setting, emb: Embeddings, samples: Samples, scores: FloatArray,
               trigger_score: float) -> FloatArray:
    """Val2/gamma (d, d) = (1/N) sum_i r_{y_i} h_i^T with h_i the value attended to."""
    informative = emb.informative_values(setting)
    total = np.zeros_like(emb.z_in)  # (V, d): for each label, the sum of what is attended to
    for part in training_attention(samples, scores, trigger_score):
        total += part.right[:, None] * informative
        if part.wrong.nnz:
            total += part.wrong @ emb.z_in
        if len(part.label):
            np.add.at(total, part.label, part.mixed(informative, emb.z_in))
    return emb.residuals.T @ total / setting.N


def train(setting: Setting, emb: Embeddings, samples: Samples) -> Trained:
    """Three steps of gradient descent in the limit eta -> 0, eta*gamma -> infinity."""
    # Two tables in one piece serve all steps: fresh memory costs as much as a product.
    tables = np.empty((2, setting.V, setting.V))
    table, val1 = step_one(setting, emb, samples, tables[0])
    g = step_two(setting, emb, samples, table, val1, tables[1])
    scores, trigger_score = emb.z_in @ g, float(emb.z_trig @ g)
    val2 = step_three(setting, emb, samples, scores, trigger_score)
    out = val2.T @ emb.z_out[emb.label].T  # (d, V)
    wrong_logits = np.matmul(emb.z_in, out, out=tables[0])
    logits = np.add(wrong_logits, emb.z_trig @ out, out=tables[1]) if setting.trigger_in_value else wrong_logits
    return Trained(scores, trigger_score, logits, wrong_logits)
