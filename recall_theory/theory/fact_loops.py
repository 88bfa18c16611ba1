"""The loops over the nodes of facts, compiled to machine code: the correct label's logit, the chance that no competitor
exceeds it, and the law of two facts.

With the strength T of the right label and Q = sum of theta_j^2 over the others, the logit of a Gaussian output is
x = R cos + g sin in units of a competitor's noise, and a competitor of strength theta has the mean theta w/sqrt(Q),
w = R sin - g cos: one rotation, with tan = sqrt(Q)/T, R^2 ~ chi^2_d and g ~ N(0, 1). On the sphere x is the normal
score of the output's cosine. docs/derivations/recall.md has the derivation.

The hazard, the expected number of competitors above a logit, is tabulated for each fact: on a few gains w, Chebyshev
points of asinh(w/sqrt(V - 1)) (as a function of it a competitor's standard deviation has its singularities far away),
and at even steps of the logit over that standard deviation.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.polynomial import chebyshev
from scipy.special import erfcx

from ..numerics.arrays import TINY, FloatArray
from ..numerics.machine_code import compiled

NOISE_END = 4.0  # standard deviations of noise, beyond which none is
COSINE_ROUNDING = 1e-12  # of a squared cosine to 1, which has no normal score
BEYOND_FAR = 4.0  # scores beyond that of 1e-4 expected competitors, where one in 10^9 of these is left
ROOM = 1 / 4  # standard deviations of a competitor beyond the logits where a fact is lost or won
TILTS = 2  # steps of Newton's method to the likeliest mean cosine of a competitor
TAIL_END = 12.0  # standard deviations, as far as tails are corrected
STEEPEST = 49 / 50  # cosine between an output and what is read out; acts on the sphere at d of a few
LEAST_GAP = 1e-5  # a gap whose square is lost beside 1, where a quotient becomes a derivative
GAIN_END = 4.0  # standard deviations of the gain within which it has points: beyond, the nearest one serves
LEAST_RANGE = 1e-6  # of a gain or logit; acts where nodes coincide
LEAST_TABLE = 1 / 8  # of logits, or of gains' inverse hyperbolic sines: derivatives of a narrower table are rounding
BELOW_ONE = 1 - 1e-15  # the greatest chance whose complement has a logarithm worth taking
LOG_WON, LOG_LOST = -9.0, 2.5  # logarithms of the expected competitors above, beyond which a fact is won, or lost
FULL = 1 - 1e-6  # greatest correlation of two facts' competitors; acts where nearly all noise is shared
LEAST_LEFT = 1 / 20  # share of a variance that what is known of it leaves open; acts at d of a few
LARGEST_LOG_EXPECTED = 5.0  # logarithm of the expected number of competitors above, from where on e^-e^x is 0
# coefficients of powers (rows) of a cubic through values at 0, 1, 2, 3
CUBIC = np.array([[1, 0, 0, 0], [-11 / 6, 3, -3 / 2, 1 / 3], [1, -5 / 2, 2, -1 / 2], [-1 / 6, 1 / 2, -1 / 2, 1 / 6]])


class Rows(NamedTuple):
    """What facts of a seed have in common, (R,): vocabulary, dimension, and of the pairs' law the correlation `shared`
    of two facts' competitors, and the standard deviation `wide` of a competitor in units of its output's noise."""

    V: FloatArray
    d: FloatArray
    shared: FloatArray
    wide: FloatArray


class Facts(NamedTuple):
    """Facts, (R, E): weight; power of all competitors together; variance `loose` of the logarithm of the strengths'
    scale that independent competitors would have; its `usual` strength less the mean. (R, E, P), at nodes over its
    samples: weight `mass`, the own strength `lead`, by how much its output's noise is `wider` than a competitor's, and
    the `shift` of its label's logit where other facts are read."""

    weight: FloatArray
    power: FloatArray
    loose: FloatArray
    usual: FloatArray
    mass: FloatArray
    lead: FloatArray
    wider: FloatArray
    shift: FloatArray


class Competitors(NamedTuple):
    """Kinds of competitors: weight (R, E or 1, K), and mean, variance and third central moment (R, E, K; the last may
    have K = 0) of their strengths. Scores `far` (2, R, E or 1, K) above which a fact is as good as won against a kind,
    and `near` (2, R) below which it is as good as lost to all together: first for the hazard's table, then nearer ones
    for the nodes over the noise. The last `single` kinds are those of one label."""

    weight: FloatArray
    far: FloatArray
    mean: FloatArray
    variance: FloatArray
    third: FloatArray
    near: FloatArray
    single: int


