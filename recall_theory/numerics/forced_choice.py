"""P(s, K): how often one unit Gaussian with lead s beats K - 1 others.

The probability and its complement span hundreds of orders of magnitude, so the smaller of the two is
the one computed, with the integrand taken relative to its peak. The integrand is log-concave and
analytic, hence the trapezoid rule over the window that holds its mass converges geometrically: step and
window follow from the mass itself, and a fixed grid would miss it.

At the end how many competitors there are: binomial thinning, and what the right one keeps of a place that ties share.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import erfcx, expi, gammaln, log_ndtr, ndtr, ndtri, xlog1py

from .arrays import BoolArray, FloatArray
from .thresholds import bisect_arrays

RealOrComplex = NDArray[np.float64 | np.complex128]

DEPTH = 40  # nats below its peak at which the integrand is cut: e^-40 is a hundredth of a rounding
NODES_PER_EDGE = 3  # nodes in 1/sqrt(2 ln K), the width over which Phi^(K-1) climbs from 0 to 1
NODES_PER_WIDTH = 2  # nodes in one standard deviation of the peak
LEAST_NODES_PER_UNIT = 2  # nodes in one unit of noise, whatever K
LARGEST_LEAD = 74  # the complement at s = 74 is below the least float, at any K up to 1e270
FAR_TAIL = 10_000  # past here h (h + mode) is 1 to eight digits, and h + mode cancels
LAST_BIT = 128  # halvings after which no bit is left to find
INTEGRALS_AT_A_TIME = 512  # integrals evaluated at a time: their nodes stay in the cache


def forced_choice(s: ArrayLike, K: ArrayLike) -> Any:
    """Probability that a unit Gaussian with lead s exceeds all of K - 1 independent unit Gaussians.

    P(s, K) = integral of phi(x) Phi(x + s)^(K - 1) dx, the unbiased K-alternative forced-choice
    formula of psychophysics (Green and Swets 1966) and an order statistic.

    s: lead in units of one competitor's standard deviation, any real number, +-inf included.
    K: number of alternatives, the right one included; real, at least 1 (at 1 the result is 1).
    The two broadcast; floats give a float, arrays an array of float64. NaN gives NaN.
    Relative error below 1e-13 for s from -5 to 15 and K to 1e12. Raises ValueError where K < 1.
    Provenance: quoted. Regime: exact for independent Gaussians; correlated competitors are not covered.

    >>> round(forced_choice(3.0, 25), 4)
    0.8263
    >>> forced_choice([0.0, float("inf")], 4)
    array([0.25, 1.  ])
    """
    return _tail(s, K, upper=False)


def forced_choice_complement(s: ArrayLike, K: ArrayLike) -> Any:
    """Probability 1 - P(s, K) that some one of the K - 1 competitors wins, without cancellation.

    1 - P = integral of phi(x) [1 - Phi(x + s)^(K - 1)] dx. Arguments, shapes and errors are those
    of `forced_choice`. Relative error below 1e-13 for s from -5 to 30.

    >>> f"{forced_choice_complement(12.0, 1000):.6e}"
    '1.074559e-14'
    """
    return _tail(s, K, upper=True)


def forced_choice_log(s: ArrayLike, K: ArrayLike) -> Any:
    """Natural logarithm of P(s, K), right also where P itself underflows or rounds to 1.

    Arguments, shapes and errors are those of `forced_choice`.

    >>> round(forced_choice_log(-40.0, 1e12), 6)
    -1103.015293
    """
    lead, number, shape = _arguments(s, K)
    upper = lead > _even_odds(number)
    peak, mass, _ = _integral(lead, number, upper)
    with np.errstate(divide="ignore", under="ignore"):
        log = np.where(upper, np.log1p(-np.exp(peak) * mass), peak + np.log(mass))
    return _shaped(log, shape)


def forced_choice_inverse(p: ArrayLike, K: ArrayLike, complement: bool = False) -> Any:
    """The lead s at which P(s, K) = p, or at which 1 - P(s, K) = p if `complement` is true.

    p: probability from 0 to 1 (the ends give s = -+inf); K: above 1. The two broadcast.
    P at the result agrees with p, and 1 - P with 1 - p, to 1e-13 relative, as long as one rounding
    of s moves them by less. Raises ValueError where p is outside [0, 1] or K <= 1.

    >>> round(forced_choice_inverse(0.99, 1024), 6)
    5.73825
    """
    target, number, shape = _arguments(p, K)
    _refuse(number <= 1, number, "K, the number of alternatives, must be above 1")
    _refuse((target < 0) | (target > 1), target, "p, a probability, must be from 0 to 1")
    # Above one half 1 - p is exact, and the smaller of the two is solved for.
    small = np.minimum(target, 1 - target)
    upper = (target > small) != complement
    lead = _solve(small, number, upper)
    lead = np.where(small == 0, np.where(upper, np.inf, -np.inf), lead)
    lead = np.where(number == np.inf, np.inf, lead)
    return _shaped(np.where(np.isnan(small) | np.isnan(number), np.nan, lead), shape)


def _tail(s: ArrayLike, K: ArrayLike, upper: bool) -> Any:
    """P, or 1 - P for the upper tail: the smaller of the two is computed."""
    lead, number, shape = _arguments(s, K)
    small_upper = lead > _even_odds(number)
    peak, mass, _ = _integral(lead, number, small_upper)
    with np.errstate(under="ignore"):
        small = np.exp(peak) * mass
    return _shaped(np.where(small_upper == upper, small, 1 - small), shape)


def _solve(small: FloatArray, K: FloatArray, upper: BoolArray) -> FloatArray:
    """s at which the lower tail P (or the upper, 1 - P) is `small`, by Newton's method on the square
    root of -log, which is nearly straight in s."""
    todo = np.flatnonzero((small > 0) & (K < np.inf))
    x = np.clip(_even_odds(K), -LARGEST_LEAD, LARGEST_LEAD)
    close = math.sqrt(np.finfo(float).eps) / 4  # a step so short leaves less than a rounding
    for _ in range(60):  # four or five do; the bound only keeps a fault from looping
        goal = np.sqrt(-np.log(small[todo]))
        peak, mass, mean = _integral(x[todo], K[todo], upper[todo])
        root = np.sqrt(np.maximum(-(peak + np.log(mass)), np.finfo(float).eps))
        slope = -mean / (2 * root)  # d log(integral) / ds is the mean of x under the integrand
        step = np.clip((goal - root) / slope, -LARGEST_LEAD, LARGEST_LEAD)
        x[todo] += step
        todo = todo[np.abs(step) > close]
        if not len(todo):
            break
    return x


def _even_odds(K: FloatArray) -> FloatArray:
    """The median of the greatest of K - 1 unit Gaussians: near it P is one half."""
    with np.errstate(divide="ignore"):
        return np.negative(ndtri(-np.expm1(-math.log(2) / (K - 1))))


def _integral(s: FloatArray, K: FloatArray,
              upper: BoolArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """(log peak, mass, mean): the tail is exp(log peak) * mass, `mean` that of x under its integrand."""
    sure = np.where(np.isinf(K), upper, ((s > 0) | (K == 1)) ^ upper)  # the limits: s = +-inf, K = 1
    peak = np.where(sure, 0, -np.inf)
    peak[np.isnan(s) | np.isnan(K) | ((s == np.inf) & (K == np.inf))] = np.nan
    mass, mean = np.ones_like(peak), np.zeros_like(peak)
    todo = np.flatnonzero(np.isfinite(s) & np.isfinite(K) & (K > 1))
    for side in (False, True):
        some = todo[upper[todo] == side]
        some = some[np.argsort(K[some], kind="stable")]  # neighbours want a similar number of nodes
        for start in range(0, len(some), INTEGRALS_AT_A_TIME):
            part = some[start:start + INTEGRALS_AT_A_TIME]
            lead = np.minimum(s[part], LARGEST_LEAD) if side else s[part]
            peak[part], mass[part], mean[part] = _trapezoid(lead, K[part] - 1, side)
    return peak, mass, mean


def _trapezoid(s: FloatArray, others: FloatArray,
               side: bool) -> tuple[FloatArray, FloatArray, FloatArray]:
    """`_integral` for finite arguments of one side, by the trapezoid rule over t = x + s."""
    mode = _mode(s, others, side)
    floor = _log_integrand(mode, s, others, side) - DEPTH
    reach = math.sqrt(2 * DEPTH)  # the log integrand bends at least as that of a unit Gaussian does
    density = _nodes_per_unit(mode, others, side)
    halvings = 2 + math.ceil(math.log2(np.max(density)))

    def inside(t: FloatArray) -> BoolArray:
        return _log_integrand(t, s, others, side) > floor

    low, high = (bisect_arrays(inside, mode, mode + end, halvings)[1] for end in (-reach, reach))
    nodes = 1 + math.ceil(np.max((high - low) * density))
    step = (high - low) / nodes
    t = low[:, None] + step[:, None] * np.arange(nodes + 1)
    f = _log_integrand(t, s[:, None], others[:, None], side)
    top = f.max(axis=1)
    with np.errstate(under="ignore", invalid="ignore"):  # -inf - -inf where even the log overflows
        weight = np.exp(f - top[:, None])
        total = weight.sum(axis=1)
        mean = (weight * (t - s[:, None])).sum(axis=1) / total
        mass = np.where(step > 0, step, 1) * total / math.sqrt(2 * math.pi)
    return top, np.where(top > -np.inf, mass, 1), mean


def _log_integrand(t: FloatArray, s: FloatArray, others: FloatArray, side: bool) -> FloatArray:
    """log of e^(-(t-s)^2/2) Phi(t)^others, or of e^(-(t-s)^2/2) (1 - Phi(t)^others) on the upper side."""
    x = t - s
    with np.errstate(over="ignore", divide="ignore"):
        power = others * log_ndtr(t)
        if side:
            power = np.log(-np.expm1(power))
        return np.subtract(power, x * x / 2)


def _slope(t: FloatArray, s: FloatArray, others: FloatArray, side: bool) -> FloatArray:
    """The derivative of `_log_integrand` in t."""
    pull = others * _inverse_mills(t)
    if side:
        with np.errstate(under="ignore", divide="ignore", invalid="ignore"):  # past the last float
            power = others * log_ndtr(t)
            pull = np.where(power < 0, pull * np.exp(power) / np.expm1(power), -t)
    return np.subtract(pull, t - s)


def _inverse_mills(t: FloatArray) -> FloatArray:
    """phi(t) / Phi(t), the slope of log Phi."""
    return np.divide(math.sqrt(2 / math.pi), erfcx(-t / math.sqrt(2)))


def _mode(s: FloatArray, others: FloatArray, side: bool) -> FloatArray:
    """Where the integrand peaks, to a small part of the peak's width, by bisection of the slope."""
    if side:  # the greatest of the others has a hazard rate below 2 + max(t, 0)
        low, high = np.minimum(s, s / 2) - 3, s.copy()
    else:  # others * phi / Phi is below 1 past sqrt(2 ln K) + 1
        low, high = s.copy(), np.maximum(s, 0) + np.sqrt(2 * np.log1p(others)) + 1
    width = float(np.max(high - low))
    steps = 5 + math.ceil(2 * math.log2(1 + width))  # the peak is not narrower than 1 / width
    low, high = bisect_arrays(lambda t: _slope(t, s, others, side) > 0, low, high, min(steps, LAST_BIT))
    return low + (high - low) / 2


