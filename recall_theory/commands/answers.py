"""The command that all commands are, with its options and the delivery of its answer; and the group that finds them."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import importlib
import os
import platform
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from .. import __version__
from ..errors import Interrupted
from ..settings import check_seed
from . import COMMANDS, PROGRAM, RENAMED, streams
from .options import flag, option, option_of
from .streams import BadInput, shown

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from .text_layout import Block


_COMMANDLINE = click.core.ParameterSource.COMMANDLINE
Result = TypeVar("Result")
Progress = Callable[..., None]  # (done, total), and perhaps what stands beside the bar

EXIT_CODES = {"agree": 0, "disagree": 1, "inconclusive": 3}
BAD_INPUT, INTERNAL_ERROR, NO_WORKERS, INTERRUPTED = 2, 70, 75, 130
PACKAGES = ("numpy", "scipy", "sympy", "mpmath", "click", "rich", "cloudpickle", "threadpoolctl")  # of --verbose
HELP = {"help_option_names": ["-h", "--help"]}  # settings of click's contexts


@dataclasses.dataclass(frozen=True)
class Answer:
    """What a command found.

    `data` is printed by --json with the version of its keys, `records` by --csv, `blocks` for people, what `details`
    returns after them where --details asks for it. A `document`, a page or a picture, is what --output writes in their
    place; what `figure` draws goes into the files of --plot.
    """

    data: Mapping[str, object]
    records: Sequence[Mapping[str, object]]
    blocks: Sequence[Block]
    details: Callable[[], Sequence[Block]] | None = None
    exit_code: int = 0
    document: bytes | None = None
    figure: Callable[[], Figure] | None = None


@dataclasses.dataclass
class Output:
    """How an answer is wanted, and how far the work got that was `interrupted` before its end."""

    command: str = "recall-theory"
    json: bool = False
    csv: bool = False
    file: str | None = None
    quiet: bool = False
    details: bool = False
    interrupted: str = ""

    @property
    def progress(self) -> bool:
        """Whether to show progress: to a person, who may be reading stderr."""
        return streams.is_terminal(sys.stderr)

    @property
    def form(self) -> str:
        """The ending of a file that is wanted in a form of its own, such as "svg"; none of JSON, CSV and a terminal."""
        return "" if self.json or self.csv or self.file is None else os.path.splitext(self.file)[1].lstrip(".").lower()

    def say(self, message: str) -> None:
        """One line of this command on stderr, for a person who hasn't asked for quiet."""
        if not self.quiet:
            streams.say(f"{self.command}: {message}")

    def seed(self, seed: int | None) -> int:
        """The seed itself, or a fresh one that is shown at once, so that an interrupted run can be repeated."""
        if seed is not None:
            return seed
        drawn = check_seed(None)
        if self.progress and not self.quiet:
            streams.say(f"--seed {drawn}")
        return drawn

    @contextlib.contextmanager
    def bar(self, noun: str) -> Iterator[Progress]:
        """Shows how far work is, and the time that is left, to a person who wants to see it."""
        if not self.progress:
            yield lambda done, total, note="": None
            return
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Bar

        columns = (BarColumn(bar_width=20), MofNCompleteColumn(), TextColumn(noun), TimeRemainingColumn(compact=True),
                   TextColumn("left {task.description}"))
        with Bar(*columns, console=Console(stderr=True), transient=True, refresh_per_second=4) as bar:
            task = bar.add_task("", total=None)
            yield lambda done, total, note="": bar.update(task, completed=done, total=total, description=note)

    def measure(self, noun: str, work: Callable[[Progress], Result], finished: Callable[[Result], str] | None = None,
                *, again: str = "") -> Result:
        """The result of long work, which is given a function to call with (done, total) for a bar of `noun`.

        Where Ctrl-C or a signal ends it and something is finished, that is the result; stderr and the first line of the
        answer say what `finished` says of it. Without `finished` no part is a result, and stderr says how to go on,
        `again`.
        """
        try:
            with self.bar(noun) as progress:
                return work(progress)
        except KeyboardInterrupt as stop:
            if finished is None or not isinstance(stop, Interrupted):
                if again:
                    self.say(again)
                raise
            partial: Result = stop.partial
            self.interrupted = finished(partial)
            self.say(f"interrupted after {self.interrupted}")
            return partial

    def text(self, answer: Answer) -> str:
        from ..numerics.formatting import SCHEMA_VERSION, as_csv, as_json

        if self.json:
            return as_json({"schema_version": SCHEMA_VERSION, **answer.data})
        if self.csv:
            return as_csv(answer.records)
        from .text_layout import Remark, rendered

        blocks = list(answer.blocks)
        if answer.details is not None and self.details:
            blocks += answer.details()
        elif answer.details is not None:  # the last block is a remark then
            blocks[-1] = Remark(f"{blocks[-1]} --details shows the rest.")
        on_screen = self.file in (None, "-")
        return rendered(blocks, streams.width() if on_screen else None, colour=on_screen and streams.wants_colour(),
                        quiet=self.quiet)

    def deliver(self, answer: Answer) -> None:
        """Print the answer, or write it to the file. What can't be written is printed: it is not lost."""
        if self.file is None:
            streams.emit(self.text(answer))
        elif self.form and answer.document is not None:
            streams.write(self.file, answer.document)
        else:
            text = self.text(answer)
            try:
                streams.write(self.file, text)
            except BadInput:
                streams.emit(text)
                raise