class Rules(NamedTuple):
    """Nodes and weights: of the competitors' power (R, E, n), of the outputs' length (R, n), both as factors of mean 1,
    of the noise between two ends (n,); Chebyshev's points of the gain (G,), the matrix that takes values there to the
    coefficients of powers, and that to slopes; points over the logit; cells of the hazard's logarithm; the weight of a
    node of a fact and its samples that is left out."""

    power: FloatArray
    w_power: FloatArray
    chi: FloatArray
    w_chi: FloatArray
    noise: FloatArray
    w_noise: FloatArray
    gain: FloatArray
    to_powers: FloatArray
    to_slopes: FloatArray
    points: int
    cells: int
    negligible: float
    sphere: bool


# exp(x) = p(x/1024)^1024, p by Taylor's series: simple enough for a processor's vector instructions, as no library's is
SQUARINGS = 10
LOWEST = -708.0
SERIES = np.array([1 / math.factorial(k) for k in range(14, -1, -1)])
# Phi(-z) e^(z^2/2) (4 + |z|) is a polynomial of 8/(4 + |z|) - 1, to rounding
DEGREE = 23
TAIL = chebyshev.cheb2poly(chebyshev.chebinterpolate(
    lambda u: erfcx((8 / np.maximum(1 + u, TINY) - 4) / math.sqrt(2)) / np.maximum(1 + u, TINY), DEGREE))[::-1].copy()


@compiled
def exponentials(x, out):
    """Set out (n,) to exp(x), x at most 100; below -708 it counts as -708. x is used up."""
    for i in range(len(x)):
        x[i] = (x[i] if x[i] > LOWEST else LOWEST) / 2.0**SQUARINGS
        out[i] = SERIES[0]
    for k in range(1, len(SERIES)):
        for i in range(len(x)):
            out[i] = out[i] * x[i] + SERIES[k]
    for _ in range(SQUARINGS):
        for i in range(len(x)):
            out[i] *= out[i]


@compiled
def upper_tails(z, u, square, out):
    """Set out (n,) to the chance that a normal variable exceeds z; u and square (n,) are scratch."""
    for i in range(len(z)):
        u[i] = -z[i] * z[i] / 2
    exponentials(u, square)
    for i in range(len(z)):
        u[i] = 8 / (4 + abs(z[i])) - 1
        out[i] = TAIL[0]
    for k in range(1, len(TAIL)):
        for i in range(len(z)):
            out[i] = out[i] * u[i] + TAIL[k]
    for i in range(len(z)):
        tail = out[i] * (1 + u[i]) / 2 * square[i]
        out[i] = tail if z[i] > 0 else 1 - tail


@compiled
def upper_tail(z):
    """The chance that a normal variable exceeds z."""
    return 0.5 * math.erfc(z * math.sqrt(0.5))


@compiled
def log_below(z):
    """The logarithm of the chance that a normal variable is below z."""
    if z > 0:
        return math.log1p(-upper_tail(z))
    if z > -30:
        return math.log(upper_tail(-z))
    square = 1 / (z * z)
    series = 1 - square * (1 - 3 * square * (1 - 5 * square * (1 - 7 * square)))
    return math.log(series / (-z * math.sqrt(2 * math.pi))) - z * z / 2


@compiled
def clipped(x, low, high):
    """x between two ends."""
    return min(max(x, low), high)


@compiled
def peizer_pratt(d):
    """As `numerics.unit_sphere.peizer_pratt_scale`."""
    nu = max(d - 1, 1.0)
    return (nu - 2 / 3 + 1 / (10 * nu))**2 / (nu - 5 / 6)


@compiled
def score_of_coordinate(b, scale):
    """As in `numerics.unit_sphere`."""
    square = b * b
    log = math.log1p(-square) if square < 0.5 else math.log(max(1 - square, TINY))
    return math.copysign(math.sqrt(-scale * log), b)


@compiled
def coordinate_of_score(z, scale):
    """As in `numerics.unit_sphere`."""
    return math.copysign(math.sqrt(-math.expm1(-z * z / scale)), z)


@compiled
def score_of_skewed(x, skew):
    """As in `numerics.unit_sphere`."""
    a = skew / 6
    root = np.cbrt(1 + 3 * a * x)
    return a + 3 * x / (root * (root + 1) + 1)


