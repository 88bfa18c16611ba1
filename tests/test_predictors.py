"""Anyone's formula: how it is loaded, what it may return, what is told where it fails, and checks for a test suite."""

from __future__ import annotations

import functools
import math
import re
import sys

import mpmath
import numpy as np
import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st
from support import assert_refused

from recall_theory import Setting, SettingError, predict, verify
from recall_theory.numerics.forced_choice import forced_choice
from recall_theory.testing import assert_agrees, assert_not_rejected, assert_rejected
from recall_theory.verification.predictors import FUNCTIONS, explain, formula_of, load, noise, paragraph
from recall_theory.verification.predictors import claim_of as claim_of_problem
from recall_theory.verification.problem import THREE_STEP_RECALL
from recall_theory.verification.results import Cell, Verification, compare

HERE = Setting(V=64, L=4, d=64, N=4096)
DEEP = Setting(V=64, L=4, d=64, N=4096, m=128)


def claim_of(predictor, setting):
    return claim_of_problem(predictor, setting, THREE_STEP_RECALL)


refused = functools.partial(assert_refused, "predictor")


# What a predictor may return


@pytest.mark.parametrize("value", [0.25, np.float64(0.25), mpmath.mpf("0.25"), sympy.Rational(1, 4), np.array(0.25)])
def test_any_number_is_a_claim_of_recall(value):
    assert claim_of(lambda s: value, HERE)[0] == {"recall": 0.25}


def test_mappings_and_objects_are_claims():
    assert claim_of(lambda s: {"accuracy": 0, "attention": 1}, HERE)[0] == {"attention": 1.0, "accuracy": 0.0}
    assert claim_of(lambda s: {"recall": 0.5, "margin": 0.1}, HERE)[1] == 0.1
    p = predict(HERE)
    assert claim_of(predict, HERE)[0] == {o: getattr(p, o) for o in ("attention", "recall", "accuracy")}


@pytest.mark.parametrize("value", [
    float("nan"), float("inf"), -0.001, 1.001, None, "0.5", True, 1j, np.array([0.1, 0.2]), sympy.Symbol("V"), [],
    {}, {"recall": float("nan")}, {"recal": 0.5}, {"recall": 0.5, "margin": 2}, {"attention": 2.0},
    pytest.param(object(), id="object"),  # whose repr is another in every process
], ids=repr)
def test_what_is_no_probability_is_named(value):
    assert "V=64, L=4, d=64, N=4096" in refused(claim_of, lambda s: value, HERE)


@pytest.mark.parametrize("error, words", [
    (RuntimeError("two\nlines"), "RuntimeError: two lines"), (SystemExit(0), "SystemExit: 0"),  # it has not agreed
])
def test_a_predictor_that_raises_is_named(error, words):
    def bad(setting):
        raise error

    assert words in refused(claim_of, bad, HERE)


def test_what_a_predictor_prints_is_not_in_the_answer(capsys):
    claim_of(lambda s: print("noise") or 0.5, HERE)
    assert capsys.readouterr().out == ""


# Files of expressions

V, L, d, N = sympy.symbols("V L d N", positive=True)


@pytest.mark.parametrize("expr", [
    1 - sympy.exp(-N / V), sympy.Max(0, 1 - V / d**2), sympy.sqrt(V * L) / (V * L), sympy.erf(d / V) ** 2,
    sympy.LambertW(V / N), 1 / sympy.log(V) ** sympy.Rational(3, 2), sympy.Min(V / N, sympy.Rational(1, 3), d / V),
    sympy.gamma(L) / N, sympy.tanh(sympy.pi * V / N), sympy.erfc(L / 4), sympy.exp(-sympy.E),
], ids=str)
def test_what_sympy_prints_is_read_back(expr):
    """Evaluated here in floats, by sympy at 50 digits."""
    exact = float(expr.subs({V: 64, L: 4, d: 64, N: 4096}).evalf(50))
    assert formula_of(str(expr), "law")(HERE)["recall"] == pytest.approx(exact, rel=1e-12)


def test_definitions_build_on_one_another():
    law = formula_of("# a law\nq = d/V  # one\n\ns = 2*q + Phi(0)\nrecall = P(s, V)\nattention=1", "law.txt")
    found = law(HERE)
    assert found["attention"] == 1 and found["recall"] == pytest.approx(float(forced_choice(2.5, 64)), rel=1e-12)


