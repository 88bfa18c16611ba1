"""The best linear memory: the most facts for which some d x d matrix ranks every right output first."""

from __future__ import annotations

import math

from ...numerics.thresholds import bisect, last_reaching
from ..formulas import memory_laws as laws
from .hebbian_memory import MOST_STORED, PART

__all__ = ["linear_capacity", "linear_dimension", "linear_load"]


def linear_load(share: float) -> float:
    """Greatest load n/d^2 at which some linear memory lets each fact lead the average of the strongest `share` of its
    competitors (the tail-average margin).

    share: above 0 and at most 1; at 1 the load is 2, at 1/(n - 1) the strongest competitor alone counts.
    Raises ValueError outside. Provenance: kin, see `formulas["memory.linear.load"]`.

    >>> linear_load(1.0), round(linear_load(1e-3), 4)
    (2.0, 0.0811)
    """
    from scipy.special import ndtri

    if not 0 < share <= 1:
        raise ValueError(f"share, of the competitors, must be above 0 and at most 1: got {share:g}")
    return 2.0 if share == 1 else float(laws.linear_load(-ndtri(share)))


def linear_capacity(d: float) -> int:
    """The most facts n whose load n/d^2 is at most `linear_load(1/(n - 1))`, at least 2.

    A law for large d: at small d true capacities scatter, and the extrapolation from a fixed share of competitors to
    one of them is not proved.

    >>> linear_capacity(256), round(float(laws.linear_best(256)))
    (4342, 3956)
    """
    most = last_reaching(lambda n: math.log(linear_load(1 / (n - 1))) - math.log(n / d**2), 0, 2, MOST_STORED,
                         float(laws.linear_best(float(d))), relative=PART, scale=float)
    return 2 if most is None else most


def linear_dimension(n: float) -> int:
    """The least d at which `linear_capacity` allows n facts (at least 2): n/d^2 <= linear_load(1/(n - 1)).

    >>> linear_dimension(4342), linear_dimension(2)
    (256, 1)
    """
    load = linear_load(1 / (n - 1))
    return bisect(lambda d: n <= d * d * load, math.ceil(math.sqrt(n / load)) + 1, 0)
