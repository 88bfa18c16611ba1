"""The loops over the nodes of facts, compiled to machine code: the correct label's logit, and the chance that no
competitor exceeds it.

With the strength T of the right label and Q = sum of theta_j^2 over the others, the logit of a Gaussian output is
x = R cos + g sin in units of a competitor's noise, and a competitor of strength theta has the mean theta w/sqrt(Q),
w = R sin - g cos: one rotation, with tan = sqrt(Q)/T, R^2 ~ chi^2_d and g ~ N(0, 1). On the sphere x is the normal
score of the output's cosine. docs/derivations/recall.md has the derivation.

The hazard, the expected number of competitors above a logit, is tabulated for each fact: on a few gains w, Chebyshev
points of asinh(w/sqrt(V - 1)) (as a function of it a competitor's standard deviation has its singularities far away),
and at even steps of the logit over that standard deviation. Its logarithm is so smooth in the logit that every second
point comes from a polynomial through its neighbours.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..numerics import unit_sphere
from ..numerics.array_functions import (
    cosines,
    exponentials,
    logarithms,
    peizer_pratt,
    scores,
    scores_of_sums,
    tilted_scores,
    upper_tails,
)
from ..numerics.arrays import TINY, FloatArray
from ..numerics.machine_code import compiled

NOISE_END = 4.0  # standard deviations of noise, beyond which none is
COSINE_ROUNDING = 1e-12  # of a squared cosine to 1, which has no normal score
BEYOND_FAR = 4.0  # scores beyond that of 1e-4 expected competitors, where one in 10^9 of these is left
ROOM = 1 / 4  # standard deviations of a competitor beyond the logits where a fact is lost or won
GAIN_END = 4.0  # standard deviations of the gain within which it has points: beyond, the nearest one serves
LEAST_RANGE = 1e-6  # of a gain or logit; acts where nodes coincide
LEAST_TABLE = 1 / 8  # of logits, or of gains' inverse hyperbolic sines: derivatives of a narrower table are rounding
BELOW_ONE = 1 - 1e-8  # of a label's chance to be above: where it rounds to 1, the table's derivatives would be noise
LOG_WON, LOG_LOST = -9.0, 2.5  # logarithms of the expected competitors above, beyond which a fact is won, or lost
LARGEST_LOG_EXPECTED = 5.0  # logarithm of the expected number of competitors above, from where on e^-e^x is 0
# coefficients of powers (rows) of a cubic through values at 0, 1, 2, 3
CUBIC = np.array([[1, 0, 0, 0], [-11 / 6, 3, -3 / 2, 1 / 3], [1, -5 / 2, 2, -1 / 2], [-1 / 6, 1 / 2, -1 / 2, 1 / 6]])


class Rows(NamedTuple):
    """Seeds, (R,): vocabulary, dimension, and of the pairs' law the correlation `shared` of two facts' competitors, and
    the standard deviation `wide` of a competitor in units of its output's noise.

    Nodes over the competitors' power and the outputs' length (R, E, n), both as factors of mean 1, and their weights;
    nodes and weights of the noise between two ends (n,); Chebyshev's points of the gain (G,), the matrix that takes
    values there to the coefficients of powers, and that to slopes; the matrix (n, J) that takes values at every second
    point over the logit to those at all; cells of the hazard's logarithm; the weight of a fact that is `slight`, and
    of a node of it and its samples that answers as a heavier one does."""

    V: FloatArray
    d: FloatArray
    shared: FloatArray
    wide: FloatArray
    power: FloatArray
    chi: FloatArray
    w_lengths: FloatArray
    noise: FloatArray
    w_noise: FloatArray
    gain: FloatArray
    to_powers: FloatArray
    to_slopes: FloatArray
    to_points: FloatArray
    cells: int
    slight: float
    negligible: float
    sphere: bool


class Facts(NamedTuple):
    """Facts, (R, E): weight; power of all competitors together; variance `loose` of the logarithm of the strengths'
    scale that independent competitors would have; `lean`, what their power in excess of its mean, per that, takes from
    the right label's strength; its `usual` strength less the mean. (R, E, P), at nodes over its samples: weight `mass`,
    the own strength `lead`, by how much its output's noise is `wider` than a competitor's, and the `shift` of its
    label's logit where other facts are read. in_all (R, E): its weight and its seed's."""

    weight: FloatArray
    in_all: FloatArray
    power: FloatArray
    loose: FloatArray
    lean: FloatArray
    usual: FloatArray
    mass: FloatArray
    lead: FloatArray
    wider: FloatArray
    shift: FloatArray


class Competitors(NamedTuple):
    """Kinds of competitors: weight (R, E or 1, K), and mean, variance and its part `by_kernel` (R, E, K) of their
    strengths, which has that skewness (R, E, K or 1), as a gamma variable `broader` times as wide in variance has, or
    as wide as all of a logit. Scores `far` (2, R, E or 1, K) above which a fact is as good as won against a kind, and
    `near` (2, R) below which it is as good as lost to all together: first for the hazard's table, then nearer ones for
    the nodes over the noise. Kinds of one `group` (K,) share its `labels` (R, G)."""

    weight: FloatArray
    far: FloatArray
    mean: FloatArray
    variance: FloatArray
    by_kernel: FloatArray
    skewness: FloatArray
    broader: float
    near: FloatArray
    group: FloatArray
    labels: FloatArray


class OfFact(NamedTuple):
    """The kinds of one fact's competitors, (K,): weights, strengths less a shift, their variances and the kernel's part
    of these, the scores `far` of one end, their group, and (K or 1,) skewness. (G,): the labels of a group."""

    weight: FloatArray
    strength: FloatArray
    variance: FloatArray
    by_kernel: FloatArray
    far: FloatArray
    group: FloatArray
    labels: FloatArray
    skewness: FloatArray
    broader: float


class Own(NamedTuple):
    """A fact's own output, as `Rows` and `Facts` have it: its strength beside others of that power."""

    d: float
    strength: float
    power: float
    wider: float
    chi: float
    sphere: bool


