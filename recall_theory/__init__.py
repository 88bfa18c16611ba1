"""How much can a transformer remember? Closed-form predictions, and a simulation that checks them.

>>> from recall_theory import Setting, predict
>>> prediction = predict(Setting(V=256, L=32, d=128, N=16384))
>>> 0 <= prediction.recall <= 1
True
"""

from __future__ import annotations

import sys

__version__ = "0.1.0"

TYPE_CHECKING = False  # for type checkers; typing itself would delay every start
if TYPE_CHECKING:
    from typing import Any

    from .setting import Setting, SettingError
    from .simulate import Observation, simulate
    from .simulate.full_training import full_training
    from .theory.bounds.at import bounds_at
    from .theory.capacity import Capacity, capacity
    from .theory.choose import compare_activations
    from .theory.inverse import solve_for
    from .theory.memories.compare import compare_memories
    from .theory.phase import PhaseDiagram, phase
    from .theory.predict import Prediction, predict, predict_many
    from .verify import Verification, verify

# Looked up on first use: importing the package must import neither sympy nor scipy.
_HOME = {
    "Setting": "setting",
    "SettingError": "setting",
    "Observation": "simulate",
    "simulate": "simulate",
    "bounds_at": "theory.bounds.at",
    "Capacity": "theory.capacity",
    "capacity": "theory.capacity",
    "solve_for": "theory.inverse",
    "compare_activations": "theory.choose",
    "compare_memories": "theory.memories.compare",
    "full_training": "simulate.full_training",
    "PhaseDiagram": "theory.phase",
    "phase": "theory.phase",
    "Prediction": "theory.predict",
    "predict": "theory.predict",
    "predict_many": "theory.predict",
    "Verification": "verify",
    "verify": "verify",
}

__all__ = [
    "Capacity",
    "Observation",
    "PhaseDiagram",
    "Prediction",
    "Setting",
    "SettingError",
    "Verification",
    "bounds_at",
    "capacity",
    "compare_activations",
    "compare_memories",
    "full_training",
    "phase",
    "predict",
    "predict_many",
    "simulate",
    "solve_for",
    "verify",
]


class _Package(type(sys)):  # type: ignore[misc]
    """A package whose functions `simulate` and `verify` are not overwritten by the submodules of their names.

    The import system sets a submodule as an attribute of its package, so that what `recall_theory.simulate`
    is would depend on what was imported before.
    """

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in _HOME or not isinstance(value, type(sys)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


def __getattr__(name: str) -> Any:
    if name in _HOME:
        import importlib

        value = getattr(importlib.import_module("." + _HOME[name], __name__), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