@pytest.mark.parametrize("text, words", [
    ("", "none of attention"), ("# nothing", "none of attention"), ("x = 1", "none of attention"),
    ("recall = ", "not an expression"), ("recall = 1 +", "not an expression"), ("recall = W", "'W' is not known"),
    ("recall = V.real", "only arithmetic"), ("recall = __import__('os')", "not known"),
    ("recall = [V][0]", "only arithmetic"), ("recall = 'a'", "not a real number"),
    ("recall = True", "not a real number"), ("recall = 1j", "not a real number"),
    ("recall = exp(V, L)", "exp takes one argument"), ("recall = Min(V)", "two or more"),
    ("recall = exp(x=1)", "exp takes"), ("V = 3\nrecall = 1", "'V' is taken"), ("exp = 3\nrecall = 1", "taken"),
    ("a = 1\na = 2\nrecall = a", "'a' is taken"), ("1/V\n1/L", "give it a name"), ("recall = V if V else 1", "only"),
    ("recall = lambda: 1", "only arithmetic"), ("recall = (V := 3)", "only arithmetic"), ("recall = V < 3", "only"),
    ("recall = " + "-" * 60 + "V", "nested deeper"), ("1" * 30_000, "characters"),
    ("recall = V\0", "no meaning"),
])
def test_files_that_are_no_formula_are_named(text, words):
    assert words in refused(formula_of, text, "law.txt")


@pytest.mark.parametrize("text", ["1/(V - 64)", "log(V - 64)", "sqrt(-V)", "(-V)**0.5", "9**9**9**9", "exp(V**9)",
                                  "gamma(V**9)", "P(1, -V)"])
def test_expressions_without_a_real_value_are_named(text):
    assert "no real value at V=64" in refused(formula_of(text, "law.txt"), HERE)


def test_m_is_there_with_an_mlp_only():
    law = formula_of("recall = 1/m", "law.txt")
    assert law(DEEP) == {"recall": 1 / 128}
    assert "no MLP" in refused(law, HERE)


@given(st.text(alphabet="VLdNm0123456789.+-*/()=,# \nePlogxsqrtMin_", max_size=60))
def test_any_text_is_a_formula_or_one_line(text):
    said = ""
    try:
        claim_of(formula_of(text, "law"), HERE)
    except SettingError as error:
        said = str(error)
    assert "\n" not in said


def test_every_function_is_reached():
    for name, (_, fewest, _) in FUNCTIONS.items():
        arguments = ", ".join(["2"] * fewest)
        value = formula_of(f"recall = 0*{name}({arguments})", "law")(HERE)["recall"]
        assert value == 0 and math.isfinite(value)


# Loading