class Nodes(NamedTuple):
    """Nodes over a fact's samples, (P,): their mass and the own strength there. (P, M), over lengths and noise at each:
    logits, gains, weights whose rows sum to 1, and logits per standard deviation of a competitor's mean and noise."""

    mass: FloatArray
    lead: FloatArray
    logit: FloatArray
    gain: FloatArray
    weight: FloatArray
    scaled: FloatArray


class Grid(NamedTuple):
    """The points of a hazard's table: scaled logits from `first` on at every `step`; gains w (G,), the standard
    deviations sigma (G,) that they scale by, and half the width of what Chebyshev's points are of; `per`, one over the
    number of competitors."""

    first: float
    step: float
    w: FloatArray
    sigma: FloatArray
    half: float
    per: float
    to_slopes: FloatArray


score_of_coordinate = compiled(unit_sphere.score_of_coordinate)


@compiled
def upper_tail(z):
    """The chance that a normal variable exceeds one number z."""
    return 0.5 * math.erfc(z * math.sqrt(0.5))


@compiled
def clipped(x, low, high):
    """x between two ends."""
    return min(max(x, low), high)


# --- the hazard of one fact --------------------------------------------------------------------------------

@compiled
def of_kinds(r, e, far, shift, kinds):
    """`OfFact`, its strengths less this shift, of one end's scores `far` (R, E or 1, K)."""
    of_fact = min(e, kinds.weight.shape[1] - 1)
    return OfFact(kinds.weight[r, of_fact], kinds.mean[r, e] - shift, kinds.variance[r, e], kinds.by_kernel[r, e],
                  far[r, of_fact], kinds.group, kinds.labels[r], kinds.skewness[r, e], kinds.broader)


