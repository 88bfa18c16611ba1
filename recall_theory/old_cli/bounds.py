"""`recall-theory bounds`: what no learner can beat."""

from __future__ import annotations

from typing import Any

from ..report.answer import Answer
from .command import Command, Output
from .errors import BadInput
from .options import option, setting_options


def run(output: Output, V: int | None, N: int | None, **values: Any) -> Answer:
    if V is None and N is None:
        raise BadInput("--V and --N are both missing: give one of them, or both")
    from ..report.bounds import answer
    from ..theory.bounds import bounds_at

    return answer(bounds_at(V=V, N=N, **values))


command = Command(
    "bounds", run,
    params=[*setting_options(("L", "d"), leave_out=("embedding", "trigger_in_value", "eta", "gamma")),
            option("bits"), option("target", help="recall to be reached on average")],
    help="What no learner can beat: coverage (the samples), bits (the size of the model) and access to one noisy "
         "gradient. With V and N: the most recall that each allows. Without N, or without V: the least N, or the "
         "largest V, at which it allows the target.",
    examples=["bounds --V 1024 --L 64 --d 256 --N 65536", "bounds --V 1e12 --L 64 --d 1e6 --bits 8 --json"],
)
