"""The attention layer as a memory: three steps, training attention right, as many samples as it takes."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ...numerics.thresholds import known_interval
from ..accuracy import DEFAULT
from ..batch import Batch
from ..batch_predictor import LIMIT
from ..recall import recall_and_accuracy

__all__ = ["attention_capacity", "attention_dimension"]

FloatArray = NDArray[np.float64]

STEPS = 24  # of a search over sizes, before it is narrowed down
DIGITS = 4  # after the first one: capacities of more are rounded down to these
SPAN = 64  # sizes are sought from the leading law's over this to twice it


def recall_at(V: FloatArray, d: FloatArray) -> FloatArray:
    """Recall of V facts at dimension d, both (n,), mean over seeds."""
    V, d = np.broadcast_arrays(np.asarray(V, dtype=float), np.asarray(d, dtype=float))
    sure = np.zeros_like(V)
    settings = Batch(V, sure + 1, d, LIMIT * V, None, None, "gaussian", 1)
    return recall_and_accuracy(settings, sure, sure, DEFAULT)["recall"]


def attention_capacity(d: int, target: float, leading: float) -> int | None:
    """The most facts of which a share `target` is recalled at dimension d; None below 2. `leading` is a law's answer.

    >>> attention_capacity(256, 0.99, 2136)
    704
    """
    unit = 10 ** max(0, math.floor(math.log10(max(leading, 1))) - DIGITS)
    V = _sizes(leading / unit, 2)
    found = known_interval(lambda x: recall_at(x * unit, np.full(x.shape, float(d))), target, V, highest=True)
    return None if found is None else found.high * unit


def attention_dimension(facts: int, target: float, leading: float) -> int | None:
    """The least dimension at which a share `target` of so many facts is recalled.

    >>> attention_dimension(702, 0.99, 135)
    256
    """
    d = _sizes(leading * SPAN / 4, 1)
    found = known_interval(lambda x: recall_at(np.full(x.shape, float(facts)), x), target, d, highest=True)
    return None if found is None else found.low


def _sizes(leading: float, least: int) -> FloatArray:
    """Sizes below and above a leading law's answer, where a search begins."""
    high = max(2 * leading, 8 * least)
    sizes: FloatArray = np.unique(np.rint(np.geomspace(max(high / (2 * SPAN), least), math.ceil(high), STEPS)))
    return sizes
