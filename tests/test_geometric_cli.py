"""`recall-theory geometric`: contracts, exit codes, refusals in one line, and what an interrupt keeps."""

from __future__ import annotations

import csv
import io
import json
import signal

import numpy as np
import pytest
from command_line import answer, call, csv_rows, refused

from recall_theory.commands.geometric_models import MEASURES, TRANSFER_MEASURES
from recall_theory.errors import interrupts_deferred
from recall_theory.geometric import Construction, GeometricTransformer, construct
from recall_theory.geometric.geometric_setting import TrainingSetting
from recall_theory.training.trainer import Training

NAMES = ("capacity", "predict", "construct", "simulate", "verify", "hops", "report", "train")
PREDICT = ("geometric", "predict", "--N", "100", "--R", "4", "--code-length", "16", "--d", "64")
SIMULATE = ("geometric", "simulate", *PREDICT[2:], "--seeds", "3", "--seed", "1")
TRAIN = ("geometric", "train", "--N", "16", "--R", "2", "--steps", "20", "--seeds", "2", "--seed", "1")
TRANSFER = (*TRAIN, "--transfer")
TRAINED = {TRAIN: MEASURES, TRANSFER: TRANSFER_MEASURES}


def measures(argv):
    return [name for table in TRAINED[argv].values() for name in table]


def test_the_group_lists_its_commands():
    code, out, err = call("geometric")
    assert (code, err) == (0, "") and all(f"  {name} " in out for name in NAMES)
    assert "did you mean verify?" in refused("geometric", "verfy")
    assert "geometric train --transfer" in refused("geometric", "transfer", "--N", "16")


def test_simulate_json_and_jobs():
    found = answer(*SIMULATE)
    values = found["observed"]["recall"]["values"]
    assert len(values) == 3 and found["observed"]["recall"]["mean"] == pytest.approx(np.mean(values))
    assert answer(*SIMULATE, "--jobs", "2")["observed"] == found["observed"]
    first = answer(*SIMULATE[:-2])
    assert answer(*SIMULATE[:-2], "--seed", str(first["seed"]))["observed"] == first["observed"]


def test_construct_prints_and_writes(tmp_path):
    run = ("geometric", "construct", "--N", "12", "--R", "3", "--hops", "2", "--route", "middle", "--seed", "1")
    found = answer(*run)
    assert (found["d"], found["width"], found["recall"], found["queries"]) == (18, 72, 1, 108)
    assert found["margin"] == found["margin_predicted"] == 2
    file = tmp_path / "weights.npz"
    assert call(*run, "--output", str(file))[0] == 0
    with np.load(file) as arrays:
        weights = construct(Construction(N=12, R=3, hops=2, route="middle"), arrays["facts"]).weights()
        assert set(arrays) == {"facts", *weights} and all(np.array_equal(arrays[name], weights[name])
                                                          for name in weights)
    assert "takes the weights" in refused(*run, "--json", "--output", str(file))


def test_what_is_too_large_to_run_has_its_sizes():
    found = answer("geometric", "construct", "--N", "4096", "--R", "16", "--hops", "4")
    assert found["d"] == 12 * 16**4 + 64 and found["recall"] is None and "are run" in found["not_run"]


def test_verify_says_the_verdict_first(tmp_path):
    file = tmp_path / "grid.toml"
    file.write_text("[[cell]]\nN = 20\nR = 2\nd = 60\ncode_length = 20\nhops = 2\nchain_of_thought = true\n"
                    "[[cell]]\nN = 20\nR = 2\nconstruction = 'exact'\n")
    run = ("geometric", "verify", "--grid", str(file), "--seeds", "4", "--seed", "4", "--jobs", "1")
    code, out, _ = call(*run, columns=80)
    lines = out.splitlines()
    assert code == 3 and lines[0].startswith("Verdict on the theory of geometric recall: inconclusive")
    assert any(line.split()[:4] == ["20", "2", "20", "60"] and "2 hops with chain of thought" in line for line in lines)
    assert any(line.split()[3:6] == ["12", "exact", "construction"] for line in lines) and "±" not in out
    assert "±" in call(*run, "--details", columns=80)[1]
    rows = list(csv.DictReader(io.StringIO(call(*run, "--csv")[1])))
    assert [row["N"] for row in rows] == ["20", "20"] and not {"margin", "observable"} & set(rows[0])


@pytest.mark.usefixtures("computed_once")
@pytest.mark.parametrize("argv", TRAINED, ids=["train", "transfer"])
def test_train_shows_every_measure(argv):
    data = answer(*argv)
    assert (data["seed"], data["seeds"]) == (1, 2)
    assert set(data["setting"]) == set(TrainingSetting.parameters) and set(data["observed"]) == set(measures(argv))
    for observed in data["observed"].values():
        assert len(observed["values"]) == 2 and observed["mean"] == pytest.approx(np.mean(observed["values"]))
        low, high = observed["interval"]
        assert low is high is None or low <= observed["mean"] <= high

    rows = csv_rows(*argv)
    assert all([float(row[m]) for row in rows] == data["observed"][m]["values"] for m in measures(argv))
    text = call(*argv, columns=160)[1]
    assert all(title in text and words in text for title, table in TRAINED[argv].items() for words in table.values())


