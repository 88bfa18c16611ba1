"""Plain data, dictionaries and lists of numbers and text, as JSON and as CSV."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Mapping, Sequence

SCHEMA_VERSION = 2  # of every command's JSON: raised once a key is renamed


def as_json(data: object) -> str:
    """One JSON value on indented lines, lists of numbers on one; NaN and infinities are null."""
    return _indented(cleaned(data), "") + "\n"


def cleaned(value: object) -> object:
    """What JSON can hold: plain lists and numbers, None for NaN and infinities."""
    if isinstance(value, Mapping):
        return {str(k): cleaned(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [cleaned(v) for v in value]
    if hasattr(value, "tolist"):  # a numpy number or array
        return cleaned(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _indented(value: object, margin: str) -> str:
    inner = margin + "  "
    if isinstance(value, dict) and value:
        lines = [f"{inner}{json.dumps(k)}: {_indented(v, inner)}" for k, v in value.items()]
        return "{\n" + ",\n".join(lines) + "\n" + margin + "}"
    if isinstance(value, list) and any(isinstance(v, dict | list) for v in value):
        return "[\n" + ",\n".join(inner + _indented(v, inner) for v in value) + "\n" + margin + "]"
    return json.dumps(value, allow_nan=False)


def as_csv(records: Sequence[Mapping[str, object]]) -> str:
    """A header and one line a record; nested names are joined by dots, missing values are empty."""
    flat = [_flat(record) for record in records]
    names = list(dict.fromkeys(name for record in flat for name in record))
    text = io.StringIO()
    writer = csv.DictWriter(text, names, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(flat)
    return text.getvalue()


def _flat(record: Mapping[str, object]) -> dict[str, object]:
    flat: dict[str, object] = {}
    for name, value in record.items():
        plain = cleaned(value)
        if isinstance(plain, dict):
            flat |= {f"{name}.{inner}": v for inner, v in _flat(plain).items()}
        else:
            flat[name] = plain
    return flat
