"""The law of attention: from the moments of step two to the probability of looking at the right token.

A seed is summed up by three numbers: tau, the lead T in units of the tokens' noise sigma ("snr"), and the
shape of the tokens' scores. Given them, tokens are independent draws. Expectations over seeds are Gauss
quadratures; nothing is sampled. docs/derivations/attention.md has the derivation.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_ndtr, ndtr

from ..numerics.cumulants import inverse_cornish_fisher
from ..numerics.quadrature import condense, gauss_gamma, gauss_hermite
from ..numerics.unit_sphere import leading_scale, score_of_coordinate
from .formulas import attention_formulas as at
from .formulas.generic import power_of_complement
from .score_distribution import score_cumulants

__all__ = [
    "SeedLaw",
    "attention",
    "attention_given",
    "attention_of_fact",
    "attention_std",
    "attention_terms",
    "mean_and_std",
    "normal_score",
    "score_grid",
    "seed_law",
]

FloatArray = NDArray[np.float64]

TAU_NODES = 5
LEAD_NODES = 9
SCALE_NODES = 4  # for b0 and for the squared noise, whose spread is small
SNR_NODES = 9  # what the law of the snr at given tau is condensed to
FAR = 10**6  # the snr beyond which nothing changes
WILD = 100  # cumulants beyond this, which tiny vocabularies show, are cut
REACH = 7  # scores are integrated over +- this many standard deviations
GRID = 113  # nodes of that integral: steps of 1/8
STEP = 4  # steps at snr = 0 are smoothed over a quarter of a standard deviation
TINY = np.finfo(float).tiny
FLOOR = 1 / 16  # the least factor by which fluctuations may shrink the squared noise


@dataclasses.dataclass(frozen=True)
class SeedLaw:
    """Quadrature over seeds. Fields (B, K), weights of a row sum to 1; `rivals` (B, R) and its weights.

    tau: |z_trig|^2. snr: the lead T over the standard deviation sigma of the tokens' scores. skew, excess: third
    and fourth cumulant of the standardised token scores. rivals: numbers of distinct competitors;
    alone: the probability that none of them is the fact's own token.
    dimension: d where embeddings lie on the unit sphere, else None.
    """

    weight: FloatArray
    tau: FloatArray
    snr: FloatArray
    skew: FloatArray
    excess: FloatArray
    rivals: FloatArray
    rivals_weight: FloatArray
    alone: FloatArray
    V: FloatArray
    dimension: FloatArray | None = None


# --- the shape of the tokens' scores ---------------------------------------------------------------

def normal_score(x: Any, skew: Any, excess: Any, dimension: Any = None) -> Any:
    """The standard normal quantile of a standardised score x with the given third and fourth cumulant.

    By the inverse Cornish-Fisher expansion; increasing in x. With `dimension` d the score is d^(1/2) times one
    coordinate of a unit vector (whose fourth cumulant, -6/(d + 2), `excess` includes), whose quantile comes first.

    >>> float(normal_score(2.0, 0.0, 0.0))
    2.0
    """
    if dimension is not None:
        x = score_of_coordinate(x / np.sqrt(dimension), leading_scale(dimension))
        excess = excess + 6 / (dimension + 2)
    return inverse_cornish_fisher(x, skew, excess)


# --- the law over seeds ----------------------------------------------------------------------------

def _settings(*values: Any) -> list[FloatArray]:
    """Arrays of shape (B, 1, ..., 1) that broadcast against quadrature nodes."""
    arrays = np.broadcast_arrays(*(np.atleast_1d(np.asarray(v, dtype=float)) for v in values))
    return [a.reshape(-1) for a in arrays]


def seed_law(V: ArrayLike, L: ArrayLike, d: ArrayLike, N: ArrayLike, embedding: str = "gaussian",
             trigger_in_value: bool = True) -> SeedLaw:
    """Quadrature nodes over seeds for tau and the snr, with their weights: fields of shape (B, K)."""
    shape = _settings(V, L, d, N)
    single = shape[1] == 1  # without rivals nothing of what follows matters
    shape[1] = np.where(single, 2, shape[1])
    V1, L1, d1, N1 = (a[:, None, None, None, None] for a in shape)  # (B, tau, b0, chi, x)
    e = 1 if trigger_in_value else 0
    kappa = 1 if embedding == "gaussian" else 0
    dd, VV = shape[2], shape[0]
    if kappa:
        tau1, w_tau = gauss_gamma(2 / dd, TAU_NODES)
    else:
        tau1, w_tau = np.ones((len(dd), 1)), np.ones((len(dd), 1))
    b01, w_b0 = gauss_gamma(2 / dd + 2 / VV, SCALE_NODES)
    tau = tau1[:, :, None, None, None]
    b0 = b01[:, None, :, None, None]
    parts = _variance_parts(V1, L1, d1, N1, e, tau, b0, kappa)
    variance = np.maximum(sum(parts.values()), TINY)
    chi1, w_chi = gauss_gamma(_noise_spread(V1, L1, d1, N1, e, kappa)[:, 0, 0, 0], SCALE_NODES)
    chi = chi1.reshape(len(dd), 1, 1, -1, 1)
    x, w_x = gauss_hermite(LEAD_NODES)
    mean = at.lead(V1, L1, d1, N1, e, tau, b0)
    spread = np.sqrt(np.maximum(at.lead_variance(V1, L1, d1, N1, e, tau, b0, kappa), TINY))
    turn, turn_again = _turn(V1, L1, d1, N1, e, tau, b0, kappa)
    T = mean + spread * x
    # The stored trigger comes back through the tokens' own overlaps with it, which are the noise as well.
    echo = at.echo(V1, L1, N1, e, b0)
    drawn = echo * tau / d1 * 2 / V1 / spread**2
    overlap = T**2 / (tau * d1) * np.maximum(1 + drawn * (T - mean), FLOOR)
    plain = variance * V1 / (V1 - 1) * (1 - 1 / d1) * chi  # Sigma divides by V, tokens are V - 1 draws about a mean
    squared = overlap + 2 * (T / tau * turn + echo * turn_again) * (T - mean) + plain
    squared = np.maximum(squared, overlap + plain * FLOOR)
    snr = np.clip(np.nan_to_num(T / np.sqrt(np.maximum(squared, TINY))), -FAR, FAR)
    B, n_tau = tau1.shape
    w = np.broadcast_to(w_b0[:, None, :, None, None] * w_chi.reshape(B, 1, 1, -1, 1) * w_x, snr.shape)
    nodes, weights = condense(snr.reshape(B, n_tau, -1), w.reshape(B, n_tau, -1), SNR_NODES)
    # The shape of the scores belongs to the typical noise at this snr: sigma^2 = S/(1 - snr^2/(tau d)).
    V2, L2, d2, N2 = (a[:, None, None] for a in shape)
    tau2 = tau1[:, :, None]
    typical = _variance_parts(V2, L2, d2, N2, e, tau2, 1, kappa)
    S = np.maximum(sum(typical.values()), TINY)
    stored = typical["mean embedding"] + typical["noise tokens"] + typical["informative tokens"]
    left = np.maximum(1 - nodes**2 / (tau2 * d2), FLOOR)
    skew, excess = score_cumulants(V2, L2, d2, N2, e, tau2, kappa, S, stored, S / left - S,
                                   nodes * np.sqrt(S / left))
    skew, excess = (np.clip(np.nan_to_num(a), -WILD, WILD) for a in (skew, excess))
    length = np.where(single, 1, shape[1])
    m, v = at.distinct_rivals(VV, length), at.distinct_rivals_variance(VV, length)
    half = np.minimum(np.sqrt(np.maximum(v, 0)), m)
    flat = (B, -1)
    return SeedLaw(
        weight=(w_tau[:, :, None] * weights).reshape(flat),
        tau=np.broadcast_to(tau2, nodes.shape).reshape(flat),
        snr=nodes.reshape(flat),
        skew=np.broadcast_to(skew, nodes.shape).reshape(flat),
        excess=np.broadcast_to(excess, nodes.shape).reshape(flat),
        rivals=np.stack([m - half, m + half], axis=-1),
        rivals_weight=np.full((B, 2), 1 / 2),
        alone=np.asarray(power_of_complement(VV, length - 1)),
        V=VV,
        dimension=None if kappa else dd,
    )


def _variance_parts(V: Any, L: Any, d: Any, N: Any, e: Any, tau: Any, b0: Any,
                    kappa: Any) -> dict[str, Any]:
    """The summands of the tokens' variance beside the overlap with the trigger, by cause.

    Expansions in 1/V may turn negative at a vocabulary of a few tokens: cut at zero.
    """
    parts = {
        "mean embedding": at.mean_embedding(V, L, d, N, b0, kappa),
        "noise tokens": at.noise_tokens(V, L, d, N, e, tau, b0, kappa),
        "informative tokens": at.informative_tokens(V, L, d, N, e, tau, b0, kappa),
        "sequence sampling": at.sequence_sampling(V, L, d, N, e, tau, b0, kappa),
        "class covariance": at.class_covariance(V, L, d, N, e, tau, b0, kappa),
        "trigger echo": at.trigger_echo(V, L, d, N, e, tau, b0, kappa),
    }
    return {name: np.maximum(value, TINY) for name, value in parts.items()}


def bounded_moment(k: int, V: Any, d: Any, kappa: Any) -> Any:
    """The k-th moment of the tokens' covariance, whose expansion in 1/V may turn negative at a few tokens."""
    return np.maximum(at.wishart(k, V, d, kappa), (1 - 1 / V)**k)


