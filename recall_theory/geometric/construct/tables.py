"""The facts: one bijection a relation, and what words of several relations compose to."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["IntArray", "answer_of_word", "draw_bijections", "word_index", "word_tables"]

IntArray = NDArray[np.int64]


def draw_bijections(N: int, R: int, rng: np.random.Generator) -> IntArray:
    """R independent uniform bijections of N subjects to N attributes: f[r, s], shape (R, N)."""
    facts: IntArray = np.argsort(rng.random((R, N)), axis=1)
    return facts


def word_tables(facts: IntArray, length: int) -> IntArray:
    """What every word of `length` relations answers, shape (R^length, N).

    Attribute a is subject a of the next relation. The row of word (r_1, ..., r_j) is the number with these digits
    in base R, r_1 (asked first) the most significant.

    >>> word_tables(np.array([[1, 2, 0], [0, 2, 1]]), 2)[1]   # relation 0, then relation 1
    array([2, 1, 0])
    """
    tables: IntArray = np.arange(facts.shape[1])[None, :]
    for _ in range(length):
        tables = facts[:, tables].swapaxes(0, 1).reshape(-1, facts.shape[1])
    return tables


def word_index(words: IntArray, R: int) -> IntArray:
    """The row of each word in `word_tables`; words has shape (n, length)."""
    index: IntArray = words @ R ** np.arange(words.shape[1] - 1, -1, -1)
    return index


def answer_of_word(facts: IntArray, subjects: IntArray, words: IntArray) -> IntArray:
    """The true answers to n queries: subjects of shape (n,), words (n, hops)."""
    answers = subjects
    for relation in words.T:
        answers = facts[relation, answers]
    return answers