def test_interrupted_training_keeps_what_is_trained_and_goes_on(tmp_path, monkeypatch):
    """Ctrl-C at the first of two looks at the control."""
    argv = ("geometric", "train", "--N", "8", "--R", "2", "--hops", "2", "--d", "4", "--seeds", "1", "--seed", "1",
            "--steps", "60")
    whole = answer(*argv)["observed"]
    file, done = tmp_path / "training.npz", []
    advance = Training.run

    def some_chunks(training, progress):
        def stop(*told):
            done.append(told)
            if len(done) == 3:
                raise KeyboardInterrupt
        return advance(training, stop)

    monkeypatch.setattr(Training, "run", some_chunks)
    code, out, err = call(*argv, "--json", "--resume", str(file))
    assert code == 130 and set(json.loads(out)["observed"]) == {"recall", "frozen"} and "--seed 1 goes on" in err
    monkeypatch.undo()
    assert answer(*argv, "--resume", str(file))["observed"] == whole
    assert "of another" in refused(*argv[:-1], "50", "--resume", str(file))


@pytest.mark.parametrize("times, done", [(1, ["the block"]), (2, [])])
def test_the_first_interrupt_waits_for_compiled_code(times, done):
    ended = []

    @interrupts_deferred()
    def interrupted():
        for _ in range(times):
            signal.raise_signal(signal.SIGINT)
        ended.append("the block")

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert ended == done and signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_interrupted_queries_are_counted(monkeypatch):
    asked = []
    forward = GeometricTransformer.forward

    def some(model, tokens):
        asked.append(len(tokens))
        if len(asked) == 3:
            raise KeyboardInterrupt
        return forward(model, tokens)

    monkeypatch.setattr(GeometricTransformer, "forward", some)
    monkeypatch.setattr("recall_theory.geometric.construction.LOGITS_HELD", 10 * 12)
    code, out, err = call("geometric", "construct", "--N", "12", "--R", "3", "--hops", "2", "--route", "wide",
                          "--seed", "1", "--json")
    found = json.loads(out)
    assert (code, found["queries"], found["recall"], found["interrupted"]) == (130, 20, 1, True)
    assert "after 20 queries; --seed 1 repeats" in err


def test_one_relation_has_no_others():
    observed = answer("geometric", "train", "--N", "8", "--R", "1", "--steps", "5", "--seeds", "1")["observed"]
    assert observed["units_off_others"]["mean"] is None and observed["units_off_others"]["values"] == [None]
    assert observed["recall"]["se"] is None


def test_several_hops_show_recall_and_its_control():
    argv = ("geometric", "train", "--N", "8", "--R", "2", "--steps", "5", "--seeds", "1", "--hops", "2")
    for more in ((), ("--chain-of-thought",)):
        assert set(answer(*argv, *more)["observed"]) == {"recall", "frozen"}


@pytest.mark.parametrize("argv, words", [
    (("predict", "--R", "3"), "--N is missing: subjects"),
    (("predict", "--N", "10", "--R", "3"), "--d"),
    (("predict", "--N", "nan", "--R", "3"), "--N 'nan' is not an integer from 2"),
    (("predict", "--N", "10", "--R", "3", "--d", "4", "--code-length", "5"), "--d 4 is too small"),
    (("predict", "--N", "10", "--R", "3", "--d", "4", "--code-length", "1"), "--code-length 1 is too short"),
    (("predict", "--N", "10", "--R", "9", "--hops", "6", "--construction", "exact"), "100000 is the most allowed"),
    (("predict", "--N", "10", "--R", "9", "--construction", "exact", "--d", "5"), "exact construction takes 45"),
    (("capacity", "--N", "10"), "takes two of N, R and d"),
    (("capacity", "--N", "10", "--R", "2", "--target", "1"), "--target '1' is not a number above 0"),
    (("construct", "--N", "1e7", "--R", "30", "--output", "a.npz"), "too large to run"),
    (("construct", "--N", "10", "--R", "2", "--hops", "2", "--sets", "disjoint"), "contradict one another"),
    (("construct", "--N", "10", "--R", "2", "--route", "wide", "--bits", "2"), "codes of one-bit digits"),
    (("construct", "--N", "4000", "--R", "4", "--hops", "4", "--output", "a.npz"), "most that is written"),
    (("simulate", "--N", "1e9", "--R", "2", "--d", "50", "--code-length", "20"), "is the most"),
    (("verify", "--grid", "no/such/file"), "not one of default nor a file"),
    (("hops", "--N", "10"), "--R is missing"),
    (("train", "--hops", "5"), "--hops '5' is not an integer from 1"),
    (("train", "--transfer", "--N", "10000", "--R", "3"), "is the most"),
    (("train", "--seeds", "0"), "--seeds '0'"),
])
def test_bad_input_is_one_line(argv, words):
    assert words in refused("geometric", *argv)
