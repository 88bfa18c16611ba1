"""What a store says of the theory: judged by the rules of `verify`, on slices, at critical sizes, and repeatable."""

from __future__ import annotations

import functools
import shlex

import numpy as np
import pytest
from command_line import call
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit

from recall_theory import Setting, SettingError, predict
from recall_theory.sweep import Results, Store, SweepProblem, product, sweep, sweep_results
from recall_theory.sweep.store_summary import crossing_of_scan, phase_diagram_of, slices_of, summarise_store
from recall_theory.sweep.sweep_grid import reproductions
from recall_theory.sweep.sweep_results import analyse_cells
from recall_theory.theory.phase import PhaseDiagram
from recall_theory.verification.problem import THREE_STEP_RECALL
from recall_theory.verification.results import compare, pooled_tests
from recall_theory.verification.verdicts import family_confidence

RISING = product({"V": [16, 32], "d": [4, 8, 16, 32]}, N=512, L=2)
SMALL = product({"d": [6, 24], "L": [2, 4]}, V=12, N=96)

predict_once = functools.cache(predict)


@pytest.fixture(autouse=True)
def once(monkeypatch):
    """Predictions are made once for all tests."""
    monkeypatch.setattr(sweep_results, "predict", predict_once)


def around(cells, means, seeds=1500):
    """Results without chance: half of the seeds a little above the means (cells, 3), half below."""
    means = np.clip(np.asarray(means, dtype=float), 0.02, 0.98)
    signs = np.where(np.arange(seeds) % 2, 1, -1)
    values = means[:, None, :] + 0.02 * signs[None, :, None]
    return Results(tuple(SweepProblem(s, 1) for s in cells), values)


def claims(setting):
    return {o: getattr(predict_once(setting), o) for o in ("attention", "recall", "accuracy")}


# Verdicts


def test_cells_are_judged_as_verify_judges():
    results = sweep(SMALL, seeds=20, seed=2)
    analysis = analyse_cells(results)
    confidence = family_confidence(2 * (3 * len(SMALL) + 3))  # a pooled test for each observable
    judged = [compare(THREE_STEP_RECALL, setting, claims(setting), values, predict_once(setting),
                      margins=THREE_STEP_RECALL.margins(setting, claims(setting)), confidence=confidence)
              for setting, values in zip(SMALL, results.values, strict=True)]
    assert [cell.to_dict() for cell in judged] == [cell.to_dict() for cell in analysis.cells]
    assert analysis.pooled == pooled_tests(THREE_STEP_RECALL, judged, confidence) and len(analysis.pooled) == 3
    assert [test["bias"] for test in analysis.to_dict()["pooled"]] == [test.bias for test in analysis.pooled]


def test_a_bias_too_small_for_any_cell_is_found_over_the_store():
    """Every mean is 1.2 % of it off: within the margin of each cell, beyond that of their mean."""
    means = np.array([list(claims(s).values()) for s in SMALL])
    right, biased = (analyse_cells(around(SMALL, means * factor)) for factor in (1, 1.012))
    assert right.verdict == "agree" and not right.biased
    assert {cell.verdict for cell in biased.cells} == {"agree"} and biased.verdict == "disagree"
    recall, = (test for test in biased.biased if test.observable == "recall")
    assert recall.relative == pytest.approx(1 / 1.012 - 1, rel=1e-6)


def test_a_right_theory_agrees_and_a_wrong_one_does_not(monkeypatch):
    right = around(SMALL[:1], [list(claims(SMALL[0]).values())])
    assert analyse_cells(right).verdict == "agree"
    assert analyse_cells(Results(right.problems, right.values - 0.06)).verdict == "disagree"
    monkeypatch.setattr(sweep_results, "predict", lambda s: predict(s.replace(d=2 * s.d)))  # d wrong by a factor of 2
    assert analyse_cells(right).verdict == "disagree"


def test_what_has_no_prediction_is_refused_and_not_in_the_family():
    odd = Setting(V=8, L=2, d=8, N=32, embedding="orthogonal", eta=1e-3, gamma=1e3)
    analysis = analyse_cells(around([SMALL[0], odd], [[0.5] * 3] * 2, seeds=8))
    assert [r.problem.setting for r in analysis.refused] == [odd] and "limit" in analysis.refused[0].reason
    assert analysis.confidence == family_confidence(2 * 3)
    assert analysis.to_dict()["refused"][0]["seeds"] == 8


