"""An answer for people: paragraphs and tables as text of a given width.

No number is ever cut: a table that is too wide for a terminal becomes a list, one block a row. A pipe has no width;
there a table is as wide as it needs, and words are wrapped to 80 columns.
"""

from __future__ import annotations

import dataclasses
import itertools
import textwrap
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from ..numerics.formatting import NOTHING, count, deviation, number, percent, probability, signed, two_digits
from ..settings import OBSERVABLES

DEFAULT_WIDTH = 80  # columns, where no terminal says otherwise
LEAST_WORDS = (16, 8)  # columns that a column of words keeps in a squeezed table; from DEFAULT_WIDTH on the second
GAPS = ("  ", " ")  # between columns; from DEFAULT_WIDTH on the second where a table would be too wide with the first

Format = Callable[..., str]


def words(value: object) -> str:
    """The format of a column of words: it may wrap, and is set to the left."""
    return NOTHING if value is None else str(value)


def label(value: object) -> str:
    """As `words`, but on one line."""
    return words(value)


def between(ends: Sequence[float | None]) -> str:
    """The format of intervals of probabilities."""
    return NOTHING if ends[0] is None else " to ".join(map(probability, ends))


class Heading(str):
    """The question that an answer answers; bold on a terminal."""


class Remark(str):
    """A paragraph that explains; --quiet drops it."""


class Verbatim(str):
    """Text whose line breaks are its own: LaTeX, code, a map."""


@dataclasses.dataclass(frozen=True)
class Table:
    """Rows of values under headings.

    `columns` gives the format of each heading's values; `words` or `label` and nothing else marks a column of words.
    Rows in `marked` are bold; `labels` is the number of leading columns that say what a row is about, where the table
    becomes a list. `narrower` is shown instead of a table that is too wide for DEFAULT_WIDTH or more.
    """

    columns: Mapping[str, Format]
    rows: Sequence[Sequence[object]]
    title: str = ""
    marked: Collection[int] = ()
    labels: int = 1
    narrower: Sequence[Block] = ()


# The format of numbers by their heading. Text in such a column is shown as it is, to the right.
FORMATS: dict[str, Format] = {
    **dict.fromkeys((*OBSERVABLES, "predicted", "observed", "simulated", "recall at most", "coverage bound",
                     "best assignment", "matched filter", "argmax, in noise", "argmax", "three steps",
                     "predicted recall", "mean"), probability),
    **dict.fromkeys(("std", "std over seeds", "se", "predicted std"), deviation),
    **dict.fromkeys(("V", "L", "d", "N", "m", "facts", "facts V", "it alone gives", "here", "stored", "largest V"),
                    count),
    **dict.fromkeys(("cells", "reached", "linear", "quadratic", "higher"), percent),
    **dict.fromkeys(("design effect", "standard error"), two_digits),
    "difference": signed,
    "95 % interval": between,
    **dict.fromkeys(("share", "samples N", "N/V", "one seed", "least N", "there is", "it takes", "longest L",
                     "by the leading law", "it requires", "detectable bias", "shape", "random",
                     "orthogonal", "N, random", "N, orthogonal"), number),
}


def table(rows: Iterable[Mapping[str, object]], title: str = "", *, formats: Mapping[str, Format] | None = None,
          marked: Collection[int] = (), labels: int = 1) -> Table:
    """A table of rows that name their values; the format of each comes from its heading, or from `formats`.

    Under any other heading numbers are shown to three digits, and text is words.
    """
    listed = list(rows)
    known = {**FORMATS, **(formats or {})}
    columns: dict[str, Format] = {}
    for heading in listed[0] if listed else ():
        values = [row[heading] for row in listed if row[heading] is not None]
        is_text = bool(values) and all(isinstance(value, str) for value in values)
        columns[heading] = known.get(heading) or (words if is_text else number)
    return Table(columns, [list(row.values()) for row in listed], title, marked, labels)


MARK = "*"  # behind a value that is or goes with a prediction outside the domain that was checked


def marked(text: str, remarks: Sequence[str] | None) -> str:
    """The text with a mark where there are remarks on it."""
    return text + MARK if remarks else text


def legend(remarks: Iterable[Sequence[str] | None]) -> list[Block]:
    """What the mark means, where any of the remarks is made; of several the first is shown."""
    made = list(dict.fromkeys(remark for each in remarks for remark in each or ()))
    more = " What there is to say of the others is in --json." if len(made) > 1 else ""
    return [f"{MARK} {made[0]}{more}"] if made else []


Block = str | Table


def rendered(blocks: Sequence[Block], width: int | None, *, colour: bool = False, quiet: bool = False) -> str:
    """The blocks as text, with an empty line between them; `width` None is no limit."""
    parts = [_block(b, width, colour) for b in blocks if not (quiet and isinstance(b, Remark))]
    return "\n\n".join(filter(None, parts)) + "\n"


