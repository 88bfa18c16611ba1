"""From what was typed to a checked syntax tree; nothing typed is ever run.

Python's own parser reads the text (it only builds a tree), and every node of the tree must be on the list
below: numbers, x, pi, + - * / **, and the functions of `FUNCTIONS`. Length, depth, exponents and numbers are
bounded, so that no text takes long.
"""

from __future__ import annotations

import ast
import re
import warnings
from fractions import Fraction

from ..errors import SettingError
from .functions import CONSTANTS, FUNCTIONS

LONGEST = 200  # characters
DEEPEST = 50  # levels of nesting
LARGEST_POWER = 16
LARGEST_NUMBER = 10**6

_SPELLED = {"Abs": "abs", "Max": "max", "Min": "min", "Heaviside": "heaviside", "ReLU": "relu", "E": "e"}
_OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow)


def refused(text: str, why: str) -> SettingError:
    """The error that says in one line what is not accepted."""
    shown = text if len(text) <= 60 else text[:57] + "..."
    return SettingError("activation", f"activation={shown!r} is not accepted: {why}")


def parse(text: str) -> tuple[str, ast.expr]:
    """The canonical text and the tree of an expression in x.

    Raises `SettingError` with one line for anything that is not arithmetic in x.

    >>> parse("x^3-3*x")[0]
    'x ** 3 - 3 * x'
    """
    if len(text) > LONGEST:
        raise refused(text, f"it has {len(text)} characters, and {LONGEST} are the most")
    strange = re.search(r"[^\x20-\x7e]", text)
    if strange:
        raise refused(text, f"the character {strange.group()!r} has no meaning here")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text.strip().replace("^", "**"), mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        raise refused(text, "it is not an expression in x, such as x**3 - 3*x") from None
    _check(tree, text, 1)
    if not any(isinstance(n, ast.Name) and n.id == "x" for n in ast.walk(tree)):
        raise refused(text, "it does not depend on x")
    return ast.unparse(tree), tree


def _check(node: ast.AST, text: str, depth: int) -> None:
    """Raise unless the node and all below it are on the list; spell names in the canonical way."""
    if depth > DEEPEST:
        raise refused(text, f"it is nested deeper than {DEEPEST} levels")
    if isinstance(node, ast.Constant):
        if isinstance(node.value, bool) or not isinstance(node.value, int | float):
            raise refused(text, f"{ast.unparse(node)} is not a real number")
        if not abs(node.value) <= LARGEST_NUMBER:
            raise refused(text, f"its numbers may not exceed {LARGEST_NUMBER}")
    elif isinstance(node, ast.Name):
        node.id = _SPELLED.get(node.id, node.id)
        if node.id != "x" and node.id not in CONSTANTS:
            why = "the function needs an argument" if node.id in FUNCTIONS else "the variable is x"
            raise refused(text, f"the name {node.id!r} is not known; {why}")
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.UAdd | ast.USub):
        _check(node.operand, text, depth + 1)
    elif isinstance(node, ast.BinOp) and isinstance(node.op, _OPERATORS):
        _check(node.left, text, depth + 1)
        _check(node.right, text, depth + 1)
        if isinstance(node.op, ast.Pow):
            power = fraction(node.right)
            if power is None:
                raise refused(text, f"the exponent {ast.unparse(node.right)} is not a plain number; "
                              "for powers of a number write exp(...)")
            if abs(power) > LARGEST_POWER:
                raise refused(text, f"exponents may not exceed {LARGEST_POWER}")
    elif isinstance(node, ast.Call):
        _check_call(node, text, depth)
    else:
        kind = type(getattr(node, "op", node)).__name__
        raise refused(text, f"only arithmetic in x and functions such as tanh(x) are allowed (found {kind})")


def _check_call(node: ast.Call, text: str, depth: int) -> None:
    name = node.func.id if isinstance(node.func, ast.Name) else ""
    name = _SPELLED.get(name, name)
    if name not in FUNCTIONS:
        raise refused(text, f"the function {ast.unparse(node.func)!r} is not known; there are "
                      + ", ".join(FUNCTIONS))
    node.func.id = name  # type: ignore[attr-defined]  # a Name: `name` would be empty otherwise
    several = name in ("max", "min")
    # sympy prints Heaviside(x, 1/2) for its own default at 0, which changes nothing here
    if name == "heaviside" and len(node.args) == 2 and fraction(node.args[1]) is not None:
        node.args.pop()
    if node.keywords or (len(node.args) < 2 if several else len(node.args) != 1):
        raise refused(text, f"{name} takes {'two or more arguments' if several else 'one argument'}")
    for argument in node.args:
        if isinstance(argument, ast.Starred):
            raise refused(text, "a star has no meaning here")
        _check(argument, text, depth + 1)


def fraction(node: ast.AST) -> Fraction | None:
    """The exact value of a tree of plain numbers, or None; never a large power."""
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return Fraction(str(node.value))
    if isinstance(node, ast.UnaryOp):
        value = fraction(node.operand)
        return None if value is None else -value if isinstance(node.op, ast.USub) else value
    if isinstance(node, ast.BinOp):
        a, b = fraction(node.left), fraction(node.right)
        if a is None or b is None:
            return None
        if isinstance(node.op, ast.Add):
            return a + b
        if isinstance(node.op, ast.Sub):
            return a - b
        if isinstance(node.op, ast.Mult):
            return a * b
        if isinstance(node.op, ast.Div) and b != 0:
            return a / b
    return None
