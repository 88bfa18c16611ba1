"""The commands that simulate a store again: scans where its cells are combinations of values, else a grid file."""

from __future__ import annotations

import dataclasses
import math
import shlex
import textwrap
from collections.abc import Sequence

from ..settings import PARAMETERS, Setting
from .sweep_problem import SweepProblem

FILE = "cells.toml"
MOST_COUNTS = 3  # different numbers of seeds that have commands of their own


@dataclasses.dataclass(frozen=True)
class Reproduction:
    """A command line, and the text of the grid file that it reads ("" where it needs none)."""

    command: str
    grid: str = ""

    def wrapped(self) -> str:
        """The command over several lines of a shell, broken between its words only."""
        words = " ".join(shlex.quote(word).replace(" ", "\0") for word in shlex.split(self.command))
        lines = textwrap.wrap(words, 76, break_long_words=False, break_on_hyphens=False)
        return " \\\n  ".join(lines).replace("\0", " ")


def reproductions(problems: Sequence[SweepProblem], seeds: Sequence[int]) -> list[Reproduction]:
    """One command for each seed, number of test sequences and number of seeds in the store. Where cells have many
    different numbers of seeds, as after an interruption, one command gives all of them as many as the fullest has.

    >>> from recall_theory.sweep import product
    >>> cells = product({"d": [16, 32], "L": [2, 4]}, V=16, N=128)
    >>> reproductions([SweepProblem(s, seed=1) for s in cells], [8] * 4)[0].command
    'recall-theory sweep --scan L=2,4 --scan d=16,32 --V 16 --N 128 --seeds 8 --seed 1 --store again.db'
    """
    most = max(seeds)
    uneven = len(set(seeds)) > MOST_COUNTS
    runs: dict[tuple[int, int | None, int], list[Setting]] = {}
    for problem, n in zip(problems, seeds, strict=True):
        runs.setdefault((problem.seed, problem.n_test, most if uneven else n), []).append(problem.setting)
    commands = []
    for number, ((seed, n_test, n), settings) in enumerate(runs.items(), start=1):
        file = FILE if len(runs) == 1 else FILE.replace(".", f"-{number}.")
        of_cells = _scans(settings)
        grid = "" if of_cells is not None else _grid(settings)
        words = ["recall-theory sweep", of_cells if of_cells is not None else f"--grid {file}",
                 f"--seeds {n} --seed {seed}"]
        if n_test is not None:
            words.append(f"--n-test {n_test}")
        commands.append(Reproduction(" ".join([*words, "--store again.db"]), grid))
    return commands


def _scans(settings: Sequence[Setting]) -> str | None:
    """The cells as options of `sweep`; None where they aren't all combinations of some values."""
    rows = [_given(s) for s in settings]
    if len({s.N / s.V for s in settings}) < len({s.N for s in settings}):
        rows = [{**row, "ratio": s.N / s.V} for row, s in zip(rows, settings, strict=True)]
        for row in rows:
            del row["N"]
    names = list(dict.fromkeys(name for row in rows for name in row))
    values = {name: list(dict.fromkeys(row.get(name, PARAMETERS[name].default if name in PARAMETERS else None)
                                       for row in rows)) for name in names}
    if math.prod(map(len, values.values())) != len(settings):
        return None
    scans = {name: [_text(v) for v in of] for name, of in values.items() if len(of) > 1}
    if any("," in text for of in scans.values() for text in of):  # an activation of two arguments, say
        return None
    scanned = [f"--scan {shlex.quote(f'{name}=' + ','.join(of))}" for name, of in scans.items()]
    fixed = [_option(name, of[0]) for name, of in values.items() if len(of) == 1]
    return " ".join([*scanned, *fixed])


def _given(s: Setting) -> dict[str, object]:
    return {name: getattr(s, name) for name, p in PARAMETERS.items() if getattr(s, name) != p.default}


def _text(value: object) -> str:
    """A value as `sweep` reads it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return "none" if value is None else str(value)


def _option(name: str, value: object) -> str:
    dashed = name.replace("_", "-")
    if isinstance(value, bool):
        return f"--{dashed}" if value else f"--no-{dashed}"
    return f"--{dashed} {shlex.quote(_text(value))}"


def _grid(settings: Sequence[Setting]) -> str:
    """The cells as a TOML file that `sweep --grid` reads."""
    import json

    tables = []
    for s in settings:
        lines = [f"{n} = {json.dumps(v)}" for n, v in _given(s).items()]  # TOML writes these values as JSON does
        tables.append("\n".join(["[[cell]]", *lines]))
    return "\n\n".join(tables) + "\n"
