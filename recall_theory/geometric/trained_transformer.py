"""The whole transformer that is trained, and what it is asked: probes, superposition, the gate, edits of facts.

A sequence is a subject and the relations asked, s r_1 .. r_h, and with chain of thought the answers so far after them.
Subjects and attributes are the same N entities, so that an answer can be asked again. Nothing of a construction is
given: every array is drawn at random and learned, and the width of the MLP does not depend on N.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..numerics.arrays import FloatArray
from ..training.trainer import Problem, Tree
from .geometric_setting import TrainingSetting
from .geometric_simulation import all_words, answer_of_word

IntArray = NDArray[np.integer]
Array = NDArray[np.floating]

BATCH = 512  # queries of a step; all of them where there are no more
FOLDS = 5  # of subjects, each of which a map fitted on the others is asked for


class Queries(NamedTuple):
    """All that can be asked of one seed's bijections `facts` (R, N): tokens (n, T), relations from N on; answers
    (n, h), of which the last alone is trained without chain of thought."""

    tokens: IntArray
    answers: IntArray
    facts: IntArray


def queries_of(setting: TrainingSetting, facts: NDArray[np.int64]) -> Queries:
    """Every subject with every word of `hops` relations; with chain of thought the right answers so far follow."""
    words = all_words(setting.R, setting.hops)
    subjects = np.repeat(np.arange(setting.N), len(words))
    words = np.tile(words, (setting.N, 1))
    answers = [answer_of_word(facts, subjects, words[:, :hop]) for hop in range(1, setting.hops + 1)]
    columns = [subjects, *(words.T + setting.N), *(answers[:-1] if setting.chain_of_thought else [])]
    return Queries(np.stack(columns, axis=1).astype(np.int32), np.stack(answers, axis=1).astype(np.int32), facts)


def initial(setting: TrainingSetting, rng: np.random.Generator) -> dict[str, Array]:
    """Fresh parameters: embeddings of entities of size `start`, all else of variance 1/inputs."""
    N, d, m = setting.N, setting.d, setting.width
    shapes = {"entities": (N, d), "relations": (setting.R, d), "positions": (setting.length, d), "query": (d, d),
              "key": (d, d), "value": (d, d), "inward": (d, m), "outward": (m, d), "unembedding": (N, d)}
    scales = dict.fromkeys(shapes, d**-0.5) | {"entities": setting.start / np.sqrt(d), "outward": m**-0.5}
    drawn = {name: (scales[name] * rng.standard_normal(shape)).astype(np.float32) for name, shape in shapes.items()}
    return {**drawn, "bias": np.zeros(m, np.float32)}


def hidden_units(parameters: Tree, tokens: Tree) -> tuple[Tree, Tree]:
    """The residual stream after attention and the MLP's hidden units, at every position: (n, T, d) and (n, T, m)."""
    import jax
    import jax.numpy as jnp

    embeddings = jnp.concatenate([parameters["entities"], parameters["relations"]])
    x = embeddings[tokens] + parameters["positions"][:tokens.shape[1]]
    scores = (x @ parameters["query"]) @ (x @ parameters["key"]).swapaxes(1, 2) / np.sqrt(x.shape[-1])
    seen = jnp.tril(jnp.ones(scores.shape[1:], bool))
    x = x + jax.nn.softmax(jnp.where(seen, scores, -jnp.inf), axis=-1) @ (x @ parameters["value"])
    return x, jax.nn.relu(x @ parameters["inward"] + parameters["bias"])


def scores(parameters: Tree, tokens: Tree, asked: int, mask: Tree = 1.0) -> Tree:
    """Scores (n, asked, N) of all attributes at the last `asked` positions; `mask` (m,) silences hidden units."""
    x, hidden = hidden_units(parameters, tokens)
    return (x + (hidden * mask) @ parameters["outward"])[:, -asked:] @ parameters["unembedding"].T


def recall(parameters: Tree, queries: Queries, setting: TrainingSetting, mask: Tree = 1.0) -> Tree:
    """(n,) whether each query's last answer is right; with chain of thought the model reads the answers it gave."""
    import jax.numpy as jnp

    tokens = queries.tokens[:, :1 + setting.hops]
    for _ in range(setting.hops if setting.chain_of_thought else 1):
        answer = scores(parameters, tokens, 1, mask)[:, 0].argmax(axis=-1)
        tokens = jnp.concatenate([tokens, answer[:, None].astype(tokens.dtype)], axis=1)
    return answer == queries.answers[:, -1]


