"""The safe language of expressions: text to a checked syntax tree, and from there to numbers.

Python's own parser reads the text (it only builds a tree), and every node of the tree must be a number, a declared
name, one of + - * / ** or a call of a declared function. Length, depth, exponents and numbers are bounded, so that no
text takes long. Nothing typed is ever run.
"""

from __future__ import annotations

import ast
import dataclasses
import math
import operator
import re
import warnings
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np

LONGEST_NUMBER = 2000  # binary digits that powers of plain numbers may come to


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
    largest_number: float = math.inf
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
    refused = language.refused
    if depth > language.deepest:
        raise refused(f"it is nested deeper than {language.deepest} levels")
    match node:
        case ast.Constant(value=value):
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise refused(f"{ast.unparse(node)[:40]} is not a real number")
            if not abs(value) <= language.largest_number:
                raise refused(f"its numbers may not exceed {language.largest_number}")
        case ast.Name():
            node.id = language.spelled.get(node.id, node.id)
            if node.id not in language.names:
                why = "the function needs an argument" if node.id in language.functions else language.hint
                raise refused(f"the name {node.id[:40]!r} is not known; {why}")
        case ast.UnaryOp(op=ast.UAdd() | ast.USub()):
            _check(node.operand, language, depth + 1)
        case ast.BinOp(op=ast.Add() | ast.Sub() | ast.Mult() | ast.Div() | ast.Pow()):
            _check(node.left, language, depth + 1)
            _check(node.right, language, depth + 1)
            if isinstance(node.op, ast.Pow) and language.largest_power is not None:
                _check_power(node, language, language.largest_power)
        case ast.Call():
            _check_call(node, language, depth)
        case _:
            kind = type(getattr(node, "op", node)).__name__
            scope = " in " + language.names[0] if len(language.names) < 5 else ""
            raise refused(f"only arithmetic{scope} and functions such as tanh({language.names[0]}) are allowed "
                          f"(found {kind})")


def _check_call(node: ast.Call, language: Language, depth: int) -> None:
    name = node.func.id if isinstance(node.func, ast.Name) else ""
    name = language.spelled.get(name, name)
    if name not in language.functions:
        raise language.refused(f"the function {ast.unparse(node.func)[:40]!r} is not known; there are "
                               + ", ".join(language.functions))
    node.func = ast.Name(name, ast.Load())
    fewest, most = language.functions[name]
    if node.keywords or not fewest <= len(node.args) <= most:
        count = ("one", "two")[fewest - 1] + (" or more" if most > fewest else "")
        raise language.refused(f"{name} takes {count} argument{'s' * (most > 1)}")
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
    match node:
        case ast.Constant(value=value):
            number = Fraction(str(value))
            return number.numerator.bit_length() + number.denominator.bit_length()
        case ast.BinOp(left=base, op=ast.Pow(), right=exponent):
            return _digits(base) * max(1.0, abs(float(exact_number(exponent) or 0)))
        case _:
            return sum(_digits(child) for child in ast.iter_child_nodes(node))


def depends_on(node: ast.AST, name: str) -> bool:
    """Whether a name occurs in a tree."""
    return any(isinstance(part, ast.Name) and part.id == name for part in ast.walk(node))


def real_power(base: Any, exponent: Any) -> Any:
    """A power of floats or arrays; ArithmeticError where it is complex."""
    if isinstance(base, np.ndarray) and float(exponent).is_integer():
        return integer_power(base, int(exponent))
    result = base**exponent
    if isinstance(result, complex):
        raise ArithmeticError("not a real number")
    return result


_OPERATIONS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.Pow: real_power}


def evaluate(node: ast.AST, names: Mapping[str, Any], functions: Mapping[str, Callable[..., Any]],
             number: Callable[[Any], Any] = float) -> Any:
    """The value of a checked tree in floats, or elementwise where a name stands for an array.

    number: what numbers mean, where it is not that. Raises KeyError for a name without a value, and what the operations
    and functions raise.
    """

    def value(part: ast.AST) -> Any:  # does not name itself: a cycle would keep arrays until Python looks for cycles
        return evaluate(part, names, functions, number)

    match node:
        case ast.Constant():
            return number(node.value)
        case ast.Name():
            return names[node.id]
        case ast.UnaryOp():
            return -value(node.operand) if isinstance(node.op, ast.USub) else value(node.operand)
        case ast.BinOp():
            return _OPERATIONS[type(node.op)](value(node.left), value(node.right))
        case ast.Call(func=ast.Name(id=name)):
            return functions[name](*map(value, node.args))
    raise TypeError(f"{type(node).__name__} is no part of an expression")


def exact_number(node: ast.AST) -> Fraction | None:
    """The exact value of a tree of plain numbers without powers, None for any other."""
    if any(isinstance(part, ast.Pow | ast.Name | ast.Call) for part in ast.walk(node)):
        return None
    try:
        return Fraction(evaluate(node, {}, {}, lambda x: Fraction(str(x))))
    except ZeroDivisionError:
        return None


def integer_power(x: Any, n: int) -> Any:
    """x^n by repeated squaring, which is much faster than the general power of arrays."""
    if n < 0:
        return 1 / integer_power(x, -n)
    if n < 2:
        return x if n else np.ones_like(x)
    root = integer_power(x * x, n // 2)
    return root * x if n % 2 else root
