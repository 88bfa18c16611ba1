"""Capacity with an MLP and `solve_for`: the ends that they find are exact, what they do not accept is refused."""

from __future__ import annotations

import math
import warnings

import pytest
from command_line import answer, call

from recall_theory import Setting, SettingError, capacity, predict, solve_for

SIZES = {"d": 48, "L": 8, "m": 512, "activation": "tanh"}


@pytest.fixture(scope="module")
def found():
    return capacity(**SIZES, ratios=(64, None), target=0.6)


def accuracy(V, N, **changed):
    return predict(Setting(V=V, N=N, **(SIZES | changed))).accuracy


def test_the_rows_end_where_predictions_cross_the_target(found):
    at_64, limit = found.rows
    assert at_64.N == 64 * at_64.V
    assert accuracy(at_64.V, at_64.N) == at_64.accuracy >= 0.6 > accuracy(at_64.V + 1, 64 * (at_64.V + 1))
    assert at_64.V < limit.V
    assert limit.N is None
    assert accuracy(limit.V, 10**9 * limit.V) == pytest.approx(limit.accuracy, abs=1e-6)
    assert at_64.facts_per_parameter == at_64.V / (48 * 512)
    assert at_64.limited_by.split(": ")[0] in ("recall", "attention")


def test_what_twice_the_facts_take_is_enough_and_little_more(found):
    at_64, limit = found.rows
    assert at_64.next["V"] == 2 * at_64.V
    assert limit.next["N"] is None
    V, N = at_64.next["V"], 64 * at_64.next["V"]
    asked = [("d", at_64.next["d"], N), ("m", at_64.next["m"], N)]
    for name, least, samples in asked:
        if least is not None:
            assert accuracy(V, samples, **{name: least}) >= 0.6 > accuracy(V, samples, **{name: int(least / 1.06)})
    assert any(least is not None for _, least, _ in asked)


def test_the_dimension_for_twice_the_facts_may_be_more_than_twice_as_large():
    row, = capacity(d=12, L=1, m=48, ratios=(64,), target=0.8).rows
    assert (row.V, row.next["V"]) == (2, 4) and row.next["d"] > 24
    reached = [predict(Setting(V=4, L=1, d=d, N=256, m=48)).accuracy for d in (20, row.next["d"])]
    assert reached[0] < 0.8 <= reached[1]


def test_where_no_V_reaches_the_target_the_row_says_so():
    """And at the V of the best accuracy nothing helps: not a thousand times the width, dimension or samples."""
    row, = capacity(d=8, L=3, m=64, ratios=(64,), target=0.95).rows
    assert row.V is None
    assert row.next == {"V": row.best_V, "m": None, "d": None, "N": None}
    sizes = {"V": row.best_V, "L": 3, "d": 8, "N": 64 * row.best_V, "m": 64}
    for name in ("m", "d", "N"):
        assert predict(Setting(**(sizes | {name: 1000 * sizes[name]}))).accuracy < 0.95


@pytest.mark.parametrize("unknown, target, sizes", [
    *[(unknown, 0.6, {"V": 128, "L": 16, "d": 96, "N": 128 * 64}) for unknown in ("V", "L", "d", "N")],
    ("m", 0.4, {"V": 64, "L": 8, "d": 48, "N": 8192, "activation": "tanh"}),
    *[(unknown, 0.4, {"V": 48 if unknown != "d" else 64, "L": 8, "d": 48, "N": 8192, "m": 512, "activation": "tanh"})
      for unknown in ("N", "d")],
    ("L", 0.9, {"V": 32, "L": 8, "d": 64, "N": 8192, "eta": 1e-6, "gamma": 3e10}),
])
def test_ends_are_exact(unknown, target, sizes):
    """One step beyond an end the prediction misses the target, at the end it reaches it."""
    known = {k: v for k, v in sizes.items() if k != unknown}
    end = solve_for(unknown, target, **known)

    def accuracy(x):
        return predict(Setting(**known, **{unknown: x})).accuracy

    assert accuracy(end.low) >= target
    if end.low > (2 if unknown == "V" else 1):
        assert accuracy(end.low - 1) < target
    if end.bounded:
        assert accuracy(end.high) >= target > accuracy(end.high + 1)


def test_solve_for_says_none_where_the_target_is_out_of_reach():
    assert solve_for("N", 0.99, V=512, L=8, d=8) is None


@pytest.mark.parametrize(("arguments", "words"), [
    ({"unknown": "x", "V": 2, "L": 2, "d": 2}, "not one of V, L, d, N, m"),
    ({"unknown": "V", "L": 2, "d": 2}, "N is missing: to solve for V give L, d, N"),
    ({"unknown": "N", "ratio": 4, "V": 2, "L": 2, "d": 2}, "leave it out"),
    ({"unknown": "V", "V": 2, "L": 2, "d": 2, "N": 2}, "V must be left out"),
    ({"unknown": "V", "L": 8, "d": 32, "ratio": 64, "activation": "tanh"}, "needs an MLP"),
    ({"unknown": "V", "L": 2, "d": 2, "N": 2, "target": 1}, "target=1"),
    ({"unknown": "V", "L": 2, "d": 2, "N": 2, "target": math.nan}, "target=nan"),
    ({"unknown": "V", "L": 0, "d": 2, "N": 2}, "L=0"),
    ({"unknown": "V", "L": 2, "d": math.inf, "N": 2}, "d=inf"),
    ({"unknown": "V", "L": 2, "d": 2, "N": 2, "observable": "memory"}, "memory"),
])
def test_solve_for_refuses_in_words(arguments, words):
    with pytest.raises(SettingError, match=words):
        solve_for(**arguments)


@pytest.mark.usefixtures("computed_once")
def test_the_command_line():
    argv = ["capacity", "--d", "32", "--L", "3", "--m", "256", "--ratio", "256", "--target", "0.3"]
    found = answer(*argv)
    assert (found["setting"]["m"], found["setting"]["activation"]) == (256, "relu")
    assert set(found["rows"][0]["next"]) == {"V", "m", "d", "N"}
    assert found["bounds"]["bits"]["parameters"] == 32 * 256 + 32
    _, text, _ = call(*argv, "--details")
    assert "twice the facts" in text
    assert "an MLP of m = 256 (relu)" in text
    assert "next_m" in call(*argv, "--csv")[1]
    sizes = ["--V", "32", "--L", "8", "--d", "32", "--N", "4096"]
    assert "The least m" in call("solve", "--for", "m", *sizes, "--target", "0.3")[1]


def test_a_formula_that_leaves_less_than_two_facts_is_not_shown():
    """Far outside the regime of the branches, without a warning of the logarithms in them."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        row, = capacity(L=63, d=21, ratios=(8,), target=0.5).rows
    assert row.V == 2 and row.branch is row.branch_V is row.branch_numbers is None
    assert row.length_branch == "mean embedding"
