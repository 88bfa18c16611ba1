"""The formulas of the library: closed forms that need no simulation and draw no random number.

Names are looked up on first use, so that one formula's topic doesn't import them all.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Any

_HOME = {
    "Formula": "formula",
    "formulas": "formula",
    "forced_choice": "forced_choice",
    "forced_choice_complement": "forced_choice",
    "forced_choice_inverse": "forced_choice",
    "forced_choice_log": "forced_choice",
}

__all__ = list(_HOME)


class _Package(ModuleType):
    """A package whose function `forced_choice` is not overwritten by the submodule of its name."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in _HOME or not isinstance(value, ModuleType):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


def __getattr__(name: str) -> Any:
    if name in _HOME:
        value = getattr(importlib.import_module("." + _HOME[name], __name__), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
