"""Planes: cells that scan two sizes while all else is the same."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ..settings import PARAMETERS, Setting, SettingError
from ..theory.phase import PhaseDiagram, phase

SIZES = ("V", "L", "d", "N", "m")
ACROSS = ("N", "d", "m", "V", "L")  # of two sizes the first is drawn across
MOST = 4  # planes; a store of many scans has more
A_LINE = 2  # cells that each line of a plane has on average: cells along a mere curve are no plane
CELLS = (13, 9)  # of a phase diagram
BEYOND = 1.25  # a diagram reaches so much beyond the outermost cells, as a factor


@dataclasses.dataclass(frozen=True)
class Plane:
    """Cells (by number) that differ in the sizes x and y only.

    `fixed` is all else; where it holds a ratio, N = ratio V.
    """

    x: str
    y: str
    fixed: dict[str, Any]
    cells: tuple[int, ...]

    def title(self) -> str:
        """What is fixed, in words: "L = 4, N/V = 32"."""
        return described(self.fixed)


def described(parameters: Mapping[str, object]) -> str:
    """Sizes, and other parameters of a setting where they aren't the defaults, in words.

    >>> described({"L": 4, "ratio": 32.0, "embedding": "sphere", "trigger_in_value": True})
    'L = 4, N/V = 32, embedding sphere'
    """
    words = []
    for name, value in parameters.items():
        if value is None or (name not in ("ratio", "activation", *SIZES) and value == PARAMETERS[name].default):
            continue
        shown = "N/V" if name == "ratio" else name
        equals = "" if isinstance(value, str | bool) else " ="
        words.append(f"{shown}{equals} {f'{value:,g}' if isinstance(value, float) else _whole(value)}")
    return ", ".join(words)


def _whole(value: object) -> str:
    return f"{value:,}" if type(value) is int else str(value)


def planes(settings: Sequence[Setting]) -> tuple[list[Plane], int]:
    """The planes that hold most cells, and how many more there are. A plane whose cells are all on earlier ones is
    left out.

    >>> from recall_theory.sweep import product
    >>> [(p.x, p.y, len(p.cells)) for p in planes(product({"d": [16, 32], "L": [2, 4, 8]}, V=16, N=128))[0]]
    [('d', 'L', 6)]
    """
    candidates = []
    for x, y in itertools.combinations(ACROSS, 2):
        for by_ratio in ((False, True) if "V" in (x, y) and "N" not in (x, y) else (False,)):
            groups: dict[tuple[Any, ...], list[int]] = {}
            for i, s in enumerate(settings):
                if getattr(s, x) is not None and getattr(s, y) is not None and s.is_limit:
                    groups.setdefault(_rest(s, x, y, by_ratio), []).append(i)
            for rest, members in groups.items():
                across, up = ({getattr(settings[i], size) for i in members} for size in (x, y))
                lines = min(len(across), len(up))
                if lines > 1 and len(members) >= A_LINE * lines:
                    candidates.append(Plane(x, y, dict(rest), tuple(members)))
    candidates.sort(key=lambda p: -len(p.cells))  # stable: else in the order of ACROSS
    found: list[Plane] = []
    covered: set[int] = set()
    for plane in candidates:
        if not covered.issuperset(plane.cells):
            found.append(plane)
            covered.update(plane.cells)
    return found[:MOST], max(0, len(found) - MOST)


def _rest(s: Setting, x: str, y: str, by_ratio: bool) -> tuple[Any, ...]:
    """All but x and y, as `phase` takes it: hashable pairs."""
    fixed = {n: getattr(s, n) for n in PARAMETERS if n not in (x, y, "eta", "gamma")}
    if by_ratio:
        del fixed["N"]
        fixed["ratio"] = s.N / s.V
    if "m" in (x, y) or fixed.get("m") is None:
        fixed.pop("m", None)
    if fixed["activation"] is None:
        del fixed["activation"]
    return tuple(fixed.items())


def diagram(plane: Plane, settings: Sequence[Setting], target: float,
            mapped: Callable[[Callable[[Setting], Any], Sequence[Setting]], Iterable[Any]] = map,
            cells: tuple[int, int] = CELLS) -> PhaseDiagram | str:
    """The predicted phase diagram around a plane's cells, or why there is none."""
    fixed = dict(plane.fixed)
    ratio = fixed.pop("ratio", None)
    try:
        return phase(plane.x, plane.y, _range(plane.x, plane, settings), _range(plane.y, plane, settings), cells=cells,
                     target=target, ratio=ratio, mapped=mapped, **fixed)
    except SettingError as error:
        return str(error)


def _range(size: str, plane: Plane, settings: Sequence[Setting]) -> tuple[float, float]:
    values = [getattr(settings[i], size) for i in plane.cells]
    domain = PARAMETERS[size]
    return max(domain.low, min(values) / BEYOND), min(domain.high, max(values) * BEYOND)
