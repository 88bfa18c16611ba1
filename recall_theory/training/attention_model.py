"""The task of the ladder as arrays, drawn once a seed, and the paper's one attention layer on it in jax: rungs 1 to 5.

Conventions are those of the simulator: L tokens, one of them informative, whose label is a fixed permutation of it. The
NumPy simulator is the layer's reference. Parameters are Val and W, both (d, d), and on rung 5 the embeddings too.
"""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..numerics.arrays import zipf_frequencies
from ..numerics.unit_sphere import random_embeddings
from ..settings import Setting

Array = NDArray[np.float32]
IntArray = NDArray[np.int32]
Tree = Any

ASKED = 8  # fresh sequences of each fact, the most of which a model with blocks is to answer right for recall
TIE = 1e-6  # of the largest, by which scores of single precision still tie


class Sequences(NamedTuple):
    """tokens (n, L); position (n,) of the informative token; label (n,) of that token."""

    tokens: IntArray
    position: IntArray
    label: IntArray


class FixedEmbeddings(NamedTuple):
    """z_in and z_out (V, d), z_trig and z_eos (d,): random, and unchanged up to rung 4. z_out[j] is label j's."""

    z_in: Array
    z_out: Array
    z_trig: Array
    z_eos: Array


class RecallTask(NamedTuple):
    """One seed: embeddings, `label` (V,) of each token, `training` (N), `held_out` (n_test) and `asked` sequences, in
    which every token is the informative one 8 times."""

    embeddings: FixedEmbeddings
    label: IntArray
    training: Sequences
    held_out: Sequences
    asked: Sequences


class Seen(NamedTuple):
    """What a model makes of n sequences: `logits` (n, V); `scores` and `weights` (n, T) of attention from the last
    position, largest where it looks; `place` (n,) of the informative token among the T positions."""

    logits: Tree
    scores: Tree
    weights: Tree
    place: Tree


def draw_sequences(informative: NDArray[np.intp], label: IntArray, setting: Setting,
                   rng: np.random.Generator) -> Sequences:
    """Sequences with the given informative tokens (n,), each at a random place among random noise tokens."""
    n = len(informative)
    tokens = rng.integers(setting.V, size=(n, setting.L))
    position = rng.integers(setting.L, size=n)
    tokens[np.arange(n), position] = informative
    return Sequences(tokens.astype(np.int32), position.astype(np.int32), label[informative])


def draw_recall_task(setting: Setting, zipf: float, n_test: int, seed: int, index: int) -> RecallTask:
    """The task of seed number `index`; its embeddings and permutation are those of `simulate` at the same seed.

    >>> task = draw_recall_task(Setting(V=8, L=3, d=4, N=10), 0.0, 16, seed=0, index=0)
    >>> task.training.tokens.shape, task.held_out.tokens.shape, task.asked.tokens.shape
    ((10, 3), (16, 3), (64, 3))
    """
    V, d = setting.V, setting.d
    s_embeddings, s_samples, s_test, s_query, _ = np.random.SeedSequence(seed, spawn_key=(index,)).spawn(5)
    rng = np.random.default_rng(s_embeddings)
    embeddings = random_embeddings(rng, V, d, setting.embedding)
    label = rng.permutation(V).astype(np.int32)
    z_eos = np.random.default_rng(s_query.spawn(1)[0]).standard_normal(d)
    z_eos /= np.sqrt(d) if setting.embedding == "gaussian" else np.linalg.norm(z_eos)

    p = zipf_frequencies(V, zipf)
    samples, fresh = np.random.default_rng(s_samples), np.random.default_rng(s_test)
    training = draw_sequences(samples.choice(V, size=setting.N, p=p), label, setting, samples)
    chosen, every = fresh.choice(V, size=n_test, p=p), np.repeat(np.arange(V), ASKED)
    held_out, asked = (draw_sequences(informative, label, setting, fresh) for informative in (chosen, every))
    return RecallTask(FixedEmbeddings(*(z.astype(np.float32) for z in (*embeddings, z_eos))), label, training, held_out,
                      asked)


def tied(scores: Tree) -> Tree:
    """(n, K) where an entry is the greatest of its row, up to rounding."""
    import jax.numpy as jnp

    return scores >= scores.max(axis=-1, keepdims=True) - TIE * jnp.abs(scores).max(axis=-1, keepdims=True)


