"""Step three's kernel: with what strength a value that is read out holds the other values, and itself.

Label j is stored in the value h_k of fact k with the strength theta_j = c_j K(h_j, h_k), c_j its count. For one draw of the
network's weights K(h_j, h_k) is, over the other values h_j, a variable of some mean, power (its variance) and skewness,
beside own = K(h_k, h_k). Attention-only is the inner product, for which these are t, s/d, 0 and s. With m neurons,

    own = mean_i X_i^2,   mean = mean_i X_i F_i,   power = mean_ij X_i X_j C_ij,

X_i = phi(w_i.h_k), F_i and C_ij the mean and the covariances of phi(w_i.h_j) over j. They fluctuate with the weights,
together and by much. A recall asks for ratios only, so that two variables say all:

    M = mean/own = sum X F/sum X^2,    R = power/own^2 = sum X X C/(sum X^2)^2.

Means of such sums over a power of sum X^2 are integrals over e^(-x sum X^2), under which neurons stay independent: E M,
E M^2 and E R are exact at any m, heavy tails or not. docs/derivations/mlp.md has the derivation.
"""

from __future__ import annotations

import dataclasses
import functools

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, roots_genlaguerre

from ..activations import Activation
from ..numerics.quadrature import condense, gauss_coordinate, gauss_gamma, gauss_hermite
from .accuracy import DEFAULT, Accuracy

__all__ = ["KernelLaw", "NeuronKernel", "Strengths", "ValueRead"]

FloatArray = NDArray[np.float64]
TINY = float(np.finfo(float).tiny)
EDGE = 9.0  # standard deviations: rules that are split at kinks end here, where the density is 1e-18
MOST_SKEW = 0.5  # of log R: a guard where few neurons of a heavy-tailed activation decide, and its expansion fails
TILT = 4  # of the measure in which fluctuations are taken: the mean of the integral for E R^2


@dataclasses.dataclass(frozen=True)
class ValueRead:
    """Facts as values that are read out; fields (R, F), or what broadcasts to it.

    s = |h_k|^2; t = z.h_k and tau = |z|^2 with z what all values share: the trigger if it is in the values, else 0.
    alpha and along: overlap of h_k, and of z, with a token of attention score 1.
    """

    s: FloatArray
    t: FloatArray
    tau: FloatArray
    alpha: FloatArray
    along: FloatArray


@dataclasses.dataclass(frozen=True)
class Strengths:
    """The kernel of facts with the other values, fields (R, F, D): nodes over the weights of the neurons.

    weight: of the nodes, summing to 1 over D. own: K(h_k, h_k). mean, power, third: mean, variance and third central
    moment of K(h_j, h_k) over j. slope: of K(h_j, h_k) in the attention score of token j. wrong_mean, wrong_power,
    wrong_slope: the same for values without the trigger, as wrong picks store them. itself: K(z_k, h_k). common: the part of
    the power that is the same for all facts. together: correlation of two facts' own - mean over the weights. linear:
    squared slope of K in an overlap.
    """

    weight: FloatArray
    own: FloatArray
    mean: FloatArray
    power: FloatArray
    third: FloatArray
    slope: FloatArray
    wrong_mean: FloatArray
    wrong_power: FloatArray
    wrong_slope: FloatArray
    itself: FloatArray
    common: FloatArray
    together: FloatArray
    linear: FloatArray