def test_modules_files_and_functions(tmp_path, monkeypatch):
    (tmp_path / "my_law_for_tests.py").write_text(
        "from __future__ import annotations\nimport dataclasses\ndef law(s):\n    @dataclasses.dataclass\n"
        "    class Law:\n        recall: float\n    return Law(s.d / (s.d + s.V))\n")
    (tmp_path / "law.txt").write_text("d/(d + V)\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    whole = str(tmp_path / "my_law_for_tests.py")
    for name in ("my_law_for_tests:law", "my_law_for_tests.py:law", f"{whole}:law", "law.txt"):
        assert claim_of(load(name), HERE)[0] == {"recall": 0.5}


@pytest.mark.parametrize("name, words", [
    ("no_such_module:f", "No module named"), ("json:no_such", "no attribute"), ("json:__doc__", "not a function"),
    ("json", "neither"), ("", "neither"), (":f", "neither"), ("json:", "neither"), ("a\0b", "neither"),
    ("x" * 5000, "neither"), ("no/such.py:f", "No such file"),
])
def test_what_cannot_be_loaded_is_named(name, words):
    assert words in refused(load, name)


@pytest.mark.parametrize("code", ["raise SystemExit(3)", "import nothing_of_this_name", "def f(:", "1/0"])
def test_files_that_break_are_named(tmp_path, code):
    (tmp_path / "broken.py").write_text(code)
    assert "can't be loaded" in refused(load, f"{tmp_path / 'broken.py'}:f")
    (tmp_path / "law.txt").write_bytes(b"\xff\xfe\x00")
    assert "UTF-8" in refused(load, str(tmp_path / "law.txt"))


# Explanations


def as_seen(grid, truth, wrong):
    """A verification in which every seed of a cell shows about what `truth` says: only the formula is in question."""
    cells: list[Cell] = []
    for setting in grid:
        values = np.clip(truth(setting) + 0.01 * np.sin(np.arange(1500))[:, None], 0, 1).repeat(3, axis=1)
        claimed, _ = claim_of(wrong, setting)
        cells.append(compare(THREE_STEP_RECALL, setting, claimed, values, predict(setting),
                             margins=dict.fromkeys(claimed, 0.02), confidence=0.9999))
    return Verification(0, 0.9999, tuple(cells))


def test_a_term_left_out_is_found():
    """Truth by a formula whose noise has two parts, and a formula that forgets one: exponents and term come out."""
    grid = [Setting(V=v, L=4, d=d, N=n * v) for v in (64, 128) for d in (96, 192) for n in (16, 64)]

    def bias(s):
        return predict(s).terms["recall"]["mean bias"]

    def truth(s):
        return float(forced_choice((0.04 + bias(s)) ** -0.5, s.V))

    found = explain(as_seen(grid, truth, lambda s: float(forced_choice(5.0, s.V))))
    (missing,) = found.missing
    assert (missing.observable, missing.sign) == ("recall", 1) and missing.cells == 8
    assert missing.term == "mean bias" and missing.ratio == pytest.approx(1, abs=0.05)
    slopes = missing.exponents
    assert set(slopes) == {"V", "d", "N"}  # L doesn't vary
    assert slopes["N"] == pytest.approx(-1, abs=0.1) and slopes["d"] == pytest.approx(-1, abs=0.1)
    assert slopes["V"] == pytest.approx(2, abs=0.2)
    said = paragraph(found)
    assert "\n" not in said
    assert re.search(r"it predicts is on average 0\.\d+ too high, and it disagrees in 6 of 8 cells\.", said)
    assert "too little noise in the choice of a label" in said and "is too small in 8 cells" in said
    assert "the missing noise varies roughly as V^" in said and "'mean bias' varies most like it" in said


def test_too_much_noise_is_found():
    grid = [Setting(V=v, L=4, d=d, N=16 * v) for v in (64, 128, 256) for d in (96, 192)]
    found = explain(as_seen(grid, lambda s: float(forced_choice(5.0, s.V)), lambda s: float(forced_choice(3.0, s.V))))
    (missing,) = found.missing
    assert missing.sign == -1 and missing.cells == 6 and "too much noise" in paragraph(found)


def test_noise_of_attention_is_counted_among_the_positions():
    grid = [Setting(V=v, L=8, d=64, N=512) for v in (64, 128)]
    right, wrong = (lambda s, lead=lead: {"attention": float(forced_choice(lead, s.L))} for lead in (2.0, 1.0))
    (missing,) = explain(as_seen(grid, lambda s: right(s)["attention"], wrong)).missing
    assert (missing.observable, missing.sign, missing.cells) == ("attention", -1, 2)
    assert noise(wrong(grid[0])["attention"], 8) == pytest.approx(1) and math.isnan(noise(0.01, 64))


def test_nothing_is_missing_from_the_truth():
    found = explain(as_seen([HERE], lambda s: 0.7, lambda s: 0.7))
    assert found.missing == () and [r.disagree for r in found.regimes] == [0]
    assert "In no cell does" in paragraph(found)


@given(st.floats(0.05, 0.99), st.integers(40, 10**6))
def test_noise_inverts_the_forced_choice(p, K):
    assert float(forced_choice(noise(p, K) ** -0.5, K)) == pytest.approx(p, rel=1e-6)


@pytest.mark.parametrize("p, K", [(0, 10), (0.1, 10), (1, 10), (0.9999, 10), (0.5, 1)])
def test_noise_is_not_told_near_chance_and_certainty(p, K):
    assert math.isnan(noise(p, K))


# For a test suite


SURE = [Setting(V=8, L=2, d=512, N=8192)]  # a seed has a wrong fact once in 1e10


def test_assertions_hold_and_fail_as_they_should():
    # Every value is 1 in every seed, but for one run in 5 million.
    right, wrong = (lambda s: 1.0), (lambda s: 0.5)
    assert assert_agrees(right, SURE, seeds=600).verdict == "agree"
    assert assert_not_rejected(right, SURE, seeds=4).verdict == "inconclusive"
    assert assert_rejected(wrong, SURE, seeds=100).verdict == "disagree"
    with pytest.raises(AssertionError, match=r"V = 8, .* N = 8,192: recall predicted 0.5000, observed .*: disagree"):
        assert_agrees(wrong, SURE, seeds=100)
    with pytest.raises(AssertionError, match="rare failures"):
        assert_agrees(right, SURE, seeds=4)
    with pytest.raises(AssertionError, match="escape rejection"):
        assert_not_rejected(wrong, SURE, seeds=100)
    with pytest.raises(AssertionError, match="not rejected"):
        assert_rejected(right, SURE, seeds=100)


def test_margins_of_a_predictor_are_its_own():
    def law(setting):
        return {"recall": 0.5, "margin": 0.6}

    assert verify(SURE, seeds=4, seed=0, predictor=law).cells[0].margin == 0.6
    assert verify(SURE, seeds=4, seed=0, margin=0.3, predictor=law).cells[0].margin == 0.3
    deep = [Setting(V=32, L=2, d=64, N=256, m=64)]
    assert verify(deep, seeds=2, seed=0, predictor=lambda s: 0.5).cells[0].margin == 0.02
    assert verify(deep, seeds=2, seed=0, predictor=lambda s: 0.1).cells[0].margin == pytest.approx(0.01)
