"""`recall-theory doctor`: what this machine brings to the work. It prints and never sets."""

from __future__ import annotations

from ..report.answer import Answer
from .command import Command, Output


def run(output: Output) -> Answer:
    from ..report.doctor import answer

    return answer()


command = Command("doctor", run, params=[],
                  help="Versions, the linear algebra in use, cores and memory. It reports and changes nothing.",
                  examples=["doctor", "doctor --json"])
