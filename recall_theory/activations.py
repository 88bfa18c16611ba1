"""Activations of the MLP: by name, as an expression in x or as a sympy object, and their Gaussian averages.

>>> float(gaussian_mean(activation("relu"), lambda x: activation("relu").phi(x) ** 2, 0.5))
0.25
"""

from __future__ import annotations

import ast
import dataclasses
import functools
import itertools
import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike
from scipy import special

from .errors import SettingError, brief_repr
from .expressions import Language, depends_on, evaluate, exact_number, parse, real_power
from .numerics.arrays import FloatArray
from .numerics.gaussian_kernels import gaussian_mean, gaussian_rule, hermite_coefficients, normal_density

__all__ = ["FUNCTIONS", "NAMED", "Activation", "activation", "canonical", "gaussian_mean", "gaussian_rule",
           "hermite_coefficients"]

Function = Callable[..., FloatArray]

LARGEST_NUMBER = 10**6  # in an expression
EDGE = 40  # beyond it nothing is examined; a Gaussian of variance 4 is at e^-200 there
GRID = np.linspace(-EDGE, EDGE, 80 * 200 + 1)  # where an expression is examined
MOST_KINKS = 200

FUNCTIONS: dict[str, tuple[Function, Function]] = {  # of one argument, with their slopes
    "exp": (np.exp, np.exp),
    "log": (np.log, np.reciprocal),
    "sqrt": (np.sqrt, lambda x: 1 / (2 * np.sqrt(x))),
    "sin": (np.sin, np.cos),
    "cos": (np.cos, lambda x: -np.sin(x)),
    "tanh": (np.tanh, lambda x: 1 - np.tanh(x) ** 2),
    "sinh": (np.sinh, np.cosh),
    "cosh": (np.cosh, np.sinh),
    "atan": (np.arctan, lambda x: 1 / (1 + x**2)),
    "asinh": (np.arcsinh, lambda x: 1 / np.hypot(1, x)),
    "erf": (special.erf, lambda x: 2 * normal_density(x * np.sqrt(2)) * np.sqrt(2)),
    "gelu": (lambda x: x * special.ndtr(x), lambda x: x * normal_density(x) + special.ndtr(x)),
    "sigmoid": (special.expit, lambda x: special.expit(x) * special.expit(-x)),
    "softplus": (lambda x: np.logaddexp(0, x), special.expit),
    "silu": (lambda x: x * special.expit(x), lambda x: special.expit(x) * (1 + x * special.expit(-x))),
    "relu": (lambda x: np.maximum(x, 0), lambda x: np.asarray(x > 0, dtype=float)),
    "abs": (np.abs, np.sign),
    "sign": (np.sign, np.zeros_like),
    "heaviside": (lambda x: (1 + np.sign(x)) / 2, np.zeros_like),
}
EXTREMES = {"max": np.maximum, "min": np.minimum}  # functions of two arguments or more
VALUES: dict[str, Callable[..., Any]] = {
    **{name: value for name, (value, _) in FUNCTIONS.items()},
    **{name: lambda *x, larger=larger: functools.reduce(larger, x) for name, larger in EXTREMES.items()},
}
CONSTANTS = {"pi": math.pi, "e": math.e}

NAMED = {"identity": "x", "relu": "relu(x)", "gelu": "gelu(x)", "tanh": "tanh(x)", "erf": "erf(x)",
         "quadratic": "x ** 2 - 1"}


@dataclasses.dataclass(frozen=True, eq=False)
class Activation:
    """An activation phi of one real variable.

    `name` is a name or the canonical text of an expression in x; `kinks` are the points where the slope jumps;
    `degree` is that of a polynomial, None for any other function.

    >>> activation("x**3 - 3*x").phi(2.0)
    array(2.)
    """

    name: str
    kinks: tuple[float, ...]
    degree: int | None
    _tree: ast.expr

    def phi(self, x: ArrayLike) -> FloatArray:
        """phi(x), elementwise."""
        return _value(self._tree, x)

    def derivative(self, x: ArrayLike) -> FloatArray:
        """phi'(x), elementwise; at a kink the mean of both sides, but 0 for relu at 0, as gradient descent uses it."""
        return _value(self._tree, x, _slope)

    def __reduce__(self) -> tuple[Callable[[str], Activation], tuple[str]]:
        return activation, (self.name,)


