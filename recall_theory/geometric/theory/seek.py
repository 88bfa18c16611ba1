"""Searches over integers: the last at which something still holds, the least d that reaches a target."""

from __future__ import annotations

import math
from collections.abc import Callable

__all__ = ["last", "least_reaching"]


def last(holds: Callable[[int], bool], low: int, high: int) -> int | None:
    """The largest integer from low to high at which `holds`, which does so up to some point and never after it;
    None where it doesn't at low.

    >>> last(lambda n: n * n <= 50, 1, 10**6), last(lambda n: n < 0, 0, 9)
    (7, None)
    """
    if not holds(low):
        return None
    inside, step = low, 1
    while inside < high:
        ahead = min(inside + step, high)
        if not holds(ahead):
            return _between(holds, inside, ahead)
        inside, step = ahead, 2 * (ahead - low + 1)
    return inside


def _between(holds: Callable[[int], bool], inside: int, outside: int) -> int:
    while outside - inside > 1:
        middle = (inside + outside) // 2
        inside, outside = (middle, outside) if holds(middle) else (inside, middle)
    return inside


def least_reaching(value: Callable[[int], float], target: float, low: int, high: int, guess: float) -> int | None:
    """The least integer from low to high at which an increasing probability reaches the target; None where it does
    not reach it at high.

    The logit of recall is nearly straight in log d, so that interpolation closes in faster than halving.

    >>> least_reaching(lambda d: d / (d + 50), 0.9, 2, 10**6, 60)
    450
    """
    wanted = _logit(target)
    below: tuple[int, float] | None = None
    above: tuple[int, float] | None = None
    d = min(max(round(guess), low), high)
    turn = 0
    while True:
        lead = _logit(value(d)) - wanted
        if lead >= 0:
            above = (d, lead)
            if d == low:
                return low
        else:
            below = (d, lead)
            if d == high:
                return None
        if above is None:
            d = min(max(d + 1, round(5 * d / 4)), high)
        elif below is None:
            d = max(min(d - 1, round(4 * d / 5)), low)
        elif above[0] - below[0] == 1:
            return above[0]
        else:
            turn += 1
            share = 1 / 2 if turn % 3 == 0 else below[1] / (below[1] - above[1])
            middle = math.exp(math.log(below[0]) + share * math.log(above[0] / below[0]))
            d = min(max(round(middle), below[0] + 1), above[0] - 1)


def _logit(p: float) -> float:
    p = min(max(p, 1e-300), 1 - 1e-16)
    return math.log(p) - math.log1p(-p)
