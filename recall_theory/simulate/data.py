"""What a simulation draws or is given: embeddings, the permutation, the fixed layer and the samples of one seed.

Samples come sorted by label. They are iid, so their order carries nothing, and a group of labels is a run of samples.
Noise tokens come in draws, each from a stream of its own, so that a draw can be repeated instead of being kept.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..activations import Activation, activation
from ..numerics.arrays import FloatArray, Rows
from ..numerics.unit_sphere import random_embeddings
from ..settings import Setting, SettingError
from . import loops
from .loops import fast_activation

IntArray = NDArray[np.intp]
TokenArray = NDArray[np.unsignedinteger[Any]]
Entry = TypeVar("Entry", bound=np.generic)

DRAW_TOKENS = 1 << 21  # noise tokens drawn at a time, from a stream of their own
LAYOUT_TOKENS = 1 << 16  # of a draw, so many are for a group of samples, position by position
LAYOUT_ROWS = 1 << 12  # samples of such a group, at most
BLOCK_ROWS = 1 << 16  # samples handed out together, at most
REACH = np.linspace(-1, 1, 1001)[None]  # of inputs, where slopes are looked at
KEEP_BYTES = 1 << 28  # draws are kept, not repeated, while all of them fit in this


def token_type(V: int) -> np.dtype[Any]:
    """The type of integers that tokens are drawn in."""
    return np.dtype(np.uint16 if V <= 1 << 16 else np.uint32)


def in_parts(array: NDArray[Entry], rows: int) -> list[NDArray[Entry]]:
    """The array, so many rows at a time, one at least."""
    rows = max(1, rows)
    return [array[start:start + rows] for start in range(0, max(1, len(array)), rows)]


@dataclasses.dataclass(frozen=True)
class Embeddings:
    """z_in and z_out are (V, d), z_trig is (d,); label[k] = pi(k) is the label of token k."""

    z_in: FloatArray
    z_out: FloatArray
    z_trig: FloatArray
    label: IntArray

    @functools.cached_property
    def u(self) -> FloatArray:
        """(V, d): z_out(pi(k)), the output of each token's label."""
        return self.z_out[self.label]

    @functools.cached_property
    def residuals(self) -> FloatArray:
        """r (V, d): u less its mean over labels, the residual direction at uniform output."""
        return self.u - self.z_out.mean(axis=0)

    def informative_values(self, setting: Setting) -> FloatArray:
        """(V, d): the value at the informative position, of each token."""
        return self.z_in + self.z_trig if setting.trigger_in_value else self.z_in


@dataclasses.dataclass(frozen=True)
class Mlp:
    """Neurons of the fixed layer: W_in (m, d), entries iid N(0, 1), and the activation phi."""

    W_in: FloatArray
    phi: Activation

    def features(self, h: FloatArray) -> FloatArray:
        """phi(W_in h) (n, m) of inputs h (n, d)."""
        return fast_activation(self.phi)[0](h @ self.W_in.T)

    def parts(self, width: int) -> list[Mlp]:
        """The layer in parts of at most so many neurons, one at least."""
        return [Mlp(rows, self.phi) for rows in in_parts(self.W_in, width)]

    def steepest(self, longest: float) -> float:
        """A bound on |J|, J the derivative of phi(W_in h)/sqrt(m) in h, for inputs h of at most this norm."""
        slope = np.abs(fast_activation(self.phi)[1](loops.longest(self.W_in) * longest * REACH)).max()
        return float(slope * np.linalg.norm(self.W_in)) / len(self.W_in)**0.5


def draw_mlp(setting: Setting, rng: np.random.Generator) -> Mlp:
    """The layer of one seed."""
    assert setting.m is not None
    return Mlp(rng.standard_normal((setting.m, setting.d)), activation(setting.activation))


def draw_embeddings(setting: Setting, rng: np.random.Generator) -> Embeddings:
    """Embeddings of one seed. With orthogonal ones z_trig is orthogonal too where d > V."""
    z_in, z_out, z_trig = random_embeddings(rng, setting.V, setting.d, setting.embedding)
    return Embeddings(z_in, z_out, z_trig, rng.permutation(setting.V))


