"""Sweeps: simulations over a grid of settings, kept in a store that survives a kill and is never run twice."""

from .run_sweep import sweep
from .store import Store
from .sweep_grid import product
from .sweep_results import Results, SweepProblem

Problem = SweepProblem  # its name before verification had problems

__all__ = ["Problem", "Results", "Store", "SweepProblem", "product", "sweep"]
