"""Sweeps: grids and their texts, the same bits for any number of workers, resuming, exports, the command line."""

from __future__ import annotations

import csv
import io
import math
import re

import numpy as np
import pytest
from command_line import answer, call, read_json, refused
from hypothesis import given
from hypothesis import strategies as st

from recall_theory.errors import Interrupted
from recall_theory.settings import PARAMETERS, Setting, SettingError
from recall_theory.simulate.run import one_seed, simulate
from recall_theory.sweep import (
    Store,
    SweepProblem,
    product,
    run_sweep,
    store_summary,
    sweep,
    sweep_results,
)
from recall_theory.sweep.store import gathered
from recall_theory.sweep.sweep_grid import load_plan, scan
from recall_theory.sweep.sweep_results import SIMULATION_VERSION
from recall_theory.theory.predict import predict
from recall_theory.verification.problem import load_grid, predictions_of

CELLS = product({"d": [4, 8, 16], "L": [2, 4]}, V=8, N=32)


# Grids


def test_a_grid_is_every_combination():
    cells = product({"V": [16, 32], "L": [2, 4, 8]}, d=8, ratio=4)
    assert len(set(cells)) == 6
    assert [(s.V, s.L, s.N) for s in cells[:4]] == [(16, 2, 64), (16, 4, 64), (16, 8, 64), (32, 2, 128)]


@pytest.mark.parametrize("text, expected", [
    ("d=64:512:x2", [64, 128, 256, 512]), ("d=64:500:x2", [64, 128, 256]), ("L=8,16,32", [8, 16, 32]),
    ("L=8:32:+8", [8, 16, 24, 32]), ("L=8:31:+8", [8, 16, 24]), ("N=2^10:2^12:x2", [1024, 2048, 4096]),
    ("d=16:64:x1.4142135623730951", [16, 23, 32, 45, 64]), ("m=none,64:128:x2", [None, 64, 128]),
    ("d=5,5", [5]), ("V=7:7:x3", [7]), ("embedding=gaussian,sphere", ["gaussian", "sphere"]),
    ("trigger_in_value=true,false", [True, False]), ("activation=none, relu", [None, "relu"]),
    ("ratio=0.5:2:x2", [0.5, 1, 2]), ("eta=1e-3:1e-1:x10", pytest.approx([1e-3, 1e-2, 1e-1])),
])
def test_scans_as_people_write_them(text, expected):
    assert scan(text) == (text.partition("=")[0], expected)


@given(low=st.integers(2, 1000), factor=st.floats(1.01, 10), steps=st.integers(0, 12))
def test_a_range_ends_where_it_is_met(low, factor, steps):
    high = round(low * factor**steps)
    _, values = scan(f"V={low}:{high}:x{factor!r}")
    assert values[0] == low and values == sorted(set(values)) and values[-1] <= high
    assert values[-1] * factor > high - 1 - factor  # the next one would lie beyond


@pytest.mark.parametrize("text", [
    "", "d", "=3", "d=", "d=a", "q=3", "d=1:2", "d=1:2:3", "d=1:2:x1", "d=1:2:+0", "d=1:2:+-1", "d=2:1:x2", "d=0:8:x2",
    "d=1:1e9:+1", "d=nan", "d=1:inf:x2", "d=1:4:xnan", "ratio=nan", "ratio=0:1:x2", "embedding=cube",
    "embedding=a:b:x2", "trigger_in_value=maybe", "N=1.5", "eta=inf", "V=1", "d=none", "m=none:8:x2", "d=1:2:x2:x2",
])
def test_bad_scans_are_refused(text):
    with pytest.raises(SettingError):
        scan(text)


@pytest.mark.parametrize("scans, fixed, words", [
    ({"d": [4]}, {"V": 8, "L": 2}, "N is missing"), ({"d": [4]}, {"V": 8, "N": 2, "L": 2, "d": 4}, "scanned"),
    ({"N": [4]}, {"V": 8, "L": 2, "d": 4, "ratio": 3}, "leave N out"), ({"q": [4]}, {}, "no parameter"),
    ({"d": []}, {"V": 8, "L": 2, "N": 4}, "no value"), ({"ratio": [math.nan]}, {"V": 8, "L": 2, "d": 4}, "ratio"),
    ({"V": range(2, 1200), "L": range(1, 1200)}, {"d": 2, "N": 2}, "at most 1,000,000"),
])
def test_bad_grids_are_refused(scans, fixed, words):
    with pytest.raises(SettingError, match=words):
        product(scans, **fixed)


