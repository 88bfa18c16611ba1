"""The leading laws: what N, d, L must reach for attention and recall, with their constants.

Each is where one noise term alone equals the signal's margin over the best of the competitors, signal^2 =
2 ln(competitors) * noise^2, to leading order in large V, L, d, N with d << V. They say how sizes trade
against one another; `predict` says how much is recalled.
"""

from __future__ import annotations

import functools

from .generic import Real, lambert_w, log, sqrt
from .registry import formula

_attention = functools.partial(formula, reference="docs/derivations/seed.md", regime="V, L, d, N large, d << V, N >> V")
_recall = functools.partial(formula, reference="docs/derivations/recall.md")


@_attention("law.attention.trigger_overlap", "Least d: a token's overlap with the trigger", regime="any N; tau = 1",
            limits="the only condition left as N -> infinity")
def attention_dimension(L: Real) -> Real:
    """d = 2 ln L."""
    return 2 * log(L)


@_attention("law.attention.mean_embedding",
            "Least N: the mean embedding of a finite vocabulary is stored by the label frequencies' noise")
def attention_mean_embedding(V: Real, L: Real, d: Real) -> Real:
    """N^2 d^3 = 2 V L^4 ln L, solved for N."""
    return sqrt(2 * V * L**4 * log(L) / d**3)


@_attention("law.attention.noise_tokens",
            "Least N: noise tokens stored by the correlation of outputs with the label frequencies' noise")
def attention_noise_tokens(V: Real, L: Real, d: Real) -> Real:
    """N^2 d^4 = 2 V^2 L^3 ln L, solved for N."""
    return sqrt(2 * V**2 * L**3 * log(L) / d**4)


@_attention("law.attention.informative_tokens", "Least N: informative tokens stored by the same correlation")
def attention_informative_tokens(V: Real, L: Real, d: Real) -> Real:
    """N d^4 = 2 V L^2 ln L, solved for N."""
    return 2 * V * L**2 * log(L) / d**4


@_recall("law.recall.interference", "Largest V: stored pairs overlap, d^2 = 2 (1 + e tau) V ln V",
         regime="attention right, N >> V ln V", limits="e = 0 is the optimal linear memory's d^2 = 2 V ln V")
def recall_interference(d: Real, e: Real, tau: Real) -> Real:
    """V = exp W(d^2 / (2 (1 + e tau))), W the Lambert function."""
    x = d**2 / (2 * (1 + e * tau))
    return x / lambert_w(x)


@_recall("law.recall.mean_bias", "Least N: label frequencies' noise carried by the trigger that all values share",
         regime="attention right, V large, trigger in the values")
def recall_mean_bias(V: Real, d: Real, tau: Real) -> Real:
    """N d = 2 tau^2 V^2 ln V, solved for N."""
    return 2 * tau**2 * V**2 * log(V) / d


@_recall("law.recall.coverage", "Least N: every fact must occur", regime="V large",
         limits="V ln V samples leave about one fact unseen")
def recall_coverage(V: Real) -> Real:
    """N = V ln V."""
    return V * log(V)


# --- with an MLP: what sizes must reach, for the moments of `step_two.StepTwo` and of the kernel in step three -------

_mlp_attention = functools.partial(
    _attention, regime="leading order: d << V, L << V, tau = 1, all but the named term negligible")
_mlp_recall = functools.partial(
    _recall, regime="leading order: attention right, almost all facts, d << V, all but the named term negligible")


@_mlp_attention("mlp.law.attention.mean_bias", "N^2 d^3 that the mean embedding asks for")
def law_mean_bias(V: Real, L: Real, A: Real, h1: Real) -> Real:
    """N^2 d^3 = 2 ln L (h1/A)^2 V L^4."""
    return 2 * log(L) * (h1 / A)**2 * V * L**4


@_mlp_attention("mlp.law.attention.gradient_noise", "N^2 d^4 that the noise tokens ask for")
def law_gradient_noise(V: Real, L: Real, A: Real, B: Real) -> Real:
    """N^2 d^4 = 2 ln L (1 + B/A)^2 V^2 L^3."""
    return 2 * log(L) * (1 + B / A)**2 * V**2 * L**3


@_mlp_attention("mlp.law.attention.mlp_mean", "m N^2 d^2 that the mean of phi phi' asks for at finite width")
def law_mlp_mean(V: Real, L: Real, A: Real, h0: Real) -> Real:
    """m N^2 d^2 = 2 ln L (h0/A)^2 V^2 L^4."""
    return 2 * log(L) * (h0 / A)**2 * V**2 * L**4


@_mlp_attention("mlp.law.attention.mlp_noise", "m N^2 d^2 that the neurons' noise asks for at finite width")
def law_mlp_noise(V: Real, L: Real, d: Real, A: Real, P0: Real, P2: Real) -> Real:
    """m N^2 d^2 = 2 ln L (P0 P2/A^2) V^2 L^4 (1/L + 1/d); P0 ~ s ~ 1/L for an odd activation."""
    return 2 * log(L) * P0 * P2 / A**2 * V**2 * L**4 * (1 / L + 1 / d)


@_mlp_recall("mlp.law.recall.interference", "d^2 that the kernel's interference asks for",
             limits="2 (1 + tau) V ln V for identity")
def law_recall_interference(V: Real, k1: Real, k0: Real, kv: Real) -> Real:
    """d^2 = 2 V ln V k_v/(k_1 - k_0)^2."""
    return 2 * V * log(V) * kv / (k1 - k0)**2


@_mlp_recall("mlp.law.recall.mlp_noise", "m d that the neurons' noise asks for")
def law_recall_mlp_noise(V: Real, k1: Real, k0: Real, kz: Real) -> Real:
    """m d = 2 V ln V k_z/(k_1 - k_0)^2."""
    return 2 * V * log(V) * kz / (k1 - k0)**2


@_mlp_recall("mlp.law.recall.mean_bias", "N d that what all values share asks for",
             limits="2 tau^2 V^2 ln V for identity")
def law_recall_mean_bias(V: Real, k1: Real, k0: Real) -> Real:
    """N d = 2 V^2 ln V k_0^2/(k_1 - k_0)^2."""
    return 2 * V**2 * log(V) * k0**2 / (k1 - k0)**2
