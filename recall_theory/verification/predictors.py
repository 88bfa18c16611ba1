"""Anyone's formula: what a predictor may return, and predictors from `module:function` or a file of expressions.

A predictor is a function of a `Setting`. It returns a number, the predicted recall, or an object or a mapping with one
or more of attention, recall and accuracy; all are probabilities. A `margin` beside them is the error that it admits.
"""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import importlib.util
import math
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, cast

from ..settings import Setting, SettingError
from .problem import P, Problem, S

__all__ = ["Claim", "claim_of", "load"]

@dataclasses.dataclass(frozen=True)
class Claim:
    """What a predictor says of one setting: values by observable, and its margin where it has one."""

    values: dict[str, float]
    margin: float | None


def claim_of(predictor: Callable[[S], object], setting: S, problem: Problem[S, P]) -> Claim:
    """The checked claim of a predictor at a setting.

    Raises `SettingError` with one line where the predictor raises, or returns no probability; its own
    `SettingError`s pass.

    >>> from recall_theory.verification.problem import THREE_STEP_RECALL
    >>> claim_of(lambda s: 0.5, Setting(V=64, L=4, d=64, N=4096), THREE_STEP_RECALL).values
    {'recall': 0.5}
    """
    where = f"(at {problem.describe(setting)})"
    try:
        with contextlib.redirect_stdout(sys.stderr):  # standard output is the answer's
            returned = predictor(setting)
    except SettingError:
        raise
    except (Exception, SystemExit) as error:  # an exit with code 0 would read as "agree"
        raise _refused(f"the predictor raised {_message(error)} {where}") from None

    values = {}
    for name, value in _by_observable(returned, problem.observables, where).items():
        number = _number(value)
        if number is None or not 0 <= number <= 1:
            shown = " ".join(repr(value).split())[:60]
            raise _refused(f"the predictor says {name} = {shown}, which is not a number from 0 to 1 {where}")
        values[name] = number

    margin = returned.get("margin") if isinstance(returned, Mapping) else getattr(returned, "margin", None)
    number = _number(margin)
    if margin is not None and (number is None or not 0 < number < 1):
        raise _refused(f"the predictor declares margin = {str(margin)[:40]}, which is not a number above 0 and below "
                       f"1 {where}")
    return Claim(values, number)


def _by_observable(returned: object, observables: tuple[str, ...], where: str) -> dict[str, object]:
    """The values that a predictor returned, in the order of the observables; a bare value is the recall."""
    if not isinstance(returned, Mapping):
        values = {o: getattr(returned, o) for o in observables if hasattr(returned, o)}
        return values or {"recall": returned}
    unknown = [key for key in returned if key not in (*observables, "margin")]
    if unknown:
        raise _refused(f"the predictor returned the key {str(unknown[0])[:40]!r}; known are {', '.join(observables)} "
                       f"and margin {where}")
    values = {o: returned[o] for o in observables if o in returned}
    if not values:
        raise _refused(f"the predictor returned none of {', '.join(observables)} {where}")
    return values


def _number(value: Any) -> float | None:
    """The float that a number of any kind (numpy, sympy, mpmath) stands for; None for anything else, NaN included."""
    if isinstance(value, bool | str | bytes) or value is None:
        return None
    try:
        number = float(value)
    except Exception:  # an array, an expression with free symbols, a complex number
        return None
    return number if math.isfinite(number) else None


def _refused(why: str) -> SettingError:
    return SettingError("predictor", why)


def _message(error: BaseException) -> str:
    """The type and message of an error in one short line."""
    return " ".join(f"{type(error).__name__}: {error}".split())[:200]


def load(name: str) -> Callable[[Setting], object]:
    """The predictor `module:function`, `path/to/file.py:function`, or a file of expressions (see `formula_file`).

    A module is looked for where Python looks, and in the working directory first. Raises `SettingError` with one line
    where there is no such thing, or where importing it fails.
    """
    path = Path(name)
    try:
        is_file = path.is_file()
    except (OSError, ValueError):  # a name too long, or with a null byte
        is_file = False
    if is_file:
        from .formula_file import formula_of

        try:
            text = path.read_text("utf-8-sig")
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
            raise _refused(f"predictor={name!r} can't be read: {reason}") from None
        return formula_of(text, name)
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
        here = str(Path.cwd())
        if here not in sys.path:
            sys.path.insert(0, here)
        return importlib.import_module(module)
    spec = importlib.util.spec_from_file_location(Path(module).stem, module)
    assert spec is not None and spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = loaded  # as an import does: dataclasses look their module up
    spec.loader.exec_module(loaded)
    return loaded
