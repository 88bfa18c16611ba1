"""What a checked tree means: its value and slope on arrays, its kinks, its degree, its sympy form."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from .functions import CONSTANTS, FUNCTIONS, Function, sympy_function
from .parse import fraction, refused

Array = NDArray[np.float64]

EDGE = 40  # beyond it nothing is looked at; a Gaussian of variance 4 is at e^-200 there
GRID = np.linspace(-EDGE, EDGE, 80 * 200 + 1)  # where an expression is examined
MOST_KINKS = 200


def integer_power(x: Array, n: int) -> Array:
    """x^n by repeated squaring: much faster than the general power."""
    result = np.ones_like(x)
    while n:
        if n & 1:
            result = result * x
        n >>= 1
        if n:
            x = x * x
    return result


def _power(x: Array, p: Any) -> Array:
    if p.denominator != 1:
        return np.asarray(x ** float(p))
    return integer_power(x, int(p)) if p >= 0 else 1 / integer_power(x, int(-p))


def value(node: ast.expr, x: Array) -> Array:
    """phi(x), elementwise."""
    return _evaluate(node, x, False)[0]


def slope(node: ast.expr, x: Array) -> Array:
    """phi'(x), elementwise, by carrying the derivative through each operation."""
    return _evaluate(node, x, True)[1] + np.zeros_like(x)


def _evaluate(node: ast.expr, x: Array, both: bool) -> tuple[Any, Any]:
    """Value and, where `both`, slope; numbers stay numbers."""
    if isinstance(node, ast.Constant):
        return float(node.value), 0  # type: ignore[arg-type]  # checked to be a number
    if isinstance(node, ast.Name):
        return (x, 1) if node.id == "x" else (CONSTANTS[node.id], 0)
    if isinstance(node, ast.UnaryOp):
        f, df = _evaluate(node.operand, x, both)
        return (-f, -df) if isinstance(node.op, ast.USub) else (f, df)
    if isinstance(node, ast.Call):
        return _call(node, x, both)
    assert isinstance(node, ast.BinOp)
    f, df = _evaluate(node.left, x, both)
    if isinstance(node.op, ast.Pow):
        p = fraction(node.right)
        assert p is not None
        array = np.asarray(f, dtype=float)
        return _power(array, p), (float(p) * _power(array, p - 1) * df if both and p else 0)
    g, dg = _evaluate(node.right, x, both)
    if isinstance(node.op, ast.Add):
        return f + g, df + dg
    if isinstance(node.op, ast.Sub):
        return f - g, df - dg
    if isinstance(node.op, ast.Mult):
        return f * g, (df * g + f * dg if both else 0)
    ratio = np.divide(f, g)
    return ratio, ((df - ratio * dg) / g if both else 0)


def _call(node: ast.Call, x: Array, both: bool) -> tuple[Any, Any]:
    name = node.func.id  # type: ignore[attr-defined]  # the parser lets names through only
    f, df = _evaluate(node.args[0], x, both)
    f = np.asarray(f, dtype=float)
    if name in ("max", "min"):
        for other in node.args[1:]:
            g, dg = _evaluate(other, x, both)
            first = f >= g if name == "max" else f <= g
            f, df = np.where(first, f, g), (np.where(first, df, dg) if both else 0)
        return f, df
    function = FUNCTIONS[name]
    result = function.value(f)
    return result, (function.slope(f, result) * df if both else 0)


def bare_function(node: ast.expr) -> Function | None:
    """The function where the tree is nothing but one function of x: it may be called without the tree."""
    if not isinstance(node, ast.Call) or len(node.args) > 1:
        return None
    argument = node.args[0]
    if not (isinstance(argument, ast.Name) and argument.id == "x"):
        return None
    return FUNCTIONS[node.func.id]  # type: ignore[attr-defined]


def degree(node: ast.expr) -> int | None:
    """The degree of a polynomial in x, None where the expression is not one."""
    if isinstance(node, ast.Constant):
        return 0
    if isinstance(node, ast.Name):
        return int(node.id == "x")
    if isinstance(node, ast.UnaryOp):
        return degree(node.operand)
    if isinstance(node, ast.BinOp):
        a, b = degree(node.left), degree(node.right)
        if a is None or b is None:
            return None
        if isinstance(node.op, ast.Pow):
            p = fraction(node.right)
            return a * int(p) if p is not None and p >= 0 and p.denominator == 1 else None
        if isinstance(node.op, ast.Div):
            return a if b == 0 else None
        return a + b if isinstance(node.op, ast.Mult) else max(a, b)
    return None


def expression(node: ast.expr) -> Any:
    """The tree as a sympy expression in the real symbol x, its decimal numbers exact."""
    import sympy

    exact = fraction(node)
    if exact is not None:
        return sympy.Rational(exact.numerator, exact.denominator)
    if isinstance(node, ast.Name):
        return sympy.Symbol("x", real=True) if node.id == "x" else {"pi": sympy.pi, "e": sympy.E}[node.id]
    if isinstance(node, ast.UnaryOp):
        f = expression(node.operand)
        return -f if isinstance(node.op, ast.USub) else f
    if isinstance(node, ast.Call):
        name = node.func.id  # type: ignore[attr-defined]
        return sympy_function(name)(*map(expression, node.args))
    assert isinstance(node, ast.BinOp)
    f, g = expression(node.left), expression(node.right)
    operations: dict[type, Callable[[Any, Any], Any]] = {
        ast.Add: lambda a, b: a + b, ast.Sub: lambda a, b: a - b, ast.Mult: lambda a, b: a * b,
        ast.Div: lambda a, b: a / b, ast.Pow: lambda a, b: a**b}
    return operations[type(node.op)](f, g)


