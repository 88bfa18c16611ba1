"""Bounds that no learner of this task can beat: coverage and bits."""

from __future__ import annotations

from typing import Any

from .formula import formula
from .generic import exp, lambert_w, log, loggamma, minimum, power_of_complement, power_of_complement_less_one

_BOUNDS = "docs/derivations/bounds.md"


@formula("bound.coverage", title="Recall of the best learner: seen facts, and the last one by "
         "elimination", provenance="derived", reference=_BOUNDS,
         regime="any learner, in expectation over a uniform permutation; exact to V e^(-N/V) and better",
         limits="1 as N/V -> infinity")
def coverage(V: Any, N: Any) -> Any:
    """recall <= 1 - (1 - 1/V)^N + min(1, V (1 - 1/V)^N) / V, at most 1.

    E[#seen]/V is exact; the second part bounds Pr(some fact unseen)/V, what a learner gains that names
    the one label left over.
    """
    unseen = power_of_complement(V, N)
    return minimum(1, minimum(1, V * unseen) / V - power_of_complement_less_one(V, N))


@formula("bound.bits", title="Bits that a permutation of V labels holds", provenance="derived",
         reference=_BOUNDS, unit="bits",
         regime="any model that recalls all V facts: its parameters hold at least log2 V! bits",
         limits="V log2(V/e) for large V")
def permutation_bits(V: Any) -> Any:
    """log2 V!."""
    return loggamma(V + 1) / log(_two(V))


def _two(like: Any) -> Any:
    """The number 2, exact where `like` is symbolic, so that log(2) stays log(2)."""
    return like * 0 + 2


@formula("bound.bits.capacity", title="Most facts that P parameters of b bits can hold, to leading "
         "order", provenance="derived", reference=_BOUNDS,
         regime="any model; leading order of log2 V! = P b, an overestimate by less than a factor e",
         limits="the exact inverse is `recall_theory.capacity`'s bits bound")
def bits_capacity(P: Any, b: Any) -> Any:
    """V = x / W(x / exp(1)), x = P b ln 2 nats, W the Lambert function: V ln(V/e) = x."""
    x = P * b * log(_two(P))
    return x / lambert_w(x / exp(x * 0 + 1))
