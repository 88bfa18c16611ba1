"""One whole transformer: tokens, positions, a layer of attention, a ReLU MLP and an unembedding, run as it stands.

With t tokens x_u = embedding[token_u] + positions[u] and the last of them asked, head i attends to token u with weight
softmax_u(x_last . K_i x_u) and hands on V_i times the average. The logits are

    unembedding . outward relu(inward (sum of heads) + bias).

There are no skip connections and no normalisation. Constructions that fill it with weights: `recall_theory.geometric.
construction`.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..errors import SettingError

if TYPE_CHECKING:
    from scipy import sparse

FloatArray = NDArray[np.float64]
WeightArray = NDArray[np.float32]
IntArray = NDArray[np.int64]

BLOCK = 2**23  # numbers that a block of queries may take at a time
LEAST_BLOCK = 32  # queries of a block, so that a wide MLP's weights are read less often
MOST_DENSE = 2 * 10**7  # weights that are written out in dense arrays; 80 MB


@dataclasses.dataclass(frozen=True)
class GeometricTransformer:
    """The weights, in single precision.

    `embedding` (tokens, d), `positions` (most tokens of a sequence, d), `key_query` and `value` a (d, d) matrix a head,
    `inward` (width, d), `bias` (width,), `outward` (outputs, width), `unembedding` (answers, outputs). The matrices
    may be sparse. Answer a is token a.
    """

    embedding: WeightArray
    positions: WeightArray
    key_query: tuple[sparse.csr_matrix, ...]
    value: tuple[sparse.csr_matrix, ...]
    inward: WeightArray | sparse.csr_matrix
    bias: WeightArray
    outward: WeightArray | sparse.csr_matrix
    unembedding: WeightArray

    @property
    def d(self) -> int:
        """Coordinates of a token."""
        return self.embedding.shape[1]

    @property
    def width(self) -> int:
        """Hidden units of the MLP."""
        return len(self.bias)

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
        block = max(LEAST_BLOCK, BLOCK // max(tokens.shape[1] * self.d, self.width))
        for i in range(0, len(tokens), block):
            hidden = self.inward @ self.attend(tokens[i:i + block]).T
            hidden += self.bias[:, None]
            np.maximum(hidden, 0, out=hidden)
            logits[i:i + block] = (self.outward @ hidden).T @ self.unembedding.T
        return logits

    def weights(self) -> dict[str, WeightArray]:
        """Every weight by name in dense arrays, those of the heads stacked. Raises `SettingError` where they are more
        than 2 * 10^7 numbers."""
        heads = len(self.key_query) * self.d**2
        total = self.embedding.size + self.unembedding.size + 2 * heads
        total += self.width * (self.d + 1 + self.outward.shape[0])
        if total > MOST_DENSE:
            raise SettingError("output", f"output can't take this model: it has {total:,} weights in "
                               f"dense arrays, and {MOST_DENSE:,} is the most that is written")
        return {"embedding": self.embedding, "positions": self.positions,
                "key_query": np.stack([_dense(head) for head in self.key_query]),
                "value": np.stack([_dense(head) for head in self.value]), "inward": _dense(self.inward),
                "bias": self.bias, "outward": _dense(self.outward), "unembedding": self.unembedding}


def _dense(matrix: WeightArray | sparse.csr_matrix) -> WeightArray:
    return matrix if isinstance(matrix, np.ndarray) else np.asarray(matrix.toarray())
