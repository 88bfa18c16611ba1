"""Orthogonal embeddings in closed form: lead and noise of the scores, and what recall asks for.

Scores are in units of gamma eta/(N L)^2: with orthonormal tokens they are polynomials of counts. The
functions that take sums over labels (n2 = sum n_y^2 and the like, x_y = n_y - N/V) hold at any label
counts; the registered ones put their means in. Proofs: docs/derivations/orthogonal.md.
"""

from __future__ import annotations

import functools

from .generic import Real, exp, log, maximum, power_of_complement, sqrt, whole
from .registry import Row, formula

_WHERE = "docs/derivations/orthogonal.md"
_REGIME = "d >= V; V large, N/V at least 1"
_UNIT = "(gamma eta)^2/(N L)^4"
_ONE = "gamma eta/(N L)^2"

_attention: Row = functools.partial(formula, reference=_WHERE, regime=_REGIME, unit=_UNIT)
_mean: Row = functools.partial(formula, reference=_WHERE, unit=_ONE,
                               regime="exact on average, but for a constant; d > V")
_recall: Row = functools.partial(formula, reference=_WHERE, regime="V large, attention perfect, d > V")


def lead_given(V: Real, L: Real, N: Real, e: Real, x2: Real) -> Real:
    """Mean of the lead z_trig.g at given label counts, x2 = sum (n_y - N/V)^2: exact for d > V."""
    rho, mu, n2 = (L - 1) / V, (L - 1) * N / V**2, x2 + N**2 / V
    spent = mu * (V - 1) ** 2 + rho * (V * rho + 2) * x2 + (1 - 1 / V) * n2 + e * x2
    return (1 + e + rho) * x2 + N**2 / V - n2 / V - spent / L


def lead_noise_given(V: Real, L: Real, N: Real, n2: Real, n3: Real) -> Real:
    """Variance of the lead at given label counts, n2 = sum n_y^2 and n3 = sum n_y^3."""
    rho, mu = (L - 1) / V, (L - 1) * N / V**2
    return (1 - 2 / L) ** 2 * ((1 - 2 / V) * rho * n3 + mu * n2 / V) + 2 * V * (rho / L) ** 2 * n2


def shared_sequences_given(V: Real, L: Real, pairs: Real) -> Real:
    """Token variance from which tokens happen to share a sequence, pairs = sum n_y (n_y - 1)."""
    return (1 - 2 / L) * (L - 1) / V**2 * pairs


@_mean("orthogonal.attention.pull", "What a label adds to a token's score")
def pull(V: Real, L: Real, N: Real, e: Real, sequences: Real, times: Real) -> Real:
    """M p - c M r - (s p + M w (P - M p) + M o)/L: a token M times in the noise of a label of n sequences.

    Its pull p = M (1-1/V) - r, w = (L-2)/(n (L-1) - 1), s = M + M (M-1) w, P the pull of all the noise, o that of the
    informative position.
    """
    n, M, slots = sequences, times, sequences * (L - 1)
    rest, beside = ((N - n) * (L - 1) + N) / V**2, (L - 2) / maximum(slots - 1, 1)
    each = M * (1 - 1 / V) - rest
    power = slots * ((1 - 1 / V) * (1 + (slots + n - 1) / V) - rest)
    label = (slots - M) / V + n * (1 - 1 / V) - (N - n) * (L - 1) / V**2 + e * (n - N / V)
    same = M + M * (M - 1) * beside
    return M * each - M * rest * (1 - 1 / L) - (same * each + M * beside * (power - M * each) + M * label) / L


@_mean("orthogonal.attention.own_pull", "What a token's own label adds to its score")
def own_pull(V: Real, L: Real, N: Real, e: Real, sequences: Real, times: Real) -> Real:
    """M p + n o - c (M + n) r - [(n + M) o + (M + s) p + (n (L-1) - M)(1 + M w) q]/L: M times noise, n times not.

    p = (M + n)(1-1/V) - r, o = p + e (n - N/V), q the mean pull of the label's other noise; w and s as in the other.
    """
    n, M, slots = sequences, times, sequences * (L - 1)
    others, beside = (N - n) * (L - 1) / V**2, (L - 2) / maximum(slots - 1, 1)
    each = (M + n) * (1 - 1 / V) - others
    label = each + e * (n - N / V)
    mean = (1 - 1 / V) * (1 + (slots - M - 1) / (V - 1)) - others - N / V**2
    same = M + M * (M - 1) * beside
    spent = (n + M) * label + (M + same) * each + (slots - M) * (1 + M * beside) * mean
    return M * each + n * label - (M + n) * others * (1 - 1 / L) - spent / L


def shared_power_given(V: Real, L: Real, n: Real, own: Real) -> Real:
    """Variance that the sum over a label's noise of its squared counts brings to a token's score."""
    slots = n * (L - 1)
    beside = (L - 2) / maximum(slots - 1, 1) / L
    power = 2 * slots * (slots - 1) / V * (1 - 1 / V) ** 3
    return power * (own * (1 / L + slots / V * beside) ** 2 + (1 - own) * slots / V * beside**2)


