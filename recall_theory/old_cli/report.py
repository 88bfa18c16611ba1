"""`recall-theory report`: a page about a store: verdicts, figures, phase diagrams, laws."""

from __future__ import annotations

import dataclasses

from ..figures.style import check_drawable
from ..report.answer import Answer
from .command import Command, Output
from .errors import BadInput
from .stored import findings_of, params

PAGES = (".html", ".htm")


def run(output: Output, store: str | None, at: str, jobs: int) -> Answer:
    page_wanted = output.document and str(output.file).lower().endswith(PAGES)
    if page_wanted:
        check_drawable()
    found = findings_of(output, store, at, jobs, phases=page_wanted or output.json)
    if output.csv and not found.evidence.cells:
        raise BadInput("--csv has nothing to list: the theory describes none of the store's cells")
    from ..report.findings import answer

    told = answer(found, str(store))
    if not page_wanted:
        return told
    from ..pages.report import page

    return dataclasses.replace(told, document=page(found).encode())


command = Command(
    "report", run, params=params(),
    help="Lay what a store holds beside the theory, by the rules of verify. With --output FILE.html: one page with "
         "the verdict, interactive figures, phase diagrams, critical sizes, formulas and the command that repeats it. "
         "It needs no network.",
    examples=["report --store sweep.db --output report.html",
              "report --store sweep.db --at 0.9 --json --output report.json"],
)
