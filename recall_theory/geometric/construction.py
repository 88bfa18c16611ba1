"""Transformers that recall all facts, written down weight by weight.

The facts are one bijection a relation; a query is a subject and `hops` relations, asked in turn. The routes: in one
pass by the embedding, which holds a code for each word of relations; by a wide MLP, a table of all queries; by meeting
in the middle, half of the hops in the embedding and half, backwards, in the unembedding; or by chain of thought, each
answer appended to the sequence and read as the next subject. Derivation: docs/derivations/geometric.md.

With t tokens x_u = embedding[token_u] + positions[u] and the last of them asked, head i attends to token u with weight
softmax_u(x_last . K_i x_u) and hands on V_i times the average. The logits are

    unembedding . outward relu(inward (sum of heads) + bias).

A second MLP layer, where there is one, is relu(second (hidden units of the first) + second_bias). There are no skip
connections and no normalisation.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from ..errors import SettingError, interrupted_with
from ..numerics.arrays import FloatArray
from .geometric_setting import Construction
from .geometric_simulation import IntArray, all_words, answer_of_word, digit_codes, draw_queries, word_tables

WeightArray = NDArray[np.float32]

LOGITS_HELD = 2**26  # of a block of queries
NUMBERS_HELD = 2**23  # in any one array of a block before the logits
LEAST_BLOCK = 32  # queries of a block for which that counts, so that a wide MLP's weights are read less often
MOST_DENSE = 2 * 10**7  # weights that are written out in dense arrays; 80 MB
MOST_QUERIES = 20_000  # that are asked; all of them where there are no more
LEAK = 1 / 4  # of the margin, at most, that attention to other tokens takes
CERTAIN = 40.0  # lead of a score at which attention to other tokens is below single precision


@dataclasses.dataclass(frozen=True)
class GeometricTransformer:
    """The weights, in single precision.

    `embedding` (tokens, d), `positions` (most tokens of a sequence, d), `key_query` and `value` a (d, d) matrix a head,
    `inward` (width, d), `bias` (width,), `outward` (outputs, width), `unembedding` (answers, outputs). The matrices
    may be sparse. Answer a is token a. Where the MLP has two layers, `second` (units, width of the first) and
    `second_bias` (units,) are the second, whose units `outward` reads.
    """

    embedding: WeightArray
    positions: WeightArray
    key_query: tuple[sparse.csr_matrix, ...]
    value: tuple[sparse.csr_matrix, ...]
    inward: WeightArray | sparse.csr_matrix
    bias: WeightArray
    outward: WeightArray | sparse.csr_matrix
    unembedding: WeightArray
    second: sparse.csr_matrix | None = None
    second_bias: WeightArray | None = None

    @property
    def d(self) -> int:
        """Coordinates of a token."""
        return self.embedding.shape[1]

    @property
    def width(self) -> int:
        """Hidden units of the MLP, of both of its layers where it has two."""
        return len(self.bias) + (0 if self.second_bias is None else len(self.second_bias))

    def attend(self, tokens: IntArray) -> WeightArray:
        """What attention hands from the last position of each sequence to the MLP: from (n, t) to (n, d)."""
        x = self.embedding[tokens] + self.positions[:tokens.shape[1]]
        total = np.zeros_like(x[:, -1])
        for key_query, value in zip(self.key_query, self.value, strict=True):
            scores = np.einsum("nd,ntd->nt", (key_query.T @ x[:, -1].T).T, x)
            weights = np.exp(scores - scores.max(axis=1, keepdims=True))
            weights /= weights.sum(axis=1, keepdims=True)
            total += (value @ np.einsum("nt,ntd->nd", weights, x).T).T
        return total

    def forward(self, tokens: IntArray) -> WeightArray:
        """Logits of all answers after the last token: tokens (n, t) to (n, answers).

        Raises `SettingError` where a sequence is longer than there are positions.
        """
        tokens = np.asarray(tokens)
        if tokens.shape[1] > len(self.positions):
            raise SettingError("tokens", f"tokens: sequences of {tokens.shape[1]} tokens are too long, the model has "
                               f"{len(self.positions)} positions")
        hidden = self.attend(tokens).T
        for layer, bias in ((self.inward, self.bias), (self.second, self.second_bias)):
            if layer is not None and bias is not None:
                hidden = layer @ hidden
                hidden += bias[:, None]
                np.maximum(hidden, 0, out=hidden)
        return np.asarray((self.outward @ hidden).T @ self.unembedding.T, np.float32)

    def weights(self) -> dict[str, WeightArray]:
        """Every weight by name in dense arrays, those of the heads stacked. Raises `SettingError` where they are more
        than 2 * 10^7 numbers."""
        parts = {name: value if isinstance(value, tuple) else (value,) for name, value in vars(self).items()
                 if value is not None}
        total = sum(math.prod(part.shape) for of_name in parts.values() for part in of_name)
        if total > MOST_DENSE:
            raise SettingError("output", f"output can't take this model: it has {total:,} weights in "
                               f"dense arrays, and {MOST_DENSE:,} is the most that is written")
        dense = {name: [part.toarray() if sparse.issparse(part) else part for part in of_name]
                 for name, of_name in parts.items()}
        return {name: np.stack(heads) if name in ("key_query", "value") else heads[0] for name, heads in dense.items()}


def construct(construction: Construction, facts: IntArray) -> GeometricTransformer:
    """The transformer of a construction for facts of shape (R, N). Token s < N is subject (and attribute) s, token
    N + r relation r. Attribute a of relation r in disjoint sets is answer r N + a.

    Raises `SettingError` where the facts do not fit, or the model is too large to run.

    >>> facts = np.array([np.roll(np.arange(13), 2), np.arange(13)[::-1], np.roll(np.arange(13), 5)])
    >>> model = construct(Construction(N=13, R=3, hops=2, route="middle"), facts)
    >>> bool(model.forward(np.array([[5, 13 + 2, 13 + 0]])).argmax() == facts[0, facts[2, 5]])
    True
    """
    c = construction
    if facts.shape != (c.R, c.N):
        raise SettingError("N", f"facts of shape {facts.shape} don't fit: R={c.R} relations of N={c.N} subjects have "
                           "shape (R, N)")
    if c.refused is not None:
        raise SettingError("N", f"N={c.N}: too large to run: {c.refused}")
    codes = (circle(c.N) if c.codes == "circle" else digit_codes(c.N, c.k, c.bits)).astype(np.float32)
    embedding = np.zeros((c.N + c.R, c.d), np.float32)
    embedding[c.N + np.arange(c.R), c.coded + np.arange(c.R)] = 1
    embedding[:c.N, :c.coded] = codes[word_tables(facts, c.ahead)].swapaxes(0, 1).reshape(c.N, -1)
    mlp = _table(c, codes, facts) if c.route == "wide" else _selectors(c)
    if c.has_norms:
        codes = np.append(codes, -(codes**2).sum(axis=1, keepdims=True) / 2, axis=1)
    if c.sets == "disjoint":
        unembedding = np.kron(np.eye(c.R, dtype=np.float32), codes)
    else:  # for each word of the hops behind, the code of the one entity that it leads from to the attribute
        origins = np.argsort(word_tables(facts, c.behind), axis=1)
        unembedding = codes[origins].swapaxes(0, 1).reshape(c.N, -1)
    return GeometricTransformer(embedding=embedding, unembedding=unembedding, **_attention(c), **mlp)


def circle(n: int) -> FloatArray:
    """n points of a circle at equal angles, shape (n, 2)."""
    angle = 2 * np.pi * np.arange(n) / n
    return np.stack([np.cos(angle), np.sin(angle)], axis=1)


def _attention(c: Construction) -> dict[str, Any]:
    """With chain of thought the last position attends to the current entity and the next relation. In one pass a head
    for each token moves the relations into slots; positions are angles in coordinates that only slots use. One
    relation, or one hop, needs no places: attention is uniform."""
    def matrix(row: IntArray, column: IntArray, value: ArrayLike) -> sparse.csr_matrix:
        entries = [array.ravel() for array in np.broadcast_arrays(value, row, column)]
        return sparse.csr_matrix((entries[0].astype(np.float32), entries[1:]), shape=(c.d, c.d))

    entity, relation = np.arange(c.coded), c.coded + np.arange(c.R)
    if c.route == "chain":
        read, step = np.arange(c.coded + c.R), np.arange(c.hops)
        leak = LEAK * c.spacing / (10 * c.largest * math.sqrt(c.k))
        strength = math.log(max(c.hops - 1, 1 / 2) * (1 / leak - 1))
        attended = np.stack([np.where(step > 0, c.hops + step, 0), step + 1], axis=1)
        return {"positions": np.eye(2 * c.hops + 1, c.d, len(read), dtype=np.float32),
                "key_query": (matrix(len(read) + c.hops + step[:, None], len(read) + attended, strength),),
                "value": (matrix(read, read, 2.0),)}

    length = c.hops + 1
    positions = np.zeros((length, c.d), np.float32)
    moved = [matrix(relation + slot * c.R, relation, 1.0) for slot in range(c.slots)]
    if c.hops == 1 or c.R == 1:
        value = length * matrix(entity, entity, 1.0) + length / c.hops * sum(moved)
        return {"positions": positions, "key_query": (0 * value,), "value": (value.tocsr(),)}
    plane = c.coded + c.R + np.arange(2)
    positions[:, plane] = circle(length)
    strength = CERTAIN / (1 - math.cos(2 * math.pi / length))
    heads = [matrix(plane[:, None], plane, strength * np.outer(positions[-1, plane], place))
             for place in positions[:, plane]]
    return {"positions": positions, "key_query": tuple(heads), "value": (matrix(entity, entity, 1.0), *moved)}


def _selectors(c: Construction) -> dict[str, Any]:
    """The MLP that hands on the code of the word asked, in one layer or two: the first selects the code of the first
    relations' word and hands on the other relations, and the second selects the block of their word."""
    if c.route != "two-layers":
        deciding = 1 if c.sets == "disjoint" else c.behind
        inward, bias, outward = _selector(c, c.ahead, c.slots, deciding, c.has_norms)
        inward.resize(len(bias), c.d)
        return {"inward": inward, "bias": bias, "outward": outward}
    later = sparse.eye(c.behind * c.R, dtype=np.float32)
    inward, bias, code = _selector(c, c.ahead, c.ahead, 0, False)
    second, second_bias, outward = _selector(c, 0, c.behind, c.behind, c.has_norms)
    return {"inward": sparse.block_diag([inward, later], "csr"), "bias": np.append(bias, 0 * later.diagonal()),
            "second": second @ sparse.block_diag([code, later], "csr"), "second_bias": second_bias, "outward": outward}


