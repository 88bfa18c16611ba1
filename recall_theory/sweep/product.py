"""Grids of settings: every combination of the values that are scanned."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

from ..settings import PARAMETERS, Setting, SettingError

MOST_CELLS = 1_000_000

SCANNED = (*PARAMETERS, "ratio")  # ratio gives N as a multiple of V


def product(scan: Mapping[str, Sequence[Any]], **fixed: Any) -> list[Setting]:
    """The settings of all combinations of the values in `scan`, the last name varying fastest.

    Names are the parameters of `Setting` and "ratio", which gives N = ratio V. Raises `SettingError` that names
    the first bad value.

    >>> [(s.V, s.N) for s in product({"V": [16, 32]}, ratio=8, L=2, d=64)]
    [(16, 128), (32, 256)]
    """
    for name in (*scan, *fixed):
        if name not in SCANNED:
            raise SettingError("scan", f"{name!r} is no parameter; there are {', '.join(SCANNED)}")
    for name in scan:
        if name in fixed:
            raise SettingError("scan", f"{name} is scanned: it can't be fixed too")
        if not scan[name]:
            raise SettingError("scan", f"{name} is scanned over no value")
    if {"N", "ratio"} <= {*scan, *fixed}:
        raise SettingError("ratio", "ratio gives N = ratio V: leave N out")
    missing = [n for n in ("V", "L", "d", "N") if n not in {*scan, *fixed} and not (n == "N" and "ratio" in
                                                                                   {*scan, *fixed})]
    if missing:
        p = PARAMETERS[missing[0]]
        raise SettingError(missing[0], f"{missing[0]} is missing: {p.domain} ({p.meaning}), or a scan of it")
    cells = math.prod(len(values) for values in scan.values())
    if cells > MOST_CELLS:
        raise SettingError("scan", f"the scans make {cells:,} cells; at most {MOST_CELLS:,} are allowed")
    return [_setting({**fixed, **dict(zip(scan, values, strict=True))})
            for values in itertools.product(*scan.values())]


def _setting(values: dict[str, Any]) -> Setting:
    ratio = values.pop("ratio", None)
    if ratio is not None:
        if not (isinstance(ratio, (int, float)) and 0 < ratio <= 1e9):
            raise SettingError("ratio", f"ratio={ratio!r} is not a number above 0 and at most 1e+09")
        values["N"] = max(1, round(ratio * PARAMETERS["V"].check(values["V"])))
    return Setting(**values)
