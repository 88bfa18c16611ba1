"""The safe language of expressions: text to a checked syntax tree, and from there to numbers or to sympy.

Python's own parser reads the text (it only builds a tree), and every node of the tree must be a number, a declared
name, one of + - * / ** or a call of a declared function. Length, depth, exponents and numbers are bounded, so that no
text takes long. Nothing typed is ever run.
"""

from __future__ import annotations

import ast
import dataclasses
import re
import warnings
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np

__all__ = ["Language", "depends_on", "evaluate", "exact_number", "integer_power", "parse", "to_sympy"]

LONGEST_NUMBER = 2000  # binary digits that powers of plain numbers may come to
SIMPLE_EXPONENT = 64  # exponents of a larger denominator become decimal in sympy, which factors bases of exact ones

_OPERATIONS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: lambda a, b: a / b,
    ast.Pow: lambda a, b: a**b,
}
_COUNTS = {1: "one argument", 2: "two arguments"}


@dataclasses.dataclass(frozen=True)
class Language:
    """What an expression may consist of, and how another one is refused.

    functions: by name the fewest and the most arguments. refused: makes the error from one line that says why.
    spelled: other spellings of names, such as those that sympy prints. example and hint say what is expected.
    largest_power: where there is one, exponents must be plain numbers of at most that size.
    """

    names: tuple[str, ...]
    functions: Mapping[str, tuple[int, int]]
    refused: Callable[[str], Exception]
    example: str
    hint: str
    spelled: Mapping[str, str] = dataclasses.field(default_factory=dict)
    longest: int = 20_000  # characters
    deepest: int = 50  # levels of nesting
    largest_number: float | None = None
    largest_power: int | None = None


def parse(text: str, language: Language) -> ast.expr:
    """The checked tree of an expression; names are spelled in the canonical way.

    Raises `language.refused(...)` for anything that is not arithmetic in the language.

    >>> plain = Language(("x",), {"exp": (1, 1)}, ValueError, "an expression in x", "the variable is x")
    >>> ast.unparse(parse("exp(-x^2)", plain))
    'exp(-x ** 2)'
    """
    if len(text) > language.longest:
        raise language.refused(f"it has {len(text)} characters, and {language.longest} are the most")
    strange = re.search(r"[^\x20-\x7e]", text)
    if strange:
        raise language.refused(f"the character {strange.group()!r} has no meaning here")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text.strip().replace("^", "**"), mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        raise language.refused(f"it is not {language.example}") from None
    _check(tree, language, 1)
    return tree


def _check(node: ast.AST, language: Language, depth: int) -> None:
    """Raise unless the node and all below it belong to the language."""
    if depth > language.deepest:
        raise language.refused(f"it is nested deeper than {language.deepest} levels")
    if isinstance(node, ast.Constant):
        if isinstance(node.value, bool) or not isinstance(node.value, int | float):
            raise language.refused(f"{ast.unparse(node)[:40]} is not a real number")
        if language.largest_number is not None and not abs(node.value) <= language.largest_number:
            raise language.refused(f"its numbers may not exceed {language.largest_number}")
    elif isinstance(node, ast.Name):
        node.id = language.spelled.get(node.id, node.id)
        if node.id not in language.names:
            why = "the function needs an argument" if node.id in language.functions else language.hint
            raise language.refused(f"the name {node.id[:40]!r} is not known; {why}")
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.UAdd | ast.USub):
        _check(node.operand, language, depth + 1)
    elif isinstance(node, ast.BinOp) and type(node.op) in _OPERATIONS:
        _check(node.left, language, depth + 1)
        _check(node.right, language, depth + 1)
        if isinstance(node.op, ast.Pow) and language.largest_power is not None:
            _check_power(node, language, language.largest_power)
    elif isinstance(node, ast.Call):
        _check_call(node, language, depth)
    else:
        kind = type(getattr(node, "op", node)).__name__
        scope = " in " + language.names[0] if len(language.names) < 5 else ""
        raise language.refused(f"only arithmetic{scope} and functions such as tanh({language.names[0]}) are allowed "
                               f"(found {kind})")


def _check_call(node: ast.Call, language: Language, depth: int) -> None:
    name = node.func.id if isinstance(node.func, ast.Name) else ""
    name = language.spelled.get(name, name)
    if name not in language.functions:
        raise language.refused(f"the function {ast.unparse(node.func)[:40]!r} is not known; there are "
                               + ", ".join(language.functions))
    assert isinstance(node.func, ast.Name)
    node.func.id = name
    fewest, most = language.functions[name]
    if node.keywords or not fewest <= len(node.args) <= most:
        count = _COUNTS[fewest] if fewest == most else f"{('one', 'two')[fewest - 1]} or more arguments"
        raise language.refused(f"{name} takes {count}")
    for argument in node.args:
        if isinstance(argument, ast.Starred):
            raise language.refused("a star has no meaning here")
        _check(argument, language, depth + 1)


