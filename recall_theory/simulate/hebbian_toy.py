"""A Hebbian memory, built from random embeddings and read out at every one of its keys."""

from __future__ import annotations

import numpy as np

from ..settings import SettingError
from .data import _rows
from .observation import Observable
from .run import check_seed, check_seeds

__all__ = ["check_affordable", "hebbian_recall"]

BLOCK = 2048  # keys read out at a time
MOST_NUMBERS = 2**28  # of keys and outputs, or of a block's scores: 2 GiB


def check_affordable(n: int, d: int) -> None:
    """Raise `SettingError` where a memory would not fit into some gigabytes."""
    if max(2 * n * d, min(BLOCK, n) * n) > MOST_NUMBERS:
        raise SettingError("n", f"a simulated memory of {n:,} facts in {d:,} dimensions does not fit: keys and "
                           f"outputs, or the scores, are more than {MOST_NUMBERS:,} numbers")


def one_memory(n: int, d: int, embedding: str, rank: int, questions: int, rng: np.random.Generator) -> float:
    """The fraction of its first facts, `questions` of n, that one memory recalls; outputs have `rank` dimensions."""
    keys, outputs = _rows(rng, n, d, embedding), _rows(rng, n, rank, embedding)
    W = outputs.T @ keys  # (rank, d), the sum of outer products; fact x maps key x to output x
    right = 0
    for start in range(0, questions, BLOCK):
        asked = np.arange(start, min(start + BLOCK, questions))
        scores = keys[asked] @ W.T @ outputs.T  # (BLOCK, n)
        right += int((scores.argmax(axis=1) == asked).sum())
    return right / questions


def hebbian_recall(n: int, d: int, embedding: str = "gaussian", rank: int | None = None, *,
                   questions: int | None = None, seeds: int = 32, seed: int | None = None) -> Observable:
    """The fraction of n facts that Hebbian memories of d x d numbers recall, one value a seed.

    `embedding` is "gaussian" or "sphere". With `rank`, outputs are compared in that many dimensions: what a random
    projection of Gaussian outputs leaves, up to scale. `questions` asks for so many of the facts, which are
    exchangeable, in place of all. Raises `SettingError` where the memory is too large for this machine.

    >>> seen = hebbian_recall(64, 32, seeds=4, seed=0)
    >>> len(seen.values), bool(0 < seen.mean <= 1)
    (4, True)
    """
    check_seeds(seeds)
    check_affordable(n, d)
    asked = n if questions is None else min(n, questions)
    root = np.random.SeedSequence(check_seed(seed))
    return Observable(np.array([one_memory(n, d, embedding, rank or d, asked, np.random.default_rng(s))
                                for s in root.spawn(seeds)]))
