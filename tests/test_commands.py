"""What each command answers: the contract of its JSON and CSV, its words, what it refuses, and how wide it is."""

from __future__ import annotations

import csv
import dataclasses
import importlib
import io
import itertools
import json
import re
import shlex
from pathlib import Path

import numpy as np
import pytest
from command_line import answer, call, csv_rows, read_json, refused
from support import ROOT, VALIDATION, stops_after
from test_cli import PREDICT, SIMULATE

from recall_theory import Setting, predict
from recall_theory.settings import OBSERVABLES
from recall_theory.simulate import workers
from recall_theory.theory.domain import remarks
from recall_theory.theory.predict import LAW
from recall_theory.verification.problem import load_grid

CAPACITY = ["capacity", "--d", "128", "--L", "4", "--ratio", "1e4"]
MANY_FACTS = ["capacity", "--d", "256", "--L", "64"]  # where predictions are quick
BOUNDS = ["bounds", "--V", "64", "--L", "4", "--d", "32", "--N", "2048"]
DECODERS = ["bounds", "--decoders", "--V", "24", "--L", "6", "--d", "12", "--points", "2", "--seeds", "2",
            "--seed", "1"]
EMBEDDINGS = ["compare", "embeddings", "--d", "16", "--L", "1", "--points", "2", "--seeds", "2", "--seed", "1",
              "--target", "0.3"]
ACTIVATIONS = ["compare", "activations", "--V", "64", "--L", "8", "--d", "32", "--N", "4096", "--m", "64",
               "--activation", "relu", "--activation", "x**3-3*x"]
PHASE = ["phase", "--x", "N=2^10..2^12", "--y", "d=16..64", "--V", "64", "--L", "4", "--cells", "3x2", "--points", "1",
         "--seeds", "2", "--seed", "1"]
SOLVE = ["solve", "--for", "N", "--V", "64", "--L", "4", "--d", "128", "--target", "0.9"]
GEOMETRIC_GRID = ("[[cell]]\nN = 20\nR = 2\nd = 60\ncode_length = 20\nhops = 2\nchain_of_thought = true\n"
                  "[[cell]]\nN = 20\nR = 2\nconstruction = 'exact'\n")
GRID = "[[cell]]\nV = 16\nL = 2\nd = 64\nN = 512\n[[cell]]\nV = 32\nL = 4\nd = 64\nN = 1024\n"
VERIFY = ["verify", "--grid", "grid.toml", "--seeds", "4", "--seed", "1", "--jobs", "1"]
SWEEP = ["sweep", "--scan", "d=16,32", "--scan", "L=2,4", "--V", "16", "--N", "128", "--seeds", "2", "--seed", "1"]
SCALING = ["scaling", "--of", "N", "--in", "V", "--values", "12,24", "--L", "2", "--d", "32", "--seeds", "8",
           "--seed", "1"]
TRAIN = ["train", "--V", "16", "--L", "2", "--d", "16", "--N", "128", "--steps", "100", "--seeds", "2", "--seed", "1"]
CODES = ["--N", "100", "--R", "4", "--code-length", "16", "--d", "64"]
NETWORK = ["geometric", "train", "--N", "16", "--R", "2", "--steps", "20", "--seeds", "2", "--seed", "1"]

