"""`compare` and `train` on the command line: contracts, refusals, narrow terminals, interrupts."""

from __future__ import annotations

import csv
import io
import json

import pytest
from command_line import answer, call, refused

TRAIN = ["train", "--V", "16", "--L", "2", "--d", "8", "--N", "96", "--steps", "3", "--seeds", "2", "--seed", "1",
         "--n-test", "32"]


def test_compare_json():
    found = answer("compare", "--d", "128", "--rank", "32")
    assert (found["schema_version"], found["d"], found["facts"], found["target"]) == (1, 128, None, 0.99)
    for row in found["memories"]:
        assert {"name", "criterion", "facts", "d", "parameters", "facts_per_parameter", "law", "leading", "provenance",
                "reference"} <= set(row)
        assert row["provenance"] in ("derived", "kin", "quoted")
    from recall_theory.theory.memories import compare_memories

    expected = [r.to_dict() for r in compare_memories(d=128, rank=32).memories]
    assert found["memories"] == json.loads(json.dumps(expected))


def test_compare_simulates_its_hebbian_rows():
    argv = ("compare", "--d", "32", "--target", "0.8", "--rank", "16", "--seeds", "40", "--seed", "3")
    found = answer(*argv)
    assert (found["seed"], found["seeds"]) == (3, 40)
    rows = [r for r in found["memories"] if "observed" in r]
    assert len(rows) == 5
    for r in rows:  # six standard errors, and a margin for few facts: false alarms below 1e-6
        assert abs(r["observed"]["mean"] - r["predicted"]) < 0.03 + 6 * r["observed"]["se"]
    assert answer(*argv) == found


def test_compare_for_zipfs_facts():
    found = answer("compare", "--d", "64", "--zipf", "2", "--samples", "1e5")["zipf"]
    assert found["own"]["stored"] > found["shared"]["stored"]
    assert found["exponents"]["threshold, shared outputs"] == 1
    assert 0 < found["unseen"] < 0.01


def test_compare_answers_for_a_trillion_facts():
    found = answer("compare", "--facts", "10^12")
    assert all(row["facts"] == 10**12 and row["d"] > 10**6 for row in found["memories"])


@pytest.mark.parametrize("argv, words", [
    ((), "--d"), (("--d", "8", "--facts", "9"), "one of the two"), (("--d", "0"), "from 1 to 1e+09"),
    (("--facts", "1"), "from 2 to 1e+15"), (("--d", "8", "--rank", "9"), "--rank 9 is above --d 8"),
    (("--facts", "8", "--zipf", "2"), "--zipf needs --d"), (("--d", "8", "--samples", "9"), "--zipf"),
    (("--d", "64", "--zipf", "1"), "--zipf"), (("--d", "64", "--zipf", "2", "--classes", "17"), "--classes"),
    (("--d", "1e6", "--seeds", "2"), "leave --seeds out"), (("--d", "nan"), "--d"),
    (("--d", "8", "--target", "1"), "--target"),
])
def test_compare_refuses(argv, words):
    assert words in refused("compare", *argv)


@pytest.mark.parametrize("columns", [40, 60, 100])
@pytest.mark.parametrize("argv", [["compare", "--facts", "1e12"], TRAIN])
def test_no_number_is_cut_at_any_width(argv, columns):
    _, wide, _ = call(*argv)
    code, out, _ = call(*argv, columns=columns)
    assert code == 0
    assert max(len(line) for line in out.splitlines()) <= columns
    if argv[0] == "compare":
        for number in ("9,478,480", "15,002,539", "1,000,000,000,000"):
            assert number in wide and number in out


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
    from recall_theory.simulate import full_training as module

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