@compiled
def logits_that_decide(V, of, near, root, w):
    """Scaled logits below which a fact is lost, and above which it is won, at all gains w: at the kinds' own `far`, and
    at `near` of all competitors together, as if their mixture were normal, and the same of the kinds that there are.

    A kind of too few competitors to decide anything has an infinite `far`.
    """
    weight, strength, far = of.weight, of.strength, of.far
    others = max(V - 1, 1.0)
    low, high = np.inf, -np.inf
    for g in range(len(w)):
        u, sigma = w[g] / root, math.sqrt(1 + w[g]**2 / others)
        for least in (0.0, 1.0):
            total = centre = square = 0.0
            for k in range(len(strength)):
                if others * weight[k] <= least:
                    continue
                place = u * strength[k] / sigma
                width = math.sqrt(1 + u * u * of.variance[k]) / sigma
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
def expected_above(rows, r, of, power, u, x):
    """Replace the logits x (G, J), which ascend over J, by the expected number of independent competitors above them,
    at gains u (G,) per root power."""
    weight, strength, variance = of.weight, of.strength, of.variance
    G, J = x.shape
    d, others = rows.d[r], max(rows.V[r] - 1, 1.0)
    scale = peizer_pratt(d)
    size = G * J if rows.sphere else 0
    inside, centre, spread, narrow = np.empty(size), np.empty(size), np.empty(size), np.empty(size)
    skewed = (of.skewness != 0).any()
    size = G * J if skewed else 0
    share, bend = np.empty(size), np.empty(size)
    cosine = x.ravel()
    if rows.sphere:
        cosine = cosines(cosine, scale)
        for g in range(G):
            for j in range(J):
                inside[g * J + j] = -x[g, j] * x[g, j] / scale
    beyond, which = np.empty((len(strength), G * J)), np.empty(len(strength), np.int64)
    number = 0
    for k in range(len(strength)):
        if weight[k] == 0:  # a place that this fact has no kind for: half of them, where attention is not sure
            continue
        z = beyond[number]
        for g in range(G):
            steep = 1 / math.sqrt(1 + u[g] * u[g] * variance[k])
            if rows.sphere:
                unit = u[g] / math.sqrt(d)
                centre[g * J:(g + 1) * J] = unit * strength[k]
                spread[g * J:(g + 1) * J] = unit * math.sqrt(variance[k])
                along = min(u[g] * u[g] * power * ((d - 1) / d)**2 / d, 1.0)
                narrow[g * J:(g + 1) * J] = 1 / (1 + (strength[k] * strength[k] + variance[k]) / power * along)
            else:
                place = u[g] * strength[k] * steep
                for j in range(J):
                    z[g * J + j] = x[g, j] * steep - place
            if skewed:
                root = u[g] * steep * math.sqrt(of.by_kernel[k])
                times = max(min(of.broader, 1 / max(root * root, TINY)), 1.0)
                share[g * J:(g + 1) * J] = times * root * root
                bend[g * J:(g + 1) * J] = root * of.skewness[min(k, len(of.skewness) - 1)] / (2 * times)
        if rows.sphere:
            tilted = tilted_scores(cosine, inside, centre, spread, narrow, d)
            for i in range(G * J):
                z[i] = tilted[i]
        if skewed:
            scores_of_sums(z, share, bend)
        if z.min() <= of.far[k] + BEYOND_FAR:
            which[number] = k
            number += 1
    above, chance = np.zeros((len(of.labels), G * J)), upper_tails(beyond[:number].ravel())
    for n in range(number):
        into, per = above[int(of.group[which[n]])], weight[which[n]] * others
        each = chance[n * G * J:(n + 1) * G * J]
        for i in range(G * J):
            into[i] += per * each[i]
    expected, left = np.zeros(G * J), np.empty(G * J)
    for n in range(len(of.labels)):  # minus the logarithm of the chance that none of them is above
        lost = above[n]
        for i in range(G * J):
            lost[i] *= -BELOW_ONE / of.labels[n]
            left[i] = 1 + lost[i]
        log = logarithms(left, lost)
        for i in range(G * J):
            expected[i] -= of.labels[n] * log[i]
    put(expected, x)


@compiled
def put(values, out):
    """Write values (n,) into `out` (P, M), row by row."""
    for p in range(out.shape[0]):
        for i in range(out.shape[1]):
            out[p, i] = values[p * out.shape[1] + i]


@compiled
def logarithm(rate):
    """The natural logarithm of a table (G, J), 0 counting as the least float."""
    x = np.maximum(rate, TINY).ravel()
    return logarithms(x, x - 1).reshape(rate.shape)


