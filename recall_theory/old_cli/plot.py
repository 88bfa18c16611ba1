"""`recall-theory plot`: one figure about a store, for print."""

from __future__ import annotations

import os

import click

from ..figures.style import FORMATS, WIDTHS, check_drawable
from ..report.answer import Answer
from .command import Command, Output
from .errors import BadInput, shown
from .options import EXTRA
from .stored import findings_of, params

OBSERVABLES = EXTRA["observable"].choices
FIGURES = ("agreement", "residuals", "phase", "scaling")
STORE, *SHARED = params()


def run(output: Output, store: str | None, at: str, jobs: int, figure: str | None, width: str,
        observable: tuple[str, ...]) -> Answer:
    if figure is None:
        raise BadInput(f"--figure is missing: one of {', '.join(FIGURES)}")
    kind = "" if output.json or output.csv else _kind(output.file)
    if kind:
        check_drawable()
    found = findings_of(output, store, at, jobs, phases=figure == "phase")
    from ..figures.printed import printed
    from ..report.figures import answer

    picture = printed(found, figure, width, tuple(dict.fromkeys(observable)) or OBSERVABLES)
    return answer(found, picture, kind)


def _kind(file: str | None) -> str:
    """The format that a file's name asks for."""
    ending = os.path.splitext(file or "")[1].lstrip(".").lower()
    if ending not in FORMATS:
        named = "is missing: a file" if file is None else f"{shown(file)} is not a file"
        raise BadInput(f"--output {named} that ends in {', '.join('.' + f for f in FORMATS)}")
    return ending


command = Command(
    "plot", run,
    params=[
        STORE,
        click.Option(["--figure", "figure"], type=click.Choice(FIGURES), metavar="FIGURE",
                     help="agreement: predicted against observed; residuals: what is left, against each size; phase: "
                          "predicted regions with simulated cells on them; scaling: critical sizes  [required]"),
        click.Option(["--width", "width"], type=click.Choice(list(WIDTHS)), default="double", metavar="single|double",
                     help="a column of print (3.4 in) or two (7 in)  [default: double]"),
        click.Option(["--observable", "observable"], type=click.Choice(OBSERVABLES), multiple=True,
                     metavar="OBSERVABLE", help="attention, recall or accuracy; may be repeated; all where absent"),
        *SHARED,
    ],
    help="Draw a figure about a store for print: --output FILE.svg, FILE.pdf or FILE.png. Fonts are embedded in PDF; "
         "the same store gives the same bytes.",
    examples=["plot --store sweep.db --figure agreement --output agreement.pdf",
              "plot --store sweep.db --figure residuals --width single --observable recall --output recall.svg"],
)