@compiled
def tilted_score(cosine, inside, centre, variance, scale, tail, steps):
    """The normal score of a cosine below which a competitor on the sphere stays; inside = ln(1 - cosine^2).

    Given the value read out, an output embedding follows a von Mises-Fisher law with mean cosine `centre`, itself
    random with `variance`; its signed root 2 (psi(x) - psi(m)) is linearised at the likeliest m, after so many steps.
    """
    m, z, total = centre, 0.0, 1.0
    for _ in range(steps):
        m = clipped(m, -STEEPEST, STEEPEST)
        rest, gap = 1 - m * m, cosine - m
        square = scale * (math.log(rest) - inside) - 2 * scale * m * gap / rest
        z = math.copysign(math.sqrt(max(square, 0.0)), gap)
        if abs(gap) < LEAST_GAP:
            slope = math.sqrt(rest * rest / ((1 + m * m) * scale))
        else:
            slope = gap / (z if z != 0 else 1.0)
        slope *= scale * (1 + m * m) / (rest * rest)
        total = 1 + slope * slope * variance
        root = math.sqrt(total)
        z = (z + slope * (m - centre)) / root
        m = centre + variance * slope / root * z
    t = clipped(z, -TAIL_END, TAIL_END)
    return t - tail * (1 - 1 / total)**2 / 24 * (t**3 - 3 * t)


@compiled
def tilted_scores(score: FloatArray, variance: FloatArray, d: float, steps: int) -> FloatArray:
    """`tilted_score` of normal scores (n,) of cosines, in d dimensions, for means of 0 and variances (n,)."""
    out, scale = np.empty_like(score), peizer_pratt(d)
    for i in range(len(score)):
        cosine, inside = coordinate_of_score(score[i], scale), -score[i] * score[i] / scale
        out[i] = tilted_score(cosine, inside, 0.0, variance[i], scale, -6 / (d + 2), steps)
    return out


@compiled
def left_of(square, power):
    """The part of a label's noise beside its own strength, of that square, among all labels' power: 1 - share to third
    order in the share, and above 0 where a label alone stores most of what is read out (V of a few tokens)."""
    share = square / power
    return 1 / (1 + share + share * share)


# --- the hazard of one fact --------------------------------------------------------------------------------

@compiled
def logits_that_decide(V, weight, far, near, strength, variance, left, root, w):
    """Scaled logits below which a fact is lost, and above which it is won, at all gains w: at the kinds' own `far`, and
    at `near` of all competitors together, as if their mixture were normal, and the same of the kinds that there are.

    A kind of too few competitors to decide anything has an infinite `far`.
    """
    others = max(V - 1, 1.0)
    low, high = np.inf, -np.inf
    for g in range(len(w)):
        u, sigma = w[g] / root, math.sqrt(1 + w[g]**2 / others)
        for least in (0.0, 1.0):
            total = 0.0
            centre = 0.0
            square = 0.0
            for k in range(len(strength)):
                expected = others * weight[k]
                if expected <= least:
                    continue
                place = u * strength[k] / sigma
                width = math.sqrt(left[k] + u * u * variance[k]) / sigma
                if far[k] < np.inf:
                    high = max(high, place + far[k] * width)
                total += weight[k]
                centre += weight[k] * place
                square += weight[k] * (width * width + place * place)
            if total > 0:
                centre /= total
                end = centre + near * math.sqrt(max(square / total - centre * centre, 0.0))
                low = min(low, end - 2 * ROOM)
    return low, max(high + ROOM, low + LEAST_RANGE)


@compiled
def expected_above(V, d, sphere, weight, far, strength, variance, left, third, single, u, x):
    """Replace the logits x (G, J), which ascend over J, by the expected number of independent competitors above them,
    at gains u (G,) per root power."""
    G, J = x.shape
    others = max(V - 1, 1.0)
    drawn = len(strength) - single
    above, alone, z = np.zeros((G, J)), np.zeros((G, J)), np.empty((G, J))
    cosine, scale, tail = np.empty((G, J)), peizer_pratt(d), -6 / (d + 2)
    if sphere:
        for g in range(G):
            for j in range(J):
                cosine[g, j] = coordinate_of_score(x[g, j], scale)
    chance, one, two = np.empty(G * J), np.empty(G * J), np.empty(G * J)
    for k in range(len(strength)):
        least = np.inf
        for g in range(G):
            steep = 1 / math.sqrt(left[k] + u[g] * u[g] * variance[k])
            if sphere:
                unit = u[g] / math.sqrt(d)
                for j in range(J):
                    inside = -x[g, j] * x[g, j] / scale
                    z[g, j] = tilted_score(cosine[g, j], inside, unit * strength[k], unit * unit * variance[k], scale,
                                           tail, TILTS)
            else:
                place = u[g] * strength[k] * steep
                for j in range(J):
                    z[g, j] = x[g, j] * steep - place
            if len(third) > 0:
                skew = (u[g] * steep)**3 * third[k]
                for j in range(J):
                    z[g, j] = score_of_skewed(z[g, j], skew)
            for j in range(J):
                least = min(least, z[g, j])
        if least > far[k] + BEYOND_FAR:
            continue
        upper_tails(z.ravel(), one, two, chance)
        of = above if k < drawn else alone
        for g in range(G):
            for j in range(J):
                of[g, j] += weight[k] * chance[g * J + j]
    for g in range(G):
        for j in range(J):
            x[g, j] = -others * math.log1p(-min(above[g, j], BELOW_ONE))
            if single > 0:
                x[g, j] -= math.log1p(-min(others * alone[g, j], BELOW_ONE))


