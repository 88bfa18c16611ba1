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
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..errors import SettingError, interrupted_with
from ..numerics.arrays import FloatArray
from .geometric_setting import Construction
from .geometric_simulation import IntArray, all_words, answer_of_word, digit_codes, draw_queries, word_tables

if TYPE_CHECKING:
    from scipy import sparse
    Matrices = tuple[sparse.csr_matrix, ...]


WeightArray = NDArray[np.float32]

BLOCK_NUMBERS = 2**23  # numbers that a block of queries may take at a time
LEAST_BLOCK = 32  # queries of a block, so that a wide MLP's weights are read less often
MOST_DENSE = 2 * 10**7  # weights that are written out in dense arrays; 80 MB


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
            asked = (key_query.T @ x[:, -1].T).T
            scores = np.einsum("nd,ntd->nt", asked, x)
            weights = np.exp(scores - scores.max(axis=1, keepdims=True))
            weights /= weights.sum(axis=1, keepdims=True)
            total += (value @ np.einsum("nt,ntd->nd", weights, x).T).T
        return total

    def forward(self, tokens: IntArray) -> WeightArray:
        """Logits of all answers after the last token: tokens (n, t) to (n, answers), a block of sequences at a time.

        Raises `SettingError` where a sequence is longer than there are positions.
        """
        tokens = np.asarray(tokens)
        if tokens.shape[1] > len(self.positions):
            raise SettingError("tokens", f"tokens: sequences of {tokens.shape[1]} tokens are too long, the model has "
                               f"{len(self.positions)} positions")
        logits = np.empty((len(tokens), len(self.unembedding)), np.float32)
        block = max(LEAST_BLOCK, BLOCK_NUMBERS // max(tokens.shape[1] * self.d, self.width))
        for i in range(0, len(tokens), block):
            hidden = self.inward @ self.attend(tokens[i:i + block]).T
            hidden += self.bias[:, None]
            np.maximum(hidden, 0, out=hidden)
            if self.second is not None and self.second_bias is not None:
                hidden = np.maximum(self.second @ hidden + self.second_bias[:, None], 0)
            logits[i:i + block] = (self.outward @ hidden).T @ self.unembedding.T
        return logits

    def weights(self) -> dict[str, WeightArray]:
        """Every weight by name in dense arrays, those of the heads stacked. Raises `SettingError` where they are more
        than 2 * 10^7 numbers."""
        heads = len(self.key_query) * self.d**2
        total = self.embedding.size + self.unembedding.size + 2 * heads
        total += len(self.bias) * (self.d + 1) + self.outward.shape[0] * self.outward.shape[1]
        second: dict[str, WeightArray] = {}
        if self.second is not None and self.second_bias is not None:
            total += self.second.shape[0] * (self.second.shape[1] + 1)
        if total > MOST_DENSE:
            raise SettingError("output", f"output can't take this model: it has {total:,} weights in "
                               f"dense arrays, and {MOST_DENSE:,} is the most that is written")
        if self.second is not None and self.second_bias is not None:
            second = {"second": _dense(self.second), "second_bias": self.second_bias}
        return {"embedding": self.embedding, "positions": self.positions,
                "key_query": np.stack([_dense(head) for head in self.key_query]),
                "value": np.stack([_dense(head) for head in self.value]), "inward": _dense(self.inward),
                "bias": self.bias, "outward": _dense(self.outward), "unembedding": self.unembedding, **second}


def _dense(matrix: WeightArray | sparse.csr_matrix) -> WeightArray:
    return matrix if isinstance(matrix, np.ndarray) else np.asarray(matrix.toarray())


MOST_QUERIES = 20_000  # that are asked; all of them where there are no more
LOGITS_HELD = 2**26  # logits held at a time
UNITS_A_PART = 2**29  # hidden units of the queries between two signs of progress
LEAK = 1 / 4  # of the margin, at most, that attention to other tokens takes
CERTAIN = 40.0  # lead of a score at which attention to other tokens is below single precision

def code_vectors(construction: Construction) -> FloatArray:
    """The codes of N attributes, shape (N, k): points on a circle, or digits, odd integers up to 2^b - 1 in size."""
    c = construction
    if c.codes == "digits":
        return digit_codes(c.N, c.k, c.bits)
    angle = 2 * np.pi * np.arange(c.N) / c.N
    return np.stack([np.cos(angle), np.sin(angle)], axis=1)


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
    codes = code_vectors(c).astype(np.float32)
    embedding = np.zeros((c.N + c.R, c.d), np.float32)
    embedding[c.N + np.arange(c.R), c.coded + np.arange(c.R)] = 1
    embedding[:c.N, :c.coded] = codes[word_tables(facts, c.ahead)].swapaxes(0, 1).reshape(c.N, -1)
    positions, key_query, value = _attention(c, codes)
    if c.route == "two-layers":
        inward, bias, second, second_bias, outward = _two_selectors(c, codes)
        return GeometricTransformer(embedding, positions, key_query, value, inward, bias, outward,
                                    _unembedding(c, codes, facts), second, second_bias)
    inward, bias, outward = _table(c, codes, facts) if c.route == "wide" else _selector(c, codes)
    return GeometricTransformer(embedding, positions, key_query, value, inward, bias, outward,
                                _unembedding(c, codes, facts))


def _attention(c: Construction, codes: WeightArray) -> tuple[WeightArray, Matrices, Matrices]:
    """Positions, key-query matrices and value matrices.

    Chain of thought has one head; the last position attends to the current entity and to the next relation. In one
    pass a head for each token moves relations into slots, one for each place in the query; positions are angles in
    coordinates that only slots use. One relation, or one hop, needs no places: attention is uniform.
    """
    from scipy import sparse

    def matrix(entries: list[tuple[int, int, float]]) -> sparse.csr_matrix:
        row, column, value = zip(*entries, strict=True) if entries else ((), (), ())
        return sparse.csr_matrix((np.array(value, np.float32), (row, column)), shape=(c.d, c.d))

    entity = range(c.coded)
    relation = range(c.coded, c.coded + c.R)
    if c.route == "chain":
        length = 2 * c.hops + 1
        first = c.coded + c.R
        largest = float(np.abs(codes).max())
        leak = LEAK * c.spacing / (10 * largest * math.sqrt(c.k))
        strength = math.log(max(c.hops - 1, 1 / 2) * (1 / leak - 1))
        asks = [(c.hops + j, (0 if j == 0 else c.hops + j, j + 1)) for j in range(c.hops)]
        key_query = [(first + q, first + t, strength) for q, targets in asks for t in targets]
        value = [(i, i, 2.0) for i in (*entity, *relation)]
        return np.eye(length, c.d, first, dtype=np.float32), (matrix(key_query),), (matrix(value),)
    length = c.hops + 1
    positions = np.zeros((length, c.d), np.float32)
    if c.hops == 1 or c.R == 1:
        value = [(i, i, float(length)) for i in entity]
        value += [(r + slot * c.R, r, length / c.hops) for r in relation for slot in range(c.slots)]
        return positions, (matrix([]),), (matrix(value),)
    place = slice(c.coded + c.R, c.coded + c.R + 2)
    angle = 2 * np.pi * np.arange(length) / length
    positions[:, place] = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    strength = CERTAIN / (1 - math.cos(2 * math.pi / length))
    plane = range(place.start, place.stop)
    heads = [matrix([(i, j, strength * float(positions[-1, i] * positions[t, j])) for i in plane for j in plane])
             for t in range(length)]
    values = [matrix([(i, i, 1.0) for i in entity])]
    values += [matrix([(r + slot * c.R, r, 1.0) for r in relation]) for slot in range(c.hops)]
    return positions, tuple(heads), tuple(values)


def _selector(c: Construction, codes: WeightArray) -> tuple[sparse.csr_matrix, WeightArray, sparse.csr_matrix]:
    """The MLP that hands on the code of the word asked: inward, bias and outward.

    Two units a coordinate of each word's code, relu(+-x + gate (slots that agree - slots)), silent unless all agree.
    Where codes differ in length there is a unit for each block, 1 where the block is asked.
    """
    from scipy import sparse

    words = all_words(c.R, c.slots)
    behind = c.R**c.behind
    block = words[:, 0] if c.sets == "disjoint" else np.arange(len(words)) % behind
    gate = 2 * float(np.abs(codes).max())  # twice what it must be without leak and noise
    unit = np.arange(2 * len(words) * c.k)
    word, sign, i = unit // (2 * c.k), np.where(unit % (2 * c.k) < c.k, 1.0, -1.0), unit % c.k
    slots = c.coded + np.arange(c.slots) * c.R + words[word]
    constants = c.blocks if c.has_norms else 0
    places = np.arange(c.slots)[c.slots - c.behind:] if c.sets == "shared" else np.arange(1)
    lit = all_words(c.R, len(places))[:constants]
    constant = unit.size + np.arange(constants)
    rows = np.concatenate([unit, np.repeat(unit, c.slots), np.repeat(constant, len(places))])
    columns = np.concatenate([word // behind * c.k + i,
                              slots.ravel(), (c.coded + places * c.R + lit).ravel()])
    values = np.concatenate([sign, np.full(slots.size, gate), np.ones(lit.size)])
    inward = sparse.csr_matrix((values.astype(np.float32), (rows, columns)), shape=(c.width, c.d))
    bias = np.concatenate([np.full(unit.size, -gate * c.slots), np.full(constants, 1.0 - len(places))])
    outputs = c.blocks * (c.k + c.has_norms)
    each = c.k + c.has_norms
    rows = np.concatenate([block[word] * each + i, np.arange(constants) * each + c.k])
    outward = sparse.csr_matrix((np.concatenate([sign, np.ones(constants)]).astype(np.float32),
                                 (rows, np.arange(c.width))), shape=(outputs, c.width))
    return inward, bias.astype(np.float32), outward


def _two_selectors(c: Construction, codes: WeightArray) -> tuple[sparse.csr_matrix, WeightArray, sparse.csr_matrix,
                                                                 WeightArray, sparse.csr_matrix]:
    """The MLP of two layers, the first of which selects the code of the first relations' word and hands on the other
    relations, and the second the block of their word: inward, bias, second, its bias, and outward.

    Both are the selector of one layer, with the first layer's code in the place of the embedding's.
    """
    from scipy import sparse

    first = c.replace(route="embedding", hops=c.ahead)
    inward, bias, _ = _selector(first, codes)
    later = range(c.coded + c.ahead * c.R, c.d)
    inward.resize(inward.shape[0] - first.has_norms * first.blocks, c.d)
    bias = bias[:inward.shape[0]]
    handed_on = sparse.eye(c.d, dtype=np.float32, format="csr")[list(later)]
    inward, bias = sparse.vstack([inward, handed_on], "csr"), np.append(bias, np.zeros(len(later), np.float32))

    units = 2 * c.k * c.R**c.ahead
    unit, gate = np.arange(2 * c.k * c.blocks), 2 * float(np.abs(codes).max())
    block, sign, i = unit // (2 * c.k), np.where(unit % (2 * c.k) < c.k, 1.0, -1.0), unit % c.k
    words = all_words(c.R, c.behind)
    of_code = np.arange(units)
    code = sparse.csr_matrix((np.where(of_code % (2 * c.k) < c.k, 1.0, -1.0), (of_code % c.k, of_code)),
                             shape=(c.k, units))
    read = sparse.csr_matrix((sign, (unit, i)), shape=(len(unit), c.k)) @ code
    asked = sparse.csr_matrix((np.ones(words.size), (np.repeat(np.arange(c.blocks), c.behind),
                                                     (np.arange(c.behind) * c.R + words).ravel())),
                              shape=(c.blocks, len(later)))
    constants = c.blocks if c.has_norms else 0
    second = sparse.vstack([sparse.hstack([read, gate * asked[block]]),
                            sparse.hstack([sparse.csr_matrix((constants, units)), asked[:constants]])], "csr")
    second_bias = np.append(np.full(len(unit), -gate * c.behind), np.full(constants, 1.0 - c.behind))
    each = c.k + c.has_norms
    rows = np.append(block * each + i, np.arange(constants) * each + c.k)
    outward = sparse.csr_matrix((np.append(sign, np.ones(constants)), (rows, np.arange(len(rows)))),
                                shape=(c.blocks * each, len(rows)))
    return (inward, bias, second.astype(np.float32), second_bias.astype(np.float32), outward.astype(np.float32))


def _table(c: Construction, codes: WeightArray, facts: IntArray) -> tuple[WeightArray, WeightArray, WeightArray]:
    """The MLP with a unit for each query, open for that query alone: inward, bias and outward."""
    words = all_words(c.R, c.hops)
    inward = np.zeros((c.words, c.N, c.d), np.float32)
    inward[:, :, :c.coded] = codes
    for slot in range(c.hops):
        inward[np.arange(c.words), :, c.coded + slot * c.R + words[:, slot]] = 2
    bias = np.full(c.width, 1 - c.k - 2 * c.hops, np.float32)
    tables = word_tables(facts, c.hops)
    outward = codes[tables.ravel()].T
    if c.sets == "disjoint":
        outward = np.concatenate([np.where(np.arange(c.width) // c.N == r, outward, 0) for r in range(c.R)])
    return inward.reshape(c.width, c.d), bias, np.ascontiguousarray(outward)


def _unembedding(c: Construction, codes: WeightArray, facts: IntArray) -> WeightArray:
    """What each attribute's logit reads, shape (answers, outputs): for each word of the hops behind, the code of the
    one entity that the word leads from to the attribute."""
    if c.has_norms:
        codes = np.concatenate([codes, -(codes**2).sum(axis=1, keepdims=True) / 2], axis=1)
    if c.sets == "disjoint":
        return np.kron(np.eye(c.R, dtype=np.float32), codes)
    origins = np.argsort(word_tables(facts, c.behind), axis=1)
    return codes[origins].swapaxes(0, 1).reshape(c.N, -1)


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
    right, asked, margin, size = 0, 0, math.inf, max(1, min(LOGITS_HELD // c.answers, UNITS_A_PART // c.width))
    with interrupted_with(lambda: Recalled(right / asked, asked, margin) if asked else None):
        while asked < len(subjects):
            truth, word = subjects[asked:asked + size], words[asked:asked + size]
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
