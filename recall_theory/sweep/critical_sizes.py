"""Critical sizes read off a store: where an observable crosses a level along the sizes of a scan.

Between the two sizes on either side of the crossing the logit of the mean is taken for a straight line in the logarithm
of the size; where noise crosses the level several times, the line goes through all sizes from the first crossing to the
last. Observed and predicted means are treated alike, so what interpolation does to the one it does to the other.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ..simulate.observables import OBSERVABLES
from ..verification.results import Cell
from .analysis import Evidence
from .scaling import Critical, Scaling, lines
from .scaling_fit import FloatArray, crossing, logistic
from .slices import Plane

FEWEST_SEEDS = 8  # at every size that the line goes through, for an interval
POOR = 0.5  # sizes with a smaller share of the seeds of the fullest, such as those of a pilot, only blur the crossing
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
    scans: dict[int, dict[int, Cell]] = {}
    for i in plane.cells:
        cell = found.cells[i]
        scan = scans.setdefault(getattr(cell.setting, along), {})
        size = getattr(cell.setting, of)
        if size not in scan or scan[size].seeds < cell.seeds:  # of several runs of one setting the fullest counts
            scan[size] = cell
    points = tuple(_critical(value, scans[value], observable, at) for value in sorted(scans))
    line, exponent = lines(points)
    return Scaling(of, along, at, observable, plane.fixed, found.problems[plane.cells[0]].seed, points, line, exponent)


def _critical(value: int, scan: dict[int, Cell], observable: str, at: float) -> Critical:
    fullest = max(cell.seeds for cell in scan.values())
    sizes = [size for size in sorted(scan) if scan[size].seeds >= POOR * fullest]
    by = [scan[size].comparisons[observable] for size in sizes]
    expected = _crossing(np.log(sizes), [np.array([c.predicted]) for c in by], at)
    seen = _crossing(np.log(sizes), [c.observed.values for c in by], at, FEWEST_SEEDS)
    predicted = math.nan if isinstance(expected, str) else math.exp(expected[0])
    simulated = sum(scan[size].seeds for size in sizes)
    if isinstance(seen, str):
        return Critical(value, math.nan, (math.nan, math.nan), predicted, simulated, seen)
    middle, low, high = (math.exp(u) for u in seen)
    return Critical(value, middle, (low, high), predicted, simulated)


def _crossing(u: FloatArray, values: Sequence[FloatArray], at: float,
              fewest: int = 1) -> tuple[float, float, float] | str:
    """Where the means of the values cross `at`, with the ends of its 95 % interval, as logarithms of the size; or why
    nowhere."""
    means = [v.mean() for v in values]
    above = [m > at for m in means]
    changes = [i for i in range(len(means) - 1) if above[i] != above[i + 1]]
    if not changes:
        return f"{at:g} is not crossed"
    if above[0] == above[-1]:
        return f"{at:g} is crossed there and back"
    beside = slice(changes[0], changes[-1] + 2)
    if min(map(len, values[beside])) < fewest:
        return f"fewer than {fewest} seeds beside the crossing"
    if any(m in (0, 1) for m in means[beside]):
        return "0 or 1 next to the crossing: a finer scan would tell"
    middle = float(u[beside].mean())
    fit = logistic(np.repeat(u[beside] - middle, [len(v) for v in values[beside]]), np.concatenate(values[beside]), 1)
    root = None if fit is None else crossing(*fit, at)
    if root is None:
        return "no curve can be laid through the sizes beside the crossing"
    return middle + root[0], middle + root[1], middle + root[2]