@pytest.mark.parametrize("cells, at, words", [
    ([], 0.5, "no result"), (SMALL[:1], 0, "at="), (SMALL[:1], 1, "at="), (SMALL[:1], np.nan, "at=")])
def test_no_result_and_a_bad_level_are_errors(cells, at, words):
    with pytest.raises(SettingError, match=words):
        summarise_store(around(cells, np.full((len(cells), 3), 0.5)), at)


# Slices


@pytest.mark.parametrize("cells, expected, more", [
    ([*product({"V": [16, 32], "d": [16, 32, 64], "L": [2, 4]}, N=256), Setting(V=99, L=2, d=16, N=257)],
     [("d", "V", 6, "L = 2, N = 256"), ("d", "V", 6, "L = 4, N = 256")], 0),
    (product({"V": [16, 32, 64], "d": [16, 32]}, ratio=8, L=2), [("d", "V", 6, "L = 2, N/V = 8")], 0),
    ([Setting(*sizes) for sizes in np.random.default_rng(0).integers(8, 99, (40, 4)).tolist()], [], 0),
    ([s for k in range(6) for s in product({"V": [16, 32], "d": [16, 32]}, L=2 + k, N=90 + k)],
     [("d", "V", 4, f"L = {2 + k}, N = {90 + k}") for k in range(4)], 2),
])
def test_slices_hold_the_cells_that_differ_in_two_sizes_only(cells, expected, more):
    slices, others = slices_of(cells)
    assert ([(s.x, s.y, len(s.cells), s.title()) for s in slices], others) == (expected, more)


def test_a_slice_has_its_phase_diagram_or_says_why_not():
    for more, ends in (({"ratio": 8}, (16, 64)), ({"N": 64, "embedding": "orthogonal"}, (16, 32))):
        cells = product({"V": ends, "d": [32, 64]}, L=2, **more)
        (drawn,), _ = slices_of(cells)
        diagram = phase_diagram_of(drawn, cells, 0.5, cells=(2, 2))
        if "ratio" in more:
            assert isinstance(diagram, PhaseDiagram) and diagram.fixed["ratio"] == 8
        else:
            assert "orthogonal" in diagram


# Critical sizes


@pytest.mark.parametrize("at", [0.2, 0.5, 0.8])
@pytest.mark.parametrize("slope", [-1.5, 1.5])
def test_a_straight_logit_is_read_off_exactly(at, slope):
    u = np.log([4.0, 8, 16, 32, 64, 128])
    truth = np.log(20) + np.log(at / (1 - at)) / slope
    crossing = crossing_of_scan(u, [np.array([m, m]) for m in expit(slope * (u - np.log(20)))], at)
    assert crossing.log_size == pytest.approx(truth, abs=1e-9)


def test_rounding_leaves_no_negative_variance():
    """Values that lie on a line have no error: their covariance is what rounding leaves, of either sign."""
    for k in range(200):
        u = np.log([8.0 + k / 7, 16.0 + k / 3])
        assert crossing_of_scan(u, [np.array([0.2 + k / 1000]), np.array([0.7])], 0.5).log_size > u[0]


@pytest.mark.parametrize("means, fewest, words", [
    ([0.1, 0.2, 0.3], 8, "not crossed"), ([0.1, 0.6, 0.3], 8, "there and back"), ([0.0, 0.7, 0.9], 8, "finer scan"),
    ([0.2, 0.3, 0.8], 9, "fewer than 9")])
def test_no_crossing_says_why(means, fewest, words):
    assert words in crossing_of_scan(np.log([1.0, 2, 4]), [np.full(8, m) for m in means], 0.5, fewest).reason


def test_the_interval_covers():
    """With 20 seeds a size: of 1,000 intervals at 95 %, a share of 0.92 at least (an expected 0.95 has a standard error
    of 0.007; the draws are always the same)."""
    rng = np.random.default_rng(5)
    u = np.log([8.0, 16, 32, 64])
    means = expit(1.5 * (u - np.log(20)))
    found = [crossing_of_scan(u, [rng.beta(4 * m, 4 * (1 - m), 20) for m in means], 0.5, 8) for _ in range(1000)]
    held = [f.low <= np.log(20) <= f.high for f in found if not f.reason]
    assert len(held) > 990 and np.mean(held) > 0.92


