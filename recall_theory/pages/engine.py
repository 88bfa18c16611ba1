"""The calculator's engine: one script that computes in a browser what `predict` and `bounds_at` compute here.

`source()` is made afresh from the library's own functions, so that it can't be of another version than they are. The
activations come from their sympy expressions. docs/calculator.md says how.
"""

from __future__ import annotations

import functools
import json
from typing import Any

from ..activation import NAMED, activation
from ..settings import PARAMETERS
from ..theory.bounds import bounds_at
from ..theory.capacity import limiting_term
from ..theory.predict import predict
from . import runtime
from .document import text
from .translate import Linker

__all__ = ["ACTIVATIONS", "SIZES", "source"]

ACTIVATIONS = tuple(NAMED)
SIZES = ("V", "L", "d", "N", "m", "activation", "embedding", "trigger_in_value")


@functools.cache
def source() -> str:
    """The script. It defines `recallTheory`, whose `calculate(setting)` gives what `predict(setting).to_dict()` and
    `bounds_at` do, by the same names; `prediction(setting)` and `bounds(setting)` are its parts.

    It needs neither a page nor a network: any JavaScript engine runs it.
    """
    linker = Linker([(activation, "engine.activation"), (PARAMETERS, "engine.parameters")])
    entries = {"predict": linker.reference(predict), "boundsAt": linker.reference(bounds_at),
               "limitingTerm": linker.reference(limiting_term)}
    translated = linker.source()
    given = ", ".join(f"{name}: {code}" for name, code in entries.items())
    own = text(__package__, "engine.js")
    known = f"const engine = {{parameters: {_parameters()}, activation: {_activations()}}};"
    return "\n".join([runtime.source(), known, translated, own, f"const recallTheory = makeEngine({{{given}}});", ""])


def _parameters() -> str:
    """The declarations of the parameters. A setting is checked by them once, on its way in."""
    known = {p.name: {"kind": p.kind, "domain": p.domain, "optional": p.optional, "otherwise": p.default,
                      "choices": ACTIVATIONS if p.kind == "activation" else p.choices,
                      **({"low": p.low, "high": p.high} if p.kind == "integer" else {})}
             for p in (PARAMETERS[name] for name in SIZES)}
    return (f"new Map(Object.entries({json.dumps(known)}).map("
            "([name, declared]) => [name, {...declared, check: (value) => value}]))")


def _activations() -> str:
    """A function from the names of activations to what `Activation` offers."""
    known = ",\n".join(_activation(name) for name in ACTIVATIONS)
    return f"((known) => (name) => known.get(name))(new Map([\n{known}]))"


def _activation(name: str) -> str:
    import sympy

    phi = activation(name)
    (x,) = phi.expr.free_symbols
    degree = "null" if phi.degree is None else phi.degree
    return (f'["{name}", {{name: "{name}", kinks: {list(phi.kinks)}, degree: {degree},\n'
            f"  phi: (x) => {_printed(phi.expr)},\n  derivative: (x) => {_printed(sympy.diff(phi.expr, x))}}}]")


def _printed(expression: Any) -> str:
    """A sympy expression in x as calls of the runtime."""
    import sympy

    if expression.is_Symbol:
        return "x"
    if expression.is_number:
        return f"({float(expression)!r})"
    parts = [_printed(a) for a in expression.args]
    if expression.func in (sympy.Add, sympy.Mul):
        name = "add" if expression.func is sympy.Add else "multiply"
        return functools.reduce(lambda a, b: f"py.{name}({a}, {b})", parts)
    functions = {sympy.Pow: "py.power", sympy.exp: "nd.exp", sympy.tanh: "nd.tanh", sympy.erf: "special.erf",
                 sympy.Abs: "nd.abs", sympy.sign: "nd.sign"}
    return f"{functions[expression.func]}({', '.join(parts)})"
