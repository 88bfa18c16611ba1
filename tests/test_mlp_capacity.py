"""Capacity with an MLP: what the rows claim is what `predict` says."""

from __future__ import annotations

import pytest
from command_line import answer, call, refused

from recall_theory import Setting, capacity, predict

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
    assert accuracy(limit.V, 10**9 * limit.V) == pytest.approx(limit.accuracy, abs=1e-9)
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


def test_where_no_V_reaches_the_target_the_row_says_what_would():
    row, = capacity(d=32, L=3, m=256, ratios=(64,), target=0.95).rows
    assert row.V is None
    assert row.next["V"] == row.best_V
    if row.next["N"] is not None:
        assert predict(Setting(V=row.best_V, L=3, d=32, N=row.next["N"], m=256)).accuracy >= 0.95


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


@pytest.mark.parametrize("argv, words", [
    (["capacity", "--d", "32", "--L", "8", "--activation", "tanh"], "needs an MLP"),
    (["capacity", "--d", "32", "--L", "8", "--m", "64", "--embedding", "orthogonal"], "gaussian and sphere"),
    (["capacity", "--d", "32", "--L", "8", "--m", "0"], "--m '0' is not an integer"),
    (["solve", "--for", "m", "--m", "64", "--V", "32", "--L", "8", "--d", "32", "--N", "4096"], "leave it out"),
])
def test_bad_input_is_one_line(argv, words):
    assert words in refused(*argv)