def activation(value: Any) -> Activation:
    """The activation of that name ("relu", ...), of an expression in x ("x**3 - 3*x") or of a sympy object.

    Raises `SettingError` where it is not a real, finite, continuous function on the real line, or grows too fast for
    averages over Gaussian inputs.

    >>> activation("relu").kinks
    (0.0,)
    """
    return value if isinstance(value, Activation) else _of_text(_text(value).strip())


def canonical(value: Any) -> str:
    """The name, or the canonical text, of an activation; `SettingError` says what is not accepted.

    >>> canonical("x^2 - 1"), canonical("sin( x )*2")
    ('quadratic', 'sin(x) * 2')
    """
    return activation(value).name


# Reading


def _refused(text: str, why: str) -> SettingError:
    shown = text if len(text) <= 60 else text[:57] + "..."
    return SettingError("activation", f"activation={shown!r} is not accepted: {why}")


def _text(value: Any) -> str:
    """What was given, as text: a string, or a sympy expression in one variable."""
    if isinstance(value, str):
        return value
    free = getattr(value, "free_symbols", None)
    if free is None:
        raise _refused(brief_repr(value), "it is neither a name, nor an expression in x, nor a sympy expression")
    if len(free) != 1:
        raise _refused(brief_repr(value), "it must have one variable")
    import sympy

    # a fresh x: the variable may have any name and any assumptions
    return str(value.xreplace({next(iter(free)): sympy.Symbol("x")}))


@functools.lru_cache(maxsize=256)
def _of_text(text: str) -> Activation:
    if text.isidentifier() and text not in NAMED and text != "x" and len(text) < 40:
        if text not in FUNCTIONS:
            raise _refused(text, f"the name is not known; there are {', '.join(NAMED)}, and expressions in x "
                           "such as x**3 - 3*x or tanh(2*x)")
        text = f"{text}(x)"  # sin, softplus, ...: functions by their bare name
    tree = parse(NAMED.get(text, text), Language(
        names=("x", *CONSTANTS), functions={**dict.fromkeys(FUNCTIONS, (1, 1)), **dict.fromkeys(EXTREMES, (2, 1000))},
        refused=functools.partial(_refused, text), example="an expression in x, such as x**3 - 3*x",
        hint="the variable is x", longest=200, largest_number=LARGEST_NUMBER, largest_power=16,
        spelled={"Abs": "abs", "Max": "max", "Min": "min", "Heaviside": "heaviside", "ReLU": "relu", "E": "e"}))
    if not depends_on(tree, "x"):
        raise _refused(text, "it does not depend on x")
    written = ast.unparse(tree)
    name = next((name for name, known in NAMED.items() if known == written), written)
    phi = Activation(name, _examined_kinks(tree, text), _degree(tree), tree)
    if name not in NAMED:
        _examine(phi, text)
    return phi


def _degree(node: ast.expr) -> int | None:
    """The degree of a polynomial in x as it is written; None for any other expression."""
    if not depends_on(node, "x"):
        return 0
    match node:
        case ast.Name():
            return 1
        case ast.UnaryOp():
            return _degree(node.operand)
        case ast.BinOp(op=ast.Pow()):
            base, power = _degree(node.left), exact_number(node.right)
            return None if base is None or power is None or power < 0 or power % 1 else int(base * power)
        case ast.BinOp():
            left, right = _degree(node.left), _degree(node.right)
            if left is None or right is None or (right and isinstance(node.op, ast.Div)):
                return None
            return left + right if isinstance(node.op, ast.Mult | ast.Div) else max(left, right)
    return None


# Values and slopes


