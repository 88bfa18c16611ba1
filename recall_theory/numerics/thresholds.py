"""Where does a function reach a target? Searches over integers that ask for few values, and plain bisection.

A search is a generator: it yields the integers whose values it wants next, reads them from the dictionary `known`
that it was given, and returns what it found. So many searches can share vectorised evaluations (`run_searches`), and
what one search has asked for is there for the next. `first_reaching` and `last_reaching` run one on a function.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Generator, Mapping
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

__all__ = ["FAR", "Interval", "Known", "bisect", "bisect_arrays", "first_reaching", "grid", "interval_search",
           "known_interval", "last_reaching", "rising_search", "run_search", "run_searches"]

FloatArray = NDArray[np.float64]
Known = dict[int, float]  # the values that are known so far, by integer
Key = TypeVar("Key")
Result = TypeVar("Result")
Search = Generator[list[int], None, Result]
Scale = Callable[[float], float]

FAR = 4  # in logits: an estimate that says "nowhere" is believed where the best value misses the target by so much
_NEAREST = 1e-15  # probabilities are kept this far from 0 and 1 where their logit is taken
_CLIMB = 40  # steps uphill before a target counts as out of reach
_LEAP = 3  # times the last step, in logarithms, that the next step of a rising search may be
_CLOSE = 1 / 20  # share to which a rising search closes in
_FIRST_STEP, _LONGEST_STEP = 3 / 2, 16  # away from a guess, as factors


@dataclasses.dataclass(frozen=True)
class Interval:
    """The integers low..high, both included, on which a target is reached; `bounded` is False where the interval runs
    on to the end of the domain that was searched."""

    low: int
    high: int
    bounded: bool


def grid(low: float, high: float, points_a_decade: int) -> FloatArray:
    """Distinct integers from low to high, even in the logarithm.

    >>> grid(1, 100, 3)
    array([  1.,   2.,   4.,   7.,  14.,  27.,  52., 100.])
    """
    count = 2 + int(np.ceil(points_a_decade * np.log10(max(high / low, 1.0))))
    return np.unique(np.rint(np.geomspace(low, high, count)))


def bisect(holds: Callable[[int], bool], inside: int, outside: int) -> int:
    """The last integer on the way from `inside` to `outside` at which a condition holds that changes once on the way.

    `inside` may be above or below `outside`; neither end is looked at.

    >>> bisect(lambda n: n * n <= 50, 0, 10**6), bisect(lambda n: n * n >= 50, 10**6, 0)
    (7, 8)
    """
    while abs(outside - inside) > 1:
        middle = (inside + outside) // 2
        if holds(middle):
            inside = middle
        else:
            outside = middle
    return inside


def bisect_arrays(holds: Callable[[FloatArray], NDArray[np.bool_]], inside: FloatArray, outside: FloatArray,
                  halvings: int) -> tuple[FloatArray, FloatArray]:
    """The brackets (inside, outside) of a change of a condition, elementwise over real arrays, after so many halvings.

    >>> low, high = bisect_arrays(lambda x: x * x <= 2, np.array([0.0]), np.array([2.0]), 50)
    >>> float(low[0])
    1.41421356
    """
    for _ in range(halvings):
        middle = inside + (outside - inside) / 2
        held = holds(middle)
        inside, outside = np.where(held, middle, inside), np.where(held, outside, middle)
    return inside, outside


def logit(p: float) -> float:
    """log(p/(1 - p)), of a probability that is kept a rounding away from 0 and 1."""
    p = min(max(p, _NEAREST), 1 - _NEAREST)
    return math.log(p) - math.log1p(-p)


def last_reaching(value: Callable[[int], float], target: float, low: int, high: int, guess: float, *,
                  relative: float = 0.0, scale: Scale = logit) -> int | None:
    """The last integer from low to high at which a falling function reaches the target, None where it doesn't at low.

    The search begins at `guess` and interpolates `scale` of the value in the logarithm of the integer: a straight line
    there makes it quick. With `relative` above 0 the answer may be too small by that share.

    >>> last_reaching(lambda n: n * n <= 50, 1, 1, 10**6, guess=3)
    7
    """
    known: Known = {}
    return run_search(_search_from(known, target, low, high, guess, relative, scale), known, value)


def first_reaching(value: Callable[[int], float], target: float, low: int, high: int, guess: float, *,
                   relative: float = 0.0, scale: Scale = logit) -> int | None:
    """The first integer from low to high at which a rising function reaches the target, None where it doesn't at
    high. The rest is as in `last_reaching`; with `relative` the answer may be too large.

    >>> first_reaching(lambda d: d / (d + 50), 0.9, 2, 10**6, guess=60)
    450
    """
    known: Known = {}
    return run_search(_search_from(known, target, high, low, guess, relative, scale), known, value)


def run_search(search: Search[Result], known: Known, value: Callable[[int], float]) -> Result:
    """The result of one search; `value` is asked for one integer at a time."""

    def evaluate(wanted: list[tuple[None, int]]) -> None:
        known.update((x, value(x)) for _, x in wanted)

    return run_searches({None: search}, {None: known}, evaluate)[None]


def run_searches(searches: Mapping[Key, Search[Result]], known: Mapping[Key, Known],
                 evaluate: Callable[[list[tuple[Key, int]]], None]) -> dict[Key, Result]:
    """The results of searches that run in step: `evaluate` gets all (key, integer) of a round and puts their values
    into `known`."""
    results: dict[Key, Result] = {}
    running = dict(searches)
    while running:
        wanted: list[tuple[Key, int]] = []
        for key, search in list(running.items()):
            try:
                wanted += [(key, x) for x in next(search)]
            except StopIteration as done:
                results[key] = done.value
                del running[key]
        new = [(key, x) for key, x in dict.fromkeys(wanted) if x not in known[key]]
        if new:
            evaluate(new)
    return results


def known_interval(value: Callable[[FloatArray], FloatArray], target: float, points: FloatArray,
                   highest: bool) -> Interval | None:
    """The highest (or lowest) interval of integers on which `value`, cheap enough to be taken at all `points`, reaches
    the target; None for none.

    >>> known_interval(lambda x: -(x - 30) ** 2, -25, grid(1, 1000, 8), highest=True)
    Interval(low=25, high=35, bounded=True)
    """
    values = value(points)
    known: Known = dict(zip(map(int, points), map(float, values), strict=True))
    if not (values >= target).any():
        return None

    def evaluate(wanted: list[tuple[None, int]]) -> None:
        x = np.array([x for _, x in wanted], dtype=float)
        known.update(zip((x for _, x in wanted), map(float, value(x)), strict=True))

    search = interval_search(points, values, target, known, highest)
    return run_searches({None: search}, {None: known}, evaluate)[None]


def interval_search(points: FloatArray, estimate: FloatArray, target: float, known: Known, highest: bool,
                    worth: NDArray[np.bool_] | None = None, both_ends: bool = True,
                    far: float = FAR) -> Search[Interval | None]:
    """The highest (or lowest) interval of integers on which a value reaches the target, None for none.

    points: increasing grid of integers (n,) from one end of the domain to the other. estimate: guess of the values
    there (n,). worth: where the target can be reached at all (n,); elsewhere no value is asked for while an interval is
    looked for. An interval or a gap is noticed where the estimate shows it, or where the value is monotone on the way
    from the guess; its ends are exact to the integer. Where the estimate and one value at its best say that the target
    is `far` off (in logits), they are believed. Without `both_ends` the other end is the farthest point that was asked
    for.
    """
    x = [int(v) for v in points]
    last = len(x) - 1
    possible = np.ones(len(x), bool) if worth is None else worth
    hope = np.where(possible, np.nan_to_num(estimate, nan=-1.0), -1.0)
    guess = np.flatnonzero(hope >= target)
    if guess.size:
        start = int(guess[-1 if highest else 0])
        # One point beside it, where a guess that is too good would have to retreat to.
        beside = min(max(start + (-3 if highest else 3), 0), last)
        yield [x[i] for i in sorted({start, beside}) if possible[i]]
        hopeful = True
    else:  # a single value where it is best, and no more where the target is far
        start = int(np.argmax(hope if possible.any() else np.nan_to_num(estimate, nan=-1.0)))
        yield [x[start]]
        hopeful = bool(possible.any()) and logit(target) - logit(known[x[start]]) < far
    if hopeful and not any(known.get(v, -math.inf) >= target for v in x):
        yield from _climb(x, target, known, possible)
    inside = [i for i, v in enumerate(x) if known.get(v, -math.inf) >= target]
    if not inside:
        return None
    towards, away = (1, -1) if highest else (-1, 1)
    near = inside[-1] if highest else inside[0]
    other = _farthest(x, target, known, near, away)
    near_end = yield from _end(x, target, known, near, towards)
    other_end = x[other]
    if both_ends:
        # There the run of points that the estimate holds for reached is taken on trust, and its last one is checked.
        trusted = other
        while 0 <= trusted + away <= last and hope[trusted + away] >= target:
            trusted += away
        other = yield from _reached_or_back(x, target, known, trusted, other, away)
        other_end = yield from _end(x, target, known, other, away)
    low, high = sorted((near_end, other_end))
    return Interval(low, high, bounded=high < x[-1])


def rising_search(start: int, high: int, target: float, known: Known) -> Search[Interval | None]:
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
        gain = logit(known[outside]) - logit(known[before])
        needed = (logit(target) - logit(known[outside])) / gain if gain > 0 else math.inf  # in steps like the last
        growth = (outside / before) ** min(max(11 / 10 * needed, 1 / 10), _LEAP)
        inside = min(max(round(outside * growth), outside + 1), high)
    while inside - outside > max(1, _CLOSE * outside):
        guard = max(1, (inside - outside) // 8)
        middle = _interpolated(known, target, inside, outside, logit)
        middle = min(max(middle, outside + guard), inside - guard)
        yield [middle]
        if known[middle] >= target:
            inside = middle
        else:
            outside = middle
    return Interval(inside, high, bounded=False)


def _search_from(known: Known, target: float, good: int, bad: int, guess: float, relative: float,
                 scale: Scale) -> Search[int | None]:
    """The last integer from `good`, where the target is reached if anywhere, to `bad` that reaches it."""
    inside = outside = min(max(round(guess), min(good, bad)), max(good, bad))
    factor = _FIRST_STEP
    yield [inside]
    while known[inside] < target:
        if inside == good:
            return None
        outside, inside = inside, _stepped(inside, factor, good)
        factor = min(factor**2, _LONGEST_STEP)
        yield [inside]
    while known[outside] >= target:
        if outside == bad:
            return bad
        inside, outside = outside, _stepped(outside, factor, bad)
        factor = min(factor**2, _LONGEST_STEP)
        yield [outside]
    return (yield from _crossing(known, target, inside, outside, relative, scale))


def _stepped(x: int, factor: float, end: int) -> int:
    """One step from x towards an end, by a factor."""
    return min(max(math.ceil(x * factor), x + 1), end) if end > x else max(min(math.floor(x / factor), x - 1), end)


def _climb(x: list[int], target: float, known: Known, possible: NDArray[np.bool_]) -> Search[None]:
    """Uphill from the best point that is known, until the target is reached or the top is."""
    for _ in range(_CLIMB):
        asked = [i for i, v in enumerate(x) if v in known]
        best = max(asked, key=lambda i: (known[x[i]], -i))
        place = asked.index(best)
        below = asked[place - 1] if place > 0 else -1
        above = asked[place + 1] if place + 1 < len(asked) else len(x)
        # Halfway to a neighbour that is known, and further each time where none is.
        stride = 2 * max(1, asked[-1] - asked[0])
        down = (below + best) // 2 if below >= 0 else max(0, best - stride)
        up = (best + above + 1) // 2 if above < len(x) else min(len(x) - 1, best + stride)
        wanted = [x[i] for i in (_possible(down, best, possible), _possible(up, best, possible))
                  if x[i] not in known]
        if not wanted:
            return
        yield wanted
        if any(known[v] >= target for v in wanted):
            return


def _possible(i: int, best: int, possible: NDArray[np.bool_]) -> int:
    """The index i, or the nearest to it on the way back to the best one that can reach the target."""
    while i != best and not possible[i]:
        i += 1 if i < best else -1
    return i


def _farthest(x: list[int], target: float, known: Known, near: int, step: int) -> int:
    """The farthest index from `near` in the direction of step that is known to reach the target, before one that is
    known to miss it."""
    farthest = i = near
    while 0 <= i < len(x) and known.get(x[i], math.inf) >= target:
        if x[i] in known:
            farthest = i
        i += step
    return farthest


def _reached_or_back(x: list[int], target: float, known: Known, i: int, safe: int, step: int) -> Search[int]:
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


def _end(x: list[int], target: float, known: Known, i: int, step: int) -> Search[int]:
    """The last integer that reaches the target, going from index i in the direction of step."""
    inside, stride = i, 1
    while True:
        outside = min(max(inside + step * stride, 0), len(x) - 1)
        if outside == inside:
            return x[inside]
        missed = (j for j in range(inside, outside, step) if not known.get(x[j], math.inf) >= target)
        outside = next(missed, outside)
        yield [x[outside]]
        if not known[x[outside]] >= target:  # NaN misses it too
            break
        inside, stride = outside, 2 * stride
    return (yield from _crossing(known, target, x[inside], x[outside]))


def _crossing(known: Known, target: float, inside: int, outside: int, relative: float = 0.0,
              scale: Scale = logit) -> Search[int]:
    """The last integer on the way from inside to outside that reaches the target, to the integer or to a share."""
    poor = 0  # rounds in a row that left more than half of the bracket
    while (width := abs(outside - inside)) > max(1, relative * min(inside, outside)):
        low, high = min(inside, outside), max(inside, outside)
        if width <= 4:
            wanted = list(range(low + 1, high))
        else:
            middle = _halfway(low, high) if poor > 1 else _interpolated(known, target, inside, outside, scale)
            # Two guards close around the guess: where it is good they leave a fraction of the bracket.
            guard = max(1, width // 64)
            wanted = [min(max(v, low + 1), high - 1) for v in (middle - guard, middle + guard)]
        yield wanted
        for v in sorted(wanted, reverse=outside > inside):  # from the outside inwards
            if known[v] >= target:
                inside = v
                break
            outside = v
        poor = poor + 1 if abs(outside - inside) > width // 2 else 0
    return inside


def _halfway(low: int, high: int) -> int:
    """Between the two in the logarithm, and within them."""
    return min(max(math.isqrt(low * high), low + 1), high - 1)


def _interpolated(known: Known, target: float, inside: int, outside: int, scale: Scale) -> int:
    """Where a straight line in the logarithm of the integer and the scale of the value meets the target."""
    above = scale(known[inside]) - scale(target)
    below = scale(target) - scale(known[outside])
    if not above + below > 0:
        return _halfway(min(inside, outside), max(inside, outside))
    share = above / (above + below)
    return round(math.exp((1 - share) * math.log(max(inside, 1)) + share * math.log(max(outside, 1))))
