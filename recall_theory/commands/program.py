"""The program: a group of commands, each imported from the place that the table names when it is asked for."""

from __future__ import annotations

import importlib
import os
import platform
from collections.abc import Mapping, Sequence

import click

from .. import __version__
from . import COMMANDS, PROGRAM, RENAMED, streams
from .command import HELP, epilog_of
from .options import flag
from .streams import BadInput, shown

PACKAGES = ("numpy", "scipy", "sympy", "mpmath", "click", "rich", "cloudpickle", "threadpoolctl")
# Kernels that OpenBLAS falls back to where it doesn't know the processor: half the speed, or less.
OLD_KERNELS = ("prescott", "nehalem", "core2", "generic", "armv8", "atom", "barcelona")

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

            near = difflib.get_close_matches(name, self.table, n=1)
            raise BadInput(f"{shown(name)} is not a command" + (f"; did you mean {near[0]}?" if near else "")
                           + f" (commands: {', '.join(self.table)})", ctx)
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
    """The version in one line; where `verbose`, a line each for the libraries, linear algebra and threads in use."""
    from importlib import metadata

    lines = [f"{PROGRAM} {__version__}"]
    if verbose:
        lines += [f"Python {platform.python_version()}", platform.platform()]
        lines += [f"{name} {metadata.version(name)}" for name in PACKAGES]
        lines += _linear_algebra()
        present = os.cpu_count() or 1
        usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else present
        lines.append(f"cores: {usable} usable of {present}")
    return "\n".join(lines) + "\n"


def _linear_algebra() -> list[str]:
    """A line for each linear algebra library that numpy and scipy load."""
    import numpy.linalg
    import scipy.linalg
    from threadpoolctl import threadpool_info

    assert numpy.linalg and scipy.linalg  # imported for what they load
    lines = []
    for library in threadpool_info():
        if library.get("user_api") != "blas":
            continue
        path, kernels = str(library.get("filepath", "")), str(library.get("architecture"))
        user = next((name for name in ("numpy", "scipy") if name + ".libs" in path), "numpy and scipy")
        lines.append(f"linear algebra of {user}: {library.get('internal_api')} {library.get('version') or ''}, "
                     f"{kernels} kernels, threads: {library.get('num_threads')}")
        if kernels.lower() in OLD_KERNELS and platform.machine().lower() in ("x86_64", "amd64"):
            lines.append(f"  {kernels} kernels suit old processors. If this one is newer, OPENBLAS_CORETYPE=Haswell "
                         "(or SkylakeX, Zen) in the environment may double its speed.")
    return lines


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
