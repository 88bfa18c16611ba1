"""Critical sizes of the ladder: where a rung's accuracy crosses a level, and with which exponents, beside the law's."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from recall_theory import Setting
from recall_theory.sweep.scaling_experiment import CriticalSize, Scaling
from recall_theory.sweep.scaling_search import Crossing, SizeRange, crossing_between, predicted_crossing
from recall_theory.verification.ladder_study import Row, law_of, setting_of_row
from validation.ladder import RATIO

WIDEST_INTERVAL = 0.3  # of an exponent; a wider one is not determined


def ladder_scaling(rows: Sequence[Row], rung: str, of: str, along: str, at: float) -> Scaling:
    """Where the accuracy of a rung crosses `at` as a function of `of`, for each value of `along`.

    `of` is V or N, `along` is d or L; rows at other values of the remaining sizes than the study's (L = 8 along d,
    d = 16 along L, N = 32 V or V = 64) are left out. The points say where no crossing lies within the sizes.
    """
    chosen: dict[int, list[tuple[int, np.ndarray, Setting]]] = {}
    for row in rows:
        s = setting_of_row(row)
        usual = s.N == RATIO * s.V if of == "V" else s.V == 64
        if row["rung"] == rung and usual and (s.L == 8 if along == "d" else s.d == 16) and row["part"] in (
                "width", "fewer", "length", "samples"):
            values = np.array(row["observed"]["accuracy"]["values"])
            chosen.setdefault(getattr(s, along), []).append((getattr(s, of), values, s))
    points = [critical_size(value, sorted(found, key=lambda x: x[0]), of, at) for value, found in sorted(chosen.items())
              if len(found) > 2]
    return Scaling(of, along, at, "accuracy", {"rung": rung}, 0, tuple(points))


def critical_size(value: int, found: Sequence[tuple[int, np.ndarray, Setting]], of: str, at: float) -> CriticalSize:
    """The crossing among observed sizes, ascending, between the two that it lies between and their neighbours."""
    sizes, means = np.array([x[0] for x in found]), np.array([x[1].mean() for x in found])
    base = found[0][2]

    def setting(size: int) -> Setting:
        return base.replace(V=size, N=RATIO * size) if of == "V" else base.replace(N=size)

    above = means >= at if of == "N" else means < at
    seeds = sum(len(x[1]) for x in found)
    law = predicted_crossing(lambda size: law_of(setting(size))["accuracy"], at,
                             SizeRange(int(sizes[len(sizes) // 2]), 2, 10**7, of == "N"))
    if above.all() or not above.any():
        side = "below" if above.all() else "above"
        end = sizes[0] if above.all() else sizes[-1]
        crossing = Crossing(reason=f"{side} {of} = {end}")
    else:
        first = int(np.argmax(above))
        if first == 0:
            reason = f"not monotone in {of}"
            return CriticalSize.from_crossings(value, Crossing(reason=reason), law, seeds, setting)
        near = slice(max(0, first - 2), min(len(found), first + 2))
        fitted = crossing_between(np.log(sizes[near]), [x[1] for x in found[near]], at, 1)
        if fitted is not None and sizes[first - 1] <= math.exp(fitted.log_size) <= sizes[first]:
            crossing = fitted
        else:
            crossing = Crossing(reason=f"{of} from {sizes[first - 1]} to {sizes[first]}")
    return CriticalSize.from_crossings(value, crossing, law, seeds, setting)


def exponent_in_words(scaling: Scaling) -> str:
    """The exponent with its 95 % interval; "not determined" where that is wider than 0.3 or there is no line."""
    low, high = scaling.interval
    if scaling.line is None or len(scaling.usable) < 3 or not high - low <= WIDEST_INTERVAL:
        return "not determined" if scaling.line is None else f"not determined [{low:.2f}, {high:.2f}]"
    return f"{scaling.line.slope:.2f} [{low:.2f}, {high:.2f}]"


def size_in_words(point: CriticalSize) -> str:
    """A critical size to two digits, or where it lies outside what was measured."""
    return point.reason or (f"{point.observed:.3g}" if math.isfinite(point.observed) else "not found")
