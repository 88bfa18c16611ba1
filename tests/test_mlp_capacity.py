"""Capacity and its inverse with an MLP: what the rows claim is what `predict` says."""

from __future__ import annotations

import json

import pytest

from recall_theory import Setting, SettingError, capacity, predict, solve_for
from recall_theory.cli import main as run

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


def test_an_infinitely_wide_identity_is_the_attention_only_model():
    # The Attention-only law also knows of the multinomial sum of the counts: a difference of order 1/V in recall.
    plain = solve_for("V", 0.4, L=4, d=64, ratio=512)
    wide = solve_for("V", 0.4, L=4, d=64, ratio=512, m=10**9, activation="identity")
    assert wide.high == pytest.approx(plain.high, rel=0.02)


@pytest.mark.parametrize("unknown, known", [
    ("m", {"V": 64, "L": 8, "d": 48, "N": 8192}), ("N", {"V": 48, "L": 8, "d": 48, "m": 512}),
    ("d", {"V": 64, "L": 8, "N": 8192, "m": 512}), ("L", {"V": 48, "d": 48, "N": 8192, "m": 512}),
])
def test_solve_for_any_size(unknown, known):
    end = solve_for(unknown, 0.4, activation="tanh", **known)
    best, beyond = (end.high, end.high + 1) if unknown == "L" else (end.low, end.low - 1)
    at = [predict(Setting(**known, **{unknown: x}, activation="tanh")).accuracy for x in (best, beyond)]
    assert at[0] >= 0.4 > at[1]


def test_the_command_line(capsys):
    argv = ["capacity", "--d", "32", "--L", "3", "--m", "256", "--ratio", "256", "--target", "0.3"]
    assert run([*argv, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["setting"]["m"] == 256
    assert found["setting"]["activation"] == "relu"
    assert set(found["rows"][0]["next"]) == {"V", "m", "d", "N"}
    assert found["bounds"]["bits"]["parameters"] == 32 * 256 + 32
    assert run(argv) == 0
    text = capsys.readouterr().out
    assert "For twice the facts" in text
    assert "MLP of width m = 256 (relu)" in text
    assert run([*argv, "--csv"]) == 0
    assert "next_m" in capsys.readouterr().out
    assert run(["solve", "--for", "m", "--V", "32", "--L", "8", "--d", "32", "--N", "4096", "--target", "0.3"]) == 0
    assert "The least m" in capsys.readouterr().out


@pytest.mark.parametrize("argv, words", [
    (["capacity", "--d", "32", "--L", "8", "--activation", "tanh"], "needs an MLP"),
    (["capacity", "--d", "32", "--L", "8", "--m", "64", "--embedding", "orthogonal"], "gaussian and sphere"),
    (["capacity", "--d", "32", "--L", "8", "--m", "0"], "--m '0' is not an integer"),
    (["solve", "--for", "m", "--m", "64", "--V", "32", "--L", "8", "--d", "32", "--N", "4096"], "leave it out"),
])
def test_bad_input_is_one_line(argv, words, capsys):
    assert run(argv) == 2
    out, err = capsys.readouterr()
    assert words in err
    assert err.count("\n") == 1
    assert not out


def test_bad_arguments():
    with pytest.raises(SettingError, match="needs an MLP"):
        capacity(d=32, L=8, activation="tanh")
    with pytest.raises(SettingError, match="needs an MLP"):
        solve_for("V", L=8, d=32, ratio=64, activation="tanh")
