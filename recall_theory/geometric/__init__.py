"""Facts held in the geometry of the subject embeddings, not in a weight matrix.

N subjects, R relations, each a bijection from the subjects to one shared set of N attributes: N R facts. The
embedding of a subject is a superposition of the codes of its attributes, one a relation, and a small ReLU MLP
selects by relation.

>>> from recall_theory.geometric import GeometricSetting, predict
>>> round(predict(GeometricSetting(N=100, R=4, d=64, code_length=16)).recall, 4)
0.9154
"""

from __future__ import annotations

TYPE_CHECKING = False  # for type checkers; typing itself would delay every start
if TYPE_CHECKING:
    from .construction import build
    from .geometric_capacity import GeometricCapacity, capacity, crossovers
    from .geometric_prediction import GeometricPrediction, predict
    from .geometric_setting import GeometricSetting, TrainingSetting
    from .geometric_simulation import GeometricObservation, simulate
    from .geometric_training import least_dimension, train, transfer
    from .geometric_transformer import GeometricTransformer
    from .hop_depth import HopDepths, hops

# Public name -> the module that defines it, imported on first use.
_HOME = {
    "GeometricCapacity": "geometric_capacity",
    "GeometricObservation": "geometric_simulation",
    "GeometricPrediction": "geometric_prediction",
    "GeometricSetting": "geometric_setting",
    "GeometricTransformer": "geometric_transformer",
    "HopDepths": "hop_depth",
    "TrainingSetting": "geometric_setting",
    "build": "construction",
    "capacity": "geometric_capacity",
    "crossovers": "geometric_capacity",
    "hops": "hop_depth",
    "least_dimension": "geometric_training",
    "predict": "geometric_prediction",
    "simulate": "geometric_simulation",
    "train": "geometric_training",
    "transfer": "geometric_training",
}

__all__ = [
    "GeometricCapacity",
    "GeometricObservation",
    "GeometricPrediction",
    "GeometricSetting",
    "GeometricTransformer",
    "HopDepths",
    "TrainingSetting",
    "build",
    "capacity",
    "crossovers",
    "hops",
    "least_dimension",
    "predict",
    "simulate",
    "train",
    "transfer",
]


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module("." + _HOME[name], __name__), name)


def __dir__() -> list[str]:
    return sorted(__all__)
