"""`recall-theory cite`: what to cite."""

from __future__ import annotations

from ..report.answer import Answer
from .command import Command, Output


def run(output: Output) -> Answer:
    from ..report.cite import answer

    return answer()


command = Command("cite", run, params=[],
                  help="How to cite the papers that the model comes from, and this program, as BibTeX.",
                  examples=["cite", "cite --output references.bib"])
