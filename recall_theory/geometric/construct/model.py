"""The model that every construction fills with weights: attention, a ReLU MLP and an unembedding, run as they stand.

A sequence is a subject and the relations of one word, s r_1 ... r_j, the last position asks. The residual stream
has d coordinates for subjects and R for the relation in each slot of a word. Attention is uniform over the
sequence (its key-query matrix is zero) and its value matrix j + 1 times the identity, so that it hands on the sum
of the tokens. The MLP has, for each word w and coordinate i of the code, the units

    relu(+-g_w,i . x + strength (number of slots in which w agrees - j)),

which are all silent unless every slot agrees; its output is the code of the answer, and the unembedding compares
it with the codes of all N attributes.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..setting import GeometricSetting
from .tables import IntArray

__all__ = ["Layer", "Model"]

FloatArray = NDArray[np.float64]

BLOCK = 2**22  # numbers that a block of queries may take at a time


@dataclasses.dataclass(frozen=True)
class Layer:
    """The MLP for words of one length. `inward` (2 words k, stream), sparse where most of it is zero; `bias` (2 words
    k,); `outward` (k, 2 words k), sparse."""

    length: int
    inward: Any
    bias: FloatArray
    outward: Any

    def __call__(self, stream: FloatArray) -> FloatArray:
        """From streams of shape (n, stream) to codes of shape (n, k)."""
        hidden = np.maximum(np.asarray((self.inward @ stream.T).T) + self.bias, 0)
        return np.asarray((self.outward @ hidden.T).T)


@dataclasses.dataclass(frozen=True)
class Model:
    """Embeddings, layers and unembedding of one construction, and the facts that it was built for.

    `subjects` (N, d), `codes` (N, k) the unembedding, `layers` by the length of the words that they answer.
    """

    setting: GeometricSetting
    facts: IntArray
    subjects: FloatArray
    codes: FloatArray
    layers: dict[int, Layer]

    @property
    def slots(self) -> int:
        """Relations that one pass may ask."""
        return max(self.layers)

    def relation_embedding(self, slot: int) -> FloatArray:
        """The embeddings of the R relations as tokens in one slot of a word, shape (R, stream)."""
        R, d = self.setting.R, self.subjects.shape[1]
        rows = np.zeros((R, d + self.slots * R))
        rows[:, d + slot * R:d + (slot + 1) * R] = np.eye(R)
        return rows

    def attend(self, subjects: IntArray, words: IntArray) -> FloatArray:
        """What attention hands to the MLP: uniform weights on the tokens of s r_1 ... r_j, values (j + 1) times the
        embeddings; shape (n, stream)."""
        n, length = words.shape
        d, R = self.subjects.shape[1], self.setting.R
        tokens = np.zeros((n, length + 1, d + self.slots * R))
        tokens[:, 0, :d] = self.subjects[subjects]
        for slot in range(length):
            tokens[np.arange(n), slot + 1, d + slot * R + words[:, slot]] = 1
        weights = np.full(length + 1, 1 / (length + 1))
        return np.einsum("t,ntd->nd", weights, (length + 1) * tokens)

    def logits(self, subjects: IntArray, words: IntArray) -> FloatArray:
        """Scores of all N attributes in one pass, shape (n, N); words has shape (n, length of a layer)."""
        return self.layers[words.shape[1]](self.attend(subjects, words)) @ self.codes.T

    def answer(self, subjects: IntArray, words: IntArray) -> IntArray:
        """The answers to n queries of `hops` relations, shape (n, hops): pass after pass, each reading the answer
        of the one before as its subject."""
        answers, start = np.array(subjects), 0
        for length in self.setting.word_lengths:
            asked = words[:, start:start + length]
            widest = max((length + 1) * (self.subjects.shape[1] + self.slots * self.setting.R),
                         self.layers[length].bias.size, self.setting.N)
            block = max(1, BLOCK // widest)
            for i in range(0, len(answers), block):
                part = slice(i, i + block)
                answers[part] = np.argmax(self.logits(answers[part], asked[part]), axis=1)
            start += length
        return answers