def credit(scores: Tree, right: Tree) -> Tree:
    """(n,) of 1 where column right[i] of row i is the greatest, 1/ties where it shares the place."""
    import jax.numpy as jnp

    near = tied(scores)
    return jnp.take_along_axis(near, right[:, None], axis=-1)[:, 0] / near.sum(axis=-1)


def cross_entropy(scores: Tree, label: Tree) -> Tree:
    """(n,) the cross-entropies in nats of logits (n, V)."""
    import optax

    return optax.losses.softmax_cross_entropy_with_integer_labels(scores, label)


@dataclasses.dataclass(frozen=True)
class AttentionLayer:
    """The layer: attention is a softmax, or with `is_limit` all on the greatest score, shared where several tie. Both
    matrices are trained, and with `trains_embeddings` the embeddings too."""

    is_limit: bool = False
    trains_embeddings: bool = False

    def initial(self, setting: Setting, task: RecallTask, rng: np.random.Generator) -> Tree:
        """Both matrices zero, and trained embeddings as they were drawn."""
        matrices = {name: np.zeros((setting.d, setting.d), np.float32) for name in ("Val", "W")}
        return {**matrices, "z": tuple(task.embeddings)} if self.trains_embeddings else matrices

    def forward(self, setting: Setting, parameters: Tree, task: RecallTask, seq: Sequences) -> Seen:
        """What the layer makes of sequences."""
        import jax
        import jax.numpy as jnp

        z = embeddings_of(parameters, task)
        query = parameters["W"] @ z.z_eos
        here = jnp.arange(seq.tokens.shape[-1]) == seq.position[:, None]
        scores = (z.z_in @ query)[seq.tokens] + here * (z.z_trig @ query)
        weights = jax.nn.softmax(scores, axis=-1)
        if self.is_limit:
            near = tied(scores)
            weights = near / near.sum(axis=-1, keepdims=True)
        h = (weights[:, None, :] @ z.z_in[seq.tokens])[:, 0]
        if setting.trigger_in_value:
            h = h + jnp.take_along_axis(weights, seq.position[:, None], axis=-1) * z.z_trig
        return Seen(h @ parameters["Val"].T @ z.z_out.T, scores, weights, seq.position)

    def known(self, setting: Setting, parameters: Tree, task: RecallTask) -> Tree:
        """(V,) of 1 where the layer answers a token right that it attends to alone."""
        z = embeddings_of(parameters, task)
        values = z.z_in + z.z_trig if setting.trigger_in_value else z.z_in
        return credit(values @ parameters["Val"].T @ z.z_out.T, task.label)


def embeddings_of(parameters: Tree, task: RecallTask) -> FixedEmbeddings:
    """The embeddings in use: trained ones where they are among the parameters."""
    return FixedEmbeddings(*parameters["z"]) if "z" in parameters else task.embeddings


def three_steps(task: RecallTask, setting: Setting, eta: float | None, gamma: float | None) -> Tree:
    """The parameters that three gradient steps leave: Val, W, Val; in the limit where the rates are None.

    In the limit every gradient is at uniform output, both rates are 1 and the first step's Val is dropped at the end.
    """
    import jax
    import jax.numpy as jnp

    is_limit, label = eta is None, task.training.label

    def loss(parameters: Tree, saturated: bool) -> Tree:
        scores = AttentionLayer(saturated).forward(setting, parameters, task, task.training).logits
        if is_limit:  # the mean logit less the right one has the gradient of cross-entropy at uniform output
            return (scores.mean(axis=-1) - jnp.take_along_axis(scores, label[:, None], axis=-1)[:, 0]).mean()
        return cross_entropy(scores, label).mean()

    # At W = 0 all scores are 0, and the softmax is the limit's attention with its gradient: only step three is
    # saturated.
    gradient, zero = jax.grad(loss), np.zeros((setting.d, setting.d), np.float32)
    parameters = {"Val": zero, "W": zero}
    parameters["Val"] = -(eta or 1.0) * gradient(parameters, False)["Val"]
    parameters["W"] = -(gamma or 1.0) * gradient(parameters, False)["W"]
    step = -(gamma or 1.0) * gradient(parameters, is_limit)["Val"]
    return {**parameters, "Val": step if is_limit else parameters["Val"] + step}
