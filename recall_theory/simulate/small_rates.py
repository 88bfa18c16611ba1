r"""The fast path at finite rates: three steps as eta -> 0 while beta = eta*gamma stays what it is.

From Val = 0 and W = 0:

- step one: the logits of Val1 are of order eta and vanish: the output is uniform in every gradient.
- step two: W1 z_EOS = beta |z_EOS|^2 g, with the same g as in the limit (`three_step.step_two`), because the gradient
  in W is linear in Val1 and an outer product with z_EOS. So the attention is a softmax of the logits

      l(token b) = beta |z_EOS|^2 z_b.g,     + beta |z_EOS|^2 z_trig.g at the informative position,

  |z_EOS|^2 being one number of the seed, of mean 1 and variance 2/d for Gaussian embeddings, 1 for the others.
- step three: Val2 = Val1 + (gamma/N) sum_i r_{y_i} h_i^T with h_i = sum_l a_il e_il under that softmax. Val1 is
  eta^2/beta of the second term, and vanishes. gamma only scales the logits, which leaves their argmax.

In the Attention-only model sums over sequences become a table of labels by tokens weighted with the attention, so that
memory doesn't grow with N. With a layer each sequence's h_i is mixed before it enters phi, N m d multiplications as in
steps one and two. Equal to `reference` at eta -> 0, on the same data.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np

from ..numerics.arrays import FloatArray
from ..settings import Setting, SettingError
from . import loops, three_step, three_step_mlp
from .data import Block, Embeddings, Mlp, Samples
from .observables import credit, fresh_sequences, in_parts, known_facts
from .three_step import Trained, argmax_attention, row_groups
from .three_step_mlp import fast_activation

WEIGHTS = 1 << 17  # attention weights, or logits, that are held together, 1 MB: they should stay in the cache


@dataclasses.dataclass(frozen=True)
class SoftModel:
    """What three steps leave at finite beta.

    `trained` holds the scores as logits of the softmax, and what is read out of the tokens alone. The value of an
    informative token is a row of `informative` (V, d), that of a noise token one of `noise` (V, d), and `features` says
    what trained.out (width, V) reads of mixtures (n, d) of them.
    """

    trained: Trained
    informative: FloatArray
    noise: FloatArray
    features: Callable[[FloatArray], FloatArray]


def softmax(trained: Trained, block: Block) -> tuple[FloatArray, FloatArray]:
    """The attention weights, (n,) of the informative positions and (n, L-1) of the others, of sequences whose positions
    have the logits of `trained`."""
    own, noise = np.empty(len(block.informative)), np.empty(block.noise.shape)
    loops.softmax(block.informative, block.noise, trained.scores, trained.trigger_score, own, noise)
    return own, noise


def mixed(trained: Trained, block: Block, informative: FloatArray, noise: FloatArray) -> tuple[FloatArray, FloatArray]:
    """h (n, width): the values of the positions, rows of `informative` and `noise` (V, width), weighted with the
    attention; and the weight (n,) of the informative position."""
    own_weight, noise_weight = softmax(trained, block)
    h: FloatArray = own_weight[:, None] * informative[block.informative]
    loops.add_weighted(h, block.noise, noise_weight, noise)
    return h, own_weight


def step_three(setting: Setting, emb: Embeddings, samples: Samples, attention: Trained) -> FloatArray:
    """Val2/gamma (d, d) = (1/N) sum_i r_{y_i} h_i^T, from the attention that tokens have with each label."""
    own, total = np.zeros(setting.V), np.empty((setting.V, setting.d))
    for group, table in row_groups(setting.V):
        table.fill(0)
        for block in samples.blocks(group, max(1, WEIGHTS // setting.L)):
            own_weight, noise_weight = softmax(attention, block)
            loops.add_weights(block.informative - group.start, block.noise, noise_weight, table)
            own += np.bincount(block.informative, weights=own_weight, minlength=setting.V)
        np.matmul(table, emb.z_in, out=total[group])
    total += own[:, None] * emb.informative_values(setting)
    return emb.residuals.T @ total / setting.N


def step_three_mlp(setting: Setting, emb: Embeddings, samples: Samples, attention: Trained, mlp: Mlp) -> FloatArray:
    """(m, d): N sqrt(m) Val2/gamma transposed, the sums of phi(W_in h_i) by label against the residuals."""
    informative = emb.informative_values(setting)
    rows = max(1, min(three_step_mlp.rows_of_block(mlp), WEIGHTS // setting.L))
    parts = []
    for layer in three_step_mlp.layers_of(setting, mlp):
        attended = ((block, mixed(attention, block, informative, emb.z_in)[0]) for block in samples.blocks(rows=rows))
        parts.append(three_step_mlp.summed_features(setting.V, layer, attended).T @ emb.residuals)
    return np.concatenate(parts)


def train(setting: Setting, emb: Embeddings, samples: Samples, mlp: Mlp | None, temperature: float) -> SoftModel:
    """Three steps of gradient descent as eta -> 0, at an inverse temperature beta |z_EOS|^2 of the attention.

    Raises `SettingError` where that goes beyond what floats hold.
    """
    if not np.isfinite(temperature):
        raise SettingError("gamma", "eta and gamma are too large together: their product overflows")
    if mlp is None:
        scores, trigger_score = three_step.attention_scores(setting, emb, samples)
    else:
        scores, trigger_score = three_step_mlp.attention_scores(setting, emb, samples, mlp)
    none = np.empty((0, 0))
    attention = Trained(temperature * scores, temperature * trigger_score, none, none, none)

    def features(h: FloatArray) -> FloatArray:
        return h if mlp is None else fast_activation(mlp.phi)[0](h @ mlp.W_in.T) @ val

    informative = emb.informative_values(setting)
    if mlp is None:
        out = step_three(setting, emb, samples, attention).T @ emb.u.T
    else:
        val = step_three_mlp(setting, emb, samples, attention, mlp)
        out = emb.u.T / (float(setting.N) * len(mlp.W_in))
    trained = dataclasses.replace(attention, right=features(informative), wrong=features(emb.z_in), out=out)
    return SoftModel(trained, informative, emb.z_in, features)


def on_fresh_sequences(setting: Setting, model: SoftModel, rng: np.random.Generator,
                       n_test: int) -> tuple[float, float, float, float]:
    """Attention, recall, accuracy and the mean attention weight of the informative position.

    Attention is how often the greatest weight is there, recall is of facts that are read out alone, and accuracy is of
    the mixture that the softmax leaves; all but recall over n_test fresh sequences.
    """
    trained, attended, weight, right = model.trained, 0.0, 0.0, 0.0
    fresh = fresh_sequences(setting.V, setting.L, rng, n_test)
    for part in in_parts(np.arange(n_test), WEIGHTS // max(setting.L, setting.V, setting.m or 0)):
        block = Block(fresh.informative[part], fresh.noise[part])
        h, own = mixed(trained, block, model.informative, model.noise)
        attended += float(argmax_attention(trained.scores, trained.trigger_score, block).share.sum())
        weight += float(own.sum())
        right += float(credit(model.features(h) @ trained.out, block.informative).sum())
    recall = float(known_facts(trained).mean())
    return attended / n_test, recall, right / n_test, weight / n_test
