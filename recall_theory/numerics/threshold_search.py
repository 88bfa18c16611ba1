"""Where does a costly prediction reach a target? The ends to the integer, from few evaluations.

A cheap estimate on a grid says where to look; what is answered rests on exact values alone. Each search is a
generator that yields the integers whose values it wants next, so that many searches share their evaluations.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Mapping
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from .crossings import FloatArray, Interval

Key = TypeVar("Key")
Values = dict[int, float]  # what is known so far, by integer
Search = Generator[list[int], None, Interval | None]

_NEAREST = 1e-15  # probabilities are kept this far from 0 and 1 where their logit is taken
_CLIMB = 40  # steps uphill before a target counts as out of reach
_LEAP = 3  # times the last step, in logarithms, that a next step may be
_CLOSE = 1 / 20  # how closely a size is found that only has to be known about
FAR = 4  # in logits: from here an estimate that says "nowhere" is believed


def together(searches: Mapping[Key, Search], known: Mapping[Key, Values],
             evaluate: Callable[[list[tuple[Key, int]]], None]) -> dict[Key, Interval | None]:
    """Run the searches in step: `evaluate` gets all (key, integer) of a round and puts values into `known`."""
    found: dict[Key, Interval | None] = {}
    running = dict(searches)
    while running:
        wanted: list[tuple[Key, int]] = []
        for key, search in list(running.items()):
            try:
                wanted += [(key, x) for x in next(search)]
            except StopIteration as done:
                found[key] = done.value
                del running[key]
        new = [(key, x) for key, x in dict.fromkeys(wanted) if x not in known[key]]
        if new:
            evaluate(new)
    return found


def seek(points: FloatArray, estimate: FloatArray, target: float, known: Values, highest: bool,
         worth: NDArray[np.bool_] | None = None, both_ends: bool = True, far: float = FAR) -> Search:
    """The highest (or lowest) interval of integers on which the value reaches the target, None for none.

    `points` is an increasing grid of integers from one end of the domain to the other, `estimate` a guess of
    the values there, `worth` where the target can be reached at all (elsewhere a value is not asked for while
    an interval is looked for). An interval or a gap is found where the estimate shows it, or where the value is
    monotone on the way from the guess; where the estimate and a value at its best say that the target is `far` off
    (in logits), they are believed. Without `both_ends` the far end is the farthest point that was seen.
    """
    x = [int(v) for v in points]
    last = len(x) - 1
    possible = np.ones(len(x), bool) if worth is None else worth
    hope = np.where(possible, np.nan_to_num(estimate, nan=-1.0), -1.0)
    guess = np.flatnonzero(hope >= target)
    if guess.size:
        start = int(guess[-1 if highest else 0])
        yield [x[i] for i in _ladder(start, last, highest) if possible[i]]
        hopeful = True
    else:  # one look where it is best, and no more where the target is far
        start = int(np.argmax(hope if possible.any() else np.nan_to_num(estimate, nan=-1.0)))
        yield [x[start]]
        hopeful = bool(possible.any()) and _logit(target) - _logit(known[x[start]]) < far
    if hopeful:
        yield from _climb(x, target, known, possible)
    inside = [i for i, v in enumerate(x) if known.get(v, -1.0) >= target]
    if not inside:
        return None
    near, far = (inside[-1], inside[0]) if highest else (inside[0], inside[-1])
    near_end = yield from _end(x, target, known, near, 1 if highest else -1)
    far_end = x[far]
    if both_ends:
        # On the other side the run of points that the estimate holds for reached is taken on trust, and
        # its last one is looked at.
        step = -1 if highest else 1
        while 0 <= far + step <= last and hope[far + step] >= target:
            far += step
        far = yield from _reached_or_back(x, target, known, far, near, step)
        far_end = yield from _end(x, target, known, far, step)
    low, high = sorted((near_end, far_end))
    return Interval(low, high, bounded=high < x[-1])


def reach(start: int, high: int, target: float, known: Values) -> Search:
    """About the least integer from start to high at which a rising value reaches the target, None for none: an
    interval from an integer that reaches it and is at most a share _CLOSE above one that does not."""
    yield [start, high]
    if known[start] >= target:
        return Interval(start, high, bounded=False)
    if known[high] < target:
        return None
    before, outside, inside = start, start, min(2 * start, high)
    while True:
        yield [inside]
        if known[inside] >= target:
            break
        before, outside = outside, inside
        gain = _logit(known[outside]) - _logit(known[before])
        far = (_logit(target) - _logit(known[outside])) / gain if gain > 0 else math.inf  # in steps like the last
        growth = (outside / before) ** min(max(11 / 10 * far, 1 / 10), _LEAP)
        inside = min(max(round(outside * growth), outside + 1), high)
    while inside - outside > max(1, _CLOSE * outside):
        guard = max(1, (inside - outside) // 8)
        middle = min(max(_interpolated(known, target, inside, outside), outside + guard), inside - guard)
        yield [middle]
        if known[middle] >= target:
            inside = middle
        else:
            outside = middle
    return Interval(inside, high, bounded=False)


def _ladder(start: int, last: int, highest: bool) -> list[int]:
    """The guess's index and one beside it, where a guess that is too good would have to retreat to."""
    return sorted({start, min(max(start + (-3 if highest else 3), 0), last)})


