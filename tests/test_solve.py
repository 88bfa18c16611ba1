"""Inverses: all intervals are found, and their ends are the exact integers."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recall_theory import Setting, SettingError, predict, solve_for
from recall_theory.numerics.crossings import Interval, grid, intervals


def on_integers(value, target, low, high):
    """The same answer by looking at every integer."""
    x = np.arange(low, high + 1, dtype=float)
    reached = np.concatenate([[False], value(x) >= target, [False]])
    edges = np.flatnonzero(np.diff(reached.astype(int)))
    return [Interval(int(low + a), int(low + b - 1), bounded=bool(b < len(x)))
            for a, b in zip(edges[::2], edges[1::2], strict=True)]


@given(low=st.integers(1, 10**9), factor=st.floats(1, 1e6), points=st.integers(1, 40))
def test_grid_runs_from_end_to_end(low, factor, points):
    high = round(low * factor)
    x = grid(low, high, points)
    assert x[0] == low
    assert x[-1] == high
    assert (np.diff(x) > 0).all()
    assert (x == np.rint(x)).all()
    if high > 1e3 * low > 1e6:  # even in the logarithm
        assert np.diff(np.log10(x)).max() <= 1.01 / points


@pytest.mark.parametrize(("value", "target", "expected"), [
    (lambda x: x / 1000, 0.5, [Interval(500, 1000, False)]),
    (lambda x: 1 - x / 1000, 0.5, [Interval(1, 500, True)]),
    (lambda x: 1 - (x - 400) ** 2 / 1e4, 0.75, [Interval(350, 450, True)]),
    (lambda x: (x - 400) ** 2 / 1e4, 1, [Interval(1, 300, True), Interval(500, 1000, False)]),
    (lambda x: np.cos(x * math.pi / 250), -1e-9, [Interval(1, 125, True), Interval(375, 625, True),
                                              Interval(875, 1000, False)]),
    (lambda x: x * 0, 0.5, []),
    (lambda x: x * 0 + 1, 0.5, [Interval(1, 1000, False)]),
    (lambda x: x * math.nan, 0.5, []),
], ids=["rising", "falling", "hump", "valley", "waves", "never", "always", "nan"])
def test_known_functions(value, target, expected):
    found = intervals(value, target, grid(1, 1000, 20))
    assert found == expected


def test_an_end_where_the_target_is_met_exactly_belongs_to_the_interval():
    assert intervals(lambda x: x, 317, grid(1, 1000, 4)) == [Interval(317, 1000, False)]
    assert intervals(lambda x: -x, -317, grid(1, 1000, 4)) == [Interval(1, 317, True)]


@given(st.data())
def test_random_intervals_are_found_to_the_integer(data):
    """Crossings anywhere, at most one between two neighbours of the grid, as the contract asks."""
    high = data.draw(st.sampled_from([50, 1000, 10**6, 10**12, 10**15]))
    x = grid(1, high, data.draw(st.integers(2, 12)))
    gaps = data.draw(st.sets(st.integers(0, len(x) - 2), max_size=8))
    flips = sorted(data.draw(st.integers(int(x[g]) + 1, int(x[g + 1]))) for g in gaps)
    start = data.draw(st.booleans())

    def value(v):
        return (np.searchsorted(np.array(flips, dtype=float), v, side="right") + start) % 2

    edges = [*([1] if start else []), *flips]
    expected = [Interval(a, b - 1, True) for a, b in zip(edges[::2], edges[1::2], strict=False)]
    if len(edges) % 2:
        expected.append(Interval(edges[-1], high, False))
    assert intervals(value, 1, x) == expected


@given(centre=st.integers(2, 1999), width=st.integers(0, 400), points=st.integers(30, 60))
def test_agrees_with_a_look_at_every_integer(centre, width, points):
    def value(x):
        return -np.abs(x - centre)

    x = grid(1, 2000, points)
    expected = on_integers(value, -width, 1, 2000)
    found = intervals(value, -width, x)
    seen = (np.abs(x - centre) <= width).any()
    assert found == (expected if seen else [])  # between two neighbours it passes unseen


def test_values_that_are_known_are_not_computed_again():
    calls = []

    def value(x):
        calls.append(x.size)
        return 1 - x / 1e9

    x = grid(1, 10**9, 8)
    assert intervals(value, 0.5, x, at_x=1 - x / 1e9) == [Interval(1, 5 * 10**8, True)]
    assert x.size not in calls
    assert sum(calls) < 120  # a handful of vectorised calls


@pytest.mark.parametrize("unknown", ["V", "L", "d", "N"])
def test_solve_for_ends_are_exact(unknown):
    """One step beyond an end the prediction misses the target, at the end it reaches it."""
    sizes = {"V": 128, "L": 16, "d": 96, "N": 128 * 64}
    target = 0.6
    found = solve_for(unknown, target, **{k: v for k, v in sizes.items() if k != unknown})
    assert found is not None

    def accuracy(x):
        return predict(Setting(**{**sizes, unknown: x})).accuracy

    assert accuracy(found.low) >= target
    assert accuracy(found.high) >= target or not found.bounded
    if found.low > (2 if unknown == "V" else 1):
        assert accuracy(found.low - 1) < target
    if found.bounded:
        assert accuracy(found.high + 1) < target


def test_solve_for_says_none_where_the_target_is_out_of_reach():
    assert solve_for("N", 0.99, V=512, L=8, d=8) is None


@pytest.mark.parametrize(("arguments", "words"), [
    ({"unknown": "x", "V": 2, "L": 2, "d": 2}, "not one of V, L, d, N"),
    ({"unknown": "V", "L": 2, "d": 2}, "give L, N, d"),
    ({"unknown": "N", "ratio": 4, "V": 2, "L": 2, "d": 2}, "given by the ratio"),
    ({"unknown": "V", "L": 2, "d": 2, "N": 2, "V": 2}, "not L, N, V, d"),
    ({"unknown": "V", "L": 2, "d": 2, "N": 2, "target": 1}, "target=1"),
    ({"unknown": "V", "L": 2, "d": 2, "N": 2, "target": math.nan}, "target=nan"),
    ({"unknown": "V", "L": 0, "d": 2, "N": 2}, "L=0"),
    ({"unknown": "V", "L": 2, "d": math.inf, "N": 2}, "d=inf"),
    ({"unknown": "V", "L": 2, "d": 2, "N": 2, "observable": "memory"}, "memory"),
])
def test_solve_for_refuses_in_words(arguments, words):
    with pytest.raises(SettingError, match=words):
        solve_for(**arguments)
