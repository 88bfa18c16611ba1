"""Step three's kernel: with what strength a value that is read out holds the other values, and itself.

Label j is stored in the value h_k of fact k with the strength c_j K(h_j, h_k), c_j its count. For one draw of the
network's weights K(h_j, h_k) is, over the other values h_j, a variable of some mean, power (its variance) and skewness,
beside own = K(h_k, h_k). Attention-only is the inner product, for which these are t, s/d, 0 and s. With m neurons,

    own = mean_i X_i^2,   mean = mean_i X_i F_i,   power = mean_ij X_i X_j C_ij,

X_i = phi(w_i.h_k), F_i and C_ij mean and covariances of phi(w_i.h_j) over j. They fluctuate with the weights, together
and by much. A recall asks for ratios only, so that two variables say all:

    M = mean/own = sum X F/sum X^2,    R = power/own^2 = sum X X C/(sum X^2)^2.

Means of such sums over a power of sum X^2 are integrals over e^(-x sum X^2), under which neurons stay independent: E M,
E M^2 and E R are exact at any m, heavy tails or not. docs/derivations/recall.md has the derivation.
"""

from __future__ import annotations

import dataclasses
import functools

import numpy as np
from scipy.special import gammaln

from ..activations import Activation
from ..numerics.arrays import TINY, FloatArray
from ..numerics.gaussian_kernels import smoothed
from ..numerics.quadrature import (
    FINE_NODES,
    condense,
    gauss_coordinate,
    gauss_gamma,
    gauss_hermite,
    gauss_legendre,
    gauss_skewed,
)
from ..numerics.unit_sphere import equal_steps, split_at, split_at_zero
from .accuracy import DEFAULT, Accuracy
from .read_out import Facts, Kernel, left_open, power_variance
from .seed import Seeds
from .training_attention import SPECK

__all__ = ["KernelLaw", "NeuronKernel"]

MOST_SKEW = 0.5  # guard: of log R, where few neurons of a heavy-tailed activation decide and its expansion fails
FEWEST = 3.0  # guard: the least dimension that directions of weights have; in one or two the rest of them has no length
DEAD = 1e-50  # guard: least own value and ratio; below it no neuron is ever active, and nothing is stored
ALONG = 1e-7  # guard: share of the trigger beside h_k below which it is rounding, and counts as none
HARMONICS = 3  # of another value, over which the covariance of two neurons is summed
GONE = -1 + 1e-15  # guard: the most that a tilt may take away, where rounding would take more than all there is
CUBIC = 3  # degree from which on polynomials get no more nodes
TILT = 4  # of the measure in which fluctuations are taken, in units of 1/own: the mean of x^3 e^-x, that of E R^2


