"""Expressions. Every operator becomes a call, since its operands may be arrays."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from .names import local
from .scope import Scope, Untranslatable

BINARY = {
    ast.Add: "add", ast.Sub: "subtract", ast.Mult: "multiply", ast.Div: "divide", ast.Pow: "power",
    ast.FloorDiv: "floor_divide", ast.Mod: "remainder", ast.MatMult: "matmul", ast.BitAnd: "bitwise_and",
    ast.BitOr: "bitwise_or",
}
COMPARISONS = {
    ast.Lt: "less", ast.LtE: "less_equal", ast.Gt: "greater", ast.GtE: "greater_equal", ast.Eq: "equal",
    ast.NotEq: "not_equal", ast.Is: "same", ast.IsNot: "not_same", ast.In: "within", ast.NotIn: "not_within",
}
PROPERTIES = ("T", "flags", "flat", "ndim", "real", "shape", "size")  # which arrays have and numbers lack
LIBRARIES = {"numpy": "nd", "scipy.special": "special", "math": "py.math", "mpmath": "py.mpmath"}
IGNORED = ("strict", "optimize")  # keywords that change no result
DTYPES = {float: '"float"', int: '"int"', bool: '"bool"', np.float64: '"float"', np.intp: '"int"', np.bool_: '"bool"'}


def expression(node: ast.expr, scope: Scope) -> str:
    """The JavaScript of an expression."""
    translate = globals().get(f"_{type(node).__name__.lower()}")
    if translate is None:
        raise Untranslatable(f"{type(node).__name__}: {ast.unparse(node)}")
    return str(translate(node, scope))


def _constant(node: ast.Constant, scope: Scope) -> str:
    return "nd.ellipsis" if node.value is ... else scope.reference(node.value)


def _name(node: ast.Name, scope: Scope) -> str:
    known, thing = scope.find(node)
    return scope.reference(thing) if known else local(node.id)


def _attribute(node: ast.Attribute, scope: Scope) -> str:
    known, thing = scope.find(node)
    path = _library_path(node, scope)
    if path is not None:
        return path
    if known:
        return scope.reference(thing)
    owner = expression(node.value, scope)
    return f'py.property({owner}, "{node.attr}")' if node.attr in PROPERTIES else f"{owner}.{node.attr}"


def _library_path(node: ast.expr, scope: Scope) -> str | None:
    """nd.linalg.eigh for np.linalg.eigh; None where the name is not one of a library that the runtime stands for."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.insert(0, node.attr)
        node = node.value
    if not (parts and isinstance(node, ast.Name) and node.id not in scope.variables):
        return None
    root = scope.static.get(node.id)
    prefix = LIBRARIES.get(root.__name__) if isinstance(root, ModuleType) else None
    return None if prefix is None else ".".join([prefix, *parts])


def _binop(node: ast.BinOp, scope: Scope) -> str:
    return f"py.{BINARY[type(node.op)]}({expression(node.left, scope)}, {expression(node.right, scope)})"


def _unaryop(node: ast.UnaryOp, scope: Scope) -> str:
    inner = expression(node.operand, scope)
    if isinstance(node.op, ast.Not):
        return f"!py.truth({inner})"
    if isinstance(node.op, ast.USub):
        return f"(-{inner})" if isinstance(node.operand, ast.Constant) else f"py.negative({inner})"
    return f"nd.invert({inner})" if isinstance(node.op, ast.Invert) else inner


def _boolop(node: ast.BoolOp, scope: Scope) -> str:
    join = "and" if isinstance(node.op, ast.And) else "or"
    first, *rest = (expression(value, scope) for value in node.values)
    for other in rest:
        first = f"py.{join}({first}, () => {other})"
    return first


def _compare(node: ast.Compare, scope: Scope) -> str:
    sides = [expression(side, scope) for side in (node.left, *node.comparators)]
    parts = [f"py.{COMPARISONS[type(op)]}({a}, {b})" for op, a, b in zip(node.ops, sides, sides[1:], strict=False)]
    whole = parts[0]
    for part in parts[1:]:
        whole = f"py.and({whole}, () => {part})"
    return whole


