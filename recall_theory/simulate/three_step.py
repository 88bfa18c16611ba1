r"""The fast path: the three steps from tables of labels by tokens and from scores, as eta -> 0.

From a zero start each gradient needs only which tokens stand in the sequences of a label and how each token scores,
never the N L d numbers of the embedded sequences. From Val = 0 and W = 0:

- step one: the output is uniform in every gradient, as the logits of Val1, of order eta, vanish.
- step two: W1 z_EOS is proportional to g, because the gradient in W is linear in Val1 and an outer product with z_EOS.
  The attention is the softmax of beta |z_EOS|^2 z_b.g (tokens b), with z_trig.g on top at the informative position, at
  beta = eta*gamma and |z_EOS|^2 one number of the seed; in the limit beta -> infinity, the argmax of these scores.
- step three: Val2 = Val1 + (gamma/N) sum_i r_{y_i} f(h_i)^T, h_i = sum_l a_il e_il what sequence i attends to. Val1 is
  eta^2/beta of the second term, and vanishes. gamma only scales the logits, which leaves their argmax.

In the Attention-only model f(h) = h, and sums over sequences become tables of labels by tokens, worked on some rows at
a time, so that memory doesn't grow with N. A layer needs every h_i that isn't the value of one token, N m d
multiplications a step; but sums over labels, and over the sequences that hold a token, replace the N V d of the
logits. Equal to `reference` taken to the limits, on the same data.

Rows of every table are indexed by the informative token k, whose label is pi(k): row k of `u` is z_out(pi(k)), so that
the permutation disappears from the algebra.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Iterable, Iterator

import numpy as np

from ..numerics.arrays import FloatArray, Rows
from ..numerics.quantiser import quantised
from ..settings import Setting
from . import loops
from .data import Block, Embeddings, Mlp, Samples, in_parts
from .loops import fast_activation

TABLE = 1 << 19  # entries of a (V, V) table that are worked on together, 4 MB
FEWEST_ROWS = 512  # of them, however large V is: products of matrices want some
TABLE_ENTRIES = 1 << 24  # entries of a table of labels by neurons
BLOCK_ENTRIES = 1 << 18  # entries of a block of pre-activations, 2 MB: they should stay in the cache
KEPT = 1 << 23  # pre-activations that step one leaves to step two, 64 MB
WEIGHTS = 1 << 18  # attention weights that are held together, 2 MB: they should stay in the cache
TIE = 1e-9  # scores this close, relative to the largest, are equal but for rounding
ZERO_DIRECTION = 1e-13  # a direction this small, relative to what it is the difference of, is zero but for rounding

Pass = tuple[Block, FloatArray, FloatArray]


@dataclasses.dataclass(frozen=True)
class Attention(Rows):
    """What n sequences attend to: the weight `own` (n,) of the informative position, `others` (n, L-1) of the rest."""

    own: FloatArray
    others: FloatArray

    def mixed(self, block: Block, informative: FloatArray, noise: FloatArray) -> FloatArray:
        """(n, width): the mean of the values of the positions, rows of `informative` and `noise` (V, width)."""
        h: FloatArray = self.own[:, None] * informative[block.informative]
        loops.add_weighted(h, block.noise, self.others, noise)
        return h


def uniform(block: Block) -> Attention:
    """The attention at zero start."""
    places = block.noise.shape[1] + 1
    return Attention(np.full(len(block.noise), 1 / places), np.broadcast_to(1 / places, block.noise.shape))


def tie_width(scores: FloatArray, trigger_score: float) -> float:
    """How far apart scores may be that tie."""
    return TIE * float(np.abs(scores).max() + abs(trigger_score))


@dataclasses.dataclass(frozen=True)
class Trained:
    """What three steps leave: everything that the observables need.

    `scores` (V,) are z_b.g and `trigger_score` is z_trig.g; in a softmax model they are its logits. The values of
    informative tokens are rows of `informative` (V, d), those of noise tokens of `noise` (V, d), and an output reads
    `features` of a mixture of them: the logits, one for the label of each token, are features(h) @ `out` (width, V).
    """

    scores: FloatArray
    trigger_score: float
    informative: FloatArray
    noise: FloatArray
    out: FloatArray
    features: Callable[[FloatArray], FloatArray] = lambda h: h
    is_softmax: bool = False

    @functools.cached_property
    def right(self) -> FloatArray:
        """(V, width): the features of each token where it is informative."""
        return self.features(self.informative)

    @functools.cached_property
    def wrong(self) -> FloatArray:
        """(V, width): those of each token as noise."""
        return self.features(self.noise)

    @property
    def logits(self) -> FloatArray:
        """(V, V): row k holds the logits of informative token k."""
        return self.right @ self.out

    def greatest(self, block: Block) -> Attention:
        """The attention to the greatest score. Positions that tie share it equally."""
        width = tie_width(self.scores, self.trigger_score)
        return Attention(*loops.argmax(block.informative, block.noise, self.scores, self.trigger_score, width))

    def attention(self, block: Block) -> Attention:
        """The attention of sequences."""
        if not self.is_softmax:
            return self.greatest(block)
        return Attention(*loops.softmax(block.informative, block.noise, self.scores, self.trigger_score))


def rows_of_block(layer: Mlp) -> int:
    """How many sequences pass a layer together."""
    return max(16, BLOCK_ENTRIES // len(layer.W_in))


def row_groups(V: int) -> Iterator[tuple[slice, FloatArray]]:
    """The rows of a (V, V) table, as many at a time as are worked on together, with an array (rows, V) for them."""
    rows = min(V, max(FEWEST_ROWS, TABLE // V))
    table = np.empty((rows, V))  # one for all: fresh memory costs as much as a product
    for start in range(0, V, rows):
        stop = min(V, start + rows)
        yield slice(start, stop), table[:stop - start]


def value_step(setting: Setting, emb: Embeddings, samples: Samples, attention: Callable[[Block], Attention],
               layer: Mlp | None = None) -> FloatArray:
    """(d, width): the gradient in Val at uniform output, (1/N) sum_i r_{y_i} f(h_i)^T, h_i the value attended to.

    f(h_i) is h_i, or with a layer its features, without the 1/sqrt(m).
    """
    informative, noise = emb.informative_values(setting), emb.z_in
    f: Callable[[FloatArray], FloatArray] = (lambda h: h) if layer is None else layer.features
    of_noise = functools.cache(lambda: f(noise))  # with a layer no sequence reads it under uniform attention
    own = np.zeros(setting.V)
    total = np.zeros((setting.V, setting.d if layer is None else len(layer.W_in)))  # the sums of f(h_i) by label
    rows = max(1, WEIGHTS // setting.L)
    for group, table in row_groups(setting.V):
        table.fill(0)
        for block in samples.blocks(group, rows if layer is None else min(rows, rows_of_block(layer))):
            attended = attention(block)
            if layer is not None:  # what is mixed has features of its own; the rest is read from a table
                is_mixed = (attended.own < 1) & (attended.others.max(axis=1, initial=0) < 1)
                some = block.at(is_mixed)
                mixed = attended.at(is_mixed).mixed(some, informative, noise)
                loops.add_rows(total, some.informative[:, None], f(mixed))
                block, attended = block.at(~is_mixed), attended.at(~is_mixed)
            own += np.bincount(block.informative, weights=attended.own, minlength=setting.V)
            loops.add_weights(block.informative - group.start, block.noise, attended.own, attended.others, table)
        if table.any():
            total[group] += table @ of_noise()
    if own.any():
        total += own[:, None] * f(informative)
    return emb.residuals.T @ total / setting.N


def step_one(setting: Setting, emb: Embeddings, samples: Samples) -> FloatArray:
    """Val1/eta (d, d) = (1/N) sum_i r_{y_i} hbar_i^T of the Attention-only model."""
    return value_step(setting, emb, samples, uniform)


def step_two(setting: Setting, emb: Embeddings, samples: Samples, val1: FloatArray) -> FloatArray:
    """g (d,): the direction of W1 z_EOS in the Attention-only model. The score of a key e is e.g."""
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


def passes(setting: Setting, emb: Embeddings, samples: Samples, part: Mlp) -> Iterator[Pass]:
    """What steps one and two see of the sequences, under uniform attention: their blocks, with what is attended to
    (n, d) and the pre-activations of some neurons (n, neurons)."""
    informative = emb.informative_values(setting)
    for block in samples.blocks(rows=rows_of_block(part)):
        mean = uniform(block).mixed(block, informative, emb.z_in)
        yield block, mean, mean @ part.W_in.T


def steps_of_layer(setting: Setting, emb: Embeddings, samples: Samples, layer: Mlp) -> FloatArray:
    """g (d,) with a layer, steps one and two for some neurons at a time."""
    g, square = np.zeros(setting.d), 0.0
    if setting.L == 1:
        return g  # keys and values of one token have no covariance
    for part in layer.parts(TABLE_ENTRIES // setting.V):
        again = functools.partial(passes, setting, emb, samples, part)
        kept = list(again()) if setting.N * len(part.W_in) <= KEPT else None
        phi, slope = fast_activation(part.phi)
        total = np.zeros((setting.V, len(part.W_in)))  # the sums of f(h_i) by label
        for block, _, inputs in kept or again():
            loops.add_rows(total, block.informative[:, None], phi(inputs))
        val1 = emb.residuals.T @ total / setting.N / len(layer.W_in)**0.5
        square += float((val1**2).sum())
        g += _share_of_step_two(setting, emb, part, emb.residuals @ val1, slope, kept or again())
    g /= setting.N * len(layer.W_in)**0.5
    return np.zeros_like(g) if cancels(setting, emb, square**0.5, g, layer) else g


def _share_of_step_two(setting: Setting, emb: Embeddings, part: Mlp, pull: FloatArray,
                       slope: Callable[[FloatArray], FloatArray], sequences: Iterable[Pass]) -> FloatArray:
    """The share of some neurons in N sqrt(m) g: the sum over sequences of C_i b_i, C_i the covariance of keys and
    values and b_i = W_in^T (phi'(W_in hbar_i) * pull of its label); pull is (V, neurons)."""
    informative = emb.informative_values(setting)
    of_noise, of_informative = np.zeros_like(emb.z_in), np.zeros_like(emb.z_in)  # sums of b by token that is held
    centre, centre_weight = np.zeros(setting.d), 0.0
    for block, mean, inputs in sequences:
        b = (slope(inputs) * pull[block.informative]) @ part.W_in
        loops.add_rows(of_noise, block.noise, b)
        loops.add_rows(of_informative, block.informative[:, None], b)
        along = np.einsum("nd,nd->n", mean, b)
        centre += along @ mean
        centre_weight += float(along.sum())

    # (1/L) sum over positions of key (value . b), less mean key (mean value . b)
    weight = np.einsum("vd,vd->v", informative, of_informative)
    g = np.einsum("vd,vd->v", emb.z_in, of_noise) @ emb.z_in + weight @ emb.z_in + weight.sum() * emb.z_trig
    if not setting.trigger_in_value:  # mean keys are the mean values, and the trigger's share on top
        centre += centre_weight * emb.z_trig / setting.L
    return g / setting.L - centre


def cancels(setting: Setting, emb: Embeddings, size: float, g: FloatArray, layer: Mlp | None = None) -> bool:
    """Whether g (d,), the direction of step two, is zero but for rounding, |Val1| being `size`.

    So it is where all values of all samples pull alike: what rounding leaves would break the tie at will.
    """
    longest, outputs, trigger = loops.longest(emb.z_in), loops.longest(emb.z_out), math.sqrt(emb.z_trig @ emb.z_trig)
    value = longest + setting.trigger_in_value * trigger
    steepest = 1.0 if layer is None else layer.steepest(value)
    return math.sqrt(g @ g) <= ZERO_DIRECTION * size * outputs * steepest * value * (longest + trigger)


def train(setting: Setting, emb: Embeddings, samples: Samples, layer: Mlp | None = None, *,
          temperature: float | None = None, bits: int | None = None) -> Trained:
    """Three steps of gradient descent in the limit eta -> 0, eta*gamma -> infinity, or at a finite inverse
    `temperature` beta |z_EOS|^2 of the attention; without a layer Val is quantised to `bits` then."""
    if layer is None:
        g = step_two(setting, emb, samples, step_one(setting, emb, samples))
    else:
        g = steps_of_layer(setting, emb, samples, layer)
    if temperature is not None:
        g *= temperature
    model = Trained(emb.z_in @ g, float(emb.z_trig @ g), emb.informative_values(setting), emb.z_in, np.empty((0, 0)),
                    is_softmax=temperature is not None)
    if layer is None:
        val2 = quantised(value_step(setting, emb, samples, model.attention), bits)
        return dataclasses.replace(model, out=val2.T @ emb.u.T)

    parts = layer.parts(TABLE_ENTRIES // setting.V)
    vals = [value_step(setting, emb, samples, model.attention, part).T for part in parts]

    def features(h: FloatArray) -> FloatArray:
        """(n, d): sqrt(m) Val2 f(h) of mixtures h (n, d), a block of them at a time."""
        of_parts = list(zip(parts, vals, strict=True))
        return np.concatenate([np.sum([part.features(some) @ val for part, val in of_parts], axis=0)
                               for some in in_parts(h, rows_of_block(parts[0]))])

    return dataclasses.replace(model, features=features, out=emb.u.T / len(layer.W_in))
