"""A group of commands, each a module of its own name that is imported when it is asked for."""

from __future__ import annotations

import importlib
from collections.abc import Sequence

import click

from . import errors, streams
from .command import help_option


class Group(click.Group):
    """Commands by name with their one line in the list; `package` is where their modules live.

    Without a command it prints its help.
    """

    def __init__(self, name: str, summaries: dict[str, str], package: str, *, help: str, epilog: str,
                 params: Sequence[click.Parameter] = ()):
        super().__init__(name, help=help, epilog=epilog, params=[*params], no_args_is_help=False,
                         invoke_without_command=True, callback=_help_alone,
                         context_settings={"max_content_width": 100})
        self.summaries, self.package = summaries, package

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.summaries)

    def get_command(self, ctx: click.Context | None, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.summaries:
            return None
        module = importlib.import_module("." + cmd_name.replace("-", "_"), self.package)
        command: click.Command = module.command
        return command

    def resolve_command(self, ctx: click.Context,
                        args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        command = self.get_command(ctx, name)
        if command is None and not ctx.resilient_parsing:
            import difflib

            near = difflib.get_close_matches(name, self.summaries, n=1)
            raise errors.BadInput(f"{errors.shown(name)} is not a command"
                                  + (f"; did you mean {near[0]}?" if near else "")
                                  + f" (commands: {', '.join(self.summaries)})", ctx)
        return name, command, args[1:]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(self.summaries.items()))

    def get_help_option(self, ctx: click.Context) -> click.Option:
        return help_option()


def _help_alone() -> None:
    ctx = click.get_current_context()
    if ctx.invoked_subcommand is None:
        streams.emit(ctx.get_help() + "\n")
