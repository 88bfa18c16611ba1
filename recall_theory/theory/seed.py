"""The law of a seed: what of step two differs from seed to seed, and the attention that follows.

A seed is summed up by tau = |z_trig|^2, the lead T over the standard deviation of the tokens' scores ("snr"), and the
shape of these scores. Given them, tokens are independent draws. One law serves both models: Attention-only is the
identity activation without the noise of neurons. Expectations over seeds are Gauss quadratures; nothing is sampled.
docs/derivations/seed.md has the derivation.
"""

from __future__ import annotations

import dataclasses
import functools

import numpy as np
from numpy.typing import NDArray
from scipy.special import factorial, ndtr

from ..activations import Activation
from ..numerics.arrays import TINY, FloatArray, Rows
from ..numerics.gaussian_kernels import gaussian_rule, hermite_projection
from ..numerics.quadrature import condense_with, gauss_hermite, gauss_legendre, gauss_of_gamma
from ..numerics.unit_sphere import score_of_skewed, skewed_of_score
from .accuracy import DEFAULT, Accuracy
from .domain import Batch
from .formulas import score_shape
from .formulas import step_two as st
from .formulas.generic import Real, power_of_complement
from .formulas.step_two import StepTwo

__all__ = ["SeedLaw", "SeedLaws", "SeedNodes", "Seeds", "activation_moments", "attention", "mean_and_std",
           "kernel_by_scores", "nodes_with_weight", "normal_score", "quantile_of_score", "score_cumulants",
           "score_of_normal", "seed_law", "seed_nodes", "shape_score", "step_two_of", "tau_nodes"]

Moments = dict[str, FloatArray]  # of the activation, by the names of `StepTwo`; empty without an MLP

MOST_SKEW = 2.0  # guard: acts at a few tokens, where the lead is as skewed as an exponential variable
STEPS = 4  # of Newton's method, after which a shape has its cumulants
TOO_FLAT = 1e-8  # a fourth cumulant or a variance that changes no score, as far as floats tell
LEAST_EXCESS = -4 / 3  # guard: acts where scores are flatter than a coordinate in two dimensions, whose excess is -3/2
OUTSIDE = 1e-16  # guard: acts beyond the sphere, where no token scores
NO_MASS = 1e-15  # guard: acts where all seeds of a row lead, or none
LEAST_BESIDE = 1 / 20  # guard: acts at a few tokens or dimensions, where corrections are as large as what they correct
LEAST_NOISE = 1e-20  # guard: acts on a line, where nothing is left beside the trigger
RARE = 1e-9  # guard: acts where V is so large that no two draws of a sequence agree
ORDERS = 24  # of Hermite's polynomials in the kernel's slope, whose terms fall like order^(-3/2) at a kink
LEAST_REST = 1 / 16  # guard: acts where the overlap with the trigger is nearly all of a token's score


@dataclasses.dataclass(frozen=True)
class Seeds(Rows):
    """Rows: sizes, the seed's tau and snr, and the shape of its token scores. All fields (R,).

    rise: slope of the kernel of two tokens in the product of their scores, in units of what it is if the direction of
    attention knows nothing of tokens and neurons. aligned: correlation of scores with the overlaps with the neurons'
    mean weights, of the sign that the activation's mean slope and mean have; 0 without an MLP.
    top: normal quantile of the highest score of all tokens, which decides much where sequences are long; else None.
    """

    V: FloatArray
    L: FloatArray
    d: FloatArray
    N: FloatArray
    tau: FloatArray
    snr: FloatArray
    skew: FloatArray
    excess: FloatArray
    rise: FloatArray
    aligned: FloatArray
    e: int
    sphere: bool
    top: FloatArray | None = None

    @property
    def lam(self) -> FloatArray:
        return self.N / self.V

    @property
    def bounded_snr(self) -> FloatArray:
        """(R,): the snr, no more than |z_trig| allows."""
        most = np.sqrt(self.tau * self.d)
        return np.asarray(np.clip(self.snr, -most, most))

    @property
    def risen(self) -> FloatArray:
        """(R,): by how much the kernel's squared slope in two scores is larger, in the units of `rise`."""
        return np.asarray(np.maximum(self.rise**2 - 1, 0))

    @property
    def beside(self) -> FloatArray:
        """(R,): the part of |z_trig|^2 that no token's score sees."""
        return np.asarray(np.maximum(self.tau - self.snr**2 / self.d, 0))


@dataclasses.dataclass(frozen=True)
class SeedLaw:
    """Quadrature over seeds: nodes with their weight (R,), which sums to 1 over those `of` a setting (R,)."""

    seeds: Seeds
    weight: FloatArray
    of: NDArray[np.intp]


