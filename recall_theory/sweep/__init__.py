"""Sweeps: simulations over a grid of settings, kept in a store that survives a kill and is never run twice."""

from .grid import product
from .problem import Problem
from .results import Results
from .run import sweep
from .store import Store

__all__ = ["Problem", "Results", "Store", "product", "sweep"]