def _nodes_per_unit(mode: FloatArray, others: FloatArray, side: bool) -> Any:
    """How dense a grid resolves both the rise of Phi^(K-1) and the peak."""
    density = LEAST_NODES_PER_UNIT + NODES_PER_EDGE * np.sqrt(2 * np.log1p(others))
    if side:
        return density
    near = np.maximum(mode, -FAR_TAIL)
    h = _inverse_mills(near)
    curvature = 1 + others * h * (h + near)  # of the peak, which is narrow at great lag
    return np.maximum(density, NODES_PER_WIDTH * np.sqrt(curvature))


def _arguments(s: ArrayLike, K: ArrayLike) -> tuple[FloatArray, FloatArray, tuple[int, ...]]:
    """Both arguments broadcast and flattened, and their common shape."""
    lead, number = np.broadcast_arrays(np.asarray(s, dtype=float), np.asarray(K, dtype=float))
    _refuse(number < 1, number, "K, the number of alternatives, must be at least 1")
    return lead.ravel(), number.ravel(), lead.shape


def _refuse(where: BoolArray, value: FloatArray, rule: str) -> None:
    """ValueError with the rule and the first value that breaks it."""
    if np.any(where):
        raise ValueError(f"{rule}: got {value[where].flat[0]:.17g}")


