"""What a trained transformer is asked: linear probes, superposition, the gate by relation, edits of single facts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
Array = NDArray[np.floating]
IntArray = NDArray[np.integer]

FOLDS = 5


def ridge_fit(x: Array, y: Array) -> FloatArray:
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


def held_out(x: Array, y: Array) -> FloatArray:
    """For each row of y its value by a map that was fitted without its row, or its fifth of the rows. The rows must be
    in no order: subjects are not."""
    guess = np.empty(y.shape)
    fold = np.arange(len(x)) % FOLDS
    for f in range(min(FOLDS, len(x))):
        out = fold == f
        fitted = ridge_fit(x[~out], y[~out])
        guess[out] = x[out] @ fitted[:-1] + fitted[-1]
    return guess


def codes_of(unembedding: Array) -> FloatArray:
    """(N, d) the attributes' learned vectors, less their mean and of norm 1."""
    codes = unembedding - unembedding.mean(axis=0, dtype=np.float64)
    return codes / np.maximum(np.linalg.norm(codes, axis=1, keepdims=True), 1e-12)


def superposed(codes: FloatArray, facts: IntArray) -> FloatArray:
    """(N, R d) the codes of a subject's attributes side by side; `facts` is (R, N)."""
    return np.concatenate([codes[f] for f in facts], axis=1)


def probe_recall(entities: Array, codes: FloatArray, facts: IntArray) -> float:
    """The fraction of facts that linear probes read off the embeddings of subjects they were not fitted on.

    A probe a relation, from the embedding to the attribute's code, decoded by the largest score among all N. Every
    attribute occurs once a relation, so the right answer is one that the probe was never fitted on.
    """
    guesses = [held_out(entities, codes[f]) @ codes.T for f in facts]
    return float(np.mean(np.argmax(guesses, axis=2) == facts))


def superposition_share(entities: Array, codes: FloatArray, facts: IntArray) -> float:
    """The share of the embeddings' variance that a linear map of the attributes' codes foretells, for subjects that it
    was not fitted on; below zero where it foretells worse than the mean, NaN where embeddings are all the same."""
    x = entities.astype(np.float64)
    rest = np.sum((x - held_out(superposed(codes, facts), x)) ** 2)
    total = np.sum((x - x.mean(axis=0)) ** 2)
    return 1 - float(rest / total) if total > 0 else float("nan")


def edited_embeddings(entities: Array, codes: FloatArray, facts: IntArray, relation: int, new: IntArray) -> Array:
    """Embeddings (N, d) with one fact a subject rewritten: B_r (c_new - c_old) is added, B_r the linear map of codes
    that the embeddings follow; `new` (N,) are the attributes to be answered."""
    maps = ridge_fit(superposed(codes, facts), entities)[:-1].reshape(len(facts), codes.shape[1], -1)
    moved: Array = entities + (codes[new] - codes[facts[relation]]) @ maps[relation]
    return moved.astype(np.float32)


def gate_selectivity(means: Array) -> float:
    """How far hidden units are of one relation: mean over units, by their activity, of the largest share that one
    relation has in it. `means` (R, m) are mean activities under each relation; 1/R where no unit tells them apart."""
    total = means.sum(axis=0)
    return float(means.max(axis=0).sum() / total.sum()) if total.sum() > 0 else float("nan")
