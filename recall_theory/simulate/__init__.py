"""The three gradient steps for real: `simulate` trains the model once a seed and reads it out."""

from ..numerics.arrays import Observable
from .observables import Observation
from .run import simulate

__all__ = ["Observable", "Observation", "simulate"]
