"""Anyone's formula: what a predictor may return, and predictors loaded by name.

A predictor is a function of a `Setting`. It returns a number, the predicted recall, or an object or a mapping with one
or more of attention, recall and accuracy; all are probabilities. A `margin` beside them is the error that it admits.

It comes from a module, or from a file of expressions such as sympy prints them, of which nothing is ever run. That has
one definition a line, in terms of V, L, d, N, m and of what stands above it; # begins a comment:

    noise = V*log(V)/d**2 + V**2/(N*d)       # any name
    recall = P(1/sqrt(noise), V)             # attention, recall, accuracy: what is predicted

A file of one expression without a name predicts recall.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import importlib
import importlib.util
import math
import os
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, cast

from ..expressions import Language, evaluate, parse
from ..settings import OBSERVABLES, SIZES, Setting, SettingError
from .problem import P, Problem, S

CONSTANTS = {"pi": math.pi, "E": math.e, "e": math.e}
ANY = 1000  # arguments
LONGEST_FILE = 20_000  # characters


def _lambert_w(x: float) -> float:
    from scipy.special import lambertw

    return float(lambertw(x).real)


def _forced_choice(s: float, K: float) -> float:
    from ..numerics.forced_choice import forced_choice

    return float(forced_choice(s, K))


# Of a file of expressions: by name the function, and how few and how many arguments it takes.
FUNCTIONS: dict[str, tuple[Callable[..., float], int, int]] = {
    **{name: (getattr(math, name), 1, 1) for name in ("exp", "sqrt", "erf", "erfc", "tanh", "atan", "sin", "cos",
                                                      "sinh", "cosh", "floor", "gamma")},
    "log": (math.log, 1, 2), "Abs": (abs, 1, 1), "abs": (abs, 1, 1), "ceiling": (math.ceil, 1, 1),
    "loggamma": (math.lgamma, 1, 1), "Min": (min, 2, ANY), "Max": (max, 2, ANY), "min": (min, 2, ANY),
    "max": (max, 2, ANY), "Phi": (lambda x: math.erfc(-x / math.sqrt(2)) / 2, 1, 1), "LambertW": (_lambert_w, 1, 1),
    "P": (_forced_choice, 2, 2), "forced_choice": (_forced_choice, 2, 2),
}


def claim_of(predictor: Callable[[S], object], setting: S,
             problem: Problem[S, P]) -> tuple[dict[str, float], float | None]:
    """What a predictor says of a setting, checked: values by observable, and its margin where it declares one.

    Raises `SettingError` with one line where the predictor raises, or returns no probability; its own
    `SettingError`s pass.

    >>> from recall_theory.verification.problem import THREE_STEP_RECALL
    >>> claim_of(lambda s: 0.5, Setting(V=64, L=4, d=64, N=4096), THREE_STEP_RECALL)
    ({'recall': 0.5}, None)
    """
    where = f"(at {problem.describe(setting)})"
    try:
        with contextlib.redirect_stdout(sys.stderr):  # standard output is the answer's
            returned = predictor(setting)
    except SettingError:
        raise
    except (Exception, SystemExit) as error:  # an exit with code 0 would read as "agree"
        raise _refused(f"the predictor raised {_message(error)} {where}") from None

    names = (*problem.observables, "margin")
    if isinstance(returned, Mapping):
        given = dict(returned)
    else:
        given = {name: getattr(returned, name) for name in names if hasattr(returned, name)} or {"recall": returned}
    if given.get("margin", 0) is None:
        del given["margin"]

    claimed = {}
    for name, value in given.items():
        if name not in names:
            raise _refused(f"the predictor returned the key {str(name)[:40]!r}; known are {', '.join(names)} {where}")
        number = _number(value)
        if number is None or not 0 <= number <= 1 or (name == "margin" and number in (0, 1)):
            allowed = "above 0 and below 1" if name == "margin" else "from 0 to 1"
            shown = " ".join(repr(value).split())[:60]
            raise _refused(f"the predictor says {name} = {shown}, which is not a number {allowed} {where}")
        claimed[name] = number

    values = {o: claimed[o] for o in problem.observables if o in claimed}
    if not values:
        raise _refused(f"the predictor returned none of {', '.join(problem.observables)} {where}")
    return values, claimed.get("margin")


def _number(value: Any) -> float | None:
    """The float that a number of any kind (numpy, sympy, mpmath) stands for; None for anything else, NaN included."""
    if isinstance(value, bool | str | bytes):
        return None
    try:
        number = float(value)
    except Exception:  # None, an array, an expression with free symbols, a complex number
        return None
    return number if math.isfinite(number) else None


def _refused(*parts: str) -> SettingError:
    return SettingError("predictor", ": ".join(parts))


def _message(error: BaseException) -> str:
    """The type and message of an error in one short line."""
    return " ".join(f"{type(error).__name__}: {error}".split())[:200]


def load(name: str) -> Callable[[Setting], object]:
    """The predictor `module:function`, `path/to/file.py:function`, or a file of expressions.

    A module is looked for where Python looks, and in the working directory first. Raises `SettingError` with one line
    where there is no such thing, or where importing it fails.
    """
    if os.path.isfile(name):
        try:
            return formula_of(Path(name).read_text("utf-8-sig"), name)
        except OSError as error:
            raise _refused(f"predictor={name!r} can't be read: {error.strerror}") from None
        except UnicodeDecodeError:
            raise _refused(f"predictor={name!r} can't be read: it is not UTF-8 text") from None
    module, colon, function = name.rpartition(":")
    if not (colon and module and function):
        raise _refused(f"predictor={name!r} is neither module:function nor a file of expressions")
    try:
        with contextlib.redirect_stdout(sys.stderr):
            predictor = getattr(_imported(module), function)
    except (Exception, SystemExit) as error:
        raise _refused(f"predictor={name!r} can't be loaded: {_message(error)}") from None
    if not callable(predictor):
        raise _refused(f"predictor={name!r} is not a function")
    return cast("Callable[[Setting], object]", predictor)


def _imported(module: str) -> ModuleType:
    if not module.endswith(".py"):
        if str(Path.cwd()) not in sys.path:
            sys.path.insert(0, str(Path.cwd()))
        return importlib.import_module(module)
    spec = importlib.util.spec_from_file_location(Path(module).stem, module)
    assert spec is not None and spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = loaded  # as an import does: dataclasses look their module up, when they are called too
    spec.loader.exec_module(loaded)
    return loaded


def formula_of(text: str, name: str) -> Callable[[Setting], dict[str, float]]:
    """The predictor that the text of a file of expressions defines; `name` is the file's, for errors.

    Raises `SettingError` with one line that names the file, the line and what is wrong.

    >>> law = formula_of("recall = 1 - exp(-N/V)", "law.txt")
    >>> law(Setting(V=64, L=4, d=64, N=64))
    {'recall': 0.6321205588285577}
    """
    if len(text) > LONGEST_FILE:
        raise _refused(f"predictor {name}: it has {len(text)} characters, and {LONGEST_FILE} are the most")
    definitions = _definitions(text, name)
    predicted = [defined for defined in definitions if defined in OBSERVABLES]
    if not predicted:
        raise _refused(f"predictor {name}: it defines none of {', '.join(OBSERVABLES)}")
    functions = {called: function for called, (function, _, _) in FUNCTIONS.items()}

    def predictor(setting: Setting) -> dict[str, float]:
        at = f"V={setting.V}, L={setting.L}, d={setting.d}, N={setting.N}"
        sizes = {size: getattr(setting, size) for size in SIZES}
        values = CONSTANTS | {size: float(value) for size, value in sizes.items() if value is not None}
        for defined, (where, tree) in definitions.items():
            try:
                values[defined] = float(evaluate(tree, values, functions))
            except KeyError:
                raise _refused(where, f"it uses m, and the setting {at} has no MLP") from None
            except (ArithmeticError, ValueError, TypeError):
                raise _refused(where, f"it has no real value at {at}") from None
        return {o: values[o] for o in predicted}

    return predictor


def _definitions(text: str, name: str) -> dict[str, tuple[str, ast.expr]]:
    """By the name that a line defines, which line that is, for errors, and the tree of its expression."""
    lines = [(number, line.partition("#")[0].strip()) for number, line in enumerate(text.splitlines(), start=1)]
    lines = [(number, line) for number, line in lines if line]
    definitions: dict[str, tuple[str, ast.expr]] = {}
    for number, line in lines:
        where = f"predictor {name}, line {number}"
        match = re.fullmatch(r"([A-Za-z_]\w*)\s*=(?!=)\s*(.*)", line, re.ASCII | re.DOTALL)
        if match is None and len(lines) > 1:
            raise _refused(where, "give it a name: recall = ...")
        defined, expression = match.groups() if match else ("recall", line)
        known = (*SIZES, *CONSTANTS, *definitions)
        if defined in known or defined in FUNCTIONS:
            raise _refused(where, f"the name {defined!r} is taken")
        language = Language(
            names=known, functions={called: (fewest, most) for called, (_, fewest, most) in FUNCTIONS.items()},
            refused=functools.partial(_refused, where), example="an expression, such as recall = 1 - exp(-N/V)",
            hint=f"there are {', '.join(SIZES)}, what stands above, and the functions {', '.join(FUNCTIONS)}")
        definitions[defined] = where, parse(expression, language)
    return definitions