@compiled
def product(matrix, values):
    """The matrix product, of few rows."""
    out = np.zeros((len(matrix), values.shape[1]))
    for i in range(len(matrix)):
        row = out[i]
        for k in range(len(values)):
            for j in range(values.shape[1]):
                row[j] += matrix[i, k] * values[k, j]
    return out


@compiled
def slopes_by_logit(values, grid):
    """The derivative (G, J) of values by the logit, by central differences."""
    out, last = np.empty_like(values), values.shape[1] - 1
    for g in range(len(values)):
        for j in range(last + 1):
            low, high = max(j - 1, 0), min(j + 1, last)
            out[g, j] = (values[g, high] - values[g, low]) / ((high - low) * grid.step * grid.sigma[g])
    return out


@compiled
def slopes_by_gain(values, by_logit, grid):
    """The derivative (G, J) of values by the gain at a fixed logit, in place of a fixed scaled one."""
    out, w, sigma = product(grid.to_slopes, values), grid.w, grid.sigma
    for g in range(len(values)):
        per_point = math.sqrt(grid.per) / (grid.half * sigma[g])
        for j in range(values.shape[1]):
            scaled = grid.first + grid.step * j
            out[g, j] = out[g, j] * per_point - by_logit[g, j] * scaled * w[g] * grid.per / sigma[g]
    return out


@compiled
def constrain(log, grid, loose):
    """Turn the logarithm (G, J) of independent competitors' rate into that of ours: their strengths add up to minus the
    correct label's, their squares to Q, and their noises times the strengths to 0.

    Independent ones vary in three things together: a shift of all strengths, the logarithm of their scale (of variance
    `loose`, and of minus that in the mean, as their squares are Q on average), the gain (of variance 1). Their chance
    of a win is the mean of ours over these, which is undone to second order.
    """
    w, per = grid.w, grid.per
    shift = slopes_by_logit(log, grid)
    bent = slopes_by_logit(shift, grid)
    slope = slopes_by_gain(log, shift, grid)
    curve = slopes_by_gain(slope, slopes_by_logit(slope, grid), grid)
    alone, fewer, kept = np.empty_like(log), np.empty_like(log), np.empty_like(log)
    rate = exponentials(np.minimum(log, LARGEST_LOG_EXPECTED).ravel()).reshape(log.shape)
    for g in range(len(log)):
        gain = 1 + loose * w[g]**2
        kappa = (w[g] * per)**2 * (1 + per)
        for j in range(log.shape[1]):
            by_gain, by_shift = slope[g, j]**2, shift[g, j]**2
            alone[g, j] = (gain * (curve[g, j] + by_gain) - loose * w[g] * slope[g, j]
                           + kappa * (bent[g, j] + by_shift))
            fewer[g, j] = -abs(alone[g, j]) / 2
            kept[g, j] = rate[g, j] / 2 * (gain * by_gain + kappa * by_shift)
    exponentials(fewer.ravel())
    for g in range(len(log)):
        for j in range(log.shape[1]):
            # the first order, 1 - alone/2, kept between 0 and 2 (at V of a few tokens)
            kept[g, j] += fewer[g, j] if alone[g, j] > 0 else 2 - fewer[g, j]
    log += logarithm(kept)


@compiled
def cubics_of(table, to_powers):
    """(J - 3, G, 4): coefficients of a table (G, J) on each cell, of powers of the gain's point and of the logit's."""
    G, J = table.shape
    of_gain, out = product(to_powers, table), np.zeros((J - 3, G, 4))
    for j in range(J - 3):
        for g in range(G):
            for i in range(4):
                for k in range(4):
                    out[j, g, i] += CUBIC[i, k] * of_gain[g, j + k]
    return out


@compiled
def interpolated(cubics, place, point):
    """The table at so many steps of the logit from its first point, and at this point of the gain."""
    first = int(clipped(place - 1, 0.0, len(cubics) - 1.0))
    f, last = place - first, cubics.shape[1] - 1
    a, b, c, e = cubics[first, last]
    for g in range(last - 1, -1, -1):
        cell = cubics[first, g]
        a, b, c, e = a * point + cell[0], b * point + cell[1], c * point + cell[2], e * point + cell[3]
    return a + f * (b + f * (c + f * e))


