"""`train` on the command line: contracts, refusals, narrow terminals, interrupts."""

from __future__ import annotations

import csv
import io
import json

import pytest
from command_line import answer, call, refused

TRAIN = ["train", "--V", "16", "--L", "2", "--d", "8", "--N", "96", "--steps", "3", "--seeds", "2", "--seed", "1",
         "--n-test", "32"]


@pytest.mark.parametrize("columns", [40, 80])
def test_train_fits_a_terminal(columns):
    code, out, _ = call(*TRAIN, columns=columns)
    assert code == 0 and max(len(line) for line in out.splitlines()) <= columns


def test_train_json():
    found = answer(*TRAIN)
    assert [s["further_steps"] for s in found["stages"]] == [None, 0, 1, 2, 3]
    assert found["parameters"] == 8 * 8 + 8
    for stage in found["stages"]:
        assert stage["facts_per_parameter"] == pytest.approx(stage["recall"] * 16 / 72)
    assert found["stages"][0]["loss"] is None
    assert found["best_linear_memory"]["recall"] >= found["stages"][-1]["recall"]
    assert found["best_linear_law"]["facts"] >= 2
    assert answer(*TRAIN) == found


def test_train_csv_has_a_row_a_stage():
    code, out, _ = call(*TRAIN, "--csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert code == 0 and len(rows) == 5
    assert rows[1]["stage"] == "three steps, at their best scale"


@pytest.mark.parametrize("argv, words", [
    (("--m", "8"), "--m"), (("--steps", "0"), "--steps"), (("--steps", "1e6", "--N", "1e9"), "embed"),
    (("--eta", "1"), "--gamma"), (("--eta", "1e300", "--gamma", "1e300"), "too large together"),
])
def test_train_refuses(argv, words):
    base = [a for a in TRAIN if a not in ("--steps", "3")]
    if "--N" in argv:
        base = [a for a in base if a not in ("--N", "96")]
    assert words in refused(*base, *argv)


def test_an_interrupted_train_prints_what_it_has(monkeypatch):
    from recall_theory.simulate import further_training as module

    steps = iter(range(100))
    taken = module.descend

    def stopped(loss, gradient, x):
        for point in taken(loss, gradient, x):
            if next(steps) == 4:  # in the second seed
                raise KeyboardInterrupt
            yield point

    monkeypatch.setattr(module, "descend", stopped)
    code, out, err = call(*TRAIN, "--json")
    assert code == 130
    found = json.loads(out)
    assert found["interrupted"] is True and found["seeds"] == 1 and len(found["stages"]) == 5
    assert "--seed 1 repeats them" in err
