"""The layers that every construction fills with weights: attention, a ReLU MLP and an unembedding, run as they stand.

A sequence is a subject and the relations of one word, s r_1 ... r_j; the last position is asked. The residual stream
has d coordinates for subjects and R for the relation in each slot of a word. Attention is uniform over the
sequence (its key-query matrix is zero) and its value matrix j + 1 times the identity, so that it hands on the sum
of the tokens. The MLP has, for each word w and coordinate i of the code, the units

    relu(+-g_w,i . x + strength (number of slots in which w agrees - j)),

which are all silent unless every slot agrees; its output is the code of the answer, and the unembedding compares
it with the codes of all N attributes.
"""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..errors import SettingError
from .geometric_setting import GeometricSetting

if TYPE_CHECKING:
    from scipy import sparse

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

BLOCK = 2**22  # numbers that a block of queries may take at a time
MOST_DENSE = 2 * 10**7  # weights that are written out in dense arrays; 160 MB
WEIGHT_FORMATS = (".npz", ".json")


@dataclasses.dataclass(frozen=True)
class GatedMLP:
    """The MLP for words of one length. `inward` (2 words k, stream), sparse where most of it is zero; `bias` (2 words
    k,); `outward` (k, 2 words k), sparse."""

    inward: FloatArray | sparse.csr_matrix
    bias: FloatArray
    outward: FloatArray | sparse.csr_matrix

    def __call__(self, stream: FloatArray) -> FloatArray:
        """From streams of shape (n, stream) to codes of shape (n, k)."""
        hidden = np.maximum((self.inward @ stream.T).T + self.bias, 0)
        return np.asarray((self.outward @ hidden.T).T)


@dataclasses.dataclass(frozen=True)
class GeometricTransformer:
    """Embeddings, layers and unembedding of one construction, and the facts that it was built for.

    `subjects` (N, d), `codes` (N, k) the unembedding, `layers` by the length of the words that they answer.
    """

    setting: GeometricSetting
    facts: IntArray
    subjects: FloatArray
    codes: FloatArray
    layers: dict[int, GatedMLP]

    @property
    def slots(self) -> int:
        """Relations that one pass may ask."""
        return max(self.layers)

    @property
    def stream(self) -> int:
        """Coordinates of the residual stream."""
        return self.subjects.shape[1] + self.slots * self.setting.R

    def relation_embedding(self, slot: int) -> FloatArray:
        """The embeddings of the R relations as tokens in one slot of a word, shape (R, stream)."""
        R = self.setting.R
        return np.eye(R, self.stream, self.subjects.shape[1] + slot * R)

    def attend(self, subjects: IntArray, words: IntArray) -> FloatArray:
        """What attention hands to the MLP: uniform weights on the tokens of s r_1 ... r_j, values (j + 1) times the
        embeddings; shape (n, stream)."""
        n, length = words.shape
        d, R = self.subjects.shape[1], self.setting.R
        tokens = np.zeros((n, length + 1, self.stream))
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
            widest = max((length + 1) * self.stream, self.layers[length].bias.size, self.setting.N)
            block = max(1, BLOCK // widest)
            for i in range(0, len(answers), block):
                part = slice(i, i + block)
                answers[part] = np.argmax(self.logits(answers[part], asked[part]), axis=1)
            start += length
        return answers

    def weights(self) -> dict[str, FloatArray]:
        """Every weight by name, as dense arrays; `<j>` is the length of the words that a layer answers.

        facts (R, N); subjects (N, d); relations (slots, R, stream), stream = d + slots R; value_scale<j>, a number:
        the value matrix is so many times the identity and the key-query matrix zero; mlp_in<j> (hidden, stream),
        mlp_bias<j> (hidden,), mlp_out<j> (k, hidden); unembedding (N, k). Raises `SettingError` where they are more
        than 2 * 10^7 numbers.
        """
        N, R, k = self.setting.N, self.setting.R, self.codes.shape[1]
        total = self.subjects.size + self.slots * R * self.stream + self.codes.size
        total += sum(layer.bias.size * (self.stream + 1 + k) for layer in self.layers.values())
        if total > MOST_DENSE:
            raise SettingError("N", f"N={N}: this model has {total} weights in dense arrays, and "
                               f"{MOST_DENSE} is the most that is written out; lower N, R, d or hops")
        arrays = {"facts": self.facts.astype(np.float64), "subjects": self.subjects,
                  "relations": np.stack([self.relation_embedding(slot) for slot in range(self.slots)]),
                  "unembedding": self.codes}
        for j, layer in sorted(self.layers.items()):
            arrays[f"value_scale{j}"] = np.array(float(j + 1))
            arrays[f"mlp_in{j}"] = _dense(layer.inward)
            arrays[f"mlp_bias{j}"] = layer.bias
            arrays[f"mlp_out{j}"] = _dense(layer.outward)
        return arrays

    def save(self, path: str) -> None:
        """Write the weights to FILE.npz, or to FILE.json as nested lists. Raises OSError where that fails."""
        check_weights_file(path)
        arrays = self.weights()
        if path.lower().endswith(".npz"):
            with open(path, "wb") as file:
                np.savez_compressed(file, **arrays)  # type: ignore[arg-type]
        else:
            text = json.dumps({name: array.tolist() for name, array in arrays.items()})
            Path(path).write_text(text, encoding="utf-8")


def check_weights_file(path: str) -> None:
    """Raise `SettingError` where a file's name asks for no known format."""
    if Path(path).suffix.lower() not in WEIGHT_FORMATS:
        raise SettingError("weights", f"weights={path!r} must end in one of {', '.join(WEIGHT_FORMATS)}")


def _dense(matrix: FloatArray | sparse.csr_matrix) -> FloatArray:
    return np.asarray(matrix if isinstance(matrix, np.ndarray) else matrix.toarray())
