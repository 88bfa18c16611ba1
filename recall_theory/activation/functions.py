"""The functions that an expression may use: each with its slope and, by name, its sympy form.

Slopes take the argument x and the value f, which often says it more cheaply. At a kink the slope is the
one that gradient descent uses: that of relu at 0 is 0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

Array = NDArray[np.float64]


class Function(NamedTuple):
    """`value(x)`, `slope(x, value)`; `kink` says where it bends: where its argument changes sign;
    `alone` is the slope where it needs no value."""

    value: Callable[[Array], Array]
    slope: Callable[[Array, Array], Array]
    kink: bool = False
    alone: Callable[[Array], Array] | None = None


def normal_density(x: Array) -> Array:
    """exp(-x^2/2)/sqrt(2 pi)."""
    square = np.multiply(x, x)
    square *= -1 / 2
    density = np.exp(square, out=square if square.ndim else None)
    density *= 1 / np.sqrt(2 * np.pi)
    return density


def _gelu_slope(x: Array) -> Array:
    slope = normal_density(x)
    slope *= x
    slope += special.ndtr(x)
    return slope


def _erf_slope(x: Array) -> Array:
    return 2 * normal_density(x * np.sqrt(2)) * np.sqrt(2)


def _tanh_slope(x: Array, f: Array) -> Array:
    slope = f * f
    return np.subtract(1, slope, out=slope if np.ndim(slope) else None)


def _step(x: Array) -> Array:
    return (x > 0).astype(float)


def _softplus(x: Array) -> Array:
    return np.logaddexp(0, x)


def _silu(x: Array) -> Array:
    return x * special.expit(x)


def _silu_slope(x: Array, f: Array) -> Array:
    gate = special.expit(x)
    return gate + f * (1 - gate)


FUNCTIONS: dict[str, Function] = {
    "exp": Function(np.exp, lambda x, f: f),
    "log": Function(np.log, lambda x, f: 1 / x),
    "sqrt": Function(np.sqrt, lambda x, f: 1 / (2 * f)),
    "sin": Function(np.sin, lambda x, f: np.cos(x)),
    "cos": Function(np.cos, lambda x, f: -np.sin(x)),
    "tanh": Function(np.tanh, _tanh_slope),
    "sinh": Function(np.sinh, lambda x, f: np.cosh(x)),
    "cosh": Function(np.cosh, lambda x, f: np.sinh(x)),
    "atan": Function(np.arctan, lambda x, f: 1 / (1 + x * x)),
    "asinh": Function(np.arcsinh, lambda x, f: 1 / np.sqrt(1 + x * x)),
    "erf": Function(special.erf, lambda x, f: _erf_slope(x), alone=_erf_slope),
    "gelu": Function(lambda x: x * special.ndtr(x), lambda x, f: _gelu_slope(x),
                     alone=_gelu_slope),
    "sigmoid": Function(special.expit, lambda x, f: f * (1 - f)),
    "softplus": Function(_softplus, lambda x, f: special.expit(x)),
    "silu": Function(_silu, _silu_slope),
    "relu": Function(lambda x: np.maximum(x, 0), lambda x, f: _step(x), kink=True, alone=_step),
    "abs": Function(np.abs, lambda x, f: np.sign(x), kink=True),
    "sign": Function(np.sign, lambda x, f: np.zeros_like(x), kink=True),
    "heaviside": Function(lambda x: (1 + np.sign(x)) / 2, lambda x, f: np.zeros_like(x), kink=True),
    # of two or more arguments; the tree's reader folds them two by two
    "max": Function(lambda x: x, lambda x, f: np.ones_like(x)),
    "min": Function(lambda x: x, lambda x, f: np.ones_like(x)),
}

CONSTANTS: dict[str, float] = {"pi": float(np.pi), "e": float(np.e)}


def sympy_function(name: str) -> Callable[..., Any]:
    """The same function of sympy expressions. max, min and relu are written with Abs, whose derivative
    sympy knows without solving for a sign."""
    import sympy

    def gate(x: Any) -> Any:
        return 1 / (1 + sympy.exp(-x))

    def larger(*x: Any) -> Any:
        first, *rest = x
        for other in rest:
            first = (first + other + sympy.Abs(first - other)) / 2
        return first

    own: dict[str, Callable[..., Any]] = {
        "abs": sympy.Abs, "relu": lambda x: larger(0, x), "max": larger,
        "min": lambda *x: -larger(*(-y for y in x)), "heaviside": lambda x: (1 + sympy.sign(x)) / 2,
        "gelu": lambda x: x * (1 + sympy.erf(x / sympy.sqrt(2))) / 2, "sigmoid": gate,
        "softplus": lambda x: sympy.log(1 + sympy.exp(x)), "silu": lambda x: x * gate(x),
    }
    return own.get(name) or getattr(sympy, name)