@compiled
def product(matrix, values, out):
    """Set out to the matrix product, of few rows."""
    for i in range(len(matrix)):
        for j in range(values.shape[1]):
            out[i, j] = 0.0
            for k in range(len(values)):
                out[i, j] += matrix[i, k] * values[k, j]


@compiled
def slopes_by_logit(values, step, sigma, out):
    """Set out (G, J) to the derivative of values by the logit, by central differences; sigma (G,) steps the points."""
    last = values.shape[1] - 1
    for g in range(len(values)):
        out[g, 0] = (values[g, 1] - values[g, 0]) / (step * sigma[g])
        out[g, last] = (values[g, last] - values[g, last - 1]) / (step * sigma[g])
        for j in range(1, last):
            out[g, j] = (values[g, j + 1] - values[g, j - 1]) / (2 * step * sigma[g])


@compiled
def growth(values, by_logit, first, step, w, sigma, per, half, to_slopes, out):
    """Set out (G, J) to the derivative of values by the logarithm of the gain at a fixed logit, in place of a fixed
    scaled one."""
    product(to_slopes, values, out)
    for g in range(len(values)):
        for j in range(values.shape[1]):
            scaled = first + step * j
            by_point = out[g, j] * math.sqrt(per) / (half * sigma[g])
            out[g, j] = w[g] * (by_point - by_logit[g, j] * scaled * w[g] * per / sigma[g])


@compiled
def constrain(rate, V, w, half, first, step, loose, to_slopes):
    """Turn the rate (G, J) of independent competitors into that of ours: their strengths add up to minus the correct
    label's, their squares to Q, and their noises are orthogonal to them. The scaled logits begin at `first`.

    Two strengths have the covariance -E theta^2/(V - 1), two squares one of the relative size -4 loose/V, two noises
    -theta_i theta_j/Q. To first order in each the chance P of a win becomes P less half the second derivative of P in
    what independent strengths would vary together, times that variance: the shift of all strengths, the logarithm of
    their scale (loose its variance), the gain.
    """
    G, J = rate.shape
    per = 1 / max(V - 1, 1.0)
    sigma, log = np.empty(G), np.empty((G, J))
    shift, bent, grown, by_logit, again = np.empty((5, G, J))
    for g in range(G):
        sigma[g] = math.sqrt(1 + w[g] * w[g] * per)
        for j in range(J):
            log[g, j] = math.log(max(rate[g, j], TINY))
    slopes_by_logit(log, step, sigma, shift)
    slopes_by_logit(shift, step, sigma, bent)
    growth(log, shift, first, step, w, sigma, per, half, to_slopes, grown)
    slopes_by_logit(grown, step, sigma, by_logit)
    growth(grown, by_logit, first, step, w, sigma, per, half, to_slopes, again)
    for g in range(G):
        kappa = (w[g] * per)**2 * (1 + per)
        together = (1 - per) / max(w[g]**2, LEAST_RANGE)
        for j in range(J):
            by_gain, by_shift = grown[g, j]**2, shift[g, j]**2
            alone = loose * (again[g, j] + by_gain) + kappa * (bent[g, j] + by_shift)
            pairs = (loose + together) * by_gain + kappa * by_shift
            # the first order, 1 - alone/2, kept between 0 and 2 (at V of a few tokens)
            fewer = math.exp(-abs(alone) / 2)
            kept = fewer if alone > 0 else 2 - fewer
            rate[g, j] = rate[g, j] * kept + rate[g, j]**2 / 2 * pairs


@compiled
def cubics_of(rate, to_powers):
    """(J - 3, G, 4): coefficients of the logarithm of a table (G, J) on each cell, of powers of the gain's point and of
    the logit's."""
    G, J = rate.shape
    of_gain, out = np.empty((G, J)), np.zeros((J - 3, G, 4))
    for g in range(G):
        for j in range(J):
            rate[g, j] = math.log(max(rate[g, j], TINY))
    product(to_powers, rate, of_gain)
    for j in range(J - 3):
        for g in range(G):
            for k in range(4):
                for i in range(4):
                    out[j, g, i] += CUBIC[i, k] * of_gain[g, j + k]
    return out