@dataclasses.dataclass(frozen=True)
class Block(Rows):
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
        self._last: tuple[tuple[int, int], Block] | None = None  # of few samples the only one

    def _draw(self, number: int) -> TokenArray:
        """(rows, L-1) noise tokens of one draw, which is kept if all are, else until the next one.

        They are drawn position by position, for some samples at a time.
        """
        if number not in self._held:
            if not self._keeps:
                self._held.clear()
            rows = min(self._draw_rows, self.N - number * self._draw_rows)
            fresh = self._fresh(number, rows * self.noise_length)
            tokens = np.empty((rows, self.noise_length), dtype=self._dtype)
            for start in range(0, rows, self._layout_rows):
                part = tokens[start:start + self._layout_rows]
                part[:] = fresh[start * self.noise_length:][:part.size].reshape(part.shape[::-1]).T
            self._held[number] = tokens
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

    def blocks(self, labels: slice | None = None, rows: int = BLOCK_ROWS) -> Iterator[Block]:
        """The samples of a range of informative tokens, or all, in blocks of at most so many rows."""
        start, stop = (0, self.N) if labels is None else self._starts[[labels.start, labels.stop]].tolist()
        while start < stop:
            number, offset = divmod(start, self._draw_rows)
            end = min(stop, start + rows, (number + 1) * self._draw_rows)
            if self._last is None or self._last[0] != (start, end):
                first, last = np.searchsorted(self._starts, (start, end - 1), side="right").tolist()
                edges = np.concatenate([[start], self._starts[first:last], [end]])
                informative = np.repeat(np.arange(first - 1, last), np.diff(edges))
                self._last = (start, end), Block(informative, self._draw(number)[offset:offset + end - start])
            yield self._last[1]
            start = end


# --- a user's own embeddings --------------------------------------------------------------------------------

MATRICES = ("z_in", "z_out", "z_trig")
NORMALISE = ("none", "scale", "rows")
COSINE_ROWS = 1024  # rows a block of the cosine table

Matrices = ArrayLike | tuple[ArrayLike, ...]


@dataclasses.dataclass(frozen=True)
class UserEmbeddings:
    """z_in and z_out (V, d), fixed for all seeds; z_trig (d,) is drawn a seed where it is None."""

    z_in: FloatArray
    z_out: FloatArray
    z_trig: FloatArray | None = None

    def for_seed(self, rng: np.random.Generator) -> Embeddings:
        """The embeddings of one seed: a fresh permutation and, unless given, a fresh trigger whose squared norm is
        that of a typical row of z_in."""
        trigger = self.z_trig
        if trigger is None:
            trigger = np.sqrt(np.mean(self.z_in**2)) * rng.standard_normal(self.z_in.shape[1])
        return Embeddings(self.z_in, self.z_out, trigger, rng.permutation(len(self.z_in)))


def check_embeddings(value: Matrices, setting: Setting, normalise: str = "none") -> UserEmbeddings:
    """Check and normalise a user's matrices.

    `value` is (z_in, z_out), (z_in, z_out, z_trig), an array (2, V, d) of both, or one (V, d) for both (tied).
    `normalise` is "none" (as they are), "scale" (one factor a matrix: mean squared norm 1) or "rows" (each row to norm
    1).

    Raises `SettingError` for a wrong shape, for what is no finite real number and for rows of zeros that can't be
    normalised.
    """
    if normalise not in NORMALISE:
        raise SettingError("normalise", f"normalise={normalise!r} is not one of {', '.join(NORMALISE)}")
    parts: list[Any] = list(value) if np.iterable(value) else [value]
    if parts and np.ndim(parts[0]) == 1:
        parts = [value, value]
    if len(parts) not in (2, 3):
        raise SettingError("embeddings", f"embeddings hold {len(parts)} matrices; give z_in and z_out")

    checked = []
    shapes = ((setting.V, setting.d), (setting.V, setting.d), (setting.d,))
    for name, part, shape in zip(MATRICES, parts, shapes, strict=False):
        try:
            array = np.array(part).astype(float, casting="same_kind")  # no text, no complex numbers
        except (TypeError, ValueError):
            raise SettingError("embeddings", f"{name} does not hold numbers") from None
        if array.shape != shape:
            sizes = f"V={shape[0]} and d={shape[1]} need" if len(shape) == 2 else f"d={shape[0]} needs"
            raise SettingError("embeddings", f"{name} has shape {array.shape}; {sizes} {shape}")
        if not np.isfinite(array).all():
            raise SettingError("embeddings", f"{name} holds a number that is not finite")
        if normalise != "none":
            norms = np.linalg.norm(array, axis=-1, keepdims=True)
            if not norms.all():
                raise SettingError("embeddings", f"{name} has a row of zeros, which can't be normalised")
            array = array / (norms if normalise == "rows" else np.sqrt(np.mean(norms**2)))
        checked.append(array)
    return UserEmbeddings(*checked)


