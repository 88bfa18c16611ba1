"""Random bijections, codes, maps and words, drawn once a seed, and the fraction of queries that they answer rightly."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import NDArray

from ..numerics.arrays import FloatArray, Measured, Observable
from ..numerics.quantiser import nearest_level
from ..numerics.unit_sphere import random_rows
from ..settings import SettingError, check_seed, check_seeds
from ..simulate.workers import collect
from .geometric_setting import MOST_CODED, ROUNDED, GeometricSetting, TrainingSetting

IntArray = NDArray[np.int64]
Progress = Callable[[int, int], None]

MOST_MULTIPLICATIONS = 1e13  # a seed; some minutes of work
MOST_QUERIES = 2**16  # chains of several passes that are asked; all of them where there are no more
MOST_NUMBERS = 10**8  # that a model may hold; 800 MB
SCORES_HELD = 2**22  # scores held at a time


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


def draw_maps(words: int, d: int, k: int, rng: np.random.Generator) -> FloatArray:
    """One uniformly random map with orthonormal columns from R^k to R^d a word; shape (words, d, k)."""
    maps = np.empty((words, d, k))
    for w in range(words):
        q, r = np.linalg.qr(rng.standard_normal((d, k)))
        maps[w] = q * np.sign(np.diagonal(r))  # without the signs the law would depend on the algorithm
    return maps


def superpose(codes: FloatArray, maps: FloatArray, answers: IntArray) -> FloatArray:
    """e_s = sum over words w of maps[w] codes[answers[w, s]]; shape (N, d)."""
    return sum((codes[a] @ b.T for b, a in zip(maps, answers, strict=True)), np.zeros(()))


class GeometricObservation(Measured[GeometricSetting | TrainingSetting]):
    """What was measured on `seeds` independent draws of one setting: `measures` by name, one value a seed."""


def check_affordable(setting: GeometricSetting) -> None:
    """Raise `SettingError` where a seed would not fit in memory, or would take too long."""
    s, coded = setting, setting.words * setting.k
    numbers = s.N * (s.width + s.k + len(set(s.word_lengths)) * s.words)
    if s.construction == "superposition":
        numbers += coded * s.width
    work = float(coded) * s.N * (s.N + 2 * s.width)
    for name, size, most, what in [("R", coded, MOST_CODED, "coordinates of code in one embedding"),
                                   ("N", numbers, MOST_NUMBERS, "numbers"),
                                   ("N", work, MOST_MULTIPLICATIONS, "multiplications a seed")]:
        if size > most:
            raise SettingError(name, f"{name}={getattr(s, name)}: this model takes {size:.3g} {what}, and {most:.0e} "
                               "is the most that is simulated; lower N, R, d or hops (predict has no such limit)")


def simulate(setting: GeometricSetting, seeds: int = 32, seed: int | None = None, *, jobs: int = 1,
             progress: Progress | None = None) -> GeometricObservation:
    """Draw bijections, codes and maps `seeds` times, and count the queries that are answered rightly.

    `seed` fixes the draws (drawn and kept in the result where None); any number of `jobs` gives the same bits.
    `progress` is called with (done, seeds). Raises `SettingError` where a number is out of range or the model too
    large, and `Interrupted` (a KeyboardInterrupt) with the seeds finished by then where Ctrl-C stops it.

    >>> observation = simulate(GeometricSetting(N=50, R=3, d=64, code_length=16), seeds=4, seed=0)
    >>> [round(float(value), 3) for value in observation.recall.values]
    [0.993, 0.987, 0.993, 0.993]
    """
    check_affordable(setting)
    check_seeds(seeds)
    used = check_seed(seed)

    def observed(values: list[float]) -> GeometricObservation:
        return GeometricObservation(setting, used, {"recall": Observable(np.array(values))})

    tasks = [(setting, used, index) for index in range(seeds)]
    return observed(collect(one_seed, tasks, jobs=jobs, progress=progress, partial=observed))


def one_seed(setting: GeometricSetting, seed: int, index: int) -> float:
    """Recall of seed number `index`: the fraction of right answers over all subjects and words of relations; over
    2^16 random ones where there are more and they take several passes."""
    s, rng = setting, np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(index,)))
    facts = draw_bijections(s.N, s.R, rng)
    lengths, noise = sorted(set(s.word_lengths)), s.noise_deviation
    truth = np.concatenate([word_tables(facts, j) for j in lengths])
    if s.construction == "exact":
        codes = digit_codes(s.N, s.k)
        read: Iterable[FloatArray] = (codes[a] + noise * rng.standard_normal(codes.shape) for a in truth)
    else:
        codes = random_rows(rng, s.N, s.k, "sphere")
        maps = draw_maps(s.words, s.width, s.k, rng)
        embeddings = superpose(codes, maps, truth)
        if noise > 0:
            embeddings += noise * rng.standard_normal(embeddings.shape)
        if s.precision is not None:
            deviation = np.sqrt(s.words / s.width * (1 + s.noise**2))
            embeddings = nearest_level(embeddings / deviation, ROUNDED, s.precision)
        read = (embeddings @ b for b in maps)
    decisions = decoded(codes, read, truth)
    if len(s.word_lengths) == 1:
        return float(np.mean(decisions == truth))

    first_row = {j: sum(s.R**i for i in lengths if i < j) for j in lengths}
    subjects, words = draw_queries(s.N, s.R, s.hops, rng, MOST_QUERIES)
    asked = subjects
    for word in np.split(words, np.cumsum(s.word_lengths)[:-1], axis=1):
        asked = decisions[first_row[word.shape[1]] + word_index(word, s.R), asked]
    return float(np.mean(asked == answer_of_word(facts, subjects, words)))


def decoded(codes: FloatArray, read: Iterable[FloatArray], truth: IntArray) -> IntArray:
    """What each word answers for each subject, shape (words, N): the attribute whose code has the largest product with
    what the word reads of the subject, of shape (N, k) each."""
    decisions = np.empty_like(truth)
    block = max(1, SCORES_HELD // len(codes))
    for w, vectors in enumerate(read):
        for i in range(0, len(vectors), block):
            decisions[w, i:i + block] = np.argmax(vectors[i:i + block] @ codes.T, axis=1)
    return decisions
