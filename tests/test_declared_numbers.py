"""Every number that decides a prediction is derived, a field of `Accuracy`, or a guard with a sentence."""

from __future__ import annotations

import ast
from fractions import Fraction
from pathlib import Path

import pytest

import recall_theory.theory as theory

LAW = ("seed", "training_attention", "kernel", "neuron_loops", "read_out", "strengths", "correct_label", "competitors",
       "recall", "variance", "predict", "finite_rates", "soft_attention", "orthogonal", "orthogonal_scores")
ROOT = Path(theory.__file__).parent
WHOLE = (*range(1, 13), 15, 16, 18, 24, 36)
FORMS = {Fraction(p, q) for q in (1, 2, 3, 4, 6, 8, 12, 16, 24) for whole in WHOLE for p in (-whole, 0, whole)}
BOUNDS = {Fraction(p) for p in (-1, 0, 1, 2)} | {Fraction(1, 2)}  # what a clip may have without a name
RULES = ("gauss", "linspace", "arange", "range", "clip", "minimum", "maximum", "max", "min", "where", "full",
         "condense")
FOLD = {ast.Add: lambda a, b: a + b, ast.Sub: lambda a, b: a - b, ast.Mult: lambda a, b: a * b,
        ast.Div: lambda a, b: a / b, ast.Pow: lambda a, b: a**b, ast.FloorDiv: lambda a, b: a // b,
        ast.Mod: lambda a, b: a % b}


def folded(node):
    """The value of an expression of literals alone, else None: 1/1000, -(2**-3) and 10**-3 are numbers as 0.001 is."""
    if isinstance(node, ast.Constant):
        ok = isinstance(node.value, int | float) and not isinstance(node.value, bool)
        return Fraction(str(node.value)) if ok else None
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        value = folded(node.operand)
        return None if value is None else -value if isinstance(node.op, ast.USub) else value
    if isinstance(node, ast.BinOp) and type(node.op) in FOLD:
        parts = folded(node.left), folded(node.right)
        if None not in parts:
            return Fraction(FOLD[type(node.op)](*parts))
    if isinstance(node, ast.Call) and ast.unparse(node.func) in ("float", "int", "Fraction", "np.float64"):
        parts = [folded(a) for a in node.args]
        if parts and None not in parts:
            return parts[0] / (parts[1] if len(parts) > 1 else 1)
    return None


def numbers(tree):
    """(line, value, whether it is an argument of a rule or a bound), but for named constants and docstrings."""
    def visit(node, bound):
        if isinstance(node, ast.Assign | ast.AnnAssign) and node in tree.body:
            names = node.targets if isinstance(node, ast.Assign) else [node.target]
            if all(name.isupper() for target in names for name in ast.unparse(target).strip("()").split(", ")):
                return
        value = folded(node) if isinstance(node, ast.expr) else None
        if value is not None:
            yield node.lineno, value, bound
            return
        if isinstance(node, ast.Call):
            rule = ast.unparse(node.func).rpartition(".")[2].lstrip("_").startswith(RULES)
            yield from visit(node.func, False)
            for child in (*node.args, *(k.value for k in node.keywords if k.arg != "axis")):
                yield from visit(child, rule and folded(child) is not None)
            return
        if isinstance(node, ast.FunctionDef):  # not its decorators: the size of a cache
            for child in (*node.args.defaults, *node.body):
                yield from visit(child, False)
            return
        if isinstance(node, ast.Subscript):  # places in an array
            yield from visit(node.value, False)
            return
        for child in ast.iter_child_nodes(node):
            yield from visit(child, False)
    yield from visit(tree, False)


def undeclared(source):
    return [(line, str(value)) for line, value, bound in numbers(ast.parse(source))
            if value not in (BOUNDS if bound else FORMS)]


@pytest.mark.parametrize("module", LAW)
def test_no_value_depends_on_an_undeclared_number(module):
    assert undeclared((ROOT / f"{module}.py").read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("text", ["0.05", "(1/20)", "1/1000", "1/20", "10**-3", "-(1/20)", "2.0**-7", "(49/50)", "161",
                                  "float(3e-4)", "np.clip(x, -7, 9)", "gauss_hermite(5)", "np.linspace(0, 1, 9)",
                                  "Fraction(1, 20)", "max(x, 1/8)"])
def test_numbers_cannot_hide(text):
    assert undeclared(f"def f(x):\n    return x * {text}\n")


def test_derived_coefficients_are_no_switches():
    assert undeclared("def f(x):\n    return 3 * x**2 / 2 + x[:, 5] - x**4 / 24 + np.sum(x, axis=-3)\n") == []


@pytest.mark.parametrize("module", LAW)
def test_guards_say_when_they_act(module):
    """A named number of a module of the law has a sentence beside it or above it."""
    source = (ROOT / f"{module}.py").read_text(encoding="utf-8")
    lines = source.splitlines()
    for node in ast.parse(source).body:
        if not isinstance(node, ast.Assign) or not ast.unparse(node.targets[0]).strip("()").replace(", ", "").isupper():
            continue
        if not any(folded(child) is not None for child in ast.walk(node.value) if isinstance(child, ast.expr)):
            continue
        said = lines[node.end_lineno - 1].partition("  # ")[2] or lines[node.lineno - 2].partition("# ")[2]
        assert len(said.split()) >= 4, (module, ast.unparse(node))
