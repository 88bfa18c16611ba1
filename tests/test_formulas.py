"""The registry: each formula computed three ways, printed, inverted, and honest about its source."""

from __future__ import annotations

import ast
import json
import math
import re
import sys

import mpmath
import numpy as np
import pytest
import scipy.special
import sympy
from support import ROOT

from recall_theory import Setting, predict
from recall_theory.theory import formulas
from recall_theory.theory.formulas.registry import SYMBOLS, Formula, Registry, symbol

NAMES = list(formulas)
KNOWN = [name for name in NAMES if formulas[name].provenance not in ("quoted", "secondary")]
LAWS = [name for name in KNOWN if name.startswith("law.")]
DRAWS = 12
# A variance of the order L^2/(2 V) written as the difference of terms of order L V: the function takes care,
# its expression in floats cannot. Compared to 50 digits, then, but not compiled.
CANCELS = {"attention.rivals_variance", "attention.others_variance"}

# Where random values of a symbol are drawn from: logarithmically between two bounds, or from a list. Other
# symbols by their kind: moments of an MLP's activation, mostly, of order one.
RANGES: dict[str, tuple[float, float] | list[float]] = {
    "V": (3, 1e6), "L": (2, 1e4), "d": (2, 4096), "N": (2, 1e9), "m": (1, 1e5), "K": (2, 1e6),
    "lam": (0.1, 1e4), "Q": (0.9, 1.1), "P": (1, 1e10), "b": (0.5, 64), "a": (1.5, 1e6),
    "subjects": (50, 1e6), "R": (2, 6), "words": (2, 40), "k": (40, 400), "h": [1, 2, 3],
    "p": [0.2, 0.7, 1], "v": (1e-4, 0.1),
    "n": (2, 1e9), "rank": (1, 512), "alpha": (1.1, 3),
    "s": [-3, -1, 0, 0.5, 2, 8], "e": [0, 1], "kappa": [0, 1], "errors": [0, 1, 2], "ahead": [0, 1, 2],
}

# The same for the capacity, whose laws are of large sizes, one of them least; k1 above k0.
LARGE: dict[str, tuple[float, float] | list[float]] = {
    "V": (1e3, 1e6), "d": (256, 1e4), "N": (1e6, 1e9), "L": (16, 1e3), "m": (1e3, 1e5), "K": (100, 1e9), "lam": (5, 50),
    "e": [1], "count": [4, 9], "target": [0.5, 0.9, 0.99], "spread": [1, 2], "shared": [0.4, 1], "x": (1e-6, 1e-2),
    "k1": (2, 3),
    "k0": (0.3, 1), "B": (0.05, 0.5), "h0": (0.05, 0.5), "h1": (0.3, 1)}


def where(name: str) -> tuple[float, float] | list[float]:
    info = SYMBOLS[name]
    if name in RANGES:
        return RANGES[name]
    assert not info.integer, f"{name}: say where tests draw it from"
    if info.positive:
        return (0.3, 3)
    return [-1.5, -0.4, 0, 0.7, 1.9] if info.domain == "real" else [0, 0.3, 1, 2.5]


def draw(item: Formula, rng: np.random.Generator, n: int = DRAWS) -> dict[str, np.ndarray]:
    """n random values of each argument, inside its declared domain."""
    values = {}
    for name in item.arguments:
        place = LARGE[name] if item.name.startswith("capacity.") and name in LARGE else where(name)
        if item.name.startswith("finite.law.") and name in ("share", "missed"):
            place = (0.5, 0.99) if name == "share" else (0.01, 0.5)  # the informative token has the greatest weight
        if isinstance(place, list):
            values[name] = rng.choice(place, n).astype(float)
        else:
            x = np.exp(rng.uniform(np.log(place[0]), np.log(place[1]), n))
            values[name] = np.rint(x) if SYMBOLS[name].integer else x
    return values


@pytest.fixture
def rng(request):
    return np.random.default_rng([ord(c) for c in request.node.name])


# The least of many branches, which tests/test_capacity_laws.py compares with each of them; and the dimension at finite
# rates, which is infinite at most sizes drawn here and is compared there with its inverse.
LEAST = {name for name in KNOWN if name.startswith("capacity.") and ("attention_" in name or "finite_rates" in name)}
LEAST |= {"capacity.dimension_at_rates"}


