"""Where names are looked up."""

from __future__ import annotations

import ast
import builtins
import dataclasses
import inspect
import textwrap
from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import Any

__all__ = ["Reference", "Scope", "Untranslatable", "source_of"]

Reference = Callable[[Any], str]  # JavaScript that stands for a Python object


class Untranslatable(TypeError):
    """The translation does not know how to say this in JavaScript."""


@dataclasses.dataclass
class Scope:
    """Where a function's names are looked up: its own variables, those around it, its module's, the built-in ones."""

    reference: Reference
    variables: set[str]
    static: dict[str, Any]
    package: str

    @classmethod
    def of(cls, reference: Reference, function: FunctionType) -> Scope:
        free = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
        around = {name: cell.cell_contents for name, cell in free.items()}
        module = function.__globals__
        return cls(reference, set(), {**vars(builtins), **module, **around}, module.get("__package__") or "")

    def inside(self, variables: set[str]) -> Scope:
        """The scope of something nested here, with variables of its own."""
        return Scope(self.reference, self.variables | variables, self.static, self.package)

    def find(self, node: ast.expr) -> tuple[bool, Any]:
        """Whether an expression names something known at translation, such as at.lead, and what."""
        if isinstance(node, ast.Name) and node.id not in self.variables:
            if node.id not in self.static:
                raise Untranslatable(f"the name {node.id} is not known")
            return True, self.static[node.id]
        if isinstance(node, ast.Attribute):
            known, owner = self.find(node.value)
            if known and isinstance(owner, ModuleType):
                return True, getattr(owner, node.attr)
        return False, None


def source_of(thing: Any) -> Any:
    """The syntax tree of a function or class."""
    text = textwrap.dedent(inspect.getsource(thing))
    return ast.parse(text).body[0]
