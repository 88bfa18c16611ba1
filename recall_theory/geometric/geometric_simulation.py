"""Random bijections, codes and maps, drawn once a seed, and the fraction of queries that they answer rightly."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, Generic, TypeVar

import numpy as np

from ..numerics.plain_data import SCHEMA_VERSION
from ..settings import SettingError, check_seed, check_seeds
from ..simulate.observation import Observable
from ..simulate.workers import collect
from .construction import (
    answer_of_word,
    build,
    check_buildable,
    draw_bijections,
    draw_codes,
    draw_maps,
    superpose,
    word_index,
    word_tables,
)
from .geometric_setting import GeometricSetting, TrainingSetting
from .geometric_transformer import FloatArray, GeometricTransformer, IntArray

Progress = Callable[[int, int], None]
AnySetting = TypeVar("AnySetting", GeometricSetting, TrainingSetting)

MOST_MULTIPLICATIONS = 1e13  # a seed; some minutes of work
MOST_QUERIES = 2**16  # chains of several passes that are asked; all of them where there are no more
MOST_HIDDEN = 2**28  # hidden units that explicit layers run, over all queries
BLOCK = 2**22  # scores held at a time


@dataclasses.dataclass(frozen=True)
class GeometricObservation(Generic[AnySetting]):
    """What was measured on `seeds` independent draws of one setting: `measures` by name, one value a seed."""

    setting: AnySetting
    seed: int
    measures: dict[str, Observable]

    @property
    def seeds(self) -> int:
        """How many draws were made."""
        return len(self.recall.values)

    @property
    def recall(self) -> Observable:
        """The fraction of queries that were answered rightly."""
        return self.measures["recall"]

    def to_dict(self) -> dict[str, Any]:
        """The JSON contract of `recall-theory geometric simulate` and `train`."""
        observed = {name: observable.to_dict() for name, observable in self.measures.items()}
        return {"schema_version": SCHEMA_VERSION, "setting": self.setting.to_dict(), "seed": self.seed,
                "seeds": self.seeds, "observed": observed}


def observe_seeds(one: Callable[[AnySetting, int, int], dict[str, float]], setting: AnySetting, seeds: int,
                  seed: int | None, *, jobs: int, progress: Progress | None) -> GeometricObservation[AnySetting]:
    """What `one(setting, seed, index)` measures, over all seeds; arguments, results and errors as of `simulate`."""
    check_seeds(seeds)
    used = check_seed(seed)

    def observation(rows: list[dict[str, float]]) -> GeometricObservation[AnySetting] | None:
        if not rows:
            return None
        return GeometricObservation(setting, used, {name: Observable(np.array([row[name] for row in rows]))
                                                    for name in rows[0]})

    tasks = [(setting, used, index) for index in range(seeds)]
    complete = observation(collect(one, tasks, jobs=jobs, progress=progress, partial=observation))
    assert complete is not None
    return complete


def check_affordable(setting: GeometricSetting) -> None:
    """Raise `SettingError` where a seed would not fit in memory, or would take too long."""
    check_buildable(setting)
    work = float(setting.words) * setting.N * setting.k * (setting.N + 2 * setting.width)
    if work > MOST_MULTIPLICATIONS:
        raise SettingError("N", f"N={setting.N}: one seed of this simulation takes {work:.3g} multiplications, and "
                           f"{MOST_MULTIPLICATIONS:.0e} is the most it takes on; lower N, R or d (predict has no such "
                           "limit)")


def simulate(setting: GeometricSetting, seeds: int = 32, seed: int | None = None, *, jobs: int = 1,
             progress: Progress | None = None) -> GeometricObservation[GeometricSetting]:
    """Draw bijections, codes and maps `seeds` times, and count the queries that are answered rightly.

    `seed` fixes the draws (drawn and kept in the result where None); any number of `jobs` gives the same bits.
    `progress` is called with (done, seeds). Raises `SettingError` where a number is out of range or the model too
    large, and `Interrupted` (a KeyboardInterrupt) with the seeds finished by then where Ctrl-C stops it.

    >>> observation = simulate(GeometricSetting(N=50, R=3, d=64, code_length=16), seeds=4, seed=0)
    >>> [round(float(value), 3) for value in observation.recall.values]
    [0.993, 0.987, 0.993, 0.993]
    """
    check_affordable(setting)
    return observe_seeds(_recall_by_name, setting, seeds, seed, jobs=jobs, progress=progress)


def _recall_by_name(setting: GeometricSetting, seed: int, index: int) -> dict[str, float]:
    return {"recall": one_seed(setting, seed, index)}


def one_seed(setting: GeometricSetting, seed: int, index: int) -> float:
    """Recall of seed number `index`: the fraction of right answers over all subjects and words of relations; over
    2^16 random ones where there are more and they take several passes, or explicit layers."""
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(index,)))
    facts = draw_bijections(setting.N, setting.R, rng)
    if setting.construction == "exact":
        return recall_of(build(setting, rng, facts), rng)
    lengths = sorted(set(setting.word_lengths))
    truth = np.concatenate([word_tables(facts, j) for j in lengths])
    codes = draw_codes(setting.N, setting.k, rng)
    decisions = decoded(codes, draw_maps(setting.words, setting.width, setting.k, rng), truth)
    if len(setting.word_lengths) == 1:
        return float(np.mean(decisions == truth))

    first = {j: sum(setting.R**i for i in lengths if i < j) for j in lengths}
    subjects, words = draw_queries(setting, rng)
    answers, start = subjects, 0
    for j in setting.word_lengths:
        answers = decisions[first[j] + word_index(words[:, start:start + j], setting.R), answers]
        start += j
    return float(np.mean(answers == answer_of_word(facts, subjects, words)))


def recall_of(model: GeometricTransformer, rng: np.random.Generator) -> float:
    """The fraction of queries that the explicit layers answer rightly: of all of them, or of 2^16 random ones; of
    fewer where the layers are large."""
    hidden = sum(layer.bias.size for layer in model.layers.values())
    subjects, words = draw_queries(model.setting, rng, max(1, min(MOST_QUERIES, MOST_HIDDEN // hidden)))
    return float(np.mean(model.answer(subjects, words) == answer_of_word(model.facts, subjects, words)))


def decoded(codes: FloatArray, maps: FloatArray, truth: IntArray) -> IntArray:
    """What each word answers for each subject, shape (words, N): the attribute of the largest score
    <c_a, B_w^T e_s>. It is what the explicit layer computes, where only the gates of word w are open."""
    subjects = superpose(codes, maps, truth)
    decisions = np.empty_like(truth)
    block = max(1, BLOCK // len(codes))
    for w, b in enumerate(maps):
        read = subjects @ b
        for i in range(0, len(read), block):
            decisions[w, i:i + block] = np.argmax(read[i:i + block] @ codes.T, axis=1)
    return decisions


def draw_queries(setting: GeometricSetting, rng: np.random.Generator,
                 most: int = MOST_QUERIES) -> tuple[IntArray, IntArray]:
    """Subjects (n,) and words (n, hops): every query once, or `most` random ones where there are more."""
    N, R, hops = setting.N, setting.R, setting.hops
    if N * R**hops > most:
        return rng.integers(0, N, most), rng.integers(0, R, (most, hops))
    number = np.arange(N * R**hops)
    return number % N, (number // N)[:, None] // R ** np.arange(hops - 1, -1, -1) % R
