"""`recall-theory report`: what a store shows, as a page, as a figure for print, or as a tally."""

from __future__ import annotations

import dataclasses
from functools import partial
from pathlib import Path

import click

from ..plots.style import FORMATS, WIDTHS, check_drawable, picture
from ..report.answer import Answer, Prose
from .command import Command, Output
from .errors import BadInput, shown
from .options import EXTRA
from .stored import findings_of, params

PAGES = ("html", "htm")
FIGURES = ("agreement", "residuals", "phase", "scaling")
OBSERVABLES = EXTRA["observable"].choices
STORE, *SHARED = params()


def run(output: Output, store: str | None, at: str, jobs: int, figure: str | None, width: str | None,
        observable: tuple[str, ...]) -> Answer:
    ending = Path(output.file or "").suffix.lstrip(".").lower()
    page_wanted = figure is None and output.document and ending in PAGES
    figure_wanted = figure is not None and not (output.json or output.csv)
    _check(figure, figure_wanted, output.file, ending, bool(width or observable))
    if page_wanted or figure_wanted:
        check_drawable("output")
    phases = figure == "phase" if figure is not None else page_wanted or output.json
    found = findings_of(output, store, at, jobs, phases=phases)
    if output.csv and not found.analysis.cells:
        raise BadInput("--csv has nothing to list: the theory describes none of the store's cells")

    from ..report.findings import answer

    tally = answer(found, str(store))
    if figure is not None:
        from ..plots.store_figures import store_figure

        wanted = store_figure(found, figure, tuple(dict.fromkeys(observable)) or OBSERVABLES)
        words = [wanted.describe(item) for item in wanted.items.values()]
        drawn = picture(partial(wanted.whole, width or "double"), ending) if figure_wanted else None
        return Answer({**tally.data, "words": words}, tally.records, [Prose(text) for text in words], document=drawn)
    if page_wanted:
        from ..web.report_page import page

        return dataclasses.replace(tally, document=page(found).encode())
    return tally


def _check(figure: str | None, figure_wanted: bool, file: str | None, ending: str, how: bool) -> None:
    """Refuse options that contradict one another, before any work."""
    if figure is None and ending in FORMATS:
        raise BadInput(f"--figure is missing for --output {shown(file)}: one of {', '.join(FIGURES)}")
    if figure is None and how:
        raise BadInput("--width and --observable are for --figure: give that too, or leave them out")
    if figure_wanted and ending not in FORMATS:
        named = "is missing: a file" if file is None else f"{shown(file)} is not a file"
        raise BadInput(f"--output {named} that ends in {', '.join('.' + kind for kind in FORMATS)}")


command = Command(
    "report", run,
    params=[
        STORE,
        click.Option(["--figure", "figure"], type=click.Choice(FIGURES), metavar="FIGURE",
                     help="one figure for print, written by --output FILE.pdf, FILE.svg or FILE.png: agreement "
                          "(predicted against observed), residuals (what is left, against each size), phase "
                          "(predicted regions with simulated cells on them) or scaling (critical sizes)"),
        click.Option(["--width", "width"], type=click.Choice(list(WIDTHS)), metavar="single|double",
                     help="width of the figure: a column of print (3.4 in) or two (7 in)  [default: double]"),
        click.Option(["--observable", "observable"], type=click.Choice(OBSERVABLES), multiple=True,
                     metavar="OBSERVABLE", help="attention, recall or accuracy in the figure; may be repeated; all "
                                                "where absent"),
        *SHARED,
    ],
    help="Lay what a store holds beside the theory, by the rules of verify. With --output FILE.html: one page with "
         "the verdict, every comparison, figures, phase diagrams, critical sizes, formulas and the command that "
         "repeats it. It needs no network. With --figure: one figure for print; the same store gives the same bytes.",
    examples=["report --store sweep.db --output report.html",
              "report --store sweep.db --figure agreement --output agreement.pdf",
              "report --store sweep.db --at 0.9 --json --output report.json"],
)
