"""`solve_for`: the ends that it finds are exact, and what it does not accept is refused."""

from __future__ import annotations

import math

import pytest
from command_line import call

from recall_theory import Setting, SettingError, predict, solve_for


@pytest.mark.parametrize("unknown, target, sizes", [
    *[(unknown, 0.6, {"V": 128, "L": 16, "d": 96, "N": 128 * 64}) for unknown in ("V", "L", "d", "N")],
    ("m", 0.4, {"V": 64, "L": 8, "d": 48, "N": 8192, "activation": "tanh"}),
    *[(unknown, 0.4, {"V": 48 if unknown != "d" else 64, "L": 8, "d": 48, "N": 8192, "m": 512, "activation": "tanh"})
      for unknown in ("N", "d", "L")],
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


def test_an_infinitely_wide_identity_is_the_attention_only_model():
    # The Attention-only law also knows of the multinomial sum of the counts: a difference of order 1/V in recall.
    plain = solve_for("V", 0.4, L=4, d=64, ratio=512)
    wide = solve_for("V", 0.4, L=4, d=64, ratio=512, m=10**9, activation="identity")
    assert wide.high == pytest.approx(plain.high, rel=0.02)


def test_solve_on_the_command_line():
    sizes = ["--V", "32", "--L", "8", "--d", "32", "--N", "4096"]
    code, out, _ = call("solve", "--for", "m", *sizes, "--target", "0.3")
    assert code == 0
    assert "The least m" in out


def test_solve_for_says_none_where_the_target_is_out_of_reach():
    assert solve_for("N", 0.99, V=512, L=8, d=8) is None


@pytest.mark.parametrize(("arguments", "words"), [
    ({"unknown": "x", "V": 2, "L": 2, "d": 2}, "not one of V, L, d, N"),
    ({"unknown": "V", "L": 2, "d": 2}, "give L, N, d"),
    ({"unknown": "N", "ratio": 4, "V": 2, "L": 2, "d": 2}, "given by the ratio"),
    ({"unknown": "V", "V": 2, "L": 2, "d": 2, "N": 2}, "not L, N, V, d"),
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