# --- the nodes of one fact ----------------------------------------------------------------------------------

@compiled
def ends_of_noise(low, high, own):
    """The noise of the own output at which its logit is `low` and `high`; on the sphere these are cosines."""
    T, Q = own.strength, own.power
    if own.sphere:
        scale = peizer_pratt(own.d)
        return (score_of_coordinate(noise_of(low, own), scale), score_of_coordinate(noise_of(high, own), scale))
    whole = math.sqrt(Q + T * T)
    middle, unit = math.sqrt(own.d * own.chi) * T / whole, math.sqrt(Q) / whole * own.wider
    return (low - middle) / unit, (high - middle) / unit


@compiled
def lengthened(own):
    """On the sphere, what the noise x of an own output adds to the square of the whole's length, in units of the
    others': this times x^2, less this. Last, the part 1/wider^2 of x that is not its strength's, which moves it along
    itself."""
    kept = 1 / (own.wider * own.wider)
    return 1 - kept * kept, (1 - kept) / own.d, kept


@compiled
def noise_of(cosine, own):
    """The cosine of an output with the others' sum at which it has this one with the whole."""
    ratio, square = own.strength / math.sqrt(own.power * own.chi), cosine * cosine
    bent, less, _ = lengthened(own)
    beside, steep = ratio * (1 - square), 1 - bent * square
    root = beside * beside - steep * (ratio * ratio * (1 - square) - square * (1 - less))
    if root < 0:
        return -1.0
    return clipped((math.copysign(math.sqrt(root), cosine) - beside) / (steep * own.wider), -1.0, 1.0)


@compiled
def logits_and_gains(own, logit, gain):
    """The logits and gains (n,) at the noise that `logit` holds: see the top of this file. On the sphere, where outputs
    have length 1 and what they sum to varies by their overlaps, it holds the noise's cosine and then the logit's."""
    d, T, Q = own.d, own.strength, own.power
    if own.sphere:
        rho = math.sqrt(Q * own.chi)
        # d/(d - 1) makes a competitor's cosine exact to first order in its mean
        unit = math.sqrt(d) * d / max(d - 1, 1.0) / math.sqrt(Q)
        bent, less, kept = lengthened(own)
        others = rho * rho * (1 - less)
        for i in range(len(logit)):
            x = rho * logit[i] * own.wider
            per = 1 / math.sqrt(max(T * T + 2 * T * x + bent * x * x + others, TINY))
            logit[i] = clipped((T + x) * per, -1 + COSINE_ROUNDING, 1 - COSINE_ROUNDING)
            gain[i] = unit * (others + T * x * kept + (1 - kept) * kept * x * x) * per
        return
    root, whole = math.sqrt(d * own.chi), math.sqrt(Q + T * T)
    cos, sin = T / whole, math.sqrt(Q) / whole
    for i in range(len(logit)):
        g = logit[i]
        logit[i], gain[i] = root * cos + g * sin * own.wider, root * sin - g * cos


