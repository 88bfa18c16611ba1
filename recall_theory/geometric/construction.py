"""Transformer layers that hold N R facts in their subject embeddings, written down weight by weight.

The facts are one bijection a relation. A word is a sequence of relations; the codes of what every word answers are
superposed in the embedding of its subject: side by side in the exact construction, under random maps in random
superposition.
"""

from __future__ import annotations

import itertools

import numpy as np

from ..errors import SettingError
from .geometric_setting import MOST_CODED, GeometricSetting
from .geometric_transformer import FloatArray, GatedMLP, GeometricTransformer, IntArray

MOST_WEIGHTS = 10**8  # that a model may hold; 800 MB


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


def word_index(words: IntArray, R: int) -> IntArray:
    """The row of each word in `word_tables`; words has shape (n, length)."""
    return words @ R ** np.arange(words.shape[1] - 1, -1, -1)


def answer_of_word(facts: IntArray, subjects: IntArray, words: IntArray) -> IntArray:
    """The true answers to n queries: subjects of shape (n,), words (n, hops)."""
    answers = subjects
    for relation in words.T:
        answers = facts[relation, answers]
    return answers


def binary_codes(N: int, k: int) -> FloatArray:
    """Attribute a as k signs, the binary digits of a: all different where 2^k is at least N; shape (N, k)."""
    digits = np.arange(N)[:, None] >> np.minimum(np.arange(k), 62) & 1
    return (2 * digits - 1).astype(np.float64)


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


def check_buildable(setting: GeometricSetting) -> None:
    """Raise `SettingError` where the model's weights would not fit."""
    s, coded = setting, setting.words * setting.k
    if coded > MOST_CODED:
        raise SettingError("R", f"R={s.R}: {s.words} codes of length {s.k} in one embedding take {coded} coordinates, "
                           f"and {MOST_CODED} is the most that is built")
    stream = s.width + s.slots * s.R
    inward = 0 if s.construction == "exact" else s.mlp_width * stream
    numbers = s.N * (stream + s.k + len(set(s.word_lengths)) * s.words) + inward
    if numbers > MOST_WEIGHTS:
        raise SettingError("N", f"N={s.N}: this model holds {numbers:.3g} numbers, and {MOST_WEIGHTS:.0e} is the most "
                           "that is built; lower N, R, d or hops (predict has no such limit)")


def build(setting: GeometricSetting, rng: np.random.Generator, facts: IntArray | None = None) -> GeometricTransformer:
    """The model of a setting, for the given facts (shape (R, N)) or for random bijections.

    The exact construction draws nothing but the facts. Random superposition draws codes and maps too.
    Raises `SettingError` where the facts do not fit the setting, or the weights the memory.

    >>> setting = GeometricSetting(N=7, R=3, construction="exact")
    >>> model = build(setting, np.random.default_rng(0))
    >>> subjects, relations = np.arange(7), np.full((7, 1), 2)
    >>> bool(np.all(model.answer(subjects, relations) == model.facts[2]))
    True
    """
    check_buildable(setting)
    if facts is None:
        facts = draw_bijections(setting.N, setting.R, rng)
    elif facts.shape != (setting.R, setting.N):
        raise SettingError("N", f"facts of shape {facts.shape} don't fit: R={setting.R} relations of N={setting.N} "
                           "subjects have shape (R, N)")
    lengths = sorted(set(setting.word_lengths))
    answers = np.concatenate([word_tables(facts, j) for j in lengths])
    if setting.construction == "exact":
        codes, maps = binary_codes(setting.N, setting.k), None
        subjects = np.zeros((setting.N, setting.width - setting.slots * setting.R))
        subjects[:, :setting.words * setting.k] = codes[answers].swapaxes(0, 1).reshape(setting.N, -1)
    else:
        codes = draw_codes(setting.N, setting.k, rng)
        maps = draw_maps(setting.words, setting.width, setting.k, rng)
        subjects = superpose(codes, maps, answers)
    layers, first = {}, 0
    for j in lengths:
        layers[j] = _gated_mlp(setting, j, first, subjects.shape[1], maps)
        first += setting.R**j
    return GeometricTransformer(setting, facts, subjects, codes, layers)


def _gated_mlp(setting: GeometricSetting, length: int, first: int, d: int, maps: FloatArray | None) -> GatedMLP:
    """The gates of all words of one length; `first` is the number of the first of them in the embedding."""
    from scipy import sparse

    R, k = setting.R, setting.k
    words = np.array(list(itertools.product(range(R), repeat=length)))
    # The gate must outweigh any coordinate of B^T e: signs are 1, a sum of unit vectors at most their number.
    strength = 1.0 if maps is None else float(setting.words)
    # Word by word the units +1..+k, then -1..-k.
    unit = np.arange(2 * len(words) * k)
    word, sign, i = unit // (2 * k), np.where(unit % (2 * k) < k, 1.0, -1.0), unit % k
    slots = d + np.arange(length) * R + words[word]
    gate = sparse.csr_matrix((np.full(slots.size, strength), (np.repeat(unit, length), slots.ravel())),
                             shape=(unit.size, d + setting.slots * R))
    if maps is None:
        inward = gate + sparse.csr_matrix((sign, (unit, (first + word) * k + i)), shape=gate.shape)
    else:
        inward = gate.toarray()
        inward[:, :d] = sign[:, None] * maps[first + word, :, i]
    outward = sparse.csr_matrix((sign, (i, unit)), shape=(k, unit.size))
    return GatedMLP(inward, np.full(unit.size, -strength * length), outward)