@pytest.mark.parametrize("name", [name for name in KNOWN if name not in LEAST])
def test_all_ways_to_compute_agree(name, rng):
    """On arrays and one number at a time, compiled, as printed source, and to 50 and 100 digits."""
    item = formulas[name]
    values = draw(item, rng)
    settings = [{k: float(v[i]) for k, v in values.items()} for i in range(DRAWS)]
    exact = np.array([float(item.evaluate(**one)) for one in settings])

    plain = np.broadcast_to(item(**values), DRAWS)
    assert np.isfinite(plain).all()
    assert plain == pytest.approx(exact, rel=1e-9, abs=1e-10 if name in CANCELS else 1e-300)
    for i, one in enumerate(settings[:5]):
        assert item(**one) == pytest.approx(plain[i], rel=1e-13)

    fifty, hundred = item.evaluate(dps=50, **settings[0]), item.evaluate(dps=100, **settings[0])
    with mpmath.workdps(60):
        assert abs(fifty - hundred) <= abs(hundred) * mpmath.mpf(10) ** -48

    if name in CANCELS:
        return
    compiled = np.broadcast_to(item.lambdify("scipy")(*values.values()), DRAWS)
    assert compiled == pytest.approx(exact, rel=1e-6, abs=1e-12)
    source = item.python()
    assert "\n" not in source
    names = {"math": math, "scipy": scipy, "__builtins__": {"max": max, "min": min, "True": True}}
    for i, one in enumerate(settings[:5]):
        assert eval(source, names, one) == pytest.approx(exact[i], rel=1e-6, abs=1e-12)


@pytest.mark.parametrize(("name", "argument"), [(n, a) for n in LAWS for a in formulas[n].arguments
                                                if a != "e"])
def test_laws_are_inverted(name, argument, rng):
    """f(x) = y, solved for x, gives x back, for every law and each of its arguments."""
    item = formulas[name]
    solutions = item.solve_for(argument)
    assert solutions, "no solution"
    y = sympy.Symbol("y", positive=True)
    trigger = {"e": 1} if "e" in item.arguments else {}  # without it tau is nowhere
    for i in range(3):
        values = {**{k: v[i] for k, v in draw(item, rng, 3).items()}, **trigger}
        target = item.evaluate(**values)
        known = [a for a in item.arguments if a != argument]
        found = []
        for solution in solutions:
            compute = sympy.lambdify([y, *(symbol(a) for a in known)], solution, "mpmath")
            with mpmath.workdps(40):
                found.append(mpmath.mpmathify(compute(target, *(mpmath.mpf(values[a]) for a in known))))
        nearest = min(found, key=lambda x: abs(x - values[argument]))
        # Where two positive x give the same y, either branch is an answer; each must map to y.
        back = item.evaluate(**{**values, argument: nearest.real})
        assert abs(back - target) <= abs(target) * mpmath.mpf(10) ** -20


def test_solving_for_a_number():
    assert formulas["law.attention.noise_tokens"].solve_for("d", 1000)[0].free_symbols == {
        symbol("V"), symbol("L")}
    with pytest.raises(ValueError, match="no argument 'm'; it has V"):
        formulas["law.attention.noise_tokens"].solve_for("m")


