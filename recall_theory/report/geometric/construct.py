"""A model written down: its parts, what it recalls, and its weights where they are asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...settings import SettingError
from ..answer import Answer, Block, Column, Prose, Table, Verbatim
from ..numbers import count, plural, probability
from .predict import describe

if TYPE_CHECKING:
    import numpy as np

    from ...geometric.geometric_transformer import GeometricTransformer

MOST_SHOWN = 20_000  # numbers on a screen


def answer(model: GeometricTransformer, seed: int, recall: float, arrays: dict[str, np.ndarray] | None,
           file: str | None) -> Answer:
    """The model in its three forms; `arrays` are its weights, for --show."""
    shown = sum(array.size for array in arrays.values()) if arrays else 0
    if shown > MOST_SHOWN:
        raise SettingError("show", f"{shown} weights are too many to show (at most {MOST_SHOWN}); --weights FILE "
                           "writes them to a file")
    parts = _parts(model)
    data: dict[str, Any] = {"schema_version": 1, "setting": model.setting.to_dict(), "seed": seed, "recall": recall,
                            "parts": [{"name": n, "shape": list(shape), "depends_on_facts": facts}
                                      for n, shape, facts, _ in parts], "file": file}
    if arrays:
        data["weights"] = {name: array.tolist() for name, array in arrays.items()}
    records = [{"part": n, "shape": " x ".join(map(str, shape)), "depends_on_facts": facts}
               for n, shape, facts, _ in parts]
    return Answer(data, records, _blocks(model, seed, recall, parts, arrays, file))


Part = tuple[str, tuple[int, ...], bool, str]


def _parts(model: GeometricTransformer) -> list[Part]:
    """Name, shape, whether it depends on the facts, and what it is."""
    stream = model.subjects.shape[1] + model.slots * model.setting.R
    parts: list[Part] = [
        ("subject embeddings", model.subjects.shape, True, "codes of the subject's attributes, superposed"),
        ("relation embeddings", (model.slots, model.setting.R, stream), False, "one-hot, a slot a relation asked"),
        ("attention", (stream, stream), False, "key-query zero; values the identity times the tokens' number"),
    ]
    for j, layer in sorted(model.layers.items()):
        parts += [(f"MLP in, {plural(j, 'relation')}", layer.inward.shape, False, "reads each word's code, gated"),
                  (f"MLP bias, {plural(j, 'relation')}", layer.bias.shape, False, "a gate opens if all slots agree"),
                  (f"MLP out, {plural(j, 'relation')}", layer.outward.shape, False, "the code of the answer")]
    return [*parts, ("unembedding", model.codes.shape, False, "the codes of all attributes")]


def _blocks(model: GeometricTransformer, seed: int, recall: float, parts: list[Part],
            arrays: dict[str, np.ndarray] | None, file: str | None) -> list[Block]:
    blocks: list[Block] = [
        Prose(f"A layer that holds {describe(model.setting)}", heading=True),
        Table([Column("part", words=True), Column("shape"), Column("depends on facts", words=True),
               Column("", words=True)],
              [(name, " x ".join(count(n) for n in shape), "yes" if facts else "no", words)
               for name, shape, facts, words in parts]),
        Prose(f"Run on its facts (--seed {seed}), it recalls {probability(recall)}."),
    ]
    if file is not None:
        blocks.append(Prose(f"Weights written to {file}."))
    for name, array in (arrays or {}).items():
        blocks.append(Verbatim(f"{name}, {' x '.join(map(str, array.shape)) or 'a number'}\n{_written(array)}"))
    return blocks


def _written(array: np.ndarray) -> str:
    """A matrix, a row a line, at four digits; a stack of matrices one after the other."""
    if array.ndim == 0:
        return f"{float(array):g}"
    if array.ndim == 1:
        return " ".join(f"{x:g}" for x in array)
    if array.ndim == 3:
        return "\n\n".join(_written(part) for part in array)
    cells = [[f"{x:.4g}" for x in row] for row in array]
    width = max((len(c) for row in cells for c in row), default=1)
    return "\n".join(" ".join(c.rjust(width) for c in row) for row in cells)
