"""The formulas of the library and the predictions made of them: no simulation, and no random number.

`formulas` is the registry of all closed forms; `forced_choice` and its kin are the probability that one of K
answers wins.
"""

from __future__ import annotations

# Bound here, after its folder has been imported, so that `theory.formulas` is the registry in every order of imports.
from .formulas.registry import Formula, formulas

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..numerics.forced_choice import (
        forced_choice,
        forced_choice_complement,
        forced_choice_inverse,
        forced_choice_log,
    )

_FORCED_CHOICE = ("forced_choice", "forced_choice_complement", "forced_choice_inverse", "forced_choice_log")

__all__ = [
    "Formula",
    "forced_choice",
    "forced_choice_complement",
    "forced_choice_inverse",
    "forced_choice_log",
    "formulas",
]


def __getattr__(name: str) -> object:
    """The forced choice needs SciPy, which a formula's topic does not: it is imported on first use."""
    if name not in _FORCED_CHOICE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from ..numerics import forced_choice as module

    return getattr(module, name)


def __dir__() -> list[str]:
    return sorted(__all__)