# A quick case of each command -> the rows of its CSV.
CASES = {
    "predict": (PREDICT, 1), "simulate": (SIMULATE, 3), "capacity": (CAPACITY, 1), "solve": (SOLVE, 1),
    "bounds": (BOUNDS, 7), "bounds --decoders": (DECODERS, 2), "phase": (PHASE, 6), "verify": (VERIFY, 6),
    "compare": (["compare", "--d", "32", "--rank", "16"], 11), "compare by facts": (["compare", "--facts", "1e12"], 10),
    "compare embeddings": (EMBEDDINGS, 5), "compare activations": (ACTIVATIONS, 3),
    "sweep": (SWEEP, 8), "scaling": (SCALING, 2), "train": (TRAIN, 2),
    "geometric predict": (["geometric", "predict", *CODES], 1),
    "geometric simulate": (["geometric", "simulate", *CODES, "--seeds", "3", "--seed", "1"], 3),
    "geometric verify": (["geometric", "verify", "--grid", "geometric.toml", *VERIFY[3:]], 2),
    "geometric capacity": (["geometric", "capacity", "--N", "4096", "--R", "8", "--details"], 7),
    "geometric hops": (["geometric", "hops", "--N", "1024", "--R", "4", "--hops", "3"], 7),
    "geometric construct": (["geometric", "construct", "--N", "5", "--R", "2", "--seed", "1"], 1),
    "geometric train": (NETWORK, 2), "geometric train --transfer": ([*NETWORK, "--transfer"], 2),
    "formulas": (["formulas"], None), "formula": (["formulas", "bound.bits.capacity"], 1), "cite": (["cite"], 3),
}
WITH_A_LAW = [name for name in CASES if {"predict", "capacity", "verify", "sweep"} & set(name.split())]
NUMBER = re.compile(r"[-+]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?")


@pytest.fixture(autouse=True)
def small_grid(tmp_path, monkeypatch):
    """A grid of two quick cells for each model, in the folder in which commands run."""
    (tmp_path / "grid.toml").write_text(GRID)
    (tmp_path / "geometric.toml").write_text(GEOMETRIC_GRID)
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("computed_once")
@pytest.mark.parametrize("name", CASES)
def test_json_csv_and_every_width(name):
    argv, rows = CASES[name]
    code, out, err = call(*argv, "--json")
    assert code in (0, 1, 3) and err == ""
    data = read_json(out)
    assert data["schema_version"] == 2 and data.get("law") == (LAW if name in WITH_A_LAW else None)
    csv_code, out, err = call(*argv, "--csv")
    table = list(csv.DictReader(io.StringIO(out)))
    assert (csv_code, err) == (code, "") and (rows is None or len(table) == rows)
    assert all(None not in row and None not in row.values() for row in table)
    assert not re.search(r"\bnan\b", out.lower())

    piped, numbers = call(*argv)[1], set()
    has_details = "--details shows the rest" in " ".join(piped.split())
    assert has_details == (len(call(*argv, "--details")[1]) > len(piped) + 50)
    for columns in (120, 80, 40):
        text = call(*argv, columns=columns)[1]
        assert "…" not in text
        assert name in ("cite", "formulas", "formula") or max(map(len, text.splitlines())) <= columns
        numbers = numbers or set(NUMBER.findall(text))
        assert set(NUMBER.findall(text)) == numbers == set(NUMBER.findall(piped))
        # A table has a rule; where it doesn't fit it is a list. At 80 columns every comparison fits.
        if columns == 80 and name not in ("cite", "formula"):
            assert text.count("───") and not re.search(r"(?m)^  \w[\w /]*: ", text)


# Contracts


def test_predict_is_the_librarys():
    found, expected = answer(*PREDICT), predict(Setting(V=64, L=4, d=128, N=8192)).to_dict()
    assert {k: found[k] for k in expected} == json.loads(json.dumps(expected))
    assert len(found["factors_of_two"]) == 8 and {law["size"] for law in found["laws"]} == {"V", "d", "N"}


def test_simulate_json():
    found = answer(*SIMULATE)
    assert (found["seed"], found["seeds"]) == (1, 3) and "interrupted" not in found
    for o in OBSERVABLES:
        observed = found["observed"][o]
        assert observed["mean"] == pytest.approx(np.mean(observed["values"]))
        assert observed["se"] == pytest.approx(np.std(observed["values"], ddof=1) / np.sqrt(3))
    assert [float(row["recall"]) for row in csv_rows(*SIMULATE)] == found["observed"]["recall"]["values"]
    assert answer(*SIMULATE, "--jobs", "2")["observed"] == found["observed"]


def test_simulate_with_one_seed_has_no_error_and_with_finite_rates_a_weight():
    found = answer(*[a if a != "3" else "1" for a in SIMULATE], "--eta", "1e-3", "--gamma", "1e6")
    assert found["seeds"] == 1 and found["observed"]["recall"]["interval"] == [None, None]
    assert all(found["observed"][o]["se"] is None for o in OBSERVABLES)
    assert found["setting"]["eta"] == 1e-3
    assert 0 < found["observed"]["attention_weight"]["mean"] <= 1 and 0 < found["predicted"]["attention_weight"] <= 1


