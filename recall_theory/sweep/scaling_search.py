"""The search for a critical size: a pilot says where to look, fresh simulations there give the answer.

No simulation is both chosen by its outcome and used in the estimate, so noise can't steer it: the pilot's seeds are
thrown away, and the points of a later stage are fixed before any of it is simulated.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable

import numpy as np

from ..numerics.thresholds import last_reaching, logit
from ..settings import SettingError
from .scaling_fit import Crossing, FloatArray, crossing_between

PILOT_SEEDS = 8
PILOT_DOUBLINGS = 20  # from where the pilot starts, at most so many to either side
PREDICTED_DOUBLINGS = 40
POINTS = 5  # of a stage after the pilot
SPAN = 1.2  # logits that these points span to both sides
NARROWEST, WIDEST = 0.06, 2.0  # the same in the logarithm of the size
ATTEMPTS = 4  # stages after the pilot; another follows where the crossing lies beyond the points of the last
CERTAIN = 0.02  # shares nearer than this to 0 and 1 say little about the slope

# (stage, sizes, seeds) -> observed values (sizes, seeds), or None where that can't be simulated. Stage 0 is the pilot;
# stages have random streams of their own.
Simulate = Callable[[int, tuple[int, ...], int], FloatArray | None]


@dataclasses.dataclass(frozen=True)
class SizeRange:
    """The whole sizes from `low` to `high`, both included, searched from `start` on; `rising` says whether the
    observable rises in the size."""

    start: int
    low: int
    high: int
    rising: bool


def bracket(mean: Callable[[int], float | None], at: float, sizes: SizeRange, doublings: int) -> tuple[int, int] | str:
    """Two sizes, a doubling apart, between which the mean crosses `at`: the first that doubling or halving from the
    start comes upon; or why there are none. `mean` is None where it can't be had."""
    size, value = sizes.start, mean(sizes.start)
    if value is None:
        return "too large to simulate"
    upwards = sizes.rising == (value < at)
    for _ in range(doublings):
        following = min(2 * size, sizes.high) if upwards else max(size // 2, sizes.low)
        if following == size:
            break
        after = mean(following)
        if after is None:
            return f"{at:g} is not crossed at sizes that can be simulated"
        if (after < at) != (value < at):
            return size, following
        size, value = following, after
    return f"{at:g} is not crossed"


def predicted_crossing(predicted: Callable[[int], float], at: float, sizes: SizeRange) -> float | None:
    """The logarithm of the size at which a predicted mean crosses `at`; None for nowhere.

    Between whole sizes the logit is interpolated in the logarithm of the size, so that the result is a real number, as
    an observed one is. `predicted` may raise `SettingError` for what it doesn't describe.
    """
    mean = functools.cache(predicted)
    try:
        ends = bracket(mean, at, sizes, PREDICTED_DOUBLINGS)
        if isinstance(ends, str):
            return None
        start, end = ends if mean(ends[0]) >= at else ends[::-1]
        near = last_reaching(mean, at, start, end, math.sqrt(start * end))
        assert near is not None
        far = near + (1 if end > near else -1)
        height, gain = logit(at) - logit(mean(near)), logit(mean(far)) - logit(mean(near))
    except SettingError:
        return None
    return math.log(near) + height / gain * (math.log(far) - math.log(near))


def search_crossing(simulate: Simulate, at: float, sizes: SizeRange, seeds: int) -> Crossing:
    """Simulate until the size is known at which the mean observable is `at`.

    `seeds` are those of each point of the stages after the pilot.
    """
    pilot = _pilot(simulate, at, sizes)
    if isinstance(pilot, str):
        return Crossing(reason=pilot)
    centre, slope = pilot
    for stage in range(1, ATTEMPTS + 1):
        points = _design(centre, min(max(SPAN / abs(slope), NARROWEST), WIDEST), sizes)
        values = simulate(stage, points, seeds)
        if values is None:
            return Crossing(reason="too large to simulate")
        u = np.log(points)
        result = crossing_between(u, list(values), at, min(2, len(points) - 1))
        if result is not None and u[0] <= result.log_size <= u[-1]:
            return result
        centre, slope = _coarse_fit(u, values.mean(axis=1), at, slope)
    return Crossing(reason="no crossing was found where the pilot saw one")


def _pilot(simulate: Simulate, at: float, sizes: SizeRange) -> tuple[float, float] | str:
    """The logarithm of the size about where the crossing is and the slope of the logit there, or why there is none."""
    means: dict[int, float] = {}

    def mean(size: int) -> float | None:
        values = simulate(0, (size,), PILOT_SEEDS)
        if values is not None:
            means[size] = float(values.mean())
        return means.get(size)

    ends = bracket(mean, at, sizes, PILOT_DOUBLINGS)
    if isinstance(ends, str):
        return ends
    quarters = np.linspace(math.log(ends[0]), math.log(ends[1]), 5)[1:-1]
    for size in sorted({round(math.exp(u)) for u in quarters}):
        mean(size)
    near = [size for size in means if min(ends) <= size <= max(ends)]
    guess = math.log(4) if sizes.rising else -math.log(4)
    return _coarse_fit(np.log(near), np.array([means[size] for size in near]), at, guess)


def _design(centre: float, span: float, sizes: SizeRange) -> tuple[int, ...]:
    """Whole sizes spread evenly around the centre, at least three where there is room."""
    points = np.unique(np.rint(np.exp(centre + np.linspace(-span, span, POINTS)))).astype(int)
    if len(points) < POINTS - 1:
        points = round(math.exp(centre)) + np.arange(POINTS) - POINTS // 2
    return tuple(dict.fromkeys(np.clip(points, sizes.low, sizes.high).tolist()))


def _coarse_fit(u: FloatArray, mean: FloatArray, at: float, slope: float) -> tuple[float, float]:
    """Centre and slope by a straight line through the logits; the sign of `slope` is known, so it is kept."""
    p = np.clip(mean, CERTAIN, 1 - CERTAIN)
    height = np.log(p / (1 - p)) - logit(at)
    centred = u - u.mean()
    fitted = float((centred * height).sum() / max((centred**2).sum(), 1e-300))
    if fitted * slope > 0:
        slope = fitted
    # Not further than one span beyond the points: the line is not to be trusted there.
    reach = 2 * max(float(np.ptp(u)) / 2, NARROWEST)
    return float(u.mean() + np.clip(-height.mean() / slope, -reach, reach)), slope