@compiled
def lay_out(r, e, kept, rows, facts, kinds):
    """The `Nodes` of a fact at those nodes over its samples that are kept (P,).

    Over the noise it is Gauss-Legendre between what loses and what wins, and the mean below and above.
    """
    V, d, power, usual = rows.V[r], rows.d[r], facts.power[r, e], facts.usual[r, e]
    lead, wider, others = facts.lead[r, e][kept], facts.wider[r, e][kept], max(V - 1, 1.0)
    w = np.full(1, math.sqrt(d * power / (power + max(usual, 0.0)**2)))
    of = of_kinds(r, e, kinds.far[1], usual / others, kinds)
    low, high = logits_that_decide(V, of, kinds.near[1, r], math.sqrt(power), w)
    sigma = math.sqrt(1 + w[0]**2 / others)
    B, n, scale = rows.chi.shape[2], len(rows.noise), peizer_pratt(d)
    ends = np.array([low * sigma, high * sigma])
    if rows.sphere:
        ends = cosines(ends, scale)
    size = len(lead), B * (n + 2)
    logit, gain, minus, mass = np.empty(size), np.empty(size), np.empty(size), np.empty(size)
    for step in range(3):  # for all nodes: the noise g and -g^2/2; the weights, of the densities; logits and gains
        for p in range(len(lead)):
            for b in range(B):
                T = lead[p]
                at = slice(b * (n + 2), (b + 1) * (n + 2))
                g, Q = logit[p, at], (power + T * T / others) * rows.power[r, e, b]
                T -= facts.lean[r, e] * (rows.power[r, e, b] - 1)
                own = Own(d, T, Q, wider[p], rows.chi[r, e, b], rows.sphere)
                if step == 0:
                    one, other = ends_of_noise(ends[0], ends[1], own)
                    one = clipped(one, -NOISE_END, NOISE_END)
                    other = clipped(other, one, NOISE_END)
                    for k in range(n):
                        g[k] = one + (other - one) * rows.noise[k]
                    g[n], g[n + 1] = one, other
                    for k in range(n + 2):
                        minus[p, at][k] = -g[k] * g[k] / 2
                elif step == 1:
                    share, width, below, above = mass[p, at], g[n + 1] - g[n], upper_tail(-g[n]), upper_tail(g[n + 1])
                    for k in range(n + 2):
                        share[k] /= math.sqrt(2 * math.pi)
                    g[n], g[n + 1] = -share[n] / below, share[n + 1] / above
                    share[n], share[n + 1], total = below, above, below + above
                    for k in range(n):
                        share[k] *= width * rows.w_noise[k]
                        total += share[k]
                    for k in range(n + 2):
                        share[k] *= rows.w_lengths[r, e, b] / total
                else:
                    logits_and_gains(own, g, gain[p, at])
        if step == 0:
            put(exponentials(minus.ravel()), mass)
        elif rows.sphere:
            put(cosines(logit.ravel(), scale) if step == 1 else scores(logit.ravel(), scale), logit)
    scaled = np.empty_like(logit)
    for p in range(len(lead)):
        for i in range(logit.shape[1]):
            scaled[p, i] = logit[p, i] / math.sqrt(1 + gain[p, i] * gain[p, i] / others)
    return Nodes(facts.mass[r, e][kept], lead, logit, gain, mass, scaled)


@compiled
def tabulated(r, e, nodes, rows, facts, kinds):
    """The table of the hazard's logarithm of a fact, as cubics, the ends of its scaled logit, and the middle and half
    width of its gains' inverse hyperbolic sines."""
    lead, logit, gain, scaled = nodes.lead, nodes.logit, nodes.gain, nodes.scaled
    V = rows.V[r]
    others = max(V - 1, 1.0)
    many = math.sqrt(others)
    # moments: the correct label's strength is taken from all others, and its logit tells of it
    centre = square = usual = varied = mean_lead = lead_square = both = 0.0
    for p in range(len(lead)):
        by_lead = 0.0
        for i in range(logit.shape[1]):
            share = nodes.mass[p] * nodes.weight[p, i]
            by_lead += share * logit[p, i]
            varied += share * logit[p, i]**2
            centre += share * gain[p, i]
            square += share * gain[p, i]**2
        usual += by_lead
        both += by_lead * lead[p]
        mean_lead += nodes.mass[p] * lead[p]
        lead_square += nodes.mass[p] * lead[p]**2
    slope = (both - usual * mean_lead) / max(varied - usual**2, LEAST_RANGE)
    spread = math.sqrt(max(square - centre**2, 0.0))
    least = math.asinh(max(gain.min(), centre - GAIN_END * spread) / many)
    most = math.asinh(min(gain.max(), centre + GAIN_END * spread) / many)
    middle, half = (least + most) / 2, max((most - least) / 2, LEAST_TABLE)
    w = many * np.sinh(middle + half * rows.gain)
    root = math.sqrt(facts.power[r, e] + lead_square / others)
    u = w / root

    of, last = of_kinds(r, e, kinds.far[0], mean_lead / others, kinds), scaled.max()
    low, high = logits_that_decide(V, of, kinds.near[0, r], root, w)
    low = clipped(low, scaled.min(), last)
    high = max(min(high, last), low + LEAST_TABLE)
    some, points = rows.to_points.shape
    step = (high - low) / (points - 1)
    rate = np.empty((len(w), some))
    for g in range(len(w)):
        for j in range(some):
            x = (low + 2 * step * j) * math.sqrt(1 + w[g] * w[g] / others)
            rate[g, j] = x + u[g] * slope / others * (x - usual)
    expected_above(rows, r, of, facts.power[r, e], u, rate)
    per = 1 / others
    log = product(logarithm(rate), rows.to_points)
    constrain(log, Grid(low, step, w, np.sqrt(1 + w * w * per), half, per, rows.to_slopes), facts.loose[r, e])
    return cubics_of(log, rows.to_powers), low, high, middle, half


