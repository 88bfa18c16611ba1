"""The leading laws of the other memories, each with its source. Natural logarithms throughout."""

from __future__ import annotations

import functools

from .generic import Real, erfc, exp, pi, solved, sqrt
from .registry import Row, formula

_HEBBIAN = "docs/derivations/hebbian.md"
_ZIPF = "docs/derivations/zipf.md"
_BARNFIELD = ("Barnfield, Kim, Nichani, Lee, Lu, Sharp Capacity Thresholds in Linear Associative Memory, "
              "arXiv:2605.05189")
_GIORLANDINO = "Giorlandino, Goldt, Maillard, Factual recall in linear associative memories, arXiv:2605.10795"
_NICHANI = ("Nichani, Lee, Bietti, Understanding Factual Recall in Transformers via Associative Memories, "
            "arXiv:2412.06538")
_CABANNES = "Cabannes, Dohmatob, Bietti, Scaling Laws for Associative Memories, arXiv:2310.02984"
_OWN = "an output a fact, a random bijection, random embeddings, n large"

_hebbian: Row = functools.partial(formula, reference=_HEBBIAN, regime=_OWN)
_zipf: Row = functools.partial(formula, reference=_ZIPF)
_infinite: Row = functools.partial(formula, provenance="kin", reference=_CABANNES)
_fit: Row = functools.partial(formula, provenance="kin", reference=_NICHANI,
                         regime="their experiments; a fit by eye, not a theorem")


hebbian_most = _hebbian(
    "memory.hebbian.most", "Facts of a Hebbian memory, almost all of them right: d^2 = 2 n ln n",
    limits="leading order; `hebbian_recall` is the law at finite size")(lambda d: solved(d**2 / 2))

hebbian_all = _hebbian(
    "memory.hebbian.all", "Facts of a Hebbian memory, every one of them right: d^2 = 8 n ln n",
    limits="a quarter of d^2 of `memory.hebbian.most`")(lambda d: solved(d**2 / 8))

hebbian_noise = _hebbian(
    "memory.hebbian.noise", "(noise/signal)^2 of a Hebbian memory, stored pairs and two outputs' overlap",
    regime="n and d large; the lead's own fluctuation is left out", limits="n/d^2 for n >> d"
)(lambda n, d: n / d**2 + 2 / d)

rank_most = _hebbian(
    "memory.rank.most", "Facts of a Hebbian memory of rank r, almost all right: d r = 2 n ln n",
    regime=_OWN + "; the outputs are projected onto r random dimensions", limits="`memory.hebbian.most` at r = d"
)(lambda d, rank: solved(d * rank / 2))

orthogonal = _hebbian(
    "memory.orthogonal", "Facts of a Hebbian memory with orthonormal embeddings: one a dimension",
    regime="orthonormal keys and outputs; exact, every fact is right")(lambda d: d)

linear_best = _infinite(
    "memory.linear.best", "Facts of the best linear memory: d^2 = 2 n ln n",
    reference=f"{_GIORLANDINO}; conjectured in {_BARNFIELD}", regime=_OWN + "; all facts right",
    limits="the load `memory.linear.load` with the largest of n - 1 competitors")(lambda d: solved(d**2 / 2))


@_infinite("memory.linear.load", "Greatest load n/d^2 at which facts lead the average of their strongest rivals",
           reference=_BARNFIELD,
           regime="n and d to infinity at fixed load and share r = Pr(G > u) of the competitors, G a standard normal",
           limits="2 at r = 1 (u to -infinity); 1/(2 ln n) at r = 1/(n - 1)", unit="facts per parameter")
def linear_load(u: Real) -> Real:
    """1/E[(kappa - G)_+^2], kappa = phi(u)/Pr(G > u) the mean of the strongest share.

    E[(kappa - G)_+^2] = (1 + kappa^2) Phi(kappa) + kappa phi(kappa).
    """
    density = sqrt(2 / pi(u))
    kappa = density * exp(-(u**2) / 2) / erfc(u / sqrt(u * 0 + 2))
    below = erfc(-kappa / sqrt(u * 0 + 2)) / 2
    return 1 / ((1 + kappa**2) * below + kappa * density * exp(-(kappa**2) / 2) / 2)


linear_trained = _fit(
    "memory.linear.trained", "Facts of a trained linear memory, as fitted: d^2 = 1.3 n ln n"
)(lambda d: solved(10 * d**2 / 13))

mlp_trained = _fit(
    "memory.mlp.trained", "Facts of a trained MLP memory, as fitted: m d = 0.35 n ln n"
)(lambda d, m: solved(20 * m * d / 7))

zipf_threshold_classes = _infinite(
    "memory.zipf.threshold.classes", "Exponent of d in a thresholded memory's error, outputs shared by classes",
    regime="facts of frequency x^-alpha, a fixed number of outputs, up to logarithms", limits="error ~ d^-(alpha - 1)"
)(lambda alpha: alpha - 1)

zipf_threshold = _zipf(
    "memory.zipf.threshold", "Exponent of d in a thresholded memory's error, an output a fact",
    regime="facts of frequency x^-alpha, up to logarithms", limits="twice the exponent with a fixed number of outputs"
)(lambda alpha: 2 * (alpha - 1))

zipf_power = _zipf(
    "memory.zipf.power", "Exponent of d in the error of a memory with weights p^rho",
    regime="facts of frequency x^-alpha, rho > 1/(2 alpha); with an output a fact and with a fixed number of them",
    limits="(alpha - 1)/(2 alpha) at rho = 1")(lambda alpha, rho: (alpha - 1) / (2 * alpha * rho))

zipf_samples = _infinite(
    "memory.zipf.samples", "Exponent of T in the frequency of facts that T samples leave unseen",
    regime="facts of frequency x^-alpha, infinitely many", limits="unseen ~ T^-(1 - 1/alpha)"
)(lambda alpha: 1 - 1 / alpha)
