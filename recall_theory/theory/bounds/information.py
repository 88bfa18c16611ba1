"""From information to recall: what nats about the permutation are worth in facts answered right."""

from __future__ import annotations

from typing import Any

from ..formula import formula
from ..generic import exp, lambert_w, log

_WHERE = "docs/derivations/bounds.md#from-information-to-recall"


@formula("bound.information", title="Information that a facts answered right take", provenance="derived",
         reference=_WHERE, unit="nats",
         regime="rigorous, any learner and any channel, a >= 1 facts right in expectation",
         limits="a ln(a/e) for large a; 0 at a = 1, which chance gives")
def least_information(a: Any) -> Any:
    """I >= a ln a - a + 1.

    >>> round(float(least_information(a=100.0)), 2)
    361.52
    """
    return a * log(a) - a + 1


@formula("bound.information.recall", title="Most facts right that I nats allow", provenance="derived",
         reference=_WHERE, regime="rigorous, any learner and any channel",
         limits="the inverse of bound.information; 1 at I = 0")
def most_right(nats: Any) -> Any:
    """a <= exp(1 + W((I - 1)/exp(1))), W the Lambert function, I >= 0.

    >>> round(float(most_right(nats=361.52)), 2)
    100.0
    """
    return exp(1 + lambert_w((nats - 1) / exp(nats * 0 + 1)))
