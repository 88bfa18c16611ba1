"""Sweeps: simulations over a grid of settings, kept in a store that survives a kill and is never run twice."""

from .problem import Problem
from .product import product
from .results import Results
from .run import sweep
from .store import Store

__all__ = ["Problem", "Results", "Store", "product", "sweep"]
