"""`solve_for`: the ends that it finds are exact, and what it does not accept is refused."""

from __future__ import annotations

import math

import pytest

from recall_theory import Setting, SettingError, predict, solve_for


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
