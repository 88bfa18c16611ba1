"""The fits of a scaling experiment: a curve through noisy shares, where it crosses a level, and a line through such
crossings."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

Z95 = 1.959963984540054  # of a two-sided 95 % interval
NEWTON_STEPS = 100  # five or six are usual
LARGEST_STEP = 2.0  # of a logit in one Newton step: beyond it the quadratic model of the likelihood is a guess
FLATTEST_SLOPE = 1e-3  # a curve whose logit changes less over its points has no crossing to speak of
WIDEST_INTERVAL = 4.0  # in half widths of the delta method: an end beyond it is none


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


@dataclasses.dataclass(frozen=True)
class Crossing:
    """A critical size: its logarithm and the ends of the 95 % interval of that; or `reason`, why there is none."""

    log_size: float = math.nan
    low: float = math.nan
    high: float = math.nan
    reason: str = ""


def crossing_between(log_sizes: FloatArray, values: Sequence[FloatArray], at: float, degree: int) -> Crossing | None:
    """Where the mean of values crosses `at` along the logarithm of a size; None where no curve or crossing is found.

    `values` has one array of values in [0, 1] for each of `log_sizes`.
    """
    middle = float(log_sizes.mean())
    t = np.repeat(log_sizes - middle, [len(v) for v in values])
    fit = logistic(t, np.concatenate(values), degree)
    root = None if fit is None else crossing(*fit, at)
    return None if root is None else Crossing(middle + root[0], middle + root[1], middle + root[2])


@dataclasses.dataclass(frozen=True)
class Line:
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
