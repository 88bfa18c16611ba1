"""Elementary functions that take floats, arrays and sympy expressions alike.

They let a formula be written once: called with numbers it computes, called with symbols it is the
expression. sympy is looked up only where it has been imported already: a number never needs it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import special

Real = Any  # a number, an array of numbers or a sympy expression: what closed forms take and return


def _dispatch(name: str, numeric: Callable[[Real], Real]) -> Callable[[Real], Real]:
    def function(x: Real) -> Real:
        sympy = _symbolic(x)
        return numeric(x) if sympy is None else getattr(sympy, name)(x)

    function.__name__ = name
    function.__doc__ = f"{name}(x) of a number, an array or a sympy expression."
    return function


def _lambert_w(x: Real) -> Real:
    """W(x), the principal branch; scipy has NaN just at the branch point x = -1/e, where W is -1."""
    return np.where(x == -np.exp(-1), -1, special.lambertw(x).real)[()]


erfc = _dispatch("erfc", special.erfc)
exp = _dispatch("exp", np.exp)
log = _dispatch("log", np.log)
sqrt = _dispatch("sqrt", np.sqrt)
cbrt = _dispatch("cbrt", np.cbrt)
loggamma = _dispatch("loggamma", special.gammaln)
lambert_w = _dispatch("LambertW", _lambert_w)


def log_of_one_plus(x: Real) -> Real:
    """ln(1 + x); in floats to full precision where x is tiny."""
    return log(1 + x) if _symbolic(x) is not None else np.log1p(x)


def _symbolic(*values: Real) -> Real:
    """sympy where one of the values is an expression, else None."""
    sympy = sys.modules.get("sympy")
    return sympy if sympy is not None and any(isinstance(v, sympy.Basic) for v in values) else None


def minimum(a: Real, b: Real) -> Real:
    """The smaller of two numbers, arrays or expressions."""
    sympy = _symbolic(a, b)
    return sympy.Min(a, b) if sympy is not None else np.minimum(a, b)


def maximum(a: Real, b: Real) -> Real:
    """The larger of two numbers, arrays or expressions."""
    sympy = _symbolic(a, b)
    return sympy.Max(a, b) if sympy is not None else np.maximum(a, b)


def power_of_complement(V: Real, N: Real) -> Real:
    """(1 - 1/V)^N for V >= 1; in floats through log1p, since 1 - 1/V loses digits at large V."""
    if _symbolic(V, N) is not None:
        return (1 - 1 / V) ** N
    return np.exp(special.xlog1py(N, -1 / np.asarray(V, dtype=float)))


def power_of_complement_less_one(V: Real, N: Real) -> Real:
    """(1 - 1/V)^N - 1 for V >= 1; in floats without the cancellation where N << V."""
    if _symbolic(V, N) is not None:
        return (1 - 1 / V) ** N - 1
    return np.expm1(special.xlog1py(N, -1 / np.asarray(V, dtype=float)))


def pi(like: Real) -> Real:
    """The number pi, exact where `like` is a sympy expression."""
    sympy = _symbolic(like)
    return np.pi if sympy is None else sympy.pi


def whole(number: int, like: Real) -> Real:
    """An integer, exact also in functions of it where `like` is a sympy expression: log(2) stays log(2)."""
    sympy = _symbolic(like)
    return float(number) if sympy is None else sympy.Integer(number)