def map_with_progress(jobs: int, progress: Progress) -> Callable[[Callable[[Any], Any], Sequence[Any]], Iterator[Any]]:
    """A map over `jobs` processes, in order, that says after each result how far it is."""

    def over(function: Callable[[Any], Any], values: Sequence[Any]) -> Iterator[Any]:
        from ..simulate.workers import ordered_map

        results = ordered_map(function, [(value,) for value in values], min(jobs, max(1, len(values))))
        for done, result in enumerate(results, start=1):
            progress(done, len(values))
            yield result

    return over


def epilog_of(examples: Sequence[str]) -> str:
    return "\b\nExamples:\n" + "\n".join(f"  recall-theory {e}" for e in examples)


def command(*examples: str, **how: Any) -> Callable[[Callable[..., Answer]], Command]:
    """Makes a `Command` of the function below it."""
    return lambda function: Command(function, *examples, **how)


class Command(click.Command):
    """A command of a function that takes an `Output` and the values of its options; its docstring is the help.

    `params` are options, or the names of declared ones that are taken as they are. `details` is the help of --details,
    for a command whose answer has them. `goes_with` names for an option the one without which it means nothing,
    `apart` are groups of options of which one at most is to be given.
    """

    def __init__(self, function: Callable[..., Answer], *examples: str, params: Sequence[click.Parameter | str] = (),
                 details: str = "", goes_with: Mapping[str, str] | None = None, apart: Sequence[Sequence[str]] = ()):
        self.goes_with, self.apart = goes_with or {}, [*apart, ("json", "csv")]
        given = [option(p) if isinstance(p, str) else copy.copy(p) for p in params]
        for param in given:
            if isinstance(param, click.Option) and (other := self.goes_with.get(str(param.name))):
                param.help = f"with {option_of(other)}: {param.help}"
        if details:
            given.append(flag("details", details))
        given += [flag("json", "Print one JSON object."), flag("csv", "Print comma-separated values."),
                  click.Option(["--output", "file"], metavar="FILE", help="Write the answer to FILE, whole or not at "
                               "all."),
                  click.Option(["-q", "--quiet"], is_flag=True,
                               help="No remarks: the answer alone, and progress on a terminal.")]
        super().__init__(function.__name__, callback=function, help=function.__doc__, epilog=epilog_of(examples),
                         params=given, context_settings=HELP)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not ctx.resilient_parsing:
            # click lets the last of several values win without a word.
            _, words, order = self.make_parser(ctx).parse_args(args=list(args))
            if words and not any(isinstance(p, click.Argument) for p in self.params):
                group, word = ctx.parent, words[0]
                if group and isinstance(group.command, Group) and word in group.command.table:
                    raise BadInput(f"{word} goes before its options: {group.command_path} {word} ...", ctx)
                raise BadInput(f"{shown(word)} is neither an option nor the value of one; options are given as "
                               "--name value", ctx)
            for param in order:
                if order.count(param) > 1 and not param.multiple:
                    names = "/".join([*param.opts[-1:], *param.secondary_opts])
                    raise BadInput(f"{names} is given {order.count(param)} times; once is allowed", ctx)
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> int:
        given = [str(p.name) for p in self.params if ctx.get_parameter_source(str(p.name)) is _COMMANDLINE]
        values: dict[str, Any] = dict(ctx.params)
        for name in given:
            other = self.goes_with.get(name, name)
            if not values[other] and other not in given:
                raise BadInput(f"{option_of(name)} goes with {option_of(other)}: give that too, or leave it out", ctx)
        for group in self.apart:
            both = [option_of(name) for name in group if name in given]
            if len(both) > 1:
                raise BadInput(f"{' and '.join(both)} contradict one another: give one of them", ctx)
        how = {name: values.pop(name) for name in ("json", "csv", "file", "quiet", "details") if name in values}
        output = Output(ctx.command_path, **how)
        if output.file is not None:
            streams.check_writable(output.file)
        assert self.callback is not None
        pictures: Sequence[str] = values.pop("plot", ())
        if pictures:
            from ..plots.style import check_pictures, save_pictures

            check_pictures(pictures)
        answer: Answer = self.callback(output, **values)
        blocks = [*answer.blocks]
        if pictures and answer.figure is not None:
            save_pictures(answer.figure, pictures)
            blocks += [f"Picture: {path}" for path in pictures]
        if output.interrupted:
            blocks.insert(0, f"Interrupted after {output.interrupted}.")
            answer = dataclasses.replace(answer, data={**answer.data, "interrupted": True}, exit_code=INTERRUPTED)
        answer = dataclasses.replace(answer, blocks=blocks)
        output.deliver(answer)
        return answer.exit_code


