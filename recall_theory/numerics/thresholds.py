"""Where does a function reach a target? Searches over integers that ask for few values, and plain bisection.

A search is a generator: it yields the integers whose values it wants next, reads them from the dictionary `known`
that it was given, and returns what it found. So many searches can share vectorised evaluations (`run_searches`), and
what one search has asked for is there for the next.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from typing import TypeVar

import numpy as np

from .arrays import BoolArray, FloatArray

Known = dict[int, float]  # the values that are known so far, by integer
Key = TypeVar("Key")
Result = TypeVar("Result")
Search = Generator[list[int], None, Result]

HOPELESS_LOGITS = 4  # an estimate that says "nowhere" is believed where the best value misses the target by so many
_NEAREST_TO_CERTAIN = 1e-15  # probabilities are kept this far from 0 and 1 where their logit is taken
_MOST_STEPS_UPHILL = 40  # steps uphill before a target counts as out of reach
_LONGEST_LEAP = 3  # times the last step, in logarithms, that the next step of a rising search may be
_CLOSE_SHARE = 1 / 20  # share to which a rising search closes in
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


def bisect_arrays(holds: Callable[[FloatArray], BoolArray], inside: FloatArray, outside: FloatArray,
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
    p = min(max(p, _NEAREST_TO_CERTAIN), 1 - _NEAREST_TO_CERTAIN)
    return math.log(p) - math.log1p(-p)


def run_searches(searches: Mapping[Key, Search[Result]], known: Mapping[Key, Known],
                 values: Callable[[list[tuple[Key, int]]], Iterable[float]]) -> dict[Key, Result]:
    """The results of searches that run in step: `values` gives those of all (key, integer) of a round."""
    results: dict[Key, Result] = {}
    while len(results) < len(searches):
        wanted: dict[tuple[Key, int], None] = {}
        for key in [key for key in searches if key not in results]:
            try:
                wanted |= {(key, x): None for x in next(searches[key]) if x not in known[key]}
            except StopIteration as done:
                results[key] = done.value
        if wanted:
            for (key, x), value in zip(wanted, values(list(wanted)), strict=True):
                known[key][x] = float(value)
    return results


def run_search(search: Search[Result], known: Known, values: Callable[[list[int]], Iterable[float]]) -> Result:
    """The result of one search; `values` gives those of the integers of a round."""
    return run_searches({None: search}, {None: known}, lambda wanted: values([x for _, x in wanted]))[None]


@dataclasses.dataclass(frozen=True)
class _Values:
    """What a search knows, what it is to reach, and the scale on which values are nearly straight in the logarithm of
    the integer."""

    known: Known
    target: float
    scale: Callable[[float], float] = logit

    def reached(self, x: int) -> bool:
        """Whether x is known to reach the target; NaN never does."""
        return self.known.get(x, -math.inf) >= self.target

    def lead(self, x: int) -> float:
        """How far the value at x is above the target, on the scale."""
        return self.scale(self.known[x]) - self.scale(self.target)

    def between(self, inside: int, outside: int, guard: int, halve: bool = False) -> int:
        """Where a straight line meets the target, `guard` or more from the ends; halfway in the logarithm where there
        is none, or with `halve`."""
        above, below = self.lead(inside), -self.lead(outside)
        share = above / (above + below) if above + below > 0 and not halve else 1 / 2
        place = round(math.exp((1 - share) * math.log(max(inside, 1)) + share * math.log(max(outside, 1))))
        return min(max(place, min(inside, outside) + guard), max(inside, outside) - guard)

    def change(self, places: Sequence[int]) -> Search[tuple[int, int] | None]:
        """The first neighbours among the places one of which reaches the target while the other doesn't."""
        first = self.reached(places[0])
        for near, far in itertools.pairwise(places):
            yield [far]
            if self.reached(far) != first:
                return near, far
        return None

    def crossing(self, inside: int, outside: int, relative: float = 0.0) -> Search[int]:
        """The last integer on the way from inside to outside that reaches the target, to the integer or to a share."""
        poor = 0  # rounds in a row that left more than half of the bracket
        while (width := abs(outside - inside)) > max(1, relative * min(inside, outside)):
            if relative:
                wanted = [self.between(inside, outside, max(1, width // 8))]
            elif width <= 4:
                wanted = [*range(min(inside, outside) + 1, max(inside, outside))]
            else:
                # Two values close around the guess: where it is good they leave a fraction of the bracket.
                apart = max(1, width // 64)
                middle = self.between(inside, outside, 1, halve=poor > 1)
                wanted = [min(max(v, min(inside, outside) + 1), max(inside, outside) - 1)
                          for v in (middle - apart, middle + apart)]
            yield wanted
            for v in sorted(wanted, reverse=outside > inside):  # from the outside inwards
                if self.reached(v):
                    inside = v
                    break
                outside = v
            poor = poor + 1 if abs(outside - inside) > width // 2 else 0
        return inside


def last_reaching(value: Callable[[int], float], target: float, start: int, end: int, guess: float, *,
                  relative: float = 0.0, scale: Callable[[float], float] = logit) -> int | None:
    """The last integer on the way from `start` up or down to `end` at which a function that falls on this way reaches
    the target, None where it doesn't at `start`.

    The search begins at `guess` and interpolates `scale` of the value in the logarithm of the integer: a straight line
    there makes it quick. With `relative` above 0 the answer may come so much too early, as a share of it.

    >>> last_reaching(lambda n: n * n <= 50, 1, 1, 10**6, guess=3)
    7
    >>> last_reaching(lambda d: d / (d + 50), 0.9, 10**6, 2, guess=60)
    450
    """
    known: Known = {}
    search = last_search(start, end, target, known, guess, relative=relative, scale=scale)
    return run_search(search, known, lambda wanted: map(value, wanted))


def last_search(start: int, end: int, target: float, known: Known, guess: float, *, relative: float = 0.0,
                scale: Callable[[float], float] = logit) -> Search[int | None]:
    """The search of `last_reaching`, one of many."""
    values = _Values(known, target, scale)
    first = min(max(round(guess), min(start, end)), max(start, end))
    yield [first]
    reached = values.reached(first)
    ends = yield from values.change(_steps(first, end if reached else start))
    if ends is None:
        return end if reached else None
    inside, outside = ends if reached else ends[::-1]
    return (yield from values.crossing(inside, outside, relative))


def _steps(x: int, end: int) -> list[int]:
    """The integers from x to an end, by growing factors."""
    places, factor = [x], _FIRST_STEP
    while x != end:
        if end > x:
            x = min(max(math.ceil(x * factor), x + 1), end)
        else:
            x = max(min(math.floor(x / factor), x - 1), end)
        places.append(x)
        factor = min(factor**2, _LONGEST_STEP)
    return places


def rising_search(start: int, high: int, target: float, known: Known) -> Search[int | None]:
    """An integer from start to high that reaches the target and is at most a share _CLOSE_SHARE above one that does
    not, of a rising value; None where none reaches it."""
    values = _Values(known, target)
    yield [start, high]
    if values.reached(start) or not values.reached(high):
        return start if values.reached(start) else None

    before, outside, inside = start, start, min(2 * start, high)
    yield [inside]
    while not values.reached(inside):
        before, outside = outside, inside
        gain = values.lead(outside) - values.lead(before)
        needed = -values.lead(outside) / gain if gain > 0 else math.inf  # in steps like the last
        growth = (outside / before) ** min(max(11 / 10 * needed, 1 / 10), _LONGEST_LEAP)
        inside = min(max(round(outside * growth), outside + 1), high)
        yield [inside]
    return (yield from values.crossing(inside, outside, _CLOSE_SHARE))


def known_interval(value: Callable[[FloatArray], FloatArray], target: float, points: FloatArray,
                   highest: bool) -> Interval | None:
    """The highest (or lowest) interval of integers on which `value`, cheap enough to be taken at all `points`, reaches
    the target; None for none.

    >>> known_interval(lambda x: -(x - 30) ** 2, -25, grid(1, 1000, 8), highest=True)
    Interval(low=25, high=35, bounded=True)
    """
    values = value(points)
    if not (values >= target).any():
        return None
    known = dict(zip(map(int, points), map(float, values), strict=True))
    search = interval_search(points, values, target, known, highest)
    return run_search(search, known, lambda wanted: value(np.array(wanted, dtype=float)))


def interval_search(points: FloatArray, estimate: FloatArray, target: float, known: Known, highest: bool, *,
                    worth: BoolArray | None = None, ends: int = 2,
                    far: float = HOPELESS_LOGITS) -> Search[Interval | None]:
    """The highest (or lowest) interval of integers on which a value reaches the target, None for none.

    points: increasing grid of integers (n,) from one end of the domain to the other. estimate: guess of the values
    there (n,). worth: where the target can be reached at all (n,); elsewhere no value is asked for while an interval is
    looked for. An interval or a gap is noticed where the estimate shows it, or where the value is monotone on the way
    from the guess; its ends are exact to the integer. Where the estimate and one value at its best say that the target
    is `far` off (in logits), they are believed. With `ends` 1 the other end is the farthest point that was asked for,
    with 0 the interval is the first point that is found to reach the target.
    """
    forward = slice(None, None, 1 if highest else -1)  # towards the end that is looked for
    x = [int(v) for v in points[forward]]
    possible = np.ones(len(x), bool) if worth is None else worth[forward]
    estimate = np.nan_to_num(estimate[forward], nan=-1.0)
    hope = np.where(possible, estimate, -1.0)
    values = _Values(known, target)

    hopeful = np.flatnonzero(hope >= target)
    if hopeful.size:
        start = int(hopeful[-1])
        # One point beside it, where a guess that is too good would have to retreat to.
        yield [x[i] for i in sorted({start, max(start - 3, 0)}) if possible[i]]
        climb = True
    else:  # a single value where it is best, and no more where the target is far
        start = int(np.argmax(hope if possible.any() else estimate))
        yield [x[start]]
        climb = bool(possible.any()) and -values.lead(x[start]) < far
    if climb and not any(map(values.reached, x)):
        yield from _climb(x, values, possible)

    inside = [i for i, v in enumerate(x) if values.reached(v)]
    if not inside:
        return None
    if ends == 0:
        return Interval(x[inside[-1]], x[inside[-1]], bounded=True)
    near_end = yield from _end(values, x[inside[-1]:])
    back = x[inside[-1]::-1]
    farthest = next(v for v in reversed(_run(values, back)) if values.reached(v))
    if ends == 2:
        # There the run of points that the estimate holds for reached is taken on trust, and its last one is checked.
        hoped = dict(zip(x, hope >= target, strict=True)) | {farthest: True}
        trusted = [*itertools.takewhile(hoped.__getitem__, back[back.index(farthest):])]
        for farthest in _rungs(trusted[::-1]):
            yield [farthest]
            if values.reached(farthest):
                break
        farthest = yield from _end(values, back[back.index(farthest):])
    low, high = sorted((near_end, farthest))
    return Interval(low, high, bounded=bool(high < points[-1]))


def _climb(x: list[int], values: _Values, possible: BoolArray) -> Search[None]:
    """Uphill from the best point that is known, until the target is reached or the top is."""
    for _ in range(_MOST_STEPS_UPHILL):
        asked = [i for i, v in enumerate(x) if v in values.known]
        best = max(asked, key=lambda i: values.known[x[i]])
        place = asked.index(best)
        # Halfway to a neighbour that is known, and further each time where none is.
        stride = 2 * max(1, asked[-1] - asked[0])
        down = (asked[place - 1] + best) // 2 if place > 0 else max(0, best - stride)
        up = (best + asked[place + 1] + 1) // 2 if place + 1 < len(asked) else min(len(x) - 1, best + stride)
        # Where the target can't be reached, back towards the best one.
        sides = [*range(down, best)], [*range(up, best, -1)]
        wanted = [x[next((i for i in side if possible[i]), best)] for side in sides]
        wanted = [v for v in wanted if v not in values.known]
        yield wanted
        if not wanted or any(map(values.reached, wanted)):
            return


def _run(values: _Values, places: list[int]) -> list[int]:
    """The places up to the first that is known to miss the target."""
    misses = (i for i, v in enumerate(places) if v in values.known and not values.reached(v))
    return places[:next(misses, len(places)) + 1]


def _rungs(run: list[int]) -> list[int]:
    """The first of a run, others at doubling distances from it, and its last."""
    return list(dict.fromkeys([*(run[2**k - 1] for k in range(len(run).bit_length())), run[-1]]))


def _end(values: _Values, places: list[int]) -> Search[int]:
    """The last integer that reaches the target, along places that begin where it is reached."""
    rungs = _rungs(_run(values, places))
    ends = yield from values.change(rungs)
    return rungs[-1] if ends is None else (yield from values.crossing(*ends))
