"""Inverses of a prediction that need not be monotone: where on the integers does it reach a target?"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
Function = Callable[[FloatArray], FloatArray]

@dataclasses.dataclass(frozen=True)
class Interval:
    """The integers low..high, both included, on which the target is reached. `bounded` is False where
    the interval runs on to the end of the domain that was searched."""

    low: int
    high: int
    bounded: bool


def grid(low: float, high: float, points_a_decade: int) -> FloatArray:
    """Distinct integers from low to high, even in the logarithm."""
    count = 2 + int(np.ceil(points_a_decade * np.log10(max(high / low, 1.0))))
    return np.unique(np.rint(np.geomspace(low, high, count)))


def intervals(value: Function, target: float, x: FloatArray,
              at_x: FloatArray | None = None) -> list[Interval]:
    """All intervals of integers between x[0] and x[-1] on which value >= target, lowest first.

    `value` maps an array of integers (as floats) to an array; `x` is an increasing grid of integers and
    `at_x` its values where they are known. An interval or a gap between two neighbours of the grid passes
    unseen; ends are exact where value is monotone between neighbours.
    """
    reached = (value(x) if at_x is None else at_x) >= target
    edges = np.flatnonzero(np.diff(reached.astype(int)))
    ends = _bisect(value, target, x[edges], x[edges + 1])  # (E, 2): last integer on either side
    found, start = [], int(x[0]) if reached[0] else None
    for (left, right), up in zip(ends, reached[edges + 1], strict=True):
        if up:
            start = int(right)
        else:
            assert start is not None
            found.append(Interval(start, int(left), bounded=True))
            start = None
    if start is not None:
        found.append(Interval(start, int(x[-1]), bounded=False))
    return found


def _bisect(value: Function, target: float, left: FloatArray, right: FloatArray,
            sections: int = 6) -> NDArray[np.int64]:
    """Narrow brackets of a crossing, all at once, until their ends are neighbours."""
    left, right = left.copy(), right.copy()
    if left.size:
        side = value(left) >= target
    while (wide := np.flatnonzero(right - left > 1)).size:
        steps = np.arange(1, sections) / sections
        inner = np.rint(left[wide, None] + (right - left)[wide, None] * steps)  # (E, S-1)
        inner = np.clip(inner, left[wide, None], right[wide, None])
        same = (value(inner.ravel()) >= target).reshape(inner.shape) == side[wide, None]
        same |= inner == left[wide, None]
        same &= inner != right[wide, None]
        crossed = np.where(same.all(axis=1), sections - 1, np.argmin(same, axis=1))
        full = np.concatenate([left[wide, None], inner, right[wide, None]], axis=1)
        rows = np.arange(len(wide))
        left[wide], right[wide] = full[rows, crossed], full[rows, crossed + 1]
    return np.stack([left, right], axis=1).astype(np.int64)
