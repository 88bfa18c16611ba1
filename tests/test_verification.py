"""`verify` accepts the right theory and rejects wrong ones; its statistics are what they claim."""

from __future__ import annotations

import dataclasses
import secrets
import shutil
import subprocess

import numpy as np
import pytest
from support import ROOT, VALIDATION, assert_refused, shipped

from recall_theory import Setting, SettingError, predict, verify
from recall_theory.commands.verify import bias_in_words
from recall_theory.errors import Interrupted
from recall_theory.geometric import GeometricSetting
from recall_theory.geometric import predict as predict_geometric
from recall_theory.verification import verdicts
from recall_theory.verification.problem import GEOMETRIC_RECALL, THREE_STEP_RECALL, load_grid
from recall_theory.verification.results import pooled_groups

# Cheap cells in which recall or attention is in transition: a wrong formula shows here.
CELLS = [
    Setting(V=64, L=4, d=64, N=4096),
    Setting(V=96, L=4, d=96, N=3000),
    Setting(V=128, L=8, d=128, N=4096),
    Setting(V=64, L=8, d=128, N=1280),
    Setting(V=48, L=16, d=32, N=960),
    Setting(V=64, L=32, d=24, N=640),
]

# In the last two, d bears on recall and seeds differ little: there a d that is 15 % off moves recall by 0.1 or more,
# 38 standard errors beyond the margin at 150 seeds; in the first three half of N moves it by 0.13 or more, 10 of them.
TELLING = [*CELLS[:3], Setting(V=256, L=4, d=64, N=8192, trigger_in_value=False),
           Setting(V=256, L=4, d=48, N=4096, trigger_in_value=False)]


def shifted(**factors: float):
    """A wrong predictor: the theory at sizes multiplied by the factors."""

    def predictor(setting: Setting):
        wrong = setting.replace(**{k: max(1, round(getattr(setting, k) * f)) for k, f in factors.items()})
        return dataclasses.replace(predict(wrong), setting=setting)

    return predictor


def without_mean_bias(setting: Setting):
    """A wrong predictor: the term that the shared trigger brings is left out of recall."""
    bare = predict(setting.replace(trigger_in_value=False))
    return dataclasses.replace(predict(setting), recall=bare.recall, accuracy=bare.accuracy)


def test_the_theory_is_not_rejected():
    # Fresh entropy: intervals are family-wise 95 %, margins come on top, so a true theory disagrees
    # in far fewer than 1 run in 1,000 unless its own error exceeds the margin.
    result = verify(CELLS, seeds=150, seed=secrets.randbits(32))
    assert result.verdict != verdicts.DISAGREE, [c.to_dict() for c in result.cells]


LONG = [Setting(V=64, L=48, d=24, N=512), Setting(V=96, L=40, d=32, N=400)]


@pytest.mark.parametrize("cells, wrong", [
    (TELLING, shifted(d=1.15)), (TELLING, shifted(d=0.85)), (TELLING, shifted(N=0.5)), (TELLING, without_mean_bias),
    (LONG, shifted(L=0.25)),
], ids=["d 15 % up", "d 15 % down", "half N", "no mean bias", "L dropped"])
def test_wrong_theories_are_rejected(cells, wrong):
    assert verify(cells, seeds=150, seed=secrets.randbits(32), predictor=wrong).verdict == verdicts.DISAGREE


@pytest.mark.parametrize("arguments", [{"seeds": 12}, {"seeds": 80, "until": "conclusive"}], ids=str)
def test_same_seed_same_numbers_for_any_number_of_workers(arguments):
    one, two = (verify(CELLS[:2], seed=5, jobs=jobs, **arguments) for jobs in (1, 2))
    assert one.to_dict() == two.to_dict()
    for a, b in zip(one.cells, two.cells, strict=True):
        for name in a.comparisons:
            assert np.array_equal(a.comparisons[name].observed.values, b.comparisons[name].observed.values)


