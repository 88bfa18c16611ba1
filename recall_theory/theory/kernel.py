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
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..activations import Activation, gaussian_mean
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
from . import neuron_loops
from .accuracy import DEFAULT, Accuracy
from .formulas import recall_formulas as rf
from .neuron_loops import DEAD, Sums, pairs_of
from .read_out import Facts, Kernel, left_open, swelling
from .seed import Seeds
from .training_attention import SPECK

__all__ = ["KernelLaw", "MeanPulls", "NeuronKernel", "TypicalKernel", "mean_pulls", "typical_kernel"]

MOST_SKEW = 0.5  # guard: of log R, where few neurons of a heavy-tailed activation decide and its expansion fails
FEWEST = 3.0  # guard: the least dimension that directions of weights have; in one or two the rest of them has no length
ALONG = 1e-7  # guard: share of the trigger beside h_k below which it is rounding, and counts as none
WIDE = 1e6  # neurons at which the kernel of infinite width is taken, and what one neuron adds to it
CUBIC = 3  # degree from which on polynomials get no more nodes


@dataclasses.dataclass(frozen=True)
class NeuronKernel:
    """The read-out through m random neurons of activation phi, on values of d dimensions; on the sphere all tokens have
    length 1. `typical`: at the mean of what differs from draw to draw."""

    phi: Activation
    m: float
    d: float
    sphere: bool = False
    accuracy: Accuracy = DEFAULT
    typical: bool = False

    def moments(self, seeds: Seeds, facts: Facts) -> Kernel:
        """The moments at nodes over the draw of the neurons; all seeds of one setting."""
        e, s, snr = seeds.e, facts.s, seeds.bounded_snr
        tau = e * seeds.tau[:, None] + 0 * s  # of what all values share
        neuron = self._neuron(s, facts.t, tau)
        free = self._neuron(s, 0 * s, 0 * s, divided=False) if e else neuron
        law, usual = _law(neuron), _usual(dataclasses.replace(self, typical=False), float(e))
        more, less = int(self.m < self.accuracy.narrow), int(usual.ratio_variance.max() < self.accuracy.steady)
        n_ratio = max(self.accuracy.neuron_ratio + more - less, 1)
        n_ratio, n_mean = (1, 1) if self.typical else (n_ratio, self.accuracy.neuron_mean + more)
        weight, ratio, lead = _nodes(law, n_ratio, n_mean)
        R, F, D = weight.shape

        def flat(a: FloatArray) -> FloatArray:
            """Values at facts (R, F), or at their nodes, as entries."""
            a = a if a.ndim > 2 else a[..., None]
            return np.ascontiguousarray(np.broadcast_to(a, (R, F, D))).reshape(R, -1)

        # slopes in a token's score of unit vectors along h_k and along the rest of the trigger
        root = np.sqrt(self.d)
        along, alone = (slope * root / np.sqrt(s) for slope in (facts.alpha, facts.alone))
        has_rest = neuron.rest > ALONG * np.sqrt(tau)
        rest = np.where(has_rest, neuron.rest, 1)
        trigger = (e * snr / seeds.d)[:, None] * root
        pull, rest_pull = neuron.pull

        def slopes(along: FloatArray) -> tuple[FloatArray, FloatArray]:
            """In a token's score, of the kernel with its value and with that without the trigger."""
            beside = np.where(has_rest, trigger - neuron.along * along, 0) / rest
            return flat((pull * along + rest_pull * beside) / root), flat(free.pull[0] * along / root)

        pulls = MeanPulls(*(seeds.aligned[:, None] / np.sqrt(self.m) * pull for pull in mean_pulls(self.phi, e)))
        (slope, bare_slope), (slope_alone, bare_alone) = slopes(along), slopes(alone)
        slope, bare_slope = slope + pulls.mean, bare_slope + pulls.bare_slope
        own, ratio = flat(law.own), flat(ratio)
        swell = swelling(flat(facts.zeta * pulls.own) / own)
        power, bare = ratio * own**2 * swell, flat(free.power / law.ratio) * ratio * swell
        risen = seeds.risen[:, None] / (self.d**2 * s)
        variance = left_open(power, np.sqrt(slope_alone**2 + pulls.mean**2), flat(pull**2 * risen))
        bare_variance = left_open(bare, np.sqrt(bare_alone**2 + pulls.bare_slope**2), flat(free.pull[0]**2 * risen))
        mean = lead * law.own[..., None] + (facts.zeta * pulls.mean)[..., None]
        own = own * swell  # a sum of squares: above 0
        by_trigger, length, neurons = ((facts.weight * part).sum(-1) for part in neuron.common)
        broader = rf.broader(usual.skewness, np.maximum(usual.excess, SPECK))
        common = by_trigger**2 * (1 - e * snr**2 / (seeds.tau * seeds.d)) + length**2 + neurons
        return Kernel(
            D, self.m, weight=flat(facts.weight[..., None] * weight), own=own, usual=flat((weight * mean).sum(-1)),
            mean=flat(mean), slope=slope, variance=variance, skewness=flat(law.skewness) * (power / variance)**(3 / 2),
            bare_mean=flat(free.sums.mean + facts.zeta * pulls.bare_mean), bare_slope=bare_slope,
            bare_variance=bare_variance,
            bare_own=flat(neuron.itself + facts.zeta * pulls.bare_own) if e else own,
            swell=np.asarray(pulls.swell)[:, 0], bare_swell=np.asarray(pulls.bare_swell)[:, 0],
            common=common[:, None] + 0 * own, together=flat(neuron.sums.together),
            linear=flat((pull - np.where(has_rest, rest_pull * neuron.along, 0) / rest)**2 / s),
            tied=flat(np.clip(pull * free.pull[0] / np.maximum(free.pull[0]**2, SPECK * self.d * free.power), 0, 1)),
            tail=max(float((usual.excess * (1 - broader)).max()), 0), broader=float(broader.min()))

    def between(self, s1: FloatArray, s2: FloatArray, product: FloatArray) -> FloatArray:
        """E phi(u) phi(v) over a neuron's weights."""
        x, p = gauss_hermite(self.accuracy.neuron_other)
        s1 = np.maximum(s1, SPECK)  # a square, which scores far out take below zero
        along = (product / np.sqrt(s1))[..., None, None]
        aside = np.sqrt(np.maximum(s2[..., None, None] - along**2, 0))
        beside = (self.phi.phi(along * x[:, None] + aside * x) * p).sum(-1)
        return np.asarray((self.phi.phi(np.sqrt(s1)[..., None] * x) * beside * p).sum(-1))

    def averaged(self) -> NeuronKernel:
        """At the mean of what differs from draw to draw."""
        return dataclasses.replace(self, typical=True)

    def law(self, s: FloatArray, t: FloatArray, tau: FloatArray) -> KernelLaw:
        """The law over the weights for squared norms s, overlaps t with z and tau = |z|^2, all (...)."""
        return _law(self._neuron(s, t, tau))

    def _neuron(self, s: FloatArray, t: FloatArray, tau: FloatArray, divided: bool = True) -> _Neuron:
        """One neuron at nodes over its weights: their length, their direction along h_k and along the rest of z. With
        what its law asks for if `divided`."""
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
        smooth = smoothed(self.phi, d if self.sphere else 0.0, tuple(np.sqrt(omega).tolist()), n.neuron_other,
                          n.neuron_steps, int(np.ceil(np.abs(v).max())) if shared else 0)
        X, w = self.phi.phi(u), p_omega[:, None] * p_x
        removed = self.phi.phi(u[..., None] - v) @ p_y if shared else X  # without the trigger
        itself = (w * X * removed).sum((-1, -2))
        E = (s.size, -1)
        tilt, weight = _tilts(n.neuron_laplace, n.neuron_tilt) if divided else (np.empty(0), np.empty(0))
        bent = (d * (d + 2) / (d - 1)**2, (d + 2)**3 * (d + 4) / (d * (d - 1))**2) if self.sphere else (1.0, 1.0)
        sums = neuron_loops.sums(neuron_loops.Neuron(
            w.reshape(E), p_y, X.reshape(E), x.reshape(E), across.reshape(E), y, v.reshape(E), smooth, self.m, d,
            float(self.sphere), bent), tilt, weight)
        sums = Sums(*(a.reshape(*s.shape, *a.shape[1:]) for a in sums))
        sums = sums._replace(parts=np.moveaxis(sums.parts, -1, 0), share=np.moveaxis(sums.share, -2, 0),
                             divided=np.moveaxis(sums.divided, -2, 0))
        return _Neuron(self.m, d, self.sphere, bent, along, rest, itself, sums)

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
    """One neuron for facts (...), on the average over its weights. along, rest: z along h_k and beside it; itself:
    K(z_k, h_k). Of `sums` parts are (part, ...), divided is (part, ..., tilt), share is (power, ..., tilt)."""

    m: float
    d: float
    sphere: bool
    bent: tuple[float, float]
    along: FloatArray
    rest: FloatArray
    itself: FloatArray
    sums: Sums

    def pairs_of(self, b: FloatArray) -> FloatArray:
        """E X X' C over two neurons from the parts (part, ...)."""
        return np.asarray(pairs_of(b, self.d, float(self.sphere), self.bent))

    def third_of(self, b: FloatArray) -> FloatArray:
        """m^3 times the third central moment of the kernel over the others from the parts (part, ...), without what
        the fourth harmonic and the lengths of many together add."""
        m, d = self.m, self.d
        squares = b[6] - self.sphere * b[7]
        pairs = b[1] * b[18] + b[2] * b[19] + self.bent[0] / (2 * d) * (
            d * squares * b[23] + (b[3] - b[6]) * b[20] + 2 * b[4] * b[21] + (b[5] - b[6]) * b[22])
        return np.asarray(m * b[16] + 3 * m * (m - 1) / d * pairs + m * (m - 1) * (m - 2) * _third_of_many(self, b))

    @property
    def power(self) -> FloatArray:
        """The mean power, of which `parts[0]`/m is what neurons add one by one."""
        return np.asarray(self.sums.parts[0] / self.m + (1 - 1 / self.m) * self.pairs_of(self.sums.parts))

    @property
    def pull(self) -> tuple[FloatArray, FloatArray]:
        """Slope of the kernel, in standard coordinates of the other value, along h_k and along the rest of z."""
        return self.sums.parts[1], self.sums.parts[2]

    @property
    def common(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Of Cov_j(K(h_j, h_k), K(h_j, h_l)) of two facts: the roots, a factor of each fact, of its parts through the
        trigger and through the others' lengths, and the part through each neuron."""
        pull, rest_pull = self.pull
        tau = np.maximum(self.along**2 + self.rest**2, TINY)
        trigger = (self.along * pull + self.rest * rest_pull) / np.sqrt(self.d * tau)
        length = 0 * trigger if self.sphere else self.sums.parts[7] / np.sqrt(2 * self.d)
        return trigger, length, self.sums.common / self.m


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


@dataclasses.dataclass(frozen=True)
class TypicalKernel:
    """The kernel of a fact of typical norms: with itself, its mean and variance over the others, the part of the mean
    that is the activation's; the noise and the spread of own - mean that a neuron adds. Arrays of the shape of d."""

    own: FloatArray
    mean: FloatArray
    variance: FloatArray
    of_mean: FloatArray
    noise: FloatArray
    spread: FloatArray

    @property
    def lead(self) -> FloatArray:
        """What the fact's own class has over the others."""
        return self.own - self.mean


class MeanPulls(NamedTuple):
    """What moves with a token's overlap with the neurons' mean weights W'1/m, in units of |W'1/m|: the kernel's mean
    over other values, or its slope in their tokens, which is the same; that slope for values without the trigger;
    K(h_k, h_k); of values without the trigger the mean and K(z_k, h_k); and K(h_k, h_k) per unit of itself, with the
    trigger and without."""

    mean: FloatArray | float
    bare_slope: FloatArray | float
    own: FloatArray | float
    bare_mean: FloatArray | float
    bare_own: FloatArray | float
    swell: FloatArray | float
    bare_swell: FloatArray | float


@functools.lru_cache(maxsize=64)
def mean_pulls(phi: Activation, e: int) -> MeanPulls:
    """E F F' and its like, F the mean of phi over tokens at a neuron's input from the trigger; by parts.

    >>> from recall_theory.activations import activation
    >>> round(mean_pulls(activation("relu"), 0).own, 3)  # 2 E phi phi'
    0.798
    """
    x, p = gauss_hermite(FINE_NODES)
    u, q = (x, p) if e else (np.zeros(1), np.ones(1))
    value, bare = phi.phi(x + u[:, None]), phi.phi(x)
    means, slopes = value @ p, value @ (p * x)
    own = float(q @ (value**2 @ (p * x)))
    return MeanPulls(mean=float(q @ (means * slopes)), bare_slope=float((q @ means) * (bare @ (p * x))),
                     own=own, bare_mean=float((bare @ p) * (q @ slopes)),
                     bare_own=float(q @ ((value * bare) @ (p * x))), swell=own / float(q @ (value**2 @ p)),
                     bare_swell=float(bare**2 @ (p * x) / (bare**2 @ p)))


@functools.lru_cache(maxsize=64)
def _usual(kernel: NeuronKernel, e: float) -> KernelLaw:
    """The law for a value of usual length, which no other row has a part in."""
    with_trigger = np.array([[e]])
    return kernel.law(1 + with_trigger, with_trigger, with_trigger)


def typical_kernel(phi: Activation, d: ArrayLike, e: int) -> TypicalKernel:
    """The kernel at |h_k|^2 = 1 + e and |z_trig| = 1, for each d."""
    d = np.asarray(d, dtype=float)
    different, place = np.unique(d, return_inverse=True)
    rows = np.array([_typical(phi, float(one), e) for one in different])
    return TypicalKernel(*(column[place].reshape(d.shape) for column in rows.T))


@functools.lru_cache(maxsize=1024)
def _typical(phi: Activation, d: float, e: int) -> tuple[float, ...]:
    s, t = np.array([1.0 + e]), np.array([float(e)])
    law = NeuronKernel(phi, WIDE, d, False, DEFAULT).law(s, t, t)
    own, noise = float(law.own[0]), float(law.noise[0])
    variance = (float(law.power[0]) - noise / WIDE) / (1 - 1 / WIDE)
    of_mean = float(gaussian_mean(phi, phi.phi, 1 + e)) ** 2
    return own, float(law.mean[0]), variance, of_mean, noise, float(law.slant_variance[0]) * own**2 * WIDE


def _nodes(law: KernelLaw, n_ratio: int, n_mean: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Weights, R and M at nodes (..., D): log R is a gamma variable; with A = 1/sqrt(R), M A is normal, linear in A. At
    a single node they are their means."""
    if n_ratio == n_mean == 1:
        return np.ones((*law.ratio.shape, 1)), law.ratio[..., None], law.slant[..., None]
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


def _law(q: _Neuron) -> KernelLaw:
    """The law of M and R over m neurons."""
    m, of, b = q.m, q.sums, q.sums.divided
    p1, p2, p3, p4 = of.share
    power = m * b[0] + m * (m - 1) * q.pairs_of(b)
    shift = (p1 * m * b[8]).sum(-1)
    square = (p2 * (m * b[9] + m * (m - 1) * b[8]**2)).sum(-1)
    ratio = np.maximum((p2 * power).sum(-1), DEAD)
    variance = np.maximum((p4 * power**2).sum(-1) / ratio**2 * (1 + of.scatter) - 1, 0)
    covariance = (p3 * power * m * b[8]).sum(-1) / ratio - shift + of.bias * (p3 * power).sum(-1) / ratio
    bound = np.sqrt(variance * np.maximum(square - shift**2, 0))  # Cauchy-Schwarz, which rounding may break at large m
    third = (p3 * q.third_of(b)).sum(-1) + of.bent_third * p3.sum(-1)
    skewness = third / (ratio**(3 / 2) * (1 + 3 / 8 * variance))  # E R^(3/2), to second order
    return KernelLaw(
        own=of.own, mean=of.mean, power=q.power, noise=of.parts[0], ratio=ratio, ratio_variance=variance,
        ratio_skewness=np.clip(of.lopsided, -MOST_SKEW, MOST_SKEW), slant=of.mean / of.own + shift,
        slant_variance=np.maximum(square - shift**2, 0), covariance=np.clip(covariance, -bound, bound),
        skewness=skewness, excess=np.maximum((p4 * m * b[17]).sum(-1) / (ratio**2 * (1 + variance)), 0))


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
def _tilts(n: int, end: float) -> tuple[FloatArray, FloatArray]:
    """Gauss nodes and weights of e^-x on 0 < x < end."""
    x, w = gauss_legendre(FINE_NODES)
    weight = end * w * np.exp(-end * x)
    nodes, weights = condense(end * x, weight / weight.sum(), n)
    return nodes, weights * weight.sum()