def _noise_spread(V: Any, L: Any, d: Any, N: Any, e: Any, kappa: Any) -> Any:
    """Relative variance over seeds of the tokens' squared noise, a quadratic form of a Gaussian g.

    Less 2/V, the part that independent tokens show by themselves in a sample of V.
    """
    parts = _variance_parts(V, L, d, N, e, 1, 1, kappa)
    m = {k: bounded_moment(k, V, d, kappa) for k in (2, 3, 4, 6, 8)}
    long = np.sqrt(m[8]) / m[4]
    middle = np.sqrt(m[6]) / m[3]
    short = np.sqrt(m[4]) / m[2]
    total = sum(parts.values())
    size = (long * (parts["noise tokens"] + parts["informative tokens"]) + middle * parts["mean embedding"]
            + short * (parts["sequence sampling"] + parts["class covariance"] + parts["trigger echo"]))
    return np.maximum(2 / d * (size / total)**2 - 2 / V, 0)


def _turn(V: Any, L: Any, d: Any, N: Any, e: Any, tau: Any, b0: Any, kappa: Any) -> tuple[Any, Any]:
    """Cov(z_trig.Sigma g, T)/Var T and Cov(z_trig.Sigma^2 g, T)/Var T, of g beside the trigger: the lead's
    fluctuation comes with a tilt of the tokens' scores."""
    c = 1 - 1 / L
    m = [1, *(at.wishart(k, V, d, kappa) for k in (1, 2, 3, 4, 5))]
    rr = b0 * (1 - 1 / V) / N
    pulled = at.mean_pull(V, L, N, b0, kappa)
    noise, facts = at.noise_strength(V, L, d, N, b0), at.fact_strength(V, L, d, N, b0)
    own = (at.sequence_sampling(V, L, d, N, e, tau, b0, kappa)
           + at.class_covariance(V, L, d, N, e, tau, b0, kappa)) * d / m[2]
    a = e * tau / L
    gap = [(m[j + 1] - m[j]) / d**(j + 1) for j in range(5)]  # tr (Sigma - 1/d) Sigma^j / d

    def joint(k: int) -> Any:
        """Cov(z_trig.(Sigma - 1/d) Sigma^(k-1) g, T): vector by vector, token's and trigger's matrices."""
        def tilt(token: Any, trigger: Any) -> Any:
            return c**4 * gap[k + 2] + c**2 * (token + trigger) * gap[k + 1] + token * trigger * gap[k]

        return tau * (noise * tilt(-a / L, a * (c - 2 / L)) + facts * tilt(a * c, 3 * a * c)
                      + pulled / (V * d) * (pulled * gap[k + 1] + rr * a * c * gap[k])
                      + b0 * at.count_overlap(V, L, N) * (c**2 * gap[k + 1] + 2 * a * c * gap[k])
                      + own * gap[k])

    spread = np.maximum(at.lead_variance(V, L, d, N, e, tau, b0, kappa), TINY)
    return joint(1) / spread, joint(2) / spread


