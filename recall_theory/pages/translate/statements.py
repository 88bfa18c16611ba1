"""Statements, functions and classes."""

from __future__ import annotations

import ast
import dataclasses
import functools
import importlib
import inspect
from types import FunctionType
from typing import Any

from .expressions import BINARY, _quoted, expression, pattern, subscript
from .names import local
from .scope import Reference, Scope, Untranslatable, source_of


def function_source(reference: Reference, function: FunctionType) -> str:
    """A function's definition as an expression."""
    tree = source_of(function)
    if isinstance(tree, ast.ClassDef | ast.Assign):
        raise Untranslatable(f"{function.__qualname__} has no source of its own")
    return _define(tree, Scope.of(reference, function), _defaults(reference, function))


def _defaults(reference: Reference, function: FunctionType) -> dict[str, str]:
    """The values of parameters that may be left out."""
    return {name: reference(p.default) for name, p in inspect.signature(function).parameters.items()
            if p.default is not inspect.Parameter.empty}


def class_source(reference: Reference, name: str, kind: type) -> str:
    """A dataclass, or a class with a constructor: its fields, methods and properties."""
    lines = [f"class {name} {{"]
    if dataclasses.is_dataclass(kind):
        fields = dataclasses.fields(kind)
        given = ", ".join(local(f.name) + _default(reference, f) for f in fields)
        sets = " ".join(f"this.{f.name} = {local(f.name)};" for f in fields)
        lines.append(f"  constructor({given}) {{ {sets} }}")
    named = []  # what calls with keywords need to know
    for attribute, thing in vars(kind).items():
        if isinstance(thing, property):
            assert isinstance(thing.fget, FunctionType)
            lines.append(_method(reference, f"get {attribute}", thing.fget))
        elif isinstance(thing, FunctionType) and _written_in(thing, kind):
            lines.append(_method(reference, "constructor" if attribute == "__init__" else attribute, thing))
            parameters = list(inspect.signature(thing).parameters)[1:]
            if attribute != "__init__" and parameters:
                named.append(f"{name}.prototype.{attribute}.params = {_quoted(parameters)};")
        elif isinstance(thing, functools.cached_property):
            raise Untranslatable(f"{kind.__name__}.{attribute} is a cached property")
    return "\n".join([*lines, "}", *named])


def _written_in(function: FunctionType, kind: type) -> bool:
    """Whether the class's own source has this method; a dataclass is given others."""
    return any(isinstance(node, ast.FunctionDef) and node.name == function.__name__ for node in source_of(kind).body)


def _default(reference: Reference, field: Any) -> str:
    if field.default is not dataclasses.MISSING:
        return f" = {reference(field.default)}"
    return " = new Map()" if field.default_factory is dict else ""


def _method(reference: Reference, name: str, function: FunctionType) -> str:
    tree = next(node for node in ast.walk(source_of(function)) if isinstance(node, ast.FunctionDef))
    names = _parameters(tree)[1:]
    scope = Scope.of(reference, function)
    body = _body(tree, scope, 4)
    return f"  {name}({_signature(names, _defaults(reference, function))}) {{\n    const self = this;\n{body}\n  }}"


def _parameters(tree: ast.FunctionDef) -> list[str]:
    if tree.args.kwarg or tree.args.posonlyargs:
        raise Untranslatable(f"the parameters of {tree.name}")
    names = [a.arg for a in (*tree.args.args, *tree.args.kwonlyargs)]
    return [*names, "*" + tree.args.vararg.arg] if tree.args.vararg else names


def _signature(names: list[str], defaults: dict[str, str]) -> str:
    return ", ".join("..." + local(n[1:]) if n.startswith("*") else
                     local(n) + (f" = {defaults[n]}" if n in defaults else "") for n in names)


def _define(tree: ast.FunctionDef, scope: Scope, defaults: dict[str, str], indent: int = 0) -> str:
    names = _parameters(tree)
    body = _body(tree, scope, indent + 2)
    return (f'nd.define("{tree.name}", {_quoted(names)}, ({_signature(names, defaults)}) => {{\n{body}\n'
            f'{" " * indent}}})')


def _body(tree: ast.FunctionDef, scope: Scope, indent: int) -> str:
    parameters = {name.lstrip("*") for name in _parameters(tree)} | {a.arg for a in tree.args.args}
    own = _assigned(tree.body) - parameters
    imported = _imported(tree.body, scope.package)
    inside = scope.inside(parameters | own)
    inside.static = {**scope.static, **imported}
    inside.variables -= set(imported)
    block = Block(inside, indent)
    declared = sorted(own - set(imported))
    if declared:
        block.add(f"let {', '.join(map(local, declared))};")
    block.run(tree.body)
    return "\n".join(block.lines)


def _assigned(body: list[ast.stmt]) -> set[str]:
    """Variables that a function's own statements set, nested functions and comprehensions apart."""
    found: set[str] = set()

    def look(node: ast.AST) -> None:
        if isinstance(node, ast.FunctionDef):
            found.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif not isinstance(node, ast.Lambda | ast.ListComp | ast.GeneratorExp | ast.DictComp):
            for child in ast.iter_child_nodes(node):
                look(child)

    for statement in body:
        look(statement)
    return found


