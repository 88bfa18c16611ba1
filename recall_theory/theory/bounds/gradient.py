"""A gradient at initialisation, seen in noise: how much of the permutation it can tell.

The learner sees the mean of the first value gradient over the samples' law, in Gaussian noise of the covariance that
the L - 1 noise tokens of N samples give it. The bound binds one reading of one gradient, not training that
looks at the data again. Proofs: docs/derivations/bounds.md.
"""

from __future__ import annotations

from typing import Any

from ..formula import formula
from ..generic import log_of_one_plus, loggamma, minimum

_WHERE = "docs/derivations/bounds.md#what-a-learner-sees-through-a-gradient"
_SEES = "rigorous, learners that see the first gradient's mean in noise of N samples' noise tokens; L >= 2"


@formula("bound.gradient.snr", title="Signal over noise of the first gradient, the same in every direction",
         provenance="derived", reference=_WHERE, regime=_SEES, limits="N/(V L)")
def gradient_snr(V: Any, L: Any, N: Any) -> Any:
    """N/((V - 1)(L - 1))."""
    return N / ((V - 1) * (L - 1))


@formula("bound.gradient", title="Information about the permutation in a noisy first gradient",
         provenance="derived", reference=_WHERE, unit="nats", regime=_SEES, limits="N d^2/(2 V L) for d < V")
def gradient_information(V: Any, L: Any, d: Any, N: Any) -> Any:
    """I <= (D/2) ln(1 + N/((V-1)(L-1))), D = min(d, V-1)^2.

    >>> round(float(gradient_information(V=64.0, L=16.0, d=32.0, N=945.0)), 2)
    354.89
    """
    return minimum(d, V - 1) ** 2 * log_of_one_plus(gradient_snr(V, L, N)) / 2


@formula("bound.gradient.mlp", title="Information about the permutation in a noisy first gradient, behind an MLP",
         provenance="derived", reference=_WHERE, unit="nats", regime=_SEES + "; any activation; not tight",
         limits="N d m/(2 V L) for d < V and m < V")
def gradient_information_mlp(V: Any, L: Any, d: Any, N: Any, m: Any) -> Any:
    """I <= (D/2) ln(1 + N/((V-1)(L-1))), D = min(d, V-1) min(m, V-1)."""
    return minimum(d, V - 1) * minimum(m, V - 1) * log_of_one_plus(gradient_snr(V, L, N)) / 2


@formula("bound.gradient.sampled", title="The same where the gradient is that of N samples, noise added",
         provenance="derived", reference=_WHERE, unit="nats",
         regime="rigorous, learners that see the first gradient of N samples in independent noise of their noise "
         "tokens' covariance; no MLP; L >= 2", limits="bound.gradient at N >> V")
def gradient_information_sampled(V: Any, L: Any, d: Any, N: Any) -> Any:
    """I <= (D/2) ln(1 + (V+N-2)/((V-1)(L-1))), D = min(d, V-1)^2."""
    return minimum(d, V - 1) ** 2 * log_of_one_plus((V + N - 2) / ((V - 1) * (L - 1))) / 2


@formula("bound.gradient.samples", title="Least N for all facts through a noisy first gradient", provenance="derived",
         reference=_WHERE, regime=_SEES, limits="N d^2 = 2 V L ln V!: multiplicative in N, d^2 and 1/L")
def gradient_samples(V: Any, L: Any, d: Any) -> Any:
    """N >= 2 (V-1)(L-1) ln V!/min(d, V-1)^2.

    >>> round(float(gradient_samples(V=64.0, L=16.0, d=32.0)), 1)
    378.7
    """
    return 2 * (V - 1) * (L - 1) * loggamma(V + 1) / minimum(d, V - 1) ** 2
