"""An answer in its three forms, and the blocks of which the one for people is made."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import math
from collections.abc import Sequence
from typing import Any


@dataclasses.dataclass(frozen=True)
class Prose:
    """A paragraph; wrapped between words. `heading` sets it apart, `remark` lets --quiet drop it."""

    text: str
    heading: bool = False
    remark: bool = False


@dataclasses.dataclass(frozen=True)
class Verbatim:
    """Text whose line breaks are its own: LaTeX, code, a script."""

    text: str


@dataclasses.dataclass(frozen=True)
class Column:
    """A column's heading; words may wrap, numbers (the default) stay whole and align right."""

    name: str
    words: bool = False


@dataclasses.dataclass(frozen=True)
class Table:
    """Rows of cells, already text. Rows in `marked` stand out; `groups` counts the leading columns
    that name what a row is about, where the row must be stacked."""

    columns: Sequence[Column]
    rows: Sequence[Sequence[str]]
    title: str = ""
    marked: frozenset[int] = frozenset()
    groups: int = 1
    remark: bool = False


Block = Prose | Verbatim | Table


@dataclasses.dataclass(frozen=True)
class Answer:
    """What a command found: `data` for JSON, `records` for CSV, `blocks` for people. A `document`, a page or a
    picture, is what --output writes in their place."""

    data: dict[str, Any]
    records: Sequence[dict[str, Any]]
    blocks: Sequence[Block]
    exit_code: int = 0
    document: bytes | None = None


def as_json(data: Any) -> str:
    """One JSON object on indented lines, lists of numbers on one; NaN and infinities are null."""
    return _indented(cleaned(data), "") + "\n"


def cleaned(value: Any) -> Any:
    """What JSON can hold: plain lists and numbers, None for NaN and infinities."""
    if isinstance(value, dict):
        return {str(k): cleaned(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [cleaned(v) for v in value]
    if hasattr(value, "tolist"):  # a numpy number or array
        return cleaned(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _indented(value: Any, margin: str) -> str:
    inner = margin + "  "
    if isinstance(value, dict) and value:
        lines = [f"{inner}{json.dumps(k)}: {_indented(v, inner)}" for k, v in value.items()]
        return "{\n" + ",\n".join(lines) + "\n" + margin + "}"
    if isinstance(value, list) and any(isinstance(v, (dict, list)) for v in value):
        return "[\n" + ",\n".join(inner + _indented(v, inner) for v in value) + "\n" + margin + "]"
    return json.dumps(value, allow_nan=False)


def as_csv(records: Sequence[dict[str, Any]]) -> str:
    """A header and one line a record; nested names are joined by dots, missing values are empty."""
    flat = [_flat(record) for record in records]
    names = list(dict.fromkeys(name for record in flat for name in record))
    text = io.StringIO()
    writer = csv.DictWriter(text, names, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(flat)
    return text.getvalue()


def _flat(record: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    out: dict[str, Any] = {}
    for name, value in cleaned(record).items():
        if isinstance(value, dict):
            out |= _flat(value, f"{prefix}{name}.")
        else:
            out[prefix + name] = "" if value is None else value
    return out
