"""How much can a transformer remember? Predictions without a fitted constant, and a simulation that checks them.

>>> from recall_theory import Setting, predict
>>> prediction = predict(Setting(V=256, L=32, d=128, N=16384))
>>> round(prediction.recall, 2)
0.57
"""

from __future__ import annotations

import sys

__version__ = "0.1.0"

TYPE_CHECKING = False  # for type checkers; typing itself would delay every start
if TYPE_CHECKING:
    from .settings import Setting, SettingError
    from .simulate import Observation, simulate
    from .theory.activation_choice import compare_activations
    from .theory.bounds import bounds_at
    from .theory.capacity import Capacity, capacity
    from .theory.memories.memory_table import compare_memories
    from .theory.phase import PhaseDiagram, phase
    from .theory.predict import Prediction, predict, predict_many
    from .theory.solve import solve_for
    from .verification.engine import Verification, verify

__all__ = ["Capacity", "Observation", "PhaseDiagram", "Prediction", "Setting", "SettingError", "Verification",
           "bounds_at", "capacity", "compare_activations", "compare_memories", "phase", "predict", "predict_many",
           "simulate", "solve_for", "verify"]

# Public names by the module that defines them. Imported on first use: the package itself imports neither NumPy nor
# SymPy.
_HOME = {name: module for module, names in {
    "settings": "Setting SettingError", "simulate": "Observation simulate",
    "theory.activation_choice": "compare_activations", "theory.bounds": "bounds_at",
    "theory.capacity": "Capacity capacity", "theory.memories.memory_table": "compare_memories",
    "theory.phase": "PhaseDiagram phase", "theory.predict": "Prediction predict predict_many",
    "theory.solve": "solve_for", "verification.engine": "Verification verify"}.items() for name in names.split()}


class _Package(type(sys)):  # type: ignore[misc]
    """This package's module type: `recall_theory.simulate` stays the function of that name.

    The import system binds each submodule to its package, so that without this the name would be the function
    or the folder `simulate/`, depending on what was imported before.
    """

    def __setattr__(self, name: str, value: object) -> None:
        if name not in _HOME or not isinstance(value, type(sys)):
            super().__setattr__(name, value)


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    value = getattr(importlib.import_module("." + _HOME[name], __name__), name)
    setattr(sys.modules[__name__], name, value)
    return value


def __dir__() -> list[str]:
    return sorted(__all__)


sys.modules[__name__].__class__ = _Package