def examine(node: ast.expr, text: str) -> tuple[float, ...]:
    """The kinks of an expression, in order.

    Raises `SettingError` where it is not a real, finite and continuous function on the real line, or grows
    too fast for Gaussian averages.
    """
    kinks: set[float] = set()
    with np.errstate(all="ignore"):
        for part in ast.walk(node):
            _check_domain(part, text)
            kinks.update(_kinks(part, text))
        f, df = value(node, GRID) + np.zeros_like(GRID), slope(node, GRID)
        if np.isnan(f).any() or np.isnan(df).any():
            where = GRID[np.isnan(f) | np.isnan(df)][0]
            raise refused(text, f"it is not a number near x = {where:.3g}")
        # a weight that no activation of polynomial or plain exponential growth outlives
        weight = np.exp(-np.minimum(GRID**2 / 8, 700))
        outer = np.abs(GRID) > EDGE - 5
        for g in (f, df):
            if not np.isfinite(g).all() or (g**2 * weight)[outer].max() > 1e-12 * (1 + f**2 * weight).max():
                raise refused(text, "it grows too fast: averages over Gaussian inputs may not exist")
        if float(np.ptp(f)) == 0:
            raise refused(text, "it does not depend on x")
        step = 1e-7
        for k in kinks:
            left, right = value(node, np.array([k - step, k + step])) + np.zeros(2)
            if abs(right - left) > 1e-4 * (1 + abs(left)):
                raise refused(text, f"it jumps at x = {k:.3g}, where gradient descent sees no slope")
    return tuple(sorted(kinks))


def _check_domain(node: ast.AST, text: str) -> None:
    """Raise where a denominator vanishes, or a logarithm or root leaves the reals."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        _keep_from_zero(node.right, text, signed=False)
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
        p = fraction(node.right)
        assert p is not None
        if p.denominator != 1:
            _keep_from_zero(node.left, text, signed=True, touching=p >= 1)
        elif p < 0:
            _keep_from_zero(node.left, text, signed=False)
    elif isinstance(node, ast.Call) and node.func.id in ("log", "sqrt"):  # type: ignore[attr-defined]
        _keep_from_zero(node.args[0], text, signed=True)


def _keep_from_zero(node: ast.expr, text: str, signed: bool, touching: bool = False) -> None:
    """Raise where the expression comes to zero (`signed`: or below; `touching`: zero itself is allowed)."""
    f = value(node, GRID) + np.zeros_like(GRID)
    size = f if signed else np.abs(f)
    crosses = np.flatnonzero(np.sign(f[1:]) != np.sign(f[:-1]))
    i = int(np.nanargmin(size)) if not np.isnan(size).all() else 0
    low, where = float(size[i]), float(GRID[i])
    if 0 < i < len(GRID) - 1 and low > 0:
        def at(x: float) -> float:
            v = float(value(node, np.array(x)))
            return v if signed else abs(v)

        found = optimize.minimize_scalar(at, bounds=(GRID[i - 1], GRID[i + 1]), method="bounded",
                                         options={"xatol": 1e-12})
        low, where = min((low, where), (float(found.fun), float(found.x)))
    if touching:
        if low < -1e-12:
            raise refused(text, f"({ast.unparse(node)}) is negative at x = {where:.3g}: the root is not real")
        return
    # decays such as 1/exp(-x) come close to zero far out without reaching it
    inner = abs(where) < EDGE - 1
    if low <= 0 or (not signed and len(crosses)) or (inner and low < 1e-9):
        if not signed and len(crosses):
            where = float(GRID[crosses[0] + 1])
        what = "is not positive" if signed else "is zero"
        raise refused(text, f"({ast.unparse(node)}) {what} at x = {where:.3g}, where phi or its slope is not "
                      "finite and real")


def _kinks(node: ast.AST, text: str) -> set[float]:
    """Where the argument of a function that bends changes sign, or two arguments of max or min cross."""
    if not isinstance(node, ast.Call):
        return set()
    name = node.func.id  # type: ignore[attr-defined]
    if name in ("max", "min"):
        pairs = [(a, b) for i, a in enumerate(node.args) for b in node.args[:i]]
        return set().union(*(_zeros(ast.BinOp(a, ast.Sub(), b), text) for a, b in pairs))
    return _zeros(node.args[0], text) if FUNCTIONS[name].kink else set()


def _zeros(node: ast.expr, text: str) -> set[float]:
    """Where an expression changes sign between -EDGE and EDGE."""
    f = value(node, GRID) + np.zeros_like(GRID)
    sign = np.sign(f)
    found = {float(GRID[i]) for i in range(1, len(f) - 1) if sign[i] == 0 and sign[i - 1] != sign[i + 1]}
    crossed = np.flatnonzero(sign[1:] * sign[:-1] < 0)
    if len(crossed) + len(found) > MOST_KINKS:
        raise refused(text, f"it has more than {MOST_KINKS} kinks")
    for i in crossed:
        root = optimize.brentq(lambda x: float(value(node, np.array(x))), GRID[i], GRID[i + 1], xtol=1e-15)
        found.add(float(root))
    return found
