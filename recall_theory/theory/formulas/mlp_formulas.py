"""Closed-form moments of the Attention-MLP model: what its activation adds to each term of step two.

A neuron sees w.h, a Gaussian of variance s = |h|^2 over the weights w. Step two looks through the averaged
embedding hbar, of squared norm s = 1/L + ..., so that the activation enters through these moments over u ~ N(0, s):

    A   (E phi')^2           the linear part: what the Attention-only model has, there with A = 1;
    B   E phi E phi''        norms of the averaged embeddings, through the mean of phi;
    A2  (E phi'')^2          the quadratic part;
    h0, h1, h2               E phi phi', and the mean of its first and second derivative (the self pull);
    h3                       E phi' E phi'': what facts add to h0;
    h4, h5                   fourth derivative of phi phi' in the mean, and the derivative of h3 by s;
    P0  E phi^2              power of a neuron;
    P2  E phi'^2             power of its slope.

m is the width; the other arguments are those of `attention.terms`. Scores are in the units used there.
docs/derivations/mlp.md has the derivation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from . import attention_formulas as at
from .attention_formulas import wishart
from .generic import log
from .registry import Function, formula

__all__ = [
    "input_power",
    "lead",
    "mlp_mean",
    "mlp_noise",
    "norm_tilt",
    "quadratic_lead",
]

Law = TypeVar("Law", bound=Callable[..., Any])
_WHERE = "docs/derivations/mlp.md"
_REGIME = "V, d, m large; L at least 8; N/V at least 2"


@formula("mlp.input_power", title="Mean squared norm of an averaged embedding: the variance of a neuron's input "
         "in steps one and two", provenance="derived", reference=_WHERE, regime="exact for tau = 1",
         limits="1/L at large L and V")
def input_power(V: Any, L: Any, e: Any) -> Any:
    """s = 1/L + (1 - 1/L)/V + e/L^2."""
    return 1 / L + (1 - 1 / L) / V + e / L**2


# --- the lead --------------------------------------------------------------------------------------

def self_lead(V: Any, L: Any, d: Any, N: Any, e: Any, tau: Any, b0: Any) -> Any:
    """The part of the Attention-only lead that each sample exerts on itself, through |rbar|^2."""
    c = 1 - 1 / L
    return c * (1 - 1 / V) * tau * e * b0 * (tau / L**2 + (1 - 1 / V) / (L * d)) / N


@formula("mlp.attention.quadratic_lead", title="The lead that the quadratic part of the activation adds, per A2",
         provenance="derived", reference=_WHERE, regime=_REGIME, limits="tau (1 + 2 tau)/(V L^4) at V >> L^2")
def quadratic_lead(V: Any, L: Any, d: Any, e: Any, tau: Any, kappa: Any) -> Any:
    """c tau/V [(1 + 2 e tau + (2 kappa - 1 + 4 e (1 + tau))/d + ...)/L^4 + ...]: see the derivation."""
    c = 1 - 1 / L
    drawn = (2 * kappa - 1 + 4 * e * (1 + tau)) / d + 4 * e * kappa / d**2
    of_norms = (kappa + 3 * e * tau) / d + 4 * e * kappa / d**2  # a sample's mean of phi goes with its norm
    m2 = wishart(2, V, d, kappa)
    echo = e * (1 - 2 / L) * (1 + 2 * m2 / d) / (d * L**3)
    embedded = (1 + 2 / d) / (V * L**2)  # through the mean embedding
    return c * tau / V * ((1 + 2 * e * tau + drawn + of_norms) / L**4 + embedded + echo)


@formula("mlp.attention.lead", title="The lead T of the informative token, its mean over seeds and weights",
         provenance="derived", reference=_WHERE, regime=_REGIME,
         limits="A times the Attention-only lead where A2 = 0 and h1 = A")
def lead(V: Any, L: Any, d: Any, N: Any, e: Any, tau: Any, b0: Any, kappa: Any, A: Any, A2: Any, h1: Any) -> Any:
    """A T_stored + h1 T_self + A2 T_quadratic."""
    own = self_lead(V, L, d, N, e, tau, b0)
    stored = at.lead(V, L, d, N, e, tau, b0) - own
    return A * stored + h1 * own + A2 * quadratic_lead(V, L, d, e, tau, kappa)


# --- the covariance of the keys fluctuates ---------------------------------------------------------
# For a fixed matrix M, V[M] = E dC M dC with dC the fluctuation of C_i over samples, or of C^k over facts.
# Each function gives the pair (tr S V, z_trig'V z_trig): what a token sees and what the trigger sees.

def _walks(V: Any, d: Any, e: Any, tau: Any, kappa: Any, p: int) -> tuple[Any, Any, Any, Any]:
    """The two pieces of V[S^p]: S M S + S tr S M, and z z' tr S M + e (S z'M z + S M z z' + z z'M S)."""
    m = [1, *(at.wishart(k, V, d, kappa) for k in (1, 2, 3, 4))]
    trace, own = m[p + 1] / d**p, tau * m[p] / d**p  # tr S M, z'M z
    tokens = m[p + 3] / d**(p + 2) + m[2] / d * trace
    tokens_seen = tau * (m[p + 2] / d**(p + 2) + m[1] / d * trace)
    turned = tau * m[1] / d * trace + e * (m[2] / d * own + 2 * tau * m[p + 2] / d**(p + 2))
    turned_seen = tau**2 * trace + e * (tau * m[1] / d * own + 2 * tau**2 * m[p + 1] / d**(p + 1))
    return tokens, tokens_seen, turned, turned_seen


def over_samples(V: Any, L: Any, d: Any, e: Any, tau: Any, kappa: Any, power: int) -> tuple[Any, Any]:
    """V[S^power] over samples: (c^2/(L-1)) of the tokens' piece and c/L^2 of the trigger's."""
    c = 1 - 1 / L
    tokens, tokens_seen, turned, turned_seen = _walks(V, d, e, tau, kappa, power)
    return c / L * tokens + c / L**2 * turned, c / L * tokens_seen + c / L**2 * turned_seen


def over_facts(V: Any, L: Any, d: Any, e: Any, tau: Any, kappa: Any, power: int) -> tuple[Any, Any]:
    """V[S^power] over facts: (c/L)^2 of both pieces."""
    c = 1 - 1 / L
    tokens, tokens_seen, turned, turned_seen = _walks(V, d, e, tau, kappa, power)
    return (c / L)**2 * (tokens + turned), (c / L)**2 * (tokens_seen + turned_seen)


def mean_squared(V: Any, L: Any, d: Any, e: Any, tau: Any, kappa: Any) -> tuple[Any, Any]:
    """The pair for Cbar^2, Cbar = c (S + e z_trig z_trig'/L) the mean covariance of keys and values."""
    c = 1 - 1 / L
    m2, m3 = at.wishart(2, V, d, kappa), at.wishart(3, V, d, kappa)
    token = m3 / d**2 + e * (2 * tau * m2 / (d**2 * L) + tau**2 / (L**2 * d))
    return c**2 * token, c**2 * (tau * m2 / d**2 + e * (2 * tau**2 / (d * L) + tau**3 / L**2))


# --- the noise of the MLP ---------------------------------------------------------------------------

def label_weight(V: Any, d: Any, N: Any) -> Any:
    """w0 = 1/d + 1/V + 1/N: two samples' labels pull on each other by the outputs' overlap or by being equal."""
    return 1 / d + 1 / V + 1 / N


@formula("mlp.attention.variance.mlp_mean", title="MLP noise: the finite width turns what all samples share, "
         "the mean of phi phi', into a random direction W'1/m", provenance="derived", reference=_WHERE,
         regime=_REGIME, limits="0 as m -> infinity or N -> infinity")
def mlp_mean(V: Any, L: Any, d: Any, N: Any, m: Any, e: Any, tau: Any, b0: Any, kappa: Any, h0: Any,
             h1: Any, h2: Any, h3: Any, h4: Any, h5: Any) -> Any:
    """[c^2 + 4 c c' m_4/(m_3 d) + 2 (c'^2 + c c'') m_2/d + (b0/N)^2 (h1^2 eta + h2^2 eta^2/2)]/m tr S Cbar^2, with
    c = b0 h0/N + h3/(V L^2), its derivatives by a neuron's relative input power, and eta = e tau/L^2 + 1/V."""
    return (_mean_square(V, L, d, N, m, e, tau, b0, kappa, h0, h1, h2, h3, h4, h5)
            * mean_squared(V, L, d, e, tau, kappa)[0])


def _mean_square(V: Any, L: Any, d: Any, N: Any, m: Any, e: Any, tau: Any, b0: Any, kappa: Any, h0: Any, h1: Any,
                 h2: Any, h3: Any, h4: Any, h5: Any) -> Any:
    """Square of the coefficient of the random direction: each sample with itself, and facts with themselves (h3).

    A neuron's input power s w'S w differs from neuron to neuron, and is larger where its weights lie along the
    direction that is looked at.
    """
    eta, s = e * tau / L**2 + 1 / V, input_power(V, L, e)
    own, facts = b0 / N, 1 / (V * L**2)
    c = own * h0 + facts * h3
    first = own * s * h2 / 2 + facts * (h3 + s * h5)  # d h0/ds = h2/2, d h3/ds = h5
    second = own * s**2 * h4 / 4 + facts * 2 * s * h5
    along = 2 * wishart(4, V, d, kappa) / (wishart(3, V, d, kappa) * d)
    spread = 2 * wishart(2, V, d, kappa) / d
    return (c**2 + 2 * c * first * along + (first**2 + c * second) * spread
            + own**2 * (h1**2 * eta + h2**2 * eta**2 / 2)) / m


@formula("mlp.attention.variance.mlp_noise", title="MLP noise: samples are compared by m neurons instead of by "
         "the kernel", provenance="derived", reference=_WHERE, regime=_REGIME, limits="0 as m -> infinity")
def mlp_noise(V: Any, L: Any, d: Any, N: Any, m: Any, e: Any, tau: Any, kappa: Any, A: Any, A2: Any,
              P0: Any, P2: Any) -> Any:
    """(w0/m) {slopes: P2/N, A/V, A2/(V L^4)} {powers: P0/N, A/(V L^2), A2/(V L^4)}."""
    return _mlp_noise(V, L, d, N, m, e, tau, kappa, A, A2, P0, P2)[0]


def _mlp_noise(V: Any, L: Any, d: Any, N: Any, m: Any, e: Any, tau: Any, kappa: Any, A: Any, A2: Any,
               P0: Any, P2: Any) -> tuple[Any, Any]:
    """The pair of the MLP noise."""
    c = 1 - 1 / L
    shared = mean_squared(V, L, d, e, tau, kappa)
    samples = over_samples(V, L, d, e, tau, kappa, 0)
    facts = over_facts(V, L, d, e, tau, kappa, 0)
    along, across = 4 * e * tau + 2, e * (3 * tau**2 + 4 * tau)
    curved = A2 * c**2 / (L**4 * V)
    tilt = (along * tau / d + across * at.wishart(2, V, d, kappa) / d,
            along * tau**2 + across * tau / d)
    power = P0 / N + A / (V * L**2) + A2 * along / (4 * L**4 * V)
    scale = label_weight(V, d, N) / m * power
    token, trigger = (scale * (P2 / N * (shared[i] + samples[i]) + A / V * facts[i] + curved * tilt[i])
                      for i in (0, 1))
    return token, trigger


def norm_tilt(V: Any, L: Any, d: Any, N: Any, tau: Any, A: Any, B: Any) -> Any:
    """Variance of the lead through norms: a fact's own |x|^2 and x.z_trig tilt phi' by B/L^2."""
    c = 1 - 1 / L
    return label_weight(V, d, N) / (N * V) * (c * tau)**2 * (
        (4 * (A + B)**2 - 4 * A**2) * tau / d + 2 * B**2 / d) / L**4


# --- all of step two ----------------------------------------------------------------------------------

def attention_parts(V: Any, L: Any, d: Any, N: Any, m: Any, e: Any, tau: Any, b0: Any, kappa: Any,
                    k: Any) -> dict[str, tuple[Any, Any]]:
    """By cause, the variance of a token's score and that of the lead over seeds; k holds A, B, ..., P2.

    The overlap of a token with the stored trigger is not among them: it follows from the lead.
    """
    c = 1 - 1 / L
    lam = N / V
    eta = e * tau / L**2 + 1 / V
    w0 = label_weight(V, d, N)
    AB, A, A2 = k.A + k.B, k.A, k.A2
    m2, m3 = at.wishart(2, V, d, kappa), at.wishart(3, V, d, kappa)
    seen = at.lead_variance_parts(V, L, d, N, e, tau, b0, kappa)
    # squares of the coefficients with which a sample's covariance is weighted (beyond A^2, in `at`)
    Ae, Be = A + A2 * eta, k.B + A2 / (L * d)
    pair = Ae**2 + A2**2 * (2 * eta + 1 / L) / (L * d)
    fact = Ae**2 + A2**2 * (2 * eta + 1 / L**2) / (L * d)
    S_samples = over_samples(V, L, d, e, tau, kappa, 1)
    S_facts = over_facts(V, L, d, e, tau, kappa, 1)
    W, W2 = at.pull_of_noise(V, d, N, b0), at.pull_of_facts(V, d, N, b0)
    labels = c**2 / (N * L) * W * (e * tau / (L**2 * d) + c**2 / (V * d))
    norms = (k.h1**2 - A**2) * kappa * 2 * V * m2 / d**2 * at.self_pull(V, L, N)**2
    extra_samples = [
        w0 / N**2 * (pair - A**2 + Be**2) * S_samples[i] / L + w0 / (N * V) * (fact - A**2) * S_samples[i] / L**2
        for i in (0, 1)]
    own_labels = (AB**2 - A**2) * m2 * (c / L)**2 / (V * d) * (1 + e * tau) * W2 * c**2 / d
    extra_facts = [w0 / (N * V) * (pair - A**2) * S_facts[i] / L + w0 / V**2 * (Ae**2 - A**2) * S_facts[i] / L**2
                   for i in (0, 1)]
    curved = w0 / V**2 * (Ae**2 - A**2) * c**2 / L**4 * m2 / d  # along z_trig: on the lead alone
    quadratic = A2 * quadratic_lead(V, L, d, e, tau, kappa)
    counts = (4 / lam + 6 / lam**2 + 1 / lam**3) / V * (quadratic**2 + 2 * quadratic * A * c * tau / (V * L**2))
    echo = e * c**2 * b0 * (1 - 1 / V) / (N * L) * k.h1
    g_t = lead(V, L, d, N, e, tau, b0, kappa, A, A2, k.h1) / tau
    noise, noise_seen = _mlp_noise(V, L, d, N, m, e, tau, kappa, A, A2, k.P0, k.P2)
    mean = _mean_square(V, L, d, N, m, e, tau, b0, kappa, k.h0, k.h1, k.h2, k.h3, k.h4, k.h5)
    shared = mean_squared(V, L, d, e, tau, kappa)
    signal = 8 * tau**2 * (A2 * c / (V * L**4))**2 / m
    few = 1 - 1 / m  # pairs of different neurons
    return {
        "mean bias: mean embedding": (k.h1**2 * at.mean_embedding(V, L, d, N, b0, kappa),
                                      k.h1**2 * seen["mean embedding"]),
        "mean bias: trigger echo": (tau / d * (2 * g_t * echo * (m2 - 1) / d
                                               + echo**2 * (m3 - 2 * m2 + 1) / d**2), 0 * tau),
        "gradient noise: noise tokens": (few * AB**2 * at.noise_tokens(V, L, d, N, e, tau, b0, kappa),
                                         few * AB**2 * seen["noise tokens"]),
        "gradient noise: informative tokens": (
            few * AB**2 * at.informative_tokens(V, L, d, N, e, tau, b0, kappa),
            few * AB**2 * seen["informative tokens"]),
        "gradient noise: sequence sampling": (
            few * (A**2 * at.sequence_sampling(V, L, d, N, e, tau, b0, kappa) + extra_samples[0]
                   + (AB**2 - A**2) * m2 / d * labels) + norms,
            few * (A**2 * seen["sequence sampling"] + extra_samples[1] + (AB**2 - A**2) * tau / d * labels)),
        "interference: class covariance": (
            few * (A**2 * at.class_covariance(V, L, d, N, e, tau, b0, kappa) + extra_facts[0] + own_labels),
            few * (A**2 * (seen["class covariance"] + seen["stored trigger"]) + extra_facts[1]
                   + tau * own_labels + tau**2 * curved + counts + norm_tilt(V, L, d, N, tau, A, k.B))),
        "MLP noise: mean": (mean * shared[0], mean * shared[1]),
        "MLP noise: neurons": (noise, noise_seen + tau**2 * signal),
    }


# --- leading laws --------------------------------------------------------------------------------------

def _law(name: str, title: str, limits: str = "") -> Callable[[Function], Function]:
    return formula(f"mlp.law.attention.{name}", title=title, provenance="derived", reference=_WHERE,
                   regime="leading order: d << V, L << V, tau = 1, all but the named term negligible",
                   limits=limits)


@_law("mean_bias", "N^2 d^3 that the mean embedding asks for")
def law_mean_bias(V: Any, L: Any, A: Any, h1: Any) -> Any:
    """N^2 d^3 = 2 ln L (h1/A)^2 V L^4."""
    return 2 * log(L) * (h1 / A)**2 * V * L**4


@_law("gradient_noise", "N^2 d^4 that the noise tokens ask for")
def law_gradient_noise(V: Any, L: Any, A: Any, B: Any) -> Any:
    """N^2 d^4 = 2 ln L (1 + B/A)^2 V^2 L^3."""
    return 2 * log(L) * (1 + B / A)**2 * V**2 * L**3


@_law("mlp_mean", "m N^2 d^2 that the mean of phi phi' asks for at finite width")
def law_mlp_mean(V: Any, L: Any, A: Any, h0: Any) -> Any:
    """m N^2 d^2 = 2 ln L (h0/A)^2 V^2 L^4."""
    return 2 * log(L) * (h0 / A)**2 * V**2 * L**4


@_law("mlp_noise", "m N^2 d^2 that the neurons' noise asks for at finite width")
def law_mlp_noise(V: Any, L: Any, d: Any, A: Any, P0: Any, P2: Any) -> Any:
    """m N^2 d^2 = 2 ln L (P0 P2/A^2) V^2 L^4 (1/L + 1/d); P0 ~ s ~ 1/L for an odd activation."""
    return 2 * log(L) * P0 * P2 / A**2 * V**2 * L**4 * (1 / L + 1 / d)


def _recall_law(name: str, title: str, limits: str = "") -> Callable[[Law], Law]:
    return formula(f"mlp.law.recall.{name}", title=title, provenance="derived", reference=_WHERE,
                   regime="leading order: attention right, almost all facts, d << V, all but the named term negligible",
                   limits=limits)


@_recall_law("interference", "d^2 that the kernel's interference asks for", limits="2 (1 + tau) V ln V for identity")
def law_recall_interference(V: Any, k1: Any, k0: Any, kv: Any) -> Any:
    """d^2 = 2 V ln V k_v/(k_1 - k_0)^2."""
    return 2 * V * log(V) * kv / (k1 - k0)**2


@_recall_law("mlp_noise", "m d that the neurons' noise asks for")
def law_recall_mlp_noise(V: Any, k1: Any, k0: Any, kz: Any) -> Any:
    """m d = 2 V ln V k_z/(k_1 - k_0)^2."""
    return 2 * V * log(V) * kz / (k1 - k0)**2


@_recall_law("mean_bias", "N d that what all values share asks for", limits="2 tau^2 V^2 ln V for identity")
def law_recall_mean_bias(V: Any, k1: Any, k0: Any) -> Any:
    """N d = 2 V^2 ln V k_0^2/(k_1 - k_0)^2."""
    return 2 * V**2 * log(V) * k0**2 / (k1 - k0)**2
