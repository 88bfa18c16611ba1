"""The three observables: of a trained model, on fresh sequences or exactly given the seed, and of many seeds."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from ..numerics.arrays import FloatArray, Measured, Observable
from ..settings import Setting
from . import loops
from .data import Block, IntArray, in_parts, token_type
from .three_step import TIE, Trained, tie_width

BLOCK_LOGITS = 1 << 20  # logits handled together


@dataclasses.dataclass(frozen=True)
class Observation(Measured[Setting]):
    """Attention, recall and accuracy of `seeds` trained models of one setting.

    `n_test` is the number of fresh sequences a seed, or None where all sequences were summed over. `attention` is how
    often the greatest attention is on the informative position; `attention_weight`, None in the limit, where the two
    are one, is the mean weight that it has under the softmax of finite rates. `embeddings` says how far a user's own
    are from random ones.
    """

    n_test: int | None
    embeddings: dict[str, dict[str, dict[str, float]]] | None = None

    @property
    def attention(self) -> Observable:
        """How often attention is right."""
        return self.measures["attention"]

    @property
    def accuracy(self) -> Observable:
        """How often a fresh sequence is answered right."""
        return self.measures["accuracy"]

    @property
    def attention_weight(self) -> Observable | None:
        """The mean attention weight of the informative position, at finite rates."""
        return self.measures.get("attention_weight")

    def to_dict(self) -> dict[str, Any]:
        """The JSON contract of `recall-theory simulate`."""
        drawn = super().to_dict()
        result = {**drawn, "n_test": self.n_test, "observed": drawn.pop("observed")}
        return result if self.embeddings is None else {**result, "embeddings": self.embeddings}


def credit(logits: FloatArray, right: IntArray) -> FloatArray:
    """(n,) of 1 where column right[i] of row i is the largest, 1/ties where it shares the place."""
    near, number = loops.answers(logits, TIE)
    return near[np.arange(len(logits)), right] / number


def known_facts(model: Trained) -> FloatArray:
    """(V,) of 1 where the value of informative token k names its label, 1/ties where others share the place."""
    V = len(model.scores)
    parts = zip(*(in_parts(rows, 1 + BLOCK_LOGITS // V) for rows in (np.arange(V), model.right)), strict=True)
    return np.concatenate([credit(right @ model.out, k) for k, right in parts])


def fresh_sequences(V: int, L: int, rng: np.random.Generator, n_test: int) -> Block:
    """Fresh sequences, their informative tokens (n_test,) and noise (n_test, L-1)."""
    return Block(rng.integers(V, size=n_test), rng.integers(V, size=(n_test, L - 1)).astype(token_type(V)))


def on_fresh_sequences(model: Trained, L: int, rng: np.random.Generator, n_test: int) -> tuple[float, ...]:
    """Attention, recall, accuracy and the mean attention weight of the informative position.

    Attention is how often the greatest weight is there, recall is of facts that are read out alone, and accuracy is of
    the mixture that is attended to; all but recall over n_test fresh sequences.
    """
    V, sums = len(model.scores), np.zeros(3)
    known, fresh = known_facts(model), fresh_sequences(V, L, rng, n_test)
    for part in in_parts(np.arange(n_test), BLOCK_LOGITS // max(L, V)):
        block = fresh.at(part)
        attention = model.attention(block)
        greatest = model.greatest(block) if model.is_softmax else attention
        right = known[block.informative]
        is_mixed = attention.own < 1
        some = block.at(is_mixed)
        h = attention.at(is_mixed).mixed(some, model.informative, model.noise)
        right[is_mixed] = credit(model.features(h) @ model.out, some.informative)
        sums += greatest.own.sum(), right.sum(), attention.own.sum()
    attended, answered, weight = (sums / n_test).tolist()
    return attended, float(known.mean()), answered, weight


def exactly(model: Trained, L: int) -> tuple[float, float, float]:
    """The expectations of `on_fresh_sequences` over its sequences, given the seed: a sum over tokens.

    Where scores tie exactly, as only orthogonal or repeated embeddings make them, the accuracy here is that of one of
    the tied positions drawn by lot, not that of the mixture of their values.
    """
    V = len(model.scores)
    scale = tie_width(model.scores, model.trigger_score)
    order = np.argsort(model.scores, kind="stable")
    ranked = model.scores[order]
    informative = model.scores + model.trigger_score
    less = np.searchsorted(ranked, informative - scale, side="left") / V  # (V,) share of tokens below,
    upto = np.searchsorted(ranked, informative + scale, side="right") / V  # and of those below or tied

    # E[1[no noise token is above] / (1 + number tied)] = (upto^L - less^L) / (L (upto - less))
    attention, tied = less ** (L - 1), upto > less
    attention[tied] = (upto[tied] ** L - less[tied] ** L) / (L * (upto[tied] - less[tied]))
    known = known_facts(model)
    accuracy = float(attention @ known) / V
    if L > 1:
        # Of the noise, one of the tokens that tie with token j holds the greatest score with probability
        # high^(L-1) - low^(L-1); each of them is as likely as another.
        start = np.concatenate([[0], 1 + np.flatnonzero(ranked[1:] - ranked[:-1] > scale)])  # of each score, upwards
        size = np.concatenate([start[1:], [V]]) - start
        group = np.empty(V, dtype=np.intp)
        group[order] = np.repeat(np.arange(len(start)), size)
        rows = 1 + BLOCK_LOGITS // V
        for groups, wrong in zip(in_parts(group, rows), in_parts(model.wrong, rows), strict=True):
            near, number = loops.answers(wrong @ model.out, TIE)
            j, k = np.nonzero(near)  # the j-th of these tokens answers with the label of token k
            among = groups[j]
            low, high = start[among] / V, (start + size)[among] / V
            lost = high ** (L - 1) - np.where(low >= upto[k], low ** (L - 1), attention[k])
            lost[high <= less[k]] = 0  # the informative token outscores it
            accuracy += float(lost @ (1 / (size[among] * number[j]))) / V
    return float(attention.mean()), float(known.mean()), accuracy
