"""Where answers and complaints go: standard output, a file that is whole or untouched, one line on stderr."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import sys

import click

from ..numerics.formatting import write_whole

NARROWEST = 20  # columns; below it nothing can be laid out
LONGEST_VALUE = 60  # characters of a user's own value that an error repeats
LONGEST_LINE = 400  # characters of a whole complaint: click's own repeat any value
_ASCII = str.maketrans({"─": "-", "±": "+-", "×": "x", "≥": ">=", "≤": "<=", "≈": "~", "−": "-"})


class BadInput(click.UsageError):
    """One line that names the option, the value and what is allowed."""


def shown(value: object) -> str:
    """A user's value as an error repeats it: quoted, on one line, not longer than a line."""
    text = str(value)
    return repr(text if len(text) <= LONGEST_VALUE else text[:LONGEST_VALUE] + "...")


def say(message: str) -> None:
    """Print one line on stderr, of bounded length; a closed stderr is no reason to fail."""
    half = LONGEST_LINE // 2
    if len(message) > LONGEST_LINE:
        message = f"{message[:half]} ... {message[-half:]}"
    # What a user typed must not forge a second line.
    line = "".join(c if c.isprintable() else repr(c)[1:-1] for c in " ".join(message.splitlines()))
    with contextlib.suppress(OSError, ValueError, UnicodeError, AttributeError):
        print(line, file=sys.stderr, flush=True)


def emit(text: str) -> None:
    """Write to standard output at once. Raises `BrokenPipeError` where the reader has gone, `OSError` for a full disk.
    """
    if sys.stdout is None or sys.stdout.closed:
        raise BadInput("standard output is closed; name a file with --output")
    try:
        sys.stdout.write(text)
    except UnicodeEncodeError:  # a terminal of another encoding, or a file name that is not text
        sys.stdout.write(text.translate(_ASCII).encode("ascii", "backslashreplace").decode("ascii"))
    sys.stdout.flush()


def discard_stdout() -> None:
    """Send what is left in the buffer nowhere, so that the interpreter's last flush doesn't complain."""
    with contextlib.suppress(OSError, ValueError, AttributeError), open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), sys.stdout.fileno())


def is_terminal(stream: object) -> bool:
    """Whether a person may be reading the stream."""
    try:
        return bool(stream.isatty())  # type: ignore[attr-defined]
    except (AttributeError, ValueError):
        return False


def wants_colour() -> bool:
    """Whether bold type may be used: only on a terminal, and never against NO_COLOR."""
    return is_terminal(sys.stdout) and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def width() -> int | None:
    """Columns of the terminal, or of COLUMNS; None for a pipe, where tables are as wide as they need."""
    columns = os.environ.get("COLUMNS", "")
    if columns.isascii() and columns.isdigit() and int(columns[:6]):
        return max(NARROWEST, int(columns[:6]))
    return max(NARROWEST, shutil.get_terminal_size().columns) if is_terminal(sys.stdout) else None


def check_writable(path: str) -> None:
    """Raise `BadInput` where `write` would fail, before any work is done."""
    if path == "-":
        return
    if not path:
        raise BadInput("--output '' is not a file name")
    try:
        folder = os.path.dirname(os.path.realpath(path))
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        mode = None
    except (OSError, ValueError) as error:
        raise _unwritable(path, error) from None

    if mode is None and not os.path.isdir(folder):
        raise BadInput(f"--output {shown(path)}: there is no directory {shown(folder)} (none is made)")
    if mode is not None and stat.S_ISDIR(mode):
        raise BadInput(f"--output {shown(path)} is a directory, not a file")
    is_replaced = mode is None or stat.S_ISREG(mode)
    if is_replaced and not os.access(folder, os.W_OK | os.X_OK):
        raise BadInput(f"--output {shown(path)}: the directory {shown(folder)} is not writable")
    if mode is not None and not os.access(path, os.W_OK):
        raise BadInput(f"--output {shown(path)} is not writable")


def write(path: str, content: str | bytes) -> None:
    """Replace the file by the content in one step, as `write_whole`.

    Devices and pipes are written to as they are. Raises `BadInput` where it can't be done.
    """
    if path == "-" and isinstance(content, str):
        emit(content)
        return
    data = content.encode("utf-8", "backslashreplace") if isinstance(content, str) else content
    try:
        if os.path.exists(path) and not os.path.isfile(path):
            with open(path, "wb") as device:
                device.write(data)
        else:
            write_whole(path, data)
    except BrokenPipeError:
        raise
    except (OSError, ValueError) as error:
        raise _unwritable(path, error) from None


def _unwritable(path: str, error: Exception) -> BadInput:
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return BadInput(f"--output {shown(path)} cannot be written: {reason}")
