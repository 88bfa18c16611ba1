"""What can end a command early, and how each is told: one line on stderr and an exit code."""

from __future__ import annotations

import os
import sys

import click

from ..settings import SettingError

AGREE, DISAGREE, BAD_INPUT, INCONCLUSIVE = 0, 1, 2, 3
INTERNAL_ERROR, INTERRUPTED = 70, 130
DEBUG = "RECALL_THEORY_DEBUG"
LONGEST_VALUE = 60  # characters of a user's own value that an error repeats
LONGEST_LINE = 400  # characters of a whole complaint: click's own repeat any value


class BadInput(click.UsageError):
    """One line that names the option, the value and what is allowed."""


class PipeClosed(Exception):
    """Whoever read our output has gone, as `| head` does: nobody is left to tell anything."""


def shown(value: object) -> str:
    """A user's value as an error repeats it: quoted, on one line, not longer than a line."""
    text = str(value)
    return repr(text if len(text) <= LONGEST_VALUE else text[:LONGEST_VALUE] + "...")


def option_of(name: str) -> str:
    """The option that sets a parameter: trigger_in_value -> --trigger-in-value."""
    return "--" + name.replace("_", "-")


def of_setting(error: SettingError) -> BadInput:
    """The library's complaint about a parameter, in terms of the option that set it."""
    message, option = str(error), option_of(error.name)
    if message.startswith(f"{error.name}="):
        return BadInput(f"{option} {message.removeprefix(f'{error.name}=')}")
    return BadInput(f"{option}: {message}")


def short(message: str) -> str:
    """A message that a value of any length has not swollen: its two ends."""
    half = LONGEST_LINE // 2
    return message if len(message) <= LONGEST_LINE else f"{message[:half]} ... {message[-half:]}"


def one_line(text: str) -> str:
    """Text without line breaks and control characters: what a user typed must not forge a second line."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in " ".join(text.splitlines()))


def say(message: str) -> None:
    """Print one line on stderr; a closed stderr is no reason to fail."""
    try:
        print(one_line(message), file=sys.stderr, flush=True)
    except (OSError, ValueError, UnicodeError, AttributeError):
        pass


def debugging() -> bool:
    """Whether tracebacks and warnings are wanted."""
    return bool(os.environ.get(DEBUG))