# --- attention at a given seed -----------------------------------------------------------------------

def score_grid(skew: Any = 0, excess: Any = 0, dimension: Any = None) -> tuple[FloatArray, FloatArray]:
    """Standardised scores (G,) and the probability (..., G) of each under the tokens' law."""
    x = np.linspace(-REACH, REACH, GRID)
    edges = (x[1:] + x[:-1]) / 2
    skew, excess = np.asarray(skew, dtype=float)[..., None], np.asarray(excess, dtype=float)[..., None]
    inner = ndtr(normal_score(edges, skew, excess, dimension))
    zero = np.zeros((*inner.shape[:-1], 1))
    cdf = np.maximum.accumulate(np.concatenate([zero, inner, zero + 1], axis=-1), axis=-1)
    return x, np.diff(cdf)


def attention_of_fact(zeta: ArrayLike, snr: ArrayLike, V: ArrayLike, L: ArrayLike, skew: ArrayLike = 0,
                      excess: ArrayLike = 0, dimension: ArrayLike | None = None) -> Any:
    """Probability that a fact is attended whose own token scores zeta standard deviations; all broadcast."""
    m = np.asarray(at.distinct_rivals(np.asarray(V, dtype=float), np.asarray(L, dtype=float)))
    v = np.maximum(at.distinct_rivals_variance(np.asarray(V, dtype=float), np.asarray(L, dtype=float)), 0)
    half = np.minimum(np.sqrt(v), m)
    log_below = log_ndtr(normal_score(np.asarray(zeta) + np.asarray(snr), skew, excess, dimension))
    # A lead below zero loses to another copy of the fact's own token too.
    own = np.where(np.asarray(snr) < 0, power_of_complement(V, np.asarray(L) - 1), 1)
    return own * (np.exp((m - half) * log_below) + np.exp((m + half) * log_below)) / 2


