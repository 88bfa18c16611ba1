"""The whole transformer that is trained: tokens, positions, one attention layer, a ReLU MLP and an unembedding.

A sequence is a subject and the relations asked, s r_1 .. r_h, and with chain of thought the answers so far after them.
Subjects and attributes are the same N entities, so that an answer can be asked again. Nothing of a construction is
given: every array is drawn at random and learned, and the width of the MLP does not depend on N.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..training.trainer import Problem, Tree
from .geometric_draws import all_words, answer_of_word
from .geometric_setting import TrainingSetting

IntArray = NDArray[np.int32]
Array = NDArray[np.float32]

BATCH = 512  # queries of a step; all of them where there are no more


class Queries(NamedTuple):
    """All that can be asked of one seed's bijections: tokens (n, T), relations from N on; answers (n, h), of which
    the last alone is trained without chain of thought. `facts` (R, N) are the bijections, `entities` (N, d) embeddings
    that are frozen, or (0, d) where they are trained."""

    tokens: IntArray
    answers: IntArray
    facts: IntArray
    entities: Array


def draw_facts(setting: TrainingSetting, rng: np.random.Generator) -> IntArray:
    """R random bijections of the entities, shape (R, N)."""
    return np.stack([rng.permutation(setting.N) for _ in range(setting.R)]).astype(np.int32)


def queries_of(setting: TrainingSetting, facts: IntArray) -> Queries:
    """Every subject with every word of `hops` relations; with chain of thought the right answers so far follow."""
    words = all_words(setting.R, setting.hops)
    subjects = np.repeat(np.arange(setting.N), len(words))
    words = np.tile(words, (setting.N, 1))
    answers = [answer_of_word(facts.astype(np.int64), subjects, words[:, :hop]) for hop in range(1, setting.hops + 1)]
    columns = [subjects, *(words.T + setting.N), *(answers[:-1] if setting.chain_of_thought else [])]
    return Queries(np.stack(columns, axis=1).astype(np.int32), np.stack(answers, axis=1).astype(np.int32), facts,
                   np.zeros((0, setting.d), np.float32))


def initial(setting: TrainingSetting, rng: np.random.Generator) -> dict[str, Array]:
    """Fresh parameters: embeddings of entities of size `start`, all else of variance 1/inputs."""
    N, d, m = setting.N, setting.d, setting.width
    shapes = {"entities": (N, d), "relations": (setting.R, d), "positions": (setting.length, d), "query": (d, d),
              "key": (d, d), "value": (d, d), "inward": (d, m), "outward": (m, d), "unembedding": (N, d)}
    scales = dict.fromkeys(shapes, d**-0.5) | {"entities": setting.start / np.sqrt(d), "outward": m**-0.5}
    drawn = {name: (scales[name] * rng.standard_normal(shape)).astype(np.float32) for name, shape in shapes.items()}
    return {**drawn, "bias": np.zeros(m, np.float32)}


def hidden_units(parameters: Tree, data: Queries, tokens: Tree) -> tuple[Tree, Tree]:
    """The residual stream after attention and the MLP's hidden units, at every position: (n, T, d) and (n, T, m)."""
    import jax
    import jax.numpy as jnp

    entities = data.entities if data.entities.shape[0] else parameters["entities"]
    x = jnp.concatenate([entities, parameters["relations"]])[tokens] + parameters["positions"][:tokens.shape[1]]
    scores = (x @ parameters["query"]) @ (x @ parameters["key"]).swapaxes(1, 2) / np.sqrt(x.shape[-1])
    seen = jnp.tril(jnp.ones(scores.shape[1:], bool))
    x = x + jax.nn.softmax(jnp.where(seen, scores, -jnp.inf), axis=-1) @ (x @ parameters["value"])
    return x, jax.nn.relu(x @ parameters["inward"] + parameters["bias"])


def scores(parameters: Tree, data: Queries, tokens: Tree, asked: int, mask: Tree = 1.0) -> Tree:
    """Scores (n, asked, N) of all attributes at the last `asked` positions; `mask` (m,) silences hidden units."""
    x, hidden = hidden_units(parameters, data, tokens)
    return (x + (hidden * mask) @ parameters["outward"])[:, -asked:] @ parameters["unembedding"].T


def problem(setting: TrainingSetting, count: int) -> Problem:
    """Cross-entropy of the answers, over a minibatch of the `count` queries; with chain of thought of every answer."""
    import jax
    import jax.numpy as jnp
    import optax

    asked = setting.hops if setting.chain_of_thought else 1

    def parts(parameters: Tree, data: Queries, rows: Tree) -> tuple[Tree, Tree]:
        found = scores(parameters, data, data.tokens[rows], asked)
        right = data.answers[rows][:, -asked:]
        losses = optax.losses.softmax_cross_entropy_with_integer_labels(found, right)
        return losses.mean(), (found.argmax(axis=-1) == right).all(axis=1).mean()

    def loss(parameters: Tree, data: Queries, key: Tree) -> Tree:
        rows = jnp.arange(count) if count <= BATCH else jax.random.randint(key, (BATCH,), 0, count)
        return parts(parameters, data, rows)[0]

    return Problem(loss, lambda parameters, data: parts(parameters, data, jnp.arange(count)))


def recall(parameters: Tree, data: Queries, setting: TrainingSetting, mask: Tree = 1.0) -> Tree:
    """(n,) whether each query's last answer is right; with chain of thought the model reads the answers it gave."""
    import jax.numpy as jnp

    tokens = data.tokens[:, :1 + setting.hops]
    for hop in range(setting.hops if setting.chain_of_thought else 1):
        answer = scores(parameters, data, tokens, 1, mask)[:, 0].argmax(axis=-1)
        if setting.chain_of_thought and hop < setting.hops - 1:
            tokens = jnp.concatenate([tokens, answer[:, None].astype(tokens.dtype)], axis=1)
    return answer == data.answers[:, -1]
