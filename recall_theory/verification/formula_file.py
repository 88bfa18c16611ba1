"""Predictors from files of expressions, such as sympy prints them; nothing in a file is ever run.

One definition a line, in terms of V, L, d, N, m and of what stands above it; # begins a comment:

    noise = V*log(V)/d**2 + V**2/(N*d)       # any name
    recall = P(1/sqrt(noise), V)             # attention, recall, accuracy: what is predicted

A file of one expression without a name predicts recall.
"""

from __future__ import annotations

import ast
import functools
import math
import re
from collections.abc import Callable

from ..expressions import Language, evaluate, parse
from ..settings import OBSERVABLES, Setting, SettingError

__all__ = ["FUNCTIONS", "formula_of"]

SIZES = ("V", "L", "d", "N", "m")
CONSTANTS = {"pi": math.pi, "E": math.e, "e": math.e}
ANY = 1000  # arguments
LONGEST_FILE = 20_000  # characters


def _special(name: str) -> Callable[[float], float]:
    def function(x: float) -> float:
        from scipy import special

        return float(getattr(special, name)(x).real)

    return function


def _forced_choice(s: float, K: float) -> float:
    from ..numerics.forced_choice import forced_choice

    return float(forced_choice(s, K))


# Of a file of expressions: by name the function, and how few and how many arguments it takes.
FUNCTIONS: dict[str, tuple[Callable[..., float], int, int]] = {
    **{name: (getattr(math, name), 1, 1) for name in ("exp", "sqrt", "erf", "erfc", "tanh", "atan", "sin", "cos",
                                                      "sinh", "cosh", "floor", "gamma")},
    "log": (math.log, 1, 2), "Abs": (abs, 1, 1), "abs": (abs, 1, 1), "ceiling": (math.ceil, 1, 1),
    "loggamma": (math.lgamma, 1, 1), "Min": (min, 2, ANY), "Max": (max, 2, ANY), "min": (min, 2, ANY),
    "max": (max, 2, ANY), "Phi": (_special("ndtr"), 1, 1), "LambertW": (_special("lambertw"), 1, 1),
    "P": (_forced_choice, 2, 2), "forced_choice": (_forced_choice, 2, 2),
}


def formula_of(text: str, name: str) -> Callable[[Setting], dict[str, float]]:
    """The predictor that the text of a file of expressions defines; `name` is the file's, for errors.

    Raises `SettingError` with one line that names the file, the line and what is wrong.

    >>> law = formula_of("recall = 1 - exp(-N/V)", "law.txt")
    >>> law(Setting(V=64, L=4, d=64, N=64))
    {'recall': 0.6321205588285577}
    """
    if len(text) > LONGEST_FILE:
        raise _refused(name, f"it has {len(text)} characters, and {LONGEST_FILE} are the most")
    lines = _definitions(text, name)
    if len(lines) == 1 and not lines[0][1]:
        lines = [(lines[0][0], "recall", lines[0][2])]
    for where, defined, _ in lines:
        if not defined:
            raise _refused(where, "give it a name: recall = ...")
    predicted = [defined for _, defined, _ in lines if defined in OBSERVABLES]
    if not predicted:
        raise _refused(name, f"it defines none of {', '.join(OBSERVABLES)}")
    functions = {called: function for called, (function, _, _) in FUNCTIONS.items()}

    def predictor(setting: Setting) -> dict[str, float]:
        at = f"V={setting.V}, L={setting.L}, d={setting.d}, N={setting.N}"
        sizes = {size: getattr(setting, size) for size in SIZES}
        values = CONSTANTS | {size: float(value) for size, value in sizes.items() if value is not None}
        for where, defined, tree in lines:
            try:
                values[defined] = float(evaluate(tree, values, functions))
            except KeyError:
                raise _refused(where, f"it uses m, and the setting {at} has no MLP") from None
            except (ArithmeticError, ValueError, TypeError):
                raise _refused(where, f"it has no real value at {at}") from None
        return {o: values[o] for o in predicted}

    return predictor


def _refused(where: str, why: str) -> SettingError:
    return SettingError("predictor", f"predictor {where}: {why}")


def _definitions(text: str, name: str) -> list[tuple[str, str, ast.expr]]:
    """Of each line of a file that is not empty: where it is, the name that it defines ("" for none), and its tree."""
    lines: list[tuple[str, str, ast.expr]] = []
    for number, line in enumerate(text.splitlines(), start=1):
        line = line.partition("#")[0].strip()
        if not line:
            continue
        where = f"{name}, line {number}"
        match = re.fullmatch(r"([A-Za-z_]\w*)\s*=(?!=)\s*(.*)", line, re.ASCII | re.DOTALL)
        defined, expression = match.groups() if match else ("", line)
        known = (*SIZES, *CONSTANTS, *(above for _, above, _ in lines if above))
        if defined in known or defined in FUNCTIONS:
            raise _refused(where, f"the name {defined!r} is taken")
        language = Language(
            names=known, functions={called: (fewest, most) for called, (_, fewest, most) in FUNCTIONS.items()},
            refused=functools.partial(_refused, where), example="an expression, such as recall = 1 - exp(-N/V)",
            hint=f"there are {', '.join(SIZES)}, what stands above, and the functions {', '.join(FUNCTIONS)}")
        lines.append((where, defined, parse(expression, language)))
    return lines
