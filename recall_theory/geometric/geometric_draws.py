"""What is drawn at random for geometric recall, bijections, codes and maps, and the words of relations."""

from __future__ import annotations

import numpy as np

from .geometric_transformer import FloatArray, IntArray


def draw_bijections(N: int, R: int, rng: np.random.Generator) -> IntArray:
    """R independent uniform bijections of N subjects to N attributes: f[r, s], shape (R, N)."""
    return np.argsort(rng.random((R, N)), axis=1)


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


def all_words(R: int, length: int) -> IntArray:
    """All words of so many relations in the order of `word_tables`, shape (R^length, length).

    >>> all_words(2, 2).tolist()
    [[0, 0], [0, 1], [1, 0], [1, 1]]
    """
    words: IntArray = np.arange(R**length)[:, None] // R ** np.arange(length - 1, -1, -1) % R
    return words


def word_index(words: IntArray, R: int) -> IntArray:
    """The row of each word in `word_tables`; words has shape (n, length)."""
    return words @ R ** np.arange(words.shape[1] - 1, -1, -1)


def answer_of_word(facts: IntArray, subjects: IntArray, words: IntArray) -> IntArray:
    """The true answers to n queries: subjects of shape (n,), words (n, hops)."""
    answers = subjects
    for relation in words.T:
        answers = facts[relation, answers]
    return answers


def draw_queries(N: int, R: int, hops: int, rng: np.random.Generator, most: int) -> tuple[IntArray, IntArray]:
    """Subjects (n,) and words (n, hops): every query once, or `most` random ones where there are more."""
    if N * R**hops > most:
        return rng.integers(0, N, most), rng.integers(0, R, (most, hops))
    number = np.arange(N * R**hops)
    return number % N, all_words(R, hops)[number // N]


def digit_codes(N: int, k: int, bits: int = 1) -> FloatArray:
    """Attribute a as its k digits of so many bits, odd integers up to 2^bits - 1 in size: signs for one bit; all
    different where 2^(k bits) is at least N; shape (N, k)."""
    digits = np.arange(N)[:, None] >> np.minimum(bits * np.arange(k), 62) & 2**bits - 1
    return 2.0 * digits - (2**bits - 1)


def draw_codes(N: int, k: int, rng: np.random.Generator) -> FloatArray:
    """N independent codes, uniform on the unit sphere of R^k; shape (N, k)."""
    codes = rng.standard_normal((N, k))
    codes /= np.linalg.norm(codes, axis=1, keepdims=True)
    return codes


def draw_maps(words: int, d: int, k: int, rng: np.random.Generator) -> FloatArray:
    """One uniformly random map with orthonormal columns from R^k to R^d a word; shape (words, d, k)."""
    maps = np.empty((words, d, k))
    for w in range(words):
        q, r = np.linalg.qr(rng.standard_normal((d, k)))
        maps[w] = q * np.sign(np.diagonal(r))  # without the signs the law would depend on the algorithm
    return maps


def superpose(codes: FloatArray, maps: FloatArray, answers: IntArray) -> FloatArray:
    """e_s = sum over words w of maps[w] codes[answers[w, s]]; shape (N, d)."""
    total = np.zeros((answers.shape[1], maps.shape[1]))
    for b, a in zip(maps, answers, strict=True):
        total += codes[a] @ b.T
    return total
