"""Standard pre-norm transformer blocks on the same task: rungs 6 and 7, and the two controls with one block.

A sequence is its L tokens and an end token, whose last residual gives the logits; with the trigger as a token, that
token stands before the informative one, and the sequence is one longer. Attention is causal, with max(1, d/8) heads.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from ..settings import Setting
from .attention_model import RecallTask, Seen, Sequences, Tree, credit

HEAD = 8  # coordinates of an attention head, about
EXPANSION = 4  # hidden units of an MLP a coordinate of the residual stream
STABILISER = 1e-5  # added to the variance in a layer norm


def heads_of(d: int) -> int:
    """The number of heads: the largest divisor of d that leaves each at least 8 coordinates.

    >>> heads_of(16), heads_of(24), heads_of(6)
    (2, 3, 1)
    """
    return max(h for h in range(1, d + 1) if d % h == 0 and (h == 1 or d // h >= HEAD))


def layer_norm(x: Tree, norm: Tree) -> Tree:
    """x with each row brought to mean 0 and variance 1, times the gain and plus the shift."""
    import jax

    x = x - x.mean(axis=-1, keepdims=True)
    return x * jax.lax.rsqrt((x**2).mean(axis=-1, keepdims=True) + STABILISER) * norm["gain"] + norm["shift"]


def block(x: Tree, weights: Tree, heads: int, last: bool) -> tuple[Tree, Tree]:
    """x (n, T, d) after one block, and its attention (n, heads, queries, T); where `last`, of the final position only,
    which is all that the logits read."""
    import jax
    import jax.numpy as jnp

    n, T, d = x.shape
    read, asked = layer_norm(x, weights["norm1"]), slice(T - 1 if last else 0, T)
    q, k, v = ((part @ weights[name]).reshape(n, -1, heads, d // heads).swapaxes(1, 2)
               for part, name in ((read[:, asked], "query"), (read, "key"), (read, "value")))
    seen = jnp.tril(jnp.ones((T, T), bool))[asked]
    scores = jnp.where(seen, q @ k.swapaxes(2, 3) / np.sqrt(d // heads), -jnp.inf)
    a = jax.nn.softmax(scores, axis=-1)
    x = x[:, asked] + (a @ v).swapaxes(1, 2).reshape(n, -1, d) @ weights["write"]
    hidden = jax.nn.gelu(layer_norm(x, weights["norm2"]) @ weights["inward"] + weights["bias"])
    return x + hidden @ weights["outward"] + weights["outward_bias"], a


@dataclasses.dataclass(frozen=True)
class TransformerBlocks:
    """A model of `blocks` blocks, the trigger a token of its own (`trigger_token`) or a trained vector that is added to
    the informative token's embedding."""

    blocks: int
    trigger_token: bool

    def initial(self, setting: Setting, task: RecallTask, rng: np.random.Generator) -> Tree:
        """Fresh parameters: embeddings of norm about 1, matrices of variance 1/inputs, those that write to the residual
        stream smaller by sqrt(2 blocks)."""
        V, d, wide, out = setting.V, setting.d, EXPANSION * setting.d, (2 * self.blocks) ** -0.5

        def normal(rows: int, columns: int, scale: float = 1.0) -> Any:
            return (scale / np.sqrt(rows) * rng.standard_normal((rows, columns))).astype(np.float32)

        def norm() -> Tree:
            return {"gain": np.ones(d, np.float32), "shift": np.zeros(d, np.float32)}

        blocks = [{
            "norm1": norm(), "norm2": norm(),
            "query": normal(d, d), "key": normal(d, d), "value": normal(d, d), "write": normal(d, d, out),
            "inward": normal(d, wide), "bias": np.zeros(wide, np.float32),
            "outward": normal(wide, d, out), "outward_bias": np.zeros(d, np.float32),
        } for _ in range(self.blocks)]
        length = setting.L + 1 + self.trigger_token
        return {"tokens": normal(d, V + 2).T.copy(), "positions": normal(d, length).T.copy(), "blocks": blocks,
                "norm": norm(), "unembedding": normal(d, V)}

    def embedded(self, parameters: Tree, seq: Sequences, V: int) -> tuple[Tree, Tree]:
        """The residual stream (n, T, d) before the first block, and the informative token's place in it (n,).

        Token V is the end; token V + 1 is the trigger, or the vector that marks the informative token.
        """
        import jax.numpy as jnp

        n, L = seq.tokens.shape
        tokens, place = jnp.asarray(seq.tokens), jnp.asarray(seq.position)
        if self.trigger_token:
            at = jnp.arange(L + 1)  # tokens from the informative one on move by one
            shifted = jnp.take_along_axis(tokens, jnp.maximum(at - (at > place[:, None]), 0), axis=1)
            tokens = jnp.where(at == place[:, None], V + 1, shifted)
            place = place + 1
        tokens = jnp.concatenate([tokens, jnp.full((n, 1), V)], axis=1)
        x = parameters["tokens"][tokens] + parameters["positions"]
        if not self.trigger_token:
            x = x + (jnp.arange(L + 1) == place[:, None])[..., None] * parameters["tokens"][V + 1]
        return x, place

    def forward(self, setting: Setting, parameters: Tree, task: RecallTask, seq: Sequences) -> Seen:
        """The model; its attention is the end token's in the last block, the mean over heads."""
        x, place = self.embedded(parameters, seq, setting.V)
        heads = heads_of(x.shape[-1])
        for number, weights in enumerate(parameters["blocks"], start=1):
            x, a = block(x, weights, heads, number == self.blocks)
        looked = a[:, :, -1].mean(axis=1)
        return Seen(layer_norm(x[:, -1], parameters["norm"]) @ parameters["unembedding"], looked, looked, place)

    def known(self, setting: Setting, parameters: Tree, task: RecallTask) -> Tree:
        """(V,) of 1 where a fact is answered right in more than half of its fresh sequences."""
        asked = credit(self.forward(setting, parameters, task, task.asked).logits, task.asked.label)
        return asked.reshape(setting.V, -1).mean(axis=1) > 0.5
