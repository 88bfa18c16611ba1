"""The search for a critical size: a pilot says where to look, and a curve through fresh simulations there, where it is.

No simulation is both chosen by its outcome and used in the estimate, so noise can't steer it: the pilot's seeds are
thrown away, and the points of a later stage are fixed before any of it is simulated.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from ..numerics.arrays import FloatArray
from ..numerics.thresholds import last_reaching, logit
from ..settings import SettingError

Z95 = 1.959963984540054  # of a two-sided 95 % interval
NEWTON_STEPS = 100  # five or six are usual
LARGEST_STEP = 2.0  # of a logit in one Newton step: beyond it the quadratic model of the likelihood is a guess
FLATTEST_SLOPE = 1e-3  # a curve whose logit changes less over its points has no crossing to speak of
WIDEST_INTERVAL = 4.0  # in half widths of the delta method: an end beyond it is none

PILOT_SEEDS = 8
PILOT_DOUBLINGS = 20  # from where the pilot starts, at most so many to either side
PREDICTED_DOUBLINGS = 40
POINTS_A_STAGE = 5  # of a stage after the pilot
LOGIT_SPAN = 1.2  # logits that these points span to both sides
NARROWEST_SPAN, WIDEST_SPAN = 0.06, 2.0  # the same in the logarithm of the size
ATTEMPTS = 4  # stages after the pilot; another follows where the crossing lies beyond the points of the last
CERTAIN_SHARE = 0.02  # shares nearer than this to 0 and 1 say little about the slope

# (stage, sizes, seeds) -> observed values (sizes, seeds), or None where that can't be simulated. Stage 0 is the pilot;
# stages have random streams of their own.
Simulate = Callable[[int, tuple[int, ...], int], FloatArray | None]


class SizeRange(NamedTuple):
    """The whole sizes from `low` to `high`, both included, searched from `start` on; `rising`: whether the observable
    rises in the size."""

    start: int
    low: int
    high: int
    rising: bool


def logistic(t: FloatArray, y: FloatArray, degree: int = 2) -> tuple[FloatArray, FloatArray] | None:
    """Fit the logit of E y as a polynomial in t, by maximum quasi-likelihood.

    t and y have shape (n,), y in [0, 1]: fractions, not only 0 and 1. Nothing is assumed of the law of y but its mean;
    the covariance is the sandwich of the residuals. Returns the coefficients (degree + 1,), lowest first, and their
    covariance; None where no maximum is reached because the points lie on one side.

    >>> t = np.repeat([-1.0, 0.0, 1.0], 2)
    >>> coefficients, covariance = logistic(t, np.array([0.2, 0.3, 0.5, 0.5, 0.7, 0.8]), degree=1)
    >>> round(float(coefficients[0]), 10), round(float(coefficients[1]), 3)
    (0.0, 1.099)
    """
    x = np.vander(t, degree + 1, increasing=True)
    b = np.zeros(degree + 1)
    for _ in range(NEWTON_STEPS):
        p = 1 / (1 + np.exp(-np.clip(x @ b, -500, 500)))
        information = (x * (p * (1 - p))[:, None]).T @ x
        try:
            step = np.linalg.solve(information, x.T @ (y - p))
        except np.linalg.LinAlgError:
            return None
        step *= min(1.0, LARGEST_STEP / max(float(np.abs(x @ step).max()), 1e-300))
        b = b + step
        if np.abs(x @ step).max() < 1e-10:
            bread = np.linalg.inv(information)
            meat = (x * ((y - p) ** 2)[:, None]).T @ x
            return b, bread @ meat @ bread * len(y) / max(1, len(y) - len(b))
    return None


def crossing(coefficients: FloatArray, covariance: FloatArray, at: float) -> tuple[float, float, float] | None:
    """Where a curve fitted by `logistic`, of degree 1 or 2, takes the value `at`, nearest to t = 0; None for nowhere.

    Returns t and the ends of its 95 % interval, which is Fieller's: all t around the root at which the curve's own
    interval holds `at`. It keeps its promise where the slope is uncertain, which the delta method doesn't. An end that
    isn't there is infinite.
    """
    level = math.log(at / (1 - at))
    a, b, c = (*coefficients, 0.0)[:3]  # a + b t + c t^2, also where c is 0 or next to it
    discriminant = b * b - 4 * (a - level) * c
    if discriminant < 0:
        return None
    slope = math.copysign(math.sqrt(discriminant), b)  # at the root nearer to 0
    if abs(slope) < FLATTEST_SLOPE:
        return None
    root = float(-2 * (a - level) / (b + slope))

    # In s = t - root the curve is above the level by slope s + c s^2, and the variance of its logit is a polynomial.
    basis = [np.polynomial.Polynomial([root, 1]) ** k for k in range(len(coefficients))]
    variance = sum(covariance[i, j] * p * q for i, p in enumerate(basis) for j, q in enumerate(basis))
    if variance(0) <= 0:  # values that lie on a curve, up to rounding
        return root, root, root
    ends = (np.polynomial.Polynomial([0, slope, c]) ** 2 - Z95**2 * variance).roots()
    reach = WIDEST_INTERVAL * Z95 * math.sqrt(variance(0)) / abs(slope)
    ends = ends.real[(ends.imag == 0) & (abs(ends.real) <= reach)]
    return root, root + max(ends[ends < 0], default=-math.inf), root + min(ends[ends > 0], default=math.inf)


class Crossing(NamedTuple):
    """A critical size: its logarithm and the ends of the 95 % interval of that; or `reason`, why there is none."""

    log_size: float = math.nan
    low: float = math.nan
    high: float = math.nan
    reason: str = ""


def crossing_between(log_sizes: FloatArray, values: Sequence[FloatArray], at: float, degree: int) -> Crossing | None:
    """Where the mean of values in [0, 1], an array for each of `log_sizes`, crosses `at` along the logarithm of a size;
    None where no curve or crossing is found."""
    middle = float(log_sizes.mean())
    t = np.repeat(log_sizes - middle, list(map(len, values)))
    fit = logistic(t, np.concatenate(values), degree)
    root = None if fit is None else crossing(*fit, at)
    return None if root is None else Crossing(middle + root[0], middle + root[1], middle + root[2])


class Line(NamedTuple):
    """A weighted straight line: slope, its standard error, intercept, and how likely the points are to lie so far
    from any line by their errors alone (NaN for two points)."""

    slope: float
    se: float
    intercept: float
    p_value: float


def straight_line(x: FloatArray, y: FloatArray, se: FloatArray) -> Line:
    """The line through points of known standard errors, by weighted least squares; two points or more.

    >>> line = straight_line(np.array([0.0, 1.0, 2.0]), np.array([1.0, 3.0, 5.0]), np.ones(3))
    >>> round(line.slope, 12), round(line.p_value, 6)
    (2.0, 1.0)
    """
    from scipy.stats import chi2

    (slope, intercept), covariance = np.polyfit(x, y, 1, w=1 / se, cov="unscaled")
    misfit = (((y - slope * x - intercept) / se) ** 2).sum()
    p_value = float(chi2.sf(misfit, len(x) - 2)) if len(x) > 2 else math.nan
    return Line(float(slope), math.sqrt(covariance[0, 0]), float(intercept), p_value)


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


def predicted_crossing(predicted: Callable[[int], float], at: float, sizes: SizeRange) -> float:
    """The logarithm of the size at which a predicted mean crosses `at`, the logit interpolated in it between whole
    sizes; NaN for nowhere. `predicted` may raise `SettingError` for what it doesn't describe.
    """
    mean = functools.cache(predicted)
    try:
        ends = bracket(mean, at, sizes, PREDICTED_DOUBLINGS)
        if isinstance(ends, str):
            return math.nan
        start, end = ends if mean(ends[0]) >= at else ends[::-1]
        near = last_reaching(mean, at, start, end, math.sqrt(start * end))
        assert near is not None
        far = near + (1 if end > near else -1)
        height, gain = logit(at) - logit(mean(near)), logit(mean(far)) - logit(mean(near))
    except SettingError:
        return math.nan
    return math.log(near) + height / gain * (math.log(far) - math.log(near))


def search_crossing(simulate: Simulate, at: float, sizes: SizeRange, seeds: int) -> Crossing:
    """Simulate until the size is known at which the mean observable is `at`, with so many `seeds` at each point."""
    means: dict[int, float] = {}  # of the pilot

    def mean(size: int) -> float | None:
        values = simulate(0, (size,), PILOT_SEEDS)
        if values is not None:
            means[size] = float(values.mean())
        return means.get(size)

    ends = bracket(mean, at, sizes, PILOT_DOUBLINGS)
    if isinstance(ends, str):
        return Crossing(reason=ends)
    for size in {round(x) for x in np.geomspace(*ends, 5)[1:-1]}:
        mean(size)
    near = [size for size in means if min(ends) <= size <= max(ends)]
    slope = math.log(4) if sizes.rising else -math.log(4)
    centre, slope = _coarse_fit(np.log(near), np.array([means[size] for size in near]), at, slope)

    for stage in range(1, ATTEMPTS + 1):
        points = _design(centre, min(max(LOGIT_SPAN / abs(slope), NARROWEST_SPAN), WIDEST_SPAN), sizes)
        values = simulate(stage, points, seeds)
        if values is None:
            return Crossing(reason="too large to simulate")
        u = np.log(points)
        result = crossing_between(u, list(values), at, min(2, len(points) - 1))
        if result is not None and u[0] <= result.log_size <= u[-1]:
            return result
        centre, slope = _coarse_fit(u, values.mean(axis=1), at, slope)
    return Crossing(reason="no crossing was found where the pilot saw one")


def _design(centre: float, span: float, sizes: SizeRange) -> tuple[int, ...]:
    """Whole sizes spread evenly around the centre, at least three where there is room."""
    points = np.unique(np.rint(np.exp(centre + np.linspace(-span, span, POINTS_A_STAGE)))).astype(int)
    if len(points) < POINTS_A_STAGE - 1:
        points = round(math.exp(centre)) + np.arange(POINTS_A_STAGE) - POINTS_A_STAGE // 2
    return tuple(dict.fromkeys(np.clip(points, sizes.low, sizes.high).tolist()))


def _coarse_fit(u: FloatArray, mean: FloatArray, at: float, slope: float) -> tuple[float, float]:
    """Centre and slope by a straight line through the logits; the sign of `slope` is known, so it is kept."""
    height = np.array([logit(p) for p in np.clip(mean, CERTAIN_SHARE, 1 - CERTAIN_SHARE)]) - logit(at)
    centred = u - u.mean()
    fitted = float((centred * height).sum() / max((centred**2).sum(), 1e-300))
    if fitted * slope > 0:
        slope = fitted
    # Not further than one span beyond the points: the line is not to be trusted there.
    reach = max(float(np.ptp(u)), 2 * NARROWEST_SPAN)
    return float(u.mean() + np.clip(-height.mean() / slope, -reach, reach)), slope