@compiled
def interpolated(cubics, place, point):
    """The table at so many steps of the logit from its first point, and at this point of the gain."""
    first = int(clipped(place - 1, 0.0, len(cubics) - 1.0))
    f, found = place - first, 0.0
    for g in range(cubics.shape[1] - 1, -1, -1):
        cell = cubics[first, g]
        found = found * point + cell[0] + f * (cell[1] + f * (cell[2] + f * cell[3]))
    return found


# --- the nodes of one fact ----------------------------------------------------------------------------------

@compiled
def ends_of_noise(low, high, d, T, Q, wider, chi, sphere):
    """The noise of the own output, of strength T beside others of power Q, at which its logit is `low` and `high`."""
    if sphere:
        scale, ratio = peizer_pratt(d), T / math.sqrt(Q * chi)
        low = score_of_coordinate(beside(coordinate_of_score(low, scale), ratio), scale)
        high = score_of_coordinate(beside(coordinate_of_score(high, scale), ratio), scale)
        return low / wider, high / wider
    whole = math.sqrt(Q + T * T)
    middle, unit = math.sqrt(d * chi) * T / whole, math.sqrt(Q) / whole * wider
    return (low - middle) / unit, (high - middle) / unit


@compiled
def beside(cosine, ratio):
    """The cosine of an output with the others' sum, from that with the whole, in which it has `ratio` times its
    length."""
    angle = math.acos(cosine)
    return math.cos(min(angle + math.asin(clipped(ratio * math.sin(angle), -1.0, 1.0)), math.pi))


@compiled
def logits_and_gains(d, T, Q, wider, chi, sphere, logit, gain):
    """The logits and gains (n,) at the noise that `logit` holds: see the top of this file. On the sphere outputs have
    length 1, and what they sum to varies by their overlaps."""
    if sphere:
        scale, rho = peizer_pratt(d), math.sqrt(Q * chi)
        # d/(d - 1) makes a competitor's cosine exact to first order in its mean
        unit = math.sqrt(d) * d / max(d - 1, 1.0) / math.sqrt(Q)
        for i in range(len(logit)):
            b = coordinate_of_score(logit[i], scale)
            size = math.sqrt(max(T * T + 2 * T * rho * b + rho * rho, TINY))
            cosine = clipped((T + rho * b * wider) / size, -1 + COSINE_ROUNDING, 1 - COSINE_ROUNDING)
            logit[i], gain[i] = score_of_coordinate(cosine, scale), unit * (rho * rho + T * rho * b) / size
        return
    root, whole = math.sqrt(d * chi), math.sqrt(Q + T * T)
    cos, sin = T / whole, math.sqrt(Q) / whole
    for i in range(len(logit)):
        g = logit[i]
        logit[i], gain[i] = root * cos + g * sin * wider, root * sin - g * cos


@compiled
def lay_out(r, e, kept, rows, facts, kinds, rules, nodes):
    """Fill nodes (4, n) of a fact: logits, gains and weights over lengths and its output's noise, at the `kept` nodes
    of its samples in turn, at each of which the weights sum to 1.

    Over the noise it is Gauss-Legendre between what loses and what wins, and the mean below and above.
    """
    V, d, power = rows.V[r], rows.d[r], facts.power[r, e]
    weight, strength, variance, left = of_kinds(r, e, rows, facts, kinds, facts.usual[r, e] / V)
    w = np.full(1, math.sqrt(d * power / (power + max(facts.usual[r, e], 0.0)**2)))
    far = kinds.far[1, r, min(e, kinds.far.shape[2] - 1)]
    low, high = logits_that_decide(V, weight, far, kinds.near[1, r], strength, variance, left, math.sqrt(power), w)
    sigma = math.sqrt(1 + w[0]**2 / max(V - 1, 1.0))
    n = len(rules.noise) + 2
    for square in (True, False):  # first the noise g and -g^2/2, for all nodes; then what follows from them
        start = 0
        for p in kept:
            T, wider = facts.lead[r, e, p], facts.wider[r, e, p]
            for i in range(rules.power.shape[2]):
                Q = (power + T * T / V) * rules.power[r, e, i]
                for j in range(rules.chi.shape[1]):
                    at = slice(start, start + n)
                    g, gain, mass, minus = nodes[0, at], nodes[1, at], nodes[2, at], nodes[3, at]
                    start += n
                    if square:
                        one, other = ends_of_noise(low * sigma, high * sigma, d, T, Q, wider, rules.chi[r, j],
                                                   rules.sphere)
                        one = clipped(one, -NOISE_END, NOISE_END)
                        other = clipped(other, one, NOISE_END)
                        for k in range(n - 2):
                            g[k] = one + (other - one) * rules.noise[k]
                        g[n - 2], g[n - 1] = one, other
                        for k in range(n):
                            minus[k] = -g[k] * g[k] / 2
                        continue
                    below, above = upper_tail(-g[n - 2]), upper_tail(g[n - 1])
                    for k in range(n):
                        mass[k] /= math.sqrt(2 * math.pi)
                    width = g[n - 1] - g[n - 2]
                    g[n - 2], mass[n - 2] = -mass[n - 2] / below, below
                    g[n - 1], mass[n - 1] = mass[n - 1] / above, above
                    total = below + above
                    for k in range(n - 2):
                        mass[k] *= width * rules.w_noise[k]
                        total += mass[k]
                    share = rules.w_power[r, e, i] * rules.w_chi[r, j] / total
                    for k in range(n):
                        mass[k] *= share
                    logits_and_gains(d, T, Q, wider, rules.chi[r, j], rules.sphere, g, gain)
        if square:
            exponentials(nodes[3], nodes[2])


