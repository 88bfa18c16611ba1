"""Commands run in this process, as a person or a script would run them."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import warnings

import pytest

from recall_theory.cli import main
from recall_theory.commands.answers import Group, program


def call(*argv, columns=None):
    """Exit code, standard output and standard error of one command."""
    out, err = io.StringIO(), io.StringIO()
    with (contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), warnings.catch_warnings(),
          pytest.MonkeyPatch.context() as patch):
        patch.delenv("COLUMNS", raising=False)
        if columns is not None:
            patch.setenv("COLUMNS", str(columns))
        code = main(list(argv))
    return code, out.getvalue(), err.getvalue()


def read_json(text):
    """What JSON text holds; NaN and infinities are not JSON."""
    return json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))


def answer(*argv):
    """The JSON of a command that ends well."""
    code, out, err = call(*argv, "--json")
    assert (code, err) == (0, ""), (code, err)
    return read_json(out)


def csv_rows(*argv):
    """The rows that a command prints with --csv."""
    code, out, err = call(*argv, "--csv")
    assert (code, err) == (0, ""), (code, err)
    return list(csv.DictReader(io.StringIO(out)))


def refused(*argv):
    """The one line with which a command declines."""
    code, out, err = call(*argv)
    assert (code, out) == (2, ""), (code, out, err)
    assert err.startswith("recall-theory") and err.endswith("\n") and err.count("\n") == 1, err
    return err


def all_commands(group=program):
    """The words of every command, and the command."""
    for name in group.table:
        command = group.get_command(None, name)
        if isinstance(command, Group):
            yield from ((f"{name} {words}", c) for words, c in all_commands(command))
        else:
            yield name, command