def test_own_embeddings():
    rng = np.random.default_rng(0)
    np.save("embeddings.npy", rng.standard_normal((2, 64, 128)) / np.sqrt(128))
    assert "z_in" in answer(*SIMULATE, "--embeddings", "embeddings.npy")["embeddings"]
    assert "Your embeddings" in call(*SIMULATE, "--embeddings", "embeddings.npy", "--normalise", "rows")[1]
    assert "shape" in refused(*[a if a != "64" else "65" for a in SIMULATE[:-2]], "--embeddings", "embeddings.npy")


def test_capacity_has_rows_where_there_is_something_to_say():
    rows = answer(*MANY_FACTS)["rows"]
    least = rows[0]["ratio"]
    assert [row["ratio"] for row in rows] == [least, 4 * least, 16 * least, None]
    assert np.log2(least) == round(np.log2(least)) and rows[0]["V"] >= 16
    for row in rows:
        assert row["accuracy"] >= 0.99 and (row["V_seeds"][0] or 0) <= row["V"] <= row["V_seeds"][1]
    half = answer(*MANY_FACTS, "--ratio", str(least / 2))["rows"][0]
    assert half["V"] is None or half["V"] < 16


@pytest.mark.parametrize("options, expected", [
    (["--N", "2^14"], [2**14]), (["--ratio", "100", "--ratio", "1e4"], [100, 1e4]),
])
def test_capacity_at_given_budgets(options, expected):
    found = answer("capacity", "--d", "128", "--L", "4", "--target", "0.5", *options)
    assert [row["N" if "--N" in options else "ratio"] for row in found["rows"]] == expected
    assert found["bounds"]["orthogonal"]["V"] == 128 and {"bits", "best_linear_memory"} <= set(found["bounds"])


def test_capacity_is_null_where_no_V_will_do():
    argv = [*MANY_FACTS, "--ratio", "0.5", "--target", "0.999"]
    assert answer(*argv)["rows"][0]["V"] is None
    assert "no V reaches an accuracy of 0.999" in " ".join(call(*argv)[1].split())
    few = answer("capacity", "--d", "8", "--L", "4", "--embedding", "orthogonal")["rows"]
    assert [row["ratio"] for row in few] == [None] and (few[0]["V"] or 0) < 16


@pytest.mark.usefixtures("computed_once")
def test_capacity_answers_in_its_first_ten_lines():
    text = call(*MANY_FACTS, columns=80)[1]
    rows = answer(*MANY_FACTS)["rows"]
    first = " ".join(text.splitlines()[:10])
    for row in rows:
        assert f"{row['V']:,}" in first and (row["N"] is None or f"{row['N']:,} samples" in first)
    assert all(f"is {row['limited_by']} (" in first for row in (rows[0], rows[-1]))
    assert f"from about L = {rows[0]['longest_L']:,}" in first
    assert "leading law" not in text and "none" not in text
    details = call(*MANY_FACTS, "--details", columns=80)[1]
    assert details.startswith(text.rpartition(" --details")[0].rstrip()[:600])
    assert "leading laws" in details and "outside its regime" in details and "other memories" in details
    assert "e+" not in details


@pytest.mark.parametrize("sizes, says", [
    (["--d", "256", "--L", "64"], "costs no samples: below N/V = 64 recall fails at any length"),
    (["--d", "256", "--L", "1024"], "costs samples: below N/V = 512 attention fails. It costs no facts at N/V = 512"),
    (["--d", "16", "--L", "3", "--ratio", "64", "--target", "0.7"], "L = 3 costs facts at N/V = 64: attention misses"),
    (["--d", "64", "--L", "1e9", "--ratio", "1e9"], "None: no V reaches"),
])
def test_capacity_says_what_the_length_costs(sizes, says):
    assert says in " ".join(call("capacity", *sizes)[1].split())