def nodes_with_weight(batch: Batch, weight: FloatArray, tau: FloatArray, snr: FloatArray,
                      scores: tuple[Real, ...]) -> SeedLaw:
    """The nodes (B, ...) over the seeds of settings that have a weight; `scores` are skew, excess, rise and aligned."""
    used = weight > 0
    of = np.nonzero(used)[0]
    tau, snr, skew, excess, rise, aligned = (np.broadcast_to(a, weight.shape)[used] for a in (tau, snr, *scores))
    seeds = Seeds(batch.V[of], batch.L[of], batch.d[of], batch.N[of], tau, snr, skew, excess, rise, aligned, batch.e,
                  batch.sphere)
    return SeedLaw(seeds, weight[used], of)


# --- the shape of the tokens' scores ---------------------------------------------------------------

def score_of_normal(u: Real, skew: Real, excess: Real) -> Real:
    """The standardised score at the normal quantile u: increasing in u, of the third and fourth cumulant given, to
    second order in the skewness.

    A gamma variable of that skewness as a function of a symmetric variable that has the rest of the fourth cumulant:
    one coordinate of a uniform unit vector where that is negative, else a hyperbolic sine.
    """
    return skewed_of_score(_symmetric(u, excess - 3 * skew**2 / 2), skew)


def normal_score(x: Real, skew: Real, excess: Real) -> Real:
    """The normal quantile of a standardised score, the inverse of `score_of_normal`.

    >>> round(float(normal_score(score_of_normal(1.5, 0.4, 0.1), 0.4, 0.1)), 12)
    1.5
    """
    return _symmetric_inverse(score_of_skewed(x, skew), excess - 3 * skew**2 / 2)


def shape_score(seeds: Seeds, u: FloatArray) -> FloatArray:
    """The standardised score (R, ...) of a token, from its normal quantile u."""
    return np.asarray(score_of_normal(u, seeds.skew[:, None], seeds.excess[:, None]))


def quantile_of_score(seeds: Seeds, x: FloatArray) -> FloatArray:
    """The normal quantile (R, ...) of a standardised score, the inverse of `shape_score`."""
    return np.asarray(normal_score(x, seeds.skew[:, None], seeds.excess[:, None]))


def _coordinate(excess: Real) -> tuple[Real, Real]:
    """1/(d - 3/2) and 1/d of the dimension whose unit vectors' coordinates have this fourth cumulant, -6/(d + 2).

    No coordinate has one below -3/2, that of two dimensions, where u has no finite range: it is kept above -4/3.
    """
    excess = np.clip(excess, LEAST_EXCESS, -TOO_FLAT)
    return -excess / (6 + 7 * excess / 2), -excess / (6 + 2 * excess)


def _sine(excess: Real) -> tuple[Real, Real]:
    """theta and scale: sinh(theta u)/scale has unit variance and this fourth cumulant, (w + 3)(w - 1)/2 with
    w = exp(2 theta^2)."""
    more = np.sqrt(4 + 2 * np.maximum(excess, TOO_FLAT)) - 2  # w - 1
    return np.sqrt(np.log1p(more) / 2), np.sqrt(more / 2)


def _symmetric(u: Real, excess: Real) -> Real:
    """A standardised symmetric variable of that fourth cumulant at the normal quantile u. The coordinate x/sqrt(d) of a
    unit vector has u^2 = -(d - 3/2) ln(1 - x^2/d)."""
    leading, inverse = _coordinate(excess)
    theta, scale = _sine(excess)
    flat = np.copysign(np.sqrt(-np.expm1(-leading * u**2) / inverse), u)
    return np.where(np.asarray(excess) < 0, flat, np.sinh(theta * u) / scale)


def _symmetric_inverse(x: Real, excess: Real) -> Real:
    """u of `_symmetric`. Beyond the sphere, where no token scores, the quantile of 1e-300."""
    leading, inverse = _coordinate(excess)
    theta, scale = _sine(excess)
    square = np.minimum(inverse * x**2, 1)
    flat = np.copysign(np.sqrt(-np.log1p(-np.minimum(square, 1 - OUTSIDE)) / leading), x)
    return np.where(np.asarray(excess) < 0, flat, np.arcsinh(scale * x) / theta)


# --- the law over seeds ----------------------------------------------------------------------------