@compiled
def answers(rows: Rows, coarse: Rows, facts: Facts, kinds: Competitors) -> tuple[FloatArray, FloatArray]:
    """each (R, E, P): the chance that a fact is answered rightly, given the node over its samples; and totals
    (R, cells, 5) over facts by the logarithm of the hazard: of their mass, and of that times their scaled logit, its
    noise, the shift and the shift's square. `coarse` is for facts that weigh little."""
    R, E, P = facts.mass.shape
    each, totals = np.zeros((R, E, P)), np.zeros((R, rows.cells, 5))
    per_log = (rows.cells - 1) / (LOG_LOST - LOG_WON)
    for r in range(R):
        per_wide, per_many = 1 / rows.wide[r], 1 / math.sqrt(max(rows.V[r] - 1, 1.0))
        for e in range(E):
            kept = np.flatnonzero(facts.in_all[r, e] * facts.mass[r, e] > rows.negligible)
            if len(kept) == 0:
                continue
            rules = coarse if facts.in_all[r, e] < rows.slight else rows
            nodes = lay_out(r, e, kept, rules, facts, kinds)
            logit, gain, mass, scaled = nodes.logit, nodes.gain, nodes.weight, nodes.scaled
            cubics, low, high, middle, half = tabulated(r, e, nodes, rules, facts, kinds)
            last = rules.to_points.shape[1] - 1.0
            per_logit, per_half = last / (high - low), 1 / half
            slant = np.abs(gain) * per_many
            for p in range(len(kept)):
                for i in range(logit.shape[1]):
                    slant[p, i] += math.sqrt(1 + slant[p, i] * slant[p, i])
            asinh = logarithms(slant.ravel(), slant.ravel() - 1).reshape(logit.shape)
            log, minus = np.empty_like(logit), np.empty_like(logit)
            for p in range(len(kept)):
                for i in range(logit.shape[1]):
                    place = clipped((scaled[p, i] - low) * per_logit, 0.0, last)
                    point = clipped((math.copysign(asinh[p, i], gain[p, i]) - middle) * per_half, -1.0, 1.0)
                    log[p, i] = interpolated(cubics, place, point)
                    minus[p, i] = min(log[p, i], LARGEST_LOG_EXPECTED)
            right = exponentials(-exponentials(minus.ravel())).reshape(log.shape)
            for p in range(len(kept)):
                usual, share = 0.0, facts.weight[r, e] * nodes.mass[p]
                for i in range(logit.shape[1]):
                    usual += mass[p, i] * logit[p, i]
                for i in range(logit.shape[1]):
                    each[r, e, kept[p]] += mass[p, i] * right[p, i]
                    noise = (logit[p, i] - usual) * per_wide
                    shift = rows.shared[r] * noise + facts.shift[r, e, kept[p]]
                    cell = clipped((log[p, i] - LOG_WON) * per_log + 0.5, 0.0, rows.cells - 0.5)
                    total = totals[r, int(cell)]
                    total[0] += share * mass[p, i]
                    total[1] += share * mass[p, i] * scaled[p, i]
                    total[2] += share * mass[p, i] * noise
                    total[3] += share * mass[p, i] * shift
                    total[4] += share * mass[p, i] * shift * shift
            nearest = 0
            for p in range(P):  # counts far out answer as the nearest one that is not negligible
                while nearest < len(kept) - 1 and abs(kept[nearest + 1] - p) < abs(kept[nearest] - p):
                    nearest += 1
                each[r, e, p] = each[r, e, kept[nearest]]
    return each, totals
