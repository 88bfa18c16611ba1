"""What one neuron contributes to the sums of step three's kernel, over the nodes of its weights: compiled to machine
code, a fact at a time, so that what is summed stays in the processor's nearest memory.

`kernel` has what is made of it, docs/derivations/recall.md the derivation.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..numerics.array_functions import exponentials_less_one
from ..numerics.arrays import TINY, FloatArray
from ..numerics.gaussian_kernels import MOMENTS, Smoothed
from ..numerics.machine_code import compiled_sums

DEAD = 1e-50  # guard: least own value and ratio; below it no neuron is ever active, and nothing is stored
GONE = -1 + 1e-15  # guard: the most that a tilt may take away, where rounding would take more than all there is
TILT = 4  # of the measure in which fluctuations are taken, in units of 1/own: the mean of x^3 e^-x, that of E R^2
POWERS = 4  # of sum X^2, over which means are taken
PARTS = 24  # of one neuron, as `Sums` has them


class Neuron(NamedTuple):
    """One neuron at nodes over its weights, for facts (E,): weights w (E, P) times p (Y,). X: phi of its input from
    h_k. x and across times `unit`: direction of its weights along h_k and beside it, times sqrt(d). v: the part of its
    input that is the trigger's. smooth: phi at its input from another value, for each length of its weights.

    m neurons; ball: 1 on the sphere, else 0; bent: the weights of second and third harmonics."""

    w: FloatArray
    p: FloatArray
    X: FloatArray
    x: FloatArray
    across: FloatArray
    unit: FloatArray
    v: FloatArray
    smooth: Smoothed
    m: float
    d: float
    ball: float
    bent: tuple[float, float]


class Sums(NamedTuple):
    """Of facts (E,), means over a neuron's weights. F mean, C variance, third and fourth cumulant of phi at its input
    from another value; G1..G4 and H1, H2 products of it and of its square with orthogonal polynomials of that input;
    slip = F - X mean/own.

    own: X^2. mean: X F. parts (E, PARTS), of 0: X^2 C. 1, 2: X G1 x, X G1 y. 3 to 7: X G2 times x^2, x y, y^2, one of
    the other squared coordinates r^2, and 1. 8, 9: X slip and its square. 10 to 15: X G3 times x^3, x^2 y, x y^2, y^3,
    x r^2, y r^2. 16, 17: X^3 times the third, X^4 times the fourth cumulant. 18, 19: X^2 H1 x, X^2 H1 y. 20 to 23:
    X^2 H2 times x^2, x y, y^2, and 1. common: F^2 C. together: the part of Var(X^2 - X F) that w.z_trig decides.

    divided (E, PARTS, n): for means of sums over a power of sum X^2, those of the parts at n tilts, with weights
    `share` (E, POWERS, n). Over the weights at a typical tilt: relative variance `scatter` of sum X X C, its
    covariance `bias` with sum X slip (per its mean), skewness `lopsided` of log R; and `bent_third`, what the second
    harmonics of many neurons add to the third central moment of sum X phi over the others, with the third and fourth.
    """

    own: FloatArray
    mean: FloatArray
    parts: FloatArray
    common: FloatArray
    together: FloatArray
    divided: FloatArray
    share: FloatArray
    scatter: FloatArray
    bias: FloatArray
    lopsided: FloatArray
    bent_third: FloatArray


@compiled_sums
def interpolate(smooth: Smoothed, v: FloatArray, cell: FloatArray) -> None:
    """The table's moments at v (P Y,), made the columns of cell (MOMENTS, P Y), by the cubic through four points."""
    rows, each, stride = smooth.rows, len(v) // smooth.widths, len(smooth.rows) // smooth.widths
    for i in range(len(v)):
        start = stride * (i // each)
        if not smooth.last:  # v is 0 everywhere
            for k in range(MOMENTS):
                cell[k, i] = rows[start, k]
            continue
        u = v[i] * smooth.steps + smooth.last
        place = math.floor(u)
        f, row = u - place, start + int(place)
        one, two = -f * (f - 1) * (f - 2) / 6, (f + 1) * (f - 1) * (f - 2) / 2
        three, four = -(f + 1) * f * (f - 2) / 2, (f + 1) * f * (f - 1) / 6
        for k in range(MOMENTS):
            cell[k, i] = (one * rows[row - 1, k] + two * rows[row, k] + three * rows[row + 1, k]
                          + four * rows[row + 2, k])


@compiled_sums
def parts_at(q: Neuron, e: int, cell: FloatArray, ratio: float, parts: FloatArray) -> None:
    """The parts (PARTS, P) of a fact at nodes over the weights, times these; `ratio` is mean/own."""
    P, Y, d = q.X.shape[1], len(q.p), q.d
    moment = np.empty((MOMENTS, 4))
    for j in range(P):
        X, x, across = q.X[e, j], q.x[e, j], q.across[e, j]
        slip, square = 0.0, 0.0
        for y in range(Y):
            off = cell[0, j * Y + y] - ratio * X
            slip += q.p[y] * off
            square += q.p[y] * off * off
        for k in range(1, MOMENTS):
            none, once, twice, thrice = 0.0, 0.0, 0.0, 0.0
            for y in range(Y):
                along, value = across * q.unit[y], q.p[y] * cell[k, j * Y + y]
                none += value
                once += value * along
                twice += value * along * along
                thrice += value * along * along * along
            moment[k, 0], moment[k, 1], moment[k, 2], moment[k, 3] = none, once, twice, thrice
        G1, G2, G3, H1, H2 = moment[1], moment[2], moment[3], moment[7], moment[8]
        left, rest = d - x * x, 1 / (d - 2)
        parts[0, j] = X * moment[5, 0]
        parts[1, j], parts[2, j] = G1[0] * x, G1[1]
        parts[3, j], parts[4, j], parts[5, j] = G2[0] * x * x, G2[1] * x, G2[2]
        parts[6, j], parts[7, j] = (G2[0] * left - G2[2]) * rest, G2[0]
        parts[8, j], parts[9, j] = slip, X * square
        parts[10, j], parts[11, j], parts[12, j], parts[13, j] = G3[0] * x**3, G3[1] * x * x, G3[2] * x, G3[3]
        parts[14, j], parts[15, j] = x * (G3[0] * left - G3[2]) * rest, (G3[1] * left - G3[3]) * rest
        parts[16, j], parts[17, j] = X * X * moment[6, 0], X**3 * moment[9, 0]
        parts[18, j], parts[19, j] = X * H1[0] * x, X * H1[1]
        parts[20, j], parts[21, j] = X * H2[0] * x * x, X * H2[1] * x
        parts[22, j], parts[23, j] = X * H2[2], X * H2[0]
        for k in range(PARTS):
            parts[k, j] *= q.w[e, j] * X


def pairs_of(b: FloatArray, d: float, ball: float, bent: tuple[float, float]) -> FloatArray:
    """E X X' C over two neurons from the parts (PARTS, ...), by the first three harmonics of another value."""
    first = (b[1]**2 + b[2]**2) / d
    second = (b[3]**2 + 2 * b[4]**2 + b[5]**2 + (d - 2) * b[6]**2) / d**2
    second = second - ball * b[7]**2 / d  # there squares of coordinates sum to d
    third = (b[10]**2 + 3 * (b[11]**2 + b[12]**2) + b[13]**2 + 3 * (d - 2) * (b[14]**2 + b[15]**2)) / d**3
    along, beside = b[10] + b[12] + (d - 2) * b[14], b[11] + b[13] + (d - 2) * b[15]
    third = third - ball * 3 / (d + 2) * (along**2 + beside**2) / d**3
    return first + bent[0] / 2 * second + bent[1] / 6 * third


pairs_of_one = compiled_sums(pairs_of)


@compiled_sums
def scattered(q: Neuron, e: int, cell: FloatArray, ratio: float, damp: FloatArray,
              B: FloatArray) -> tuple[float, float, float, float]:
    """The last four of `Sums`: what the linear parts of sums over neurons, and of sum X X C the part beyond, scatter.
    damp (P,): the typical tilt, of mean 1. B (PARTS,): the parts' means there."""
    m, d, f, ball, Y = q.m, q.d, q.bent[0], q.ball, len(q.p)
    n = cell.shape[1]
    flat = f * (d * B[6] - d * ball * B[7]) / (2 * d)
    total = max(m * B[0] + m * (m - 1) * pairs_of_one(B, d, ball, q.bent), DEAD)
    w, second, first, part = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    length, mean = 0.0, 0.0
    for j in range(q.X.shape[1]):
        X, x = q.X[e, j], q.x[e, j]
        length += q.w[e, j] * damp[j] * X * X
        for k in range(Y):
            i, y = j * Y + k, q.across[e, j] * q.unit[k]
            w[i] = q.w[e, j] * damp[j] * q.p[k]
            first[i] = B[1] * x + B[2] * y
            second[i] = flat + f * ((B[3] - B[6]) * x * x + 2 * B[4] * x * y + (B[5] - B[6]) * y * y) / (2 * d)
            part[i] = X * X * cell[5, i] + 2 * (m - 1) / d * X * (cell[1, i] * first[i] + cell[2, i] * second[i])
            mean += w[i] * part[i]
    length = max(length, DEAD)

    # a neuron's part in sum X X C, in sum X^2 and in log R, all relative; and beyond sums, the matrix of X G1 times a
    # direction's coordinates, and its covariance with that
    aa, ab, bb, cc, raa, rab, rbb, rcc = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    rr, rrr, ra, rb, rp, pp, p_slip, bent, many = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for j in range(q.X.shape[1]):
        X, x = q.X[e, j], q.x[e, j]
        over = 2 * (X * X / length - 1) / m
        for k in range(Y):
            i, y = j * Y + k, q.across[e, j] * q.unit[k]
            p, G = (part[i] - mean) / total, X * cell[1, i]
            r = p - over
            a, b, c = G * x - B[1], G * y - B[2], G * G * (d - x * x - y * y) / (d - 2)
            aa += w[i] * a * a
            ab += w[i] * a * b
            bb += w[i] * b * b
            cc += w[i] * c
            raa += w[i] * r * a * a
            rab += w[i] * r * a * b
            rbb += w[i] * r * b * b
            rcc += w[i] * r * c
            rr += w[i] * r * r
            rrr += w[i] * r * r * r
            ra += w[i] * r * a
            rb += w[i] * r * b
            rp += w[i] * r * p
            pp += w[i] * p * p
            p_slip += w[i] * p * X * (cell[0, i] - ratio * X)
            bent += w[i] * (X * cell[2, i])**2
            many += w[i] * X * second[i] * (2 * cell[3, i] * first[i] + cell[4, i] * second[i])
    pairs = m * (m - 1) / (d * total)**2
    loose = 2 * pairs * (aa**2 + 2 * ab**2 + bb**2 + (d - 2) * cc**2 + f**2 / 2 * bent**2)
    cube = aa**3 + bb**3 + 3 * ab**2 * (aa + bb) + (d - 2) * cc**3
    third = (m * rrr + 6 * pairs * d * total * (ra**2 + rb**2)
             + 12 * pairs * (raa * aa + 2 * rab * ab + rbb * bb + (d - 2) * rcc * cc)
             + 8 * pairs * (m - 2) / (d * total) * cube
             - 3 * (m * rp + loose)**2 + 3 / 2 * (m * (rp - rr))**2)  # the logarithm's own
    return (m * pp + loose, m * p_slip, third / max(m * rr + loose, TINY)**1.5,
            m * (m - 1) * (m - 2) * 3 / d**2 * many)  # with the third and fourth harmonics


@compiled_sums
def divide(q: Neuron, e: int, parts: FloatArray, tilt: FloatArray, weight: FloatArray, out: Sums) -> None:
    """A fact's `divided` and `share`, of its parts (PARTS, P) at tilts (n,) of these weights."""
    P = parts.shape[1]
    damp, whole = np.empty(P), q.m * out.own[e]
    for t in range(len(tilt)):
        for j in range(P):
            damp[j] = -tilt[t] / whole * q.X[e, j]**2
        exponentials_less_one(damp)
        lost = 0.0
        for j in range(P):
            lost += damp[j] * q.w[e, j]
            damp[j] += 1
        log = math.log1p(max(lost, GONE))
        for part in range(PARTS):
            mean = 0.0
            for j in range(P):
                mean += damp[j] * parts[part, j]
            out.divided[e, part, t] = mean * math.exp(-log)
        share = weight[t] * math.exp(tilt[t] + q.m * log)
        for k in range(POWERS):  # the mean of x^k e^(-x sum X^2) over k!
            share /= whole
            out.share[e, k, t] = share
            share *= tilt[t] / (k + 1)


@compiled_sums
def sums(q: Neuron, tilt: FloatArray, weight: FloatArray) -> Sums:
    """All of `Sums`; with no tilts (0,) the first five alone."""
    (E, P), Y, n = q.X.shape, len(q.p), len(tilt)
    out = Sums(np.zeros(E), np.zeros(E), np.zeros((E, PARTS)), np.zeros(E), np.zeros(E),
               np.zeros((E, PARTS, n)), np.zeros((E, POWERS, n)), np.zeros(E), np.zeros(E), np.zeros(E),
               np.zeros(E))
    cell, parts, damp, B = np.empty((MOMENTS, P * Y)), np.empty((PARTS, P)), np.empty(P), np.empty(PARTS)
    for e in range(E):
        interpolate(q.smooth, q.v[e], cell)
        own, mean, common, lead, lead_square, shared, varies = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        for j in range(P):
            X, F_mean = q.X[e, j], 0.0
            for y in range(Y):
                i, w = j * Y + y, q.w[e, j] * q.p[y]
                F, C = cell[0, i], cell[5, i]
                gap = X * X - X * F
                F_mean += q.p[y] * F
                common += w * F * F * C
                lead += w * gap
                lead_square += w * gap * gap
                shared += w * C * C
                varies += w * C
            own += q.w[e, j] * X * X
            mean += q.w[e, j] * X * F_mean
        own = max(own, DEAD)
        parts_at(q, e, cell, mean / own, parts)
        out.own[e], out.mean[e], out.common[e] = own, mean, common
        out.together[e] = min(max((shared - varies**2) / max(lead_square - lead**2, TINY), 0.0), 1.0)
        for k in range(PARTS):
            for j in range(P):
                out.parts[e, k] += parts[k, j]
        if n == 0:
            continue
        divide(q, e, parts, tilt, weight, out)
        left = 0.0
        for j in range(P):
            damp[j] = math.exp(-TILT / (q.m * own) * q.X[e, j]**2)
            left += q.w[e, j] * damp[j]
        for j in range(P):
            damp[j] /= left
        for k in range(PARTS):
            B[k] = 0.0
            for j in range(P):
                B[k] += parts[k, j] * damp[j]
        out.scatter[e], out.bias[e], out.lopsided[e], out.bent_third[e] = scattered(q, e, cell, mean / own, damp, B)
    return out
