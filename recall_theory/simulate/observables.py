"""The three observables of a trained model, on fresh sequences or exactly given the seed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .data import FloatArray, IntArray
from .three_step import TIE, Trained, argmax_attention, ranking

BLOCK_LOGITS = 1 << 20  # logits handled together


def answers(logits: FloatArray) -> NDArray[np.bool_]:
    """(n, V): the columns that hold the largest entry of each row, several where they tie."""
    scale = TIE * max(logits.max(initial=0), -logits.min(initial=0))
    largest = logits.max(axis=1, keepdims=True, initial=-np.inf)
    return logits >= largest - scale


def credit(logits: FloatArray, right: IntArray) -> FloatArray:
    """(n,) of 1 where column right[i] of row i is the largest, 1/ties where it shares the place."""
    near = answers(logits)
    return near[np.arange(len(logits)), right] / np.count_nonzero(near, axis=1)


def on_fresh_sequences(model: Trained, L: int, rng: np.random.Generator, n_test: int) -> tuple[float, float, float]:
    """Attention, recall and accuracy; attention and accuracy as frequencies over n_test sequences."""
    V = len(model.scores)
    known = credit(model.logits, np.arange(V))
    k = rng.integers(V, size=n_test)
    noise = rng.integers(V, size=(n_test, L - 1))
    attended = argmax_attention(ranking(model.scores, model.trigger_score), k, noise)

    right = attended.share * known[k]
    tokens, row = np.unique(attended.best[attended.lost], return_inverse=True)
    near = answers(model.wrong_logits[tokens])  # of each token that holds some attention, once
    right[attended.lost] = near[row, k[attended.lost]] / np.count_nonzero(near, axis=1)[row]
    for i, rest in zip(attended.tied, attended.rest, strict=True):  # the values mix as the attention does
        mixed = attended.share[i] * model.logits[k[i]] + rest @ model.wrong_logits[noise[i]]
        right[i] = credit(mixed[None], k[i:i + 1])[0]
    return float(attended.share.mean()), float(known.mean()), float(right.mean())


def exactly(model: Trained, L: int) -> tuple[float, float, float]:
    """The expectations of `on_fresh_sequences` over its sequences, given the seed: a sum over tokens.

    Where scores tie exactly, as only orthogonal or repeated embeddings make them, the accuracy here is that of one of
    the tied positions drawn by lot, not that of the mixture of their values.
    """
    V = len(model.scores)
    by = ranking(model.scores, model.trigger_score)
    ranked = model.scores[by.order]
    informative = model.scores + model.trigger_score
    less = np.searchsorted(ranked, informative - by.scale, side="left") / V  # (V,) share of tokens below,
    upto = np.searchsorted(ranked, informative + by.scale, side="right") / V  # and of those below or tied
    attention = _share_of_greatest(less, upto, L)
    known = credit(model.logits, np.arange(V))
    accuracy = float(attention @ known) / V
    if L > 1:
        # Of the noise, one of the tokens that tie with token j holds the greatest score with probability
        # high^(L-1) - low^(L-1); each of them is as likely as another.
        start = np.flatnonzero(~by.crowded[by.order])  # where a new score begins, upwards
        size = np.diff(start, append=V)
        group = np.empty(V, dtype=np.intp)
        group[by.order] = np.repeat(np.arange(len(start)), size)
        step = 1 + BLOCK_LOGITS // V
        for i in range(0, V, step):
            near = answers(model.wrong_logits[i:i + step])
            j, k = np.nonzero(near)  # token i + j answers with the label of token k
            among = group[i + j]
            low, high = start[among] / V, (start + size)[among] / V
            lost = high ** (L - 1) - np.where(low >= upto[k], low ** (L - 1), attention[k])
            lost[high <= less[k]] = 0  # the informative token outscores it
            accuracy += float(lost @ (1 / (size[among] * np.count_nonzero(near, axis=1)[j]))) / V
    return float(attention.mean()), float(known.mean()), accuracy


def _share_of_greatest(less: FloatArray, upto: FloatArray, L: int) -> FloatArray:
    """E[1[no noise token is above] / (1 + number tied)] = (upto^L - less^L) / (L (upto - less)), where each of the
    L-1 noise tokens is below with probability `less`, and below or tied with `upto`."""
    share = less ** (L - 1)
    tied = upto > less
    share[tied] = (upto[tied] ** L - less[tied] ** L) / (L * (upto[tied] - less[tied]))
    return share