@dataclasses.dataclass(frozen=True)
class NeuronKernel:
    """The read-out through m random neurons of activation phi, on values of d dimensions; on the sphere all tokens have
    length 1."""

    phi: Activation
    m: float
    d: float
    sphere: bool = False
    accuracy: Accuracy = DEFAULT

    def moments(self, seeds: Seeds, facts: Facts) -> Kernel:
        """The moments at nodes over the draw of the neurons; all seeds of one setting."""
        e, s, snr = seeds.e, facts.s, seeds.bounded_snr
        tau = e * seeds.tau[:, None] + 0 * s  # of what all values share
        neuron = self._neuron(s, facts.t, tau)
        free = self._neuron(s, 0 * s, 0 * s) if e else neuron
        law, usual = _law(neuron, self.accuracy), self._usual(float(e))
        more, less = int(self.m < self.accuracy.narrow), int(usual.ratio_variance.max() < self.accuracy.steady)
        n_ratio = max(self.accuracy.neuron_ratio + more - less, 1)
        weight, ratio, lead = _nodes(law, n_ratio, self.accuracy.neuron_mean + more)
        R, F, D = weight.shape

        def flat(a: FloatArray) -> FloatArray:
            """Values at facts (R, F), or at their nodes, as entries."""
            a = a if a.ndim > 2 else a[..., None]
            return np.ascontiguousarray(np.broadcast_to(a, (R, F, D))).reshape(R, -1)

        # slopes in a token's score of unit vectors along h_k and along the rest of the trigger
        root = np.sqrt(self.d)
        along = facts.alpha * root / np.sqrt(s)
        has_rest = neuron.rest > ALONG * np.sqrt(tau)
        rest = np.where(has_rest, neuron.rest, 1)
        beside = np.where(has_rest, (e * snr / seeds.d)[:, None] * root - neuron.along * along, 0) / rest
        pull, rest_pull = neuron.pull
        slope, bare_slope = flat((pull * along + rest_pull * beside) / root), flat(free.pull[0] * along / root)
        own, ratio, mean = flat(neuron.own), flat(ratio), lead * neuron.own[..., None]
        power, bare = ratio * own**2, flat(free.power / law.ratio) * ratio
        variance = left_open(power, slope)
        trigger, length, neurons = ((facts.weight * part).sum(-1) for part in neuron.common)
        common = trigger**2 * (1 - e * snr**2 / (seeds.tau * seeds.d)) + length**2 + neurons
        return Kernel(
            D, self.m, weight=flat(facts.weight[..., None] * weight), own=own, usual=flat((weight * mean).sum(-1)),
            mean=flat(mean), slope=slope, variance=variance, skewness=flat(law.skewness) * (power / variance)**(3 / 2),
            bare_mean=flat(free.mean), bare_slope=bare_slope, bare_variance=left_open(bare, bare_slope),
            bare_own=flat(neuron.itself if e else neuron.own),
            power_variance=power_variance(seeds, flat(mean), power),
            common=common[:, None] + 0 * own, together=flat(neuron.together),
            linear=flat((pull - np.where(has_rest, rest_pull * neuron.along, 0) / rest)**2 / s),
            tail=max(float((usual.excess - 3 / 2 * usual.skewness**2).max()), 0))

    def between(self, s1: FloatArray, s2: FloatArray, product: FloatArray) -> FloatArray:
        """E phi(u) phi(v) over a neuron's weights."""
        x, p = gauss_hermite(self.accuracy.neuron_other)
        s1 = np.maximum(s1, SPECK)  # a square, which scores far out take below zero
        along = (product / np.sqrt(s1))[..., None, None]
        aside = np.sqrt(np.maximum(s2[..., None, None] - along**2, 0))
        beside = (self.phi.phi(along * x[:, None] + aside * x) * p).sum(-1)
        return np.asarray((self.phi.phi(np.sqrt(s1)[..., None] * x) * beside * p).sum(-1))

    def _usual(self, e: float) -> KernelLaw:
        """The law for a value of usual length, which no other row has a part in."""
        with_trigger = np.array([[e]])
        return self.law(1 + with_trigger, with_trigger, with_trigger)

    def law(self, s: FloatArray, t: FloatArray, tau: FloatArray) -> KernelLaw:
        """The law over the weights for squared norms s, overlaps t with z and tau = |z|^2, all (...)."""
        return _law(self._neuron(s, t, tau), self.accuracy)

    def _neuron(self, s: FloatArray, t: FloatArray, tau: FloatArray) -> _Neuron:
        """One neuron at nodes over its weights: their length, their direction along h_k and along the rest of z."""
        n, d = self.accuracy, max(self.d, FEWEST)
        shared = bool(tau.any())
        omega, p_omega = gauss_gamma(2 / d, n.neuron_length)  # |w|^2/d
        y, p_y = gauss_coordinate(d - 1, n.neuron_beside if shared else 2)  # without z squares of y alone count
        x, p_x = self._inputs(s, omega)  # (R, F, Q, X)
        length = np.sqrt(omega)[:, None]
        across = np.sqrt(np.maximum(1 - x**2 / d, 0) * d / (d - 1))
        along = t / np.sqrt(s)
        rest = np.sqrt(np.maximum(tau - along**2, 0))
        u = np.sqrt(s)[..., None, None] * length * x
        v = (along[..., None, None] * length * x)[..., None] + (rest[..., None, None] * length * across)[..., None] * y
        table = smoothed(self.phi, d if self.sphere else 0.0, tuple(np.sqrt(omega).tolist()), n.neuron_other,
                         n.neuron_steps, int(np.ceil(np.abs(v).max())) if shared else 0)
        moments = table(v.reshape(*v.shape[:-2], -1)).reshape(-1, *s.shape, x.shape[-2] * x.shape[-1], len(y))
        flat = (*s.shape, -1)
        X, x, across, w = (q.reshape(flat) for q in (self.phi.phi(u), x, across, p_omega[:, None] * p_x))
        removed = self.phi.phi(u.reshape(flat)[..., None] - v.reshape(*flat, len(y))) @ p_y
        return _Neuron(self.m, d, self.sphere, along, rest, w, p_y, X[..., None], x[..., None], across, y,
                       (w * X * removed).sum(-1), *moments)

    def _inputs(self, s: FloatArray, omega: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Nodes and weights (R, F, Q, X) of a neuron's input along h_k, in units of its spread."""
        d, n = max(self.d, FEWEST), self.accuracy.neuron_input
        if any(self.phi.kinks):
            return split_at(np.array(self.phi.kinks) / np.sqrt(s[..., None, None] * omega[:, None]), d, 2 * n)
        if self.phi.kinks:
            x, p = split_at_zero(d, n)
        elif self.phi.degree is None:
            x, p = equal_steps(d, self.accuracy.neuron_smooth)
        else:
            x, p = gauss_coordinate(d, self.accuracy.neuron_polynomial * min(self.phi.degree, CUBIC))
        shape = (*s.shape, len(omega), len(x))
        return np.broadcast_to(x, shape), np.broadcast_to(p, shape)


@dataclasses.dataclass(frozen=True)
class _Neuron:
    """One neuron at nodes (..., P, Y) with weights w (..., P) times p (Y,), for facts (...).

    along, rest: z along h_k and beside it. X: phi of its input from h_k; x and y = across unit: direction of its
    weights along h_k and beside it, times sqrt(d). itself: K(z_k, h_k). Of phi at its input from another value, with
    the weights given: F its mean, G1..G4 products with orthogonal polynomials of that input, C its variance, third its
    third central moment, H1 and H2 products of the squared deviation, fourth its fourth cumulant.
    """

    m: float
    d: float
    sphere: bool
    along: FloatArray
    rest: FloatArray
    w: FloatArray
    p: FloatArray
    X: FloatArray
    x: FloatArray
    across: FloatArray
    unit: FloatArray
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
    fourth: FloatArray

    @functools.cached_property
    def square(self) -> FloatArray:
        """X^2, (..., P)."""
        return np.asarray(self.X[..., 0]**2)

    @functools.cached_property
    def own(self) -> FloatArray:
        return np.maximum((self.w * self.square).sum(-1), DEAD)

    @functools.cached_property
    def mean(self) -> FloatArray:
        return np.asarray((self.w * self.X[..., 0] * (self.F @ self.p)).sum(-1))

    @functools.cached_property
    def y(self) -> FloatArray:
        return np.asarray(self.across[..., None] * self.unit)

    @functools.cached_property
    def slip(self) -> FloatArray:
        """F - X mean/own, whose product with X has mean 0."""
        return np.asarray(self.F - (self.mean / self.own)[..., None, None] * self.X)

    @functools.cached_property
    def bent(self) -> tuple[float, float]:
        """The weights of second and third harmonics, on the sphere 1 + O(1/d)."""
        d = self.d
        if not self.sphere:
            return 1.0, 1.0
        return d * (d + 2) / (d - 1)**2, (d + 2)**3 * (d + 4) / (d * (d - 1))**2

    @functools.cached_property
    def parts(self) -> FloatArray:
        """(..., part, P), with weights. 0: X^2 C. 1, 2: X G1 x, X G1 y. 3 to 7: X G2 times x^2, x y, y^2, one of the
        other squared coordinates r^2, and 1. 8, 9: X slip and its square. 10 to 15: X G3 times x^3, x^2 y, x y^2, y^3,
        x r^2, y r^2. 16, 17: X^3 times the third, X^4 times the fourth cumulant. 18, 19: X^2 H1 x, X^2 H1 y. 20 to 23:
        X^2 H2 times x^2, x y, y^2, and 1."""
        X, x, d = self.X[..., 0], self.x[..., 0], self.d
        left = d - x**2

        powers_of_y = self.p[:, None] * self.unit[:, None]**np.arange(HARMONICS + 1)

        def powers(q: FloatArray) -> list[FloatArray]:
            return [means * self.across**k for k, means in enumerate(np.moveaxis(q @ powers_of_y, -1, 0))]

        a, b, c = powers(self.G1), powers(self.G2), powers(self.G3)
        h, k = powers(self.H1), powers(self.H2)
        terms = [X * (self.C @ self.p), a[0] * x, a[1], b[0] * x**2, b[1] * x, b[2], (b[0] * left - b[2]) / (d - 2),
                 b[0], self.slip @ self.p, X * (self.slip**2 @ self.p), c[0] * x**3, c[1] * x**2, c[2] * x, c[3],
                 x * (c[0] * left - c[2]) / (d - 2), (c[1] * left - c[3]) / (d - 2), X**2 * (self.third @ self.p),
                 X**3 * (self.fourth @ self.p), X * h[0] * x, X * h[1], X * k[0] * x**2, X * k[1] * x, X * k[2],
                 X * k[0]]
        return np.asarray((self.w * X)[..., None, :] * np.stack(terms, axis=-2))

    def pairs_of(self, b: FloatArray) -> FloatArray:
        """E X X' C over two neurons from the parts (..., part), by the first three harmonics of another value."""
        d, ball = self.d, float(self.sphere)
        first = (b[..., 1]**2 + b[..., 2]**2) / d
        second = (b[..., 3]**2 + 2 * b[..., 4]**2 + b[..., 5]**2 + (d - 2) * b[..., 6]**2) / d**2
        second = second - ball * b[..., 7]**2 / d  # there squares of coordinates sum to d
        third = (b[..., 10]**2 + 3 * (b[..., 11]**2 + b[..., 12]**2) + b[..., 13]**2
                 + 3 * (d - 2) * (b[..., 14]**2 + b[..., 15]**2)) / d**3
        along = b[..., 10] + b[..., 12] + (d - 2) * b[..., 14], b[..., 11] + b[..., 13] + (d - 2) * b[..., 15]
        third = third - ball * 3 / (d + 2) * (along[0]**2 + along[1]**2) / d**3
        return np.asarray(first + self.bent[0] / 2 * second + self.bent[1] / 6 * third)

    def third_of(self, b: FloatArray) -> FloatArray:
        """m^3 times the third central moment of the kernel over the others from the parts (..., part), without what the
        fourth harmonic and the lengths of many together add."""
        m, d = self.m, self.d
        squares = b[..., 6] - self.sphere * b[..., 7]
        pairs = b[..., 1] * b[..., 18] + b[..., 2] * b[..., 19] + self.bent[0] / (2 * d) * (
            d * squares * b[..., 23] + (b[..., 3] - b[..., 6]) * b[..., 20] + 2 * b[..., 4] * b[..., 21]
            + (b[..., 5] - b[..., 6]) * b[..., 22])
        return np.asarray(m * b[..., 16] + 3 * m * (m - 1) / d * pairs
                          + m * (m - 1) * (m - 2) * _third_of_many(self, np.moveaxis(b, -1, 0)))

    @functools.cached_property
    def power(self) -> FloatArray:
        """The mean power."""
        pairs = self.pairs_of(self.parts.sum(-1))
        return np.asarray(self.noise / self.m + (1 - 1 / self.m) * pairs)

    @functools.cached_property
    def noise(self) -> FloatArray:
        """E X^2 C, what one neuron by itself adds to the power, times m."""
        return np.asarray(self.parts[..., 0, :].sum(-1))

    @functools.cached_property
    def pull(self) -> tuple[FloatArray, FloatArray]:
        """Slope of the kernel, in standard coordinates of the other value, along h_k and along the rest of z."""
        return self.parts[..., 1, :].sum(-1), self.parts[..., 2, :].sum(-1)

    @functools.cached_property
    def common(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Of Cov_j(K(h_j, h_k), K(h_j, h_l)) of two facts: the roots, a factor of each fact, of its parts through the
        trigger and through the others' lengths, and the part through each neuron."""
        pull, rest_pull = self.pull
        tau = np.maximum(self.along**2 + self.rest**2, TINY)
        trigger = (self.along * pull + self.rest * rest_pull) / np.sqrt(self.d * tau)
        length = 0 * trigger if self.sphere else self.parts[..., 7, :].sum(-1) / np.sqrt(2 * self.d)
        return trigger, length, np.asarray((self.w * ((self.F**2 * self.C) @ self.p)).sum(-1) / self.m)

    @functools.cached_property
    def together(self) -> FloatArray:
        """The part of Var(X^2 - X F) over a neuron's weights that w.z_trig decides."""
        lead = self.X**2 - self.X * self.F
        square, first = ((self.w * (q @ self.p)).sum(-1) for q in (lead**2, lead))
        shared, mean = ((self.w * (q @ self.p)).sum(-1) for q in (self.C**2, self.C))
        return np.asarray(np.clip((shared - mean**2) / np.maximum(square - first**2, TINY), 0, 1))

    def divided(self, k: int, accuracy: Accuracy) -> tuple[FloatArray, FloatArray]:
        """For the mean of a sum over (sum X^2)^k: the parts' means at n tilts (..., n, part), and weights (..., n)."""
        z, weight = _tilts(accuracy.neuron_laplace, k - 1, accuracy.neuron_tilt)
        scale = self.m * self.own[..., None]
        lost = np.expm1(-(z / scale)[..., None] * self.square[..., None, :])  # (..., n, P)
        log_g = np.log1p(np.maximum((lost @ self.w[..., None])[..., 0], GONE))
        b = (lost + 1) @ np.swapaxes(self.parts, -1, -2) / np.exp(log_g)[..., None]
        return b, weight * np.exp(z + self.m * log_g - gammaln(k)) / scale**k


@dataclasses.dataclass(frozen=True)
class KernelLaw:
    """The law over the weights, fields (...): mean own, mean and power, and what a neuron adds to the power, times m.

    ratio is E R, with its relative variance and the skewness of its logarithm; slant is E M, with its variance and its
    covariance with R/E R; skewness is that of the kernel over the others; excess is the excess kurtosis over the others
    that neurons add by themselves, E sum X^4 K4/(sum X^2)^4 per E R^2, with K4 the fourth cumulant of phi(w_i.h_j)."""

    own: FloatArray
    mean: FloatArray
    power: FloatArray
    noise: FloatArray
    ratio: FloatArray
    ratio_variance: FloatArray
    ratio_skewness: FloatArray
    slant: FloatArray
    slant_variance: FloatArray
    covariance: FloatArray
    skewness: FloatArray
    excess: FloatArray


def _nodes(law: KernelLaw, n_ratio: int, n_mean: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Weights, R and M at nodes (..., D): log R is a gamma variable; with A = 1/sqrt(R), M A is normal, linear in A."""
    g, p = gauss_skewed(law.ratio_skewness, n_ratio)
    log = np.log1p(law.ratio_variance)  # the variance of log R and its third cumulant
    bend = np.abs(law.ratio_skewness) * np.sqrt(log)
    variance = np.where(law.ratio_skewness > 0, log / (1 + bend), log * (1 + bend))
    R = np.exp(np.sqrt(variance)[..., None] * g)
    R = R * (law.ratio / (p * R).sum(-1))[..., None]
    A = 1 / np.sqrt(R)
    tilt = law.covariance * law.ratio / np.maximum((p * g * R).sum(-1), TINY)  # of M, per unit of g
    EA = (p * A).sum(-1)
    VA, AM = (p * (A - EA[..., None])**2).sum(-1), tilt * (p * A * g).sum(-1)
    M, VM = law.slant, law.slant_variance
    on_A = M + EA * AM / np.maximum(VA, TINY)
    variance = M**2 * VA + EA**2 * VM + 2 * M * EA * AM + VM * VA + AM**2
    left = np.sqrt(np.maximum(variance - on_A**2 * VA, 0))
    b, pb = gauss_hermite(n_mean)
    B = (M * EA + AM)[..., None, None] + (on_A[..., None] * (A - EA[..., None]))[..., None] + left[..., None, None] * b
    shape = (*M.shape, -1)
    return ((p[..., None] * pb).reshape(shape), (R[..., None] + 0 * B).reshape(shape),
            (B / A[..., None]).reshape(shape))


def _law(q: _Neuron, accuracy: Accuracy) -> KernelLaw:
    """The law of M and R over m neurons."""
    m = q.m
    (b1, p1), (b2, p2), (b3, p3), (b4, p4) = (q.divided(k, accuracy) for k in (1, 2, 3, 4))
    power2, power3, power4 = (m * b[..., 0] + m * (m - 1) * q.pairs_of(b) for b in (b2, b3, b4))
    shift = (p1 * m * b1[..., 8]).sum(-1)
    square = (p2 * (m * b2[..., 9] + m * (m - 1) * b2[..., 8]**2)).sum(-1)
    ratio = np.maximum((p2 * power2).sum(-1), DEAD)
    scatter = _scatter(q)
    variance = np.maximum((p4 * power4**2).sum(-1) / ratio**2 * (1 + scatter.variance) - 1, 0)
    covariance = ((p3 * power3 * m * b3[..., 8]).sum(-1) / ratio - shift
                  + scatter.covariance * (p3 * power3).sum(-1) / ratio)
    bound = np.sqrt(variance * np.maximum(square - shift**2, 0))  # Cauchy-Schwarz, which rounding may break at large m
    third = (p3 * q.third_of(b3)).sum(-1) + scatter.third * p3.sum(-1)
    skewness = third / (ratio**(3 / 2) * (1 + 3 / 8 * variance))  # E R^(3/2), to second order
    return KernelLaw(
        own=q.own, mean=q.mean, power=q.power, noise=q.noise, ratio=ratio, ratio_variance=variance,
        ratio_skewness=np.clip(scatter.skewness, -MOST_SKEW, MOST_SKEW), slant=q.mean / q.own + shift,
        slant_variance=np.maximum(square - shift**2, 0), covariance=np.clip(covariance, -bound, bound),
        skewness=skewness, excess=np.maximum((p4 * m * b4[..., 17]).sum(-1) / (ratio**2 * (1 + variance)), 0))


@dataclasses.dataclass(frozen=True)
class _Scatter:
    """Over the weights at a typical tilt, fields (...): relative variance of sum X X C, its covariance with sum X slip
    (per its mean), skewness of log R; and what the second harmonics of many neurons add to the third central moment of
    sum X phi over the others, with the third and fourth ones."""

    variance: FloatArray
    covariance: FloatArray
    skewness: FloatArray
    third: FloatArray


def _scatter(q: _Neuron) -> _Scatter:
    """What the linear parts of sums over neurons, and of sum X X C the part beyond, scatter."""
    m, d, f = q.m, q.d, q.bent[0]
    damp = np.exp(-TILT / (m * q.own[..., None]) * q.square)
    damp = damp / (q.w * damp).sum(-1, keepdims=True)
    w = (q.w * damp)[..., None] * q.p
    B = np.moveaxis((q.parts * damp[..., None, :]).sum(-1), -1, 0)  # (part, ...)
    X, x, y = q.X, q.x, q.y

    def mean(*factors: FloatArray) -> FloatArray:
        """E of a product."""
        return np.asarray(np.einsum(",".join(["...py"] * (1 + len(factors))) + "->...", w, *factors))

    def full(g: FloatArray) -> FloatArray:
        return np.asarray(g[..., None, None])

    first = full(B[1]) * x + full(B[2]) * y
    flat = f * full((d * B[6] - d * q.sphere * B[7]) / (2 * d))
    second = flat + (full(f * (B[3] - B[6])) * x + full(2 * f * B[4]) * y) * x / (2 * d)
    second += full(f * (B[5] - B[6]) / (2 * d)) * y * y
    total = np.maximum(m * B[0] + m * (m - 1) * q.pairs_of(np.moveaxis(B, 0, -1)), DEAD)

    # a neuron's part in sum X X C, in sum X^2 and in log R, all relative
    G = X * q.G1
    XX = X * X
    part = XX * q.C
    part += 2 * (m - 1) / d * (G * first + X * q.G2 * second)
    part = (part - full(mean(part))) / full(total)
    length = (XX / np.maximum(full((q.w * damp * q.square).sum(-1)), DEAD) - 1) / m
    r = part - 2 * length

    # beyond sums: the matrix of X G1 times a direction's coordinates, and its covariance with r
    a, b, c = G * x - full(B[1]), G * y - full(B[2]), G * G * ((d - x * x - y * y) / (d - 2))
    T = mean(a, a), mean(a, b), mean(b, b), mean(c)
    D = mean(r, a, a), mean(r, a, b), mean(r, b, b), mean(r, c)
    rr, r_part = mean(r, r), mean(r, part)
    pairs = m * (m - 1) / (d * total)**2
    bent = mean((X * q.G2)**2)
    loose = 2 * pairs * (T[0]**2 + 2 * T[1]**2 + T[2]**2 + (d - 2) * T[3]**2 + f**2 / 2 * bent**2)
    cube = T[0]**3 + T[2]**3 + 3 * T[1]**2 * (T[0] + T[2]) + (d - 2) * T[3]**3
    third = (m * mean(r, r, r) + 6 * pairs * d * total * (mean(r, a)**2 + mean(r, b)**2)
             + 12 * pairs * (D[0] * T[0] + 2 * D[1] * T[1] + D[2] * T[2] + (d - 2) * D[3] * T[3])
             + 8 * pairs * (m - 2) / (d * total) * cube
             - 3 * (m * r_part + loose)**2 + 3 / 2 * (m * (r_part - rr))**2)  # the logarithm's own
    many = 3 / d**2 * mean(X * second, 2 * q.G3 * first + q.G4 * second)  # with the third and fourth harmonics
    return _Scatter(
        variance=m * mean(part, part) + loose, covariance=m * mean(part, X * q.slip),
        skewness=third / np.maximum(m * rr + loose, TINY)**(3 / 2),
        third=m * (m - 1) * (m - 2) * many)


def _third_of_many(q: _Neuron, B: FloatArray) -> FloatArray:
    """The third cumulant of the kernel's first harmonics with its second, and of these: at infinite width."""
    d = q.d
    trace = q.sphere * B[7]
    xx, xy, yy, rr = B[3] - trace, B[4], B[5] - trace, B[6] - trace
    turned = B[1] * xx + B[2] * xy, B[1] * xy + B[2] * yy
    one = d / (d - 1) if q.sphere else 1.0  # a coordinate of the sphere has thinner tails
    third = B[10] + B[12] + (d - 2) * B[14], B[11] + B[13] + (d - 2) * B[15]
    return np.asarray(3 * one * (B[1] * turned[0] + B[2] * turned[1]) / d**2
                      + q.bent[0] * (xx**3 + yy**3 + 3 * xy**2 * (xx + yy) + (d - 2) * rr**3) / d**3
                      - q.sphere * q.bent[0] * 6 / (d + 2) * (turned[0] * third[0] + turned[1] * third[1]) / d**3)


@functools.lru_cache(maxsize=64)
def _tilts(n: int, power: int, end: float) -> tuple[FloatArray, FloatArray]:
    """Gauss nodes and weights of x^power e^-x on 0 < x < end."""
    x, w = gauss_legendre(FINE_NODES)
    x, w = end * x, end * w
    weight = w * x**power * np.exp(-x)
    nodes, weights = condense(x, weight / weight.sum(), n)
    return nodes, weights * weight.sum()
