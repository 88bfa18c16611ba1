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
    from .settings import Setting as Setting
    from .settings import SettingError as SettingError
    from .simulate import Observation as Observation
    from .simulate import simulate as simulate
    from .theory.activation_choice import compare_activations as compare_activations
    from .theory.bounds import bounds_at as bounds_at
    from .theory.capacity import Capacity as Capacity
    from .theory.capacity import capacity as capacity
    from .theory.memories.memory_table import compare_memories as compare_memories
    from .theory.phase import PhaseDiagram as PhaseDiagram
    from .theory.phase import phase as phase
    from .theory.predict import Prediction as Prediction
    from .theory.predict import predict as predict
    from .theory.predict import predict_many as predict_many
    from .theory.solve import solve_for as solve_for
    from .verification.engine import Verification as Verification
    from .verification.engine import verify as verify

# Public name -> the module that defines it. Imported on first use: the package itself imports neither NumPy nor SymPy.
_HOME = {
    "Setting": "settings",
    "SettingError": "settings",
    "Observation": "simulate",
    "simulate": "simulate",
    "bounds_at": "theory.bounds",
    "Capacity": "theory.capacity",
    "capacity": "theory.capacity",
    "solve_for": "theory.solve",
    "compare_activations": "theory.activation_choice",
    "compare_memories": "theory.memories.memory_table",
    "PhaseDiagram": "theory.phase",
    "phase": "theory.phase",
    "Prediction": "theory.predict",
    "predict": "theory.predict",
    "predict_many": "theory.predict",
    "Verification": "verification.engine",
    "verify": "verification.engine",
}

__all__ = list(_HOME)


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
