"""`Activation`: a function of the MLP with all that simulation and theory ask of it."""

from __future__ import annotations

import ast
import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import tree
from .functions import FUNCTIONS
from .parse import parse, refused

__all__ = ["NAMED", "Activation", "activation", "canonical"]

Array = NDArray[np.float64]

# What each name stands for. A text that comes to one of these gets its name.
NAMED = {
    "identity": "x",
    "relu": "relu(x)",
    "gelu": "gelu(x)",
    "tanh": "tanh(x)",
    "erf": "erf(x)",
    "quadratic": "x ** 2 - 1",
}
_NAME_OF = {text: name for name, text in NAMED.items()}


@dataclasses.dataclass(frozen=True, eq=False)
class Activation:
    """An activation phi of one real variable.

    `name` is a name or the canonical text of an expression in x; `kinks` are the points where the slope
    jumps; `degree` is that of a polynomial, else None.

    >>> activation("x**3 - 3*x").phi(2.0)
    array(2.)
    """

    name: str
    kinks: tuple[float, ...]
    degree: int | None
    _tree: ast.expr
    _phi: Callable[[Array], Array]
    _derivative: Callable[[Array], Array]

    def phi(self, x: ArrayLike) -> Array:
        """phi(x), elementwise."""
        return np.asarray(self._phi(np.asarray(x, dtype=float)))

    def derivative(self, x: ArrayLike) -> Array:
        """phi'(x), elementwise; at a kink the slope that gradient descent uses (0 for relu at 0)."""
        return np.asarray(self._derivative(np.asarray(x, dtype=float)))

    @functools.cached_property
    def expr(self) -> Any:
        """phi as a sympy expression in the real symbol x."""
        return tree.expression(self._tree)


def _text(value: Any) -> str:
    """What was given, as text: a string, or a sympy expression in one variable."""
    if isinstance(value, str):
        return value
    free = getattr(value, "free_symbols", None)
    if free is None:
        raise refused(repr(value), "it is neither a name, nor an expression in x, nor a sympy expression")
    if len(free) != 1:
        raise refused(str(value), "it must have one variable")
    import sympy

    # a fresh x: the variable may have any name and any assumptions
    return str(value.xreplace({next(iter(free)): sympy.Symbol("x")}))


def canonical(value: Any) -> str:
    """The name, or the canonical text, of an activation; `SettingError` says what is not accepted.

    >>> canonical("x^2 - 1"), canonical("sin( x )*2")
    ('quadratic', 'sin(x) * 2')
    """
    return activation(value).name


def activation(value: Any) -> Activation:
    """The activation of that name ("relu", ...), of an expression in x ("x**3 - 3*x") or of a sympy
    object.

    Raises `SettingError` where it is not a real, finite, continuous function on the real line, or grows too
    fast for averages over Gaussian inputs.

    >>> activation("relu").kinks
    (0.0,)
    """
    return value if isinstance(value, Activation) else _of_text(_text(value).strip())


@functools.lru_cache(maxsize=256)
def _of_text(text: str) -> Activation:
    if text.isidentifier() and text not in NAMED and text != "x" and len(text) < 40:
        if text in FUNCTIONS and text not in ("max", "min"):
            text = f"{text}(x)"  # sin, softplus, ...: functions by their bare name
        else:
            raise refused(text, f"the name is not known; there are {', '.join(NAMED)}, and expressions in x "
                          "such as x**3 - 3*x or tanh(2*x)")
    written, parsed = parse(NAMED.get(text, text))
    name = _NAME_OF.get(written, written)
    if name in NAMED:
        kinks: tuple[float, ...] = (0.0,) if name == "relu" else ()
    else:
        kinks = tree.examine(parsed, text)
    bare = tree.bare_function(parsed)
    phi: Callable[[Array], Array] = functools.partial(_quietly, tree.value, parsed)
    if bare is not None:
        phi = bare.value
    derivative: Callable[[Array], Array] = functools.partial(_quietly, tree.slope, parsed)
    if bare is not None and bare.alone is not None:
        derivative = bare.alone
    found = Activation(name, kinks, tree.degree(parsed), parsed, phi, derivative)
    if name not in NAMED:
        from .gaussian import check_resolved

        check_resolved(found)
    return found


def _quietly(function: Callable[[ast.expr, Array], Array], parsed: ast.expr, x: Array) -> Array:
    """The function without warnings: exp(-x) may overflow on its way to 1/(1 + exp(-x)) = 0."""
    with np.errstate(over="ignore", under="ignore"):
        return function(parsed, x)
