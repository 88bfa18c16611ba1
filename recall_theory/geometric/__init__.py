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
    from .construction import GeometricTransformer, construct, run_queries
    from .geometric_capacity import GeometricCapacity, capacity, crossovers
    from .geometric_prediction import GeometricPrediction, predict
    from .geometric_setting import Construction, GeometricSetting, TrainingSetting
    from .geometric_simulation import GeometricObservation, simulate
    from .geometric_training import least_dimension, train, transfer
    from .hop_depth import HopDepths, hops

# Public names by the module that defines them, imported on first use.
_HOME = {name: module for module, names in {
    "construction": "GeometricTransformer construct run_queries",
    "geometric_capacity": "GeometricCapacity capacity crossovers",
    "geometric_prediction": "GeometricPrediction predict",
    "geometric_setting": "Construction GeometricSetting TrainingSetting",
    "geometric_simulation": "GeometricObservation simulate",
    "geometric_training": "least_dimension train transfer",
    "hop_depth": "HopDepths hops"}.items() for name in names.split()}

__all__ = ["Construction", "GeometricCapacity", "GeometricObservation", "GeometricPrediction", "GeometricSetting",
           "GeometricTransformer", "HopDepths", "TrainingSetting", "capacity", "construct", "crossovers", "hops",
           "least_dimension", "predict", "run_queries", "simulate", "train", "transfer"]


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module("." + _HOME[name], __name__), name)


def __dir__() -> list[str]:
    return sorted(__all__)