def test_a_file_of_scans(tmp_path):
    path = tmp_path / "sweep.toml"
    path.write_text('V = 16\nratio = 8\nseeds = 3\nseed = 5\nn_test = 20\n[scan]\nL = [2, 4]\nd = "8:16:x2"\n'
                    'm = ["none", 4]\n')
    plan = load_plan(str(path))
    assert (len(plan.cells), plan.seeds, plan.seed, plan.n_test) == (8, 3, 5, 20)
    assert plan.cells[0] == Setting(V=16, L=2, d=8, N=128) and plan.cells[1].m == 4
    for text in ("V = 16\nL = 2\nd = 8\nN = 9\n", "[[cell]]\nV = 16\nL = 2\nd = 8\nN = 9\n"):
        path.write_text(text, encoding="utf-8-sig")  # as Windows' editors write
        assert load_plan(str(path)).cells == [Setting(16, 2, 8, 9)]
    for name in ("default", "mlp"):
        assert load_plan(name).cells == load_grid(name)


@pytest.mark.parametrize("text, words", [
    ("V = 8\nL = 2\nN = 8\nd = 4\ncolour = 3\n", "'colour' is no parameter"),
    ("[scan]\nq = [3]\n", "'q' is no parameter"), ("scan = 3\n", "not a table"), ("[scan]\nd = 3\n", "neither a list"),
    ("V = [", "not TOML"), ("seeds = 0\n", "seeds=0"), ("seed = true\n", "seed=True"), ("n_test = 1.5\n", "n_test=1.5"),
    ("V = 8\nL = 2\nN = 8\n[scan]\nd = [true]\n", "d=True"), ("V = 8\nL = 2\nN = 8\n[scan]\nd = [[1]]\n", "d=[1]"),
    ("V = 8\nL = 2\nd = 8\n", "N is missing"), ("x=" + "[" * 5000, "nested"), ("[[cell]]\nV = 3\n", "missing"),
])
def test_bad_files_are_one_line(text, words, tmp_path):
    (tmp_path / "sweep.toml").write_text(text)
    assert words in refused("sweep", "--grid", str(tmp_path / "sweep.toml"))


# The same bits


def test_values_are_those_of_the_simulator_at_the_cells_seed():
    results = sweep(CELLS[:2], seeds=3, seed=4)
    for problem, values in zip(results.problems, results.values.tolist(), strict=True):
        assert [list(one_seed(problem.setting, problem.cell_seed, i, None)) for i in range(3)] == values
    simulated = simulate(CELLS[0], 3, results.problems[0].cell_seed, n_test=None).recall
    assert simulated.values.tolist() == results.values[0, :, 1].tolist()
    found = results.observed(0)["recall"]
    assert (found.mean, found.se) == (simulated.mean, simulated.se)


def test_workers_and_grids_do_not_change_a_bit():
    whole = sweep(CELLS, seeds=3, seed=1)
    assert np.array_equal(sweep(CELLS, seeds=3, seed=1, jobs=2).values, whole.values)
    assert np.array_equal(sweep([CELLS[4], CELLS[1]], seeds=2, seed=1).values, whole.values[[4, 1], :2])
    assert len({p.cell_seed for p in whole.problems}) == len(CELLS)
    assert not np.array_equal(sweep(CELLS[:1], seeds=3, seed=2).values[0], whole.values[0])


# Resuming


def test_nothing_is_run_twice(tmp_path, monkeypatch):
    calls = []
    monkeypatch.setattr(run_sweep, "one_seed", lambda *task: calls.append(task) or one_seed(*task))
    path = tmp_path / "store.db"
    first = sweep(CELLS, seeds=2, seed=3, store=path)
    assert len(calls) == 12
    assert np.array_equal(sweep(CELLS, seeds=2, seed=3, store=path).values, first.values)
    assert len(calls) == 12
    more = sweep(product({"d": [4, 8, 16, 32], "L": [2, 4]}, V=8, N=32), seeds=3, seed=3, store=path)
    assert len(calls) == 12 + 6 + 6  # a third seed of six cells, and two new cells
    assert np.array_equal(more.values[:6, :2], first.values)
    sweep(CELLS, seeds=2, seed=4, store=path)
    sweep(CELLS, seeds=2, seed=3, store=path, n_test=8)
    assert len(calls) == 24 + 12 + 12  # another seed, another number of test sequences: other problems


