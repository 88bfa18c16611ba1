"""The weights of a model as named dense arrays, and as a file."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...settings import SettingError
from .model import Model

__all__ = ["FORMATS", "check_file", "save", "weights"]

FORMATS = (".npz", ".json")
MOST_NUMBERS = 2 * 10**7  # in dense arrays; 160 MB


def weights(model: Model) -> dict[str, NDArray[np.float64]]:
    """Every weight by name; `<j>` is the length of the words that a layer answers.

    facts (R, N); subjects (N, d); relations (slots, R, stream), stream = d + slots R; value_scale<j>, a number: the
    value matrix is so many times the identity and the key-query matrix zero; mlp_in<j> (hidden, stream),
    mlp_bias<j> (hidden,), mlp_out<j> (k, hidden); unembedding (N, k).
    """
    stream = model.subjects.shape[1] + model.slots * model.setting.R
    total = model.subjects.size + model.slots * model.setting.R * stream + model.codes.size
    total += sum(layer.bias.size * (stream + 1 + model.codes.shape[1]) for layer in model.layers.values())
    if total > MOST_NUMBERS:
        raise SettingError("N", f"N={model.setting.N}: this model has {total} weights in dense arrays, and "
                           f"{MOST_NUMBERS} is the most that is written out; lower N, R, d or hops")
    arrays = {"facts": model.facts.astype(np.float64), "subjects": model.subjects,
              "relations": np.stack([model.relation_embedding(slot) for slot in range(model.slots)]),
              "unembedding": model.codes}
    for j, layer in sorted(model.layers.items()):
        arrays[f"value_scale{j}"] = np.array(float(j + 1))
        arrays[f"mlp_in{j}"] = _dense(layer.inward)
        arrays[f"mlp_bias{j}"] = layer.bias
        arrays[f"mlp_out{j}"] = _dense(layer.outward)
    return arrays


def _dense(matrix: object) -> NDArray[np.float64]:
    return np.asarray(matrix.toarray() if hasattr(matrix, "toarray") else matrix)


def check_file(path: str) -> None:
    """Raise `SettingError` where a file's name asks for no known format."""
    if Path(path).suffix.lower() not in FORMATS:
        raise SettingError("weights", f"weights={path!r} must end in one of {', '.join(FORMATS)}")


def save(model: Model, path: str) -> None:
    """Write the weights to FILE.npz, or to FILE.json as nested lists. Raises OSError where that fails."""
    check_file(path)
    arrays = weights(model)
    if path.lower().endswith(".npz"):
        with open(path, "wb") as file:
            np.savez_compressed(file, **arrays)  # type: ignore[arg-type]
    else:
        with open(path, "w", encoding="utf-8") as text:
            json.dump({name: array.tolist() for name, array in arrays.items()}, text)
