"""Memories of facts that occur with Zipf frequencies, stored with weights and asked for every fact."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .data import FloatArray, _rows
from .observation import Observable
from .run import check_seed, check_seeds

__all__ = ["frequencies", "unseen", "zipf_error"]

BLOCK = 512  # facts asked at a time


def frequencies(alpha: float, facts: int) -> FloatArray:
    """(facts,): x^-alpha for x = 1, 2, ..., normalised."""
    p = np.arange(1, facts + 1, dtype=float) ** -alpha
    result: FloatArray = p / p.sum()
    return result


def zipf_error(alpha: float, d: int, facts: int, weight: Callable[[FloatArray], FloatArray], classes: int | None = None,
               *, questions: int | None = None, seeds: int = 32, seed: int | None = None) -> Observable:
    """How often memories err that store fact x with a weight, W = sum_x weight(p)_x u_f(x) e_x^T, one value a seed.

    `weight` maps the frequencies (facts,) to weights (facts,) >= 0; facts of weight 0 are not stored. Without `classes`
    each stored fact has an output of its own, and those of the others are no candidates; else f draws one of `classes`
    outputs for each fact. Gaussian embeddings. Every fact is asked and counts with its frequency; with `questions`, the
    first so many are, and as many of the others, drawn at random, answer for them.

    >>> seen = zipf_error(2.0, 32, 50, lambda p: (p >= p[9]) * 1.0, seeds=4, seed=0)
    >>> bool(0 <= seen.mean < 0.5)
    True
    """
    check_seeds(seeds)
    p = frequencies(alpha, facts)
    q = weight(p)
    root = np.random.SeedSequence(check_seed(seed))
    first = facts if questions is None else min(questions, facts)
    return Observable(np.array([p @ _wrong(q, d, classes, first, np.random.default_rng(s)) for s in root.spawn(seeds)]))


def _wrong(q: FloatArray, d: int, classes: int | None, first: int, rng: np.random.Generator) -> FloatArray:
    """(facts,): 1 where one memory errs. Facts of equal weight share the mean over them: which of them is the more
    frequent makes no difference to the law, and much to the scatter."""
    stored = np.flatnonzero(q)
    keys = _rows(rng, len(q), d, "gaussian")
    label = np.full(len(q), -1)
    if classes is None:
        outputs = _rows(rng, len(stored), d, "gaussian")
        label[stored] = np.arange(len(stored))
    else:
        outputs = _rows(rng, classes, d, "gaussian")
        label = rng.integers(classes, size=len(q))
    held, weighted = outputs[label[stored]], q[stored, None] * keys[stored]  # (stored, d) each
    W = held.T @ weighted if d < len(stored) else None  # (d, d); where it is larger than its factors, these do
    others = rng.choice(np.arange(first, len(q)), min(first, len(q) - first), replace=False)
    asked = np.concatenate([np.arange(first), others])
    asked = asked[(q[asked] > 0) | (classes is not None)]
    wrong = np.ones(len(q))
    for start in range(0, len(asked), BLOCK):
        part = asked[start:start + BLOCK]
        read = keys[part] @ W.T if W is not None else keys[part] @ weighted.T @ held  # (BLOCK, d)
        wrong[part] = (read @ outputs.T).argmax(axis=1) != label[part]
    if len(others):
        wrong[first:] = wrong[others].mean()
    _, group = np.unique(q, return_inverse=True)
    result: FloatArray = (np.bincount(group, wrong) / np.bincount(group))[group]
    return result


def unseen(alpha: float, samples: int, facts: int, *, seeds: int = 32, seed: int | None = None) -> Observable:
    """The frequency of the facts that `samples` draws leave unseen, one value a seed.

    >>> seen = unseen(2.0, 1000, 10000, seeds=8, seed=0)
    >>> bool(0.01 < seen.mean < 0.04)
    True
    """
    check_seeds(seeds)
    p = frequencies(alpha, facts)
    root = np.random.SeedSequence(check_seed(seed))
    counts = (np.random.default_rng(s).multinomial(samples, p) for s in root.spawn(seeds))
    return Observable(np.array([p[c == 0].sum() for c in counts]))
