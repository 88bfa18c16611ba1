"""Attention-MLP, the fast path: the three-step limit in matrix products over blocks of samples and neurons.

Values pass a fixed random layer: logits_j = z_out(j)^T Val phi(W_in h)/sqrt(m). From a zero start the
first two gradients still need every sequence's pre-activations W_in hbar, N m d multiplications that no
table saves; but sums over labels, and over the sequences that hold a token, replace the N V d of the
logits and the N L d of the embedded sequences. Equal to `mlp_explicit` taken to the limit, on the same data.

Rows are indexed by the informative token, as in `counts`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..activation import Activation, activation
from ..settings import Setting
from .data import Embeddings, FloatArray, Samples
from .three_step import NOTHING, Trained, argmax_attention, ranking

IntArray = NDArray[np.intp]

NEURONS = 1 << 24  # entries of a table of labels by neurons
CHUNK = 1 << 21  # entries of a chunk's mean embeddings, and of its tokens
BLOCK = 1 << 18  # entries of a block of pre-activations: it should stay in the cache


@dataclasses.dataclass(frozen=True)
class Mlp:
    """The fixed layer: W_in (m, d), entries iid N(0, 1), and the activation."""

    W_in: FloatArray
    phi: Activation

    def part(self, neurons: slice) -> Mlp:
        """The same layer with some of its neurons."""
        return Mlp(self.W_in[neurons], self.phi)


def draw_mlp(setting: Setting, rng: np.random.Generator) -> Mlp:
    """The layer of one seed."""
    assert setting.m is not None
    return Mlp(rng.standard_normal((setting.m, setting.d)), activation(setting.activation))


@dataclasses.dataclass(frozen=True)
class Chunk:
    """Some sequences, sorted by label. `mean` (n, d) are their mean values hbar, `tokens` (n, V) sparse
    counts of the noise tokens, `informative` (n,)."""

    informative: IntArray
    tokens: sparse.csr_array
    mean: FloatArray


def chunks(setting: Setting, emb: Embeddings, samples: Samples) -> Iterator[Chunk]:
    """The N training sequences, in chunks of bounded size."""
    V, L = setting.V, setting.L
    rows = max(1, CHUNK // max(setting.d, L))
    own = emb.z_in + emb.z_trig if setting.trigger_in_value else emb.z_in  # (V, d)
    for block in samples:
        for i in range(0, len(block.informative), rows):
            k, noise = block.informative[i:i + rows], block.noise[i:i + rows]
            n = len(k)
            ends = np.arange(n + 1, dtype=np.int32) * np.int32(L - 1)
            tokens = sparse.csr_array((np.ones(n * (L - 1)), noise.astype(np.int32).ravel(), ends),
                                      shape=(n, V))
            mean = tokens @ emb.z_in
            mean += own[k]
            mean /= L
            yield Chunk(k, tokens, mean)


def label_runs(informative: IntArray) -> list[tuple[int, int, int]]:
    """(token, first row, end) of each run of equal informative tokens."""
    starts = [0, *(np.flatnonzero(np.diff(informative)) + 1).tolist()]
    ends = [*starts[1:], len(informative)]
    return list(zip(informative[starts].tolist(), starts, ends, strict=True))


def blocks(chunk: Chunk, m: int) -> Iterator[tuple[slice, list[tuple[int, slice]]]]:
    """Rows of a chunk, so many that their pre-activations stay in the cache, and the runs of equal
    informative tokens among them as (token, rows of the block)."""
    rows = max(16, BLOCK // m)
    runs: list[tuple[int, slice]] = []
    start, n = 0, len(chunk.informative)
    for k, first, end in label_runs(chunk.informative):
        while first < end:
            stop = min(end, start + rows)
            runs.append((k, slice(first - start, stop - start)))
            first = stop
            if stop == start + rows or stop == n:
                yield slice(start, stop), runs
                start, runs = stop, []


def step_one(chunked: list[Chunk] | Iterator[Chunk], mlp: Mlp, V: int) -> FloatArray:
    """(V, m): the sum of phi(W_in hbar) over the sequences of each label."""
    m = len(mlp.W_in)
    total = np.zeros((V, m))
    weights = np.ascontiguousarray(mlp.W_in.T)
    for chunk in chunked:
        for rows, runs in blocks(chunk, m):
            features = mlp.phi.phi(chunk.mean[rows] @ weights)
            for k, run in runs:
                total[k] += features[run].sum(axis=0)
    return total


def step_two(setting: Setting, emb: Embeddings, chunked: list[Chunk] | Iterator[Chunk], mlp: Mlp,
             pull: FloatArray) -> FloatArray:
    """This layer's share of N g (d,): sum over sequences of C_i b_i, C_i the covariance of keys and values
    and b_i = W_in^T (phi'(W_in hbar_i) * pull of its label); pull is (V, m)."""
    V, L, d = setting.V, setting.L, setting.d
    m = len(mlp.W_in)
    weights = np.ascontiguousarray(mlp.W_in.T)
    trigger = emb.z_trig if setting.trigger_in_value else np.zeros(d)  # its part of the values
    of_noise, of_own = np.zeros((V, d)), np.zeros((V, d))  # sums of b over the sequences that hold a token
    centre, centre_weight = np.zeros(d), 0.0
    for chunk in chunked:
        b = np.empty_like(chunk.mean)
        for rows, runs in blocks(chunk, m):
            slopes = mlp.phi.derivative(chunk.mean[rows] @ weights)
            for k, run in runs:
                slopes[run] *= pull[k]
            np.matmul(slopes, mlp.W_in, out=b[rows])
        of_noise += chunk.tokens.T @ b
        for k, first, end in label_runs(chunk.informative):
            of_own[k] += b[first:end].sum(axis=0)
        along = np.einsum("nd,nd->n", chunk.mean, b)
        centre += along @ chunk.mean
        centre_weight += float(along.sum())
    # (1/L) sum over positions of key (value . b), less mean key (mean value . b)
    own = np.einsum("vd,vd->v", emb.z_in + trigger, of_own)
    g = np.einsum("vd,vd->v", emb.z_in, of_noise) @ emb.z_in + own @ emb.z_in + own.sum() * emb.z_trig
    result: FloatArray = g / L - centre - centre_weight * (emb.z_trig - trigger) / L
    return result


def cancels(setting: Setting, emb: Embeddings, mlp: Mlp, size: float, g: FloatArray) -> bool:
    """Whether g (d,) is zero but for rounding, as in `counts.cancels`: |Val1| = size, and the slopes of phi are at most
    what they are at the largest input that a value can make."""
    longest = float(np.linalg.norm(emb.z_in, axis=1).max())
    trigger = float(np.linalg.norm(emb.z_trig))
    value = longest + setting.trigger_in_value * trigger
    reach = float(np.linalg.norm(mlp.W_in, axis=1).max()) * value
    slope = float(np.abs(mlp.phi.derivative(np.linspace(-reach, reach, 1001))).max())
    back = slope * float(np.linalg.norm(mlp.W_in)) / len(mlp.W_in)**0.5
    pull = size * float(np.linalg.norm(emb.z_out, axis=1).max()) * back
    return float(np.linalg.norm(g)) <= NOTHING * pull * value * (longest + trigger)


@dataclasses.dataclass(frozen=True)
class Attended:
    """What step three attends to: `right` (V,) counts of the informative position by label, `wrong` (V, V)
    counts of noise tokens by label; of the n sequences that tie, `label` (n,), `share` (n,) on the informative position
    and `rest` (n, V) on noise tokens."""

    right: FloatArray
    wrong: sparse.csr_array
    label: IntArray
    share: FloatArray
    rest: sparse.csr_array


def attended(setting: Setting, samples: Samples, scores: FloatArray, trigger_score: float) -> Attended:
    """Where the attention of each training sequence goes, counted."""
    V = setting.V
    by = ranking(scores, trigger_score)
    right = np.zeros(V)
    labels, picks, tied, shares, rests = [], [], [], [], []
    for block in samples:
        k = block.informative
        seen = argmax_attention(by, k, block.noise)
        settled = np.ones(len(k), dtype=bool)
        settled[seen.tied] = False
        right += np.bincount(k[settled & (seen.share == 1)], minlength=V)
        labels.append(k[seen.lost])
        picks.append(seen.best[seen.lost])
        tied.append(k[seen.tied])
        shares.append(seen.share[seen.tied])
        row = np.repeat(np.arange(len(seen.tied)), seen.rest.shape[1])
        rests.append(sparse.coo_array((seen.rest.ravel(), (row, block.noise[seen.tied].ravel())),
                                      shape=(len(seen.tied), V)))
    rows, columns = np.concatenate(labels), np.concatenate(picks)
    wrong = sparse.coo_array((np.ones(len(rows)), (rows, columns)), shape=(V, V)).tocsr()
    return Attended(right, wrong, np.concatenate(tied), np.concatenate(shares), sparse.vstack(rests).tocsr())


def step_three(setting: Setting, emb: Embeddings, seen: Attended, mlp: Mlp) -> tuple[FloatArray, FloatArray]:
    """This layer's share of Val2 phi(W_in h), up to 1/(N m): (V, d) for h the value of each informative token,
    and (V, d) for that of each noise token."""
    weights = mlp.W_in.T
    noise = emb.z_in @ weights  # pre-activations (V, m)
    trigger = emb.z_trig @ weights if setting.trigger_in_value else np.zeros(len(mlp.W_in))
    of_right = mlp.phi.phi(noise + trigger)
    of_wrong = mlp.phi.phi(noise)
    total = seen.right[:, None] * of_right + seen.wrong @ of_wrong  # by label
    rows = max(1, BLOCK // len(mlp.W_in))
    for i in range(0, len(seen.label), rows):  # values mix as the attention does, before phi
        part = slice(i, i + rows)
        k = seen.label[part]
        mixed = seen.rest[part] @ noise + seen.share[part, None] * (noise[k] + trigger)
        np.add.at(total, k, mlp.phi.phi(mixed))
    val = emb.residuals.T @ total  # (d, m)
    return of_right @ val.T, of_wrong @ val.T


def train(setting: Setting, emb: Embeddings, samples: Samples, mlp: Mlp) -> Trained:
    """Three steps of gradient descent in the limit eta -> 0, eta*gamma -> infinity."""
    V, N, m = setting.V, setting.N, len(mlp.W_in)
    width = max(1, NEURONS // V)
    layers = [mlp.part(slice(i, i + width)) for i in range(0, m, width)]
    residual = emb.residuals  # (V, d)
    g, size = np.zeros(setting.d), 0.0
    for layer in layers:
        sums = step_one(chunks(setting, emb, samples), layer, V)
        val1 = residual.T @ sums  # N sqrt(m) Val1
        size += float((val1**2).sum()) / (float(N)**2 * m)
        pull = residual @ val1  # for each label
        g += step_two(setting, emb, chunks(setting, emb, samples), layer, pull)
    g /= float(N) * N * m
    if cancels(setting, emb, mlp, size**0.5, g):
        g = np.zeros_like(g)
    scores, trigger_score = emb.z_in @ g, float(emb.z_trig @ g)
    seen = attended(setting, samples, scores, trigger_score)
    of_right, of_wrong = np.zeros((V, setting.d)), np.zeros((V, setting.d))
    for layer in layers:
        right, wrong = step_three(setting, emb, seen, layer)
        of_right += right
        of_wrong += wrong
    out = emb.z_out[emb.label].T / (float(N) * m)  # (d, V)
    return Trained(scores, trigger_score, of_right @ out, of_wrong @ out)
