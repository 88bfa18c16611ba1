"""What a name stands for, and all that a function reaches.

Names are looked up as Python does it, in the function's own module, at the time of translation: what they stand for are
Python's live objects, so that an alias, a re-export or a decorator needs no rule of its own.
"""

from __future__ import annotations

import builtins
import dataclasses
import inspect
import json
import math
import sys
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
from scipy import special

from .names import local
from .scope import Untranslatable
from .statements import class_source, function_source

__all__ = ["Linker", "Untranslatable"]


class Linker:
    """Collects what is reached. `stand_ins` are objects for which JavaScript is given; `source()` is the script.

    >>> linker = Linker()
    >>> from recall_theory.theory.formulas.recall_terms import interference
    >>> linker.reference(interference)
    'interference$1'
    >>> print(linker.source())
    const interference$1 = nd.define("interference", ["V", "d", "e", "tau"], (V, d, e, tau) => {
      return py.divide(py.multiply(V, py.add(1, py.multiply(e, tau))), py.power(d, 2));
    });
    """

    def __init__(self, stand_ins: list[tuple[Any, str]] | None = None):
        given = [(sys.modules, "py.no_modules"), *(stand_ins or [])]
        self._stand_ins = {id(thing): code for thing, code in given}
        self._kept = given  # ids stay theirs while the objects live
        self._names: dict[int, str] = {}
        self._waiting: list[tuple[str, Any]] = []
        self._done: list[str] = []

    def source(self) -> str:
        """The definitions of everything referred to, in an order in which they can be read."""
        while self._waiting:
            name, thing = self._waiting.pop(0)
            if isinstance(thing, type):
                self._done.append(class_source(self.reference, name, thing))
            elif isinstance(thing, FunctionType):
                self._done.append(f"const {name} = {function_source(self.reference, thing)};")
            elif hasattr(thing, "__wrapped__"):
                self._done.append(f"const {name} = py.memo({function_source(self.reference, thing.__wrapped__)});")
            else:
                self._done.insert(0, f"const {name} = {self._literal(thing)};")
        return "\n".join(self._done)

    def reference(self, thing: Any) -> str:
        """JavaScript that stands for a Python object."""
        if id(thing) in self._stand_ins:
            return self._stand_ins[id(thing)]
        if thing is None or isinstance(thing, bool | int | float | str):
            return self._literal(thing)
        if isinstance(thing, np.ufunc | type(np.clip)) or getattr(thing, "__module__", None) == "numpy":
            return _library_name(thing)
        name = str(getattr(thing, "__name__", ""))
        if getattr(builtins, name, None) is thing:
            return f"py.{local(name)}"
        if isinstance(thing, ModuleType):
            raise Untranslatable(f"the module {thing.__name__} as a value")
        module = getattr(thing, "__module__", None) or ""
        if isinstance(thing, FunctionType | type) or hasattr(thing, "__wrapped__"):
            library, *path = module.split(".")
            if library == "numpy":
                return ".".join(["nd", *path, name])
            return f"py.dataclasses.{name}" if library == "dataclasses" else self._named(thing, name)
        if inspect.isbuiltin(thing):  # of math, say
            return f"py.{module}.{thing.__name__}"
        return self._named(thing, "constant")

    def _named(self, thing: Any, stem: str) -> str:
        if id(thing) not in self._names:
            self._names[id(thing)] = name = f"{stem.strip('_')}${len(self._names) + 1}"  # no Python name has a $
            self._kept.append((thing, name))
            self._waiting.append((name, thing))
        return self._names[id(thing)]

    def _literal(self, value: Any) -> str:
        if isinstance(value, float) and not math.isfinite(value):
            return "nd.nan" if math.isnan(value) else "nd.inf" if value > 0 else "(-nd.inf)"
        if value is None or isinstance(value, bool | int | float | str):
            text = json.dumps(value)
            return f"({text})" if text.startswith("-") else text
        if isinstance(value, np.ndarray | np.generic):
            return f"nd.array({json.dumps(value.tolist())})"
        if isinstance(value, list | tuple):
            return f"[{', '.join(map(self._part, value))}]"
        if isinstance(value, dict):
            pairs = (f"[{self._part(k)}, {self._part(v)}]" for k, v in value.items())
            return f"new Map([{', '.join(pairs)}])"
        if dataclasses.is_dataclass(value):
            pairs = (f"{f.name}: {self._part(getattr(value, f.name))}" for f in dataclasses.fields(value))
            return f"{{{', '.join(pairs)}}}"
        raise Untranslatable(f"a constant of type {type(value).__name__}")

    def _part(self, value: Any) -> str:
        """Of a constant: written out, since another constant may stand further down."""
        return self.reference(value) if callable(value) else self._literal(value)


def _library_name(thing: Any) -> str:
    name = getattr(thing, "__name__", "")
    if getattr(np, name, None) is thing:
        return f"nd.{name}"
    if getattr(special, name, None) is thing:
        return f"special.{name}"
    raise Untranslatable(f"{thing!r} is neither of numpy nor of scipy.special")
