"""Public names that a package imports on their first use, so that importing the package itself stays light."""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # for type checkers; typing itself would delay every start
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

__all__ = ["lazily"]


def lazily(package: str, home: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a package whose names live in the modules below it that `home` tells.

    The import system sets a submodule as an attribute of its package, so that what a function and a module of one name
    are would depend on what was imported before: here the function stays.
    """
    module = sys.modules[package]

    class Package(type(sys)):  # type: ignore[misc]
        def __setattr__(self, name: str, value: Any) -> None:
            if name not in home or not isinstance(value, type(sys)):
                super().__setattr__(name, value)

    def get(name: str) -> Any:
        if name not in home:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        import importlib

        value = getattr(importlib.import_module("." + home[name], package), name)
        setattr(module, name, value)
        return value

    def names() -> list[str]:
        return sorted(home)

    module.__class__ = Package
    return get, names
