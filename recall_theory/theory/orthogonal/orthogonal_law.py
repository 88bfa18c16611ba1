"""Prediction for orthogonal embeddings: attention, recall, accuracy and their spread over seeds."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..formulas.orthogonal_formulas import attention_terms, recall_terms
from .orthogonal_attention import attention_nodes
from .orthogonal_recall import recall_nodes

__all__ = ["orthogonal_prediction", "orthogonal_terms"]

FloatArray = NDArray[np.float64]
NAMES = ("attention", "recall", "accuracy", "attention_std", "recall_std", "accuracy_std")


def orthogonal_prediction(V: ArrayLike, L: ArrayLike, d: ArrayLike, N: ArrayLike,
                          trigger_in_value: bool) -> dict[str, FloatArray]:
    """Means and standard deviations over seeds of the three observables, embedding="orthogonal".

    V >= 2, L >= 1, d >= V, N >= 1 broadcast to (B,). Keys: attention, recall, accuracy, and each with
    _std; every value is (B,). Attention and accuracy are those over all sequences of a seed, so that no test
    sample adds to their spread. Derived in docs/derivations/orthogonal.md for V of 64 and more, N/V from 1.

    >>> p = orthogonal_prediction(64, 8, 65, [64, 128, 1280], True)
    >>> p["recall"].round(3)
    array([0.176, 0.238, 0.829])
    """
    sizes = np.broadcast_arrays(*(np.atleast_1d(np.asarray(x, dtype=float)) for x in (V, L, d, N)))
    result = {name: np.empty(sizes[0].shape) for name in NAMES}
    e = int(trigger_in_value)
    for i, (v, length, dim, n) in enumerate(zip(*(x.ravel().tolist() for x in sizes), strict=True)):
        attention = attention_nodes(v, int(length), dim, n, e)
        recall = recall_nodes(v, int(length), dim, n, e, attention)
        values = (attention.mean, recall.recall, recall.accuracy,
                  attention.std, recall.recall_std, recall.accuracy_std)
        for name, value in zip(NAMES, values, strict=True):
            result[name].ravel()[i] = value
    return result


def orthogonal_terms(V: ArrayLike, L: ArrayLike, d: ArrayLike, N: ArrayLike,
                     trigger_in_value: bool) -> dict[str, dict[str, FloatArray]]:
    """Named contributions (B,) to (noise/signal)^2 of attention and recall."""
    v, length, dim, n = np.broadcast_arrays(*(np.atleast_1d(np.asarray(x, dtype=float))
                                              for x in (V, L, d, N)))
    e = int(trigger_in_value)
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):  # no lead: infinite noise
        attention = attention_terms(v, np.maximum(length, 2), dim, n, e)
    parts = {"attention": {name: np.nan_to_num(np.where(length > 1, value, 0))
                           for name, value in attention.items()},
             "recall": recall_terms(v, dim, n, e)}
    return {kind: {name: value + np.zeros(v.shape) for name, value in terms.items()}
            for kind, terms in parts.items()}
