"""Blocks to text, for a given width. No number is ever cut: a table that is too wide is stacked.

A pipe has no width: there tables are as wide as they need, and prose is wrapped for reading.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from .answer import Block, Column, Prose, Table, Verbatim

PROSE_WIDTH = 80
LEAST_WORDS = 16  # columns that a column of words keeps when the table is squeezed
GAP = 2


def text(blocks: Sequence[Block], width: int | None, colour: bool = False, quiet: bool = False) -> str:
    """The blocks as text; `width` None is no limit."""
    parts = [_block(b, width, colour) for b in blocks
             if not (quiet and getattr(b, "remark", False))]
    return "\n\n".join(p for p in parts if p) + "\n"


def _block(block: Block, width: int | None, colour: bool) -> str:
    if isinstance(block, Verbatim):
        return block.text.rstrip("\n")
    if isinstance(block, Prose):
        lines = "\n".join(wrap(line, width or PROSE_WIDTH) for line in block.text.split("\n"))
        return _bold(lines, colour) if block.heading else lines
    title = "" if not block.title else _bold(wrap(block.title, width or PROSE_WIDTH), colour) + "\n"
    if width is not None and _least_width(block) > width:
        return title + _stacked(block, width, colour)
    return title + _laid_out(block, width, colour)


def wrap(line: str, width: int, indent: str = "", hanging: str | None = None) -> str:
    """One paragraph wrapped between words; a word longer than the width stays whole."""
    return textwrap.fill(line, width, initial_indent=indent,
                         subsequent_indent=indent if hanging is None else hanging,
                         break_long_words=False, break_on_hyphens=False) if line else ""


def _bold(line: str, colour: bool) -> str:
    return f"\x1b[1m{line}\x1b[0m" if colour else line


def _widths(table: Table, column: int) -> tuple[int, int]:
    """The least and the full width of a column."""
    c = table.columns[column]
    cells = [row[column] for row in table.rows]
    full = max([len(c.name), *map(len, cells)])
    longest_word = max((len(w) for cell in [*cells, c.name] for w in cell.split()), default=1)
    if c.words:
        return min(full, max(LEAST_WORDS, longest_word)), full
    # A heading may wrap between its words; the numbers below it may not.
    return max([longest_word, *map(len, cells)]), full


def _least_width(table: Table) -> int:
    return sum(_widths(table, i)[0] for i in range(len(table.columns))) + GAP * (len(table.columns) - 1)


def _shares(table: Table, width: int) -> list[int]:
    """The width of each column: what it needs, then words and at last headings share what is left."""
    limits = [_widths(table, i) for i in range(len(table.columns))]
    widths = [least for least, _ in limits]
    left = width - sum(widths) - GAP * (len(widths) - 1)
    for words in (True, False):
        growing = [i for i, c in enumerate(table.columns) if c.words == words and widths[i] < limits[i][1]]
        while left > 0 and growing:
            narrowest = min(growing, key=lambda i: widths[i])
            widths[narrowest] += 1
            left -= 1
            growing = [i for i in growing if widths[i] < limits[i][1]]
    return widths


def _laid_out(table: Table, width: int | None, colour: bool) -> str:
    """The table drawn by rich at widths that are settled here: rich would cut what it can't fit."""
    import io

    from rich import box
    from rich.console import Console
    from rich.table import Table as Grid
    from rich.text import Text

    widths = _shares(table, width or max(PROSE_WIDTH, _least_width(table)))
    grid = Grid(box=box.SIMPLE_HEAD, padding=(0, GAP - 1, 0, 0), collapse_padding=True, pad_edge=False,
                show_edge=False, header_style="bold")
    for c, share in zip(table.columns, widths, strict=True):
        grid.add_column(Text(c.name), justify="left" if c.words else "right", width=share, overflow="fold")
    for i, row in enumerate(table.rows):
        grid.add_row(*(Text(cell) for cell in row), style="bold" if i in table.marked else None)
    target = io.StringIO()
    room = sum(widths) + 2 * GAP * len(widths)
    console = Console(file=target, width=room, force_terminal=colour, legacy_windows=False,
                      color_system="standard" if colour else None, no_color=not colour)
    console.print(grid)
    total = sum(widths) + GAP * (len(widths) - 1)
    lines = [line.rstrip() for line in target.getvalue().rstrip("\n").split("\n")]
    return "\n".join("─" * total if set(line) == {"─"} else line for line in lines)


def _stacked(table: Table, width: int, colour: bool) -> str:
    """Each row as a block: what it is about, then one line a value."""
    out = []
    for row in table.rows:
        named = list(zip(table.columns, row, strict=True))
        about = "  ".join(_label(c, cell) for c, cell in named[:table.groups] if cell)
        if about:
            out.append(_bold(wrap(about, width), colour))
        for c, cell in named[table.groups:]:
            if cell:
                out.append(_line(c.name, cell, width))
    return "\n".join(out)


def _label(column: Column, cell: str) -> str:
    return cell if column.words or not column.name else f"{column.name} {cell}"


def _line(name: str, cell: str, width: int) -> str:
    """"  name: value", or the value on a line of its own where both don't fit."""
    line = f"  {name}: {cell}" if name else f"  {cell}"
    if len(line) <= width:
        return line
    if not name:
        return wrap(cell, width, "  ")
    head = wrap(f"{name}:", width, "  ", "    ")
    return head + "\n" + (f"    {cell}" if len(cell) + 4 <= width else wrap(cell, width, "    "))