def _climb(x: list[int], target: float, known: Values,
           possible: NDArray[np.bool_]) -> Generator[list[int], None, None]:
    """Uphill from the best point that is known, until the target is reached or the top is."""
    for _ in range(_CLIMB):
        seen = [i for i, v in enumerate(x) if v in known]
        best = max(seen, key=lambda i: (known[x[i]], -i))
        if known[x[best]] >= target:
            return
        place = seen.index(best)
        below = seen[place - 1] if place > 0 else -1
        above = seen[place + 1] if place + 1 < len(seen) else len(x)
        # Halfway to a neighbour that was seen, and further each time where none was.
        reach = 2 * max(1, seen[-1] - seen[0])
        down = (below + best) // 2 if below >= 0 else max(0, best - reach)
        up = (best + above + 1) // 2 if above < len(x) else min(len(x) - 1, best + reach)
        wanted = [x[i] for i in (_possible(down, best, possible), _possible(up, best, possible))
                  if x[i] not in known]
        if not wanted:
            return
        yield wanted


def _possible(i: int, best: int, possible: NDArray[np.bool_]) -> int:
    """The index i, or the nearest to it on the way back to the best one that is worth a look."""
    while i != best and not possible[i]:
        i += 1 if i < best else -1
    return i


def _reached_or_back(x: list[int], target: float, known: Values, i: int, safe: int,
                     step: int) -> Generator[list[int], None, int]:
    """The index i if the target is reached there, else the nearest to it, on the way back, where it is."""
    back = 1
    while i != safe:
        yield [x[i]]
        if known[x[i]] >= target:
            return i
        i -= step * back
        back *= 2
        if (i - safe) * step <= 0:
            return safe
    return i


def _end(x: list[int], target: float, known: Values, i: int, step: int) -> Generator[list[int], None, int]:
    """The last integer that reaches the target, going from index i in the direction of step."""
    inside, stride = i, 1
    while True:
        outside = min(max(inside + step * stride, 0), len(x) - 1)
        if outside == inside:
            return x[inside]
        between = [j for j in range(inside, outside, step) if x[j] in known and known[x[j]] < target]
        if between:
            outside = between[0]
        yield [x[outside]]
        if known[x[outside]] < target:
            break
        inside, stride = outside, 2 * stride
    return (yield from _crossing(known, target, x[inside], x[outside]))


def _crossing(known: Values, target: float, inside: int, outside: int) -> Generator[list[int], None, int]:
    """The last integer on the way from inside to outside that reaches the target, to the integer."""
    halve = False
    while (width := abs(outside - inside)) > 1:
        low, high = min(inside, outside), max(inside, outside)
        if width <= 4:
            wanted = list(range(low + 1, high))
        else:
            middle = _halfway(low, high) if halve else _interpolated(known, target, inside, outside)
            # Two guards close around the guess: where it is good they leave a fraction of the bracket.
            guard = max(1, width // 64)
            wanted = [min(max(v, low + 1), high - 1) for v in (middle - guard, middle + guard)]
        yield wanted
        for v in sorted(wanted, reverse=outside > inside):  # from the outside inwards
            if known[v] >= target:
                inside = v
                break
            outside = v
        halve = abs(outside - inside) > width // 2
    return inside


def _halfway(low: int, high: int) -> int:
    """Between the two in the logarithm, and within them."""
    return min(max(math.isqrt(low * high), low + 1), high - 1)


def _interpolated(known: Values, target: float, inside: int, outside: int) -> int:
    """Where a straight line in the logarithm of the integer and the logit of the value meets the target."""
    above = _logit(known[inside]) - _logit(target)
    below = _logit(target) - _logit(known[outside])
    if not above + below > 0:
        return _halfway(min(inside, outside), max(inside, outside))
    share = above / (above + below)
    return round(math.exp(math.log(inside) + share * (math.log(outside) - math.log(inside))))


def _logit(p: float) -> float:
    p = min(max(p, _NEAREST), 1 - _NEAREST)
    return math.log(p) - math.log1p(-p)
