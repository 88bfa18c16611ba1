"""The paper's one attention layer in jax: rungs 1 to 5. The NumPy simulator is its reference.

Parameters are Val and W, both (d, d), and on rung 5 the embeddings too. Gradients are jax's.
"""

from __future__ import annotations

from typing import Any

from ..settings import Setting
from .recall_task import FixedEmbeddings, RecallTask, Sequences

Tree = Any
TIE = 1e-6  # of the largest, by which scores of single precision still tie


def token_scores(parameters: Tree, z: FixedEmbeddings) -> tuple[Tree, Tree]:
    """The attention scores of all tokens (V,), and what the trigger adds."""
    query = parameters["W"] @ z.z_eos
    return z.z_in @ query, z.z_trig @ query


def attention_weights(parameters: Tree, z: FixedEmbeddings, seq: Sequences, is_limit: bool) -> tuple[Tree, Tree]:
    """Scores and attention (n, L): a softmax, or in the limit all on the greatest, shared where several tie."""
    import jax
    import jax.numpy as jnp

    of_token, of_trigger = token_scores(parameters, z)
    here = jnp.arange(seq.tokens.shape[-1]) == seq.position[:, None]
    scores = of_token[seq.tokens] + here * of_trigger
    if not is_limit:
        return scores, jax.nn.softmax(scores, axis=-1)
    near = tied(scores)
    return scores, near / near.sum(axis=-1, keepdims=True)


def tied(scores: Tree) -> Tree:
    """(n, K) where an entry is the greatest of its row, up to rounding."""
    import jax.numpy as jnp

    return scores >= scores.max(axis=-1, keepdims=True) - TIE * jnp.abs(scores).max(axis=-1, keepdims=True)


def credit(scores: Tree, right: Tree) -> Tree:
    """(n,) of 1 where column right[i] of row i is the greatest, 1/ties where it shares the place."""
    import jax.numpy as jnp

    near = tied(scores)
    return jnp.take_along_axis(near, right[:, None], axis=-1)[:, 0] / near.sum(axis=-1)


def logits(parameters: Tree, z: FixedEmbeddings, seq: Sequences, setting: Setting, is_limit: bool = False) -> Tree:
    """(n, V): the logits of all labels."""
    import jax.numpy as jnp

    _, a = attention_weights(parameters, z, seq, is_limit)
    h = (a[:, None, :] @ z.z_in[seq.tokens])[:, 0]
    if setting.trigger_in_value:
        h = h + jnp.take_along_axis(a, seq.position[:, None], axis=-1) * z.z_trig
    return h @ parameters["Val"].T @ z.z_out.T


def cross_entropy(scores: Tree, label: Tree) -> Tree:
    """The mean cross-entropy in nats of logits (n, V)."""
    import optax

    return optax.losses.softmax_cross_entropy_with_integer_labels(scores, label).mean()


def uniform_loss(scores: Tree, label: Tree) -> Tree:
    """The loss whose gradient is that of the cross-entropy at uniform output: mean logit minus the right one."""
    import jax.numpy as jnp

    return (scores.mean(axis=-1) - jnp.take_along_axis(scores, label[:, None], axis=-1)[:, 0]).mean()


def embeddings_of(parameters: Tree, task: RecallTask) -> FixedEmbeddings:
    """The embeddings in use: trained ones where they are among the parameters."""
    return FixedEmbeddings(*parameters["z"]) if "z" in parameters else task.embeddings


def initial(task: RecallTask, trains_embeddings: bool) -> Tree:
    """Both matrices zero, and on rung 5 the embeddings as they were drawn."""
    import numpy as np

    d = task.embeddings.z_in.shape[-1]
    matrices = {name: np.zeros((d, d), np.float32) for name in ("Val", "W")}
    return {**matrices, "z": tuple(task.embeddings)} if trains_embeddings else matrices


def three_steps(task: RecallTask, setting: Setting, eta: float | None, gamma: float | None) -> Tree:
    """The parameters that three gradient steps leave: Val, W, Val; in the limit where the rates are None.

    In the limit every gradient is at uniform output, both rates are 1 and the first step's Val is dropped at the end.
    """
    import jax

    is_limit = eta is None

    def loss(parameters: Tree, saturated: bool) -> Tree:
        scores = logits(parameters, task.embeddings, task.training, setting, saturated)
        return (uniform_loss if is_limit else cross_entropy)(scores, task.training.label)

    # At W = 0 all scores are 0, and the softmax is the limit's attention with its gradient: only step three is
    # saturated.
    gradient = jax.grad(loss)
    first = initial(task, trains_embeddings=False)
    first = {**first, "Val": -(eta or 1.0) * gradient(first, False)["Val"]}
    second = {**first, "W": -(gamma or 1.0) * gradient(first, False)["W"]}
    step = -(gamma or 1.0) * gradient(second, is_limit)["Val"]
    return {**second, "Val": step if is_limit else second["Val"] + step}


def observe(parameters: Tree, task: RecallTask, setting: Setting, is_limit: bool = False) -> dict[str, Tree]:
    """Attention, recall and accuracy as of the simulator, and the mean attention weight of the informative token."""
    import jax.numpy as jnp

    z, seq = embeddings_of(parameters, task), task.held_out
    scores, a = attention_weights(parameters, z, seq, is_limit)
    values = z.z_in + z.z_trig if setting.trigger_in_value else z.z_in
    return {
        "attention": credit(scores, seq.position).mean(),
        "recall": credit(values @ parameters["Val"].T @ z.z_out.T, task.label).mean(),
        "accuracy": credit(logits(parameters, z, seq, setting, is_limit), seq.label).mean(),
        "attention_weight": jnp.take_along_axis(a, seq.position[:, None], axis=-1).mean(),
    }
