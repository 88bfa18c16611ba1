"""The commands that simulate a store again: scans where its cells are combinations of values, else a grid file."""

from __future__ import annotations

import dataclasses
import json
import math
import shlex
import textwrap
from collections.abc import Sequence

from ..settings import Setting
from .sweep_grid import SCANNED
from .sweep_problem import SweepProblem

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


def reproductions(problems: Sequence[SweepProblem], seeds: Sequence[int],
                  planned: bool = False) -> list[Reproduction]:
    """One command for each seed, number of test sequences and number of seeds in the store. Where cells have many
    different numbers of seeds, as after an interruption, one command gives all of them as many as the fullest has,
    or as many as are `planned` where these are in the store.

    >>> from recall_theory.sweep import product
    >>> cells = product({"d": [16, 32], "L": [2, 4]}, V=16, N=128)
    >>> reproductions([SweepProblem(s, seed=1) for s in cells], [8] * 4)[0].command
    'recall-theory sweep --scan L=2,4 --scan d=16,32 --V 16 --N 128 --seeds 8 --seed 1 --store again.db'
    """
    most = max(seeds)
    planned = planned and len(set(seeds)) > 1
    uneven = planned or len(set(seeds)) > MOST_COUNTS
    runs: dict[tuple[int, int | None, int], list[Setting]] = {}
    for problem, n in zip(problems, seeds, strict=True):
        runs.setdefault((problem.seed, problem.n_test, most if uneven else n), []).append(problem.setting)
    made = []
    for number, ((seed, n_test, n), settings) in enumerate(runs.items(), start=1):
        file = "cells.toml" if len(runs) == 1 else f"cells-{number}.toml"
        cells = _scans(settings)
        words = ["recall-theory sweep", cells or f"--grid {file}", *([] if planned else [f"--seeds {n}"]),
                 f"--seed {seed}", *([] if n_test is None else [f"--n-test {n_test}"]), "--store again.db"]
        made.append(Reproduction(" ".join(words), "" if cells else _grid(settings)))
    return made


def _scans(settings: Sequence[Setting]) -> str | None:
    """The cells as options of `sweep`; None where they aren't all combinations of some values."""
    rows = [s.to_dict() for s in settings]
    if len({s.ratio for s in settings}) < len({s.N for s in settings}):
        rows = [{**row, "N": None, "ratio": s.ratio} for row, s in zip(rows, settings, strict=True)]
    values = {name: list(dict.fromkeys(row[name] for row in rows)) for name in rows[0]}
    if math.prod(map(len, values.values())) != len(settings):
        return None
    scanned, fixed = [], []
    for name, of in values.items():
        texts = [_text(value) for value in of]
        option = name.replace("_", "-")
        if len(of) > 1 and any("," in text for text in texts):  # an activation of two arguments, say
            return None
        if len(of) > 1:
            scanned.append(f"--scan {shlex.quote(name + '=' + ','.join(texts))}")
        elif isinstance(of[0], bool):
            fixed += [] if of[0] else [f"--no-{option}"]
        elif of[0] != SCANNED[name].default:
            fixed.append(f"--{option} {shlex.quote(texts[0])}")
    return " ".join([*scanned, *fixed])


def _text(value: object) -> str:
    """A value as `sweep` reads it."""
    if value is None or isinstance(value, bool):
        return str(value).lower()
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _grid(settings: Sequence[Setting]) -> str:
    """The cells as a TOML file that `sweep --grid` reads; TOML writes these values as JSON does."""
    tables = []
    for s in settings:
        lines = [f"{name} = {json.dumps(v)}" for name, v in s.to_dict().items() if v != SCANNED[name].default]
        tables.append("\n".join(["[[cell]]", *lines]))
    return "\n\n".join(tables) + "\n"