def _check_power(node: ast.BinOp, language: Language, largest: int) -> None:
    power = exact_number(node.right)
    if power is None:
        raise language.refused(f"the exponent {ast.unparse(node.right)} is not a plain number; "
                               "for powers of a number write exp(...)")
    if abs(power) > largest:
        raise language.refused(f"exponents may not exceed {largest}")
    if _digits(node) > LONGEST_NUMBER:
        raise language.refused("powers of powers make its numbers too long")


def _digits(node: ast.AST) -> float:
    """A bound on the binary digits of the plain numbers in the expression, all powers multiplied out."""
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        number = Fraction(str(node.value))
        return number.numerator.bit_length() + number.denominator.bit_length()
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
        power = exact_number(node.right)
        return 0 if power is None else _digits(node.left) * max(1.0, abs(float(power)))
    return sum(_digits(child) for child in ast.iter_child_nodes(node))


def exact_number(node: ast.AST) -> Fraction | None:
    """The exact value of a tree of plain numbers without powers, None for any other."""
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return Fraction(str(node.value))
    if isinstance(node, ast.UnaryOp):
        value = exact_number(node.operand)
        negative = isinstance(node.op, ast.USub)
        return -value if value is not None and negative else value
    if isinstance(node, ast.BinOp) and not isinstance(node.op, ast.Pow):
        a, b = exact_number(node.left), exact_number(node.right)
        if a is None or b is None or (isinstance(node.op, ast.Div) and b == 0):
            return None
        value = _OPERATIONS[type(node.op)](a, b)
        return value
    return None


def depends_on(node: ast.AST, name: str) -> bool:
    """Whether a name occurs in a tree."""
    return any(isinstance(part, ast.Name) and part.id == name for part in ast.walk(node))


def evaluate(node: ast.AST, names: Mapping[str, Any], functions: Mapping[str, Callable[..., Any]]) -> Any:
    """The value of a checked tree in floats, or elementwise where a name stands for an array.

    Raises KeyError for a name without a value, and what the operations and functions raise.
    """
    if isinstance(node, ast.Constant):
        return float(node.value)  # type: ignore[arg-type]  # `parse` lets real numbers through only
    if isinstance(node, ast.Name):
        return names[node.id]
    if isinstance(node, ast.UnaryOp):
        value = evaluate(node.operand, names, functions)
        return -value if isinstance(node.op, ast.USub) else value
    if isinstance(node, ast.BinOp):
        left, right = evaluate(node.left, names, functions), evaluate(node.right, names, functions)
        if isinstance(node.op, ast.Pow) and isinstance(left, np.ndarray) and float(right).is_integer():
            return integer_power(left, int(right))
        result = _OPERATIONS[type(node.op)](left, right)
        if isinstance(result, complex):  # a root of a negative number, in Python's own floats
            raise ArithmeticError("not a real number")
        return result
    assert isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    return functions[node.func.id](*(evaluate(argument, names, functions) for argument in node.args))


def integer_power(x: Any, n: int) -> Any:
    """x^n by repeated squaring, which is much faster than the general power of arrays."""
    if n < 0:
        return 1 / integer_power(x, -n)
    result = np.ones_like(x)
    while n:
        if n & 1:
            result = result * x
        n >>= 1
        if n:
            x = x * x
    return result


def to_sympy(node: ast.AST, names: Mapping[str, Any], functions: Mapping[str, Callable[..., Any]]) -> Any:
    """A checked tree as a sympy expression: decimal numbers become exact, names and functions are those given."""
    import sympy

    number = exact_number(node)
    if number is not None:
        return sympy.Rational(number.numerator, number.denominator)
    if isinstance(node, ast.Name):
        return names[node.id]
    if isinstance(node, ast.UnaryOp):
        value = to_sympy(node.operand, names, functions)
        return -value if isinstance(node.op, ast.USub) else value
    if isinstance(node, ast.Call):
        assert isinstance(node.func, ast.Name)
        return functions[node.func.id](*(to_sympy(argument, names, functions) for argument in node.args))
    assert isinstance(node, ast.BinOp)
    left, right = (to_sympy(side, names, functions) for side in (node.left, node.right))
    if isinstance(node.op, ast.Pow) and getattr(right, "q", 1) > SIMPLE_EXPONENT:
        right = sympy.Float(right)
    return _OPERATIONS[type(node.op)](left, right)
