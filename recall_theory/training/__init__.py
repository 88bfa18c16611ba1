"""Trained models: one trainer for any model and loss, and the ladder from three gradient steps to a transformer.

It needs jax and optax, which the extra `recall-theory[train]` installs; nothing here is imported before it is used.
"""

RUNG_NAMES = ("1", "2", "3", "4", "5", "6", "6-vector", "6-token", "7")  # see `recall_theory.training.rungs`
