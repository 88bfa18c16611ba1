"""`recall-theory capacity`: how many facts a layer stores."""

from __future__ import annotations

from typing import Any

import click

from ..report.answer import Answer
from .command import Command, Output
from .errors import BadInput
from .options import option, setting_options


def run(output: Output, N: int | None, ratio: tuple[float, ...], **values: Any) -> Answer:
    if N is not None and ratio:
        raise BadInput("--N and --ratio contradict one another: give one of them")
    from ..report.capacity import answer
    from ..theory.capacity import capacity

    return answer(capacity(N=N, ratios=ratio or None, **values))


def _params() -> list[click.Parameter]:
    params = setting_options(("d", "L"), leave_out=("V", "N", "eta", "gamma"))
    return [*params, option("N", help="training samples in all, instead of N/V"),
            option("ratio", multiple=True, help="training samples a fact, N/V; may be repeated"),
            option("target"), option("bits")]


command = Command(
    "capacity", run, params=_params(),
    help="How many facts does an attention layer, or one with an MLP (--m), store? The largest V whose predicted "
         "accuracy reaches the target, for several sample budgets and in the limit, what limits it, and the bounds "
         "beside it.",
    examples=["capacity --d 256 --L 64", "capacity --d 128 --L 16 --ratio 32 --target 0.9 --json",
              "capacity --d 64 --L 32 --m 1024 --target 0.9"],
)
