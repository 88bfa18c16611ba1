"""The two fits of a scaling experiment: a curve through noisy shares, and a straight line through its crossings."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

Z95 = 1.959963984540054  # of a two-sided 95 % interval
STEPS = 100  # of Newton's method; five or six are usual
FLATTEST = 1e-3  # a curve whose logit changes less over its points has no crossing to speak of


def logistic(t: FloatArray, y: FloatArray, degree: int = 2) -> tuple[FloatArray, FloatArray] | None:
    """Coefficients (degree + 1,) of the logit of E y as a polynomial in t, and their covariance.

    t and y have shape (n,), y in [0, 1]: fractions, not only 0 and 1. Maximum quasi-likelihood, so nothing is
    assumed of the law of y but its mean; the covariance is the sandwich of the residuals. None where no
    maximum is found: the points lie on one side.

    >>> t = np.repeat([-1.0, 0.0, 1.0], 2)
    >>> coefficients, covariance = logistic(t, np.array([0.2, 0.3, 0.5, 0.5, 0.7, 0.8]), degree=1)
    >>> round(float(coefficients[0]), 10), round(float(coefficients[1]), 3)
    (0.0, 1.099)
    """
    x = np.vander(t, degree + 1, increasing=True)
    b = np.zeros(degree + 1)
    for _ in range(STEPS):
        p = 1 / (1 + np.exp(-np.clip(x @ b, -500, 500)))
        information = (x * (p * (1 - p))[:, None]).T @ x
        try:
            step = np.linalg.solve(information, x.T @ (y - p))
        except np.linalg.LinAlgError:
            return None
        # A step that moves some logit by more than 2 is held back: beyond that the quadratic model is a guess.
        step *= min(1.0, 2 / max(float(np.abs(x @ step).max()), 1e-300))
        b = b + step
        if np.abs(x @ step).max() < 1e-10:
            bread = np.linalg.inv(information)
            meat = (x * ((y - p) ** 2)[:, None]).T @ x
            return b, bread @ meat @ bread * len(y) / max(1, len(y) - len(b))
    return None


def crossing(coefficients: FloatArray, covariance: FloatArray, at: float) -> tuple[float, float, float] | None:
    """Where the fitted curve (of degree 1 or 2) takes the value `at`, nearest to t = 0, and the ends of the 95 %
    interval; None for nowhere.

    The interval is Fieller's: all t around the root at which the curve's own interval holds `at`. It keeps what it
    promises where the slope is uncertain, which the delta method doesn't. An end that isn't there is infinite.
    """
    level = math.log(at / (1 - at))
    a, b, c = (*coefficients, 0.0)[:3]  # a + b t + c t^2, also where c is 0 or next to it
    inside = b * b - 4 * (a - level) * c
    if inside < 0:
        return None
    slope = math.copysign(math.sqrt(inside), b)  # at the root nearer to 0
    if abs(slope) < FLATTEST:
        return None
    root = float(-2 * (a - level) / (b + slope))

    def error(t: float) -> float:
        """The standard error of the curve's logit; rounding may leave its square below zero where it is none."""
        powers = t ** np.arange(len(coefficients))
        return math.sqrt(max(0.0, float(powers @ covariance @ powers)))

    def beyond(t: float) -> float:
        """How far the curve is from the level, less what its own error allows."""
        return float(abs(t ** np.arange(len(coefficients)) @ coefficients - level)) - Z95 * error(t)

    step = Z95 * error(root) / abs(slope)  # the delta method's half width
    return root, _end(beyond, root, -step), _end(beyond, root, step)


def _end(beyond: Callable[[float], float], root: float, step: float) -> float:
    """Where `beyond` turns positive on the way from the root, in eighths of the step and for four of them."""
    from scipy.optimize import brentq

    if beyond(root) >= 0:  # no error at all: values that lie on a curve
        return root
    inside = root
    for k in range(1, 33):
        t = root + step * k / 8
        if beyond(t) > 0:
            return float(brentq(beyond, inside, t))
        inside = t
    return math.copysign(math.inf, step)


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

    w = 1 / se**2
    centre = (w * x).sum() / w.sum()
    spread = (w * (x - centre) ** 2).sum()
    slope = float((w * (x - centre) * y).sum() / spread)
    level = float((w * y).sum() / w.sum())
    misfit = float((w * (y - level - slope * (x - centre)) ** 2).sum())
    p_value = float(chi2.sf(misfit, len(x) - 2)) if len(x) > 2 else math.nan
    return Line(slope, float(spread**-0.5), level - slope * float(centre), p_value)
