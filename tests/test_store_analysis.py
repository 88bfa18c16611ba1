"""What a store says of the theory: judged by the rules of `verify`, on planes, at critical sizes, and repeatable."""

from __future__ import annotations

import functools
import shlex
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recall_theory import Setting, SettingError, predict
from recall_theory.cli import main as run
from recall_theory.sweep import Results, Store, SweepProblem, product, store_analysis, sweep
from recall_theory.sweep.reproduce import reproductions
from recall_theory.sweep.slices import crossing_of_scan, phase_diagram_of, slices_of
from recall_theory.sweep.store_analysis import analyse_cells, summarise_store
from recall_theory.theory.phase import PhaseDiagram
from recall_theory.verification.problem import THREE_STEP_RECALL
from recall_theory.verification.results import compare
from recall_theory.verification.verdicts import VERDICT_ALPHA, family_confidence

RISING = product({"V": [16, 32], "d": [4, 8, 16, 32]}, N=512, L=2)
SMALL = product({"d": [6, 24], "L": [2, 4]}, V=12, N=96)


@pytest.fixture(autouse=True)
def once(monkeypatch):
    """Predictions are made once for all tests."""
    monkeypatch.setattr(store_analysis, "predict", predict_once)


predict_once = functools.cache(predict)


def around(settings, means, seeds=1500, apart=0.02):
    """Results without chance: half of the seeds a little above the means (cells, 3), half below."""
    means = np.clip(np.asarray(means, dtype=float), apart, 1 - apart)
    signs = np.where(np.arange(seeds) % 2, 1, -1)
    values = means[:, None, :] + apart * signs[None, :, None]
    return Results(tuple(SweepProblem(s, 1) for s in settings), values)


def predicted(settings):
    return [[getattr(predict_once(s), o) for o in ("attention", "recall", "accuracy")] for s in settings]


# --- verdicts -------------------------------------------------------------------------------------


def test_cells_are_judged_as_verify_judges():
    results = sweep(SMALL, seeds=40, seed=2)
    found = analyse_cells(results)
    confidence = family_confidence(3 * len(SMALL), VERDICT_ALPHA)
    assert found.confidence == confidence
    for setting, values, cell in zip(SMALL, results.values, found.cells, strict=True):
        theory = predict_once(setting)
        claimed = {o: getattr(theory, o) for o in ("attention", "recall", "accuracy")}
        same = compare(THREE_STEP_RECALL, setting, claimed, values, theory, margin=cell.margin, confidence=confidence)
        for o, c in cell.comparisons.items():
            assert (c.low, c.high, c.verdict, c.reason) == (same.comparisons[o].low, same.comparisons[o].high,
                                                            same.comparisons[o].verdict, same.comparisons[o].reason)


def test_a_right_theory_agrees_and_a_wrong_one_does_not(monkeypatch):
    right = around(SMALL[:1], predicted(SMALL[:1]))
    assert analyse_cells(right).verdict == "agree"
    shifted = Results(right.problems, right.values - 0.06)
    assert analyse_cells(shifted).verdict == "disagree"
    monkeypatch.setattr(store_analysis, "predict", lambda s: predict(s.replace(d=2 * s.d)))  # d wrong by a factor of 2
    assert analyse_cells(right).verdict == "disagree"


def test_what_has_no_prediction_is_refused_and_not_in_the_family():
    odd = Setting(V=8, L=2, d=8, N=32, eta=1e-3, gamma=1e3)
    found = analyse_cells(around([SMALL[0], odd], [[0.5] * 3] * 2, seeds=8))
    assert [r.problem.setting for r in found.refused] == [odd] and "limit" in found.refused[0].reason
    assert found.confidence == family_confidence(3, VERDICT_ALPHA)
    assert found.to_dict()["refused"][0]["seeds"] == 8


def test_no_result_is_an_error():
    with pytest.raises(SettingError, match="no result"):
        summarise_store(Results((), np.zeros((0, 0, 3))))
    for at in (0, 1, float("nan")):
        with pytest.raises(SettingError, match="at="):
            summarise_store(around(SMALL[:1], [[0.5] * 3]), at)


def test_a_shipped_grid_is_swept_by_its_name():
    from recall_theory.sweep.sweep_grid import load_plan
    from recall_theory.verification import grids

    for name in ("default", "mlp"):
        assert load_plan(name).cells == grids.load_grid(name)


# --- planes ---------------------------------------------------------------------------------------


def test_planes_hold_the_cells_that_differ_in_two_sizes_only():
    grid = product({"V": [16, 32], "d": [16, 32, 64], "L": [2, 4]}, N=256)
    found, more = slices_of([*grid, Setting(V=99, L=2, d=16, N=257)])
    assert more == 0
    assert {(p.x, p.y, len(p.cells)) for p in found} == {("d", "V", 6)}
    assert {i for p in found for i in p.cells} == set(range(12))
    for p in found:
        assert len({(grid[i].L, grid[i].N) for i in p.cells}) == 1