@compiled
def of_kinds(r, e, rows, facts, kinds, shift):
    """Weights, strengths less a shift, their variances, and what is left of their noise beside them, (K,) each."""
    weight, variance = kinds.weight[r, min(e, len(kinds.weight[r]) - 1)], kinds.variance[r, e]
    strength, left = np.empty(len(variance)), np.empty(len(variance))
    for k in range(len(variance)):
        strength[k] = kinds.mean[r, e, k] - shift
        left[k] = left_of(strength[k] * strength[k] + variance[k], facts.power[r, e])
    return weight, strength, variance, left


@compiled
def tabulated(r, e, kept, rows, facts, kinds, rules, nodes):
    """The table of the hazard's logarithm of a fact, as cubics, the ends of its scaled logit, and the middle and half
    width of its gains' inverse hyperbolic sines. The nodes (4, n) get their scaled logits."""
    V, d, power = rows.V[r], rows.d[r], facts.power[r, e]
    others = max(V - 1, 1.0)
    many, root = math.sqrt(others), math.sqrt(power)
    logit, gain, mass, scaled = nodes[0], nodes[1], nodes[2], nodes[3]
    least = first = np.inf
    most = last = -np.inf
    for i in range(len(logit)):
        scaled[i] = logit[i] / math.sqrt(1 + gain[i] * gain[i] / others)
        least, most = min(least, gain[i]), max(most, gain[i])
        first, last = min(first, scaled[i]), max(last, scaled[i])
    # moments over nodes: the correct label's strength is taken from all others, and its logit tells of it
    centre = square = usual = varied = lead = both = 0.0
    M = len(logit) // len(kept)
    for n, p in enumerate(kept):
        by_lead = 0.0
        for i in range(n * M, (n + 1) * M):
            share = facts.mass[r, e, p] * mass[i]
            by_lead += share * logit[i]
            varied += share * logit[i]**2
            centre += share * gain[i]
            square += share * gain[i]**2
        usual += by_lead
        both += by_lead * facts.lead[r, e, p]
        lead += facts.mass[r, e, p] * facts.lead[r, e, p]
    slope = (both - usual * lead) / max(varied - usual**2, LEAST_RANGE)
    spread = math.sqrt(max(square - centre**2, 0.0))
    least = math.asinh(max(least, centre - GAIN_END * spread) / many)
    most = math.asinh(min(most, centre + GAIN_END * spread) / many)
    middle, half = (least + most) / 2, max((most - least) / 2, LEAST_TABLE)
    w, u = np.empty(len(rules.gain)), np.empty(len(rules.gain))
    for g in range(len(w)):
        w[g] = many * math.sinh(middle + half * rules.gain[g])
        u[g] = w[g] / root

    weight, strength, variance, left = of_kinds(r, e, rows, facts, kinds, lead / V)
    far = kinds.far[0, r, min(e, kinds.far.shape[2] - 1)]
    low, high = logits_that_decide(V, weight, far, kinds.near[0, r], strength, variance, left, root, w)
    low = clipped(low, first, last)
    high = max(min(high, last), low + LEAST_TABLE)
    step = (high - low) / (rules.points - 1)
    rate = np.empty((len(w), rules.points))
    for g in range(len(w)):
        for j in range(rules.points):
            x = (low + step * j) * math.sqrt(1 + w[g] * w[g] / others)
            rate[g, j] = x + u[g] * slope / V * (x - usual)
    third = kinds.third[r, e] if kinds.third.shape[2] > 0 else variance[:0]
    expected_above(V, d, rules.sphere, weight, far, strength, variance, left, third, kinds.single, u, rate)
    constrain(rate, V, w, half, low, step, facts.loose[r, e], rules.to_slopes)
    return cubics_of(rate, rules.to_powers), low, high, middle, half


