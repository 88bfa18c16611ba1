"""How random superposition is best laid out: code length and dimension for a target, or under a budget."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

from ..numerics.thresholds import last_reaching
from .geometric_setting import GEOMETRIC_PARAMETERS
from .superposition import COARSE, FINE, Resolution, superposition_recall

__all__ = ["MOST_D", "best_within", "cheapest", "parameter_count", "superposition_dimension"]

MOST_D = int(GEOMETRIC_PARAMETERS["d"].high)
LONGEST = 64  # codes of up to so many times 2 ln N are tried
CODE_TOLERANCE = 1 / 1024  # relative width to which the best code length is sought


def parameter_count(N: int, words: int, slots: int, k: int, d: int) -> float:
    """Numbers in a model: N embeddings of dimension d, an MLP of width 2 words k that reads them and `slots`
    coordinates of relations and writes a code, its bias, and the unembedding."""
    width = 2.0 * words * k
    return N * float(d) + width * (d + slots + 1 + k) + N * float(k)


def superposition_dimension(N: int, words: int, k: int, target: float, resolution: Resolution = FINE) -> int | None:
    """The least d at which random superposition recalls with probability `target`; None beyond 10^9.

    >>> superposition_dimension(1024, 8, 64, 0.99)
    257
    """
    bend = 2 * math.log(N)
    guess = (words - 1) * bend / max(1 - bend / k, 1 / 8)
    return last_reaching(lambda d: superposition_recall(N, words, k, d, resolution), target, MOST_D, k, guess)


def cheapest(N: int, words: int, slots: int, target: float) -> tuple[int, int | None]:
    """Code length and dimension that reach the target with the fewest parameters."""

    def cost(k: int) -> float:
        d = superposition_dimension(N, words, k, target, COARSE)
        return math.inf if d is None else parameter_count(N, words, slots, k, d)

    k = _least_costly(cost, 2, max(8, round(LONGEST * 2 * math.log(N))))
    return k, superposition_dimension(N, words, k, target)


def best_within(N: int, words: int, slots: int, budget: int) -> tuple[int | None, int | None]:
    """Code length and dimension of the best recall that so many parameters buy; None where they buy none."""

    def affordable_d(k: int) -> int:
        spare = budget - parameter_count(N, words, slots, k, 0)
        return min(math.floor(spare / (N + 2 * words * k)), MOST_D)

    longest_of_all = int(GEOMETRIC_PARAMETERS["code_length"].high)
    longest = last_reaching(lambda k: affordable_d(k) >= k, 1, 2, longest_of_all, guess=2)
    if longest is None:
        return None, None
    k = _least_costly(lambda k: -superposition_recall(N, words, k, affordable_d(k), COARSE), 2, longest)
    return k, affordable_d(k)


def _least_costly(cost: Callable[[int], float], low: int, high: int) -> int:
    """An integer at which a cost with one valley in log k is least, by golden sections.

    SciPy's searches want a bracket whose ends cost more than its inside; here the valley may lie at an end, and
    costs may be infinite.
    """
    cost = functools.cache(cost)
    golden = (math.sqrt(5) - 1) / 2
    a, b = math.log(low), math.log(high)
    while b - a > CODE_TOLERANCE and round(math.exp(b)) - round(math.exp(a)) > 2:
        left, right = b - golden * (b - a), a + golden * (b - a)
        if cost(round(math.exp(left))) <= cost(round(math.exp(right))):
            b = right
        else:
            a = left
    around = range(max(low, round(math.exp(a))), min(high, round(math.exp(b))) + 1)
    return min(around, key=cost) if len(around) <= 4 else round(math.exp((a + b) / 2))