def _number(node: ast.AST, x: FloatArray) -> Any:
    """The value of a tree at x, a plain number where it does not depend on x."""
    return evaluate(node, {"x": x, **CONSTANTS}, VALUES)


def _value(tree: ast.AST, x: ArrayLike, of: Callable[[ast.AST, FloatArray], Any] = _number) -> FloatArray:
    """The value of a tree at x (or its slope there), elementwise and of x's shape, without warnings: exp(-x) may
    overflow on its way to 1/(1 + exp(-x)) = 0."""
    x = np.asarray(x, dtype=float)
    with np.errstate(over="ignore", under="ignore"):
        result = np.asarray(of(tree, x), dtype=float)
    return result if result.shape == x.shape else np.full_like(x, result)


def _slope(node: ast.AST, x: FloatArray) -> Any:
    """The derivative of a tree at x, by the rules of differentiation."""
    match node:
        case ast.Constant() | ast.Name():
            return float(isinstance(node, ast.Name) and node.id == "x")
        case ast.UnaryOp():
            return -_slope(node.operand, x) if isinstance(node.op, ast.USub) else _slope(node.operand, x)
        case ast.Call(func=ast.Name(id=name), args=[inner]):
            return FUNCTIONS[name][1](np.asarray(_number(inner, x), dtype=float)) * _slope(inner, x)
        case ast.Call(func=ast.Name(id=name), args=[*others, last]):
            rest = others[0] if len(others) == 1 else ast.Call(ast.Name(name), others, [])
            ahead = np.sign(_number(rest, x) - _number(last, x)) * (1 if name == "max" else -1)
            return ((1 + ahead) * _slope(rest, x) + (1 - ahead) * _slope(last, x)) / 2
        case ast.BinOp(left=left, op=ast.Pow(), right=right):
            n = _number(right, x)
            return n * real_power(_number(left, x), n - 1) * _slope(left, x) if n else 0.0
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            return _slope(left, x) * _number(right, x) + _number(left, x) * _slope(right, x)
        case ast.BinOp(left=left, op=ast.Div(), right=right):
            return (_slope(left, x) - _number(node, x) * _slope(right, x)) / _number(right, x)
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() as op, right=right):
            return _slope(left, x) + (1 if isinstance(op, ast.Add) else -1) * _slope(right, x)
    raise TypeError(f"{type(node).__name__} is no part of an expression")


# Checks