def _selector(c: Construction, ahead: int, slots: int, deciding: int,
              has_norms: bool) -> tuple[sparse.csr_matrix, WeightArray, sparse.csr_matrix]:
    """Units that read R^ahead codes and `slots` relations, and hand on the code that the first `ahead` relations name,
    into that of R^deciding blocks which the last `deciding` relations name: inward, bias and outward.

    Two units a coordinate of each word's code, relu(+-x + gate (slots that agree - slots)), silent unless all agree.
    Where codes differ in length there is a unit for each block, 1 where the block is asked.
    """
    def one_hot(number: IntArray, of: int) -> sparse.csr_matrix:
        return sparse.eye(of, format="csr")[number]

    gate = 2 * c.largest  # twice what it must be without leak and noise
    words, blocks = all_words(c.R, slots), c.R**deciding
    number, each = np.arange(len(words)), c.k + has_norms
    constants, others = blocks * has_norms, (slots - deciding) * c.R
    signs = np.vstack([np.eye(c.k), -np.eye(c.k)])
    read = sparse.kron(one_hot(number // c.R**(slots - ahead), c.R**ahead), signs, "csr")
    asked = sparse.hstack([sparse.csr_matrix((len(words), 0)), *(one_hot(word, c.R) for word in words.T)], "csr")
    gates = gate * sparse.kron(asked, np.ones((len(signs), 1)))
    lit = sparse.hstack([sparse.csr_matrix((constants, read.shape[1] + others)), asked[:constants, others:]])
    inward = sparse.vstack([sparse.hstack([read, gates]), lit], "csr", np.float32)
    bias = np.repeat([-gate * slots, 1.0 - deciding], [read.shape[0], constants]).astype(np.float32)
    outward = sparse.hstack([sparse.kron(one_hot(number % blocks, blocks).T, np.eye(each, c.k) @ signs.T),
                             sparse.kron(sparse.eye(blocks), np.eye(each)[:, c.k:])], "csr", np.float32)
    return inward, bias, outward


def _table(c: Construction, codes: WeightArray, facts: IntArray) -> dict[str, Any]:
    """The MLP with a unit for each query, open for that query alone."""
    words = all_words(c.R, c.hops)
    inward = np.empty((len(words), c.N, c.d), np.float32)
    inward[..., :c.coded] = codes
    inward[..., c.coded:] = 2 * np.eye(c.R)[words].reshape(len(words), 1, -1)
    outward = codes[word_tables(facts, c.hops).ravel()].T
    if c.sets == "disjoint":
        outward = np.concatenate([np.where(np.arange(c.width) // c.N == r, outward, 0) for r in range(c.R)])
    return {"inward": inward.reshape(c.width, c.d), "bias": np.full(c.width, 1 - c.k - 2 * c.hops, np.float32),
            "outward": np.ascontiguousarray(outward)}


@dataclasses.dataclass(frozen=True)
class Recalled:
    """What a transformer answered: the share of `queries` whose answers are all right, and the least lead of the right
    logit over all others, in all passes."""

    recall: float
    queries: int
    margin: float


def run_queries(construction: Construction, model: GeometricTransformer, facts: IntArray, rng: np.random.Generator,
                progress: Callable[[int, int], None] | None = None) -> Recalled:
    """Ask every query, or 20,000 drawn ones where there are more. With chain of thought each answer of the model is
    appended to its sequence.

    `progress` is called with (queries asked, queries). Raises `Interrupted` (a KeyboardInterrupt) with what was
    recalled of the queries asked by then where Ctrl-C stops it.

    >>> c, rng = Construction(N=20, R=2, hops=3, route="chain"), np.random.default_rng(0)
    >>> facts = np.array([rng.permutation(20), rng.permutation(20)])
    >>> run_queries(c, construct(c, facts), facts, rng).recall
    1.0
    """
    c = construction
    subjects, words = draw_queries(c.N, c.R, c.hops, rng, MOST_QUERIES)
    block = max(LEAST_BLOCK, NUMBERS_HELD // max((2 * c.hops + 1) * c.d, c.width))
    block = max(1, min(block, LOGITS_HELD // c.answers))
    right, asked, margin = 0, 0, math.inf
    with interrupted_with(lambda: Recalled(right / asked, asked, margin) if asked else None):
        while asked < len(subjects):
            truth, word = subjects[asked:asked + block], words[asked:asked + block]
            sequence = np.concatenate([truth[:, None], c.N + word], axis=1)
            fine = np.ones(len(sequence), bool)
            for step in word.T[:, None] if c.route == "chain" else [word.T]:
                truth = answer_of_word(facts, truth, step.T)
                logits = model.forward(sequence)
                answers = logits.argmax(axis=1)
                at = np.arange(len(sequence)), truth if c.sets == "shared" else word[:, 0] * c.N + truth
                lead = logits[at].copy()
                logits[at] = -np.inf
                lead -= logits.max(axis=1)
                margin = min(margin, float(lead.min()))
                fine &= lead > 0
                sequence = np.concatenate([sequence, answers[:, None]], axis=1)
            right, asked = right + int(fine.sum()), asked + len(sequence)
            if progress is not None:
                progress(asked, len(subjects))
    return Recalled(right / asked, asked, margin)
