"""The leading laws of the other memories, each with its source. Natural logarithms throughout."""

from __future__ import annotations

from typing import Any

from .generic import erfc, exp, lambert_w, pi, sqrt
from .registry import formula

_HEBBIAN = "docs/derivations/hebbian.md"
_ZIPF = "docs/derivations/zipf.md"
_BARNFIELD = ("Barnfield, Kim, Nichani, Lee, Lu, Sharp Capacity Thresholds in Linear Associative Memory, "
              "arXiv:2605.05189")
_GIORLANDINO = "Giorlandino, Goldt, Maillard, Factual recall in linear associative memories, arXiv:2605.10795"
_NICHANI = ("Nichani, Lee, Bietti, Understanding Factual Recall in Transformers via Associative Memories, "
            "arXiv:2412.06538")
_CABANNES = "Cabannes, Dohmatob, Bietti, Scaling Laws for Associative Memories, arXiv:2310.02984"
_OWN = "an output a fact, a random bijection, random embeddings, n large"


def _solved(x: Any) -> Any:
    """n with n ln n = x."""
    return x / lambert_w(x)


@formula("memory.hebbian.most", title="Facts of a Hebbian memory, almost all of them right: d^2 = 2 n ln n",
         provenance="derived", reference=_HEBBIAN, regime=_OWN,
         limits="leading order; `hebbian_recall` is the law at finite size")
def hebbian_most(d: Any) -> Any:
    """n = exp W(d^2 / 2)."""
    return _solved(d**2 / 2)


@formula("memory.hebbian.all", title="Facts of a Hebbian memory, every one of them right: d^2 = 8 n ln n",
         provenance="derived", reference=_HEBBIAN, regime=_OWN, limits="a quarter of d^2 of `memory.hebbian.most`")
def hebbian_all(d: Any) -> Any:
    """n = exp W(d^2 / 8)."""
    return _solved(d**2 / 8)


@formula("memory.hebbian.noise", title="(noise/signal)^2 of a Hebbian memory, stored pairs and two outputs' overlap",
         provenance="derived", reference=_HEBBIAN, regime="n and d large; the lead's own fluctuation is left out",
         limits="n/d^2 for n >> d")
def hebbian_noise(n: Any, d: Any) -> Any:
    """n/d^2 + 2/d."""
    return n / d**2 + 2 / d


@formula("memory.rank.most", title="Facts of a Hebbian memory of rank r, almost all right: d r = 2 n ln n",
         provenance="derived", reference=_HEBBIAN, regime=_OWN + "; the outputs are projected onto r random dimensions",
         limits="`memory.hebbian.most` at r = d")
def rank_most(d: Any, rank: Any) -> Any:
    """n = exp W(d r / 2)."""
    return _solved(d * rank / 2)


@formula("memory.orthogonal", title="Facts of a Hebbian memory with orthonormal embeddings: one a dimension",
         provenance="derived", reference=_HEBBIAN, regime="orthonormal keys and outputs; exact, every fact is right")
def orthogonal(d: Any) -> Any:
    """n = d."""
    return d


@formula("memory.linear.best", title="Facts of the best linear memory: d^2 = 2 n ln n", provenance="kin",
         reference=f"{_GIORLANDINO}; conjectured in {_BARNFIELD}", regime=_OWN + "; all facts right",
         limits="the load `memory.linear.load` with the largest of n - 1 competitors")
def linear_best(d: Any) -> Any:
    """n = exp W(d^2 / 2)."""
    return _solved(d**2 / 2)


@formula("memory.linear.load", title="Greatest load n/d^2 at which facts lead the average of their strongest rivals",
         provenance="kin", reference=_BARNFIELD, unit="facts per parameter",
         regime="n and d to infinity at fixed load and share r = Pr(G > u) of the competitors, G a standard normal",
         limits="2 at r = 1 (u to -infinity); 1/(2 ln n) at r = 1/(n - 1)")
def linear_load(u: Any) -> Any:
    """1/E[(kappa - G)_+^2], kappa = phi(u)/Pr(G > u) the mean of the strongest share.

    E[(kappa - G)_+^2] = (1 + kappa^2) Phi(kappa) + kappa phi(kappa).
    """
    density = sqrt(2 / pi(u))
    kappa = density * exp(-(u**2) / 2) / erfc(u / sqrt(u * 0 + 2))
    below = erfc(-kappa / sqrt(u * 0 + 2)) / 2
    return 1 / ((1 + kappa**2) * below + kappa * density * exp(-(kappa**2) / 2) / 2)


@formula("memory.linear.trained", title="Facts of a trained linear memory, as fitted: d^2 = 1.3 n ln n",
         provenance="kin", reference=_NICHANI, regime="their experiments; a fit by eye, not a theorem")
def linear_trained(d: Any) -> Any:
    """n = exp W(10 d^2 / 13)."""
    return _solved(10 * d**2 / 13)


@formula("memory.mlp.trained", title="Facts of a trained MLP memory, as fitted: m d = 0.35 n ln n",
         provenance="kin", reference=_NICHANI, regime="their experiments; a fit by eye, not a theorem")
def mlp_trained(d: Any, m: Any) -> Any:
    """n = exp W(20 m d / 7)."""
    return _solved(20 * m * d / 7)


@formula("memory.zipf.threshold.classes",
         title="Exponent of d in a thresholded memory's error, outputs shared by classes", provenance="kin",
         reference=_CABANNES, regime="facts of frequency x^-alpha, a fixed number of outputs, up to logarithms",
         limits="error ~ d^-(alpha - 1)")
def zipf_threshold_classes(alpha: Any) -> Any:
    """alpha - 1."""
    return alpha - 1


@formula("memory.zipf.threshold", title="Exponent of d in a thresholded memory's error, an output a fact",
         provenance="derived", reference=_ZIPF, regime="facts of frequency x^-alpha, up to logarithms",
         limits="twice the exponent with a fixed number of outputs")
def zipf_threshold(alpha: Any) -> Any:
    """2 (alpha - 1)."""
    return 2 * (alpha - 1)


@formula("memory.zipf.power", title="Exponent of d in the error of a memory with weights p^rho",
         provenance="derived", reference=_ZIPF,
         regime="facts of frequency x^-alpha, rho > 1/(2 alpha); with an output a fact and with a fixed number of them",
         limits="(alpha - 1)/(2 alpha) at rho = 1")
def zipf_power(alpha: Any, rho: Any) -> Any:
    """(alpha - 1)/(2 alpha rho)."""
    return (alpha - 1) / (2 * alpha * rho)


@formula("memory.zipf.samples", title="Exponent of T in the frequency of facts that T samples leave unseen",
         provenance="kin", reference=_CABANNES, regime="facts of frequency x^-alpha, infinitely many",
         limits="unseen ~ T^-(1 - 1/alpha)")
def zipf_samples(alpha: Any) -> Any:
    """1 - 1/alpha."""
    return 1 - 1 / alpha