def test_a_plane_of_a_constant_ratio():
    found, _ = slices_of(product({"V": [16, 32, 64], "d": [16, 32]}, ratio=8, L=2))
    assert [(p.x, p.y, p.fixed["ratio"]) for p in found] == [("d", "V", 8.0)]
    assert "N/V = 8" in found[0].title()
    drawn = phase_diagram_of(found[0], product({"V": [16, 32, 64], "d": [16, 32]}, ratio=8, L=2), 0.5, cells=(2, 2))
    assert isinstance(drawn, PhaseDiagram) and drawn.fixed["ratio"] == 8


def test_scattered_cells_scan_no_plane():
    rng = np.random.default_rng(0)
    assert slices_of([Setting(*map(int, rng.integers(8, 99, 4))) for _ in range(40)]) == ([], 0)


def test_many_planes_are_counted():
    found, more = slices_of([s for k in range(6) for s in product({"V": [16, 32], "d": [16, 32]}, L=2 + k, N=90 + k)])
    assert (len(found), more) == (4, 2)


def test_a_plane_that_cannot_be_drawn_says_why():
    grid = [Setting(V=V, L=L, d=32, N=64, embedding="orthogonal") for V in (16, 32) for L in (2, 4)]
    found, _ = slices_of(grid)
    assert "orthogonal" in phase_diagram_of(found[0], grid, 0.5, cells=(2, 2))


# --- critical sizes -------------------------------------------------------------------------------


def logistic(x):
    return 1 / (1 + np.exp(-x))


@pytest.mark.parametrize("at", [0.2, 0.5, 0.8])
@pytest.mark.parametrize("slope", [-1.5, 1.5])
def test_a_straight_logit_is_read_off_exactly(at, slope):
    u = np.log([4.0, 8, 16, 32, 64, 128])
    truth = np.log(20) + np.log(at / (1 - at)) / slope
    seen = crossing_of_scan(u, [np.array([m, m]) for m in logistic(slope * (u - np.log(20)))], at)
    assert seen.log_size == pytest.approx(truth, abs=1e-9)


def test_rounding_leaves_no_negative_variance():
    """Values that lie on a line have no error: their covariance is what rounding leaves, of either sign."""
    for k in range(200):
        u = np.log([8.0 + k / 7, 16.0 + k / 3])
        assert crossing_of_scan(u, [np.array([0.2 + k / 1000]), np.array([0.7])], 0.5).log_size > u[0]


@pytest.mark.parametrize("means, words", [
    ([0.1, 0.2, 0.3], "not crossed"), ([0.1, 0.6, 0.3], "there and back"), ([0.0, 0.7, 0.9], "finer scan")])
def test_no_crossing_says_why(means, words):
    assert words in crossing_of_scan(np.log([1.0, 2, 4]), [np.full(8, m) for m in means], 0.5, 8).reason
    few = crossing_of_scan(np.log([1.0, 2, 4]), [np.full(8, m) for m in (0.2, 0.3, 0.8)], 0.5, 9)
    assert "fewer than 9" in few.reason


def test_the_interval_covers():
    """With 20 seeds a size: of 2,000 intervals at 95 %, a share of 0.93 at least (an expected 0.95 has a standard error
    of 0.005; the draws are always the same)."""
    rng = np.random.default_rng(5)
    u = np.log([8.0, 16, 32, 64])
    means = logistic(1.5 * (u - np.log(20)))
    held = missing = 0
    for _ in range(2000):
        seen = crossing_of_scan(u, [rng.beta(4 * m, 4 * (1 - m), 20) for m in means], 0.5, 8)
        if seen.reason:
            missing += 1
        else:
            held += seen.low <= np.log(20) <= seen.high
    assert missing < 20
    assert held / (2000 - missing) > 0.93


def test_the_scaling_of_a_plane_has_the_exponent_that_was_put_in():
    """Observed recall crosses one half at d = V^0.7; the theory knows nothing of it."""
    means = np.array([[1, logistic(2 * np.log(s.d / s.V**0.7)), 0.1] for s in RISING])
    found = summarise_store(around(RISING, means, seeds=64), diagram_cells=None)
    law = next(x for s in found.slices for x in s.scalings if x.observable == "recall")
    assert (law.of, law.along) == ("d", "V")
    assert law.line.slope == pytest.approx(0.7, abs=1e-6)
    predicted_curve = {s: predict_once(s).recall for s in RISING}
    for p in law.points:  # the predicted crossing lies between the predicted neighbours
        scan = sorted((s.d, r) for s, r in predicted_curve.items() if s.V == p.value)
        if not np.isnan(p.predicted):
            below = max(d for d, r in scan if r <= 0.5)
            assert below <= p.predicted <= 2 * below


