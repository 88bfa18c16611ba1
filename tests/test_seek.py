"""Searches that see few values agree with a look at the whole grid."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

from recall_theory.numerics.crossings import Interval, grid, intervals
from recall_theory.numerics.threshold_search import reach, seek, together


def found(value, estimate, target, points, highest, **more):
    """The interval that a search finds, and how many values it asked for."""
    known = {}

    def evaluate(wanted):
        for _, x in wanted:
            known[x] = float(value(float(x)))

    search = seek(points, estimate, target, known, highest, **more)
    return together({0: search}, {0: known}, evaluate)[0], len(known)


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

        points, target, highest = grid(low, high, 8), rng.choice([0.5, 0.9, 0.99]), rng.random() < 0.5
        estimate = value(points * math.exp(rng.uniform(-1.1, 1.1)))
        everywhere = intervals(value, target, points)
        expected = everywhere[-1 if highest else 0] if everywhere else None
        answer, calls = found(value, estimate, target, points, highest)
        assert answer == expected
        asked.append(calls)
    assert np.mean(asked) < 16


def test_no_value_is_asked_for_where_it_is_not_worth_it():
    points = grid(1, 10**6, 8)
    asked = []

    def value(x):
        asked.append(x)
        return 1 / (1 + (x / 5e4) ** 2)

    answer, _ = found(value, value(points) * 0 + 0.5, 0.9, points, True, worth=points > 100, both_ends=False)
    assert answer.high == 16666 and answer.bounded
    assert min(x for x in asked if np.ndim(x) == 0) > 100


def test_nothing_where_nothing_reaches_the_target():
    points = grid(1, 1000, 8)
    assert found(lambda x: 0.3, points * 0 + 0.9, 0.5, points, True)[0] is None
    assert found(lambda x: 0.3, points * 0 + math.nan, 0.5, points, False)[0] is None


def test_everything_where_everything_does():
    points = grid(1, 1000, 8)
    assert found(lambda x: 0.7, points * 0, 0.5, points, True)[0] == Interval(1, 1000, False)
    assert found(lambda x: 0.7, points * 0 + 1, 0.5, points, False)[0] == Interval(1, 1000, False)


def test_searches_share_their_rounds():
    points, rounds = grid(1, 10**6, 8), []
    known = {i: {} for i in range(5)}

    def evaluate(wanted):
        rounds.append(len(wanted))
        for i, x in wanted:
            known[i][x] = 1 / (1 + x / 10 ** (i + 1))

    searches = {i: seek(points, 1 / (1 + points / 300), 0.5, known[i], True) for i in range(5)}
    answer = together(searches, known, evaluate)
    assert {i: interval.high for i, interval in answer.items()} == {i: 10 ** (i + 1) for i in range(5)}
    assert len(rounds) < 20


@pytest.mark.parametrize("part", range(4))
def test_a_rising_value_is_reached_closely_from_few_looks(part):
    rng = random.Random(part)
    for _ in range(100):
        start, middle, steep = rng.randint(1, 1000), math.exp(rng.uniform(0, 20)), rng.uniform(0.5, 6)
        most, target, high = rng.uniform(0.6, 1), rng.choice([0.3, 0.9]), 10**12
        known = {}

        def value(x, middle=middle, steep=steep, most=most):
            return most / (1 + (middle / x) ** steep)

        def evaluate(wanted, known=known, value=value):
            known.update((x, value(x)) for _, x in wanted)

        end = together({0: reach(start, high, target, known)}, {0: known}, evaluate)[0]
        if value(high) < target:
            assert end is None
        else:
            assert value(end.low) >= target
            assert end.low == start or value(min(end.low / 1.05 - 1, end.low - 1)) < target
            assert len(known) < 40