def activation_moments(phi: Activation, s: Real, overlap: Real = 0, fact: Real = 0, spread: Real = 0) -> Moments:
    """The moments of phi that step two needs, at input power s and at this overlap of two samples, which is larger by
    `fact` where they are of one fact; numbers or arrays. By parts: phi's own derivative is not asked for.

    A, C0, C1 and K1 have the first order in `spread` = 1/d: samples are vectors of so many dimensions, whose powers and
    overlaps spread.

    >>> from recall_theory.activations import activation
    >>> k = activation_moments(activation("relu"), 1.0)
    >>> round(float(k["A"]), 6), round(float(k["B"]), 6), round(float(k["P0"]), 6)
    (0.25, 0.159155, 0.5)
    """
    x, w = gaussian_rule(phi, s)
    f, slope = phi.phi(x), phi.derivative(x)
    s = np.asarray(s, dtype=float)
    u = x / np.sqrt(s)[..., None]
    c = hermite_projection(w * f, u, ORDERS)
    n = np.arange(1, ORDERS - 1)

    def derivatives(projection: FloatArray) -> FloatArray:
        """The means of a function's derivatives, order by order on the first axis."""
        order = np.arange(projection.shape[-1])
        return np.moveaxis(projection * np.sqrt(factorial(order)) / s[..., None]**(order / 2), -1, 0)

    def series(terms: FloatArray, overlap: Real) -> FloatArray:
        """Of a function of the overlap, term by term over (overlap/s)^n: itself, less that at none, over the overlap.
        """
        powers = np.asarray(np.minimum(overlap / s, 1))[..., None]**(n - 1)
        return np.asarray((terms[..., 1:] * powers).sum(-1) / s**2)

    _, first, second, third, fourth, fifth, sixth, *_ = derivatives(c)
    h0, h1, h2, h6, h4 = derivatives(hermite_projection(w * f * slope, u, 4))
    slopes = np.arange(1, ORDERS) * c[..., 1:-1]**2
    beside = np.sqrt(np.arange(1, ORDERS) * np.arange(2, ORDERS + 1)) * c[..., :-2] * c[..., 2:]
    linear = np.maximum(spread * (2 * first * third * s + (first * fifth + third**2) * s**2 / 2), -first**2)
    quadratic = np.maximum(spread * (4 * second * fourth * s + (second * sixth + fourth**2) * s**2 / 2), -second**2)
    return {"A": first**2 + linear, "B": c[..., 0] * second, "A2": second**2, "A3": first * third,
            "A4": second * fourth, "C0": series(slopes, overlap) + quadratic,
            "C1": series(slopes, overlap + fact) + quadratic,
            "D1": series(np.arange(ORDERS - 1) * beside, overlap + fact / 2),
            "K1": first**2 + linear + c[..., 0] * second + overlap * (series(slopes + beside, overlap) + quadratic),
            "h0": h0, "h1": h1, "h2": h2, "h3": first * second, "h4": h4, "h5": (third * second + first * fourth) / 2,
            "h6": h6, "A0": c[..., 0]**2, "P0": (w * f**2).sum(-1), "P2": (w * slope**2).sum(-1)}


def _moments(batch: Batch) -> Moments:
    """The moments (B,) of the activation; nothing without an MLP."""
    if batch.phi is None:
        return {}
    power = st.input_power(batch.V, batch.L, batch.e)
    moments = activation_moments(batch.phi, power, st.input_overlap(batch.V, batch.L, batch.e), 1 / batch.L**2,
                                 1 / batch.d)
    return {name: np.broadcast_to(value, batch.V.shape) for name, value in moments.items()}


def step_two_of(batch: Batch, moments: Moments, axes: int, **more: Real) -> StepTwo:
    """What step two depends on, with so many axes after that of settings, for quadrature nodes."""
    shape = (-1,) + (1,) * axes

    def each(a: FloatArray) -> Real:
        """Of one setting a number, with which formulas compute several times as fast as with an array of one."""
        return a[0] if len(a) == 1 else a.reshape(shape)

    V, L, d, N = (each(a) for a in (batch.V, batch.L, batch.d, batch.N))
    activation = {name: each(value) for name, value in moments.items()}
    return StepTwo(V, L, d, N, e=batch.e, kappa=int(batch.embedding == "gaussian"),
                   m=None if batch.m is None else each(batch.m), **activation, **more)


def _noise(p: StepTwo) -> dict[str, st.Pair]:
    """`step_two.parts`. Expansions in 1/V may turn negative at a vocabulary of a few tokens: cut at 0."""
    return {name: (np.maximum(token, 0), np.maximum(seen, 0)) for name, (token, seen) in st.parts(p).items()}