def test_of_several_runs_of_a_setting_the_fullest_counts():
    means = np.array([[1, logistic(2 * np.log(s.d / s.V**0.7)), 0.1] for s in RISING])
    full = around(RISING, means, seeds=64)
    poor = Results(tuple(SweepProblem(s, 2) for s in RISING), np.full((8, 64, 3), np.nan))
    poor.values[:, :8] = 0.3
    both = Results((*full.problems, *poor.problems), np.concatenate([full.values, poor.values]))
    slopes = [next(x for s in summarise_store(results, diagram_cells=None).slices for x in s.scalings).line.slope
              for results in (full, both)]
    assert slopes[0] == slopes[1]


# --- repeating ------------------------------------------------------------------------------------

SIZES = st.fixed_dictionaries({
    "V": st.lists(st.integers(2, 20), min_size=1, max_size=2, unique=True),
    "d": st.lists(st.integers(1, 20), min_size=1, max_size=3, unique=True),
    "L": st.lists(st.integers(1, 4), min_size=1, max_size=2, unique=True),
    "m": st.lists(st.one_of(st.none(), st.integers(1, 9)), min_size=1, max_size=2, unique=True),
    "embedding": st.lists(st.sampled_from(["gaussian", "sphere"]), min_size=1, max_size=2, unique=True),
    "trigger_in_value": st.lists(st.booleans(), min_size=1, max_size=1),
})


@given(sizes=SIZES, ratio=st.one_of(st.none(), st.sampled_from([1.0, 2.5, 7.0])), drop=st.booleans(),
       n_test=st.sampled_from([None, 64]), seed=st.integers(0, 99))
@settings(max_examples=25)
def test_the_command_makes_the_same_problems(sizes, ratio, drop, n_test, seed):
    """The command that the page shows, run: the problems that it files are those of the store."""
    import tempfile

    grid = product(sizes, **({"N": 24} if ratio is None else {"ratio": ratio}))
    if drop and len(grid) > 2:
        grid = [*grid[1:-1], grid[-1].replace(N=77)]
    problems = [SweepProblem(s, seed, n_test) for s in grid]
    made = reproductions(problems, [1] * len(problems))
    assert len(made) == 1
    with tempfile.TemporaryDirectory() as folder:
        command = made[0].command.replace("again.db", f"{folder}/again.db").replace("cells", f"{folder}/cells")
        words = shlex.split(command)
        if made[0].grid:
            Path(f"{folder}/cells.toml").write_text(made[0].grid, encoding="utf-8")
        assert words[0] == "recall-theory"
        assert run([*words[1:], "--quiet", "--output", f"{folder}/out"]) == 0
        with Store(f"{folder}/again.db") as store:
            assert {p.key for p in store.current()} == {p.key for p in problems}


@pytest.mark.parametrize("activations", [["x**3 - 3*x"], ["relu", "x**3 - 3*x"], ["relu", "max(x, x/10)"]])
def test_an_activation_of_ones_own_is_repeated(activations, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    problems = [SweepProblem(Setting(V=8, L=2, d=d, N=32, m=8, activation=a), 1) for d in (4, 8) for a in activations]
    (made,) = reproductions(problems, [1] * len(problems))
    if made.grid:
        Path("cells.toml").write_text(made.grid, encoding="utf-8")
    shown = made.wrapped()
    assert shlex.split(shown.replace("\\\n", "")) == shlex.split(made.command)
    assert all(line.count("'") % 2 == 0 for line in shown.splitlines())  # a line ends outside of quotes
    assert run([*shlex.split(made.command)[1:], "--quiet", "--output", "out"]) == 0
    with Store("again.db") as store:
        assert {p.key for p in store.current()} == {p.key for p in problems}


def test_numbers_of_seeds_are_repeated_too():
    problems = [SweepProblem(s, 1) for s in SMALL]
    assert ["--seeds 9 " in r.command for r in reproductions(problems, [9, 9, 4, 4])] == [True, False]
    assert len(reproductions(problems, [1, 2, 3, 4])) == 1  # an interrupted sweep
    assert "--seeds 4 " in reproductions(problems, [1, 2, 3, 4])[0].command


def test_each_seed_has_a_command_of_its_own():
    made = reproductions([SweepProblem(s, seed) for seed in (1, 2) for s in SMALL[:seed + 1]], [4] * 5)
    assert ["--seed 1 " in r.command for r in made] == [True, False]
    assert ["--seed 2 " in r.command for r in made] == [False, True]
