"""What other memories hold: Hebbian, the best linear one, rank-limited ones, facts of Zipf frequency."""

from .hebbian_memory import hebbian_capacity, hebbian_dimension, hebbian_errors, hebbian_recall
from .memory_table import Comparison, Memory, compare_memories, linear_capacity, linear_dimension, linear_load
from .zipf_facts import best_threshold, threshold_error, unseen

__all__ = ["Comparison", "Memory", "best_threshold", "compare_memories", "hebbian_capacity", "hebbian_dimension",
           "hebbian_errors", "hebbian_recall", "linear_capacity", "linear_dimension", "linear_load", "threshold_error",
           "unseen"]