def _rules(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """What the parts of a node must be where phi is finite and real, and where they make it bend."""
    match node:
        case ast.BinOp(op=ast.Div()):
            yield "not zero", node.right
        case ast.BinOp(op=ast.Pow()):
            power = exact_number(node.right) or Fraction(0)
            if power.denominator > 1:
                yield "not negative" if power >= 1 else "positive", node.left
            elif power < 0:
                yield "not zero", node.left
        case ast.Call(func=ast.Name(id="log" | "sqrt")):
            yield "positive", node.args[0]
        case ast.Call(func=ast.Name(id="relu" | "abs" | "sign" | "heaviside")):
            yield "bends at zero", node.args[0]
        case ast.Call(func=ast.Name(id="max" | "min")):
            for first, second in itertools.combinations(node.args, 2):
                yield "bends at zero", ast.BinOp(first, ast.Sub(), second)


def _examined_kinks(tree: ast.AST, text: str) -> tuple[float, ...]:
    """The kinks of an expression, in order; `SettingError` where a part of it leaves the real numbers or a number in
    it is out of proportion."""
    kinks: set[float] = set()
    with np.errstate(all="ignore"):
        for node in ast.walk(tree):
            for argument in getattr(node, "args", ()):  # sympy looks closely at functions of plain numbers
                if not depends_on(argument, "x") and not abs(float(_value(argument, 0.0))) <= LARGEST_NUMBER:
                    raise _refused(text, f"its numbers may not exceed {LARGEST_NUMBER}")
            for rule, part in _rules(node):
                if rule == "bends at zero":
                    kinks |= _zeros(part, text)
                else:
                    _check_range(rule, part, text)
    return tuple(sorted(kinks))


def _check_range(rule: str, node: ast.expr, text: str) -> None:
    """Raise where an expression is zero, negative or either, as the rule says."""
    size = np.abs if rule == "not zero" else np.positive
    f = _value(node, GRID)
    i = int(np.nanargmin(size(f))) if not np.isnan(f).all() else 0
    low, where = float(size(f[i])), float(GRID[i])
    crossed = np.flatnonzero(np.sign(f[1:]) != np.sign(f[:-1]))
    if rule == "not zero" and len(crossed):
        low, where = 0.0, float(GRID[crossed[0] + 1])
    elif 0 < i < len(GRID) - 1 and low > 0:
        around = GRID[i - 1], GRID[i + 1]
        least = scipy.optimize.minimize_scalar(lambda x: float(size(_value(node, x))), bounds=around, method="bounded",
                                               options={"xatol": 1e-12})
        low, where = min((low, where), (float(least.fun), float(least.x)))
    if rule == "not negative":
        if low < -1e-12:
            raise _refused(text, f"({ast.unparse(node)}) is negative at x = {where:.3g}: the root is not real")
    # Decays such as 1/exp(-x) come close to zero far out without reaching it.
    elif low <= 0 or (abs(where) < EDGE - 1 and low < 1e-9):
        what = "is zero" if rule == "not zero" else "is not positive"
        raise _refused(text, f"({ast.unparse(node)}) {what} at x = {where:.3g}, where phi or its slope is not "
                       "finite and real")


def _zeros(node: ast.expr, text: str) -> set[float]:
    """Where an expression changes sign between -EDGE and EDGE."""
    sign = np.sign(_value(node, GRID))
    zeros = {float(GRID[i]) for i in range(1, len(sign) - 1) if sign[i] == 0 and sign[i - 1] != sign[i + 1]}
    crossed = np.flatnonzero(sign[1:] * sign[:-1] < 0)
    if len(crossed) + len(zeros) > MOST_KINKS:
        raise _refused(text, f"it has more than {MOST_KINKS} kinks")
    for i in crossed:
        zeros.add(float(scipy.optimize.brentq(lambda x: float(_value(node, x)), GRID[i], GRID[i + 1], xtol=1e-15)))
    return zeros


def _examine(phi: Activation, text: str) -> None:
    """Raise where phi is not a finite and continuous function, grows too fast, or varies too fast to be averaged."""
    with np.errstate(all="ignore"):
        f, slope = phi.phi(GRID), phi.derivative(GRID)
        # a weight that no activation of polynomial or plain exponential growth outlives
        weight = np.exp(-np.minimum(GRID**2 / 8, 700))
        large = np.maximum(f**2, slope**2) * weight > 1e-12 * (1 + f**2 * weight).max()
    missing = np.isnan(f) | np.isnan(slope)
    if missing.any():
        raise _refused(text, f"it is not a number near x = {GRID[missing][0]:.3g}")
    if large[np.abs(GRID) > EDGE - 5].any() or not (np.isfinite(f) & np.isfinite(slope)).all():
        raise _refused(text, "it grows too fast: averages over Gaussian inputs may not exist")
    if float(np.ptp(f)) == 0:
        raise _refused(text, "it does not depend on x")
    for k in phi.kinks:
        left, right = phi.phi([k - 1e-7, k + 1e-7])
        if abs(right - left) > 1e-4 * (1 + abs(left)):
            raise _refused(text, f"it jumps at x = {k:.3g}, where gradient descent sees no slope")
    for s in (1 / 4, 2.0):
        fine, coarse = (float((w * phi.phi(x) ** 2).sum()) for x, w in
                        (gaussian_rule(phi, s, points) for points in (16, 12)))
        if not abs(fine - coarse) <= 1e-8 * (abs(fine) + 1e-12):
            raise _refused(text, "it varies too fast to be averaged over Gaussian inputs")