def test_a_capacity_of_many_facts_is_a_table():
    text = call("capacity", "--d", "1e9", "--L", "64", "--ratio", "4096", columns=80)[1]
    assert "───" in text and "4.823e+10" in text
    assert re.search(r" 48,234,4\d\d,\d{3} facts from ", " ".join(text.split()))  # the rest is the machine's rounding


def test_every_limit_is_said_in_words():
    from recall_theory.commands.capacity import IN_WORDS
    from recall_theory.theory.phase import family

    base = {"V": 32, "L": 8, "d": 32, "N": 1024}
    for more in ({}, {"m": 64}, {"embedding": "orthogonal"}, {"trigger_in_value": False}):
        for step, terms in predict(Setting(**base, **more)).terms.items():
            assert all(family(name) in IN_WORDS for name in terms), (step, list(terms))
    assert "facts never seen" in IN_WORDS


def test_a_target_near_one_is_shown_in_full():
    for argv in (["capacity", "--d", "64", "--L", "4", "--ratio", "64"], SOLVE[:-2], ["compare", "--d", "16"]):
        assert "0.9999999999999999" in call(*argv, "--target", "0.9999999999999999")[1]


def test_solve_is_exact():
    found = answer(*SOLVE)
    assert found["answer"] == found["interval"]["low"] and found["predicted"]["accuracy"] >= 0.9
    one_less = answer("predict", *SOLVE[3:9], "--N", str(found["answer"] - 1))
    assert one_less["predicted"]["accuracy"] < 0.9
    assert answer("solve", "--for", "N", "--V", "1e6", "--L", "8", "--d", "4")["interval"] is None


def test_compare_is_compare_memories():
    found = answer("compare", "--d", "128", "--rank", "32")
    assert found == answer("compare", "memories", "--d", "128", "--rank", "32")
    assert (found["d"], found["facts"], found["target"]) == (128, None, 0.99)
    from recall_theory import compare_memories

    assert found["memories"] == json.loads(json.dumps([m.to_dict() for m in compare_memories(d=128, rank=32).memories]))
    assert all(row["d"] > 10**6 for row in answer("compare", "--facts", "10^12")["memories"])


def test_compare_simulates_its_hebbian_rows():
    argv = ("compare", "--d", "32", "--target", "0.8", "--rank", "16", "--seeds", "40", "--seed", "3")
    found = answer(*argv)
    rows = [row for row in found["memories"] if "observed" in row]
    assert (found["seed"], found["seeds"], len(rows)) == (3, 40, 5)
    for row in rows:  # six standard errors, and a margin for few facts: false alarms below 1e-6
        assert abs(row["observed"]["mean"] - row["predicted"]) < 0.03 + 6 * row["observed"]["se"]
    assert answer(*argv) == found


def test_compare_for_zipfs_facts():
    argv = ("compare", "--d", "64", "--zipf", "2", "--samples", "1e5")
    found = answer(*argv)["zipf"]
    assert found["own"]["stored"] > found["shared"]["stored"]
    assert found["exponents"]["threshold, shared outputs"] == 1 and 0 < found["unseen"] < 0.01
    assert "How the error falls" in call(*argv)[1]


def test_compare_activations_names_them():
    assert {c["name"] for c in answer(*ACTIVATIONS)["activations"]} == {"relu", "x ** 3 - 3 * x", None}
    assert "Best:" in call(*ACTIVATIONS)[1]
    assert call(*ACTIVATIONS, "--no-attention-only", "--csv")[1].count("\n") == 3


def test_train_prints_what_simulate_does_and_goes_on_from_a_file(tmp_path, monkeypatch):
    found = answer(*TRAIN)
    assert found["rung"] == "4" and found["steps"] == [100, 100] and found["seeds"] == 2
    assert {"attention", "recall", "accuracy", "loss", "training_accuracy"} <= set(found["observed"])
    assert found["facts_per_parameter"] == pytest.approx(found["observed"]["recall"]["mean"] * 16 / 272)
    module = importlib.import_module("recall_theory.training.trainer")
    kept = [*TRAIN, "--resume", str(tmp_path / "training.npz")]

    def stopped(training, progress=None):
        training.state = training._advance(training.state, training.data, training.keys, 50)
        training._save()
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(module.Training, "run", stopped)
        code, out, err = call(*kept, "--json")
    assert code == 130 and "50 steps of 2 of 2 seeds; --seed 1 repeats them, with --resume" in err
    assert json.loads(out)["interrupted"] is True and json.loads(out)["steps"] == [50, 50]
    assert answer(*kept)["observed"]["loss"] == found["observed"]["loss"]
    assert "holds a training of another rung" in refused(*kept, "--rate", "2")


