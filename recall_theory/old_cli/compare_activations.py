"""`recall-theory compare-activations`: the activations of one setting, side by side."""

from __future__ import annotations

from typing import Any

import click

from ..report.answer import Answer
from ..settings import Setting
from .command import Command, Output
from .errors import BadInput
from .options import option, setting_options


def run(output: Output, activation: tuple[str, ...], with_attention_only: bool, **values: Any) -> Answer:
    setting = Setting(**values)
    if not setting.is_limit:
        raise BadInput("--eta and --gamma: predictions are of the limit; leave them out")
    from ..report.activations import answer
    from ..theory.activation_choice import EVERY, compare_activations

    return answer(setting, compare_activations(setting, activation or EVERY, without=with_attention_only))


command = Command(
    "compare-activations", run,
    params=[*setting_options(("V", "L", "d", "N", "m"), leave_out=("activation", "eta", "gamma")),
            option("activation", multiple=True, help="an activation to compare, may be repeated; all that have "
                   "a name where absent"),
            click.Option(["--attention-only/--no-attention-only", "with_attention_only"], default=True,
                         help="with the model without an MLP beside them  [default: yes]")],
    help="The predicted accuracy of each activation in one setting, and why: its mean, linear and higher "
         "Hermite parts.",
    examples=["compare-activations --V 512 --L 32 --d 64 --N 65536 --m 1024",
              "compare-activations --V 256 --L 8 --d 32 --N 2^15 --m 4096 --activation relu "
              "--activation 'x**3 - 3*x' --json"],
)
