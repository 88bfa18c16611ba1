"""Memories without the three steps: Hebbian ones, the best linear ones, ones of Zipf facts; and readers of a gradient.

The readers are learners that see the first gradient step Val1, in noise or not, and nothing else. A memory is asked
with the token's own embedding, without the trigger, whether or not the trigger was in the values that were stored. The
noise is Gaussian with the covariance that the L - 1 noise tokens of the N samples give the gradient: as if a Gaussian
variable of a count's variance N (L-1)/V^2 were added to each entry of the label-by-token table. The learners know the
embeddings and N. Two of them answer each question by itself; the others know that the answer is a permutation, and
assign all labels at once.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.special import logsumexp

from ..numerics.arrays import FloatArray, Observable, zipf_frequencies
from ..numerics.unit_sphere import random_rows
from ..settings import Setting, SettingError, check_seed, check_seeds
from .data import Embeddings, IntArray, Samples, draw_embeddings
from .observables import credit
from .three_step import step_one

ROWS = 1024  # keys read out at a time
MOST_NUMBERS = 2**28  # of keys and outputs, or of a block's scores: 2 GiB
MOST_STEPS = 4000  # of the optimiser that looks for a memory


def over_seeds(one: Callable[[np.random.Generator], float], seeds: int, seed: int | None) -> Observable:
    """What `one` draws and measures, one value a seed."""
    check_seeds(seeds)
    root = np.random.SeedSequence(check_seed(seed))
    return Observable(np.array([one(np.random.default_rng(s)) for s in root.spawn(seeds)]))


def _answers(keys: FloatArray, outputs: FloatArray, *factors: FloatArray) -> IntArray:
    """(n,): which of the outputs (classes, d) has the greatest product with what a memory makes of each key (n, d).
    The memory is the product of `factors`, the one next to the key last."""
    answers = np.empty(len(keys), dtype=np.intp)
    for i in range(0, len(keys), ROWS):
        values = keys[i:i + ROWS]
        for factor in reversed(factors):
            values = values @ factor.T
        answers[i:i + ROWS] = (values @ outputs.T).argmax(axis=1)
    return answers


def check_hebbian_size(n: int, d: int) -> None:
    """Raise `SettingError` where a memory of n facts in d dimensions would not fit into some gigabytes."""
    if max(2 * n * d, min(2 * ROWS, n) * n) > MOST_NUMBERS:
        raise SettingError("n", f"a simulated memory of {n:,} facts in {d:,} dimensions does not fit: keys and "
                           f"outputs, or the scores, are more than {MOST_NUMBERS:,} numbers")


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
    check_hebbian_size(n, d)
    asked = n if questions is None else min(n, questions)
    return over_seeds(lambda rng: one_hebbian_memory(n, d, embedding, rank or d, asked, rng), seeds, seed)


def one_hebbian_memory(n: int, d: int, embedding: str, rank: int, asked: int, rng: np.random.Generator) -> float:
    """The fraction of its first facts, `asked` of n, that one memory recalls; outputs have `rank` dimensions."""
    keys, outputs = random_rows(rng, n, d, embedding), random_rows(rng, n, rank, embedding)
    W = outputs.T @ keys  # (rank, d), the sum of outer products; fact x maps key x to output x
    return int((_answers(keys[:asked], outputs, W) == np.arange(asked)).sum()) / asked


@dataclasses.dataclass(frozen=True)
class Separation:
    """`separable`: True with a memory (d, d) that recalls all facts, False with a proof that there is none, None
    where the optimiser stopped before either; `recall` of the last memory."""

    separable: bool | None
    memory: FloatArray
    recall: float


class _Separated(Exception):
    """A memory that recalls all facts stands."""


def separate(keys: FloatArray, outputs: FloatArray) -> Separation:
    """Look for W with <u_x, W e_x> > <u_z, W e_x> for all facts x and z != x, keys (n, d) and outputs (n, d).

    The squared hinge loss, sum over pairs of max(0, 1 - margin)^2, is convex and minimised by L-BFGS (scipy). If all
    margins are positive, W is the memory. If the gradient vanishes at a positive loss, the hinge's pulls are
    multipliers >= 0, not all zero, under which the margins of *every* W average to zero: no W has all of them
    positive (Gordan). Here "vanishes" allows what rounding and the optimiser leave, one part in 10^5 of the pulls.

    >>> rng = np.random.default_rng(0)
    >>> keys, outputs = rng.standard_normal((2, 8, 8))
    >>> separate(keys, outputs).separable
    True
    """
    from scipy.optimize import minimize

    n, d = keys.shape
    total_pull = 0.0

    def loss(flat: FloatArray) -> tuple[float, FloatArray]:
        nonlocal total_pull
        scores = keys @ flat.reshape(d, d).T @ outputs.T  # (n, n)
        margin = scores.diagonal()[:, None] - scores
        np.fill_diagonal(margin, np.inf)
        if margin.min() > 0:
            raise _Separated(flat.reshape(d, d).copy())
        pull = np.maximum(1 - margin, 0)
        value = 0.5 * float((pull**2).sum()) / n
        np.fill_diagonal(pull, -pull.sum(axis=1))
        total_pull = float(np.abs(pull).sum()) / n
        return value, (outputs.T @ pull.T @ keys / n).ravel()

    try:
        end = minimize(loss, (outputs.T @ keys).ravel(), jac=True, method="L-BFGS-B",
                       options={"maxiter": MOST_STEPS, "maxfun": 2 * MOST_STEPS, "maxcor": 20, "ftol": 0, "gtol": 0})
    except _Separated as stop:
        return Separation(True, stop.args[0], 1.0)
    W = end.x.reshape(d, d)
    value, gradient = loss(end.x)
    certain = value > 0 and np.abs(gradient).max() <= 1e-5 * total_pull
    recall = float((_answers(keys, outputs, W) == np.arange(n)).mean())
    return Separation(False if certain else None, W, recall)


def zipf_error(alpha: float, d: int, facts: int, weight: Callable[[FloatArray], FloatArray], classes: int | None = None,
               *, questions: int | None = None, seeds: int = 32, seed: int | None = None) -> Observable:
    """How often memories err that store fact x with a weight, W = sum_x weight(p)_x u_f(x) e_x^T, one value a seed.

    `weight` maps the frequencies (facts,) to weights (facts,) >= 0; facts of weight 0 are not stored. Without `classes`
    each stored fact has an output of its own, and those of the others are no candidates; else f draws one of `classes`
    outputs for each fact. Gaussian embeddings. Every fact is asked and counts with its frequency; with `questions`, the
    first so many are, and as many of the others, drawn at random, answer for them.

    >>> error = zipf_error(2.0, 32, 50, lambda p: (p >= p[9]) * 1.0, seeds=4, seed=0)
    >>> round(float(error.mean), 4)
    0.0702
    """
    p = zipf_frequencies(facts, alpha)
    q = weight(p)
    first = facts if questions is None else min(questions, facts)
    return over_seeds(lambda rng: float(p @ _wrong(q, d, classes, first, rng)), seeds, seed)


def _wrong(q: FloatArray, d: int, classes: int | None, first: int, rng: np.random.Generator) -> FloatArray:
    """(facts,): 1 where one memory errs. Facts of equal weight share the mean over them: which of them is the more
    frequent makes no difference to the law, and much to the scatter."""
    stored = np.flatnonzero(q)
    keys = random_rows(rng, len(q), d, "gaussian")
    outputs = random_rows(rng, len(stored) if classes is None else classes, d, "gaussian")
    if classes is None:
        label = np.full(len(q), -1)
        label[stored] = np.arange(len(stored))
    else:
        label = rng.integers(classes, size=len(q))
    others = rng.choice(np.arange(first, len(q)), min(first, len(q) - first), replace=False)

    held, weighted = outputs[label[stored]], q[stored, None] * keys[stored]  # (stored, d) each
    # The memory (d, d) itself; where it is larger than its factors, these in its place.
    factors = [held.T @ weighted] if d < len(stored) else [held.T, weighted]
    asked = np.concatenate([np.arange(first), others])
    asked = asked[(q[asked] > 0) | (classes is not None)]
    wrong = np.ones(len(q))
    wrong[asked] = _answers(keys[asked], outputs, *factors) != label[asked]
    if len(others):
        wrong[first:] = wrong[others].mean()
    _, group = np.unique(q, return_inverse=True)
    return (np.bincount(group, wrong) / np.bincount(group))[group]


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
    misfit = [float(((whitened - left.T @ right[p]) ** 2).sum()) for p in candidates]
    best = candidates[int(np.argmin(misfit))]
    truth = np.arange(V)  # rows and columns are both in the order of the tokens
    return float((matched == truth).mean()), float((best == truth).mean())


def _whitened(rows: FloatArray) -> tuple[FloatArray, FloatArray]:
    """An orthonormal basis (V, k) of the column space of rows (V, d), and the (d, k) that maps rows to it."""
    u, s, wt = np.linalg.svd(rows, full_matrices=False)
    kept = s > RANK * s[0]
    return u[:, kept], wt[kept].T / s[kept]


def _assign(score: FloatArray) -> IntArray:
    """The assignment p of the greatest sum of score[j, p[j]]."""
    return linear_sum_assignment(score, maximize=True)[1]


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