def test_the_ladder_shows_every_rung_beside_the_law(tmp_path):
    store = tmp_path / "rows.jsonl"
    argv = ["ladder", "--rung", "1", "--rung", "3", "--V", "16", "--L", "2", "--d", "8", "--ratio", "8", "--seeds", "2",
            "--steps", "50", "--seed", "1", "--store", str(store)]
    found = answer(*argv)
    assert [x["rung"] for x in found["rungs"]] == ["1", "3"] == [row["rung"] for row in found["rows"]]
    store.write_text(store.read_text()[:-9])  # a kill left the last line unfinished
    assert [row["rung"] for row in answer(*argv)["rows"]] == ["1", "3"]
    assert len(store.read_text().splitlines()) == 2 and answer(*argv)["rungs"] == found["rungs"]
    assert "full-batch" in call(*argv, columns=160)[1]


def test_the_ladders_grids_are_those_of_sweep_and_the_study(tmp_path):
    rows, store = (VALIDATION / "ladder.jsonl").read_bytes(), tmp_path / "rows.jsonl"
    store.write_bytes(rows)
    study = ["ladder", "--grid", "study", "--seeds", "8", "--steps", "1000", "--seed", "1", "--store", str(store)]
    assert [x["settings"] for x in answer(*study)["rungs"]] == [42] * 9 and store.read_bytes() == rows
    assert "leave --scan" in refused(*study, "--scan", "d=8,16")
    assert "--m 8: the ladder is of the Attention-only model" in refused(
        "ladder", "--scan", "m=8", "--V", "4", "--L", "2", "--d", "4", "--N", "9")
    assert "not one of default, full, attention-only, mlp, small, study nor a file" in refused("ladder", "--grid", "x")


def test_a_file_that_cannot_be_written_is_said_before_the_work(tmp_path):
    missing = str(tmp_path / "missing" / "file")
    for argv in (["ladder", "--store", missing], [*TRAIN, "--resume", missing]):
        assert "can't be written: No such file or directory" in refused(*argv)
    (tmp_path / "notes").write_text("mine")
    assert "is no file of the ladder: line 1" in refused("ladder", "--store", str(tmp_path / "notes"))
    assert (tmp_path / "notes").read_text() == "mine"


def test_without_jax_training_says_what_to_install(monkeypatch):
    trainer = importlib.import_module("recall_theory.training.trainer")
    monkeypatch.setattr(trainer.importlib.util, "find_spec", lambda name: None)
    assert all("pip install 'recall-theory[train]'" in refused(*argv) for argv in (TRAIN, ["ladder"]))


# Verify


def test_verify_says_its_verdict_first():
    code, out, err = call(*VERIFY, "--json")
    found = read_json(out)
    assert err == "" and code == {"agree": 0, "disagree": 1, "inconclusive": 3}[found["verdict"]]
    assert found["seed"] == 1 and len(found["cells"]) == 2
    for cell in found["cells"]:
        assert all(set(OBSERVABLES) <= set(cell[part]) for part in ("predicted", "observed", "difference", "verdict"))
    text = call(*VERIFY)[1]
    assert text.startswith(f"Verdict on the theory: {found['verdict']}.")
    assert "design effect" not in text and "design" in call(*VERIFY, "--details")[1]


LONG = """
[[cell]]
V = 512
L = 1024
d = 1024
N = 1000000
m = 16384
embedding = "sphere"
trigger_in_value = false
activation = "x*tanh(x)"
[[cell]]
V = 512
L = 64
d = 1024
N = 1000000
m = 16384
activation = "x + max(0, x)"
"""