@dataclasses.dataclass(frozen=True)
class SeedNodes:
    """Nodes over what differs from seed to seed at each tau (B, n): the lead, the tokens' squared noise and the weight,
    which broadcast to (B, n, b0, Q, chi, side, x), the lead being below and above 0. By cause, the `noise` of a token's
    score (B, n + 1) of typical label noise (b0 = Q = 1), at these tau and at 1."""

    tau: FloatArray
    lead: FloatArray
    square: FloatArray
    weight: FloatArray
    noise: dict[str, FloatArray]


def seed_nodes(batch: Batch, moments: Moments, tau: FloatArray, accuracy: Accuracy) -> SeedNodes:
    """The nodes of settings at these tau (B, n), with the moments of their activation."""
    V, d, N = batch.V, batch.d, batch.N
    tied = (3 + V / N) / V if batch.sphere else 0  # sum delta^4/(sum delta^2)^2, which fixed norms take off
    b0, w_b0 = gauss_of_gamma(2 / d / (1 + tied), accuracy.scale_nodes)
    Q, w_Q = gauss_of_gamma(2 * (1 - 1 / N) / (V - 1), accuracy.spread_nodes)
    p = step_two_of(batch, moments, 3, tau=_and_typical(tau)[:, :, None, None], b0=_and_typical(b0)[:, None, :, None],
                  Q=_and_typical(Q)[:, None, None, :])
    noise = _noise(p)
    z, w_chi = gauss_hermite(accuracy.noise_nodes)
    typical = {name: token[..., -1:, -1:, -1:] for name, (token, _) in noise.items()}
    width_of_log = np.log1p(_noise_spread(p, typical)).reshape(-1, 1)
    T, square, weight = _lead_and_noise(p, noise, np.exp(np.sqrt(width_of_log) * z - width_of_log / 2), accuracy)
    weight = (weight * (w_b0[:, :, None] * w_Q[:, None, :])[:, None, :, :, None, None, None]
              * w_chi[:, None, None])
    each = (len(V), tau.shape[1] + 1)
    return SeedNodes(tau, T, square, weight,
                     {name: np.broadcast_to(token[:, :, -1, -1], each) for name, (token, _) in noise.items()})


def _and_typical(nodes: FloatArray) -> FloatArray:
    """The nodes (B, n) and, last, the mean of what they are of, 1."""
    return np.concatenate([nodes, np.ones((len(nodes), 1))], axis=1)


def _nodes_alone(value: Real) -> Real:
    """At the nodes (B, tau, b0, Q) alone, of what also stands there for their mean."""
    return value[(slice(None), *(slice(max(n - 1, 1)) for n in value.shape[1:]))] if np.ndim(value) else value


