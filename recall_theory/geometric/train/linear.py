"""Linear maps between embeddings and the codes of attributes: probes one way, superposition the other."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .model import Array, Network, Task

__all__ = ["fit", "held_out", "probe_recall", "superposed", "superposition_share"]

FloatArray = NDArray[np.float64]

FOLDS = 5


def fit(x: Array, y: Array) -> FloatArray:
    """Ridge regression of y (n, q) on x (n, p) with a free intercept: a matrix (p + 1, q), its last row the intercept.

    The penalty is that of one observation: one unit, with x scaled to a root mean square of one. It settles what
    the data leave open, and is small beside n observations.
    """
    x, y = x.astype(np.float64), y.astype(np.float64)
    centre, mean = x.mean(axis=0), y.mean(axis=0)
    centred = x - centre
    penalty = float(np.mean(centred**2)) or 1.0
    gram = centred.T @ centred + penalty * np.eye(x.shape[1])
    slope = np.linalg.solve(gram, centred.T @ (y - mean))
    return np.vstack([slope, mean - centre @ slope])


def apply(fitted: FloatArray, x: Array) -> FloatArray:
    """The fitted map at x (n, p), shape (n, q)."""
    values: FloatArray = x @ fitted[:-1] + fitted[-1]
    return values


def held_out(x: Array, y: Array) -> FloatArray:
    """For each row of y its value by a map that was fitted without its row, or its fifth of the rows. The rows must be
    in no order: subjects are not."""
    guess = np.empty(y.shape)
    fold = np.arange(len(x)) % FOLDS
    for f in range(min(FOLDS, len(x))):
        out = fold == f
        guess[out] = apply(fit(x[~out], y[~out]), x[out])
    return guess


def probe_recall(network: Network, task: Task) -> float:
    """The fraction of facts that linear probes read off the embeddings of subjects they have not seen.

    A probe a relation, by ridge regression from the embedding to the attribute's code, decoded by the largest score
    among all N attributes. Every attribute occurs once a relation, so the right answer is one that the probe
    never saw: it can be found only where embeddings are linear in codes.
    """
    right = [np.argmax(held_out(network.subjects, task.codes[f]) @ task.codes.T, axis=1) == f for f in task.facts]
    return float(np.mean(right))


def superposition_share(network: Network, task: Task) -> float:
    """The share of the embeddings' variance that a linear map of the attributes' codes foretells, for subjects that
    it was not fitted on; below zero where it foretells worse than the mean, NaN where embeddings are all the same."""
    subjects = network.subjects.astype(np.float64)
    rest = np.sum((subjects - held_out(task.superposed(), subjects)) ** 2)
    spread = np.sum((subjects - subjects.mean(axis=0)) ** 2)
    return 1 - float(rest / spread) if spread > 0 else float("nan")


def superposed(network: Network, task: Task, new: Task) -> Array:
    """Embeddings for new facts: the linear map of attributes' codes that the trained ones follow, at the new ones."""
    return apply(fit(task.superposed(), network.subjects), new.superposed()).astype(network.subjects.dtype)
