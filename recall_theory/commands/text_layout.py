"""An answer for people: paragraphs and tables as text of a given width.

No number is ever cut: a table that is too wide for a terminal becomes a list, one block a row. A pipe has no width;
there a table is as wide as it needs, and words are wrapped to 80 columns.
"""

from __future__ import annotations

import dataclasses
import itertools
import textwrap
from collections.abc import Callable, Mapping, Sequence

from ..numerics.formatting import NOTHING

DEFAULT_WIDTH = 80  # columns, where no terminal says otherwise
LEAST_WORDS = (16, 8)  # columns that a column of words keeps in a squeezed table; from DEFAULT_WIDTH on the second
GAP = "  "

Format = Callable[..., str]


def words(value: object) -> str:
    """The format of a column of words: it may wrap, and is set to the left."""
    return NOTHING if value is None else str(value)


@dataclasses.dataclass(frozen=True)
class Heading:
    """The question that an answer answers; bold on a terminal."""

    text: str


@dataclasses.dataclass(frozen=True)
class Remark:
    """A paragraph that explains; --quiet drops it."""

    text: str


@dataclasses.dataclass(frozen=True)
class Verbatim:
    """Text whose line breaks are its own: LaTeX, code, a map."""

    text: str


@dataclasses.dataclass(frozen=True)
class Table:
    """Rows of values under headings.

    `columns` gives the format of each heading's values; `words` and nothing else marks a column of words. Rows in
    `marked` are bold; `labels` is the number of leading columns that say what a row is about, where the table becomes
    a list.
    """

    columns: Mapping[str, Format]
    rows: Sequence[Sequence[object]]
    title: str = ""
    marked: frozenset[int] = frozenset()
    labels: int = 1


Block = str | Heading | Remark | Verbatim | Table


def rendered(blocks: Sequence[Block], width: int | None, *, colour: bool = False, quiet: bool = False) -> str:
    """The blocks as text, with an empty line between them; `width` None is no limit."""
    parts = [_block(b, width, colour) for b in blocks if not (quiet and isinstance(b, Remark))]
    return "\n\n".join(p for p in parts if p) + "\n"


def _block(block: Block, width: int | None, colour: bool) -> str:
    columns = width or DEFAULT_WIDTH
    if isinstance(block, Verbatim):
        return block.text.rstrip("\n")
    if isinstance(block, Heading):
        return _bold(_wrapped(block.text, columns), colour)
    if isinstance(block, Table):
        return _table(block, width, colour)
    text = block.text if isinstance(block, Remark) else block
    return "\n".join(_wrapped(line, columns) for line in text.split("\n"))


def _wrapped(line: str, width: int, indent: str = "", hanging: str | None = None) -> str:
    """One paragraph wrapped between words; a word longer than the width stays whole."""
    return textwrap.fill(line, width, initial_indent=indent, subsequent_indent=indent if hanging is None else hanging,
                         break_long_words=False, break_on_hyphens=False)


def _bold(text: str, colour: bool) -> str:
    return "\n".join(f"\x1b[1m{line}\x1b[0m" for line in text.split("\n")) if colour else text


def _table(table: Table, width: int | None, colour: bool) -> str:
    formats = list(table.columns.values())
    rows = [[form(value) for form, value in zip(formats, row, strict=True)] for row in table.rows]
    least_words = LEAST_WORDS[width is None or width >= DEFAULT_WIDTH]
    columns = [_Column(name, form is words, [row[i] for row in rows], least_words)
               for i, (name, form) in enumerate(table.columns.items())]
    least = sum(c.least for c in columns) + len(GAP) * (len(columns) - 1)
    title = _bold(_wrapped(table.title, width or DEFAULT_WIDTH), colour) + "\n" if table.title else ""

    if width is not None and least > width:
        return title + _as_list(table, columns, rows, width, colour)
    return title + _as_table(columns, rows, width or max(DEFAULT_WIDTH, least), table.marked, colour)


class _Column:
    """A column's heading and cells, and the widths between which it can be drawn."""

    def __init__(self, name: str, of_words: bool, cells: Sequence[str], least_words: int):
        self.name, self.of_words = name, of_words
        self.full = max([len(name), *map(len, cells)])
        if of_words:
            longest_word = max((len(w) for cell in [*cells, name] for w in cell.split()), default=1)
            self.least = min(self.full, max(least_words, longest_word))
        else:  # a heading may wrap between its words; the numbers below it may not
            longest_word = max((len(w) for w in name.split()), default=1)
            self.least = max([longest_word, *map(len, cells)])
        self.width = self.least

    def lines(self, cell: str, columns: int) -> list[str]:
        """A cell in so many columns, on as many lines as it takes."""
        parts = textwrap.wrap(cell, columns, break_long_words=False, break_on_hyphens=False) or [""]
        return [part.ljust(columns) if self.of_words else part.rjust(columns) for part in parts]


def _as_table(columns: Sequence[_Column], rows: Sequence[Sequence[str]], width: int, marked: frozenset[int],
              colour: bool) -> str:
    _share(columns, width)
    total = sum(c.width for c in columns) + len(GAP) * (len(columns) - 1)
    drawn = [_bold(_drawn_row(columns, [c.name for c in columns]), colour), "─" * total]
    for i, row in enumerate(rows):
        drawn.append(_bold(_drawn_row(columns, row), colour and i in marked))
    return "\n".join(drawn)


def _share(columns: Sequence[_Column], width: int) -> None:
    """Give what is left of the width to columns of words first, then to headings."""
    left = width - sum(c.width for c in columns) - len(GAP) * (len(columns) - 1)
    for of_words in (True, False):
        growing = [c for c in columns if c.of_words == of_words and c.width < c.full]
        while left > 0 and growing:
            min(growing, key=lambda c: c.width).width += 1
            left -= 1
            growing = [c for c in growing if c.width < c.full]


def _drawn_row(columns: Sequence[_Column], cells: Sequence[str]) -> str:
    parts = [c.lines(cell, c.width) for c, cell in zip(columns, cells, strict=True)]
    blanks = [" " * c.width for c in columns]
    height = max(map(len, parts))
    padded = [part + [blank] * (height - len(part)) for part, blank in zip(parts, blanks, strict=True)]
    return "\n".join(GAP.join(line).rstrip() for line in itertools.islice(zip(*padded, strict=True), height))


def _as_list(table: Table, columns: Sequence[_Column], rows: Sequence[Sequence[str]], width: int,
             colour: bool) -> str:
    """Each row as a block: what it is about, then one line a value."""
    out = []
    for row in rows:
        named = list(zip(columns, row, strict=True))
        about = [cell if c.of_words or not c.name else f"{c.name} {cell}" for c, cell in named[:table.labels] if cell]
        if about:
            out.append(_bold(_wrapped(GAP.join(about), width), colour))
        out += [_list_item(c.name, cell, width) for c, cell in named[table.labels:] if cell]
    return "\n".join(out)


def _list_item(name: str, cell: str, width: int) -> str:
    """"  name: value", or the value on a line of its own where both don't fit."""
    line = f"  {name}: {cell}" if name else f"  {cell}"
    if len(line) <= width:
        return line
    if not name:
        return _wrapped(cell, width, "  ")
    return _wrapped(f"{name}:", width, "  ", "    ") + "\n" + _wrapped(cell, width, "    ")
