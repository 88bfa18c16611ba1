"""What a simulation draws: embeddings, the permutation, the fixed layer and the training samples of one seed.

Samples come sorted by label. They are iid, so their order carries nothing, and a group of labels is a run of samples.
Noise tokens come in draws, each from a stream of its own, so that a draw can be repeated instead of being kept.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..activations import Activation, activation
from ..numerics.unit_sphere import random_embeddings
from ..settings import Setting

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]
TokenArray = NDArray[np.unsignedinteger[Any]]

DRAW_TOKENS = 1 << 21  # noise tokens drawn at a time, from a stream of their own
LAYOUT_TOKENS = 1 << 16  # of a draw, so many are for a group of samples, position by position
LAYOUT_ROWS = 1 << 12  # samples of such a group, at most
BLOCK_ROWS = 1 << 16  # samples handed out together, at most
KEEP_BYTES = 1 << 28  # draws are kept, not repeated, while all of them fit in this


def token_type(V: int) -> np.dtype[Any]:
    """The type of integers that tokens are drawn in."""
    return np.dtype(np.uint16 if V <= 1 << 16 else np.uint32)


@dataclasses.dataclass(frozen=True)
class Embeddings:
    """z_in and z_out are (V, d), z_trig is (d,); label[k] = pi(k) is the label of token k."""

    z_in: FloatArray
    z_out: FloatArray
    z_trig: FloatArray
    label: IntArray

    @property
    def u(self) -> FloatArray:
        """(V, d): z_out(pi(k)), the output of each token's label."""
        return self.z_out[self.label]

    @functools.cached_property
    def residuals(self) -> FloatArray:
        """r (V, d): u less its mean over labels, the residual direction at uniform output."""
        return self.u - self.z_out.mean(axis=0)

    def informative_values(self, setting: Setting) -> FloatArray:
        """(V, d): the value at the informative position, of each token."""
        return self._with_trigger if setting.trigger_in_value else self.z_in

    @functools.cached_property
    def _with_trigger(self) -> FloatArray:
        return self.z_in + self.z_trig


@dataclasses.dataclass(frozen=True)
class Mlp:
    """The fixed layer: W_in (m, d), entries iid N(0, 1), and the activation phi."""

    W_in: FloatArray
    phi: Activation

    def part(self, neurons: slice) -> Mlp:
        """The same layer with some of its neurons."""
        return Mlp(self.W_in[neurons], self.phi)

    def steepest(self, longest: float) -> float:
        """A bound on |J|, J the derivative of phi(W_in h)/sqrt(m) in h, for inputs h of at most this norm."""
        reach = float(np.linalg.norm(self.W_in, axis=1).max()) * longest
        slope = float(np.abs(self.phi.derivative(np.linspace(-reach, reach, 1001))).max())
        return slope * float(np.linalg.norm(self.W_in)) / len(self.W_in)**0.5


def draw_mlp(setting: Setting, rng: np.random.Generator) -> Mlp:
    """The layer of one seed."""
    assert setting.m is not None
    return Mlp(rng.standard_normal((setting.m, setting.d)), activation(setting.activation))


def draw_embeddings(setting: Setting, rng: np.random.Generator) -> Embeddings:
    """Embeddings of one seed. With orthogonal ones z_trig is orthogonal too where d > V."""
    z_in, z_out, z_trig = random_embeddings(rng, setting.V, setting.d, setting.embedding)
    return Embeddings(z_in, z_out, z_trig, rng.permutation(setting.V))


@dataclasses.dataclass(frozen=True)
class Block:
    """Neighbouring samples: informative (n,) tokens, which ascend, and noise (n, L-1) tokens."""

    informative: IntArray
    noise: TokenArray


class Samples:
    """The N training samples of one seed, sorted by label. `counts` (V,) are those of the informative tokens."""

    def __init__(self, setting: Setting, seed: np.random.SeedSequence):
        counts_seed, self._noise_seed = seed.spawn(2)
        self.V, self.N, self.noise_length = setting.V, setting.N, setting.L - 1
        self.counts = np.random.default_rng(counts_seed).multinomial(self.N, np.full(self.V, 1.0 / self.V))
        self._starts = np.concatenate([[0], np.cumsum(self.counts)])
        tokens = max(1, self.noise_length)
        self._draw_rows = max(1, DRAW_TOKENS // tokens)
        self._layout_rows = max(1, min(LAYOUT_ROWS, LAYOUT_TOKENS // tokens))
        self._dtype = token_type(self.V)
        self._keeps = self.N * self.noise_length * self._dtype.itemsize <= KEEP_BYTES
        self._held: dict[int, TokenArray] = {}

    def _draw(self, number: int) -> TokenArray:
        """(rows, L-1) noise tokens of one draw, which is kept if all are, else until the next one."""
        if number not in self._held:
            if not self._keeps:
                self._held.clear()
            rows = min(self._draw_rows, self.N - number * self._draw_rows)
            self._held[number] = self._laid_out(self._fresh(number, rows * self.noise_length), rows)
        return self._held[number]

    def _fresh(self, number: int, size: int) -> TokenArray:
        """(size,) noise tokens as the generator gives them."""
        key = (*self._noise_seed.spawn_key, number)
        rng = np.random.default_rng(np.random.SeedSequence(self._noise_seed.entropy, spawn_key=key))
        if self.V & (self.V - 1):
            return rng.integers(self.V, size=size, dtype=self._dtype)
        # V is a power of two: a token is that many of the generator's bits
        words = -(-size * self._dtype.itemsize // 8)
        noise = rng.bit_generator.random_raw(words).view(self._dtype)[:size]
        noise &= self._dtype.type(self.V - 1)
        return noise

    def _laid_out(self, fresh: TokenArray, rows: int) -> TokenArray:
        """The tokens by sample: they are drawn position by position, for some samples at a time."""
        tokens = np.empty((rows, self.noise_length), dtype=self._dtype)
        for start in range(0, rows, self._layout_rows):
            part = tokens[start:start + self._layout_rows]
            part[:] = fresh[start * self.noise_length:][:part.size].reshape(part.shape[::-1]).T
        return tokens

    def _informative(self, start: int, stop: int) -> IntArray:
        """(stop - start,) the informative tokens of samples start..stop, from their counts."""
        first, last = (int(np.searchsorted(self._starts, i, side="right")) for i in (start, stop - 1))
        edges = np.concatenate([[start], self._starts[first:last], [stop]])
        return np.repeat(np.arange(first - 1, last), np.diff(edges))

    def blocks(self, labels: slice | None = None, rows: int = BLOCK_ROWS) -> Iterator[Block]:
        """The samples of a range of informative tokens, or all, in blocks of at most so many rows."""
        start, stop = (0, self.N) if labels is None else self._starts[[labels.start, labels.stop]].tolist()
        while start < stop:
            number, offset = divmod(start, self._draw_rows)
            end = min(stop, start + rows, (number + 1) * self._draw_rows)
            yield Block(self._informative(start, end), self._draw(number)[offset:offset + end - start])
            start = end