class Group(click.Group):
    """Commands by name, with the place where each is found and its line in the list; without a word it prints help.

    `default` is the command that is meant where the first word is none of the group's.
    """

    def __init__(self, name: str, commands: Mapping[str, tuple[str, str]], *, help: str,
                 examples: Sequence[str], endings: str = "", params: Sequence[click.Parameter] = (),
                 renamed: Mapping[str, str] | None = None, default: str | None = None):
        super().__init__(name, help=help, epilog=epilog_of(examples) + endings, params=[*params], no_args_is_help=False,
                         invoke_without_command=True, callback=_without_command,
                         context_settings={**HELP, "max_content_width": 100})
        self.table, self.renamed, self.default = commands, renamed or {}, default

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.table)

    def get_command(self, ctx: click.Context | None, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.table:
            return None
        module, _, attribute = self.table[cmd_name][0].partition(":")
        command: click.Command = getattr(importlib.import_module(f".{module}", __package__), attribute)
        return command

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if self.default is not None and args[:1] not in (["-h"], ["--help"]):
            is_option = not args or args[0].startswith("-")
            args = [self.default, *args] if is_option else args
        return super().parse_args(ctx, args)

    def resolve_command(self, ctx: click.Context,
                        args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        command = self.get_command(ctx, name)
        if command is None and not ctx.resilient_parsing:
            if name in self.renamed:
                raise BadInput(f"{name} is now `{self.renamed[name]}`", ctx)
            import difflib

            near = "".join(f"; did you mean {word}?" for word in difflib.get_close_matches(name, self.table, n=1))
            raise BadInput(f"{shown(name)} is not a command{near} (commands: {', '.join(self.table)})", ctx)
        return name, command, args[1:]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, summary) in self.table.items()])

    def command_path(self, arguments: Sequence[str]) -> str:
        """The command that the arguments begin with, for the line that says what went wrong."""
        if not arguments or arguments[0] not in self.table:
            return str(self.name)
        command = self.get_command(None, arguments[0])
        if isinstance(command, Group):
            return f"{self.name} {command.command_path(arguments[1:])}"
        return f"{self.name} {arguments[0]}"


def _without_command(version: bool = False, verbose: bool = False) -> None:
    if version:
        streams.emit(versions(verbose))
        return
    if verbose:
        raise BadInput("--verbose goes with --version")
    ctx = click.get_current_context()
    if ctx.invoked_subcommand is None:
        streams.emit(ctx.get_help() + "\n")


def versions(verbose: bool) -> str:
    """The version in one line; where `verbose`, a line each for the libraries, linear algebra and cores in use."""
    lines = [f"{PROGRAM} {__version__}"]
    if verbose:
        from importlib import metadata

        import numpy.linalg
        import scipy.linalg
        from threadpoolctl import threadpool_info

        assert numpy.linalg and scipy.linalg  # imported for what they load
        lines += [f"Python {platform.python_version()}", platform.platform()]
        lines += [f"{name} {metadata.version(name)}" for name in PACKAGES]
        lines += [f"linear algebra: {x['internal_api']} {x['version']}, {x.get('architecture')} kernels, threads: "
                  f"{x['num_threads']} ({os.path.basename(x['filepath'])})"
                  for x in threadpool_info() if x["user_api"] == "blas"]
        lines.append(f"cores: {cores()} usable of {os.cpu_count() or 1}")
    return "\n".join(lines) + "\n"


def cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


ENDINGS = """

Exit codes: 0 done, or agreement; 1 disagreement; 2 bad input; 3 inconclusive; 70 internal error;
129, 130, 143 interrupted by SIGHUP, Ctrl-C, SIGTERM.

Completion in bash, zsh or fish:
eval "$(_RECALL_THEORY_COMPLETE=bash_source recall-theory)"
"""

program = Group(
    PROGRAM, COMMANDS, renamed=RENAMED,
    help="How much can a transformer remember? Predictions without fitted constants, and a simulation to check them.",
    examples=["capacity --d 256 --L 64", "predict --V 1024 --L 64 --d 256 --N 65536"], endings=ENDINGS,
    params=[flag("version", "Print the version and exit."),
            flag("verbose", "With --version: libraries, linear algebra, threads.")],
)
