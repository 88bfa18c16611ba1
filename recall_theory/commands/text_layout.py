"""An answer for people: paragraphs and tables as text of a given width.

No number is ever cut: a table that is too wide for a terminal becomes a list, one block a row. A pipe has no width;
there a table is as wide as it needs, and words are wrapped to 80 columns.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import re
import textwrap
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from numbers import Integral
from typing import Any

from ..numerics.formatting import NOTHING, count, deviation, number, percent, probability, signed, two_digits
from ..settings import OBSERVABLES

DEFAULT_WIDTH = 80  # columns, where no terminal says otherwise
LEAST_WORDS = (16, 8)  # columns that a column of words keeps in a squeezed table; from DEFAULT_WIDTH on the second
GAPS = ("  ", " ")  # between columns; from DEFAULT_WIDTH on the second where a table would be too wide with the first

HERMITE_PARTS = ("mean", "linear", "quadratic", "higher")  # of an activation
Format = Callable[[Any], str]
IS_NUMBER = re.compile(r" *[<>+−-]?\.?\d\S*( (±|to|%).*)?$")  # text that is set as numbers are
_fill = functools.partial(textwrap.fill, break_long_words=False, break_on_hyphens=False)


class Heading(str):
    """The question that an answer answers; bold on a terminal."""


class Remark(str):
    """A paragraph that explains; --quiet drops it."""


class Verbatim(str):
    """Text whose line breaks are its own: LaTeX, code, a map."""


@dataclasses.dataclass(frozen=True)
class Table:
    """Rows of text under headings.

    `wraps` are the headings of words, which stand to the left and may take several lines; those of `whole` stand to the
    left on one line. Rows in `marked` are bold; `labels` is the number of leading columns that say what a row is about,
    where the table becomes a list. `narrower` is shown instead of a table that is too wide for DEFAULT_WIDTH or more.
    """

    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    title: str = ""
    wraps: Collection[str] = ()
    whole: Collection[str] = ()
    marked: Collection[int] = ()
    labels: int = 1
    narrower: Sequence[Block] = ()


Block = str | Table

# Headings whose numbers are shown in another way than integers as counts and all others to three digits.
FORMATS: dict[str, Format] = {
    **dict.fromkeys((*OBSERVABLES, "predicted", "observed", "simulated", "recall at most", "bound", "coverage bound",
                     "mean", "training accuracy", "law of three steps", "one pass alone", "noisy gradient", "gradient",
                     "three steps"), probability),
    **dict.fromkeys(("std", "se", "predicted std"), deviation),
    **dict.fromkeys(("share", "cells", "reached", *(f"{part} part" for part in HERMITE_PARTS)), percent),
    **dict.fromkeys(("it alone gives", "stored", "here", "facts"), count),
    "difference": signed, "design effect": two_digits,
}


def written(value: Any, form: Format | None = None) -> str:
    """A value as a cell shows it: text as it is, the ends of an interval of probabilities or of text, a number."""
    if isinstance(value, str):
        return value
    if value is None or (isinstance(value, Sequence) and value[0] is None):
        return NOTHING
    if isinstance(value, Sequence):
        return " to ".join(dict.fromkeys(end if isinstance(end, str) else probability(end) for end in value))
    return (form or (count if isinstance(value, Integral) else number))(value)


def table(rows: Iterable[object], columns: str = "", title: str = "", *, whole: Collection[str] = (),
          marked: Collection[int] = (), labels: int = 1) -> Table:
    """A table of mappings or objects, in `columns` "heading=name, name", or with a column for each name of mappings.

    The underscores of a name that is its own heading are shown as spaces. A column in which no row has anything is left
    out. `FORMATS` says how numbers are shown; text among which no number is are words, which wrap but for those of
    `whole`.
    """
    listed = list(rows)
    asked = [each.partition("=")[::2] for each in columns.split(", ")] if columns else []
    if not columns and listed and isinstance(listed[0], Mapping):
        asked = [(name, name) for name in listed[0]]
    found: dict[str, list[Any]] = {}
    for place, (heading, name) in enumerate(asked):
        values = [row[name or heading] if isinstance(row, Mapping) else getattr(row, name or heading) for row in listed]
        if any(value not in (None, "") for value in values):
            found[heading.replace("_", " ")] = values
        else:
            labels -= place < labels
    texts = {heading for heading, values in found.items()
             if all(value is None or (isinstance(value, str) and not IS_NUMBER.match(value)) for value in values)}
    cells = [[written(value, FORMATS.get(heading)) for value in values] for heading, values in found.items()]
    return Table(list(found), list(zip(*cells, strict=True)), title, texts.difference(whole),
                 texts.intersection(whole), marked, labels)


MARK = "*"  # behind a value that is or goes with a prediction outside the domain that was checked


def marked(text: str, remarks: Sequence[str] | None) -> str:
    """The text with a mark where there are remarks on it."""
    return text + MARK if remarks else text


def legend(remarks: Iterable[Sequence[str] | None]) -> list[Block]:
    """What the mark means, where any of the remarks is made; of several the first is shown."""
    made = list(dict.fromkeys(remark for each in remarks for remark in each or ()))
    more = " What there is to say of the others is in --json." if len(made) > 1 else ""
    return [f"{MARK} {made[0]}{more}"] if made else []


def rendered(blocks: Sequence[Block], width: int | None, *, colour: bool = False, quiet: bool = False) -> str:
    """The blocks as text, with an empty line between them; `width` None is no limit."""
    parts = [_block(b, width, colour) for b in blocks if not (quiet and isinstance(b, Remark))]
    return "\n\n".join(filter(None, parts)) + "\n"


def _block(block: Block, width: int | None, colour: bool) -> str:
    if isinstance(block, Table):
        return _table(block, width, colour) if block.headings else ""
    if isinstance(block, Verbatim):
        return block.rstrip("\n")
    text = "\n".join(_fill(line, width or DEFAULT_WIDTH) for line in block.split("\n"))
    return _bold(text, colour and isinstance(block, Heading))


def _bold(text: str, colour: bool) -> str:
    return "\n".join(f"\x1b[1m{line}\x1b[0m" for line in text.split("\n")) if colour else text


def _table(table: Table, width: int | None, colour: bool) -> str:
    is_wide = width is None or width >= DEFAULT_WIDTH
    sides, widths, full = [], [], []  # of each column: its side, at first the least width, that of all on one line
    for heading, *cells in zip(table.headings, *table.rows, strict=True):
        wraps = heading in table.wraps
        # Words may wrap between one another, and so may a heading; the numbers below it may not.
        parts = [*heading.split(), *(part for cell in cells for part in (cell.split() if wraps else [cell]))]
        longest, whole = max(map(len, parts), default=1), max(1, *map(len, [heading, *cells]))
        sides.append("<" if wraps or heading in table.whole else ">")
        widths.append(min(whole, max(longest, LEAST_WORDS[is_wide])) if wraps else longest)
        full.append(whole)

    def total(gap: str) -> int:
        return sum(widths) + len(gap) * (len(widths) - 1)

    available = width or max(DEFAULT_WIDTH, total(GAPS[0]))
    gap = GAPS[is_wide and total(GAPS[0]) > available]
    title = [_bold(_fill(table.title, width or DEFAULT_WIDTH), colour)] if table.title else []
    if total(gap) > available:
        if is_wide and table.narrower:
            return "\n\n".join(_block(block, width, colour) for block in table.narrower)
        return "\n".join([*title, *_list_lines(table, available, colour)])

    for side in "<>":  # what is left goes to columns of words first, then to headings
        while total(gap) < available and (
                growing := [i for i, of in enumerate(sides) if of == side and widths[i] < full[i]]):
            widths[min(growing, key=widths.__getitem__)] += 1

    def drawn(cells: Sequence[str], is_bold: bool) -> str:
        parts = [_fill(cell, width).split("\n") for cell, width in zip(cells, widths, strict=True)]
        lines = (gap.join(f"{part:{side}{width}}" for part, side, width in zip(line, sides, widths, strict=True))
                 for line in itertools.zip_longest(*parts, fillvalue=""))
        return _bold("\n".join(line.rstrip() for line in lines), colour and is_bold)

    rows = [drawn(row, i in table.marked) for i, row in enumerate(table.rows)]
    return "\n".join([*title, drawn(table.headings, True), "─" * total(gap), *rows])


def _list_lines(table: Table, width: int, colour: bool) -> list[str]:
    """Each row as a block: what it is about, then one line a value."""
    texts, lines = {*table.wraps, *table.whole, ""}, []
    for row in table.rows:
        named = [(heading, cell) for heading, cell in zip(table.headings, row, strict=True)]
        about = [cell if heading in texts else f"{heading} {cell}" for heading, cell in named[:table.labels] if cell]
        if about:
            lines.append(_bold(_fill(GAPS[0].join(about), width), colour))
        lines += [_fill(f"{heading}: {cell}" if heading else cell, width, initial_indent="  ", subsequent_indent="    ")
                  for heading, cell in named[table.labels:] if cell]
    return lines