@dataclasses.dataclass(frozen=True)
class SeedLaws:
    """The seeds of settings, at nodes for attention and at fewer for recall; what both want of step two is computed
    once, when it is first asked for."""

    batch: Batch
    accuracy: Accuracy = DEFAULT

    @functools.cached_property
    def _settings(self) -> Batch:
        """L of at least 2: a sequence of one token has no rival, and its snr does not matter."""
        return dataclasses.replace(self.batch, L=np.maximum(self.batch.L, 2))

    @functools.cached_property
    def _moments(self) -> Moments:
        return _moments(self._settings)

    @functools.cached_property
    def _taus(self) -> tuple[tuple[FloatArray, FloatArray], ...]:
        """Nodes and weights (B, n): for attention, and for recall."""
        return tuple(tau_nodes(self.batch.d, self.batch.embedding, n)
                     for n in (self.accuracy.tau_nodes, self.accuracy.seed_tau))

    @functools.cached_property
    def nodes(self) -> SeedNodes:
        """Those at the nodes over tau for attention, and then at those for recall."""
        tau = np.concatenate([tau for tau, _ in self._taus], axis=1)
        return seed_nodes(self._settings, self._moments, tau, self.accuracy)

    def for_attention(self, rows: NDArray[np.intp]) -> SeedLaw:
        """The law of these settings, of which it holds the places (R,) among them."""
        n = self._taus[0][0].shape[1]
        return self._at(rows, slice(n), self._taus[0][1], self.accuracy.behind_nodes, self.accuracy.ahead_nodes)

    def for_recall(self, rows: NDArray[np.intp], ahead: int) -> SeedLaw:
        """The same at fewer nodes, of which rare ones are left out: so many where the lead is positive."""
        n, ahead = self._taus[0][0].shape[1], ahead * (2 if self.batch.sphere else 1)
        law = self._at(rows, slice(n, None), self._taus[1][1], self.accuracy.seed_behind, ahead, kernel=True)
        kept = law.weight > self.accuracy.rare
        weight, of = law.weight[kept], law.of[kept]
        return SeedLaw(law.seeds.at(kept), weight / np.bincount(of, weight)[of], of)

    def _at(self, rows: NDArray[np.intp], taus: slice, w_tau: FloatArray, behind: int, ahead: int, *,
            kernel: bool = False) -> SeedLaw:
        """So many nodes of the snr behind and ahead of 0 at each of these tau; with what the `kernel` rises by."""
        nodes, settings = self.nodes, self._settings.at(rows)
        tau, lead, square, weight = (x[rows, taus] for x in (nodes.tau, nodes.lead, nodes.square, nodes.weight))
        # acts on a line at V near 10^15, where products overflow
        snr = np.nan_to_num(lead / np.sqrt(square))
        log = np.log(np.broadcast_to(square, snr.shape))
        flat, sides = (*tau.shape, -1), []
        for side, n in ((0, behind), (1, ahead)):
            x, w, y = (a[..., side, :].reshape(flat) for a in (snr, weight, log))
            mass = w.sum(-1, keepdims=True)
            some = mass > NO_MASS
            at, condensed, there = condense_with(x, np.where(some, w / np.where(some, mass, 1), 1 / w.shape[-1]), y, n)
            sides.append((at, condensed * np.where(some, mass, 0),
                          np.clip(there, y.min(-1, keepdims=True), y.max(-1, keepdims=True))))
        at, weights, log = (np.concatenate(parts, axis=-1) for parts in zip(*sides, strict=True))
        p = step_two_of(settings, {name: x[rows] for name, x in self._moments.items()}, 2, tau=tau[:, :, None])
        noise = {name: x[rows, :-1][:, taus][:, :, None] for name, x in nodes.noise.items()}
        rise = kernel_by_scores(p, noise, at) if kernel else (np.ones_like(at), np.zeros_like(at))
        scores = *score_cumulants(p, noise, at, np.exp(log)), *rise
        return nodes_with_weight(self.batch.at(rows), w_tau[rows][:, :, None] * weights, tau[:, :, None], at, scores)

    def attention_terms(self) -> dict[str, FloatArray]:
        """Contributions (B,) to (noise/signal)^2 of attention, by cause; signal is the mean lead at tau = 1."""
        signal = np.maximum(st.lead(step_two_of(self._settings, self._moments, 0))**2, TINY)
        terms = {"trigger overlap" if self.batch.m is None else "attention overlap: trigger": 1 / self.batch.d}
        return terms | {name: token[:, -1] / signal for name, token in self.nodes.noise.items()}


def seed_law(batch: Batch, accuracy: Accuracy = DEFAULT) -> SeedLaw:
    """Quadrature nodes over seeds for tau and the snr, with their weights, as attention wants them."""
    return SeedLaws(batch, accuracy).for_attention(np.arange(len(batch.V)))


def tau_nodes(d: FloatArray, embedding: str, n: int) -> tuple[FloatArray, FloatArray]:
    """|z_trig|^2 (B, n) and weights: chi^2_d/d, or 1 on the sphere."""
    if embedding == "gaussian":
        return gauss_of_gamma(2 / d, n)
    return np.ones((len(d), 1)), np.ones((len(d), 1))