def test_an_interrupt_keeps_what_was_finished(tmp_path, monkeypatch):
    path, steps = tmp_path / "store.db", []

    def stopped(work, tasks, jobs):
        for number, task in enumerate(tasks):
            if number == 5:
                raise KeyboardInterrupt
            yield number, work(*task)

    with monkeypatch.context() as patch:
        patch.setattr(run_sweep, "unordered_map", stopped)
        with pytest.raises(Interrupted) as stop:
            sweep(CELLS, seeds=2, seed=3, store=path)
    with Store(path) as store:
        assert sum(len(store.known(p)) for p in store.problems()) == stop.value.partial.found == 5
    resumed = sweep(CELLS, seeds=2, seed=3, store=path, progress=lambda *step: steps.append(step))
    assert np.array_equal(resumed.values, sweep(CELLS, seeds=2, seed=3).values)
    assert steps == [(done, 12) for done in range(5, 13)]  # what was found counts


@pytest.mark.parametrize("cells, more, words", [
    (CELLS, {"seeds": 0}, "seeds"), (CELLS, {"seed": -1}, "seed"), (CELLS, {"part": (0, 2)}, "part"),
    (CELLS, {"part": (3, 2)}, "part"), ([CELLS[0], Setting(V=10**9, L=2, d=2, N=2)], {}, "memory"),
    ([CELLS[0].replace(eta=0.1, gamma=1.0)], {}, "n_test"), ([], {}, "no setting"),
])
def test_bad_values_are_refused_before_anything_is_run(cells, more, words):
    with pytest.raises(SettingError, match=words):
        sweep(cells, **more)


# Seeds planned for verdicts


def test_a_sweep_plans_the_seeds_of_its_verdicts_and_says_so(tmp_path, monkeypatch):
    """By default as many seeds as `verify` plans, a line before, and a report that opens with a verdict; each cell is
    predicted once."""
    store = str(tmp_path / "auto.db")
    cells = ["sweep", "--scan", "d=64,128", "--V", "16", "--L", "2", "--N", "512", "--seed", "1", "--store", store]
    lines, predicted = [], []
    with monkeypatch.context() as patch:
        for module in (run_sweep, sweep_results):
            patch.setattr(module, "predict", lambda setting: predicted.append(setting) or predict(setting))
        sweep(product({"d": [64, 128]}, V=16, L=2, N=512), seed=1, store=store, announce=lines.append)
    assert len(predicted) == 2
    planned = [int(n.replace(",", "")) for n in re.findall(r"takes? ([0-9,]+) seeds", " ".join(lines))]
    assert len(planned) == len(lines) <= 2 and all("to be run, about" in line for line in lines)
    code, out, err = call(*cells)
    assert (code, err) == (0, "") and "0 simulated now" in out
    with Store(store) as kept:
        assert sum(len(kept.known(p)) for p in kept.current()) == planned[-1] > 100
    assert f"{planned[-1]} seeds" in out.replace(",", "")
    _, report, _ = call("report", "--store", store)
    assert "Verdict: agree" in report or "Verdict: disagree" in report

    again = read_json(call(*cells, "--seeds", "auto", "--json")[1])
    assert (again["run"], again["found"]) == (0, planned[-1])  # the same plan, from what the store holds
    with Store(store) as kept:
        results = gathered(kept, kept.current())
    (repeat,) = store_summary.summarise_store(results, diagram_cells=None).reproductions
    assert "--seeds" not in repeat.command


def test_cells_without_a_prediction_have_a_usual_number_of_seeds():
    described, refused = Setting(16, 2, 64, 512), Setting(16, 2, 64, 512, m=8, embedding="orthogonal")
    settings = [described, refused]
    plan = sweep_results.planned_for_verdicts(settings, predictions_of(predict, settings))
    assert plan[0] > plan[1] == sweep_results.UNJUDGED_SEEDS


# The problem's hash

# The observables of a few seeds by the present model. Where these change, results that users hold are no longer those
# that the program gives: raise SIMULATION_VERSION in sweep/sweep_results.py and write the new values here.
OF_MODEL = [
    (Setting(V=8, L=2, d=4, N=32), None,
     [0.9375, 0.125, 0.125, 1.0, 0.375, 0.375, 0.875, 0.25, 0.234375]),
    (Setting(V=16, L=3, d=12, N=100, embedding="sphere", trigger_in_value=False), 16,
     [1.0, 0.5625, 0.3125, 0.9375, 0.6875, 0.5625, 0.9375, 0.5, 0.375]),
    (Setting(V=8, L=2, d=8, N=32, m=6, activation="tanh", embedding="orthogonal"), 16,
     [1.0, 0.5, 0.5, 1.0, 0.375, 0.3125, 1.0, 0.625, 0.625]),
    (Setting(V=8, L=2, d=6, N=20, eta=0.01, gamma=100.0), 16,
     [0.875, 0.125, 0.0, 0.9375, 0.5, 0.25, 0.8125, 0.125, 0.125]),
]


