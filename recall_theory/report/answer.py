"""An answer in its three forms, and the blocks of which the one for people is made."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from ..numerics.plain_data import as_csv, as_json, cleaned  # noqa: F401


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
