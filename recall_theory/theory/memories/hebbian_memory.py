"""What a Hebbian memory recalls at finite size: W = sum_x u_f(x) e_x^T, answer argmax_y <u_y, W e_x>.

`finite_size` holds the law; here are recall, and its inverses in n and in d.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...numerics.thresholds import last_reaching
from ...settings import SettingError
from ..formulas import memory_laws as laws
from .finite_size import gaussian_errors, sphere_errors

__all__ = ["hebbian_capacity", "hebbian_dimension", "hebbian_errors", "hebbian_recall"]

FloatArray = NDArray[np.float64]

EMBEDDINGS = ("gaussian", "sphere")
PART = 1 / 10**7  # to which sizes are found, exactly where it is below 1
MOST_FACTS = 10**15  # floats hold every integer up to here
MOST_STORED = 10**19  # of a search: more than the widest memory holds
WIDEST = 10**9  # the largest d, as in a Setting


def hebbian_recall(n: ArrayLike, d: ArrayLike, embedding: str = "gaussian",
                   rank: ArrayLike | None = None) -> FloatArray:
    """Expected fraction of n facts that a Hebbian memory of d x d numbers recalls.

    n: facts, each with an output of its own (at least 2); d: embedding dimension (at least 1, on the sphere 2).
    `embedding` is "gaussian" (entries iid N(0, 1/d)) or "sphere" (normalised). `rank`, for Gaussian embeddings,
    is the dimension that a random projection leaves of the outputs (None: d). n, d and rank broadcast; the result has
    their shape.

    Raises `SettingError` outside these ranges. Provenance: derived, docs/derivations/hebbian.md. Within 0.005 of
    simulation for d >= 128 and 0.01 for d >= 32, n from d/2 to d^2/4.

    >>> [round(float(hebbian_recall(1024, 128, e)), 3) for e in ("gaussian", "sphere")]
    [0.626, 0.68]
    """
    return 1 - hebbian_errors(n, d, embedding, rank)


def hebbian_errors(n: ArrayLike, d: ArrayLike, embedding: str = "gaussian",
                   rank: ArrayLike | None = None) -> FloatArray:
    """1 - `hebbian_recall`, without cancellation where nearly all is recalled.

    >>> float(hebbian_errors(100, 1000)) < 1e-12
    True
    """
    if embedding not in EMBEDDINGS:
        raise SettingError("embedding", f"embedding={embedding!r} is not one of {', '.join(EMBEDDINGS)}")
    if rank is not None and embedding != "gaussian":
        raise SettingError("rank", "rank is for Gaussian embeddings: a projection leaves no unit vectors")
    facts, size, outputs = np.broadcast_arrays(
        *(np.asarray(x, dtype=float) for x in (n, d, d if rank is None else rank)))
    ranges = (("n", facts, 2, MOST_STORED), ("d", size, _least(embedding), WIDEST), ("rank", outputs, 1, WIDEST))
    for name, value, low, high in ranges:
        bad = ~((value >= low) & (value <= high))
        if bad.any():
            raise SettingError(name, f"{name}={value[bad].flat[0]:g} is not from {low} to {high:g}")
    if rank is not None and (outputs > size).any():
        raise SettingError("rank", "rank is above d: a projection cannot add dimensions")
    values = [gaussian_errors(*sizes) if embedding == "gaussian" else sphere_errors(*sizes[:2])
              for sizes in zip(facts.flat, size.flat, outputs.flat, strict=True)]
    return np.clip(np.array(values).reshape(facts.shape), 0, 1)


def _least(embedding: str) -> int:
    """The least d: on a line, unit vectors are signs."""
    return 2 if embedding == "sphere" else 1


def hebbian_capacity(d: float, target: float, embedding: str = "gaussian", rank: float | None = None,
                     all_right: bool = False) -> int | None:
    """The most facts n at which recall reaches the target, exact to 10^7 and to as many parts beyond; None where
    not even two facts do.

    With `all_right`, at which all n are right with probability `target` or more: n (1 - recall) <= 1 - target, by the
    union bound.

    >>> hebbian_capacity(128, 0.99), hebbian_capacity(128, 0.99, all_right=True)
    (344, 145)
    """
    if d < _least(embedding):
        return None
    spare = _margin(target, embedding, rank, all_right)
    leading = laws.hebbian_all(float(d)) if all_right else laws.rank_most(float(d), float(rank or d))
    return last_reaching(lambda n: spare(n, d), 0, 2, MOST_STORED, float(leading), relative=PART, scale=float)


def hebbian_dimension(n: float, target: float, embedding: str = "gaussian", rank: float | None = None,
                      all_right: bool = False) -> int | None:
    """The least d at which a Hebbian memory of n facts reaches the target; `rank` and `all_right` as in
    `hebbian_capacity`. None where 10^9 dimensions do not reach it.

    >>> hebbian_dimension(344, 0.99)
    128
    """
    spare = _margin(target, embedding, rank, all_right)
    low = max(_least(embedding), math.ceil(rank or 1))
    leading = math.sqrt((8 if all_right else 2) * n * math.log(n))
    guess = leading if rank is None else leading**2 / rank
    return last_reaching(lambda d: spare(n, d), 0, WIDEST, low, guess, relative=PART, scale=float)


def _margin(target: float, embedding: str, rank: float | None, all_right: bool) -> Callable[[float, float], float]:
    """log of the errors allowed over those expected: negative where the target is missed."""
    allowed = 1 - target

    def margin(n: float, d: float) -> float:
        errors = float(hebbian_errors(n, d, embedding, rank)) * (n if all_right else 1)
        return math.log(allowed) - math.log(max(errors, math.ulp(0)))

    return margin