def _lead_and_noise(p: StepTwo, noise: dict[str, st.Pair], chi: FloatArray,
                    accuracy: Accuracy) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Leads (B, tau, b0, Q, 1, 2, x) below and above 0, squared noise (B, tau, b0, Q, chi, 2, x), weights like leads,
    at the nodes alone of p and its noise.

    The fluctuation of the lead comes with a tilt of the tokens' scores, by `_turn`: the overlap of a token's score with
    the trigger is (T + d turn (T - T0))^2/(tau d).
    """
    of_lead = np.maximum(sum(seen for _, seen in noise.values()), TINY)
    lead, spread = st.lead(p), np.sqrt(of_lead)
    mean, width, skew = (_nodes_alone(x) for x in (
        lead, spread, np.clip(st.lead_third(p) / spread**3, -MOST_SKEW, MOST_SKEW)))
    nodes, w = gauss_legendre(accuracy.lead_nodes)
    edge = np.clip(score_of_skewed(-mean / width, skew), -accuracy.reach, accuracy.reach)[..., None]
    edge = np.nan_to_num(edge)  # acts on a line at V near 10^15, where products overflow
    length = np.stack([edge + accuracy.reach, accuracy.reach - edge], axis=-2)
    x = np.concatenate([-accuracy.reach + 0 * edge, edge], axis=-1)[..., None] + length * nodes
    weight = length * w * np.exp(-x**2 / 2)
    weight = weight / weight.sum(axis=(-2, -1), keepdims=True)

    def column(value: Real) -> Real:
        """At the nodes alone, beside chi, side and x."""
        return np.asarray(_nodes_alone(value))[..., None, None, None]

    off = (width[..., None, None] * skewed_of_score(x, skew[..., None, None]))[..., None, :, :]  # T - T0
    T = column(lead) + off
    turn, turn_again = (value / np.maximum(of_lead, TINY) for value in _turn(p))
    # The stored trigger comes back through the tokens' own overlaps with it, which are the noise as well.
    echo, tau, d = st.echo(p), column(p.tau), column(p.d)
    drawn = column(echo * p.tau / p.d / p.V / of_lead)
    overlap = (T * (1 + drawn * off) + column(turn * p.d) * off)**2 / (tau * d)
    plain, curved = _beside_lead(p, {name: token for name, (token, _) in noise.items()}, of_lead, turn)
    plain = np.maximum(plain, LEAST_NOISE * (lead**2 + of_lead) + TINY)
    # Fluctuations with the lead are at most half of the noise at one standard deviation: less only at a few tokens.
    along = echo * turn_again * spread + st.lead_with_noise(p, 1) / (2 * spread) + st.echo_by_lead(p) * spread / 2
    along = column(along / np.maximum(plain, 2 * np.abs(along) + TINY) / spread)
    scatter = column(plain) * chi[:, None, None, None, :, None, None] * (1 + along * off)**2
    return T, np.maximum(overlap + scatter + column(curved) * off**2, TINY), weight[..., None, :, :]


def _beside_lead(p: StepTwo, noise: dict[str, Real], of_lead: Real, turn: Real) -> tuple[Real, Real]:
    """The tokens' squared noise beside their overlap with the trigger, (T0 + k (T - T0))^2/(tau d) with
    k = 1 + d `turn`: its mean over seeds, and what it is more per (T - T0)^2.

    `noise` S is that of g in all directions, of which the lead has a share f of its variance `of_lead`. So S and
    T0^2/(tau d) and (1 - f) of_lead/(tau d) are all there is, on average; and where g has a large part along the
    trigger, tokens see more of it. Tokens are V - 1 draws about their mean.
    """
    m, parts = p.moments, [(cause.power, value) for cause, value in _by_cause(p, noise)]
    S = np.maximum(sum(noise.values()), TINY)
    seen = np.maximum(sum(a * m[i] / m[i + 1] for i, a in parts), TINY)
    f = np.minimum(p.tau * seen / of_lead, 1)
    square = sum(a * b * m[i + j + 1] / (m[i + 1] * m[j + 1]) for i, a in parts for j, b in parts)
    more = p.V / (p.V - 1) * f * (square - S**2) / (p.d * seen)
    rest = ((1 - f) - (1 + p.d * turn)**2) * of_lead / (p.tau * p.d)
    least = LEAST_BESIDE * (1 - 1 / p.d) * S  # on a line there is nothing beside the trigger
    return np.maximum(p.V / (p.V - 1) * S + rest - more, least), more / of_lead


def _by_cause(p: StepTwo, noise: dict[str, Real]) -> list[tuple[st.Cause, Real]]:
    """The causes of noise, with the value that each has in a dictionary by name."""
    return [(cause, noise[name]) for cause in st.CAUSES
            if (name := cause.alone if p.m is None else cause.mlp) in noise]


def score_cumulants(p: StepTwo, noise: dict[str, Real], snr: FloatArray, square: FloatArray) -> tuple[Real, Real]:
    """Third and fourth cumulant (B, tau, K) of the standardised scores at this snr and variance, of typical `noise`
    (B, tau, 1) by cause.

    That of the linear part of an activation: what the rest adds is taken as normal.
    """
    left = _beside_trigger(p, snr)
    about_mean = square * (p.V - 1) / p.V  # tokens are V - 1 draws about their mean
    embedding = {name: value for name, value in noise.items() if name.endswith(score_shape.MEAN_EMBEDDING)}
    scores = score_shape.scores_of_seed(p, noise, about_mean, left, snr * np.sqrt(square), _noise_spread(p, embedding))
    third, fourth = score_shape.cumulants(p, scores)
    others = sum(third[cause] for cause in ("norms", "shared values", "noise counts"))
    skew = sum(third.values()) / square**(3 / 2)
    # the fourth cumulant that goes with the others' third one is that of a gamma variable, where it has no own
    excess = fourth / square**2 + 3 * (others**2 - third["shared values"]**2) / square**3 / 2
    # guard: acts at a few tokens; V numbers have no greater cumulants
    most = (p.V - 2) / np.sqrt(p.V - 1)
    return _composed(np.clip(skew, -most, most), np.minimum(excess, p.V))


def _beside_trigger(p: StepTwo, snr: FloatArray) -> Real:
    """What the overlap with the trigger leaves of the variance of the tokens' scores; at least 1/16."""
    return np.maximum(1 - snr**2 / (p.tau * p.d), LEAST_REST)


