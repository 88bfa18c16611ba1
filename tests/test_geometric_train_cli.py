"""`geometric train` and `geometric transfer` as people and scripts meet them."""

from __future__ import annotations

import csv
import io
import json
import random

import numpy as np
import pytest
from test_cli import answer, call, refused
from test_cli_fuzz import GARBAGE, check, value_of

from recall_theory.geometric import geometric_training as run
from recall_theory.geometric.geometric_setting import TRAINING_PARAMETERS as PARAMETERS
from recall_theory.old_cli.geometric import train as train_command
from recall_theory.old_cli.geometric import transfer as transfer_command
from recall_theory.report.geometric.train import TRAIN, TRANSFER
from recall_theory.simulate.observation import Interrupted

SMALL = ["--N", "16", "--R", "2", "--steps", "20", "--seeds", "2", "--seed", "1"]
TABLES = {"train": TRAIN, "transfer": TRANSFER}


def measures(kind):
    return [name for table in TABLES[kind].values() for name in table]


@pytest.mark.parametrize("kind", TABLES)
def test_json(kind):
    found = answer("geometric", kind, *SMALL)
    assert (found["schema_version"], found["seed"], found["seeds"]) == (1, 1, 2)
    assert set(found["setting"]) == set(PARAMETERS)
    assert set(found["observed"]) == set(measures(kind))
    for seen in found["observed"].values():
        assert len(seen["values"]) == 2
        assert seen["mean"] == pytest.approx(np.mean(seen["values"]))
        assert seen["interval"] == [None, None] or seen["interval"][0] <= seen["mean"] <= seen["interval"][1]


@pytest.mark.parametrize("kind", TABLES)
def test_csv_has_a_row_a_seed(kind):
    code, out, err = call("geometric", kind, *SMALL, "--csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert (code, err, len(rows)) == (0, "", 2)
    seen = answer("geometric", kind, *SMALL)["observed"]
    assert all([float(row[m]) for row in rows] == seen[m]["values"] for m in measures(kind))


@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.parametrize("columns", [40, 80])
def test_every_measure_is_in_the_table(kind, columns):
    code, out, err = call("geometric", kind, *SMALL, columns=columns)
    assert (code, err) == (0, "")
    assert all(len(line) <= columns for line in out.splitlines())
    assert out.count("mean") >= len(TABLES[kind])
    assert all(rows[m].split()[0] in out for rows in TABLES[kind].values() for m in rows)


def test_one_relation_has_no_others():
    one = ["--N", "8", "--R", "1", "--steps", "5", "--seeds", "1", "--seed", "0"]
    seen = answer("geometric", "train", *one)["observed"]
    assert seen["relation_swapped"]["mean"] is None and seen["relation_swapped"]["values"] == [None]
    assert seen["recall"]["se"] is None


@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.parametrize("argv, words", [
    (["--N", "1"], ["--N", "'1'", "from 2"]),
    (["--N", "nan"], ["--N", "'nan'"]),
    (["--R", "0"], ["--R", "'0'", "from 1"]),
    (["--d", "-4"], ["--d", "'-4'"]),
    (["--code-length", "1"], ["--code-length", "'1'", "from 2"]),
    (["--noise", "-1"], ["--noise", "'-1'"]),
    (["--steps", "1e9"], ["--steps", "'1e9'"]),
    (["--rate", "3"], ["--rate", "'3'"]),
    (["--N", "10000", "--R", "3"], ["--N", "is the most"]),
    (["--seeds", "0"], ["--seeds", "from 1"]),
    (["--jobs", "0"], ["--jobs"]),
])
def test_bad_input_is_one_line(kind, argv, words):
    line = refused("geometric", kind, *argv)
    assert all(word in line for word in words), line


def test_ctrl_c_keeps_what_was_finished(monkeypatch):
    whole = run.train

    def interrupted(setting, seeds, seed, **more):
        raise Interrupted(whole(setting, 1, seed))

    monkeypatch.setattr("recall_theory.geometric.geometric_training.train", interrupted)
    code, out, err = call("geometric", "train", *SMALL, "--json")
    found = json.loads(out)
    assert code == 130 and found["interrupted"] and found["seeds"] == 1
    assert "1 of 2 seeds" in err and "--seed 1" in err


@pytest.mark.parametrize("command", [train_command.command, transfer_command.command], ids=TABLES)
def test_any_command_line_ends_as_documented(command, monkeypatch, tmp_path):
    # The training itself is left out: what is tested is what lies around it.
    names = measures(command.name)
    for one in ("train_one", "transfer_one"):
        monkeypatch.setattr(run, one, lambda setting, seed, index: dict.fromkeys(names, 1 / (2 + index)))
    monkeypatch.chdir(tmp_path)
    rng = random.Random(0)
    codes = []
    for _ in range(120):
        argv = ["geometric", command.name]
        wildness = rng.choice([0.0, 0.05, 0.3])
        for param in command.params:
            if rng.random() < 0.75 or param.name == "jobs":
                continue
            if param.is_flag:
                argv.append(param.opts[0])
            else:
                argv += [param.opts[0], value_of(param, rng, {"output": ["out"]}, wildness)]
        if rng.random() < wildness:
            argv.append(rng.choice(GARBAGE))
        codes.append(check(argv))
    assert 20 < codes.count(0) < 110