@dataclasses.dataclass(frozen=True)
class NeuronKernel:
    """m random neurons of activation phi, on values of d dimensions; on the sphere all tokens have length 1."""

    phi: Activation
    m: float
    d: float
    sphere: bool = False
    accuracy: Accuracy = DEFAULT

    def strengths(self, facts: ValueRead) -> Strengths:
        """The strengths of facts (R, F)."""
        s, t, tau, alpha, along = np.broadcast_arrays(facts.s, facts.t, facts.tau, facts.alpha, facts.along)
        law = self.law(s, t, tau)
        free = self.law(s, 0 * t, 0 * tau) if tau.any() else law
        weight, ratio, mean = law.at_nodes(self.accuracy)
        to_token = alpha * np.sqrt(self.d / s)  # of a unit vector along h_k, and of one along the rest of the trigger
        rest_to_token = np.where(law.rest > TINY, (along * np.sqrt(self.d) - law.along * to_token)
                                 / np.maximum(law.rest, TINY), 0)
        slope = (law.pull * to_token + law.rest_pull * rest_to_token) / np.sqrt(self.d)

        def wide(q: FloatArray) -> FloatArray:
            return q[..., None] + 0 * weight

        own = wide(law.own)
        power = ratio * own**2
        return Strengths(
            weight=weight, own=own, mean=mean * own, power=power, third=wide(law.skewness) * power**(3 / 2),
            slope=wide(slope), wrong_mean=wide(free.mean), wrong_power=wide(free.power / law.ratio) * ratio,
            wrong_slope=wide(free.pull * to_token / np.sqrt(self.d)),
            itself=wide(np.where(tau > 0, law.itself, law.own)), common=wide(law.common), together=wide(law.together),
            linear=wide(law.pull**2 / s))

    def law(self, s: FloatArray, t: FloatArray, tau: FloatArray) -> KernelLaw:
        """The law over the weights for squared norms s, overlaps t with z and tau = |z|^2, all (...)."""
        neuron = self._neuron(s, t, tau)
        d = max(self.d, 3.0)
        return _law(neuron, self.m, d, self.sphere, self.accuracy.neuron_laplace)

    def _neuron(self, s: FloatArray, t: FloatArray, tau: FloatArray) -> _Neuron:
        """One neuron at nodes over its weights: their length, their direction along h_k and along the rest of z."""
        n, d = self.accuracy, max(self.d, 3.0)
        shared = bool(tau.any())
        omega, p_omega = gauss_gamma(2 / d, n.neuron_length)
        y, p_y = gauss_coordinate(d - 1, n.neuron_beside) if shared else (np.zeros(1), np.ones(1))
        x, p_x = self._inputs(s, omega)  # (..., Q, X)
        root = np.sqrt(omega)[:, None]
        along = t / np.sqrt(s)
        rest = np.sqrt(np.maximum(tau - along**2, 0))
        flat = (*s.shape, -1)
        beside = (np.sqrt(np.maximum(1 - x**2 / d, 0) * d / (d - 1)) * root).reshape(flat)
        length = np.broadcast_to(root, x.shape).reshape(flat)
        w = (p_omega[:, None] * p_x).reshape(flat)
        x = x.reshape(flat)
        u = np.sqrt(s)[..., None] * length * x
        X = self.phi.phi(u)
        v = (along[..., None] * length * x)[..., None] + (rest[..., None] * beside)[..., None] * y
        table = _table(self.phi, self.d if self.sphere else 0.0, tuple(omega.tolist()), n.neuron_other, n.neuron_steps,
                       int(np.ceil(np.abs(v).max())) if shared else 0)
        moments = table(v.reshape(*s.shape, len(omega), -1, len(y))).reshape(-1, *v.shape)
        itself = (w * X * (self.phi.phi(u[..., None] - v) @ p_y)).sum(-1)
        return _Neuron(along, rest, w, p_y, X[..., None], x[..., None], (beside / length)[..., None] * y, itself, *moments)

    def _inputs(self, s: FloatArray, omega: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Nodes and weights (..., Q, X) of sqrt(d) times a unit vector's coordinate, split where phi has a kink."""
        d, n = max(self.d, 3.0), self.accuracy.neuron_input
        if any(self.phi.kinks):
            at = np.array(self.phi.kinks) / np.sqrt(s[..., None, None] * omega[:, None])
            return _pieces(at, d, 2 * n)
        x, p = _split_at_zero(d, n) if self.phi.kinks else gauss_coordinate(d, n + n // 2)
        shape = (*s.shape, len(omega), len(x))
        return np.broadcast_to(x, shape), np.broadcast_to(p, shape)


@dataclasses.dataclass(frozen=True)
class _Neuron:
    """One neuron at nodes (..., P, Y) with weights w (..., P) times p (Y,).

    along, rest: z along h_k and beside it (...). x, y: the weights' direction against these, times sqrt(d). X: phi of its
    input from h_k (..., P, 1). Of phi at its input from another value, given the weights, with `other` that input standardised: F its
    mean, G1..G4 its products with the Hermite polynomials of `other`, C, third: its variance and third central moment,
    H1, H2: the products of its squared deviation. itself: K(z_k, h_k).
    """

    along: FloatArray
    rest: FloatArray
    w: FloatArray
    p: FloatArray
    X: FloatArray
    x: FloatArray
    y: FloatArray
    itself: FloatArray
    F: FloatArray
    G1: FloatArray
    G2: FloatArray
    G3: FloatArray
    G4: FloatArray
    C: FloatArray
    third: FloatArray
    H1: FloatArray
    H2: FloatArray

    def over_y(self, q: FloatArray) -> FloatArray:
        """(..., P): the mean over y."""
        return np.asarray(q @ self.p if q.shape[-1] > 1 or len(self.p) == 1 else q[..., 0])


@dataclasses.dataclass(frozen=True)
class KernelLaw:
    """The law over the weights, fields (...): own, mean, power at infinite own; R: mean, relative variance and skewness of
    its logarithm; M: mean, variance and covariance with R/E R; skewness over the others; pull: slope of the kernel along
    h_k and along the rest of z; noise: what one neuron adds to the power, times m."""

    own: FloatArray
    mean: FloatArray
    power: FloatArray
    ratio: FloatArray
    ratio_variance: FloatArray
    ratio_skewness: FloatArray
    slant: FloatArray
    slant_variance: FloatArray
    covariance: FloatArray
    skewness: FloatArray
    pull: FloatArray
    rest_pull: FloatArray
    along: FloatArray
    rest: FloatArray
    itself: FloatArray
    common: FloatArray
    together: FloatArray
    noise: FloatArray

    def at_nodes(self, n: Accuracy) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Weights, R and M at nodes (..., D): A = own/sqrt(power) by log R, and B = M A linear in A and normal."""
        g, p = _skewed(self.ratio_skewness, n.neuron_ratio)
        log = np.log1p(self.ratio_variance)
        variance = log
        for _ in range(4):  # log E R^2/(E R)^2 = variance + third cumulant
            variance = log - self.ratio_skewness * variance**(3 / 2)
        R = np.exp(np.sqrt(variance)[..., None] * g)
        R = R * (self.ratio / (p * R).sum(-1))[..., None]
        A = 1 / np.sqrt(R)

        def mean(q: FloatArray) -> FloatArray:
            return np.asarray((p * q).sum(-1))

        tilt = self.covariance * self.ratio / np.maximum(mean(g * R), TINY)  # of M per unit of g
        EA = mean(A)
        VA, AM = mean(A**2) - EA**2, tilt * mean(A * g)
        EB, AB = self.slant * EA + AM, self.slant * VA + EA * AM
        VB = self.slant**2 * VA + EA**2 * self.slant_variance + 2 * self.slant * EA * AM + self.slant_variance * VA + AM**2
        on_A = AB / np.maximum(VA, TINY)
        left = np.sqrt(np.maximum(VB - on_A * AB, 0))
        b, pb = gauss_hermite(n.neuron_mean)
        B = (EB[..., None] + on_A[..., None] * (A - EA[..., None]))[..., None] + left[..., None, None] * b
        weight = p[..., None] * pb
        wide = (*self.own.shape, -1)
        return weight.reshape(wide), np.broadcast_to(R[..., None], B.shape).reshape(wide), (B / A[..., None]).reshape(wide)


def _law(q: _Neuron, m: float, d: float, sphere: bool, n_laplace: int) -> KernelLaw:
    """The law of M and R over m neurons."""
    X = q.X[..., 0]
    x, y = q.x[..., 0], q.y
    others = max(d - 2, 1.0)
    f = d * (d + 2) / (d - 1)**2 if sphere else 1.0  # of a second harmonic on the sphere
    own = X**2
    X2 = (q.w * own).sum(-1)
    XF = (q.w * X * q.over_y(q.F)).sum(-1)
    slip = q.F - (XF / X2)[..., None, None] * q.X  # X slip has mean 0
    G1, G1y = q.over_y(q.G1), q.over_y(q.G1 * y)
    G2, G2y, G2yy = q.over_y(q.G2), q.over_y(q.G2 * y), q.over_y(q.G2 * y**2)
    rest = d - x**2
    harmonics = [G1 * x, G1y, G2 * x**2, G2y * x, G2yy, (G2 * rest - G2yy) / others, G2]
    parts = np.stack([own * q.over_y(q.C), *(X * h for h in harmonics), X * q.over_y(slip), own * q.over_y(slip**2)], -2)
    parts = q.w[..., None, :] * parts  # (..., part, P)

    def two(b: FloatArray) -> FloatArray:
        """E X X' C over two neurons from the parts (..., part, T)."""
        one = (b[..., 1, :]**2 + b[..., 2, :]**2) / d
        both = (b[..., 3, :]**2 + 2 * b[..., 4, :]**2 + b[..., 5, :]**2 + (d - 2) * b[..., 6, :]**2) / d**2
        return np.asarray(one + f / 2 * (both - sphere * b[..., 7, :]**2 / d))

    def divided(k: int) -> tuple[FloatArray, FloatArray]:
        """For the mean of a sum over (sum X^2)^k: parts at tilts (..., part, T), and the weights (..., T)."""
        z, weight = _laguerre(n_laplace, k - 1)
        tilt = (z / (m * X2[..., None]))[..., None]
        damp = np.expm1(-tilt * own[..., None, :])  # (..., T, P)
        log_g = np.log1p((damp @ q.w[..., None])[..., 0])
        b = parts @ np.swapaxes(damp + 1, -1, -2) / np.exp(log_g)[..., None, :]
        return b, weight * np.exp(z + m * log_g - gammaln(k)) / (m * X2[..., None])**k

    def power_of(b: FloatArray) -> FloatArray:
        return np.asarray(m * b[..., 0, :] + m * (m - 1) * two(b))

    b, p = divided(1)
    slant = XF / X2 + (p * m * b[..., 8, :]).sum(-1)
    b, p = divided(2)
    square = (p * (m * b[..., 9, :] + m * (m - 1) * b[..., 8, :]**2)).sum(-1)
    ratio = (p * power_of(b)).sum(-1)
    b, p = divided(3)
    both = (p * power_of(b) * m * b[..., 8, :]).sum(-1)
    scale, cube = (p * power_of(b)).sum(-1), p.sum(-1)
    b, p = divided(4)
    squared = (p * power_of(b)**2).sum(-1)

    part = _fluctuations(q, parts, slip, own, X2, m, d, sphere, f)
    ratio_variance = np.maximum(squared / ratio**2 * (1 + part["variance"]) - 1, 0)
    M0 = XF / X2
    covariance = both / ratio - (slant - M0) + part["covariance"] * scale / ratio
    base = parts.sum(-1)
    return KernelLaw(
        own=X2, mean=XF, power=base[..., 0] / m + (1 - 1 / m) * two(base[..., None])[..., 0], ratio=ratio,
        ratio_variance=ratio_variance, ratio_skewness=np.clip(part["skewness"], -MOST_SKEW, MOST_SKEW), slant=slant,
        slant_variance=np.maximum(square - (slant - M0)**2, 0), covariance=covariance,
        skewness=part["third"] * cube / (ratio**(3 / 2) * (1 + 3 / 8 * ratio_variance)),
        pull=base[..., 1], rest_pull=base[..., 2], along=q.along, rest=q.rest, itself=q.itself,
        common=_common(q, base, m, d, sphere), together=_together(q),
        noise=base[..., 0])


def _common(q: _Neuron, base: FloatArray, m: float, d: float, sphere: bool) -> FloatArray:
    """Cov_j(K(h_j, h_k), K(h_j, h_l)) of two facts: through the trigger, the others' lengths, and each neuron."""
    trigger = (q.along * base[..., 1] + q.rest * base[..., 2])**2 / np.maximum(q.along**2 + q.rest**2, TINY) / d
    lengths = 0 if sphere else (d - 2) * base[..., 6]**2 / (2 * d**2)
    return np.asarray(trigger + lengths + (q.w * q.over_y(q.F**2 * q.C)).sum(-1) / m)


def _together(q: _Neuron) -> FloatArray:
    """The part of Var(X^2 - X F) over a neuron's weights that w.z_trig decides."""
    y = q.X**2 - q.X * q.F
    whole = (q.w * q.over_y(y**2)).sum(-1) - (q.w * q.over_y(y)).sum(-1)**2
    C = np.broadcast_to(q.C, y.shape)
    shared = (q.w * q.over_y(C**2)).sum(-1) - (q.w * q.over_y(C)).sum(-1)**2
    return np.asarray(np.clip(shared / np.maximum(whole, TINY), 0, 1))


def _fluctuations(q: _Neuron, parts: FloatArray, slip: FloatArray, own: FloatArray, X2: FloatArray, m: float, d: float,
                  sphere: bool, f: float) -> dict[str, FloatArray]:
    """In the measure of a typical tilt: relative variance of sum X X C, its covariance with sum X slip, skewness of
    log R, and third central moment over the others (times m^3)."""
    damp = np.exp(-TILT / (m * X2[..., None]) * own)
    damp = damp / (q.w * damp).sum(-1, keepdims=True)
    B = np.moveaxis((parts * damp[..., None, :]).sum(-1), -1, 0)  # (part, ...)
    w = q.w * damp
    X, x, y = q.X, q.x, q.y
    shape = np.broadcast_shapes(X.shape, y.shape)
    others = max(d - 2, 1.0)
    rest = (d - x**2 - y**2) / others

    def E(g: FloatArray) -> FloatArray:
        return np.asarray((w * q.over_y(np.broadcast_to(g, shape))).sum(-1))

    def full(g: FloatArray) -> FloatArray:
        return g[..., None, None]

    first = full(B[1]) * x + full(B[2]) * y
    bend = (full(B[3]) * x**2 + 2 * full(B[4]) * x * y + full(B[5]) * y**2
            + (d - 2) * full(B[6]) * rest) / d - sphere * full(B[7])
    total = m * B[0] + m * (m - 1) * ((B[1]**2 + B[2]**2) / d + f / 2 * (
        (B[3]**2 + 2 * B[4]**2 + B[5]**2 + (d - 2) * B[6]**2) / d**2 - sphere * B[7]**2 / d))
    # a neuron's linear part in sum X X C, relative; in sum X^2; in log R
    part = X**2 * q.C + 2 * (m - 1) / d * X * (q.G1 * first + f / 2 * q.G2 * bend)
    part = (part - full(E(part))) / full(total)
    length = (X**2 / full(E(X**2)) - 1) / m
    r = part - 2 * length
    # features of the part that is no sum: X G1 times the directions, and beyond
    a, b, c = X * q.G1 * x - full(B[1]), X * q.G1 * y - full(B[2]), (X * q.G1)**2 * rest
    T = E(a**2), E(a * b), E(b**2), E(c)
    pairs = m * (m - 1) / d**2 / total**2
    loose = 2 * pairs * (T[0]**2 + 2 * T[1]**2 + T[2]**2 + (d - 2) * T[3]**2 + f**2 / 2 * E((X * q.G2)**2)**2)
    D = E(r * a**2), E(r * a * b), E(r * b**2), E(r * c)
    with_power = m * E(r * part) + loose
    third = (m * E(r**3) + 6 * pairs * d * total * (E(r * a)**2 + E(r * b)**2)
             + 12 * pairs * (D[0] * T[0] + 2 * D[1] * T[1] + D[2] * T[2] + (d - 2) * D[3] * T[3])
             + 8 * pairs * (m - 2) / d / total * (T[0]**3 + T[2]**3 + 3 * T[1]**2 * (T[0] + T[2]) + (d - 2) * T[3]**3)
             - 3 * with_power**2 + 6 * (m * E(r * length))**2)
    # over the others: three neurons, two, one
    trace = sphere * B[7]
    k = 3 * f * (B[1]**2 * B[3] + 2 * B[1] * B[2] * B[4] + B[2]**2 * B[5] - trace * (B[1]**2 + B[2]**2)) / d**2
    q1, q2, qr = f * (B[3] - trace), f * (B[5] - trace), f * (B[6] - trace)
    k = k + (q1**3 + q2**3 + 3 * f**2 * B[4]**2 * (q1 + q2) + (d - 2) * qr**3) / d**3
    if not sphere:  # the others' lengths fluctuate together with the overlaps
        T1, T2, T4 = E(X * q.G3 * x * rest), E(X * q.G3 * y * rest), E(X * q.G4 * rest**2)
        k = k + 3 * (B[1] * T1 + B[2] * T2) * B[6] * (d - 2) / d**3 + 3 / 4 * B[6]**2 * T4 * (d - 2)**2 / d**4
    two = E(X**2 * (q.H1 * first + f / 2 * q.H2 * bend)) / d
    over_others = m * E(X**3 * q.third) + 3 * m * (m - 1) * two + m * (m - 1) * (m - 2) * k
    return {"variance": m * E(part**2) + loose, "covariance": m * E(part * X * slip), "third": over_others,
            "skewness": third / np.maximum(m * E(r**2) + loose, TINY)**(3 / 2)}


def _skewed(skewness: FloatArray, n: int) -> tuple[FloatArray, FloatArray]:
    """Nodes and weights (..., n) of mean 0, variance 1 and the given skewness: a shifted gamma variable."""
    half = np.maximum(np.abs(skewness) / 2, 1e-4)
    x, w = gauss_gamma(half**2, n)
    return np.where((skewness < 0)[..., None], -1, 1) * (x - 1) / half[..., None], w


@functools.lru_cache(maxsize=64)
def _laguerre(n: int, power: int) -> tuple[FloatArray, FloatArray]:
    """Gauss nodes and weights of x^power e^-x on x > 0."""
    x, w = roots_genlaguerre(n, power)
    return x, w


@functools.lru_cache(maxsize=256)
def _split_at_zero(d: float, n: int) -> tuple[FloatArray, FloatArray]:
    """Gauss nodes of sqrt(d) times a unit vector's coordinate, n on each side of 0."""
    x, w = _pieces(np.zeros(1), d, 128)
    half = len(x) // 2
    x, w = condense(x[half:], 2 * w[half:], n)
    return np.concatenate([-x[::-1], x]), np.concatenate([w[::-1], w]) / 2


def _pieces(kinks: FloatArray, d: float, n: int) -> tuple[FloatArray, FloatArray]:
    """Nodes and weights (..., pieces n), between kinks (..., K), of sqrt(d) times a unit vector's coordinate; of a normal
    variable at d = 0."""
    t, weight = np.polynomial.legendre.leggauss(n)
    end = min(EDGE, np.sqrt(d)) if d else EDGE
    edge = np.full((*kinks.shape[:-1], 1), end)
    edges = np.concatenate([-edge, np.sort(np.clip(kinks, -end, end), axis=-1), edge], axis=-1)
    half = np.diff(edges, axis=-1)[..., None] / 2
    x = edges[..., :-1, None] + half * (1 + t)
    log = (d - 3) / 2 * np.log1p(-np.minimum(x**2 / d, 1 - 1e-15)) if d else -x**2 / 2
    p = (half * weight * np.exp(log)).reshape(*kinks.shape[:-1], -1)
    return x.reshape(p.shape), p / p.sum(-1, keepdims=True)


class _Table:
    """Moments of phi(v + sqrt(omega) x) over x, in the order of `_Neuron`'s fields, by v for each omega."""

    def __init__(self, phi: Activation, d: float, omega: FloatArray, n: int, steps: int, reach: int):
        self.steps, self.reach = steps, reach
        v = np.arange(-(reach + 1) * steps, (reach + 1) * steps + 1) / steps if reach else np.zeros(1)
        root = np.sqrt(omega)[:, None]
        kinks = (np.array(phi.kinks) - v[:, None]) / root[..., None] if phi.kinks else np.zeros((len(omega), len(v), 0))
        x, p = _pieces(kinks, max(d, 3.0) if d else 0, n if phi.kinks else 2 * n)
        f = phi.phi(v[:, None] + root[..., None] * x)
        F = (p * f).sum(-1, keepdims=True)
        c = f - F
        square = c * c
        polynomials = x, x**2 - 1, x**3 - 3 * x, x**4 - 6 * x**2 + 3
        self.rows = np.stack([F[..., 0], *((p * c * h).sum(-1) for h in polynomials), (p * square).sum(-1),
                              (p * square * c).sum(-1), *((p * square * h).sum(-1) for h in polynomials[:2])])

    def __call__(self, v: FloatArray) -> FloatArray:
        """(9, ...) at v (..., Q, X, Y), by the cubic through four points."""
        if not self.reach:
            return np.asarray(self.rows[(slice(None), *(None,) * (v.ndim - 3))][..., None] + 0 * v)
        u = v * self.steps + (self.reach + 1) * self.steps
        i = np.floor(u).astype(np.intp)
        f = u - i
        at = i + np.arange(self.rows.shape[1])[:, None, None] * self.rows.shape[2]
        flat = self.rows.reshape(len(self.rows), -1)
        weights = (-f * (f - 1) * (f - 2) / 6, (f + 1) * (f - 1) * (f - 2) / 2, -(f + 1) * f * (f - 2) / 2,
                   (f + 1) * f * (f - 1) / 6)
        out = np.zeros((len(flat), *v.shape))
        for k, weight in enumerate(weights):
            out += weight * flat.take(at + (k - 1), axis=1)
        return out


@functools.lru_cache(maxsize=32)
def _table(phi: Activation, d: float, omega: tuple[float, ...], n: int, steps: int, reach: int) -> _Table:
    return _Table(phi, d, np.array(omega), n, steps, reach)
