"""Activations: what is accepted and refused, slopes and Gaussian averages, each by two ways."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st
from support import assert_refused, in_new_process

from recall_theory.activations import NAMED, activation, canonical, gaussian_mean, hermite_coefficients
from recall_theory.errors import brief_repr
from recall_theory.settings import Setting, SettingError

X = sympy.Symbol("x", real=True)
ACCEPTED = [*NAMED, "x**3 - 3*x", "x^2", "sin", "relu(x)**2", "exp(-x**2)", "softplus", "silu(2*x)", "abs(x)",
            "max(x, -1, 0.1*x)", "min(x, 1)", "x/(1 + exp(-x))", "sqrt(1 + x**2)", "relu(x)**1.5", "1/(1 + x**2)",
            "atan(x)*cosh(x/4)", "log(1 + exp(x))", "x*sign(x)", "e*x + pi", "asinh(x) - sinh(x/2)"]
REFUSED = {
    "log(x)": "not positive", "1/x": "is zero", "1/(x - 0.3)": "is zero", "1/(x**2 - 2*x + 1)": "is zero",
    "sqrt(x)": "not positive", "x**1.5": "not real", "x**-1": "is zero", "exp(x**2)": "too fast",
    "exp(exp(x))": "too fast", "(x**9)**9": "too fast", "sin(1000*x)": "varies too fast", "sign(x)": "jumps",
    "heaviside(x)": "jumps", "x - x": "depend on x", "3": "depend on x", "y": "not known", "x*y": "not known",
    "tan(x)": "not known", "foo": "not known", "x**x": "plain number", "2**x": "plain number",
    "9**9**9*x": "plain number", "x**99": "may not exceed", "1e300*x": "may not exceed", "1e999*x": "may not exceed",
    "": "not an expression", "x +": "not an expression", "x := 3": "not an expression", "x\x00": "no meaning",
    "x; x": "not an expression", "\u0445": "not known", "\u0445*x": "no meaning",
    "x" * 201: "characters", "sin(x, x)": "one argument",
    "max(x)": "two or more", "sin()": "one argument", "sin(x=x)": "one argument", "sin": None,
    "exp + x": "needs an argument", "x[0]": "only arithmetic", "(x)(y)": "not known",
    "(((x*9)**16)**16)**16": "too long",
    "+".join(["x"] * 60): "nested", "True*x": "not a real", "1j*x": "not a real", "'a'*x": "not a real",
    "x if x else 1": "only arithmetic", "x < 1": "only arithmetic", "[x]": "only arithmetic",
    "x.real": "only arithmetic", "lambda: x": "only arithmetic", "x@x": "only arithmetic", "x % 2": "only arithmetic",
    "sin(*[x])": "star", "f'{x}'": "only arithmetic", "relu": None,
    "__import__('os').system('true')": "not known", "open('f')": "not known", "(lambda: x)()": "not known",
    "().__class__": "only arithmetic", "x.__class__(1)": "not known", "exec('1')": "not known", "atan(x)/x": "is zero",
}


IN_SYMPY = {
    "x": X, "e": sympy.E, "abs": sympy.Abs, "heaviside": lambda x: (1 + sympy.sign(x)) / 2,
    "relu": lambda x: (x + sympy.Abs(x)) / 2, "gelu": lambda x: x * (1 + sympy.erf(x / sympy.sqrt(2))) / 2,
    "sigmoid": lambda x: 1 / (1 + sympy.exp(-x)), "silu": lambda x: x / (1 + sympy.exp(-x)),
    "softplus": lambda x: sympy.log(1 + sympy.exp(x)), "max": sympy.Max, "min": sympy.Min}


@pytest.mark.parametrize("text", ACCEPTED)
def test_sympy_means_the_same(text):
    phi = activation(text)
    expr = sympy.sympify(NAMED.get(phi.name, phi.name), IN_SYMPY)
    for x in (-1.7, -0.31, 0.6, 2.4):
        at = {X: sympy.Rational(str(x))}
        assert float(phi.phi(x)) == pytest.approx(float(expr.subs(at)), rel=1e-12, abs=1e-14)
        slope = sympy.diff(expr, X).subs(at)
        assert float(phi.derivative(x)) == pytest.approx(float(slope), rel=1e-12, abs=1e-14)


@pytest.mark.parametrize("text", ACCEPTED)
def test_the_canonical_text_is_a_fixed_point(text):
    name = canonical(text)
    assert canonical(name) == name
    setting = Setting(8, 2, 4, 10, m=5, activation=text)
    assert setting.activation == name
    assert Setting(**json.loads(json.dumps(setting.to_dict()))) == setting
    assert hash(setting) == hash(Setting(8, 2, 4, 10, m=5, activation=name))


def test_texts_that_come_to_a_name_get_it():
    for name, text in NAMED.items():
        assert canonical(text) == canonical(f" ({text}) ") == name
    assert canonical("x^2-1") == "quadratic"


@pytest.mark.parametrize("text", REFUSED, ids=lambda t: t[:20])
def test_what_is_not_accepted_is_said_in_one_line(text):
    why = REFUSED[text]
    if why is None:
        activation(text)
        return
    line = assert_refused("activation", activation, text)
    assert why in line and len(line) < 350


@given(st.text(alphabet="x()+-*/.,^0123456789 sintahelurbqp_[]{}'\"=<>:;!@#%&|~", max_size=60))
def test_any_text_is_accepted_or_refused(text):
    try:
        phi = activation(text)
    except SettingError as error:
        line = str(error)
    else:
        line = phi.name
        assert np.isfinite(phi.phi(np.linspace(-8, 8, 33))).all()
    assert "\n" not in line


@pytest.mark.parametrize("value", [3, None, 2.5, ["x"], sympy.Integer(3), 10**5000, sympy.Integer(10**5000),
                                   sympy.Symbol("a") * sympy.Symbol("b"), sympy.Piecewise((0, X < 0), (X, True)),
                                   sympy.gamma(X), 1 / X], ids=brief_repr)
def test_objects_that_are_not_activations_are_refused(value):
    with pytest.raises(SettingError):
        activation(value)


@pytest.mark.parametrize("expression", [sympy.tanh(X) ** 2, sympy.Max(0, X), sympy.Heaviside(X) * X, sympy.Abs(X),
                                        sympy.Symbol("t") ** 3 - sympy.sqrt(2),
                                        sympy.exp(-X**2 / 2) / sympy.sqrt(sympy.pi),
                                        X * (1 + sympy.erf(X / sympy.sqrt(2))) / 2, sympy.Rational(1, 3) * X + sympy.E],
                         ids=str)
def test_sympy_objects(expression):
    phi = activation(expression)
    variable = next(iter(expression.free_symbols))
    for x in (-1.25, 0.5, 2.0):
        expected = float(expression.subs(variable, sympy.Rational(x)))
        assert float(phi.phi(x)) == pytest.approx(expected, rel=1e-13, abs=1e-15)


def test_nothing_typed_is_run(tmp_path):
    target = tmp_path / "made"
    for text in (f"open('{target}', 'w')", f"__import__('pathlib').Path('{target}').touch()",
                 f"x + (lambda: open('{target}', 'w'))()"):
        with pytest.raises(SettingError):
            activation(text)
    assert not target.exists()


@pytest.mark.parametrize("text", ["relu", "max(x, 0.1*x)", "x**3 - 3*x", "softplus(2*x)"])
def test_activations_go_to_other_processes(text):
    phi, x = activation(text), np.linspace(-3, 3, 7)
    there = pickle.loads(pickle.dumps(phi))
    assert there.name == phi.name and (there.phi(x) == phi.phi(x)).all()
    assert (there.derivative(x) == phi.derivative(x)).all()


def test_numbers_that_sympy_would_look_at_for_long_are_refused():
    for text in ("x + tanh(exp(exp(20)))", "(((x*9)**16)**16)**16*x", "x*exp(-1e6*exp(9))"):
        with pytest.raises(SettingError, match=r"may not exceed|too long"):
            activation(text)
    assert activation("x*2**0.333333 + 7**0.000001*x**2").degree == 2  # no factors of huge powers


def test_no_activation_needs_sympy():
    in_new_process(
        "import sys; from recall_theory.activations import *; from recall_theory import Setting, predict;"
        "predict(Setting(8, 2, 4, 10, m=5, activation='x + sin(x)'));"
        "assert 'sympy' not in sys.modules")


# Gaussian averages

VARIANCES = [0.03, 0.5, 1.0, 2.3]


@pytest.mark.parametrize("text", [*NAMED, "x**3 - 3*x", "relu(x - 0.4)", "max(x, -1, 0.1*x)"])
def test_hermite_coefficients_sum_to_the_energy(text):
    phi = activation(text)
    c = hermite_coefficients(phi, np.array(VARIANCES), 400)
    energy = gaussian_mean(phi, lambda x: phi.phi(x) ** 2, VARIANCES)
    assert (c**2).sum(axis=1) == pytest.approx(energy, rel=2e-4)  # kinks: the tail falls as n^-1.5
    assert ((c**2).sum(axis=1) <= energy * (1 + 1e-12)).all()


@pytest.mark.parametrize("text", [*NAMED, "x**3 - 3*x", "sin(x)"])
def test_hermite_coefficients_agree_with_the_slopes(text):
    phi = activation(text)
    for s in VARIANCES:
        mean, first, second = hermite_coefficients(phi, s, 2) / np.sqrt([1, s, s**2 / 2])
        assert float(mean) == pytest.approx(float(gaussian_mean(phi, phi.phi, s)), abs=1e-13)
        assert float(first) == pytest.approx(float(gaussian_mean(phi, phi.derivative, s)), rel=1e-11, abs=1e-12)
        by_slope = float(gaussian_mean(phi, lambda x, f=phi: f.derivative(x) * x, s)) / s
        assert float(second) == pytest.approx(by_slope, rel=1e-11, abs=1e-11)


def test_an_mlp_needs_a_width_and_a_width_means_relu():
    assert Setting(8, 2, 4, 10, m=5).activation == "relu"
    assert Setting(8, 2, 4, 10).activation is None
    with pytest.raises(SettingError, match="width m"):
        Setting(8, 2, 4, 10, activation="tanh")
    assert_refused("m", Setting, 8, 2, 4, 10, m=0)