@pytest.fixture
def figures(monkeypatch):
    """Every seed shows the same, and the predictions are these figures in turn, some as wide as any: to predict whole
    grids would take minutes.
    """
    monkeypatch.setattr(workers, "ordered_map",
                        lambda work, tasks, jobs: ((1.0, 0.00312, 4.2e-7) for _ in tasks))
    one, figures = predict(Setting(V=16, L=2, d=64, N=512)), [(0.99987, 0.931, 1e-7)]

    def predictions(_, settings, jobs):
        return [dataclasses.replace(one, setting=setting, **dict(zip(OBSERVABLES, shown, strict=True)))
                for setting, shown in zip(settings, itertools.cycle(figures), strict=False)]

    monkeypatch.setattr("recall_theory.verification.engine.predictions_of", predictions)
    return figures


@pytest.mark.parametrize("grid", ["default", "mlp", "full", "longest"])
def test_verify_prints_one_line_a_cell(grid, figures):
    if grid != "longest":
        figures[:] = itertools.product((0.99987, 0.0468), (0.1234, 4.2e-7, 0.00312), (0.99987, 3.1e-9, 0.0468))
    Path("grid.toml").write_text(LONG)
    file = "grid.toml" if grid == "longest" else grid
    settings = load_grid(file)
    cells, outside = len(settings), sum(map(bool, map(remarks, settings)))
    run = ["verify", "--grid", file, "--seeds", "2", "--seed", "1", "--jobs", "1"]
    code, out, _ = call(*run, columns=80)
    lines = out.splitlines()
    assert code in (1, 3) and len(lines) <= cells + 15 + 5 * min(outside, 1) and max(map(len, lines)) <= 80
    assert grid != "default" or len(lines) <= 61  # one of them for the groups, for all are biased
    assert len(re.findall(r"(?m)/.* (?:agree|disagree|inconclusive)$", out)) == cells - outside
    assert len(re.findall(r"(?m)/.* (?:agree|disagree|inconclusive)[*]$", out)) == outside
    assert len(re.findall("/1[.]00 .*/[.]0031 .*/4e-7", out)) == cells
    assert "Variants: " not in out or grid != "default"

    lines = call(*run, "--details", columns=80)[1].splitlines()[len(lines) - 1:]
    assert max(map(len, lines)) <= 80 and len(lines) <= 4 * (cells + 5) + 50 and "  verdict:" not in lines
    for observable in OBSERVABLES:
        heading = lines.index(observable.capitalize())
        assert lines[heading + 1].split()[:3] == ["cell", "predicted", "observed"]
        assert [row.split()[0] for row in lines[heading + 4:][:cells]] == [str(i + 1) for i in range(cells)]
    assert any(line.startswith("Bias over the grid") for line in lines) == (grid != "longest")


def test_verify_takes_sixty_lines_where_nothing_is_biased(figures):
    figures[:] = [(1.0, 0.00312, 4.2e-7)]
    out = call("verify", "--seeds", "40", "--seed", "1", "--jobs", "1", columns=80)[1]
    assert len(out.splitlines()) <= 60
    assert "of 18 biases within the margin" in " ".join(out.split())


def test_the_widest_line_of_an_unchecked_cell_fits(figures):
    """It is one column wider, for the mark: a list then, whole."""
    Path("grid.toml").write_text(LONG.replace("x*tanh(x)", "x**11"))
    out = call("verify", "--grid", "grid.toml", "--seeds", "2", "--seed", "1", "--jobs", "1", columns=80)[1]
    assert max(map(len, out.splitlines())) <= 80 and out.count("inconclusive*") == 1


@pytest.mark.parametrize("more, words", [
    (["--seeds", "4"], r"Verdicts take some [\d,]+ seeds a cell; here 4\."),
    (["--seeds", "4", "--until", "conclusive"], "More than 4 seeds a cell may decide what is inconclusive"),
])
def test_verify_says_what_a_verdict_would_take(more, words):
    code, out, _ = call(*VERIFY[:3], "--seed", "1", *more)
    assert code == 3 and re.search(words, " ".join(out.split())), out