def _shaped(values: FloatArray, shape: tuple[int, ...]) -> Any:
    """A float for scalar arguments, else an array of their shape."""
    return float(values[0]) if shape == () else values.reshape(shape)


# --- how many competitors there are ---------------------------------------------------------------------

EXACT = 1000  # trials below which factorials are computed; from there on Stirling's formula is good to 1e-4
FEW_TIES = 1 / 1000  # ties below which the first two terms of a series are all of it
MANY = 700  # ties above which e^-ties is nothing


def binomial_over_poisson(n: FloatArray, N: float, V: float) -> FloatArray:
    """ln of the probability of n <= N by the law Binomial(N, 1/V), over that by the Poisson law of its mean."""
    if N < EXACT:
        exact: FloatArray = (gammaln(N + 1) - gammaln(N - n + 1) - n * np.log(N)
                             + (N - n) * np.log1p(-1 / V) + N / V)
        return exact
    x = n - N / V  # Stirling's formula, without the terms that cancel
    result: FloatArray = -(N - n) * np.log1p(-x / (N * (1 - 1 / V))) - x - np.log1p(-n / N) / 2
    return result


def thinned(n: FloatArray, m: FloatArray, step: int, chance: FloatArray) -> FloatArray:
    """Probabilities (..., K, M) of m successes in n trials of that chance (...), in cells `step` wide.

    >>> thinned(np.array([2.0]), np.arange(3.0), 1, np.array(0.5)).tolist()
    [[0.25, 0.5, 0.25]]
    """
    p = np.asarray(np.clip(chance, 0, 1))[..., None, None]
    if ((p == 0) | (p == 1)).all():
        return (n[:, None] * p == m).astype(float)
    n, m = n[:, None], m[None, :]
    if step > 1:  # none at all is a cell of its own
        sd = np.maximum(np.sqrt(n * p * (1 - p)), FEW_TIES * step)
        none = np.exp(xlog1py(n, -p))
        upper, lower = (np.where(edge < step, none, ndtr((edge - n * p) / sd)) for edge in (m + step / 2, m - step / 2))
        return np.maximum(upper - np.where(m > 0, lower, 0.0), 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        log = np.where(m > 0, m * np.log(p), 0.0) + np.where(n > m, (n - m) * np.log1p(-p), 0.0)
    factorials = gammaln(np.arange(max(n.max(), m.max()) + 1) + 1)
    trials, successes, failures = (factorials[x.astype(int)] for x in (n, m, np.maximum(n - m, 0)))
    ways = trials - successes - failures
    return np.where(m <= n, np.exp(ways + np.where(m <= n, log, 0.0)), 0.0)


def log_of_one_plus(z: RealOrComplex) -> RealOrComplex:
    """ln(1 + z) to full precision where z is small, and finite at -1."""
    square = 2 * z.real + z.real**2 + z.imag**2
    size = np.log1p(np.maximum(square, -1 + 2**-53)) / 2
    return size + 1j * np.arctan2(z.imag, 1 + z.real) if np.iscomplexobj(z) else size


def shared_places(ties: FloatArray) -> tuple[FloatArray, FloatArray]:
    """E[1/(1 + T)^2] and E[1/(2 + T)] over E[1/(1 + T)], T a Poisson number of that mean.

    >>> [x.round(4).tolist() for x in shared_places(np.array([0.0, 1.0]))]
    [[1.0, 0.767], [0.5, 0.582]]
    """
    few = ties < FEW_TIES
    x = np.where(few, 1.0, np.minimum(ties, MANY))
    once = -np.expm1(-x)
    squared = (expi(x) - np.euler_gamma - np.log(x)) * np.exp(-x) / once
    return np.where(few, 1 - ties / 4, squared), np.where(few, 1 / 2 + ties / 12, (x - once) / (x * once))
