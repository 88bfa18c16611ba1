"""The task of the ladder as arrays: embeddings, training sequences and fresh ones, drawn once a seed.

Conventions are those of the simulator: L tokens, one of them informative, whose label is a fixed permutation of it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..numerics.embedding_laws import random_embeddings
from ..settings import Setting

Array = NDArray[np.float32]
IntArray = NDArray[np.int32]

ASKED = 8  # fresh sequences of each fact, the most of which a model with blocks is to answer right for recall


class Sequences(NamedTuple):
    """tokens (n, L); position (n,) of the informative token; label (n,) of that token."""

    tokens: IntArray
    position: IntArray
    label: IntArray


class FixedEmbeddings(NamedTuple):
    """z_in and z_out (V, d), z_trig and z_eos (d,): random, and unchanged up to rung 4. z_out[j] is label j's."""

    z_in: Array
    z_out: Array
    z_trig: Array
    z_eos: Array


class RecallTask(NamedTuple):
    """One seed: embeddings, `label` (V,) of each token, `training` (N), `held_out` (n_test) and `asked` sequences, in
    which every token is the informative one 8 times."""

    embeddings: FixedEmbeddings
    label: IntArray
    training: Sequences
    held_out: Sequences
    asked: Sequences


def fact_frequencies(V: int, zipf: float) -> NDArray[np.float64]:
    """(V,) how often each token is the informative one: in proportion to k^-zipf, so uniform at 0."""
    weights = np.arange(1, V + 1) ** -float(zipf)
    return weights / weights.sum()


def draw_sequences(informative: NDArray[np.intp], label: IntArray, setting: Setting,
                   rng: np.random.Generator) -> Sequences:
    """Sequences with the given informative tokens (n,), each at a random place among random noise tokens."""
    n, L = len(informative), setting.L
    tokens = rng.integers(setting.V, size=(n, L))
    position = rng.integers(L, size=n)
    tokens[np.arange(n), position] = informative
    return Sequences(tokens.astype(np.int32), position.astype(np.int32), label[informative])


def draw_recall_task(setting: Setting, zipf: float, n_test: int, seed: int, index: int) -> RecallTask:
    """The task of seed number `index`; its embeddings and permutation are those of `simulate` at the same seed.

    >>> task = draw_recall_task(Setting(V=8, L=3, d=4, N=10), 0.0, 16, seed=0, index=0)
    >>> task.training.tokens.shape, task.held_out.tokens.shape, task.asked.tokens.shape
    ((10, 3), (16, 3), (64, 3))
    """
    root = np.random.SeedSequence(seed, spawn_key=(index,))
    s_embeddings, s_samples, s_test, s_query, _ = root.spawn(5)
    rng = np.random.default_rng(s_embeddings)
    z_in, z_out, z_trig = random_embeddings(rng, setting.V, setting.d, setting.embedding)
    label = rng.permutation(setting.V).astype(np.int32)
    z_eos = np.random.default_rng(s_query.spawn(1)[0]).standard_normal(setting.d)
    z_eos /= np.sqrt(setting.d) if setting.embedding == "gaussian" else np.linalg.norm(z_eos)

    p = fact_frequencies(setting.V, zipf)
    samples, fresh = np.random.default_rng(s_samples), np.random.default_rng(s_test)
    drawn = [draw_sequences(informative, label, setting, generator) for informative, generator in (
        (samples.choice(setting.V, size=setting.N, p=p), samples), (fresh.choice(setting.V, size=n_test, p=p), fresh),
        (np.repeat(np.arange(setting.V), ASKED), fresh))]
    embeddings = FixedEmbeddings(*(z.astype(np.float32) for z in (z_in, z_out, z_trig, z_eos)))
    return RecallTask(embeddings, label, *drawn)
