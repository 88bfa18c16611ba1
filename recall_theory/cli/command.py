"""The command that all commands are: what each takes beside its own options, and how it answers."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import click

from ..report.answer import Answer, as_csv, as_json
from . import streams
from .errors import BadInput, say
from .options import Needed


@dataclasses.dataclass(frozen=True)
class Output:
    """How an answer is wanted."""

    json: bool
    csv: bool
    file: str | None
    quiet: bool

    @property
    def progress(self) -> bool:
        """Whether to show progress: to a person who hasn't asked for quiet."""
        return not self.quiet and streams.stderr_is_terminal()

    @property
    def document(self) -> bool:
        """Whether a file is wanted in a form of its own: a page, a picture."""
        return self.file not in (None, "-") and not (self.json or self.csv)

    def note(self, message: str) -> None:
        """One line on stderr, for a person who hasn't asked for quiet."""
        if not self.quiet:
            say(message)

    def deliver(self, answer: Answer) -> None:
        """Print the answer, or write it to the file. What can't be written is printed: it is not lost."""
        from ..report import layout

        if self.document and self.file is not None and answer.document is not None:
            streams.write(self.file, answer.document)
            return
        if self.json:
            text = as_json(answer.data)
        elif self.csv:
            text = as_csv(answer.records)
        elif self.file in (None, "-"):
            text = layout.text(answer.blocks, streams.width(), streams.wants_colour(), self.quiet)
        else:
            text = layout.text(answer.blocks, None, quiet=self.quiet)
        if self.file is None:
            streams.emit(text)
            return
        try:
            streams.write(self.file, text)
        except BadInput:
            streams.emit(text)
            raise


def output_options() -> list[click.Parameter]:
    """--json, --csv, --output and --quiet, which every command takes."""
    return [
        click.Option(["--json", "as_json"], is_flag=True, help="Print one JSON object."),
        click.Option(["--csv", "as_csv"], is_flag=True, help="Print comma-separated values."),
        click.Option(["--output", "output"], metavar="FILE",
                     help="Write the answer to FILE, whole or not at all; its directory must exist."),
        click.Option(["-q", "--quiet", "quiet"], is_flag=True,
                     help="Print the answer alone: no progress, no remarks."),
    ]


def help_option() -> click.Option:
    """--help, printed by the same hand as all other output."""

    def show(ctx: click.Context, parameter: click.Parameter, value: bool) -> None:
        if value and not ctx.resilient_parsing:
            streams.emit(ctx.get_help() + "\n")
            ctx.exit()

    return click.Option(["-h", "--help"], is_flag=True, is_eager=True, expose_value=False,
                        callback=show, help="Show this message and exit.")


class Command(click.Command):
    """A command whose callback takes an `Output` and the values of its options, and returns an `Answer`."""

    def __init__(self, name: str, callback: Callable[..., Answer], *, help: str,
                 examples: Sequence[str], params: Sequence[click.Parameter]):
        epilog = "\b\nExamples:\n" + "\n".join(f"  recall-theory {e}" for e in examples)
        super().__init__(name, callback=callback, help=help, epilog=epilog,
                         params=[*params, *output_options()])

    def get_help_option(self, ctx: click.Context) -> click.Option:
        return help_option()

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not ctx.resilient_parsing:
            # click lets the last of several values win without a word.
            _, _, order = self.make_parser(ctx).parse_args(args=list(args))
            for param in self.get_params(ctx):
                if order.count(param) > 1 and isinstance(param, click.Option) and not param.multiple:
                    names = "/".join([*param.opts[-1:], *param.secondary_opts])
                    raise BadInput(f"{names} is given {order.count(param)} times; once is allowed", ctx)
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> int:
        values: dict[str, Any] = dict(ctx.params)
        output = Output(values.pop("as_json"), values.pop("as_csv"), values.pop("output"),
                        values.pop("quiet"))
        for param in self.params:
            if isinstance(param, Needed):
                param.check_given(values)
        if output.json and output.csv:
            raise BadInput("--json and --csv contradict one another: give one of them", ctx)
        if output.file is not None:
            streams.check_writable(output.file)
        assert self.callback is not None
        answer: Answer = self.callback(output, **values)
        output.deliver(answer)
        return answer.exit_code