def law_of(results):
    """The scaling of recall that a store shows."""
    summary = summarise_store(results, diagram_cells=None)
    return next(x for s in summary.slices for x in s.scalings if x.observable == "recall")


def test_the_scaling_of_a_slice_has_the_exponent_that_was_put_in():
    """Observed recall crosses one half at d = V^0.7; the theory knows nothing of it. Of several runs of a setting the
    fullest counts."""
    means = np.array([[1, expit(2 * np.log(s.d / s.V**0.7)), 0.1] for s in RISING])
    full = around(RISING, means, seeds=64)
    law = law_of(full)
    assert (law.of, law.along) == ("d", "V")
    assert law.line.slope == pytest.approx(0.7, abs=1e-6)
    for p in law.points:  # the predicted crossing lies between the predicted neighbours
        below = max([s.d for s in RISING if s.V == p.value and claims(s)["recall"] <= 0.5], default=0)
        assert np.isnan(p.predicted) or below <= p.predicted <= 2 * below

    poor = np.full((8, 64, 3), np.nan)
    poor[:, :8] = 0.3
    problems = (*full.problems, *(SweepProblem(s, 2) for s in RISING))
    assert law_of(Results(problems, np.concatenate([full.values, poor]))).line == law.line


# Repeating


def assert_made_again(made, problems, folder):
    """The command, run in a folder: the problems that it files are those of the store."""
    command = made.command.replace("again.db", f"{folder}/again.db").replace("cells", f"{folder}/cells")
    (folder / "cells.toml").write_text(made.grid, encoding="utf-8")
    program, *words = shlex.split(command)
    assert program == "recall-theory"
    assert call(*words, "--quiet", "--output", f"{folder}/out")[0] == 0
    with Store(folder / "again.db") as store:
        assert {p.key for p in store.current()} == {p.key for p in problems}


def some(values, most):
    return st.lists(values, min_size=1, max_size=most, unique=True)


SIZES = st.fixed_dictionaries({
    "V": some(st.integers(2, 20), 2), "d": some(st.integers(1, 20), 3), "L": some(st.integers(1, 4), 2),
    "m": some(st.none() | st.integers(1, 9), 2), "embedding": some(st.sampled_from(["gaussian", "sphere"]), 2),
    "trigger_in_value": some(st.booleans(), 1),
})


@given(sizes=SIZES, ratio=st.sampled_from([None, 1.0, 2.5, 7.0]), drop=st.booleans(),
       n_test=st.sampled_from([None, 64]), seed=st.integers(0, 99))
@settings(max_examples=15)
def test_the_command_makes_the_same_problems(tmp_path_factory, sizes, ratio, drop, n_test, seed):
    grid = product(sizes, **({"N": 24} if ratio is None else {"ratio": ratio}))
    if drop and len(grid) > 2:
        grid = [*grid[1:-1], grid[-1].replace(N=77)]
    problems = [SweepProblem(s, seed, n_test) for s in grid]
    made, = reproductions(problems, [1] * len(problems))
    assert_made_again(made, problems, tmp_path_factory.mktemp("again"))


@pytest.mark.parametrize("activations", [["x**3 - 3*x"], ["relu", "x**3 - 3*x"], ["relu", "max(x, x/10)"]])
def test_an_activation_of_ones_own_is_repeated(activations, tmp_path):
    problems = [SweepProblem(Setting(V=8, L=2, d=d, N=32, m=8, activation=a), 1) for d in (4, 8) for a in activations]
    made, = reproductions(problems, [1] * len(problems))
    assert_made_again(made, problems, tmp_path)


def test_each_seed_and_number_of_seeds_has_a_command_of_its_own():
    problems = [SweepProblem(s, 1) for s in SMALL]
    assert ["--seeds 9 " in r.command for r in reproductions(problems, [9, 9, 4, 4])] == [True, False]
    interrupted, = reproductions(problems, [1, 2, 3, 4])
    assert "--seeds 4 " in interrupted.command
    made = reproductions([SweepProblem(s, seed) for seed in (1, 2) for s in SMALL[:seed + 1]], [4] * 5)
    assert [f"--seed {seed} " in r.command for seed, r in enumerate(made, start=1)] == [True, True]