def _ifexp(node: ast.IfExp, scope: Scope) -> str:
    test, then, otherwise = (expression(part, scope) for part in (node.test, node.body, node.orelse))
    return f"(py.truth({test}) ? {then} : {otherwise})"


def _tuple(node: ast.Tuple | ast.List, scope: Scope) -> str:
    return f"[{', '.join(_argument(part, scope) for part in node.elts)}]"


_list = _tuple


def _dict(node: ast.Dict, scope: Scope) -> str:
    pairs = []
    for key, value in zip(node.keys, node.values, strict=True):
        inner = expression(value, scope)
        pairs.append(f"...{inner}" if key is None else f"[{expression(key, scope)}, {inner}]")
    return f"new Map([{', '.join(pairs)}])"


def _lambda(node: ast.Lambda, scope: Scope) -> str:
    names = [a.arg for a in node.args.args]
    return f"(({', '.join(map(local, names))}) => {expression(node.body, scope.inside(set(names)))})"


def _joinedstr(node: ast.JoinedStr, scope: Scope) -> str:
    parts = []
    for part in node.values:
        if isinstance(part, ast.FormattedValue):
            parts.append(_formatted(part, expression(part.value, scope)))
        else:
            parts.append(expression(part, scope))
    return f"[{', '.join(parts)}].join(\"\")"


def _formatted(part: ast.FormattedValue, inner: str) -> str:
    if part.format_spec is None:
        return f"py.repr({inner})" if part.conversion == ord("r") else f"py.str({inner})"
    spec = re.fullmatch(r"f'(?:\.(\d+))?g'", ast.unparse(part.format_spec))
    if spec is None:
        raise Untranslatable(f"the format of {ast.unparse(part.value)}")
    return f"py.general({inner}, {spec[1] or 6})"


# --- subscripts -------------------------------------------------------------------------------------------

def subscript(node: ast.Subscript, scope: Scope) -> tuple[str, str]:
    """The object and the list of its indices."""
    indices = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    return expression(node.value, scope), f"[{', '.join(_argument(i, scope) for i in indices)}]"


def _subscript(node: ast.Subscript, scope: Scope) -> str:
    return "py.item({}, {})".format(*subscript(node, scope))


def _slice(node: ast.Slice, scope: Scope) -> str:
    parts = ["null" if part is None else expression(part, scope) for part in (node.lower, node.upper, node.step)]
    return "py.whole" if set(parts) == {"null"} else f"nd.slice({', '.join(parts)})"


# --- comprehensions ---------------------------------------------------------------------------------------

def stored(target: ast.expr) -> set[str]:
    """The variables that an assignment to `target` sets."""
    return {n.id for n in ast.walk(target) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}


def pattern(target: ast.expr, scope: Scope) -> tuple[str, bool]:
    """A destructuring pattern, and whether what is assigned must be made a list first."""
    if isinstance(target, ast.Name):
        return local(target.id), False
    if isinstance(target, ast.Tuple | ast.List):
        parts = [pattern(part, scope)[0] for part in target.elts]  # nested tuples are lists already
        return f"[{', '.join(parts)}]", True
    if isinstance(target, ast.Starred):
        return f"...{pattern(target.value, scope)[0]}", False
    raise Untranslatable(f"assignment to {ast.unparse(target)}")


def _comprehension(generators: list[ast.comprehension], scope: Scope, element: Any) -> str:
    first, *rest = generators
    over = expression(first.iter, scope)
    inside = scope.inside(stored(first.target))
    names, many = pattern(first.target, inside)
    inner = _comprehension(rest, inside, element) if rest else f"[{element(inside)}]"
    for test in reversed(first.ifs):
        inner = f"py.truth({expression(test, inside)}) ? {inner} : []"
    if not many:
        return f"py.list({over}).flatMap(({names}) => {inner})"
    return f"py.list({over}).flatMap((each) => {{ const {names} = py.list(each); return {inner}; }})"


