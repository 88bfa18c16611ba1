"""Bits: a model of P parameters of b bits is in one of 2^(P b) states, and each gives one answer to all questions."""

from __future__ import annotations

from typing import Any

from ..formula import formula
from ..generic import exp, lambert_w, log, loggamma, minimum

_WHERE = "docs/derivations/bounds.md#bits"
_DIGITS = 50
_EQUAL = 1e-30  # V! = 2^(P b) to so much is an equality: what is left is rounding


@formula("bound.bits", title="Bits that a permutation of V labels holds", provenance="derived",
         reference=_WHERE, unit="bits",
         regime="exact, any model that recalls all V facts: its parameters hold at least log2 V! bits",
         limits="V log2(V/e) for large V")
def permutation_bits(V: Any) -> Any:
    """log2 V!."""
    return loggamma(V + 1) / log(_two(V))


@formula("bound.bits.errors", title="Bits of a model with at most e wrong answers", provenance="derived",
         reference=_WHERE, unit="bits",
         regime="rigorous, any model that errs on at most e facts of every permutation, whatever its answers",
         limits="bound.bits at e = 0")
def bits_with_errors(V: Any, errors: Any) -> Any:
    """log2 (V - e)!, for 0 <= e <= V."""
    return loggamma(V - errors + 1) / log(_two(V))


@formula("bound.bits.average", title="Recall of P parameters of b bits, on average over permutations",
         provenance="derived", reference=_WHERE,
         regime="rigorous, any model, for each integer a >= 0; least at the largest a with a! <= 2^(P b)",
         limits="the sum of min(1, 2^(P b)/a!) over all a >= 1, divided by V, up to 1/(a^2 V)")
def average_recall(V: Any, P: Any, b: Any, a: Any) -> Any:
    """recall <= [a + (a+2)/(a+1) 2^(P b)/(a+1)!]/V, at most 1.

    The exponent is cut off where the bound exceeds 1 anyway, so that nothing overflows.
    """
    above = minimum(P * b * log(_two(V)) - loggamma(a + 2), log(V))
    return minimum(1, (a + (a + 2) / (a + 1) * exp(above)) / V)


@formula("bound.bits.capacity", title="Most facts that P parameters of b bits can hold, to leading "
         "order", provenance="derived", reference=_WHERE,
         regime="approximate: leading order of log2 V! = P b, an overestimate by less than a factor e",
         limits="the exact inverse is `bits_bound`")
def bits_capacity(P: Any, b: Any) -> Any:
    """V = x / W(x / exp(1)), x = P b ln 2 nats, W the Lambert function: V ln(V/e) = x."""
    x = P * b * log(_two(P))
    return x / lambert_w(x / exp(x * 0 + 1))


def _two(like: Any) -> Any:
    """The number 2, exact where `like` is symbolic, so that log(2) stays log(2)."""
    return like * 0 + 2


def bits_bound(P: float, b: float) -> int:
    """The largest V with log2 V! <= P b: no model of P parameters of b bits recalls more facts, all of them.

    Exact: by bisection in 50 digits.

    >>> bits_bound(1, 16)
    8
    """
    import mpmath

    if P * b < 1:  # not even two facts
        return 1
    with mpmath.workdps(_DIGITS):
        nats = mpmath.mpf(P) * mpmath.mpf(b) * mpmath.log(2) * (1 + mpmath.mpf(_EQUAL))
        low, high = 1, int(bits_capacity(P=float(P), b=float(b))) + 2
        while mpmath.loggamma(high + 1) <= nats:  # rounding of the leading order, beyond 2^53
            high *= 2
        middle = (low + high) // 2
        while low < middle < high:  # log V! is increasing; this ends where integers are doubles, too
            if mpmath.loggamma(middle + 1) <= nats:
                low = middle
            else:
                high = middle
            middle = (low + high) // 2
    return low


def recall_of_bits(V: float, P: float, b: float) -> float:
    """`average_recall` at its best a: the most that P parameters of b bits recall of V facts on average.

    >>> recall_of_bits(8, 1, 16), round(recall_of_bits(100, 1, 16), 4)
    (1.0, 0.082)
    """
    return float(average_recall(V=float(V), P=float(P), b=float(b), a=float(bits_bound(P, b))))
