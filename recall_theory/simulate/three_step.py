"""The fast path: the three-step limit from label-by-token counts and scores.

From a zero start, each gradient needs only how often token b stands in a sequence of label y and how each token
scores, never the N*L*d numbers of the embedded sequences. Equal to `reference` taken to the limit, on the same data.

Rows of every table are indexed by the informative token k, whose label is pi(k): row k of `u` is z_out(pi(k)), so that
the permutation disappears from the algebra. Tables of (V, V) numbers are worked on some rows at a time.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator

import numpy as np

from ..numerics.arrays import FloatArray
from ..numerics.quantiser import quantised
from ..settings import Setting
from . import loops
from .data import Block, Embeddings, IntArray, Mlp, Samples

TABLE = 1 << 19  # entries of a (V, V) table that are worked on together, 4 MB
FEWEST_ROWS = 512  # of them, however large V is: products of matrices want some
MIXED_NUMBERS = 1 << 18  # numbers of sequences that tie, held at a time
TIE = 1e-9  # scores this close, relative to the largest, are equal but for rounding
ZERO_DIRECTION = 1e-13  # a direction this small, relative to what it is the difference of, is zero but for rounding


@dataclasses.dataclass(frozen=True)
class Trained:
    """What three steps leave: everything that the observables need.

    `scores` (V,) are z_b.g and `trigger_score` is z_trig.g. The logits, one for the label of each token, are `right`
    (V, width) @ `out` (width, V) where h is the value of an informative token, `wrong` @ `out` for a noise token.
    """

    scores: FloatArray
    trigger_score: float
    right: FloatArray
    wrong: FloatArray
    out: FloatArray

    @property
    def logits(self) -> FloatArray:
        """(V, V): row k holds the logits of informative token k."""
        return self.right @ self.out


def row_groups(V: int) -> Iterator[tuple[slice, FloatArray]]:
    """The rows of a (V, V) table, as many at a time as are worked on together, with an array (rows, V) for them."""
    rows = min(V, max(FEWEST_ROWS, TABLE // V))
    table = np.empty((rows, V))  # one for all: fresh memory costs as much as a product
    for start in range(0, V, rows):
        stop = min(V, start + rows)
        yield slice(start, stop), table[:stop - start]


def count_noise(samples: Samples, labels: slice, table: FloatArray) -> None:
    """Set table (labels, V) to how often each token stands as noise in the sequences of these informative tokens."""
    table.fill(0)
    for block in samples.blocks(labels):
        loops.count(block.informative - labels.start, block.noise, table)


def step_one(setting: Setting, emb: Embeddings, samples: Samples) -> FloatArray:
    """Val1/eta (d, d) = (1/N) sum_i r_{y_i} hbar_i^T."""
    total = samples.counts[:, None] * emb.informative_values(setting)  # (V, d), L times the sums of hbar by label
    for group, table in row_groups(setting.V):
        count_noise(samples, group, table)
        total[group] += table @ emb.z_in
    return emb.residuals.T @ total / (setting.N * setting.L)


def step_two(setting: Setting, emb: Embeddings, samples: Samples, val1: FloatArray) -> FloatArray:
    """g (d,): the direction of W1 z_EOS. The score of a key e is e.g."""
    V = setting.V
    m = emb.residuals @ val1  # (V, d) rows Val1^T r
    trigger_pull = m @ emb.z_trig if setting.trigger_in_value else np.zeros(V)

    # g = (1/NL) sum_il key_il (value_il.m_i - mean over l of the same)
    weight, own_weight = np.zeros(V), np.zeros(V)  # on z_in(b), and on z_in(k) + z_trig
    for group, table in row_groups(V):
        pull = np.matmul(m[group], emb.z_in.T, out=table)  # value score of token b at label k
        own_pull = pull[:, group].diagonal() + trigger_pull[group]
        for block in samples.blocks(group):
            loops.add_pulls(block.informative - group.start, block.noise, pull, own_pull, weight, own_weight[group])
    g: FloatArray = (weight + own_weight) @ emb.z_in + own_weight.sum() * emb.z_trig
    g /= setting.N * setting.L
    return np.zeros_like(g) if cancels(setting, emb, float(np.linalg.norm(val1)), g) else g


def cancels(setting: Setting, emb: Embeddings, size: float, g: FloatArray, layer: Mlp | None = None) -> bool:
    """Whether g (d,), the direction of step two, is zero but for rounding, |Val1| being `size`.

    So it is where all values of all samples pull alike: what rounding leaves would break the tie at will.
    """
    longest, outputs = (float(np.sqrt(np.einsum("vd,vd->v", z, z).max())) for z in (emb.z_in, emb.z_out))
    trigger = float(np.linalg.norm(emb.z_trig))
    value = longest + setting.trigger_in_value * trigger
    steepest = 1.0 if layer is None else layer.steepest(value)
    return float(np.linalg.norm(g)) <= ZERO_DIRECTION * size * outputs * steepest * value * (longest + trigger)


@dataclasses.dataclass(frozen=True)
class Attention:
    """Where the n sequences of a block attend, each array (n,): `share` is what the informative position has, `each`
    what each of the noise positions has whose token scores at least `least`, and `token` is the token at one of these.
    """

    block: Block
    scores: FloatArray
    share: FloatArray
    each: FloatArray
    least: FloatArray
    token: IntArray

    @property
    def lost(self) -> IntArray:
        """The sequences that attend to one noise token alone."""
        return np.flatnonzero(self.each == 1)

    @property
    def tied(self) -> IntArray:
        """Those that attend to several positions."""
        return np.flatnonzero((self.share < 1) & (self.each < 1))

    def mixed(self, some: IntArray, informative: FloatArray, noise: FloatArray) -> FloatArray:
        """(some, width): what some sequences attend to, where `informative` and `noise` (V, width) are the values of
        tokens at the two kinds of position."""
        total: FloatArray = self.share[some, None] * informative[self.block.informative[some]]
        tokens = self.block.noise[some]
        weight = self.each[some, None] * (self.scores[tokens] >= self.least[some, None])
        loops.add_weighted(total, tokens, weight, noise)
        return total


def tie_width(scores: FloatArray, trigger_score: float) -> float:
    """How far apart scores may be that tie."""
    return TIE * float(np.abs(scores).max() + abs(trigger_score))


def argmax_attention(scores: FloatArray, trigger_score: float, block: Block) -> Attention:
    """The attention of sequences to the greatest score. Positions that tie share equally."""
    scale = tie_width(scores, trigger_score)
    return Attention(block, scores, *loops.attend(block.informative, block.noise, scores, trigger_score, scale))


def attended_sums(samples: Samples, scores: FloatArray, trigger_score: float, informative: FloatArray,
                  noise: FloatArray, phi: Callable[[FloatArray], FloatArray] = lambda h: h) -> FloatArray:
    """(V, width): for each label the sum of phi of what its sequences attend to, where `informative` and `noise`
    (V, width) are the values of tokens at the two kinds of position."""
    total, right, of_noise = np.zeros_like(noise), np.zeros(samples.V), phi(noise)
    rows = max(1, MIXED_NUMBERS // noise.shape[1])
    for block in samples.blocks():
        attention = argmax_attention(scores, trigger_score, block)
        label, lost, tied = block.informative[:, None], attention.lost, attention.tied
        right += np.bincount(block.informative, weights=attention.share == 1, minlength=samples.V)
        loops.add_rows(total, label[lost], of_noise, attention.token[lost])
        for some in np.split(tied, range(rows, len(tied), rows)):
            loops.add_rows(total, label[some], phi(attention.mixed(some, informative, noise)), np.arange(len(some)))
    total += right[:, None] * phi(informative)
    return total


def step_three(setting: Setting, emb: Embeddings, samples: Samples, scores: FloatArray,
               trigger_score: float) -> FloatArray:
    """Val2/gamma (d, d) = (1/N) sum_i r_{y_i} h_i^T with h_i the value attended to."""
    total = attended_sums(samples, scores, trigger_score, emb.informative_values(setting), emb.z_in)
    return emb.residuals.T @ total / setting.N


def attention_scores(setting: Setting, emb: Embeddings, samples: Samples) -> tuple[FloatArray, float]:
    """z_b.g of every token b, shape (V,), and z_trig.g: what steps one and two leave."""
    g = step_two(setting, emb, samples, step_one(setting, emb, samples))
    return emb.z_in @ g, float(emb.z_trig @ g)


def train(setting: Setting, emb: Embeddings, samples: Samples, bits: int | None = None) -> Trained:
    """Three steps of gradient descent in the limit eta -> 0, eta*gamma -> infinity, Val quantised to `bits` then."""
    scores, trigger_score = attention_scores(setting, emb, samples)
    val2 = quantised(step_three(setting, emb, samples, scores, trigger_score), bits)
    return Trained(scores, trigger_score, emb.informative_values(setting), emb.z_in, val2.T @ emb.u.T)