@pytest.mark.parametrize("value", ["__import__('pathlib').Path('made').touch()", "1 + 1", b"1", [1], {}, object()])
def test_solve_for_takes_numbers_and_sympy_expressions_only(value, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    law = formulas["law.attention.noise_tokens"]
    with pytest.raises(ValueError, match="neither a number nor a sympy expression"):
        law.solve_for("d", value)
    assert not list(tmp_path.iterdir())
    assert law.solve_for("d", np.float64(1000)) == law.solve_for("d", sympy.Float(1000))


@pytest.mark.parametrize("name", NAMES)
def test_a_record_states_its_provenance_and_has_the_expression_in_the_declared_symbols(name):
    item = formulas[name]
    record = item.to_dict()
    assert json.loads(json.dumps(record)) == record
    assert set(record["symbols"]) == set(item.arguments)
    assert all(s["meaning"] and s["domain"] and s["latex"] for s in record["symbols"].values())
    assert item.name == name
    assert re.fullmatch(r"[a-z0-9_]+(\.[a-z0-9_]+)+", name)
    assert item.title and item.regime and item.reference
    assert item.provenance in ("quoted", "secondary", "derived", "kin")
    assert bool(item.quote) == bool(item.source) == (item.provenance in ("quoted", "secondary"))
    if item.provenance == "derived":
        file, _, _ = item.reference.partition("#")
        assert re.fullmatch(r"docs/derivations/[a-z_]+\.md", file)
        assert (ROOT / file).is_file(), f"{file} is missing"
    else:
        assert re.search(r"arXiv:\d{4}\.\d{5}", item.reference), "name the paper"
    if item.expr is None:
        return
    text = record["latex"]
    assert text.count("{") == text.count("}")
    assert text.count(r"\left") == text.count(r"\right")
    for argument in item.arguments:
        if item.symbols[argument] in item.expr.free_symbols:
            assert SYMBOLS[argument].latex in text
    assert "tau" not in text.replace(r"\tau", "")
    assert "lam" not in text.replace(r"\lambda", "")
    assert isinstance(item.expr, sympy.Expr)
    assert item.expr.free_symbols <= set(item.symbols.values())
    assert all(item.symbols[a] is symbol(a) for a in item.arguments)
    assert set(item.domain) == set(item.arguments)
    assert not item.expr.atoms(sympy.Float), "a float in an expression is a rounded or a fitted number"
    terms = item.terms
    assert sum(terms.values()) - item.expr == 0
    assert all(text.removeprefix("-") in record["expression"] for text in terms)
    assert list(terms) == ([str(t) for t in terms.values()] if len(terms) > 1 else [record["expression"]])


@pytest.mark.parametrize("name", [n for n in NAMES if n not in KNOWN])
def test_statements_of_the_papers_carry_their_sentence_and_its_place_and_no_expression(name):
    """Their formulas could not be had: nothing may pretend to be them, nor a summary to be the paper."""
    item = formulas[name]
    assert item.expr is None
    assert len(item.quote.split()) >= 6 and "our words" not in item.quote
    assert ("abstract" in item.source) == (item.provenance == "quoted")
    for ask in (item.latex, item.python, item.lambdify, lambda: item.terms):
        with pytest.raises(ValueError, match=f"{name} has no expression"):
            ask()
    record = item.to_dict()
    assert record["expression"] is record["latex"] is record["python"] is None


def test_the_registry_is_a_mapping():
    assert sorted(NAMES) == NAMES
    assert len(set(NAMES)) == len(formulas)
    assert "law.recall.coverage" in formulas
    for name, near in (("no such", "near it: none"), ("recall.own_outputs", "near it: recall.token_overlap")):
        with pytest.raises(KeyError, match=near):
            formulas[name]
    assert repr(formulas["law.recall.coverage"]) == "Formula('law.recall.coverage', derived)"


def test_a_name_serves_once_and_symbols_are_declared():
    about = ("t", "derived", "docs/derivations/bounds.md", "any")
    registry = Registry()
    registry._loaded = True
    item = Formula(lambda V: V, "a.b", *about)
    registry.add(item)
    with pytest.raises(ValueError, match=r"'a\.b' exists already"):
        registry.add(item)
    with pytest.raises(TypeError, match="no symbol is declared for omicron"):
        Formula(lambda V, omicron: V, "a.c", *about)


def test_arguments_are_checked():
    item = formulas["law.recall.mean_bias"]
    with pytest.raises(ValueError, match="takes V, d, tau; missing: tau; unknown: L"):
        item(V=2, d=3, L=4)
    with pytest.raises(ValueError, match="missing: V"):
        item.evaluate(d=3, tau=1)
    with pytest.raises(ValueError, match="backend='torch' is not one of"):
        item.lambdify("torch")


@pytest.mark.parametrize("backend", ["scipy", "numpy", "mpmath", "math"])
def test_backends_give_one_number(backend):
    item = formulas["bound.coverage"]
    assert float(item.lambdify(backend)(64, 100)) == pytest.approx(float(item.evaluate(V=64, N=100)), rel=1e-12)


@pytest.mark.parametrize("backend", ["scipy", "numpy"])
def test_special_functions_and_constants_work_on_arrays(backend):
    bits = formulas["bound.bits"].lambdify(backend)(np.array([3.0, 4.0]))
    assert bits == pytest.approx([math.log2(6), math.log2(24)])
    assert formulas["law.recall.interference"].lambdify(backend)(np.array([64.0, 128.0]), 0, 1).shape == (2,)


@pytest.mark.parametrize("name", SYMBOLS)
def test_symbols_are_declared_whole(name):
    info = SYMBOLS[name]
    assert info.latex and info.meaning and info.domain
    assert where(name)


KINDS = {"gaussian": ({}, 0.5), "sphere": ({"embedding": "sphere"}, 0.5), "mlp": ({"m": 64, "activation": "relu"}, 0.4),
         "orthogonal": ({"embedding": "orthogonal"}, 0.25)}


@pytest.mark.parametrize("kind", KINDS)
def test_share_of_registered_arithmetic(kind, capsys):
    """Of the arithmetic that one prediction executes in theory/, counted as operators on distinct lines, the share that
    stands in formulas/: the rest is quadrature, root finding, array handling, and moments that are no closed forms."""
    folder = ROOT / "recall_theory" / "theory"
    operators = {}
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Assign | ast.AugAssign | ast.Return):
                count = sum(isinstance(part, ast.BinOp) for part in ast.walk(node))
                operators[str(path), node.lineno] = count
    seen = set()

    def line(frame, event, _):
        seen.add((frame.f_code.co_filename, frame.f_lineno))
        return line

    before, setting = sys.gettrace(), Setting(V=48, L=16, d=64, N=512, **KINDS[kind][0])
    sys.settrace(lambda frame, *_: line if frame.f_code.co_filename.startswith(str(folder)) else None)
    try:
        predict(setting)
    finally:
        sys.settrace(before)
    everything = sum(operators.get(place, 0) for place in seen)
    registered = sum(operators.get(place, 0) for place in seen if place[0].startswith(str(folder / "formulas")))
    with capsys.disabled():
        print(f"\n{kind}: {registered / everything:.0%} of {everything} operators are in registered formulas")
    assert registered / everything >= KINDS[kind][1]
