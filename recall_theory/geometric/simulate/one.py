"""One random draw of facts, codes and maps, and the fraction of queries that it answers rightly."""

from __future__ import annotations

import numpy as np

from ..construct.build import draw_codes, draw_maps, superpose
from ..construct.model import Model
from ..construct.tables import IntArray, answer_of_word, draw_bijections, word_index, word_tables
from ..setting import GeometricSetting

__all__ = ["QUERIES", "decoded", "one_seed", "queries", "recalled"]

QUERIES = 2**16  # chains of several passes that are asked; all of them where there are no more
UNITS = 2**28  # hidden units that explicit layers run, over all queries
BLOCK = 2**22  # scores held at a time


def one_seed(setting: GeometricSetting, seed: int, index: int) -> float:
    """Recall of seed number `index`: the fraction of right answers over all subjects and words of relations; over
    2^16 random ones where there are more and they take several passes, or explicit layers."""
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(index,)))
    facts = draw_bijections(setting.N, setting.R, rng)
    if setting.construction == "exact":
        from ..construct.build import build

        return recalled(build(setting, rng, facts), rng)
    lengths = sorted(set(setting.word_lengths))
    truth = np.concatenate([word_tables(facts, j) for j in lengths])
    codes = draw_codes(setting.N, setting.k, rng)
    found = decoded(setting, codes, draw_maps(setting.words, setting.width, setting.k, rng), truth)
    if len(setting.word_lengths) == 1:
        return float(np.mean(found == truth))
    first = {j: sum(setting.R**i for i in lengths if i < j) for j in lengths}
    subjects, words = queries(setting, rng)
    answers, start = subjects, 0
    for j in setting.word_lengths:
        answers = found[first[j] + word_index(words[:, start:start + j], setting.R), answers]
        start += j
    return float(np.mean(answers == answer_of_word(facts, subjects, words)))


def recalled(model: Model, rng: np.random.Generator) -> float:
    """The fraction of queries that the explicit layers answer rightly: of all of them, or of 2^16 random ones; of
    fewer where the layers are large."""
    units = sum(layer.bias.size for layer in model.layers.values())
    subjects, words = queries(model.setting, rng, max(1, min(QUERIES, UNITS // units)))
    return float(np.mean(model.answer(subjects, words) == answer_of_word(model.facts, subjects, words)))


def decoded(setting: GeometricSetting, codes: np.ndarray, maps: np.ndarray, truth: IntArray) -> IntArray:
    """What each word answers for each subject, shape (words, N): the attribute of the largest score
    <c_a, B_w^T e_s>. It is what the explicit layer computes, where only the gates of word w are open."""
    subjects = superpose(codes, maps, truth)
    found = np.empty_like(truth)
    block = max(1, BLOCK // setting.N)
    for w, b in enumerate(maps):
        read = subjects @ b
        for i in range(0, setting.N, block):
            found[w, i:i + block] = np.argmax(read[i:i + block] @ codes.T, axis=1)
    return found


def queries(setting: GeometricSetting, rng: np.random.Generator, most: int = QUERIES) -> tuple[IntArray, IntArray]:
    """Subjects (n,) and words (n, hops): every query once, or `most` random ones where there are more."""
    N, R, hops = setting.N, setting.R, setting.hops
    if N * R**hops > most:
        return rng.integers(0, N, most), rng.integers(0, R, (most, hops))
    number = np.arange(N * R**hops)
    return number % N, (number // N)[:, None] // R ** np.arange(hops - 1, -1, -1) % R
