"""Grids of settings: every combination of scanned values, as people write them (`d=64:512:x2`) and as TOML files; and
the commands, with such scans or files, that simulate a store again."""

from __future__ import annotations

import itertools
import json
import math
import re
import shlex
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

from ..numerics.formatting import exact, parse_integer, parse_real
from ..settings import PARAMETERS, Parameter, Setting, SettingError, check_integer
from ..verification.problem import THREE_STEP_RECALL, cells_of, read_table
from .sweep_results import SweepProblem, beside_defaults

MOST_CELLS = 1_000_000
MOST_VALUES = 100_000  # of one scan
MOST_COUNTS = 3  # different numbers of seeds that have commands of their own

SCANNED = {**PARAMETERS, "ratio": Parameter("ratio", "N as a multiple of V", "real", 1e-300, 1e9)}
OF_THE_RUN = ("seeds", "seed", "n_test")
READERS: dict[str, Callable[[str], object]] = {  # by kind of parameter
    "integer": parse_integer, "real": parse_real, "flag": {"true": True, "false": False}.get}

Value = int | float | str | bool | None  # of a parameter


class SweepPlan(NamedTuple):
    """A sweep as a file describes it; what the file leaves out is None."""

    cells: list[Setting]
    seeds: int | None = None
    seed: int | None = None
    n_test: int | None = None


def product(scan: Mapping[str, Sequence[Any]], **fixed: Any) -> list[Setting]:
    """The settings of all combinations of the values in `scan`, the last name varying fastest.

    Names are the parameters of `Setting` and "ratio", which gives N = ratio V. Raises `SettingError` that names
    the first bad value.

    >>> [(s.V, s.N) for s in product({"V": [16, 32]}, ratio=8, L=2, d=64)]
    [(16, 128), (32, 256)]
    """
    for name, values in scan.items():
        if name in fixed:
            raise SettingError("scan", f"{name} is scanned: it can't be fixed too")
        if not values:
            raise SettingError("scan", f"{name} is scanned over no value")
    check_names([*scan, *fixed])
    cells = math.prod(map(len, scan.values()))
    if cells > MOST_CELLS:
        raise SettingError("scan", f"the scans make {cells:,} cells; at most {MOST_CELLS:,} are allowed")
    return [setting_of({**fixed, **dict(zip(scan, values, strict=True))})
            for values in itertools.product(*scan.values())]


def check_names(names: Collection[str]) -> None:
    """Raise `SettingError` unless the names make a setting: the sizes V, L, d and N or ratio, and nothing unknown."""
    for name in names:
        _parameter(name)
    if {"N", "ratio"} <= {*names}:
        raise SettingError("ratio", "ratio gives N = ratio V: leave N out")
    for name, p in PARAMETERS.items():
        if p.required and name not in names and not (name == "N" and "ratio" in names):
            raise SettingError(name, f"{name} is missing: {p.domain} ({p.meaning}), or a scan of it")


def _parameter(name: str) -> Parameter:
    if name not in SCANNED:
        raise SettingError("scan", f"{name!r} is no parameter; there are {', '.join(SCANNED)}")
    return SCANNED[name]


def setting_of(values: Mapping[str, Any]) -> Setting:
    """The setting of its parameters by name, or of "ratio" in the place of N."""
    given = dict(values)
    ratio = given.pop("ratio", None)
    if ratio is not None:
        given["N"] = max(1, round(SCANNED["ratio"].check(ratio) * PARAMETERS["V"].check(given["V"])))
    return Setting(**given)


def scan(text: str) -> tuple[str, list[Value]]:
    """The name and the values of `NAME=VALUES`: values and ranges, with commas between them.

    A range `a:b:xF` multiplies by F, `a:b:+S` adds S; b is included where it is met.
    """
    name, equals, values = text.partition("=")
    if not equals:
        raise SettingError("scan", f"scan={text!r} is not NAME=VALUES, such as d=64:512:x2 or L=8,16,32")
    return name.strip(), scan_values(name.strip(), values)


def scan_values(name: str, text: str) -> list[Value]:
    """The values of a parameter that a text such as "8,16:64:x2" stands for, in order and without repeats."""
    parameter = _parameter(name)
    values: list[Value] = []
    for item in text.split(","):
        try:
            values += _range(parameter, item) if ":" in item else [read_value(parameter, item)]
        except SettingError as error:
            raise SettingError("scan", f"scan={name}={item!r}: {error}") from None
    return list(dict.fromkeys(values))


def read_value(parameter: Parameter, text: str) -> Any:
    """The value of a parameter that a text stands for; `SettingError` where it is none.

    >>> read_value(PARAMETERS["N"], "2^16"), read_value(PARAMETERS["m"], "none")
    (65536, None)
    """
    text = text.strip()
    if parameter.optional and text == "none":
        return None
    value = READERS[parameter.kind](text) if parameter.kind in READERS else None
    return parameter.check(text if value is None else value)


def _range(parameter: Parameter, text: str) -> list[Value]:
    parts = re.fullmatch(r"([^:]*):([^:]*):\s*([x+])([^:]*)", text)
    step = parse_real(parts[4]) if parts else None
    if parts is None or step is None or not math.isfinite(step) or parameter.kind not in ("integer", "real"):
        raise SettingError("scan", "it is not a range: a:b:xF multiplies by F, a:b:+S adds S")
    low, high = (read_value(parameter, end) for end in parts.group(1, 2))
    multiplies = parts[3] == "x"
    if low is None or high is None or low > high or step <= multiplies or (multiplies and low <= 0):
        raise SettingError("scan", "it doesn't rise: a must not exceed b, F must be above 1, S above 0")
    steps = math.log(high / low) / math.log(step) if multiplies else (high - low) / step
    if steps > MOST_VALUES:
        raise SettingError("scan", f"it has more than {MOST_VALUES:,} values")
    powers = range(math.floor(steps * (1 + 1e-12) + 1e-9) + 1)
    values = [low * step**k if multiplies else low + step * k for k in powers]
    return [min(round(value) if parameter.kind == "integer" else float(value), high) for value in values]


