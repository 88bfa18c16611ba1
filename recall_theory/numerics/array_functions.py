"""Exponentials, logarithms, normal tails and normal scores of arrays, compiled to machine code.

Each is a few passes of additions and multiplications without a branch, which a processor does on several numbers at a
time; calls of the mathematical library are one by one. They are right to 10^-12 of themselves, to 10^-11 below 10^-200.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.polynomial import chebyshev
from scipy.special import erfcx

from . import unit_sphere
from .arrays import TINY, FloatArray
from .machine_code import compiled

# exp(x) = p(x/1024)^1024, p by Taylor's series
SQUARINGS = 10
LOWEST = -708.0
SERIES = tuple(1 / math.factorial(k) for k in range(14, -1, -1))
# ln((1 + t)/(1 - t)) = 2 t (1 + t^2/3 + ...), for t within 0.172
ARTANH = tuple(2 / k for k in range(23, 0, -2))
LOG_TWO = math.log(2)
FRACTION = 52  # bits of a float below its exponent
ROOT_HALF = int(np.array(math.sqrt(1 / 2)).view(np.int64))
# Phi(-z) e^(z^2/2) (4 + |z|) is a polynomial of 8/(4 + |z|) - 1, to rounding
DEGREE = 23
TAIL = chebyshev.cheb2poly(chebyshev.chebinterpolate(
    lambda u: erfcx((8 / np.maximum(1 + u, TINY) - 4) / math.sqrt(2)) / np.maximum(1 + u, TINY), DEGREE))[::-1].tolist()
TAIL_HIGH, TAIL_LOW = tuple(TAIL[:12]), tuple(TAIL[12:])  # loops over so few are unrolled, those over numbers vectors
AT_A_TIME = 512  # numbers whose passes stay in a processor's nearest cache
STEEPEST = 49 / 50  # cosine between an output and what is read out; acts on the sphere at d of a few
LEAST_GAP = 1e-5  # a gap whose square is lost beside 1, where a quotient becomes a derivative
LEAST_CURVED = 1e-4  # the same for a second derivative
MOST_BENT = -4 / 5  # guard: acts at a few labels, where a score that is random by itself bends too much for its tail
TILTS = 2  # steps of Newton's method to the likeliest mean cosine of a competitor
LARGEST_SCORE = 4.0  # of what the mean cosine varies by; beyond, its cubic law may turn back at d of a few

peizer_pratt = compiled(unit_sphere.peizer_pratt_scale)


@compiled
def exponentials(x: FloatArray) -> FloatArray:
    """x (n,) made exp(x), x at most 100; below -708 it counts as -708."""
    for i in range(len(x)):
        part = (x[i] if x[i] > LOWEST else LOWEST) / 2.0**SQUARINGS
        out = SERIES[0]
        for k in range(1, len(SERIES)):
            out = out * part + SERIES[k]
        for _ in range(SQUARINGS):
            out *= out
        x[i] = out
    return x


@compiled
def exponentials_less_one(x: FloatArray) -> FloatArray:
    """x (n,) made exp(x) - 1, likewise, by (1 + y)^2 - 1 = y (2 + y)."""
    for i in range(len(x)):
        part = (x[i] if x[i] > LOWEST else LOWEST) / 2.0**SQUARINGS
        out = SERIES[0]
        for k in range(1, len(SERIES) - 1):
            out = out * part + SERIES[k]
        out *= part
        for _ in range(SQUARINGS):
            out *= out + 2
        x[i] = out
    return x


@compiled
def logarithms(x: FloatArray, beyond: FloatArray) -> FloatArray:
    """The natural logarithms (n,) of x (n,) > 0, whose differences from 1 are `beyond` (n,), which may be more exact:
    of x = m 2^k, m from sqrt(1/2) to sqrt(2)."""
    bits, out = x.view(np.int64), np.empty_like(x)
    rest = np.empty_like(bits)
    for i in range(len(x)):
        k = (bits[i] - ROOT_HALF) >> FRACTION
        rest[i] = bits[i] - (k << FRACTION)
        out[i] = k
    m = rest.view(np.float64)
    for i in range(len(x)):
        over = beyond[i] if out[i] == 0 else m[i] - 1
        t = over / (over + 2)
        square, total = t * t, ARTANH[0]
        for k in range(1, len(ARTANH)):
            total = total * square + ARTANH[k]
        out[i] = out[i] * LOG_TWO + t * total
    return out


@compiled
def upper_tails(z: FloatArray) -> FloatArray:
    """The chances (n,) that a normal variable exceeds z (n,)."""
    out, u, square = np.empty(len(z)), np.empty(AT_A_TIME), np.empty(AT_A_TIME)
    for start in range(0, len(z), AT_A_TIME):
        at = slice(start, min(start + AT_A_TIME, len(z)))
        part, tail = z[at], out[at]
        for i in range(len(part)):
            u[i] = 8 / (4 + abs(part[i])) - 1
            square[i] = -part[i] * part[i] / 2
        density = exponentials(square[:len(part)])
        for i in range(len(part)):
            tail[i] = TAIL_HIGH[0]
            for k in range(1, len(TAIL_HIGH)):
                tail[i] = tail[i] * u[i] + TAIL_HIGH[k]
        for i in range(len(part)):
            for k in range(len(TAIL_LOW)):
                tail[i] = tail[i] * u[i] + TAIL_LOW[k]
        for i in range(len(part)):
            above = tail[i] * (1 + u[i]) / 2 * density[i]
            tail[i] = above if part[i] > 0 else 1 - above
    return out


@compiled
def scores_of_sums(x: FloatArray, share: FloatArray, bend: FloatArray) -> None:
    """x (n,) made their normal scores as standardised sums of a gamma and a normal variable. share (n,): the gamma
    variable's part of the variance; bend (n,): the root of that times half of its skewness.

    Barndorff-Nielsen's r + ln(q/r)/r at the saddle point t, where the slope of the sum's cumulants, (1 - share) t
    + share t/(1 - bend t), is x.
    """
    n = len(x)
    t, beyond, rest, square = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    for i in range(n):
        whole = 1 + x[i] * bend[i]
        root = math.sqrt(max(whole * whole - 4 * (1 - share[i]) * bend[i] * x[i], 0.0))
        t[i] = 2 * x[i] / max(whole + root, LEAST_GAP)
        beyond[i] = -bend[i] * t[i]
        rest[i] = max(1 + beyond[i], TINY)
    log = logarithms(rest, beyond)
    for i in range(n):
        other, per = 1 - share[i], 1 / rest[i]
        # (ln(1 - bend t) + bend t)/bend^2
        far = abs(beyond[i]) > LEAST_GAP
        curved = (log[i] - beyond[i]) / (bend[i] * bend[i]) if far else t[i] * t[i] * (beyond[i] / 3 - 1 / 2)
        square[i] = max(2 * t[i] * x[i] - other * t[i] * t[i] + 2 * share[i] * curved, TINY)
        rest[i] = max(t[i] * t[i] * (other + share[i] * per * per) / square[i], TINY)
        beyond[i] = rest[i] - 1
    log = logarithms(rest, beyond)
    for i in range(n):
        r = math.copysign(math.sqrt(square[i]), x[i])
        away = abs(x[i]) > LEAST_GAP
        x[i] = r + log[i] / (2 * r) if away else x[i] + bend[i] * share[i] / 3


def normal_below(z: FloatArray) -> FloatArray:
    """The chances, of any shape, that a normal variable is below z.

    >>> normal_below(np.array([[0.0, -30.0]]))
    array([[5.0000000e-001, 4.9067139e-198]])
    """
    return upper_tails(-z.ravel()).reshape(z.shape)


# --- the sphere: cosines and their normal scores, of a scale as `unit_sphere` has them ---------------------

@compiled
def cosines(score: FloatArray, scale: float) -> FloatArray:
    """The cosines (n,) of these normal scores (n,), as `unit_sphere.coordinate_of_score` has them."""
    out = np.empty(len(score))
    for i in range(len(score)):
        out[i] = -score[i] * score[i] / scale
    exponentials_less_one(out)
    for i in range(len(score)):
        out[i] = math.copysign(math.sqrt(-out[i]), score[i])
    return out


@compiled
def scores(cosine: FloatArray, scale: float) -> FloatArray:
    """The normal scores (n,) of these cosines (n,), as `unit_sphere.score_of_coordinate` has them."""
    beyond, rest = np.empty(len(cosine)), np.empty(len(cosine))
    for i in range(len(cosine)):
        beyond[i] = -cosine[i] * cosine[i]
        rest[i] = max(1 + beyond[i], TINY)
    out = logarithms(rest, beyond)
    for i in range(len(cosine)):
        out[i] = math.copysign(math.sqrt(-scale * out[i]), cosine[i])
    return out


@compiled
def tilted_scores(cosine: FloatArray, inside: FloatArray, centre: FloatArray, spread: FloatArray, narrow: FloatArray,
                  d: float) -> FloatArray:
    """The normal scores (n,) of cosines (n,) below which a competitor on the sphere stays; inside = ln(1 - cosine^2).

    Given the value read out, an output embedding follows a von Mises-Fisher law of `narrow` times as many dimensions,
    with mean cosine m = centre + spread b of a coordinate b in units of its spread, (n,) each, which has the normal
    score y. The law's signed root is taken to second order about the likeliest y, and so is the chance beyond that
    curve (Tvedt's form).
    """
    n, scale, thin = len(cosine), peizer_pratt(d), 1 / (4 * (d + 2))
    y, z, bent, m, beyond, rest = np.zeros(n), np.empty(n), np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    for _ in range(TILTS):
        for i in range(n):
            m[i] = centre[i] + spread[i] * (y[i] - thin * (y[i] * y[i] - 3) * y[i])
            m[i] = min(max(m[i], -STEEPEST), STEEPEST)
            beyond[i] = -m[i] * m[i]
            rest[i] = 1 + beyond[i]
        log = logarithms(rest, beyond)
        for i in range(n):
            gap, per, whole = cosine[i] - m[i], 1 / rest[i], scale * narrow[i]
            curve = whole * (1 - beyond[i]) * per * per  # half the second derivative of the root's square by the cosine
            root = math.sqrt(max(whole * (log[i] - inside[i] - 2 * m[i] * gap * per), 0.0))
            steep, turn = math.sqrt(curve), whole * 2 * m[i] * (3 - beyond[i]) * per**3
            if abs(gap) < LEAST_CURVED:
                slope, second = steep - gap * turn / (6 * steep), -2 / 3 * turn / steep
            else:
                slope = abs(gap) * curve / root
                second = math.copysign(1.0, gap) / root * (curve - gap * turn - slope * slope)
            # of the law's skewness, which `centre` has to first order in m
            less = m[i] / d * (1 - (1 - beyond[i] / 3) * rest[i] / (1 - beyond[i])**2)
            by_y = spread[i] * (1 - 3 * thin * (y[i] * y[i] - 1))
            along = slope * by_y
            kept = 1 / math.sqrt(1 + along * along)
            z[i] = (math.copysign(root, gap) + slope * less + along * y[i]) * kept
            bent[i] = (second * by_y * by_y + 6 * thin * slope * spread[i] * y[i]) * kept**3
            y[i] = min(max(along * kept * z[i], -LARGEST_SCORE), LARGEST_SCORE)
    for i in range(n):
        beyond[i] = max(z[i] * bent[i], MOST_BENT)
        rest[i] = 1 + beyond[i]
    log = logarithms(rest, beyond)
    for i in range(n):
        away = abs(z[i]) > LEAST_GAP
        z[i] += log[i] / (2 * z[i]) if away else bent[i] / 2
    return z