def _column(dimension: FloatArray | None) -> FloatArray | None:
    """(B,) as (B, 1, 1), beside nodes and scores."""
    return None if dimension is None else dimension[:, None, None]


def _above(law: SeedLaw, x: FloatArray) -> FloatArray:
    """(B, K, G): the normal quantile of the score that a fact with own score x reaches with its lead."""
    out: FloatArray = normal_score(x + law.snr[..., None], law.skew[..., None], law.excess[..., None],
                                   _column(law.dimension))
    return out


def _by_score(law: SeedLaw) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Scores (G,), their probability (B, K, G) and the attention (B, K, G) of a fact with that score."""
    x, p = score_grid(law.skew, law.excess, _column(law.dimension))
    log_below = log_ndtr(_above(law, x))
    given = sum(law.rivals_weight[:, r, None, None] * np.exp(law.rivals[:, r, None, None] * log_below)
                for r in range(law.rivals.shape[1]))
    # A lead below zero loses to another copy of the fact's own token too: a step, smoothed for the quadrature.
    alone = law.alone[:, None] + (1 - law.alone[:, None]) * ndtr(STEP * law.snr)
    return x, p, np.asarray(given) * alone[..., None]


def attention_given(law: SeedLaw) -> FloatArray:
    """(B, K): the mean over facts of the probability of being attended, at each node."""
    _, p, given = _by_score(law)
    out: FloatArray = (p * given).sum(axis=-1)
    return out


def mean_and_std(law: SeedLaw) -> tuple[FloatArray, FloatArray]:
    """(B,) each: attention over seeds, its mean and its standard deviation, test sequences being exhausted."""
    x, p, given = _by_score(law)
    each = (p * given).sum(axis=-1)
    mean: FloatArray = (law.weight * each).sum(axis=-1)
    between = (law.weight * (each - mean[:, None])**2).sum(axis=-1)
    scatter = (law.weight * token_scatter(law, x, p, given)).sum(axis=-1)
    std: FloatArray = np.sqrt(between + scatter)
    return mean, std


def attention(V: ArrayLike, L: ArrayLike, d: ArrayLike, N: ArrayLike, embedding: str = "gaussian",
              trigger_in_value: bool = True) -> FloatArray:
    """(B,): predicted probability that the argmax attention is the informative position."""
    law = seed_law(V, L, d, N, embedding, trigger_in_value)
    out: FloatArray = (law.weight * attention_given(law)).sum(axis=-1)
    return out


def attention_std(V: ArrayLike, L: ArrayLike, d: ArrayLike, N: ArrayLike, embedding: str = "gaussian",
                  trigger_in_value: bool = True) -> FloatArray:
    """(B,): standard deviation of attention over seeds, test sequences being exhausted."""
    return mean_and_std(seed_law(V, L, d, N, embedding, trigger_in_value))[1]


def token_scatter(law: SeedLaw, x: FloatArray, p: FloatArray, given: FloatArray) -> FloatArray:
    """(B, K): variance of attention at a node because the vocabulary is a finite draw of tokens.

    V^-1 times the variance of the influence of one token's score z: as the fact, given(z); as a rival of all facts
    with a score above z - snr, the number of rivals times the chance that no other one wins.
    """
    log_below = log_ndtr(_above(law, x))
    count = law.rivals[:, None, None, :]
    others = np.exp(np.maximum(count - 1, 0) * log_below[..., None])  # the chance that no other rival wins
    pressure = p * (law.rivals_weight[:, None, None, :] * count * others).sum(axis=-1)
    above = np.cumsum(pressure[..., ::-1], axis=-1)[..., ::-1]  # sum over facts with a score of at least x
    start = (x[0] - x[None, None, :] + law.snr[..., None]) / (x[0] - x[1])  # index of z - snr in the grid
    low = np.clip(np.floor(start).astype(int), 0, GRID - 1)
    high = np.clip(low + 1, 0, GRID - 1)
    part = np.clip(start - low, 0, 1)
    rival = ((1 - part) * np.take_along_axis(above, low, axis=-1)
             + part * np.take_along_axis(above, high, axis=-1))
    influence = given + rival
    mean = (p * influence).sum(axis=-1, keepdims=True)
    out: FloatArray = (p * (influence - mean)**2).sum(axis=-1) / law.V[:, None]
    return out


def attention_terms(V: ArrayLike, L: ArrayLike, d: ArrayLike, N: ArrayLike, embedding: str = "gaussian",
                    trigger_in_value: bool = True) -> dict[str, FloatArray]:
    """Contributions (B,) to (noise/signal)^2 of attention, by cause; signal is the mean lead at tau = 1."""
    V1, L1, d1, N1 = _settings(V, L, d, N)
    e = 1 if trigger_in_value else 0
    kappa = 1 if embedding == "gaussian" else 0
    signal = at.lead(V1, L1, d1, N1, e, 1, 1)**2
    terms = {"trigger overlap": 1 / d1}
    for name, value in _variance_parts(V1, L1, d1, N1, e, 1, 1, kappa).items():
        terms[name] = np.broadcast_to(value / signal, V1.shape)
    return terms