@pytest.mark.parametrize("setting, n_test, expected", OF_MODEL)
def test_the_model_is_still_the_one_of_its_version(setting, n_test, expected):
    assert SIMULATION_VERSION == 1
    values = sweep([setting], 3, 0, n_test=n_test).values[0]
    assert values.ravel().tolist() == pytest.approx(expected, abs=1e-9)


@given(seed=st.integers(0, 2**53), n_test=st.none() | st.integers(1, 10**9), V=st.integers(2, 10**6),
       embedding=st.sampled_from(["gaussian", "sphere"]), m=st.none() | st.integers(1, 99), trigger=st.booleans())
def test_problems_have_different_hashes(seed, n_test, V, embedding, m, trigger):
    setting = Setting(V=V, L=2, d=4, N=9, m=m, embedding=embedding, trigger_in_value=trigger)
    problem = SweepProblem(setting, seed, n_test)
    assert SweepProblem.from_json(problem.to_json()) == problem
    assert 0 <= problem.cell_seed < 2**53
    others = [SweepProblem(setting, seed + 1, n_test), SweepProblem(setting, seed, 1 + (n_test or 0)),
              SweepProblem(setting.replace(L=3), seed, n_test), SweepProblem(setting, seed, n_test, model=2),
              SweepProblem(setting.replace(trigger_in_value=not trigger), seed, n_test)]
    assert len({p.key for p in (problem, *others)}) == 6


def test_the_hash_of_a_setting_is_what_it_was():
    """Keys are part of the stores that users have: a new parameter of Setting must not move them."""
    problem = SweepProblem(Setting(V=32, L=4, d=64, N=1024), 1)
    assert problem.to_json() == '[1,1,null,{"L":4,"N":1024,"V":32,"d":64}]'
    assert (problem.key[:16], problem.cell_seed) == ("cf4d0a913febb330", 1803304524762059)
    assert set(PARAMETERS) == {"V", "L", "d", "N", "m", "activation", "embedding", "trigger_in_value", "eta", "gamma"}


# Exports


def test_csv_and_parquet_are_the_table_of_seeds(tmp_path):
    path = tmp_path / "out.csv"
    code, out, err = call("sweep", "--scan", "d=4,8,16", "--scan", "L=2,4", "--V", "8", "--N", "32", "--seeds", "2",
                          "--seed", "1", "--csv", "--export", str(path))
    assert (code, err, path.read_text()) == (0, "", out)
    results = sweep(CELLS, 2, 1)
    rows = list(csv.DictReader(io.StringIO(out)))
    assert [float(r["recall"]) for r in rows] == results.values[:, :, 1].ravel().tolist()
    assert [int(r["d"]) for r in rows[::2]] == [4, 4, 8, 8, 16, 16]

    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    sweep_results.export_results(results, str(tmp_path / "out.parquet"))
    for frame in (results.to_pandas(), pandas.read_parquet(tmp_path / "out.parquet")):
        assert frame["recall"].tolist() == results.values[:, :, 1].ravel().tolist()


def test_xarray(tmp_path):
    xarray = pytest.importorskip("xarray")
    results = sweep([*CELLS, CELLS[0].replace(m=4)], 2, 1)
    sweep_results.export_results(results, str(tmp_path / "out.nc"))
    with xarray.open_dataset(tmp_path / "out.nc", engine="scipy") as read:
        for data in (results.to_xarray(), read):
            assert np.array_equal(data["accuracy"].values, results.values[:, :, 2])
            assert data["d"].values.tolist() == [4, 4, 8, 8, 16, 16, 4]
            assert data["m"].values.tolist()[-1] == 4 and np.isnan(data["m"].values[:-1]).all()
            assert data["seed"].values.astype(int).tolist() == [p.cell_seed for p in results.problems]


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".nc"])
def test_what_cannot_be_exported_is_one_line(ending, tmp_path, monkeypatch):
    pytest.importorskip("pandas")
    pytest.importorskip("xarray")
    (tmp_path / "a.db").touch()
    export = ["sweep", "--store", str(tmp_path / "a.db"), "--export", str(tmp_path / f"x{ending}")]
    assert "no result" in refused(*export)
    assert [p.name for p in tmp_path.iterdir()] == ["a.db"]
    monkeypatch.setitem(sweep_results.EXPORTS, ending, ("no_such_library",))
    line = refused(*export)
    assert "no_such_library" in line and "recall-theory[export]" in line


# The command line

RUN = ["sweep", "--scan", "d=4:16:x2", "--scan", "L=2,4", "--V", "8", "--N", "32", "--seeds", "2", "--seed", "3"]