def load_plan(name: str, further: Mapping[str, list[Setting]] | None = None) -> SweepPlan:
    """The sweep of a TOML file, or over a shipped grid ("default", "full", "attention-only", "mlp", and `further`).

    Parameters of `Setting` (and ratio) at the top are fixed, those in a table [scan] are scanned: a list, or a
    text such as "64:512:x2". seeds, seed and n_test may stand at the top too. A file of tables [[cell]], as
    `verify` reads it, is a sweep over its cells. Raises `SettingError` of one line that names the file.
    """
    if further and name in further:
        return SweepPlan(further[name])
    table = read_table(name, {**THREE_STEP_RECALL.shipped_grids, **dict.fromkeys(further or (), ())})
    if "cell" in table:
        return SweepPlan(cells_of(THREE_STEP_RECALL, table, name))
    scans = table.pop("scan", {})
    try:
        if not isinstance(scans, dict):
            raise SettingError("grid", "scan is not a table [scan]")
        run = {key: check_integer(key, table.pop(key), 0 if key == "seed" else 1) for key in OF_THE_RUN if key in table}
        for key, values in scans.items():
            if isinstance(values, str):
                scans[key] = scan_values(key, values)
            elif isinstance(values, list):
                scans[key] = [None if v == "none" else v for v in values]
            else:
                raise SettingError("grid", f"scan.{key} is neither a list nor a text such as \"64:512:x2\"")
        return SweepPlan(product(scans, **table), **run)
    except SettingError as error:
        raise SettingError("grid", f"{name}: {error}") from None


class Reproduction(NamedTuple):
    """A command line, and the text of the grid file that it reads ("" where it needs none)."""

    command: str
    grid: str = ""


def reproductions(problems: Sequence[SweepProblem], seeds: Sequence[int],
                  planned: bool = False) -> list[Reproduction]:
    """One command for each seed, number of test sequences and number of seeds in the store. Where cells have many
    different numbers of seeds, as after an interruption, one command gives all of them as many as the fullest has,
    or as many as are `planned` where these are in the store.
    """
    planned = planned and len(set(seeds)) > 1
    if planned or len(set(seeds)) > MOST_COUNTS:
        seeds = [max(seeds)] * len(problems)
    runs: dict[tuple[int, int | None, int], list[Setting]] = {}
    for problem, n in zip(problems, seeds, strict=True):
        runs.setdefault((problem.seed, problem.n_test, n), []).append(problem.setting)
    made = []
    for number, ((seed, n_test, n), settings) in enumerate(runs.items(), start=1):
        file = "cells.toml" if len(runs) == 1 else f"cells-{number}.toml"
        cells = _scans(settings)
        words = ["recall-theory sweep", cells or f"--grid {file}", *([] if planned else [f"--seeds {n}"]),
                 f"--seed {seed}", *([] if n_test is None else [f"--n-test {n_test}"]), "--store again.db"]
        made.append(Reproduction(" ".join(words), "" if cells else _grid(settings)))
    return made


def _scans(settings: Sequence[Setting]) -> str:
    """The cells as options of `sweep`; "" where they aren't all combinations of some values."""
    rows = [s.to_dict() for s in settings]
    if len({s.ratio for s in settings}) < len({s.N for s in settings}):
        rows = [{**row, "N": None, "ratio": s.ratio} for row, s in zip(rows, settings, strict=True)]
    values = {name: list(dict.fromkeys(row[name] for row in rows)) for name in rows[0]}
    if math.prod(map(len, values.values())) != len(settings):
        return ""
    scans = {name: [_text(value) for value in of] for name, of in values.items() if len(of) > 1}
    if any("," in text for texts in scans.values() for text in texts):  # an activation of two arguments, say
        return ""
    scanned = [f"--scan {shlex.quote(name + '=' + ','.join(texts))}" for name, texts in scans.items()]
    return " ".join([*scanned, options(beside_defaults({n: of[0] for n, of in values.items() if n not in scans}))])


def options(values: Mapping[str, object]) -> str:
    """Parameters as options of a command.

    >>> options({"V": 16, "ratio": 2.5, "trigger_in_value": False})
    '--V 16 --ratio 2.5 --no-trigger-in-value'
    """
    names = {name: name.replace("_", "-") for name in values}
    return " ".join(f"--no-{names[name]}" if value is False else f"--{names[name]} {shlex.quote(_text(value))}"
                    for name, value in values.items())


def _text(value: object) -> str:
    """A value as `sweep` reads it."""
    if value is None or isinstance(value, bool):
        return str(value).lower()
    return exact(value) if isinstance(value, float) else str(value)


def _grid(settings: Sequence[Setting]) -> str:
    """The cells as a TOML file that `sweep --grid` reads; TOML writes these values as JSON does."""
    tables = [[f"{name} = {json.dumps(v)}" for name, v in beside_defaults(s.to_dict()).items()] for s in settings]
    return "\n\n".join("\n".join(["[[cell]]", *lines]) for lines in tables) + "\n"