def test_cells_do_not_share_draws():
    result = verify([CELLS[0], CELLS[0]], seeds=6, seed=3)
    first, second = (c.comparisons["recall"].observed.values for c in result.cells)
    assert not np.array_equal(first, second)


def test_until_conclusive_stops_where_a_verdict_stands():
    # a seed has a wrong fact once in 1e10: every value is 1 in all but one run in some million
    grid = [Setting(V=8, L=2, d=512, N=8192)]
    right = verify(grid, seed=secrets.randbits(32), predictor=lambda s: 1.0, until="conclusive")
    wrong = verify(grid, seed=secrets.randbits(32), predictor=lambda s: 0.5, until="conclusive")
    few = verify(grid, 70, seed=secrets.randbits(32), predictor=lambda s: 1.0, until="conclusive")
    assert (right.verdict, wrong.verdict, few.verdict) == (verdicts.AGREE, verdicts.DISAGREE, verdicts.INCONCLUSIVE)
    assert wrong.cells[0].seeds == 64 and few.cells[0].seeds == 70 and 64 < right.cells[0].seeds < 3000
    assert not right.pooled  # these intervals hold for cells alone
    assert {c.comparisons["recall"].method for v in (right, wrong) for c in v.cells} == {"anytime"}


class Stopping:
    """A problem of normal values of given means, with Ctrl-C after `stop` seeds; the theory says what `theory` does."""

    def __init__(self, means, std=0.15, stop=float("inf")):
        self.means, self.std, self.stop, self.made = means, std, stop, 0
        self.rng = np.random.default_rng(3)

    def observe(self, setting, seed, index):
        self.made += 1
        if self.made > self.stop:
            raise KeyboardInterrupt
        return (min(max(self.rng.normal(self.means[setting], self.std), 0.0), 1.0),) * 3

    def problem(self):
        def nothing(setting):
            raise SettingError("V", "the theory says nothing here")

        return dataclasses.replace(THREE_STEP_RECALL, predict=nothing, observe=self.observe)


def test_stopping_at_will_keeps_what_was_observed():
    stopping = Stopping(dict.fromkeys(CELLS, 1.0), stop=8)
    with pytest.raises(Interrupted) as caught:
        verify(CELLS[:2], until="conclusive", seed=1, predictor=lambda s: 0.5, problem=stopping.problem())
    assert [c.seeds for c in caught.value.partial.cells] == [8]


PLAN = verdicts.planned_seeds({"recall": verdicts.Moments(0.5, 0.15)}, {"recall": 0.02})
MORE = 4 * PLAN


