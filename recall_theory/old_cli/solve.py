"""`recall-theory solve`: the inverse of `predict` for any one size."""

from __future__ import annotations

from typing import Any

from ..report.answer import Answer
from ..settings import PARAMETERS
from .command import Command, Output
from .errors import BadInput
from .options import option, setting_options

SIZES = ("V", "L", "d", "N", "m")


def run(output: Output, target: float, observable: str, ratio: float | None, **values: Any) -> Answer:
    unknown: str = values.pop("for")
    sizes = {name: values.pop(name) for name in SIZES}
    if sizes[unknown] is not None:
        raise BadInput(f"--{unknown} is what --for {unknown} solves for: leave it out")
    if ratio is not None and (sizes["N"] is not None or unknown == "N"):
        raise BadInput("--ratio gives N as a multiple of V: leave --N and --for N out beside it")
    for name in SIZES:
        if sizes[name] is None and name not in (unknown, "m") and not (name == "N" and ratio is not None):
            p = PARAMETERS[name]
            raise BadInput(f"--{name} is missing: {p.domain} ({p.meaning})")
    from ..report.solve import answer
    from ..theory.solve import solve_for

    known = {name: size for name, size in sizes.items() if size is not None}
    found = solve_for(unknown, target, observable, ratio=ratio, **values, **known)
    if values["activation"] is None:
        values.pop("activation")
    return answer(unknown, target, observable, ratio, {**values, **known}, found)


command = Command(
    "solve", run,
    params=[option("for", required=True), *setting_options((), leave_out=("eta", "gamma")),
            option("ratio", help="training samples a fact, N/V, instead of N"), option("target"),
            option("observable")],
    help="The largest V or L, or the least N, d or m, at which the predicted accuracy reaches the target, the "
         "other sizes being given.",
    examples=["solve --for N --V 1024 --L 64 --d 256 --target 0.9",
              "solve --for V --d 128 --L 16 --ratio 64 --observable recall",
              "solve --for m --V 256 --L 16 --d 64 --ratio 256 --target 0.5 --activation tanh"],
)