@compiled
def answers(rows: Rows, facts: Facts, kinds: Competitors, rules: Rules) -> tuple[FloatArray, FloatArray]:
    """each (R, E, P): the chance that a fact is answered rightly, given the node over its samples; and totals
    (R, cells, 5) over facts by the logarithm of the hazard: of their mass, and of that times their scaled logit, its
    noise, the shift and the shift's square."""
    R, E, P = facts.mass.shape
    M = (len(rules.noise) + 2) * rules.power.shape[2] * rules.chi.shape[1]
    each, totals = np.zeros((R, E, P)), np.zeros((R, rules.cells, 5))
    space, held = np.empty((7, P * M)), np.empty(P, np.int64)
    per_log = (rules.cells - 1) / (LOG_LOST - LOG_WON)
    for r in range(R):
        per_many, per_wide = 1 / math.sqrt(max(rows.V[r] - 1, 1.0)), 1 / rows.wide[r]
        for e in range(E):
            number = 0
            for p in range(P):
                if facts.weight[r, e] * facts.mass[r, e, p] > rules.negligible:
                    held[number] = p
                    number += 1
            if number == 0:
                continue
            kept, nodes = held[:number], space[:4, :number * M]
            logit, gain, mass, scaled = nodes[0], nodes[1], nodes[2], nodes[3]
            log, right, scratch = space[4, :number * M], space[5, :number * M], space[6, :number * M]
            lay_out(r, e, kept, rows, facts, kinds, rules, nodes)
            cubics, low, high, middle, half = tabulated(r, e, kept, rows, facts, kinds, rules, nodes)
            per_logit, per_half = (rules.points - 1) / (high - low), 1 / half
            for i in range(len(log)):
                slant = gain[i] * per_many
                asinh = math.copysign(math.log(abs(slant) + math.sqrt(1 + slant * slant)), slant)
                place = clipped((scaled[i] - low) * per_logit, 0.0, rules.points - 1.0)
                log[i] = interpolated(cubics, place, clipped((asinh - middle) * per_half, -1.0, 1.0))
                scratch[i] = min(log[i], LARGEST_LOG_EXPECTED)
            exponentials(scratch, right)
            for i in range(len(log)):
                scratch[i] = -right[i]
            exponentials(scratch, right)
            for n, p in enumerate(kept):
                usual = 0.0
                for i in range(n * M, (n + 1) * M):
                    usual += mass[i] * logit[i]
                share = facts.weight[r, e] * facts.mass[r, e, p]
                for i in range(n * M, (n + 1) * M):
                    each[r, e, p] += mass[i] * right[i]
                    noise = (logit[i] - usual) * per_wide
                    shift = rows.shared[r] * noise + facts.shift[r, e, p]
                    cell = clipped((log[i] - LOG_WON) * per_log + 0.5, 0.0, rules.cells - 0.5)
                    total = totals[r, int(cell)]
                    total[0] += share * mass[i]
                    total[1] += share * mass[i] * scaled[i]
                    total[2] += share * mass[i] * noise
                    total[3] += share * mass[i] * shift
                    total[4] += share * mass[i] * shift * shift
    return each, totals


# --- two facts ----------------------------------------------------------------------------------------------

class Pairs(NamedTuple):
    """What pairs of facts of a seed have in common, (R,): vocabulary, correlation `shared` of two facts' competitors,
    variance `spread` of a competitor in units of its output's noise, mean square of that correlation's `overlap`, what
    `mixed` and `tie` bring by two facts' overlap as each other's competitors. off, w (R, n): nodes of the overlap;
    angle, w_angle: of the arc from 0 to a correlation."""

    V: FloatArray
    shared: FloatArray
    spread: FloatArray
    overlap: FloatArray
    mixed: FloatArray
    tie: FloatArray
    off: FloatArray
    w: FloatArray
    angle: FloatArray
    w_angle: FloatArray


class Points(NamedTuple):
    """Facts (R, A) by the logarithm of their hazard, as in `variance.Law`: mass; score, the quantile of one competitor
    that the own logit is; that logit; its `middle`, without the noise of the output; the noise; shift; left."""

    mass: FloatArray
    score: FloatArray
    logit: FloatArray
    middle: FloatArray
    noise: FloatArray
    shift: FloatArray
    left: FloatArray


