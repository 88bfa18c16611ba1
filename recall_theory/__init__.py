"""How much can a transformer remember? Closed-form predictions, and a simulation that checks them.

>>> from recall_theory import Setting, predict
>>> prediction = predict(Setting(V=256, L=32, d=128, N=16384))
>>> 0 <= prediction.recall <= 1
True
"""

from __future__ import annotations

from .lazy import lazily

__version__ = "0.1.0"

TYPE_CHECKING = False  # for type checkers; typing itself would delay every start
if TYPE_CHECKING:
    from .settings import Setting, SettingError
    from .simulate import Observation, simulate
    from .simulate.full_training import full_training
    from .theory.activation_choice import compare_activations
    from .theory.bounds import bounds_at
    from .theory.capacity import Capacity, capacity
    from .theory.memories.memory_table import compare_memories
    from .theory.phase import PhaseDiagram, phase
    from .theory.predict import Prediction, predict, predict_many
    from .theory.solve import solve_for
    from .verification.engine import Verification, verify

# Looked up on first use: importing the package must import neither sympy nor scipy.
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
    "full_training": "simulate.full_training",
    "PhaseDiagram": "theory.phase",
    "phase": "theory.phase",
    "Prediction": "theory.predict",
    "predict": "theory.predict",
    "predict_many": "theory.predict",
    "Verification": "verification.engine",
    "verify": "verification.engine",
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

__getattr__, __dir__ = lazily(__name__, _HOME)
