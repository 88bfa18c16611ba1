"""Coverage: a fact that never occurred can only be guessed."""

from __future__ import annotations

from typing import Any

from ..formula import formula
from ..generic import minimum, power_of_complement, power_of_complement_less_one


@formula("bound.coverage", title="Recall of the best learner: seen facts, and the last one by "
         "elimination", provenance="derived", reference="docs/derivations/bounds.md#coverage",
         regime="exact up to (V e^(-N/V))^2/(2 V): any learner, whatever it sees of the samples",
         limits="1 as N/V -> infinity")
def coverage(V: Any, N: Any) -> Any:
    """recall <= 1 - (1 - 1/V)^N + min(1, V (1 - 1/V)^N) / V, at most 1.

    E[#seen]/V is exact; the second part bounds Pr(some fact unseen)/V, what a learner gains that names
    the one label left over.

    >>> round(float(coverage(V=1000, N=1000)), 4)
    0.6333
    """
    unseen = power_of_complement(V, N)
    return minimum(1, minimum(1, V * unseen) / V - power_of_complement_less_one(V, N))
