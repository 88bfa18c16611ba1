"""A user's own embeddings in place of random ones, and how far from random they are.

`predict` assumes rows iid N(0, I/d): norms near 1 with relative variance 2/d, cosines of size 1/sqrt(d), a flat
spectrum, no common direction. The report sets what the user's matrices show beside what random ones would.
"""

from __future__ import annotations

import dataclasses
import zipfile

import numpy as np
from numpy.typing import ArrayLike

from ..settings import Setting, SettingError
from .data import Embeddings, FloatArray

MATRICES = ("z_in", "z_out", "z_trig")
NORMALISE = ("none", "scale", "rows")
COSINE_ROWS = 1024  # rows a block of the cosine table


@dataclasses.dataclass(frozen=True)
class UserEmbeddings:
    """z_in and z_out (V, d), fixed for all seeds; z_trig (d,) is drawn a seed where it is None."""

    z_in: FloatArray
    z_out: FloatArray
    z_trig: FloatArray | None = None

    def for_seed(self, rng: np.random.Generator) -> Embeddings:
        """The embeddings of one seed: a fresh permutation and, unless given, a fresh trigger whose squared norm is
        that of a typical row of z_in."""
        V, d = self.z_in.shape
        trigger = self.z_trig
        if trigger is None:
            rms = np.sqrt(np.mean(self.z_in**2))  # of an entry
            trigger = rms * rng.standard_normal(d)
        return Embeddings(self.z_in, self.z_out, trigger, rng.permutation(V))


def check_embeddings(value: ArrayLike | tuple[ArrayLike, ...], setting: Setting,
                     normalise: str = "none") -> UserEmbeddings:
    """Check and normalise a user's matrices.

    `value` is (z_in, z_out), (z_in, z_out, z_trig), an array (2, V, d) of both, or one (V, d) for both
    (tied). `normalise` is "none" (as they are), "scale" (one factor a matrix: mean squared norm 1) or
    "rows" (each row to norm 1).

    Raises `SettingError` for a wrong shape, for numbers that are not finite and for rows of zeros that
    can't be normalised.
    """
    if normalise not in NORMALISE:
        raise SettingError("normalise", f"normalise={normalise!r} is not one of {', '.join(NORMALISE)}")
    if isinstance(value, tuple | list) and len(value) in (2, 3) and np.ndim(value[0]) == 2:
        parts: list[ArrayLike] = list(value)
    else:
        array = np.asarray(value)
        parts = [array, array] if array.ndim == 2 else list(array)
    if len(parts) not in (2, 3):
        raise SettingError("embeddings", f"embeddings hold {len(parts)} matrices; give z_in and z_out")
    shapes = ((setting.V, setting.d), (setting.V, setting.d), (setting.d,))
    return UserEmbeddings(*(_checked(name, part, shape, normalise)
                            for name, part, shape in zip(MATRICES, parts, shapes, strict=False)))


def _checked(name: str, part: ArrayLike, shape: tuple[int, ...], normalise: str) -> FloatArray:
    """One matrix as numbers of the right shape, normalised."""
    try:
        array = np.array(part, dtype=float)
    except (TypeError, ValueError):
        raise SettingError("embeddings", f"{name} does not hold numbers") from None
    if array.shape != shape:
        sizes = f"V={shape[0]} and d={shape[1]} need" if len(shape) == 2 else f"d={shape[0]} needs"
        raise SettingError("embeddings", f"{name} has shape {array.shape}; {sizes} {shape}")
    if not np.isfinite(array).all():
        raise SettingError("embeddings", f"{name} holds a number that is not finite")
    if normalise == "none":
        return array
    norms = np.linalg.norm(array, axis=-1, keepdims=True)
    if not norms.all():
        raise SettingError("embeddings", f"{name} has a row of zeros, which can't be normalised")
    return array / (norms if normalise == "rows" else np.sqrt(np.mean(norms**2)))


def load_embeddings(path: str) -> tuple[FloatArray, ...]:
    """Matrices from FILE.npy, of shape (2, V, d) or (V, d), or from FILE.npz with z_in, z_out and perhaps
    z_trig. Raises `SettingError` with one line where the file can't be read as such."""
    try:
        with open(path, "rb") as file:
            loaded = np.load(file, allow_pickle=False)
            if not isinstance(loaded, np.ndarray):
                loaded = dict(loaded)
    except OSError as error:
        raise SettingError("embeddings", f"{path} can't be read: {error.strerror or error}") from None
    except (ValueError, EOFError, zipfile.BadZipFile) as error:
        # NumPy takes what it doesn't know for a pickle, and says how to load one: nobody should.
        reason = "" if "pickle" in str(error) else f": {str(error).splitlines()[0]}"
        raise SettingError("embeddings", f"{path} is not a .npy or .npz file of numbers{reason}") from None
    if isinstance(loaded, np.ndarray):
        if loaded.ndim not in (2, 3) or loaded.dtype.kind not in "fiu":
            raise SettingError("embeddings", f"{path} holds an array of shape {loaded.shape} and type "
                               f"{loaded.dtype}; (2, V, d) or (V, d) numbers are expected")
        return (loaded, loaded) if loaded.ndim == 2 else tuple(loaded)
    missing = [name for name in MATRICES[:2] if name not in loaded]
    if missing:
        raise SettingError("embeddings", f"{path} lacks {' and '.join(missing)}; it has "
                           f"{', '.join(loaded) or 'nothing'}")
    return tuple(loaded[name] for name in MATRICES if name in loaded)


def distance_from_random(embeddings: UserEmbeddings) -> dict[str, dict[str, dict[str, float]]]:
    """For z_in and z_out: each measure as {"value", "random"}, the second for iid N(0, I/d) rows.

    norm: mean norm of a row; norm_cv: its coefficient of variation; coherence_rms and coherence_max: of the
    cosines of pairs; rank: participation ratio (tr C)^2/tr C^2 of the Gram matrix's spectrum; top: share of
    its largest eigenvalue; mean: squared norm of the mean row, in units of a row's.
    """
    return {name: _distances(z) for name, z in (("z_in", embeddings.z_in), ("z_out", embeddings.z_out))}


def _distances(z: FloatArray) -> dict[str, dict[str, float]]:
    V, d = z.shape
    norms = np.linalg.norm(z, axis=1)
    unit = z / np.where(norms > 0, norms, 1)[:, None]
    square_sum, largest = 0.0, 0.0
    for start in range(0, V, COSINE_ROWS):
        cosines = unit[start:start + COSINE_ROWS] @ unit.T
        rows = np.arange(len(cosines))
        cosines[rows, start + rows] = 0
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
    return {name: {"value": float(value), "random": float(random)} for name, (value, random) in measures.items()}