def problem(setting: TrainingSetting) -> Problem:
    """Cross-entropy of the answers, over a minibatch of queries; with chain of thought of every answer. The data are
    queries and the arrays that are not trained, by name."""
    import jax
    import jax.numpy as jnp
    import optax

    asked = setting.hops if setting.chain_of_thought else 1

    def measure(parameters: Tree, data: tuple[Queries, Tree], rows: Tree = slice(None)) -> tuple[Tree, Tree]:
        queries, fixed = data
        found = scores({**fixed, **parameters}, queries.tokens[rows], asked)
        right = queries.answers[rows][:, -asked:]
        losses = optax.losses.softmax_cross_entropy_with_integer_labels(found, right)
        return losses.mean(), (found.argmax(axis=-1) == right).all(axis=1).mean()

    def loss(parameters: Tree, data: tuple[Queries, Tree], key: Tree) -> Tree:
        count = setting.queries
        rows = jnp.arange(count) if count <= BATCH else jax.random.randint(key, (BATCH,), 0, count)
        return measure(parameters, data, rows)[0]

    return Problem(loss, measure)


# What a trained network holds

def ridge_fit(x: Array, y: Array) -> FloatArray:
    """Ridge regression of y (n, q) on x (n, p) with a free intercept: a matrix (p + 1, q), its last row the intercept.

    The penalty is that of one observation: one unit, with x scaled to a root mean square of one. It settles what
    the data leave open, and is small beside n observations.
    """
    x, y = x.astype(np.float64), y.astype(np.float64)
    centre, mean = x.mean(axis=0), y.mean(axis=0)
    centred = x - centre
    penalty = float(np.mean(centred**2)) or 1.0
    gram = centred.T @ centred + penalty * np.eye(x.shape[1])
    slope = np.linalg.solve(gram, centred.T @ (y - mean))
    return np.vstack([slope, mean - centre @ slope])


def held_out(x: Array, y: Array) -> FloatArray:
    """For each row of y its value by a map that was fitted without its row, or its fifth of the rows. The rows must be
    in no order: subjects are not."""
    guess = np.empty(y.shape)
    for first in range(min(FOLDS, len(x))):
        out = np.arange(len(x)) % FOLDS == first
        fitted = ridge_fit(x[~out], y[~out])
        guess[out] = x[out] @ fitted[:-1] + fitted[-1]
    return guess


def codes_of(unembedding: Array) -> FloatArray:
    """(N, d) the attributes' learned vectors, less their mean and of norm 1."""
    codes = unembedding - unembedding.mean(axis=0, dtype=np.float64)
    return codes / np.maximum(np.linalg.norm(codes, axis=1, keepdims=True), 1e-12)


def superposed(codes: FloatArray, facts: IntArray) -> FloatArray:
    """(N, R d) the codes of a subject's attributes side by side; `facts` is (R, N)."""
    return np.concatenate([codes[f] for f in facts], axis=1)


def probe_recall(entities: Array, codes: FloatArray, facts: IntArray) -> float:
    """The fraction of facts that linear probes read off the embeddings of subjects they were not fitted on.

    A probe a relation, from the embedding to the attribute's code, decoded by the largest score among all N. Every
    attribute occurs once a relation, so the right answer is one that the probe was never fitted on.
    """
    guesses = [held_out(entities, codes[f]) @ codes.T for f in facts]
    return float(np.mean(np.argmax(guesses, axis=2) == facts))


def superposition_share(entities: Array, codes: FloatArray, facts: IntArray) -> float:
    """The share of the embeddings' variance that a linear map of the attributes' codes foretells, for subjects that it
    was not fitted on; below zero where it foretells worse than the mean, NaN where embeddings are all the same."""
    x = entities.astype(np.float64)
    rest = np.sum((x - held_out(superposed(codes, facts), x)) ** 2)
    total = np.sum((x - x.mean(axis=0)) ** 2)
    return 1 - float(rest / total) if total > 0 else float("nan")


def edited_embeddings(entities: Array, codes: FloatArray, facts: IntArray, relation: int, new: IntArray) -> Array:
    """Embeddings (N, d) with one fact a subject rewritten: B_r (c_new - c_old) is added, B_r the linear map of codes
    that the embeddings follow; `new` (N,) are the attributes to be answered."""
    maps = ridge_fit(superposed(codes, facts), entities)[:-1].reshape(len(facts), codes.shape[1], -1)
    moved: Array = entities + (codes[new] - codes[facts[relation]]) @ maps[relation]
    return moved.astype(np.float32)


def gate_selectivity(means: Array) -> float:
    """How far hidden units are of one relation: mean over units, by their activity, of the largest share that one
    relation has in it. `means` (R, m) are mean activities under each relation; 1/R where no unit tells them apart."""
    total = means.sum(axis=0)
    return float(means.max(axis=0).sum() / total.sum()) if total.sum() > 0 else float("nan")