def _imported(body: list[ast.stmt], package: str) -> dict[str, Any]:
    """What a function imports for itself."""
    found: dict[str, Any] = {}
    for statement in body:
        for node in ast.walk(statement):
            if isinstance(node, ast.ImportFrom):
                module = importlib.import_module("." * node.level + (node.module or ""), package or None)
                found |= {a.asname or a.name: getattr(module, a.name) for a in node.names}
            elif isinstance(node, ast.Import):
                found |= {a.asname or a.name: importlib.import_module(a.name) for a in node.names}
    return found


class Block:
    """The lines of a sequence of statements."""

    def __init__(self, scope: Scope, indent: int):
        self.scope, self.indent, self.lines = scope, indent, list[str]()

    def add(self, line: str) -> None:
        self.lines.append(" " * self.indent + line)

    def run(self, body: list[ast.stmt]) -> None:
        for statement in body:
            translate = getattr(self, "_" + type(statement).__name__.lower(), None)
            if translate is None:
                raise Untranslatable(f"{type(statement).__name__}: {ast.unparse(statement)[:80]}")
            translate(statement)

    def nested(self, head: str, body: list[ast.stmt], tail: str = "}") -> None:
        self.add(head)
        inner = Block(self.scope, self.indent + 2)
        inner.run(body)
        self.lines += inner.lines
        self.add(tail)

    def _expr(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant):  # a docstring
            self.add(expression(node.value, self.scope) + ";")

    def _return(self, node: ast.Return) -> None:
        self.add("return null;" if node.value is None else f"return {expression(node.value, self.scope)};")

    def _assign(self, node: ast.Assign) -> None:
        value = expression(node.value, self.scope)
        for target in reversed(node.targets[1:]):
            self._to(target, value)
            value = expression(_as_read(target), self.scope)
        self._to(node.targets[0], value)

    def _annassign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self._to(node.target, expression(node.value, self.scope))

    def _to(self, target: ast.expr, value: str) -> None:
        """Assign the value of a JavaScript expression."""
        if isinstance(target, ast.Subscript):
            self.add("py.set_item({}, {}, {});".format(*subscript(target, self.scope), value))
        elif isinstance(target, ast.Attribute):
            self.add(f"{expression(target, self.scope)} = {value};")
        elif isinstance(target, ast.Tuple) and not all(isinstance(t, ast.Name | ast.Starred) for t in target.elts):
            self.add("{")
            self.add(f"  const parts = py.list({value});")
            for place, part in enumerate(target.elts):
                self._to(part, f"parts[{place}]")
            self.add("}")
        else:
            names, many = pattern(target, self.scope)
            if isinstance(target, ast.Tuple) and not any(isinstance(t, ast.Starred) for t in target.elts):
                value = f"py.unpack({value}, {len(target.elts)})"
            elif many:
                value = f"py.list({value})"
            self.add(f"{names} = {value};")

    def _augassign(self, node: ast.AugAssign) -> None:
        old = expression(_as_read(node.target), self.scope)
        self._to(node.target, f"py.{BINARY[type(node.op)]}({old}, {expression(node.value, self.scope)})")

    def _if(self, node: ast.If) -> None:
        head = f"if (py.truth({expression(node.test, self.scope)})) {{"
        self.nested(head, node.body, "} else {" if node.orelse else "}")
        if node.orelse:
            self.nested("", node.orelse)

    def _for(self, node: ast.For) -> None:
        names, many = pattern(node.target, self.scope)
        each = f"each_{self.indent}"
        self.add(f"for (const {each} of py.list({expression(node.iter, self.scope)})) {{")
        inner = Block(self.scope, self.indent + 2)
        inner.add(f"{names} = py.list({each});" if many else f"{names} = {each};")
        inner.run(node.body)
        self.lines += inner.lines
        self.add("}")

    def _while(self, node: ast.While) -> None:
        self.nested(f"while (py.truth({expression(node.test, self.scope)})) {{", node.body)

    def _break(self, node: ast.Break) -> None:
        self.add("break;")

    def _continue(self, node: ast.Continue) -> None:
        self.add("continue;")

    def _with(self, node: ast.With) -> None:
        """Only what sets how numbers are handled: JavaScript has neither warnings nor other precisions."""
        for item in node.items:
            name = ast.unparse(item.context_expr).split("(")[0]
            if name not in ("np.errstate", "mpmath.workdps"):
                raise Untranslatable(f"with {name}")
        self.run(node.body)

    def _raise(self, node: ast.Raise) -> None:
        assert isinstance(node.exc, ast.Call)
        arguments = ", ".join(expression(a, self.scope) for a in node.exc.args)
        self.add(f'throw py.error("{ast.unparse(node.exc.func)}", [{arguments}]);')

    def _functiondef(self, node: ast.FunctionDef) -> None:
        positional = node.args.args[len(node.args.args) - len(node.args.defaults):]
        defaults = {a.arg: expression(value, self.scope)
                    for a, value in zip(positional, node.args.defaults, strict=True)}
        self.add(f"{local(node.name)} = {_define(node, self.scope, defaults, self.indent)};")

    def _importfrom(self, node: ast.ImportFrom) -> None:
        """Names that a function imports are known at translation."""

    def _import(self, node: ast.Import) -> None:
        """As for `from ... import`."""

    def _pass(self, node: ast.Pass) -> None:
        """Nothing."""


def _as_read(target: ast.expr) -> Any:
    """The same place, read instead of written."""
    again = ast.parse(ast.unparse(target), mode="eval").body
    return again
