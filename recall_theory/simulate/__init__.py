"""The three gradient steps for real: `simulate` trains the model once a seed and reads it out."""

from .observables import Observable, Observation
from .run import simulate

__all__ = ["Observable", "Observation", "simulate"]