def test_verify_exit_codes(monkeypatch):
    exact = {}
    many, one = ([a if a != "4" else n for a in VERIFY] for n in ("1000", "1"))
    monkeypatch.setattr(workers, "ordered_map", lambda work, tasks, jobs: ((0.0, 0.0, 0.0) for _ in tasks))
    assert call(*VERIFY)[0] == 1

    def as_predicted(work, tasks, jobs):
        for setting, *_ in tasks:
            known = exact.get(setting) or exact.setdefault(setting, predict(setting))
            yield tuple(getattr(known, o) for o in OBSERVABLES)

    monkeypatch.setattr(workers, "ordered_map", as_predicted)
    assert call(*many)[0] == 0
    assert call(*VERIFY)[0] == 3  # failures too rare for four seeds may exist
    assert call(*one)[0] == 3  # one seed decides nothing


@pytest.mark.parametrize("more, seeds, cells, words", [
    ([], 5, 1, "1 of 2 cells"), (["--until", "conclusive"], 96, 2, "2 of 2 cells, before all had their seeds"),
])
def test_an_interrupted_verification_keeps_its_cells(more, seeds, cells, words, monkeypatch):
    monkeypatch.setattr(workers, "ordered_map", stops_after(seeds, (1.0, 1.0, 1.0)))
    run = [*VERIFY[:3], "--seed", "1", "--jobs", "1", *(more or ["--seeds", "4"])]
    code, out, err = call(*run, "--json")
    assert code == 130 and f"after {words}; --seed 1 repeats them" in err
    assert len(json.loads(out)["cells"]) == cells
    first, verdict = call(*run)[1].split("\n\n")[:2]
    assert " ".join(first.split()) == f"Interrupted after {words}; --seed 1 repeats them."
    assert verdict.startswith("Verdict on")


def test_verify_judges_a_formula_of_ones_own(tmp_path):
    law = tmp_path / "law.txt"
    law.write_text("recall = 1/V  # chance\n")
    run = [*[a if a != "4" else "30" for a in VERIFY], "--predictor", str(law)]
    code, out, err = call(*run, "--json")
    found = json.loads(out)
    assert (code, err, found["verdict"], found["predictor"]) == (1, "", "disagree", str(law))
    assert found["explanation"]["regimes"][0]["observable"] == "recall"
    assert [set(cell["verdict"]) for cell in found["cells"]] == [{"recall"}] * 2
    assert "The formula is furthest from the simulation where" in " ".join(call(*run)[1].split())
    law.write_text("recall = 2\n")
    assert "recall = 2.0" in refused(*run)


# Refusals


REFUSALS = [line.split("  =>  ") for line in (ROOT / "tests/data/refusals.txt").read_text().splitlines()[1:] if line]


@pytest.mark.parametrize("words, said", REFUSALS)
def test_bad_input_is_one_line_that_names_it(words, said):
    line = refused(*shlex.split(words))
    assert re.search(".*".join(map(re.escape, said.split(" ... "))), line), line


@pytest.mark.parametrize("argv, said", [
    (["predict", "--V", "6\n4", *PREDICT[3:]], "--V"), (["verify", "--grid", "a\0b"], "--grid"),
    (["verify", "--grid", __file__], "--grid")])
def test_odd_names_and_values_are_refused_in_one_line(argv, said):
    assert said in refused(*argv)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 broken", b"\x93NUMPY\x01\x00", b"text"])
def test_broken_embeddings_are_one_line(content, tmp_path):
    (tmp_path / "embeddings.npy").write_bytes(content)
    line = refused(*SIMULATE, "--embeddings", "embeddings.npy")
    assert "--embeddings" in line and "pickle" not in line


def test_huge_sizes_are_fine_for_predictions():
    for argv in (["predict", "--V", "1e12", "--L", "64", "--d", "1e6", "--N", "1e14"],
                 ["capacity", "--d", "1e6", "--L", "64", "--ratio", "64"]):
        code, out, err = call(*argv)
        assert (code, err) == (0, ""), err
        assert "nan" not in out