def trigger_weight_noise_given(V: Real, L: Real, N: Real, e: Real, x2: Real, *, nx2: Real,
                               xn2: Real) -> tuple[Real, Real]:
    """For d = V: what the trigger's own value adds to the variance of W, and its covariance with sum_b t_b S_b."""
    rho = (L - 1) / V
    a, k = (1 - N / V) / L, (1 - 1 / L) * rho - (1 + e) / L
    return (e * (1 - 2 / L) ** 2 * ((rho * x2) ** 2 + rho * nx2 + xn2 / V),
            e * (1 - 2 / L) * rho * (a * x2 + k * nx2))


def _x2(V: Real, N: Real) -> Real:
    """E sum (n_y - N/V)^2."""
    return N * (1 - 1 / V)


def _n2(V: Real, N: Real) -> Real:
    """E sum n_y^2."""
    return _x2(V, N) + N**2 / V


@_mean("orthogonal.attention.lead", "Lead of the informative token: z_trig.g",
       regime=_REGIME + "; exact on average for d > V", limits="(1 - 1/L)(N^2/V + e N) for V large")
def lead(V: Real, L: Real, N: Real, e: Real) -> Real:
    """`lead_given` at the mean label counts.

    >>> round(lead(64, 200, 64, 1), 3)
    124.391
    """
    return lead_given(V, L, N, e, _x2(V, N))


@_attention("orthogonal.attention.lead_noise", "The lead's variance over seeds at given label counts")
def lead_noise(V: Real, L: Real, N: Real) -> Real:
    """(1-2/L)^2 [(1-2/V) rho n3 + mu n2/V] + 2 V (rho/L)^2 n2: how often a token stands beside its own."""
    lam = N / V
    return lead_noise_given(V, L, N, _n2(V, N), N * (lam**2 + 3 * lam + 1))


noise_counts = _attention("orthogonal.attention.noise_counts", "Noise tokens: squares of their counts by label")(
    lambda V, L, N: 2 * ((1 - 1 / L) * (L - 1) / V) ** 2 * (_n2(V, N) * (1 - 2 / V) + (N / V) ** 2) * (1 - 2 / V))


@_attention("orthogonal.attention.label_noise", "Noise tokens: counts against unequal label counts",
            limits="exceeds the squared counts where L > 2 V")
def label_noise(V: Real, L: Real, N: Real, e: Real) -> Real:
    """rho sum_y n_y (a + k x_y)^2 with a = (1 - N/V)/L and k = (1-1/L) rho - (1+e)/L."""
    rho, lam = (L - 1) / V, N / V
    a, k = (1 - lam) / L, (1 - 1 / L) * rho - (1 + e) / L
    return rho * (a**2 * N + 2 * a * k * _x2(V, N) + k**2 * N * (1 + lam))


shared_sequences = _attention("orthogonal.attention.shared_sequences", "Noise tokens: which of them share a sequence")(
    lambda V, L, N: shared_sequences_given(V, L, _n2(V, N) - N))


@_attention("orthogonal.attention.own_sequences", "Noise tokens: sequences that store them as facts")
def own_sequences(V: Real, L: Real, N: Real, e: Real) -> Real:
    """Var(A n^2 + B n) + 4 c rho E[n^2 (c n + a + k x)], n ~ Poisson(lam), c = 1-1/L, A = c (1+e+rho),
    B = -c (1 + e lam + rho lam), a and k as in the label noise."""
    lam, rho, c = N / V, (L - 1) / V, 1 - 1 / L
    square, once = c * (1 + e + rho), -c * (1 + e * lam + rho * lam)
    a, k = (1 - lam) / L, c * rho - (1 + e) / L
    return (square**2 * (4 * lam**3 + 6 * lam**2 + lam) + once**2 * lam
            + 2 * square * once * (2 * lam**2 + lam)
            + 4 * c * rho * (c * lam * (lam**2 + 3 * lam + 1) + a * (lam**2 + lam) + k * (2 * lam**2 + lam)))


least_samples = _recall(
    "orthogonal.attention.least_samples", "Least N for attention with orthogonal embeddings",
    regime="N >> V; d > V",
    limits="below N = V as long as V^3 > 4 L^2 ln L and V^4 > 2 L^3 ln L: attention is then free"
)(lambda V, L: 2 * L * sqrt((1 + L / (2 * V)) * log(L) / V))

coverage = _recall(
    "orthogonal.recall.coverage", "Recall with the trigger outside the values: facts seen once",
    regime="exact, attention perfect, d >= V", limits="1 - exp(-N/V) for V large"
)(lambda V, N: 1 - (1 - 1 / V) * power_of_complement(V, N))

recall_most = _recall(
    "orthogonal.recall.most", "Least N for almost all facts, trigger in the values",
    limits="2.59 times coverage's V ln V: the mean bias, with no interference left"
)(lambda V: V * log(V) / (2 * log(whole(2, V)) - 1))

recall_all = _recall(
    "orthogonal.recall.all", "Least N for all facts at once, trigger in the values",
    limits="17.3 times coverage's V ln V"
)(lambda V: V * log(V) / (1 - exp(whole(1, V)) * log(whole(2, V)) / 2))
