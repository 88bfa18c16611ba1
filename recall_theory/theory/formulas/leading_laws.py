"""The leading laws: what N, d, L must reach for attention and recall, with their constants.

Each is where one noise term alone equals the signal's margin over the best of the competitors, signal^2 =
2 ln(competitors) * noise^2, to leading order in large V, L, d, N with d << V. They say how sizes trade
against one another; `predict` says how much is recalled.

Without an MLP a law is its equation, solved for one size. With an MLP it is the right side of its equation, of the
moments of `step_two.StepTwo` and of the kernel in step three.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable

from .generic import log, solved, sqrt
from .registry import Law, formula


@dataclasses.dataclass(frozen=True)
class Stated:
    """A law for readers: the size that it requires something of, its `equation`, and the step and cause of the noise;
    `function` is the one on record.

    The equation has tau = 1, as embeddings have on average, and {c} for 2 (1 + e).
    """

    size: str
    equation: str
    cause: str
    function: Law


STATED: dict[str, Stated] = {}  # by the law's name


def _law(name: str, size: str, equation: str, title: str, *, cause: str = "", regime: str,
         limits: str = "") -> Callable[[Law], Law]:
    """Register a law, and what readers are told of it."""
    step = name.split(".")[-2]
    page = {"attention": "seed", "recall": "recall"}[step]

    def register(function: Law) -> Law:
        STATED[name] = Stated(size, equation, f"{step}: {cause}", function)
        return formula(name, title, reference=f"docs/derivations/{page}.md", regime=regime, limits=limits)(function)

    return register


_attention = functools.partial(_law, regime="V, L, d, N large, d << V, N >> V")
_mlp_attention = functools.partial(
    _law, regime="leading order: d << V, L << V, tau = 1, all but the named term negligible")
_mlp_recall = functools.partial(
    _law, regime="leading order: attention right, almost all facts, d << V, all but the named term negligible")

attention_dimension = _law(
    "law.attention.trigger_overlap", "d", "d = 2 ln L", "Least d: a token's overlap with the trigger",
    cause="a token's overlap with the trigger", regime="any N; tau = 1",
    limits="the only condition left as N -> infinity")(lambda L: 2 * log(L))

attention_mean_embedding = _attention(
    "law.attention.mean_embedding", "N", "N^2 d^3 = 2 V L^4 ln L",
    "Least N: the mean embedding of a finite vocabulary is stored by the label frequencies' noise",
    cause="label frequencies stored with the mean embedding")(lambda V, L, d: sqrt(2 * V * L**4 * log(L) / d**3))

attention_noise_tokens = _attention(
    "law.attention.noise_tokens", "N", "N^2 d^4 = 2 V^2 L^3 ln L",
    "Least N: noise tokens stored by the correlation of outputs with the label frequencies' noise",
    cause="label frequencies stored with the noise tokens")(lambda V, L, d: sqrt(2 * V**2 * L**3 * log(L) / d**4))

attention_informative_tokens = _attention(
    "law.attention.informative_tokens", "N", "N d^4 = 2 V L^2 ln L",
    "Least N: informative tokens stored by the same correlation",
    cause="label frequencies stored with the informative tokens")(lambda V, L, d: 2 * V * L**2 * log(L) / d**4)


recall_interference = _law(
    "law.recall.interference", "V", "d^2 = {c} V ln V", "Largest V: stored pairs overlap, d^2 = 2 (1 + e tau) V ln V",
    cause="interference of the stored pairs", regime="attention right, N >> V ln V",
    limits="e = 0 is the optimal linear memory's d^2 = 2 V ln V"
)(lambda d, e, tau: solved(d**2 / (2 * (1 + e * tau))))

recall_mean_bias = _law(
    "law.recall.mean_bias", "N", "N d = 2 V^2 ln V",
    "Least N: label frequencies' noise carried by the trigger that all values share",
    cause="label frequencies carried by the trigger", regime="attention right, V large, trigger in the values",
)(lambda V, d, tau: 2 * tau**2 * V**2 * log(V) / d)

recall_coverage = _law(
    "law.recall.coverage", "N", "N = V ln V", "Least N: every fact must occur", cause="every fact must occur",
    regime="V large", limits="V ln V samples leave about one fact unseen")(lambda V: V * log(V))

law_mean_bias = _mlp_attention(
    "mlp.law.attention.mean_bias", "N", "N^2 d^3 = 2 V L^4 ln L (h_1/A)^2", "N^2 d^3 that the mean embedding asks for",
    cause="label frequencies stored with the mean embedding",
)(lambda V, L, A, h1: 2 * log(L) * (h1 / A)**2 * V * L**4)

law_gradient_noise = _mlp_attention(
    "mlp.law.attention.gradient_noise", "N", "N^2 d^4 = 2 V^2 L^3 ln L (1 + B/A)^2",
    "N^2 d^4 that the noise tokens ask for", cause="label frequencies stored with the noise tokens",
)(lambda V, L, A, B: 2 * log(L) * (1 + B / A)**2 * V**2 * L**3)

law_mlp_mean = _mlp_attention(
    "mlp.law.attention.mlp_mean", "m", "m N^2 d^2 = 2 V^2 L^4 ln L (h_0/A)^2",
    "m N^2 d^2 that the mean of phi phi' asks for at finite width", cause="the mean of phi phi' at finite width",
)(lambda V, L, A, h0: 2 * log(L) * (h0 / A)**2 * V**2 * L**4)


law_mlp_noise = _mlp_attention(
    "mlp.law.attention.mlp_noise", "m", "m N^2 d^2 = 2 V^2 L^4 ln L (1/L + 1/d) P_0 P_2/A^2",
    "m N^2 d^2 that the neurons' noise asks for at finite width", cause="the neurons' noise",
)(lambda V, L, d, A, P0, P2: 2 * log(L) * P0 * P2 / A**2 * V**2 * L**4 * (1 / L + 1 / d))

law_recall_interference = _mlp_recall(
    "mlp.law.recall.interference", "d", "d^2 = 2 V ln V k_v/(k_1 - k_0)^2",
    "d^2 that the kernel's interference asks for", cause="interference of the kernel",
    limits="2 (1 + tau) V ln V for identity")(lambda V, k1, k0, kv: 2 * V * log(V) * kv / (k1 - k0)**2)

law_recall_mlp_noise = _mlp_recall(
    "mlp.law.recall.mlp_noise", "m", "m d = 2 V ln V k_z/(k_1 - k_0)^2", "m d that the neurons' noise asks for",
    cause="the neurons' noise")(lambda V, k1, k0, kz: 2 * V * log(V) * kz / (k1 - k0)**2)

law_recall_mean_bias = _mlp_recall(
    "mlp.law.recall.mean_bias", "N", "N d = 2 V^2 ln V k_0^2/(k_1 - k_0)^2",
    "N d that what all values share asks for", cause="label frequencies carried by what all values share",
    limits="2 tau^2 V^2 ln V for identity")(lambda V, k1, k0: 2 * V**2 * log(V) * k0**2 / (k1 - k0)**2)
