"""`recall-theory completion`: the script that teaches a shell to complete commands and options."""

from __future__ import annotations

import click

from ..report.answer import Answer, Verbatim
from .command import Command, Output
from .errors import BadInput, shown

SHELLS = ("bash", "zsh", "fish")


def run(output: Output, shell: str | None) -> Answer:
    if shell not in SHELLS:
        given = "SHELL is missing" if shell is None else f"SHELL {shown(shell)} is not known"
        raise BadInput(f"{given}: one of {', '.join(SHELLS)}")
    from click.shell_completion import ShellComplete, get_completion_class

    from .app import COMPLETE_VARIABLE, PROGRAM, program

    kind = get_completion_class(shell)
    assert kind is not None
    # The base class's source(): bash's own runs a shell to ask for its version.
    script = ShellComplete.source(kind(program, {}, PROGRAM, COMPLETE_VARIABLE))
    record = {"shell": shell, "script": script}
    return Answer({"schema_version": 1, **record}, [record], [Verbatim(script)])


command = Command(
    "completion", run, params=[click.Argument(["shell"], required=False, metavar="{bash|zsh|fish}")],
    help="Print the completion script of a shell, to be sourced from its start-up file.",
    examples=["completion bash >> ~/.bashrc",
              "completion fish --output ~/.config/fish/completions/recall-theory.fish"],
)
