"""The search for a critical size: a pilot says where to look, fresh simulations there give the answer.

No evaluation is both chosen by its outcome and used in the estimate, so noise can't steer it: the pilot's seeds are
thrown away, and the points of the second stage are fixed before any of it is simulated.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Generator

import numpy as np

from .scaling_fit import FloatArray, crossing, logistic

PILOT_SEEDS = 8
DOUBLINGS = 20  # from where the pilot starts, at most so many to either side
POINTS = 5  # of the second stage
REACH = 1.2  # the second stage spans so much in logits to both sides
NARROWEST, WIDEST = 0.06, 2.0  # of the span to both sides, in the logarithm of the size
ATTEMPTS = 4  # second stages; another follows where the crossing lies beyond the points of the last
CERTAIN = 0.02  # shares nearer than this to 0 and 1 say little about the slope


@dataclasses.dataclass(frozen=True)
class Ask:
    """Sizes to be simulated with so many seeds; stages have streams of their own. Stage 0 is the pilot."""

    stage: int
    sizes: tuple[int, ...]
    seeds: int


@dataclasses.dataclass(frozen=True)
class Found:
    """A crossing: the logarithm of the size and the ends of its 95 % interval; or `reason`, why there is none."""

    log_size: float = math.nan
    low: float = math.nan
    high: float = math.nan
    reason: str = ""


Search = Generator[Ask, FloatArray | None, Found]  # answers have shape (sizes, seeds); None: it can't be simulated


def find(at: float, start: int, low: int, high: int, rising: bool, seeds: int) -> Search:
    """Ask for simulations until the size is known at which the mean observable is `at`.

    The size lies from `low` to `high`; the observable rises (or falls) in it. `seeds` are those of each point of
    the second stage.
    """
    pilot = yield from _pilot(at, min(max(start, low), high), low, high, rising)
    if isinstance(pilot, Found):
        return pilot
    centre, slope = pilot
    for stage in range(1, ATTEMPTS + 1):
        span = min(max(REACH / abs(slope), NARROWEST), WIDEST)
        sizes = _design(centre, span, low, high)
        values = yield Ask(stage, sizes, seeds)
        if values is None:
            return Found(reason="too large to simulate")
        u = np.log(sizes)
        middle = float(u.mean())
        fit = logistic(np.repeat(u - middle, seeds), values.ravel(), degree=min(2, len(sizes) - 1))
        root = None if fit is None else crossing(*fit, at)
        if root is not None and u[0] <= middle + root[0] <= u[-1]:
            return Found(middle + root[0], middle + root[1], middle + root[2])
        centre, slope = _coarse(u, values.mean(axis=1), at, slope)
    return Found(reason="no crossing was found where the pilot saw one")


def _pilot(at: float, x: int, low: int, high: int, rising: bool) -> Generator[Ask, FloatArray | None,
                                                                             Found | tuple[float, float]]:
    """The logarithm of the size about where the crossing is, and the slope of the logit there."""
    seen: dict[int, float] = {}

    def look(size: int) -> Generator[Ask, FloatArray | None, bool]:
        values = yield Ask(0, (size,), PILOT_SEEDS)
        if values is not None:
            seen[size] = float(values.mean())
        return values is not None

    if not (yield from look(x)):
        return Found(reason="too large to simulate")
    upwards = rising == (seen[x] < at)
    for _ in range(DOUBLINGS):
        following = min(2 * x, high) if upwards else max(x // 2, low)
        if following == x:
            break
        if not (yield from look(following)):
            return Found(reason=f"{at:g} is not crossed at sizes that can be simulated")
        if (seen[following] < at) != (seen[x] < at):
            inside = sorted({round(math.exp(v)) for v in np.linspace(math.log(x), math.log(following), 5)[1:-1]})
            for size in inside:
                yield from look(size)
            near = [s for s in seen if min(x, following) <= s <= max(x, following)]
            guess = math.log(4) * (1 if rising else -1)
            return _coarse(np.log(near), np.array([seen[s] for s in near]), at, guess)
        x = following
    return Found(reason=f"{at:g} is not crossed")


def _design(centre: float, span: float, low: int, high: int) -> tuple[int, ...]:
    """Whole sizes spread evenly around the centre, at least three where there is room."""
    sizes = np.unique(np.rint(np.exp(centre + np.linspace(-span, span, POINTS)))).astype(int)
    if len(sizes) < POINTS - 1:
        sizes = round(math.exp(centre)) + np.arange(POINTS) - POINTS // 2
    return tuple(dict.fromkeys(np.clip(sizes, low, high).tolist()))


def _coarse(u: FloatArray, mean: FloatArray, at: float, slope: float) -> tuple[float, float]:
    """Centre and slope by a straight line through the logits; the slope's sign is known, so it is kept."""
    p = np.clip(mean, CERTAIN, 1 - CERTAIN)
    logit = np.log(p / (1 - p)) - math.log(at / (1 - at))
    centred = u - u.mean()
    fitted = float((centred * logit).sum() / max((centred**2).sum(), 1e-300))
    if fitted * slope > 0:
        slope = fitted
    # Not further than one span beyond the points: the line is not to be trusted there.
    reach = max(float(np.ptp(u)) / 2, NARROWEST)
    return float(u.mean()) + float(np.clip(-logit.mean() / slope, -2 * reach, 2 * reach)), slope
