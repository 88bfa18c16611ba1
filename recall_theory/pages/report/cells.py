"""The table of all comparisons. What a mark in a figure says is its row in here."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import Any

from ...report.numbers import NOTHING, count, deviation, number, probability, signed
from ...report.verify import detectable, variant, verdict
from ...sweep.analysis import limited_by
from ...sweep.store_summary import Findings
from ...verification.results import Cell, Comparison
from .section import Section, verdict_word

MOST = 300  # cells in the table and in figures; `report --csv` and `--json` have all

Text = Callable[[Cell, str, Comparison], tuple[str, Any]]  # what is shown, and what is sorted by


def _size(name: str) -> Text:
    return lambda cell, o, c: (count(getattr(cell.setting, name)), getattr(cell.setting, name))


def _interval(c: Comparison) -> str:
    return f"{signed(c.low)} to {signed(c.high)}" if len(c.observed.values) > 1 else "none"


COLUMNS: dict[str, Text] = {
    "V": _size("V"), "L": _size("L"), "d": _size("d"), "N": _size("N"),
    "variant": lambda cell, o, c: (variant(cell), None),
    "observable": lambda cell, o, c: (o, None),
    "predicted": lambda cell, o, c: (probability(c.predicted), c.predicted),
    "observed": lambda cell, o, c: (probability(c.observed.mean), c.observed.mean),
    "difference": lambda cell, o, c: (signed(c.difference), c.difference),
    "its interval": lambda cell, o, c: (_interval(c), c.high - c.low),
    "verdict": lambda cell, o, c: (verdict(c), None),
    "limited by": lambda cell, o, c: (limited_by(cell), None),
    "seeds": lambda cell, o, c: (count(cell.seeds), cell.seeds),
    "standard error": lambda cell, o, c: (deviation(c.observed.se), c.observed.se),
    "interval by": lambda cell, o, c: (c.method if len(c.observed.values) > 1 else NOTHING, None),
    "design effect": lambda cell, o, c: (number(c.design_effect, 2), c.design_effect),
    "detectable bias": lambda cell, o, c: (detectable(c), c.detectable),
}
WORDS = ("variant", "observable", "interval by", "limited by", "verdict")
# What a mark in a figure tells, beside where it stands.
TOLD = ("predicted", "observed", "standard error", "difference", "its interval", "seeds", "limited by", "verdict")


def shown(found: Findings) -> list[int]:
    """The cells in the table: all of them, or those that disagree and then the first ones."""
    cells = found.evidence.cells
    if len(cells) <= MOST:
        return list(range(len(cells)))
    order = sorted(range(len(cells)), key=lambda i: all(c.verdict != "disagree" for c in cells[i].comparisons.values()))
    return sorted(order[:MOST])


def section(found: Findings) -> Section | None:
    """The table with its caption."""
    cells = found.evidence.cells
    if not cells:
        return None
    alike = len({variant(cell) for cell in cells}) == 1
    columns = {name: text for name, text in COLUMNS.items() if not (alike and name == "variant")}
    rows = []
    for i in shown(found):
        for o, c in cells[i].comparisons.items():
            data = "".join(_cell(name, *text(cells[i], o, c), c) for name, text in columns.items())
            rows.append(f'<tr data-of="{i} {o}">{data}</tr>')
    heads = "".join(f'<th scope="col"{" class=words" * (n in WORDS)}{" data-told" * (n in TOLD)}>{n}</th>'
                    for n in columns)
    some = "" if len(cells) <= MOST else (
        f" These are {MOST:,} of {len(cells):,} cells: all that disagree, as far as there is room, then the first "
        "ones. The verdict is on all; <code>recall-theory report --csv</code> lists all.")
    what = f" ({variant(cells[0])})" if alike else ""
    body = (f"<p>Every comparison{what}; a click on a heading sorts. The interval is that of the difference, "
            f"observed − predicted.{some}</p>"
            '<div class="scroll cells" role="region" aria-label="All comparisons" tabindex="0"><table id="cells">'
            '<caption class="hidden">Predicted and observed in every cell, with the interval over seeds of the '
            f"difference, and the verdict</caption><thead><tr>{heads}</tr></thead>"
            f"<tbody>{''.join(rows)}</tbody></table></div>")
    return Section("comparisons", "Table", "All comparisons", body)


def _cell(name: str, text: str, value: Any, c: Comparison) -> str:
    kind = ' class="words"' if name in WORDS else ""
    by = "" if value is None or value != value else f' data-v="{value!r}"'
    inner = escape(text)
    if name == "verdict":
        inner = verdict_word(c.verdict) + escape(text.removeprefix(c.verdict))
    return f"<td{kind}{by}>{inner}</td>"


def label(found: Findings, cell: int, observable: str) -> tuple[str, str]:
    """The verdict of a comparison, and all of it in one line: what a mark says to those who hear it."""
    c = found.evidence.cells[cell].comparisons[observable]
    said = {name: text(found.evidence.cells[cell], observable, c)[0] for name, text in COLUMNS.items()}
    return c.verdict, (f"{observable} at {_where(said)}: predicted {said['predicted']}, observed {said['observed']}, "
                       f"interval of the difference {said['its interval']}, {said['verdict']}")


def _where(said: dict[str, str]) -> str:
    return ", ".join([*(f"{name} = {said[name]}" for name in ("V", "L", "d", "N")), said["variant"]])