def _listcomp(node: ast.ListComp | ast.GeneratorExp, scope: Scope) -> str:
    return _comprehension(node.generators, scope, lambda inside: expression(node.elt, inside))


_generatorexp = _listcomp


def _dictcomp(node: ast.DictComp, scope: Scope) -> str:
    def pair(inside: Scope) -> str:
        return f"[{expression(node.key, inside)}, {expression(node.value, inside)}]"

    return f"new Map({_comprehension(node.generators, scope, pair)})"


# --- calls ------------------------------------------------------------------------------------------------

def _argument(node: ast.expr, scope: Scope) -> str:
    """An argument; a type that is handed on is its name."""
    if isinstance(node, ast.Starred):
        return f"...py.list({expression(node.value, scope)})"
    known, thing = scope.find(node)
    if known and isinstance(thing, type) and thing in DTYPES:
        return DTYPES[thing]
    return expression(node, scope)


def _call(node: ast.Call, scope: Scope) -> str:
    node = ast.Call(node.func, node.args, [k for k in node.keywords if k.arg not in IGNORED])
    arguments = [_argument(a, scope) for a in node.args]
    path = _library_path(node.func, scope)
    if path is not None:
        return _with_keywords(path, arguments, node, scope)
    known, thing = scope.find(node.func)
    if known and not isinstance(thing, ModuleType):
        return _known_call(thing, arguments, node, scope)
    if isinstance(node.func, ast.Attribute):
        owner = expression(node.func.value, scope)
        keywords = f", {_keywords(node, scope)}" if node.keywords else ""
        return f'py.method({owner}, "{node.func.attr}", [{", ".join(arguments)}]{keywords})'
    callee = expression(node.func, scope)
    if node.keywords:
        return f"nd.call({callee}, [{', '.join(arguments)}], {_keywords(node, scope)})"
    return f"py.call({', '.join([callee, *arguments])})"


def _known_call(thing: Any, arguments: list[str], node: ast.Call, scope: Scope) -> str:
    """A call of something known now: keywords find their places now."""
    callee = scope.reference(thing)
    bare = getattr(thing, "__wrapped__", thing)
    new = "new " if isinstance(thing, type) and callee.split(".")[0] != "py" else ""
    if thing is dataclasses.replace:
        return f"{callee}({arguments[0]}, {_keywords(node, scope)})"
    ours = isinstance(bare, FunctionType | type) and not callee.startswith("py.")
    if not (node.keywords and ours):
        return new + _with_keywords(callee, arguments, node, scope)
    names = list(inspect.signature(thing if new else bare).parameters)
    if any(isinstance(a, ast.Starred) for a in node.args) or any(k.arg is None for k in node.keywords):
        return f"{new}{callee}(...py.bind({_quoted(names)}, [{', '.join(arguments)}], {_keywords(node, scope)}))"
    given = {k.arg: _argument(k.value, scope) for k in node.keywords}
    places = arguments + [given.pop(name, "undefined") for name in names[len(arguments):]]
    if given:
        raise Untranslatable(f"{ast.unparse(node)}: no parameters {', '.join(map(str, given))}")
    while places and places[-1] == "undefined":
        places.pop()
    return f"{new}{callee}({', '.join(places)})"


def _quoted(names: list[str]) -> str:
    return "[" + ", ".join(f'"{name}"' for name in names) + "]"


def _with_keywords(callee: str, arguments: list[str], node: ast.Call, scope: Scope) -> str:
    if not node.keywords:
        return f"{callee}({', '.join(arguments)})"
    return f"nd.call({callee}, [{', '.join(arguments)}], {_keywords(node, scope)})"


def _keywords(node: ast.Call, scope: Scope) -> str:
    pairs = [f"...Object.fromEntries({expression(k.value, scope)})" if k.arg is None
             else f"{k.arg}: {_argument(k.value, scope)}" for k in node.keywords]
    return f"{{{', '.join(pairs)}}}"
