"""Critical sizes read off a store: where an observable crosses a level between neighbouring sizes of a scan.

Observed and predicted are interpolated in the same way, between the same kind of neighbours: the logit of the mean is
a straight line in the logarithm of the size. So what interpolation does to the one it does to the other.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ..comparison import Cell, Comparison
from ..scaling.fit import FloatArray, crossing, logistic
from ..scaling.run import Critical, Scaling, lines
from ..simulate.observe import OBSERVABLES
from .cells import Evidence
from .planes import Plane

FEWEST_SEEDS = 8  # on both sides of a crossing, for an interval
POINTS = 2  # crossings of a scaling


def critical(found: Evidence, plane: Plane, at: float) -> list[Scaling]:
    """How critical sizes scale over a plane: one scaling for each observable with two crossings at least.

    The critical size is that of the two which more scans cross.
    """
    ways = [[s for o in OBSERVABLES if _points(s := _scaling(found, plane, of, along, o, at)) >= POINTS]
            for of, along in ((plane.x, plane.y), (plane.y, plane.x))]
    return max(ways, key=lambda way: sum(map(_points, way)))


def _points(scaling: Scaling) -> int:
    return sum(p.se_log > 0 for p in scaling.points)


def _scaling(found: Evidence, plane: Plane, of: str, along: str, observable: str, at: float) -> Scaling:
    scans: dict[int, list[Cell]] = {}
    for i in plane.cells:
        scans.setdefault(getattr(found.cells[i].setting, along), []).append(found.cells[i])
    points = tuple(_critical(value, scans[value], of, observable, at) for value in sorted(scans))
    line, exponent = lines(points)
    return Scaling(of, along, at, observable, plane.fixed, found.problems[plane.cells[0]].seed, points, line, exponent)


def _critical(value: int, scan: Sequence[Cell], of: str, observable: str, at: float) -> Critical:
    cells = sorted(scan, key=lambda c: int(getattr(c.setting, of)))
    sizes = np.log([getattr(c.setting, of) for c in cells])
    by = [c.comparisons[observable] for c in cells]
    seen = _seen(sizes, by, at)
    expected = _between(sizes, [c.predicted for c in by], at)
    simulated = sum(c.seeds for c in cells)
    if isinstance(seen, str):
        return Critical(value, math.nan, (math.nan, math.nan), expected, simulated, seen)
    middle, low, high = (math.exp(u) for u in seen)
    return Critical(value, middle, (low, high), expected, simulated)


def _bracket(means: Sequence[float], at: float) -> int | str:
    """The number of the size after which the means cross `at`, or why there is no crossing to speak of."""
    above = [m > at for m in means]
    crossings = [i for i in range(len(means) - 1) if above[i] != above[i + 1]]
    if not crossings:
        return f"{at:g} is not crossed"
    return crossings[0] if len(crossings) == 1 else f"{at:g} is crossed more than once"


def _seen(sizes: FloatArray, by: Sequence[Comparison], at: float) -> tuple[float, float, float] | str:
    i = _bracket([c.observed.mean for c in by], at)
    if isinstance(i, str):
        return i
    values = [by[i].observed.values, by[i + 1].observed.values]
    if min(map(len, values)) < FEWEST_SEEDS:
        return f"fewer than {FEWEST_SEEDS} seeds beside the crossing"
    if any(v.mean() in (0, 1) for v in values):
        return "0 or 1 next to the crossing: a finer scan would tell"
    middle = float(sizes[i] + sizes[i + 1]) / 2
    fit = logistic(np.repeat(sizes[i:i + 2] - middle, [len(v) for v in values]), np.concatenate(values), degree=1)
    root = None if fit is None else crossing(*fit, at)
    if root is None:
        return "no curve can be laid through the sizes beside the crossing"
    return middle + root[0], middle + root[1], middle + root[2]


def _between(sizes: FloatArray, means: Sequence[float], at: float) -> float:
    """The size at which the predicted means cross `at`, NaN for none."""
    i = _bracket(means, at)
    if isinstance(i, str):
        return math.nan
    low, high = (math.log(p / (1 - p)) if 0 < p < 1 else math.copysign(math.inf, p - at) for p in means[i:i + 2])
    if math.isinf(low) or math.isinf(high):
        return math.nan
    share = (math.log(at / (1 - at)) - low) / (high - low)
    return math.exp(float(sizes[i] + share * (sizes[i + 1] - sizes[i])))