def load_embeddings(path: str) -> Matrices:
    """What FILE.npy holds, or z_in, z_out and perhaps z_trig of FILE.npz, for `check_embeddings`.

    Raises `SettingError` with one line where the file can't be read as such.
    """
    try:
        with open(path, "rb") as file:
            loaded = np.load(file, allow_pickle=False)
            if isinstance(loaded, np.ndarray):
                return loaded
            held = dict(loaded)
    except OSError as error:
        raise SettingError("embeddings", f"{path} can't be read: {error.strerror or error}") from None
    except Exception as error:  # of NumPy, or of what unpacks the file
        # NumPy takes what it doesn't know for a pickle, and says how to load one: nobody should.
        reason = "" if "pickle" in str(error) else f": {str(error).partition(chr(10))[0]}"
        raise SettingError("embeddings", f"{path} is not a .npy or .npz file of numbers{reason}") from None
    missing = [name for name in MATRICES[:2] if name not in held]
    if missing:
        raise SettingError("embeddings", f"{path} lacks {' and '.join(missing)}; it has {', '.join(held) or 'nothing'}")
    return tuple(held[name] for name in MATRICES if name in held)


def distance_from_random(embeddings: UserEmbeddings) -> dict[str, dict[str, dict[str, float]]]:
    """How far z_in and z_out are from the random rows that predictions assume.

    Each measure is {"value", "random"}, the second for iid N(0, I/d) rows. norm: mean norm of a row; norm_cv: its
    coefficient of variation; coherence_rms and coherence_max: of the cosines of pairs; rank: participation ratio
    (tr C)^2/tr C^2 of the Gram matrix's spectrum; top: share of its largest eigenvalue; mean: squared norm of the mean
    row, in units of a row's.
    """
    report = {}
    for name, z in (("z_in", embeddings.z_in), ("z_out", embeddings.z_out)):
        V, d = z.shape
        norms = np.linalg.norm(z, axis=1)
        unit = z / np.where(norms > 0, norms, 1)[:, None]
        square_sum, largest = 0.0, 0.0
        for start in range(0, V, COSINE_ROWS):
            cosines = unit[start:start + COSINE_ROWS] @ unit.T
            np.fill_diagonal(cosines[:, start:], 0)
            square_sum += float(np.sum(cosines**2))
            largest = max(largest, float(np.abs(cosines).max()))

        pairs = V * (V - 1)
        spectrum = np.linalg.eigvalsh(z.T @ z if d <= V else z @ z.T)
        total = float(spectrum.sum()) or 1.0
        measures = {
            "norm": (norms.mean(), 1.0),
            "norm_cv": (norms.std() / (norms.mean() or 1.0), np.sqrt(1 / (2 * d))),
            "coherence_rms": (np.sqrt(square_sum / pairs), np.sqrt(1 / d)),
            "coherence_max": (largest, min(1.0, np.sqrt(2 * np.log(pairs) / d))),
            "rank": (total**2 / float((spectrum**2).sum() or 1.0), V * d / (V + d + 1)),
            "top": (spectrum[-1] / total, (1 + np.sqrt(d / V)) ** 2 / d),
            "mean": (np.sum(z.mean(axis=0) ** 2) / (np.mean(norms**2) or 1.0), 1 / V),
        }
        report[name] = {measure: {"value": float(value), "random": float(random)}
                        for measure, (value, random) in measures.items()}
    return report
