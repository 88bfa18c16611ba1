"""The figures of the page: predicted against observed, and residuals."""

from __future__ import annotations

import functools
from collections.abc import Callable
from html import escape
from typing import Any

from ...figures import agreement, residuals
from ...figures.style import rendered
from ...simulate.observables import OBSERVABLES
from ...sweep.store_summary import Findings
from ...verification.results import Cell
from . import cells
from .section import Section
from .svg import inline

Make = Callable[[Any], Any]


def sections(found: Findings) -> list[Section]:
    """Agreement and residuals; none where no cell has a prediction."""
    if not found.evidence.cells:
        return []
    return [_agreement(found), *_residuals(found)]


def figure(found: Findings, name: str, make: Make, words: str, caption: str) -> str:
    """A <figure>: drawn by `make(pyplot)`, told by `words` to those who don't see it."""
    drawn = inline(rendered(make, "svg"), name, words, functools.partial(cells.label, found))
    return f'<figure id="{name}">{drawn}<figcaption>{escape(caption)}</figcaption></figure>'


def chosen(found: Findings) -> dict[int, Cell]:
    """The cells that figures show, by their number in the store."""
    return {i: found.evidence.cells[i] for i in cells.shown(found)}


def _agreement(found: Findings) -> Section:
    of_page = chosen(found)
    drawn = "\n".join(
        figure(found, f"agreement-{o}", functools.partial(_panel, of_page, o), agreement.words(of_page, o),
               f"{o.capitalize()}: on the line the theory is right, within the dotted lines as right as it claims.")
        for o in OBSERVABLES)
    body = ("<p>Each mark is a cell, with the interval of its observed mean. Point at a mark, tap it, or reach it with "
            "the tab and arrow keys, and it says what it stands for. Filled marks agree, open ones are inconclusive, "
            "those with a rim disagree.</p>"
            f'<div class="figures">{drawn}</div>')
    return Section("agreement", "Predicted and observed", "Predicted against observed", body)


def _panel(of_page: dict[int, Cell], observable: str, plt: Any) -> Any:
    return agreement.figure(plt, of_page, (observable,), "single")


def _residuals(found: Findings) -> list[Section]:
    of_page = chosen(found)
    sizes = residuals.varied(of_page)
    if not sizes:
        return []
    drawn = "\n".join(
        figure(found, f"residuals-{size.replace('/', '-')}", functools.partial(_columns, of_page, size),
               residuals.words(of_page, size), f"Observed − predicted against {size}.") for size in sizes)
    body = ("<p>What is left when the prediction is taken away: above as a difference of probabilities, with the "
            "margin dotted and bars of one standard error; below in standard errors. A trend is a law that is missing "
            "something. The three observables of a cell stand side by side.</p>"
            f'<div class="figures">{drawn}</div>')
    return [Section("residuals", "Residuals", "Residuals against each size", body)]


def _columns(of_page: dict[int, Cell], size: str, plt: Any) -> Any:
    return residuals.figure(plt, of_page, [size], width="single")
