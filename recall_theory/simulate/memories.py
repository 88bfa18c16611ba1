"""Memories without the three steps: Hebbian ones, and readers of a gradient.

The readers are learners that see the first gradient step Val1, in noise or not, the embeddings and N. They are asked
with the token's own embedding, without the trigger. The noise is Gaussian with the covariance that the L - 1 noise
tokens of the N samples give the gradient: as if a Gaussian variable of a count's variance N (L-1)/V^2 were added to
each entry of the label-by-token table. Two of them answer each question by itself; the others know that the answer is a
permutation, and assign all labels at once.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy
from scipy.special import logsumexp

from ..numerics.arrays import FloatArray, Observable
from ..numerics.unit_sphere import random_rows
from ..settings import Setting, SettingError, check_seed, check_seeds
from .data import Embeddings, IntArray, Samples, draw_embeddings
from .observables import credit
from .three_step import step_one

ROWS = 1024  # keys read out at a time
MOST_NUMBERS = 2**28  # of keys and outputs, or of a block's scores: 2 GiB


def over_seeds(one: Callable[[np.random.Generator], float], seeds: int, seed: int | None) -> Observable:
    """What `one` draws and measures, one value a seed."""
    check_seeds(seeds)
    root = np.random.SeedSequence(check_seed(seed))
    return Observable(np.array([one(np.random.default_rng(s)) for s in root.spawn(seeds)]))


def answers_of(keys: FloatArray, outputs: FloatArray, *factors: FloatArray) -> IntArray:
    """(n,): which of the outputs (classes, d) has the greatest product with what a memory makes of each key (n, d).
    The memory is the product of `factors`, the one next to the key last."""
    answers = []
    for values in np.split(keys, range(ROWS, len(keys), ROWS)):
        for factor in reversed(factors):
            values = values @ factor.T
        answers.append((values @ outputs.T).argmax(axis=1))
    return np.concatenate(answers)


def hebbian_recall(n: int, d: int, embedding: str = "gaussian", rank: int | None = None, *,
                   questions: int | None = None, seeds: int = 32, seed: int | None = None) -> Observable:
    """The fraction of n facts that Hebbian memories of d x d numbers recall, one value a seed.

    `embedding` is "gaussian" or "sphere". With `rank`, outputs are compared in that many dimensions: what a random
    projection of Gaussian outputs leaves, up to scale. `questions` asks for so many of the facts, which are
    exchangeable, in place of all. Raises `SettingError` where the memory is too large for this machine.

    >>> recall = hebbian_recall(64, 32, seeds=4, seed=0)
    >>> recall.values.tolist()
    [0.6875, 0.59375, 0.65625, 0.6875]
    """
    if max(2 * n * d, min(2 * ROWS, n) * n) > MOST_NUMBERS:
        raise SettingError("n", f"a simulated memory of {n:,} facts in {d:,} dimensions does not fit: keys and "
                           f"outputs, or the scores, are more than {MOST_NUMBERS:,} numbers")
    asked = n if questions is None else min(n, questions)
    return over_seeds(lambda rng: one_hebbian_memory(n, d, embedding, rank or d, asked, rng), seeds, seed)


def one_hebbian_memory(n: int, d: int, embedding: str, rank: int, asked: int, rng: np.random.Generator) -> float:
    """The fraction of its first facts, `asked` of n, that one memory recalls; outputs have `rank` dimensions."""
    keys, outputs = random_rows(rng, n, d, embedding), random_rows(rng, n, rank, embedding)
    W = outputs.T @ keys  # (rank, d), the sum of outer products; fact x maps key x to output x
    return int((answers_of(keys[:asked], outputs, W) == np.arange(asked)).sum()) / asked


# --- readers of the first gradient -----------------------------------------------------------------------

# argmax of the gradient itself; argmax in noise; assignment by a matched filter in noise; assignment by the
# likeliest whitened fit in noise
READERS = ("gradient", "noisy gradient", "matched filter", "best assignment")
RANK = 1e-10  # singular values below it, relative to the largest, are zero but for rounding
MOST_ROUNDS = 40  # of the iterated assignment
SETTLED = 1 / 1000  # no entry of it moves by more
BALANCES = 10  # of rows and columns in turn, a round


def draw_gradient(setting: Setting, seed: int, index: int) -> tuple[Embeddings, FloatArray, np.random.SeedSequence]:
    """Embeddings and Val1 (d, d) of `run.one_seed(setting, seed, index)`, and a stream that is free for noise."""
    s_emb, s_samples, s_noise = np.random.SeedSequence(seed, spawn_key=(index,)).spawn(3)
    emb = draw_embeddings(setting, np.random.default_rng(s_emb))
    val1 = step_one(setting, emb, Samples(setting, s_samples))
    return emb, val1, s_noise


def read_gradient(setting: Setting, seed: int, index: int) -> tuple[float, ...]:
    """Recall of each of `READERS`, for seed number `index`: the draws of `run.one_seed`, and noise of its own.

    >>> read_gradient(Setting(V=16, L=4, d=16, N=64), 0, 0)
    (0.375, 0.25, 0.4375, 0.875)
    """
    if setting.L < 2 or setting.m is not None or not setting.is_limit:
        raise SettingError("L", "readers of the first gradient need noise tokens (L of at least 2), no MLP and no "
                           "learning rates")
    emb, val1, s_noise = draw_gradient(setting, seed, index)
    noisy = val1 + gradient_noise(setting, emb, np.random.default_rng(s_noise))
    return (argmax_reading(emb, val1), argmax_reading(emb, noisy), *assignments(setting, emb, noisy))


def gradient_noise(setting: Setting, emb: Embeddings, rng: np.random.Generator) -> FloatArray:
    """(d, d): one draw of the noise, of covariance (L-1)/(N L^2) Sigma_r x Sigma_z."""
    V, L, N = setting.V, setting.L, setting.N
    table = rng.standard_normal((V, V)) * (np.sqrt(N * (L - 1)) / V)
    return emb.residuals.T @ table @ (emb.z_in - emb.z_in.mean(axis=0)) / (N * L)


def argmax_reading(emb: Embeddings, gradient: FloatArray) -> float:
    """Fraction of the V tokens k whose label has the largest logit z_out(j)^T gradient z_in(k), ties shared."""
    logits = emb.z_in @ gradient.T @ emb.u.T
    return float(credit(logits, np.arange(len(logits))).mean())


def assignments(setting: Setting, emb: Embeddings, gradient: FloatArray) -> tuple[float, float]:
    """Recall of the assignment by the matched filter r_j^T gradient z_k, and of the best that is known here.

    Of the gradient's input side the one direction is left out along which trigger and mean embedding carry the label
    counts. In whitened coordinates what is left is left^T (P + white noise) right: P the permutation, left and right
    orthonormal bases of what the embeddings span. The best of three assignments is the one whose P fits best.
    """
    V, L = setting.V, setting.L
    r, mean = emb.residuals, emb.z_in.mean(axis=0)
    shared = setting.trigger_in_value * emb.z_trig + L * mean
    shared /= np.linalg.norm(shared)
    z = emb.z_in - mean
    z -= np.outer(z @ shared, shared)
    left, white_r = _whitened(r)
    right, white_z = _whitened(z)
    whitened = white_r.T @ gradient @ white_z * (L * V)

    matched = _assign(r @ (gradient - np.outer(gradient @ shared, shared)) @ z.T)
    candidates = [matched, _assign(left @ whitened @ right.T), _assign(_iterated(whitened, left, right))]
    best = min(candidates, key=lambda p: float(((whitened - left.T @ right[p]) ** 2).sum()))
    truth = np.arange(V)  # rows and columns are both in the order of the tokens
    return float((matched == truth).mean()), float((best == truth).mean())


def _whitened(rows: FloatArray) -> tuple[FloatArray, FloatArray]:
    """An orthonormal basis (V, k) of the column space of rows (V, d), and the (d, k) that maps rows to it."""
    u, s, wt = np.linalg.svd(rows, full_matrices=False)
    kept = s > RANK * s[0]
    return u[:, kept], wt[kept].T / s[kept]


def _assign(score: FloatArray) -> IntArray:
    """The assignment p of the greatest sum of score[j, p[j]]."""
    return scipy.optimize.linear_sum_assignment(score, maximize=True)[1]


def _iterated(whitened: FloatArray, left: FloatArray, right: FloatArray) -> FloatArray:
    """(V, V): how likely each pair is. Interference of the other pairs' present shares is taken away, then rows and
    columns are balanced to sum to one, until nothing moves."""
    V = len(left)
    unfold = V * V / whitened.size
    share = np.full((V, V), 1 / V)
    for _ in range(MOST_ROUNDS):
        rest = whitened - left.T @ share @ right
        noise = max(unfold * float((rest**2).mean()), RANK)
        logs = (share + unfold * (left @ rest @ right.T)) / noise
        for _ in range(BALANCES):
            logs -= logsumexp(logs, axis=1, keepdims=True)
            logs -= logsumexp(logs, axis=0, keepdims=True)
        update = (np.exp(logs) - share) / 2
        share += update
        if np.abs(update).max() < SETTLED:
            break
    return share
