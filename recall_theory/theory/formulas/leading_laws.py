"""The leading laws: what N, d, L must reach for attention and recall, with their constants.

Each is where one noise term alone equals the signal's margin over the best of the competitors, signal^2 =
2 ln(competitors) * noise^2, to leading order in large V, L, d, N with d << V. They say how sizes trade
against one another; `predict` says how much is recalled.
"""

from __future__ import annotations

from typing import Any

from .generic import lambert_w, log, sqrt
from .registry import formula

_ATTENTION = "docs/derivations/seed.md"
_RECALL = "docs/derivations/recall.md"
_LARGE = "V, L, d, N large, d << V, N >> V"


@formula("law.attention.trigger_overlap", title="Least d: a token's overlap with the trigger",
         provenance="derived", reference=_ATTENTION, regime="any N; tau = 1",
         limits="the only condition left as N -> infinity")
def attention_dimension(L: Any) -> Any:
    """d = 2 ln L."""
    return 2 * log(L)


@formula("law.attention.mean_embedding", title="Least N: the mean embedding of a finite vocabulary "
         "is stored by the label frequencies' noise", provenance="derived", reference=_ATTENTION,
         regime=_LARGE)
def attention_mean_embedding(V: Any, L: Any, d: Any) -> Any:
    """N^2 d^3 = 2 V L^4 ln L, solved for N."""
    return sqrt(2 * V * L**4 * log(L) / d**3)


@formula("law.attention.noise_tokens", title="Least N: noise tokens stored by the correlation of "
         "outputs with the label frequencies' noise", provenance="derived", reference=_ATTENTION,
         regime=_LARGE)
def attention_noise_tokens(V: Any, L: Any, d: Any) -> Any:
    """N^2 d^4 = 2 V^2 L^3 ln L, solved for N."""
    return sqrt(2 * V**2 * L**3 * log(L) / d**4)


@formula("law.attention.informative_tokens", title="Least N: informative tokens stored by the same "
         "correlation", provenance="derived", reference=_ATTENTION, regime=_LARGE)
def attention_informative_tokens(V: Any, L: Any, d: Any) -> Any:
    """N d^4 = 2 V L^2 ln L, solved for N."""
    return 2 * V * L**2 * log(L) / d**4


@formula("law.recall.interference", title="Largest V: stored pairs overlap, d^2 = 2 (1 + e tau) V ln V",
         provenance="derived", reference=_RECALL, regime="attention right, N >> V ln V",
         limits="e = 0 is the optimal linear memory's d^2 = 2 V ln V")
def recall_interference(d: Any, e: Any, tau: Any) -> Any:
    """V = exp W(d^2 / (2 (1 + e tau))), W the Lambert function."""
    x = d**2 / (2 * (1 + e * tau))
    return x / lambert_w(x)


@formula("law.recall.mean_bias", title="Least N: label frequencies' noise carried by the trigger "
         "that all values share", provenance="derived", reference=_RECALL,
         regime="attention right, V large, trigger in the values")
def recall_mean_bias(V: Any, d: Any, tau: Any) -> Any:
    """N d = 2 tau^2 V^2 ln V, solved for N."""
    return 2 * tau**2 * V**2 * log(V) / d


@formula("law.recall.coverage", title="Least N: every fact must occur", provenance="derived",
         reference=_RECALL, regime="V large",
         limits="V ln V samples leave about one fact unseen")
def recall_coverage(V: Any) -> Any:
    """N = V ln V."""
    return V * log(V)