@compiled
def joint_recall(pairs: Pairs, facts: Points) -> FloatArray:
    """(R,): the chance that two facts are both answered rightly."""
    mass, score, logit, middle, noise, shift, left = facts
    R, A = mass.shape
    joint = np.zeros(R)
    below, moved, open_to, sines = np.empty(A), np.empty(A), np.empty(A), np.empty(len(pairs.angle))
    for r in range(R):
        shared, mixed, others = pairs.shared[r], pairs.mixed[r], max(pairs.V[r] - 2, 0.0)
        for a in range(A):
            below[a] = upper_tail(-score[r, a])
        for i in range(pairs.off.shape[1]):
            off = pairs.off[r, i]
            end = math.asin(clipped(shared + off, -FULL, FULL))
            for k in range(len(sines)):
                sines[k] = math.sin(end * pairs.angle[k])
            for a in range(A):
                moved[a] = shift[r, a] + off * (noise[r, a] + pairs.tie[r])
                open_to[a] = left[r, a] - ((2 * shared + off) * off / pairs.spread[r]
                                           + pairs.tie[r]**2 * pairs.overlap[r])
            for a in range(A):
                for b in range(a + 1):
                    share = mass[r, a] * mass[r, b] * pairs.w[r, i] * (1 if a == b else 2)
                    if share == 0:
                        continue
                    x, y = score[r, a], score[r, b]
                    excess = 0.0  # Plackett: d Phi_2/d correlation along the arc
                    for k in range(len(sines)):
                        s = sines[k]
                        excess += pairs.w_angle[k] * math.exp(-(x * x + y * y - 2 * x * y * s) / (2 * (1 - s * s)))
                    both = below[a] * below[b] + excess * end / (2 * math.pi)
                    mutual = others * math.log(max(both, TINY))
                    for one, other in ((a, b), (b, a)):
                        variance = max(open_to[other] + mixed * middle[r, one] * noise[r, other], LEAST_LEFT)
                        mutual += log_below((logit[r, one] - moved[other]) / math.sqrt(variance))
                    joint[r] += share * math.exp(mutual)
    return joint


# --- what wrong picks answer --------------------------------------------------------------------------------

class Picks(NamedTuple):
    """Tokens that are read out in the place of the informative one, (R, E): gain of a label's logit per unit of its
    strength; power of all competitors; the strength that the token has as a label itself, over the mean, and its
    variance. (R, C, n): counts `right` of a class of labels, per sample that a fact has, and their weights. (R, E, C),
    of a class: mean bias per count and beside it, variance per squared count and beside it, weight, and 1 where the
    token outranks the class, else 0. grid (R, A): logits."""

    V: FloatArray
    grid: FloatArray
    gain: FloatArray
    power: FloatArray
    own: FloatArray
    own_variance: FloatArray
    right: FloatArray
    w_right: FloatArray
    bias: FloatArray
    rest: FloatArray
    spread: FloatArray
    rest_variance: FloatArray
    weight: FloatArray
    outranked: FloatArray


@compiled
def answers_of_picks(picks: Picks) -> FloatArray:
    """(R, E): the chance that a token which is read out yields the label of one that it outranks."""
    (R, E), C, A = picks.gain.shape, picks.bias.shape[2], picks.grid.shape[1]
    found = np.zeros((R, E))
    z, one, two, tail = np.empty((4, A))
    each = np.empty((C, A))
    for r in range(R):
        grid, V = picks.grid[r], picks.V[r]
        for e in range(E):
            gain = picks.gain[r, e]
            for c in range(C):
                for a in range(A):
                    each[c, a] = 0.0
                for k in range(picks.right.shape[2]):
                    right = picks.right[r, c, k]
                    theta = right * picks.bias[r, e, c] + picks.rest[r, e, c]
                    variance = right**2 * picks.spread[r, e, c] + picks.rest_variance[r, e, c]
                    left = left_of(theta * theta + variance, picks.power[r, e])
                    steep = 1 / math.sqrt(left + gain * gain * variance)
                    for a in range(A):
                        z[a] = (gain * theta - grid[a]) * steep
                    upper_tails(z, one, two, tail)
                    for a in range(A):
                        each[c, a] += picks.w_right[r, c, k] * picks.weight[r, e, c] * tail[a]
            # the token itself as a label, in the middle of each step: it scored high, and its own sequences attended
            steep = 1 / math.sqrt(1 + gain * gain * picks.own_variance[r, e])
            for a in range(A - 1):
                z[a] = (gain * picks.own[r, e] - (grid[a] + grid[a + 1]) / 2) * steep
            upper_tails(z[:A - 1], one[:A - 1], two[:A - 1], tail[:A - 1])
            total = outranked = before = 0.0
            for a in range(A - 1):
                below = 0.0
                for c in range(C):
                    below += (each[c, a] + each[c, a + 1]) / 2
                log = math.log(max(below, TINY))
                density = math.exp((V - 2) * log) * V * tail[a]
                for c in range(C):
                    answer = (each[c, a + 1] - each[c, a]) * density
                    total += answer
                    outranked += answer * picks.outranked[r, e, c]
                if a > 0:
                    total += math.exp((V - 1) * log) * (tail[a] - before)
                before = tail[a]
            found[r, e] = outranked / max(total, TINY)
    return found
