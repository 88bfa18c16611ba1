"""A predictor from a file of expressions, such as sympy prints them; nothing in the file is ever run.

One definition a line, in terms of V, L, d, N, m and of what stands above it; # begins a comment:

    noise = V*log(V)/d**2 + V**2/(N*d)       # any name
    recall = P(1/sqrt(noise), V)             # attention, recall, accuracy: what is predicted

A file of one expression without a name predicts recall. Python's own parser reads the lines (it only builds a tree),
and every node must be arithmetic or one of `FUNCTIONS`.
"""

from __future__ import annotations

import ast
import math
import re
import warnings
from collections.abc import Callable
from typing import Any

from ..settings import Setting, SettingError

__all__ = ["FUNCTIONS", "formula_of"]

LONGEST = 20_000  # characters
DEEPEST = 50  # levels of nesting
SIZES = ("V", "L", "d", "N", "m")
PREDICTED = ("attention", "recall", "accuracy")
CONSTANTS = {"pi": math.pi, "E": math.e, "e": math.e}


def _special(name: str) -> Callable[[float], float]:
    def function(x: float) -> float:
        from scipy import special

        return float(getattr(special, name)(x).real)

    return function


def _forced_choice(s: float, K: float) -> float:
    from ..numerics.forced_choice import forced_choice

    return float(forced_choice(s, K))


ANY = 99  # arguments
# by name: the function, and how few and how many arguments it takes
FUNCTIONS: dict[str, tuple[Callable[..., float], int, int]] = {
    **{name: (getattr(math, name), 1, 1) for name in ("exp", "sqrt", "erf", "erfc", "tanh", "atan", "sin", "cos",
                                                      "sinh", "cosh", "floor", "gamma")},
    "log": (math.log, 1, 2), "Abs": (abs, 1, 1), "abs": (abs, 1, 1), "ceiling": (math.ceil, 1, 1),
    "loggamma": (math.lgamma, 1, 1), "Min": (min, 2, ANY), "Max": (max, 2, ANY), "min": (min, 2, ANY),
    "max": (max, 2, ANY), "Phi": (_special("ndtr"), 1, 1), "LambertW": (_special("lambertw"), 1, 1),
    "P": (_forced_choice, 2, 2), "forced_choice": (_forced_choice, 2, 2),
}
OPERATORS: dict[type, Callable[[float, float], Any]] = {
    ast.Add: lambda a, b: a + b, ast.Sub: lambda a, b: a - b, ast.Mult: lambda a, b: a * b,
    ast.Div: lambda a, b: a / b, ast.Pow: lambda a, b: a**b,
}


def formula_of(text: str, name: str) -> Callable[[Setting], dict[str, float]]:
    """The predictor that a file's text defines; `name` is the file's, for errors.

    Raises `SettingError` with one line that names the file, the line and what is wrong.

    >>> law = formula_of("recall = 1 - exp(-N/V)", "law.txt")
    >>> law(Setting(V=64, L=4, d=64, N=64))
    {'recall': 0.6321205588285577}
    """
    if len(text) > LONGEST:
        raise _refused(name, f"it has {len(text)} characters, and {LONGEST} are the most")
    known: list[str] = [*SIZES, *CONSTANTS]
    lines: list[tuple[str, str, ast.expr]] = []
    for number, line in enumerate(text.splitlines(), start=1):
        line = line.partition("#")[0].strip()
        if line:
            where = f"{name}, line {number}"
            defined, tree = _parsed(line, where, known)
            lines.append((where, defined, tree))
            if defined:
                known.append(defined)
    if len(lines) == 1 and not lines[0][1]:
        lines = [(lines[0][0], "recall", lines[0][2])]
    for where, defined, _ in lines:
        if not defined:
            raise _refused(where, "give it a name: recall = ...")
    predicted = [d for _, d, _ in lines if d in PREDICTED]
    if not predicted:
        raise _refused(name, f"it defines none of {', '.join(PREDICTED)}")

    def predictor(setting: Setting) -> dict[str, float]:
        values: dict[str, float] = dict(CONSTANTS)
        values |= {size: float(v) for size in SIZES if (v := getattr(setting, size)) is not None}
        for where, defined, tree in lines:
            try:
                values[defined] = _value(tree, values)
            except KeyError:
                raise _refused(where, f"it uses m, and the setting V={setting.V}, L={setting.L}, d={setting.d}, "
                               f"N={setting.N} has no MLP") from None
            except (ArithmeticError, ValueError, TypeError):
                raise _refused(where, f"it has no real value at V={setting.V}, L={setting.L}, d={setting.d}, "
                               f"N={setting.N}") from None
        return {o: values[o] for o in predicted}

    return predictor


def _refused(where: str, why: str) -> SettingError:
    return SettingError("predictor", f"predictor {where}: {why}")


def _parsed(line: str, where: str, known: list[str]) -> tuple[str, ast.expr]:
    """The name that a line defines ("" for none) and its checked tree."""
    match = re.fullmatch(r"([A-Za-z_]\w*)\s*=(?!=)\s*(.*)", line, re.ASCII | re.DOTALL)
    defined, expression = match.groups() if match else ("", line)
    if defined in known or defined in FUNCTIONS:
        raise _refused(where, f"the name {defined!r} is taken")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(expression.replace("^", "**"), mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        raise _refused(where, "it is not an expression, such as recall = 1 - exp(-N/V)") from None
    _check(tree, where, known, 1)
    return defined, tree


def _check(node: ast.AST, where: str, known: list[str], depth: int) -> None:
    if depth > DEEPEST:
        raise _refused(where, f"it is nested deeper than {DEEPEST} levels")
    if isinstance(node, ast.Constant):
        if isinstance(node.value, bool) or not isinstance(node.value, int | float):
            raise _refused(where, f"{ast.unparse(node)[:40]} is not a real number")
    elif isinstance(node, ast.Name):
        if node.id not in known:
            raise _refused(where, f"the name {node.id[:40]!r} is not known; there are {', '.join(SIZES)}, what stands "
                           "above, and the functions " + ", ".join(FUNCTIONS))
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.UAdd | ast.USub):
        _check(node.operand, where, known, depth + 1)
    elif isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        _check(node.left, where, known, depth + 1)
        _check(node.right, where, known, depth + 1)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in FUNCTIONS:
        _, fewest, most = FUNCTIONS[node.func.id]
        if node.keywords or not fewest <= len(node.args) <= most:
            raise _refused(where, f"{node.func.id} takes {fewest if most < ANY else f'{fewest} or more'} arguments")
        for argument in node.args:
            _check(argument, where, known, depth + 1)
    else:
        raise _refused(where, f"only arithmetic and the functions {', '.join(FUNCTIONS)} are allowed, not "
                       f"{ast.unparse(node)[:40]!r}")


def _value(node: ast.AST, values: dict[str, float]) -> float:
    """The value of a checked tree, in floats throughout: no power takes long."""
    if isinstance(node, ast.Constant):
        return float(node.value)  # type: ignore[arg-type]  # _check let only numbers through
    if isinstance(node, ast.Name):
        return values[node.id]
    if isinstance(node, ast.UnaryOp):
        value = _value(node.operand, values)
        return -value if isinstance(node.op, ast.USub) else value
    if isinstance(node, ast.BinOp):
        return float(OPERATORS[type(node.op)](_value(node.left, values), _value(node.right, values)))
    assert isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    return float(FUNCTIONS[node.func.id][0](*(_value(a, values) for a in node.args)))