def kernel_by_scores(p: StepTwo, noise: dict[str, Real], snr: FloatArray) -> tuple[Real, Real]:
    """`rise` and `aligned` (B, tau, K) of `Seeds`: the direction of attention is made of tokens and neurons, and lies
    where they vary most."""
    causes, left = _by_cause(p, noise), _beside_trigger(p, snr)
    whole = np.maximum(sum(noise.values()), TINY)
    full = sum(value * st.kernel_slope(p, cause) for cause, value in causes) / whole
    # a token's overlap with itself is in that, and is none of two tokens'
    rise = 1 + left * ((full - (p.d + 2 * p.kappa) / p.V) * p.V / (p.V - 1) - 1)
    if p.m is None:
        return rise, 0 * left
    square = st.mean_weights(p)
    share = noise[st.NEURON_MEAN.mlp] / whole * np.abs(square)
    return rise, np.sign(square) * np.sqrt(left * np.minimum(share, 1))


def _composed(skew: FloatArray, excess: FloatArray) -> tuple[FloatArray, FloatArray]:
    """What `score_of_normal` has to be given to show these cumulants: a gamma variable of skewness s as a function of a
    symmetric one of fourth cumulant r has those of s (1 + r/2) and r + 3/2 s^2 (1 + 2 r), to second order in s."""
    rest = (excess - 3 * skew**2 / 2) / (1 + 3 * skew**2 / 2)
    for _ in range(STEPS):
        rest = np.maximum(rest, LEAST_EXCESS)
        gamma = 3 * (skew / (1 + rest / 2))**2 / 2
        slope = 1 + gamma * (2 - (1 + 2 * rest) / (1 + rest / 2))
        rest = rest - (rest + gamma * (1 + 2 * rest) - excess) / np.maximum(slope, 1)
    rest = np.maximum(rest, LEAST_EXCESS)
    skew = skew / (1 + rest / 2)
    return skew, rest + 3 * skew**2 / 2


def _noise_spread(p: StepTwo, typical: dict[str, FloatArray]) -> Real:
    """Relative variance over seeds of the tokens' squared noise, `typical` by cause. It is a quadratic form of a
    Gaussian g through powers of the tokens' covariance, which fluctuates too, and with an MLP through the draw of its
    neurons.

    Less 2/V, the part that independent tokens show by themselves in a sample of V.
    """
    m = p.moments
    total = np.maximum(sum(typical.values()), TINY)
    share = [(cause.power, value / total, cause.alone is not None) for cause, value in _by_cause(p, typical)]
    square = sum(a * b / (m[i + 1] * m[j + 1])
                 * (m[i + j + 2] + (i + 1) * (j + 1) / p.V * (m[i + j + 1] - (1 - p.kappa) * m[i + 1] * m[j + 1]))
                 for i, a, _ in share for j, b, _ in share)
    # what is stored for all passes m neurons: their weights' covariance turns it
    stored = [(i, a / m[i + 1]) for i, a, linear in share if linear and i > 1]
    turned = sum(a * m[i + 1] for i, a in stored)**2 + (sum(a * m[i - 2] for i, a in stored)
                                                       * sum(a * m[i + 4] for i, a in stored))
    return np.maximum(2 / p.d * square + 4 * p.width * turned - 2 / p.V, 0)


def _turn(p: StepTwo) -> tuple[Real, Real]:
    """Cov(z_trig.Sigma g, T) and Cov(z_trig.Sigma^2 g, T), of g beside the trigger: the lead's fluctuation comes with a
    tilt of the tokens' scores."""
    c, tau, V, L = p.c, p.tau, p.V, p.L
    linear = (1 - p.width) * p.K1**2
    pulled = st.mean_pull(p)
    own = sum(part(p)[0] for part in (st.sequence_sampling, st.class_covariance)) * p.d / p.moments[2]
    neurons = sum(st.mlp_mean_squares(p)) * c**2
    a = p.e * tau / L

    def joint(k: int) -> Real:
        """Cov(z_trig.(Sigma - 1/d) Sigma^(k-1) g, T): vector by vector, token's and trigger's matrices."""
        def tilt(token: Real, trigger: Real) -> Real:
            return c**4 * p.gap(k + 2) + c**2 * (token + trigger) * p.gap(k + 1) + token * trigger * p.gap(k)

        return tau * (linear * sum(x * tilt(token, trigger) for x, token, trigger in st.stored_by_outputs(p))
                      + pulled / (V * p.d) * (pulled * p.gap(k + 1) + p.h1 * p.rr * a * c * p.gap(k))
                      + p.K1 * p.within * p.b0 * st.count_overlap(p) * (c**2 * p.gap(k + 1) + 2 * a * c * p.gap(k))
                      + neurons * (p.gap(k + 1) + a * p.gap(k))
                      + own * p.gap(k))

    return joint(1), joint(2)


