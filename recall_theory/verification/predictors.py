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
from typing import Any

from ..settings import Setting, SettingError

OBSERVABLES = ("attention", "recall", "accuracy")


@dataclasses.dataclass(frozen=True)
class Claim:
    """What a predictor says of one setting: values by observable, its margin where it has one, and what it returned."""

    values: dict[str, float]
    margin: float | None
    given: Any


def claim_of(predictor: Callable[[Setting], Any], setting: Setting) -> Claim:
    """The checked claim of a predictor at a setting.

    Raises `SettingError` with one line where the predictor raises, or returns no probability; its own
    `SettingError`s pass.

    >>> claim_of(lambda s: 0.5, Setting(V=64, L=4, d=64, N=4096)).values
    {'recall': 0.5}
    """
    where = f"at V={setting.V}, L={setting.L}, d={setting.d}, N={setting.N}"
    try:
        with contextlib.redirect_stdout(sys.stderr):  # standard output is the answer's
            given = predictor(setting)
    except SettingError:
        raise
    except (Exception, SystemExit) as error:  # an exit with code 0 would read as "agree"
        said = " ".join(f"{type(error).__name__}: {error}".split())[:200]
        raise SettingError("predictor", f"the predictor raised {said} ({where})") from None
    values = {}
    for name, value in _named(given, where).items():
        number = _number(value)
        if number is None or not 0 <= number <= 1:
            shown = " ".join(repr(value).split())[:60]
            raise SettingError("predictor", f"the predictor says {name} = {shown}, which is not a number from 0 to 1 "
                               f"({where})")
        values[name] = number
    return Claim(values, _margin(given, where), given)


def _named(given: Any, where: str) -> dict[str, Any]:
    """The values by observable, in the order of `OBSERVABLES`."""
    if isinstance(given, Mapping):
        unknown = [k for k in given if k not in (*OBSERVABLES, "margin")]
        if unknown:
            raise SettingError("predictor", f"the predictor returned the key {str(unknown[0])[:40]!r}; known are "
                               f"{', '.join(OBSERVABLES)} and margin ({where})")
        found = {o: given[o] for o in OBSERVABLES if o in given}
    else:
        found = {o: getattr(given, o) for o in OBSERVABLES if hasattr(given, o)}
        if not found:
            found = {"recall": given}
    if not found:
        raise SettingError("predictor", f"the predictor returned none of {', '.join(OBSERVABLES)} ({where})")
    return found


def _number(value: Any) -> float | None:
    """The float that a number of any kind (numpy, sympy, mpmath) stands for; None for anything else, NaN included."""
    if isinstance(value, bool | str | bytes) or value is None:
        return None
    try:
        number = float(value)
    except Exception:  # an array, an expression with free symbols, a complex number
        return None
    return number if math.isfinite(number) else None


def _margin(given: Any, where: str) -> float | None:
    margin = given.get("margin") if isinstance(given, Mapping) else getattr(given, "margin", None)
    if margin is None:
        return None
    number = _number(margin)
    if number is None or not 0 < number < 1:
        raise SettingError("predictor", f"the predictor declares margin = {str(margin)[:40]}, which is not a number "
                           f"above 0 and below 1 ({where})")
    return number


def load(name: str) -> Callable[[Setting], Any]:
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
            raise SettingError("predictor", f"predictor={name!r} can't be read: {reason}") from None
        return formula_of(text, name)
    module, colon, function = name.rpartition(":")
    if not (colon and module and function):
        raise SettingError("predictor", f"predictor={name!r} is neither module:function nor a file of expressions")
    try:
        with contextlib.redirect_stdout(sys.stderr):
            found = getattr(_imported(module), function)
    except (Exception, SystemExit) as error:
        said = " ".join(f"{type(error).__name__}: {error}".split())[:200]
        raise SettingError("predictor", f"predictor={name!r} can't be loaded: {said}") from None
    if not callable(found):
        raise SettingError("predictor", f"predictor={name!r} is not a function")
    predictor: Callable[[Setting], Any] = found
    return predictor


def _imported(module: str) -> Any:
    if not module.endswith(".py"):
        here = str(Path.cwd())
        if here not in sys.path:
            sys.path.insert(0, here)
        return importlib.import_module(module)
    spec = importlib.util.spec_from_file_location(Path(module).stem, module)
    assert spec is not None and spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = made  # as an import does: dataclasses look their module up
    spec.loader.exec_module(made)
    return made