def test_the_command_line_in_its_forms(tmp_path):
    store = str(tmp_path / "store.db")
    data = answer(*RUN, "--store", store)
    assert (data["run"], data["found"], data["wanted"], data["seed"]) == (12, 12, 12, 3)
    assert [c["observed"]["recall"]["values"] for c in data["cells"]] == sweep(CELLS, 2, 3).values[:, :, 1].tolist()
    again = answer(*RUN[:-2], "--store", store)  # with the store's own seed
    assert again["run"] == 0 and again["cells"] == data["cells"]
    code, out, _ = call("sweep", "--store", store)
    assert code == 0 and "12 seeds of 6 cells" in out and "over L, d" in out

    call(*RUN[:-1], "4", "--store", store)
    assert "--seed is missing" in refused(*RUN[:-2], "--store", store)  # two seeds in a store need a choice


def test_the_table_keeps_significant_digits(tmp_path):
    """Small means and errors, cells that share nothing, and long words: one line a cell at 80 columns."""
    (tmp_path / ("long" * 20)).mkdir()
    store, means = str(tmp_path / ("long" * 20) / "sweep.db"), (0.9, 0.0012, 3e-7)
    with Store(store) as kept:
        for k, more in enumerate(({}, {"m": 99, "activation": "x + tanh(x)"}, {"embedding": "sphere"})):
            setting = Setting(V=1024 << k, L=8 << k, d=512 << k, N=10**6 + k, trigger_in_value=k > 0, **more)
            for seed, share in enumerate((0.9, 1.1)):
                kept.add(SweepProblem(setting, 1), seed, tuple(share * mean for mean in means))
    lines = call("sweep", "--store", store, columns=80)[1].splitlines()
    assert "()" not in lines[0] and max(map(len, lines)) <= 80
    rows = [line for line in lines if ".00120 ± .00012 3e-7 ± 3e-8" in line]
    assert len(rows) == 3 and ".900 ± .090" in rows[0]


def test_parts_make_the_whole(tmp_path):
    one, two, every = (str(tmp_path / f"{name}.db") for name in (1, 2, "all"))
    parts = [answer(*RUN, "--store", store, "--part", part) for store, part in ((one, "1/2"), (two, "2/2"))]
    assert [part["found"] for part in parts] == [6, 6]
    for new in (12, 0):
        data = answer("sweep", "--store", every, "--merge", one, "--merge", two)
        assert (data["merged"], data["found"]) == (new, 12)
    again, whole = answer(*RUN, "--store", every), answer(*RUN)
    assert again["run"] == 0 and again["cells"] == whole["cells"]


@pytest.mark.parametrize("argv, words", [
    (["sweep"], ["nothing to run", "--scan"]), (["sweep", "--merge", "x"], ["--merge", "--store"]),
    ([*RUN, "--scan", "d=3"], ["scanned twice"]), ([*RUN, "--d", "3"], ["d is scanned"]),
    ([*RUN, "--grid", "x"], ["--grid", "leave"]), (["sweep", "--grid", "nowhere"], ["--grid", "nowhere"]),
    ([*RUN, "--part", "3/2"], ["--part", "I/N"]), ([*RUN, "--store", ""], ["--store", "not a file name"]),
    ([*RUN, "--store", "no/where.db"], ["--store", "directory"]), (["sweep", "--store", "no.db"], ["is not there"]),
    ([*RUN, "--store", "/"], ["directory, not a file"]), ([*RUN, "--export", "x.xls"], [".csv"]),
    (["sweep", "--store", "s.db", "--merge", "gone.db"], ["--merge", "not there"]),
    (["sweep", "--grid", "default", "--embedding", "sphere"], ["--grid", "leave"]),
    (["sweep", "--grid", "default", "--trigger-in-value"], ["--grid", "leave"]),
    (["sweep", "--embedding", "sphere"], ["--V", "missing"]),
    ([*RUN, "--scan", "embedding=sphere", "--embedding", "gaussian"], ["embedding is scanned"]),
    (["sweep", "--store", "s.db", "--seeds", "9"], ["--seeds", "to be run"]),
    (["sweep", "--store", "s.db", "--part", "1/2"], ["--part", "to be run"]),
    ([*RUN[:-4], "--V", "16"], ["--V", "2 times"]), (["sweep", "--scan", "d=2"], ["--V", "missing"]),
])
def test_bad_input_is_one_line(argv, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    line = refused(*argv)
    assert all(word in line for word in words), line
    assert not any(tmp_path.iterdir())  # no store is left behind
