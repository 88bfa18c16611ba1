"""Threshold searches: the ends that they find are the exact integers, from few values."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recall_theory.numerics import thresholds


def on_grid(value, target, points, highest):
    """The interval by a value at every point of the grid and a bisection of each end."""
    reached = np.asarray(value(points)) >= target
    if not reached.any():
        return None

    def edge(i, step):
        while 0 <= i + step < len(points) and reached[i + step]:
            i += step
        if not 0 <= i + step < len(points):
            return int(points[i])
        return thresholds.bisect(lambda x: bool(value(np.array(float(x))) >= target),
                                 int(points[i]), int(points[i + step]))

    start = np.flatnonzero(reached)[-1 if highest else 0]
    low, high = edge(start, -1), edge(start, 1)
    return thresholds.Interval(low, high, bounded=high < points[-1])


def search(value, estimate, target, points, highest, **more):
    """The interval that a search finds, and how many values it asked for."""
    known = {}
    steps = thresholds.interval_search(points, estimate, target, known, highest, **more)
    return thresholds.run_search(steps, known, lambda wanted: [value(float(x)) for x in wanted]), len(known)


@given(low=st.integers(1, 10**9), factor=st.floats(1, 1e6), points=st.integers(1, 40))
def test_grid_runs_from_end_to_end(low, factor, points):
    high = round(low * factor)
    x = thresholds.grid(low, high, points)
    assert x[0] == low
    assert x[-1] == high
    assert (np.diff(x) > 0).all()
    assert (x == np.rint(x)).all()
    if high > 1e3 * low > 1e6:  # even in the logarithm
        assert np.diff(np.log10(x)).max() <= 1.01 / points


@pytest.mark.parametrize(("value", "target", "lowest", "highest"), [
    (lambda x: x / 1000, 0.5, thresholds.Interval(500, 1000, False), None),
    (lambda x: 1 - x / 1000, 0.5, thresholds.Interval(1, 500, True), None),
    (lambda x: 1 - (x - 400) ** 2 / 1e4, 0.75, thresholds.Interval(350, 450, True), None),
    (lambda x: (x - 400) ** 2 / 1e4, 1, thresholds.Interval(1, 300, True), thresholds.Interval(500, 1000, False)),
    (lambda x: np.cos(x * math.pi / 250), -1e-9, thresholds.Interval(1, 125, True),
     thresholds.Interval(875, 1000, False)),
    (lambda x: np.where(np.abs(x - 500) < 250, x * math.nan, 1), 1, thresholds.Interval(1, 250, True),
     thresholds.Interval(750, 1000, False)),
    (lambda x: x * 0, 0.5, None, None),
    (lambda x: x * 0 + 1, 0.5, thresholds.Interval(1, 1000, False), None),
    (lambda x: x * math.nan, 0.5, None, None),
    (lambda x: x * 0 + 0.7, 0.5, thresholds.Interval(1, 1000, False), None),
    (lambda x: x, 317, thresholds.Interval(317, 1000, False), None),
    (lambda x: -x, -317, thresholds.Interval(1, 317, True), None),
], ids=["rising", "falling", "hump", "valley", "waves", "holes", "never", "always", "nan", "flat", "met from below",
        "met from above"])
def test_known_functions(value, target, lowest, highest):
    points = thresholds.grid(1, 1000, 20)
    assert thresholds.known_interval(value, target, points, highest=False) == lowest
    assert thresholds.known_interval(value, target, points, highest=True) == (highest or lowest)


@given(st.data())
def test_random_intervals_are_found_to_the_integer(data):
    """Crossings anywhere, at most one between two neighbours of the grid, as the contract asks."""
    top = data.draw(st.sampled_from([50, 1000, 10**6, 10**12, 10**15]))
    x = thresholds.grid(1, top, data.draw(st.integers(2, 12)))
    gaps = data.draw(st.sets(st.integers(0, len(x) - 2), max_size=8))
    flips = sorted(data.draw(st.integers(int(x[g]) + 1, int(x[g + 1]))) for g in gaps)
    start = data.draw(st.booleans())

    def value(v):
        return (np.searchsorted(np.array(flips, dtype=float), v, side="right") + start) % 2

    edges = [*([1] if start else []), *flips]
    expected = [thresholds.Interval(a, b - 1, True) for a, b in zip(edges[::2], edges[1::2], strict=False)]
    if len(edges) % 2:
        expected.append(thresholds.Interval(edges[-1], top, False))
    for highest in (False, True):
        assert thresholds.known_interval(value, 1, x, highest) == (expected[-1 if highest else 0] if expected else None)


@pytest.mark.parametrize("part", range(5))
def test_rising_falling_and_humped_values(part):
    """The estimate is off by up to a factor of three along the axis."""
    rng = random.Random(part)
    asked = []
    for _ in range(120):
        low, high = rng.choice([1, 2, 50]), rng.choice([100, 10**4, 10**9, 10**15])
        fall = math.exp(rng.uniform(math.log(low), math.log(high)))
        rise = math.exp(rng.uniform(math.log(low), math.log(fall) + 1))
        steep, kind = rng.uniform(1, 6), rng.choice(["rise", "fall", "hump"])

        def value(x, fall=fall, rise=rise, steep=steep, kind=kind):
            x = np.asarray(x, dtype=float)
            parts = {"rise": 1 / (1 + (rise / x) ** steep), "fall": 1 / (1 + (x / fall) ** steep)}
            return parts["rise"] * parts["fall"] if kind == "hump" else parts[kind]

        points, target, highest = thresholds.grid(low, high, 8), rng.choice([0.5, 0.9, 0.99]), rng.random() < 0.5
        estimate = value(points * math.exp(rng.uniform(-1.1, 1.1)))
        answer, calls = search(value, estimate, target, points, highest)
        assert answer == on_grid(value, target, points, highest)
        asked.append(calls)
    assert np.mean(asked) < 16


def test_no_value_is_asked_for_where_it_is_not_worth_it():
    points = thresholds.grid(1, 10**6, 8)
    asked = []

    def value(x):
        asked.append(x)
        return 1 / (1 + (x / 5e4) ** 2)

    answer, _ = search(value, value(points) * 0 + 0.5, 0.9, points, True, worth=points > 100, ends=1)
    assert answer.high == 16666 and answer.bounded
    assert min(x for x in asked if np.ndim(x) == 0) > 100


def test_searches_share_their_rounds():
    points, rounds = thresholds.grid(1, 10**6, 8), []
    known = {i: {} for i in range(5)}

    def values(wanted):
        rounds.append(len(wanted))
        return [1 / (1 + x / 10 ** (i + 1)) for i, x in wanted]

    searches = {i: thresholds.interval_search(points, 1 / (1 + points / 300), 0.5, known[i], True) for i in range(5)}
    answer = thresholds.run_searches(searches, known, values)
    assert {i: interval.high for i, interval in answer.items()} == {i: 10 ** (i + 1) for i in range(5)}
    assert len(rounds) < 20


@pytest.mark.parametrize("part", range(4))
def test_a_rising_value_is_reached_closely_from_few_values(part):
    rng = random.Random(part)
    for _ in range(100):
        start, middle, steep = rng.randint(1, 1000), math.exp(rng.uniform(0, 20)), rng.uniform(0.5, 6)
        most, target, high = rng.uniform(0.6, 1), rng.choice([0.3, 0.9]), 10**12

        def value(x, middle=middle, steep=steep, most=most):
            return most / (1 + (middle / x) ** steep)

        known = {}
        search = thresholds.rising_search(start, high, target, known)
        end = thresholds.run_search(search, known, lambda wanted: map(value, wanted))
        if value(high) < target:
            assert end is None
        else:
            assert value(end) >= target
            assert end == start or value(min(end / 1.05 - 1, end - 1)) < target
            assert len(known) < 40


@given(low=st.integers(0, 10**6), width=st.integers(0, 10**15), share=st.floats(0, 1), guess=st.floats(-1e17, 1e17),
       steep=st.floats(0.1, 50), relative=st.sampled_from([0.0, 1e-3]))
def test_the_last_integer_that_reaches_a_target_in_both_directions(low, width, share, guess, steep, relative):
    high = low + width
    edge = low + round(share * width)
    for start, end, last, sign in ((low, high, edge, 1), (high, low, min(edge + 1, high), -1)):
        if sign < 0 and edge == high:
            continue
        asked = []

        def lead(x, sign=sign, asked=asked):
            asked.append(x)
            return sign * steep * math.log1p((edge - x + 0.5) / (1 + x))  # a difference of logarithms loses its sign

        found = thresholds.last_reaching(lead, 0, start, end, guess, relative=relative, scale=float)
        assert len(asked) < 70
        assert min(low, last) <= found <= max(high, last)
        assert 0 <= sign * (last - found) <= relative * last
        assert thresholds.last_reaching(lambda x, s=sign, last=last: s * x <= s * last, 1, start, end, guess) == last
        assert thresholds.last_reaching(lambda x: False, 1, start, end, guess) is None


@given(st.integers(-10**20, 10**20), st.integers(1, 10**20), st.floats(0, 1))
def test_bisection_ends_at_the_neighbour(inside, width, share):
    for outside, sign in ((inside + width, 1), (inside - width, -1)):
        edge = inside + sign * min(int(share * width), width - 1)
        assert thresholds.bisect(lambda x, s=sign, e=edge: s * x <= s * e, inside, outside) == edge


def test_arrays_are_bisected_elementwise_in_both_directions():
    root = np.array([0.1, 0.5, 0.9])
    inside, outside = thresholds.bisect_arrays(lambda x: x <= root, np.zeros(3), np.ones(3), 50)
    assert (inside <= root).all() and (outside > root).all()
    assert np.allclose(outside - inside, 2.0**-50)
    outside, inside = thresholds.bisect_arrays(lambda x: x > root, np.ones(3), np.zeros(3), 50)[::-1]
    assert np.allclose(inside, root, atol=1e-14) and np.allclose(outside, root, atol=1e-14)