# --- attention at a given seed -----------------------------------------------------------------------

def _rivals(seeds: Seeds) -> tuple[FloatArray, FloatArray, FloatArray]:
    """(R, 1) each: how many draws of which chance give as many distinct competitors as a sequence's noise holds, in
    mean and variance, exact for L = 2 and for V = 2; and the chance that there are no copies of the fact's own token
    that outrank it, as a lead below 0 loses to another copy too."""
    V, L, behind = seeds.V[:, None], seeds.L[:, None], seeds.snr[:, None] < 0
    mean, variance = st.distinct_tokens(V - 1, np.where(behind, V - 1, V), L - 1)
    some = mean > 0
    chance = np.where(some, np.clip(1 - variance / np.where(some, mean, 1), RARE, 1), 1)
    return mean / chance, chance, np.where(behind, power_of_complement(V, L - 1), 1)


def _given_score(seeds: Seeds, zeta: FloatArray) -> tuple[FloatArray, FloatArray]:
    """(R, F): the probability that a fact is attended whose own token scores zeta (R, F) standard deviations, and its
    derivative by the chance that a competitor is below."""
    number, chance, alone = _rivals(seeds)
    below = ndtr(quantile_of_score(seeds, zeta + seeds.snr[:, None]))
    one = np.maximum(1 - chance + chance * below, TINY)  # of the draws that make up a sequence's competitors
    none = alone * np.exp(number * np.log(one))
    return none, none * number * chance / one


def score_grid(accuracy: Accuracy) -> tuple[FloatArray, FloatArray]:
    """Normal quantiles (G,) at even steps and their weights, a trapezoidal rule for a normal density."""
    n = round(accuracy.reach * accuracy.score_steps)
    u = np.arange(-n, n + 1) / accuracy.score_steps
    p = np.exp(-u**2 / 2)
    return u, p / p.sum()


def mean_and_std(law: SeedLaw, accuracy: Accuracy = DEFAULT) -> tuple[FloatArray, FloatArray, FloatArray]:
    """(B,) each: attention over seeds, its mean and its standard deviation, test sequences being exhausted, and the
    part of the variance that is there at a given tau and lead, because the vocabulary is a finite draw of tokens.

    That is V^-1 times the variance of the influence of one token's score z: as the fact, given(z); as a rival of all
    facts with a score above z - snr, the number of rivals times the chance that no other one wins.
    """
    seeds, (u, p) = law.seeds, score_grid(accuracy)
    zeta = shape_score(seeds, u)
    given, slope = _given_score(seeds, zeta)
    pressure = p * slope
    above = np.cumsum(pressure[:, ::-1], axis=-1)[:, ::-1] - pressure / 2  # of facts that score more than zeta
    place = (quantile_of_score(seeds, zeta - seeds.snr[:, None]) - u[0]) * accuracy.score_steps
    place = np.clip(place, 0, len(u) - 1)
    low = np.minimum(place.astype(int), len(u) - 2)
    rival = ((1 - place + low) * np.take_along_axis(above, low, axis=-1)
             + (place - low) * np.take_along_axis(above, low + 1, axis=-1))
    influence = given + rival
    spread = influence - (influence @ p)[:, None]
    each = given @ p
    mean = _over_seeds(law, each)
    scatter = _over_seeds(law, spread**2 @ p / seeds.V)
    return mean, np.sqrt(_over_seeds(law, (each - mean[law.of])**2) + scatter), scatter


def _over_seeds(law: SeedLaw, values: FloatArray) -> FloatArray:
    """(B,): the means of values (R,) over the seeds of each setting."""
    return np.asarray(np.bincount(law.of, law.weight * values), dtype=float)


def attention(batch: Batch, accuracy: Accuracy = DEFAULT) -> FloatArray:
    """(B,): predicted probability that the argmax attention is the informative position."""
    law = seed_law(batch, accuracy)
    u, p = score_grid(accuracy)
    return _over_seeds(law, _given_score(law.seeds, shape_score(law.seeds, u))[0] @ p)
