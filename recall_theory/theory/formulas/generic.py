"""Elementary functions that take floats, arrays and sympy expressions alike.

They let a formula be written once: called with numbers it computes, called with symbols it is the
expression. sympy is looked up only where it has been imported already: a number never needs it.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
from scipy import special

Real = Any  # a number, an array of numbers or a sympy expression: what closed forms take and return


def _dispatch(name: str, numeric: Callable[[Real], Real]) -> Callable[[Real], Real]:
    def function(x: Real) -> Real:
        sympy = _symbolic(x)
        if sympy is None:
            return numeric(x)
        # What holds the least of long expressions stays as it stands: sympy would take seconds to simplify its parts.
        return getattr(sympy, name)(x, evaluate=not x.has(sympy.Min, sympy.Max))

    function.__name__ = name
    function.__doc__ = f"{name}(x) of a number, an array or a sympy expression."
    return function


def _lambert_w(x: Real) -> Real:
    """W(x), the principal branch; scipy has NaN just at the branch point x = -1/e, where W is -1."""
    return np.where(x == -np.exp(-1), -1, special.lambertw(x).real)[()]


def _exp(x: Real) -> Real:
    """e^x, infinite where floats do not reach: what a size may be where nothing bounds it."""
    with np.errstate(over="ignore"):
        return np.exp(x)


erfc = _dispatch("erfc", special.erfc)
exp = _dispatch("exp", _exp)
log = _dispatch("log", np.log)
sin = _dispatch("sin", np.sin)
sqrt = _dispatch("sqrt", np.sqrt)
sign = _dispatch("sign", np.sign)
cbrt = _dispatch("cbrt", np.cbrt)
loggamma = _dispatch("loggamma", special.gammaln)
lambert_w = _dispatch("LambertW", _lambert_w)


def solved(x: Real) -> Real:
    """The n of n ln n = x."""
    return x / lambert_w(x)


def log_of_one_plus(x: Real) -> Real:
    """ln(1 + x); in floats to full precision where x is tiny."""
    return log(1 + x) if _symbolic(x) is not None else np.log1p(x)


def _symbolic(*values: Real) -> Real:
    """sympy where one of the values is an expression, else None."""
    sympy = sys.modules.get("sympy")
    return sympy if sympy is not None and any(isinstance(v, sympy.Basic) for v in values) else None


def _extreme(name: str, of_two: Callable[[Real, Real], Real], what: str) -> Callable[..., Real]:
    def function(*values: Real, evaluate: bool = True) -> Real:
        sympy = _symbolic(*values)
        return functools.reduce(of_two, values) if sympy is None else getattr(sympy, name)(*values, evaluate=evaluate)

    function.__doc__ = f"The {what} of numbers, arrays or expressions; of expressions without `evaluate` as it stands."
    return function


minimum = _extreme("Min", np.minimum, "smallest")
maximum = _extreme("Max", np.maximum, "largest")
least = functools.partial(minimum, evaluate=False)
greatest = functools.partial(maximum, evaluate=False)


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


def _constant(number: float, name: str, of_sympy: Callable[[ModuleType], Real]) -> Callable[[Real], Real]:
    def function(like: Real) -> Real:
        sympy = _symbolic(like)
        return number if sympy is None else of_sympy(sympy)

    function.__doc__ = f"{name}, exact where `like` is a sympy expression."
    return function


pi = _constant(np.pi, "The number pi", lambda sympy: sympy.pi)
euler_gamma = _constant(np.euler_gamma, "Euler's constant", lambda sympy: sympy.EulerGamma)
infinity = _constant(np.inf, "Infinity", lambda sympy: sympy.oo)
zeta_of_three = _constant(float(special.zeta(3)), "zeta(3)", lambda sympy: sympy.zeta(3))


def normal_density(x: Real) -> Real:
    """phi(x), the density of a standard normal variable."""
    return exp(-(x**2) / 2) / sqrt(2 * pi(x))


def normal_below(x: Real) -> Real:
    """Phi(x), the chance that a standard normal variable lies below x."""
    return erfc(-x / sqrt(whole(2, x))) / 2


def whole(number: int, like: Real) -> Real:
    """An integer, exact also in functions of it where `like` is a sympy expression: log(2) stays log(2)."""
    sympy = _symbolic(like)
    return float(number) if sympy is None else sympy.Integer(number)


def normal_quantile(p: Real) -> Real:
    """The quantile of the standard normal law at a probability between 0 and 1."""
    sympy = _symbolic(p)
    return special.ndtri(p) if sympy is None else sympy.sqrt(2) * sympy.erfinv(2 * p - 1)


def if_positive(x: Real, value: Callable[[], Real], otherwise: Real) -> Real:
    """`value()` where x > 0, else `otherwise`; a number that is not positive is not asked for it."""
    sympy = _symbolic(x, otherwise)
    if sympy is not None:
        return sympy.Piecewise((value(), x > 0), (otherwise, True))
    if np.ndim(x) == 0:
        return value() if x > 0 else otherwise
    with np.errstate(all="ignore"):
        return np.where(np.asarray(x) > 0, value(), otherwise)