@pytest.mark.parametrize("means, stop, seeds, verdict", [
    ((0.5, 0.511, 0.5), float("inf"), [PLAN, MORE, PLAN], verdicts.AGREE),  # more seeds where a verdict is open
    ((0.5, 0.513, 0.555), float("inf"), [PLAN] * 3, verdicts.DISAGREE),  # none where the whole disagrees already
    ((0.5, 0.511, 0.5), 3 * PLAN + 99, [PLAN] * 3, verdicts.INCONCLUSIVE),  # Ctrl-C leaves the look before
    ((0.5, 0.513, 0.9), float("inf"), [PLAN // 8] * 3, verdicts.DISAGREE),  # a hopeless formula ends the run
], ids=["third look", "no third look", "interrupted", "early"])
def test_looks_of_a_verification(means, stop, seeds, verdict):
    """A fixed seed: nothing to fail by chance. A margin of one's own, so that the mean over cells has that too."""
    problem = Stopping(dict(zip(CELLS[:3], means, strict=True)), stop=stop).problem()
    try:
        result = verify(CELLS[:3], seed=1, predictor=lambda s: 0.5, problem=problem, margin=0.02)
    except Interrupted as stopped:
        result = stopped.partial
    assert [c.seeds for c in result.cells] == seeds and result.verdict == verdict
    assert result.confidence == verdicts.family_confidence(3 * (3 + 1))
    assert result.seeds_planned == (3 * PLAN if seeds[0] < PLAN else None)
    assert result.cells[1].is_open == (verdict != verdicts.AGREE)


def test_a_bias_too_small_for_any_cell_is_found_over_the_grid():
    """Each of 30 cells is 0.008 off, well within its margin of 0.02; the mean over cells is not."""
    grid = [Setting(V=64, L=4, d=64, N=4096 + i) for i in range(30)]
    found = {}
    for name, off in (("right", 0.0), ("biased", 0.008)):
        problem = Stopping(dict.fromkeys(grid, 0.5), std=0.05).problem()
        found[name] = verify(grid, 400, seed=1, predictor=lambda s, off=off: 0.5 + off, problem=problem)
        assert all(cell.verdict == verdicts.AGREE for cell in found[name].cells)
    (right,), (biased,) = (v.pooled for v in found.values())
    assert found["right"].verdict == right.verdict == verdicts.AGREE
    assert found["biased"].verdict == biased.verdict == verdicts.DISAGREE and found["biased"].biased == [biased]
    assert biased.bias == pytest.approx(0.008, abs=0.003) and biased.relative == pytest.approx(0.016, abs=0.006)
    assert biased.margin == pytest.approx(0.0025, rel=0.02) and biased.cells == 30
    assert biased.family[0] < biased.usual[0] < biased.bias < biased.usual[1] < biased.family[1]
    kept = found["biased"].to_dict()
    assert kept["pooled"][0]["interval"] == list(biased.family) and kept["verdict"] == verdicts.DISAGREE


@pytest.mark.parametrize("off, times, verdict", [(0.0, 1, verdicts.AGREE), (0.0065, 3, verdicts.DISAGREE)])
def test_a_group_that_looks_biased_has_more_seeds(off, times, verdict):
    """Twelve cells of 900 planned seeds each have a standard error of 0.0012 over the grid. A bias of 0.0065 is 3.5 of
    them beyond its margin of 0.0025: too little for a verdict, and 6 with three times the seeds."""
    grid = [Setting(V=64, L=4, d=64, N=4096 + i) for i in range(12)]
    problem = Stopping(dict.fromkeys(grid, 0.5), std=0.12).problem()
    found = verify(grid, seed=1, predictor=lambda s: 0.5 + off, problem=problem)
    assert sum(c.seeds for c in found.cells) == pytest.approx(12 * times * PLAN, rel=1e-3) and found.verdict == verdict
    assert found.biased == (list(found.pooled) if off else []) and not found.pooled[0].looks_biased


def test_a_run_says_beforehand_which_biases_its_seeds_cannot_judge():
    """Thirty cells at a margin of 0.02 take 900 seeds each where no spread is predicted: a standard error of
    0.0009 over the grid, 2.7 of which are in its margin of 0.0025. Ten cells have 1.6 only."""
    for cells, said in ((30, []), (10, ["9,000 seeds judge every cell, but are too few for a bias over the grid of "
                                        "recall (attention-only)"])):
        grid = [Setting(V=64, L=4, d=64, N=4096 + i) for i in range(cells)]
        lines = []
        found = verify(grid, seed=1, predictor=lambda s: 0.5, announce=lines.append,
                       problem=Stopping(dict.fromkeys(grid, 0.5), std=0.15).problem())
        assert lines == said and len(found.pooled) == 1
        words = bias_in_words(dataclasses.replace(
            found, cells=(), pooled=(dataclasses.replace(found.pooled[0], usual=(-0.003, 0.003)),)))
        assert words.endswith("0 of 1 bias within the margin; too few seeds to judge recall (attention-only).")


def test_groups_are_models_in_regimes_and_all_of_them():
    grid = [s.replace(**more) for more in ({}, {"m": 64}, {"embedding": "sphere"}) for s in CELLS[:3]][:-1]
    groups = pooled_groups(THREE_STEP_RECALL, grid, [{"recall"}] * len(grid))
    assert {name[:2]: members for name, members in groups.items()} == {
        ("attention-only", "gaussian"): [0, 1, 2], ("MLP", "gaussian"): [3, 4, 5], ("all", "all"): [*range(8)]}


@pytest.mark.parametrize("wrong", [shifted(L=0.01), lambda s: {"recall": 1.0}], ids=["L dropped", "all known"])
def test_a_hopeless_formula_ends_the_default_run_early(wrong):
    found = verify(LONG + CELLS[3:], seed=secrets.randbits(32), predictor=wrong)
    assert found.verdict == verdicts.DISAGREE and sum(c.seeds for c in found.cells) <= found.seeds_planned / 4


def test_the_instrument_tells_wrong_formulas_from_right_ones():
    """The shipped study: at most 6 false alarms in 2,000 whole runs. Power is 0.99 where a formula is off by more than
    twice the margin in a cell or over a group; docs/verdict.md lists the others."""
    kept = shipped("false_alarms")
    assert kept["cells"] == len(load_grid("default"))
    assert kept["right"]["the true mean"]["runs"] >= 2000 and kept["right"]["the true mean"]["hits"] <= 6
    for f in kept["right"].values():
        assert f["hits"] <= 0.003 * f["runs"]
    for name in ("recall and accuracy 2 % low", "N >= dL", "L dropped", "sqrt(d) for d", "2V for V", "d 10 % up"):
        assert kept["wrong"][name]["low"] >= 0.98, name
    for name, f in kept["wrong"].items():
        assert max(f["cell_margins"], f["pooled_margins"]) <= 2 or f["hits"] >= 0.99 * f["runs"], name
    assert kept["theory"]["disagree"]["hits"] == 0


def test_design_effects_are_those_of_the_values():
    found = verify(CELLS[:1], seeds=40, seed=3).cells[0].comparisons["recall"]
    p = found.observed.mean
    assert found.design_effect == pytest.approx(found.observed.std**2 * CELLS[0].V / (p * (1 - p)))
    assert found.design_effect > 1.5  # facts of a seed are no independent samples


@pytest.mark.parametrize("arguments", [
    {"grid": []}, {"seeds": 0}, {"seeds": 1.5}, {"margin": 0}, {"margin": 2},
    {"margin": float("nan")}, {"seed": -1}, {"until": "tomorrow"},
])
def test_bad_arguments_are_named(arguments):
    with pytest.raises(SettingError) as caught:
        verify(**{"grid": CELLS[:1], "seeds": 2, "seed": 0, **arguments})
    assert caught.value.name in str(caught.value) and "\n" not in str(caught.value)


def test_shipped_grids():
    cells = load_grid("default")
    predictions = [predict(s) for s in cells]
    assert sum(0.2 < p.attention < 0.9 for p in predictions) >= 6
    assert sum(0.2 < p.recall < 0.8 for p in predictions) >= 8
    assert all(sum((s.m is not None) == mlp for s in cells) >= 18 for mlp in (False, True))
    assert load_grid("mlp") == load_grid(str(VALIDATION / "mlp_grid.toml"))
    assert {c.m is None for c in load_grid("full")} == {True, False}
    assert load_grid("full") == load_grid("attention-only") + load_grid("mlp")
    grid = load_grid("default", GEOMETRIC_RECALL)
    assert len(grid) >= 16 and {s.chain_of_thought for s in grid} == {True, False}
    for s in grid:
        GEOMETRIC_RECALL.check(s)


THREE_STEP_FILES = [
    ("V = 3", "unknown key 'V'"),
    ("[[cell]]\nV = 3\nL = 2\nd = 4", "N missing"),
    ("[[cell]]\nV = 3\nL = 2\nd = 4\nN = 5\nx = 1", "unknown key 'x'"),
    ("[[cell]]\nV = 1\nL = 2\nd = 4\nN = 5", "V=1 is not"),
    ("[[cell", "is not TOML"),
    ("cell = 3", "no table"),
    ("cell = [3]", "is not a table"),
    ("", "no table"),
    *((f"[[cell]]\nV={V}\nL=1\nd=4\nN=4", "V=") for V in ("nan", "1e400", "'a'", "9" * 400, "[1]")),
    ("a=" + "[" * 5000, "nested"),
    ("[[cell]]\nV=8\nL=1\nd=4\nN=4\nembedding='orthogonal'", "orthogonal"),
    ("[[cell]]\nV=8\nL=1\nd=4\nN=4\neta=1.0", "go together"),
    ("\udcff", "UTF-8"),
]
GEOMETRIC_FILES = [
    ("[[cell]]\nN = 4\n", "R missing"),
    ("[[cell]]\nN = 4\nR = 2\nV = 5\n", "unknown key 'V'"),
    ("[[cell]]\nN = 4\nR = 2\n", "d is missing"),
    ("", "holds no table"),
]


@pytest.mark.parametrize("problem, text, words", [
    *((THREE_STEP_RECALL, *case) for case in THREE_STEP_FILES),
    *((GEOMETRIC_RECALL, *case) for case in GEOMETRIC_FILES),
])
def test_broken_grid_files_are_named(tmp_path, problem, text, words):
    path = tmp_path / "grid.toml"
    path.write_text(text, errors="surrogateescape")
    with pytest.raises(SettingError, match="No such file"):
        load_grid(str(tmp_path / "absent.toml"), problem)
    assert words in assert_refused("grid", load_grid, str(path), problem)


# --- geometric recall, the second problem ---------------------------------------------------------


def test_geometric_recall_agrees_and_a_wrong_theory_is_rejected():
    s = GeometricSetting(N=100, R=4, d=64, code_length=16)
    wrong = verify([s], 48, 5, problem=GEOMETRIC_RECALL, predictor=lambda s: predict_geometric(s.replace(d=90)))
    assert wrong.verdict == verdicts.DISAGREE  # 0.05 off, at a standard error of 0.002
    assert verify([s], 600, 5, problem=GEOMETRIC_RECALL).verdict == verdicts.AGREE


def test_geometric_cells_name_their_margin_once():
    grid = [GeometricSetting(N=20, R=2, d=32, code_length=8)] * 2
    found = verify(grid, 8, 1, margin=0.1, problem=GEOMETRIC_RECALL).to_dict()
    assert found["margin"] == 0.1 and all("margin" not in cell for cell in found["cells"])
    first, second = (cell["observed"]["recall"] for cell in found["cells"])
    assert first != second  # cells do not share draws
    facts = verify(grid[:1], 8, 1, problem=GEOMETRIC_RECALL).cells[0].comparisons["recall"]
    assert facts.design_effect == pytest.approx(facts.observed.design_effect(40))


@pytest.mark.parametrize("code, theory, predictor", [(0, True, True), (1, False, False), (3, True, False)])
def test_make_passes_inconclusive_for_the_theory_alone(code, theory, predictor, tmp_path):
    """With a program that ends with a given code in the place of `recall-theory`."""
    programs = tmp_path / ".venv" / "bin"
    programs.mkdir(parents=True)
    shutil.copy(ROOT / "Makefile", tmp_path)
    (tmp_path / "pyproject.toml").touch()
    for name in ("python", "recall-theory"):
        (programs / name).write_text(f"#!/bin/sh\nexit {code}\n")
        (programs / name).chmod(0o755)
    for stamp in (".made", ".ready-run"):
        (tmp_path / ".venv" / stamp).touch()
    for arguments, passes in (([], theory), (["ARGS=--predictor law.txt"], predictor)):
        ended = subprocess.run(["make", "verify", *arguments], cwd=tmp_path, capture_output=True, check=False)
        assert (ended.returncode == 0) == passes, ended.stderr
