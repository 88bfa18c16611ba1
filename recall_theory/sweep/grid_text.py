"""Grids as people write them: `d=64:512:x2`, `L=8,16,32`, and TOML files."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

from ..numerics import number_syntax
from ..settings import PARAMETERS, Setting, SettingError
from .product import SCANNED, product

MOST_VALUES = 100_000  # of one scan
OF_THE_RUN = ("seeds", "seed", "n_test")


@dataclasses.dataclass(frozen=True)
class Plan:
    """A sweep as a file describes it; what the file leaves out is None."""

    cells: list[Setting]
    seeds: int | None = None
    seed: int | None = None
    n_test: int | None = None


def scan(text: str) -> tuple[str, list[Any]]:
    """The name and the values of `NAME=VALUES`: values and ranges, with commas between them.

    A range `a:b:xF` multiplies by F, `a:b:+S` adds S; b is included where it is met.

    >>> scan("d=64:512:x2"), scan("L=4,8:16:+4")
    (('d', [64, 128, 256, 512]), ('L', [4, 8, 12, 16]))
    """
    name, equals, rest = text.partition("=")
    name = name.strip()
    if not equals:
        raise SettingError("scan", f"scan={text!r} is not NAME=VALUES, such as d=64:512:x2 or L=8,16,32")
    if name not in SCANNED:
        raise SettingError("scan", f"scan={text!r}: {name!r} is no parameter; there are {', '.join(SCANNED)}")
    return name, values(name, rest)


def values(name: str, text: str) -> list[Any]:
    """The values that a text stands for, in order and without repeats."""
    found: list[Any] = []
    for item in text.split(","):
        found += _range(name, item) if ":" in item else [_value(name, item)]
    return list(dict.fromkeys(found))


def _value(name: str, text: str) -> Any:
    text = text.strip()
    parameter = PARAMETERS.get(name)
    if parameter is not None and parameter.optional and text == "none":
        return None
    kind = "real" if parameter is None else parameter.kind
    value: Any = text
    if kind in ("integer", "real"):
        value = number_syntax.parse_integer(text) if kind == "integer" else number_syntax.parse_real(text)
        if value is None or not math.isfinite(value):
            what = "a number above 0" if parameter is None else parameter.domain
            raise SettingError("scan", f"scan={name}={text!r} is not {what}")
    elif kind == "flag":
        value = {"true": True, "false": False}.get(text, text)
    if parameter is None:
        return value
    try:
        return parameter.check(value)
    except SettingError as error:
        raise SettingError("scan", f"scan={name}={text!r}: {error}") from None


def _range(name: str, text: str) -> list[Any]:
    parts = [part.strip() for part in text.split(":")]
    step = number_syntax.parse_real(parts[2][1:]) if len(parts) == 3 and parts[2][:1] in ("x", "+") else None
    if step is None or not math.isfinite(step) or (name in PARAMETERS and PARAMETERS[name].kind not in
                                                   ("integer", "real")):
        raise SettingError("scan", f"scan={name}={text!r} is not a range: a:b:xF multiplies by F, a:b:+S adds S")
    low, high = _value(name, parts[0]), _value(name, parts[1])
    times = parts[2][0] == "x"
    if low is None or high is None or not low <= high or step <= (1 if times else 0) or (times and low <= 0):
        raise SettingError("scan", f"scan={name}={text!r} doesn't rise: a must not exceed b, F must be above 1, "
                           "S above 0")
    steps = math.log(high / low) / math.log(step) if times else (high - low) / step
    if steps > MOST_VALUES:
        raise SettingError("scan", f"scan={name}={text!r} has more than {MOST_VALUES:,} values")
    whole = name in PARAMETERS and PARAMETERS[name].kind == "integer"
    found = []
    for k in range(math.floor(steps * (1 + 1e-12) + 1e-9) + 1):
        value = low * step**k if times else low + step * k
        found.append(min(round(value) if whole else float(value), high))
    return found


def load(path: str) -> Plan:
    """The sweep of a TOML file, or over a shipped grid ("default", "full", "attention-only", "mlp").

    Parameters of `Setting` (and ratio) at the top are fixed, those in a table [scan] are scanned: a list, or a
    text such as "64:512:x2". seeds, seed and n_test may stand at the top too. A file of tables [[cell]], as
    `verify` reads it, is a sweep over its cells.
    """
    from ..verification.grids import cells_of, read_table
    from ..verification.problem import THREE_STEP_RECALL

    table = read_table(path, THREE_STEP_RECALL.shipped_grids)
    if "cell" in table:
        return Plan(cells_of(THREE_STEP_RECALL, table, path))
    try:
        return _plan(table)
    except SettingError as error:
        raise SettingError("grid", f"{path}: {error}") from None


def _plan(table: dict[str, Any]) -> Plan:
    scans = table.pop("scan", {})
    run = {name: table.pop(name) for name in OF_THE_RUN if name in table}
    for name in table:
        if name not in SCANNED:
            raise SettingError("grid", f"unknown key {name!r}; there are {', '.join((*SCANNED, *OF_THE_RUN))}, and a "
                               "table [scan]")
    if not isinstance(scans, dict):
        raise SettingError("grid", "scan is not a table [scan]")
    for name, given in scans.items():
        if isinstance(given, str) and name in SCANNED:
            scans[name] = values(name, given)
        elif not isinstance(given, list):
            raise SettingError("grid", f"scan.{name} is neither a list nor a text such as \"64:512:x2\"")
        else:
            scans[name] = [None if v == "none" else v for v in given]
    for name, value in run.items():
        if isinstance(value, bool) or not isinstance(value, int) or value < (0 if name == "seed" else 1):
            raise SettingError("grid", f"{name}={value!r} is not an integer of at least {int(name != 'seed')}")
    return Plan(product(scans, **table), **run)