def _block(block: Block, width: int | None, colour: bool) -> str:
    columns = width or DEFAULT_WIDTH
    if isinstance(block, Verbatim):
        return block.rstrip("\n")
    if isinstance(block, Heading):
        return _bold(_wrapped(block, columns), colour)
    if isinstance(block, Table):
        return _table(block, width, colour)
    return "\n".join(_wrapped(line, columns) for line in block.split("\n"))


def _wrapped(line: str, width: int, indent: str = "", hanging: str | None = None) -> str:
    """One paragraph wrapped between words; a word longer than the width stays whole."""
    return textwrap.fill(line, width, initial_indent=indent, subsequent_indent=indent if hanging is None else hanging,
                         break_long_words=False, break_on_hyphens=False)


def _bold(text: str, colour: bool) -> str:
    return "\n".join(f"\x1b[1m{line}\x1b[0m" for line in text.split("\n")) if colour else text


def _table(table: Table, width: int | None, colour: bool) -> str:
    if not table.columns:
        return ""
    is_wide = width is None or width >= DEFAULT_WIDTH
    rows = [[value if isinstance(value, str) else form(value)
             for form, value in zip(table.columns.values(), row, strict=True)] for row in table.rows]
    columns = [_Column(name, form, [row[i] for row in rows], LEAST_WORDS[is_wide])
               for i, (name, form) in enumerate(table.columns.items())]

    def total(gap: str) -> int:
        return sum(c.width for c in columns) + len(gap) * (len(columns) - 1)

    available = max(DEFAULT_WIDTH, total(GAPS[0])) if width is None else width
    gap = GAPS[is_wide and total(GAPS[0]) > available]
    lines = [_bold(_wrapped(table.title, width or DEFAULT_WIDTH), colour)] if table.title else []
    if total(gap) > available:
        if is_wide and table.narrower:
            return "\n\n".join(_block(block, width, colour) for block in table.narrower)
        return "\n".join([*lines, *_list_lines(table.labels, columns, rows, available, colour)])

    for of_words in (True, False):  # what is left goes to columns of words first, then to headings
        while total(gap) < available and (
                growing := [c for c in columns if c.of_words == of_words and c.width < c.full]):
            min(growing, key=lambda c: c.width).width += 1
    lines += [_bold(_drawn_row(columns, [c.name for c in columns], gap), colour), "─" * total(gap)]
    lines += [_bold(_drawn_row(columns, row, gap), colour and i in table.marked) for i, row in enumerate(rows)]
    return "\n".join(lines)


class _Column:
    """A column's heading, its width, at first the least that it can have, and the full width of its cells."""

    def __init__(self, name: str, form: Format, cells: Sequence[str], least_words: int):
        self.name, self.of_words, wraps = name, form in (words, label), form is words
        self.full = max(1, *map(len, [name, *cells]))
        # Words may wrap between one another, and so may a heading; the numbers below it may not.
        parts = [word for cell in [name, *cells] for word in cell.split()] if wraps else [*name.split(), *cells]
        longest = max(map(len, parts), default=1)
        self.width = min(self.full, max(least_words, longest)) if wraps else longest

    def lines(self, cell: str) -> list[str]:
        """A cell in the column's width, on as many lines as it takes."""
        parts = textwrap.wrap(cell, self.width, break_long_words=False, break_on_hyphens=False) or [""]
        return [part.ljust(self.width) if self.of_words else part.rjust(self.width) for part in parts]


def _drawn_row(columns: Sequence[_Column], cells: Sequence[str], gap: str) -> str:
    parts = [c.lines(cell) for c, cell in zip(columns, cells, strict=True)]
    lines = itertools.zip_longest(*parts)
    return "\n".join(gap.join(part or " " * c.width for c, part in zip(columns, line, strict=True)).rstrip()
                     for line in lines)


def _list_lines(labels: int, columns: Sequence[_Column], rows: Sequence[Sequence[str]], width: int,
                colour: bool) -> list[str]:
    """Each row as a block: what it is about, then one line a value."""
    lines = []
    for row in rows:
        named = list(zip(columns, row, strict=True))
        about = [cell if c.of_words or not c.name else f"{c.name} {cell}" for c, cell in named[:labels] if cell]
        if about:
            lines.append(_bold(_wrapped(GAPS[0].join(about), width), colour))
        lines += [_list_item(c.name, cell, width) for c, cell in named[labels:] if cell]
    return lines


def _list_item(name: str, cell: str, width: int) -> str:
    """"  name: value", or the value on a line of its own where both don't fit."""
    line = f"  {name}: {cell}" if name else f"  {cell}"
    if len(line) <= width:
        return line
    if not name:
        return _wrapped(cell, width, "  ")
    return _wrapped(f"{name}:", width, "  ", "    ") + "\n" + _wrapped(cell, width, "    ")
