"""Attention-MLP, the fast path: the three-step limit in matrix products over blocks of samples and neurons.

Values pass a fixed random layer: logits_j = z_out(j)^T Val phi(W_in h)/sqrt(m). From a zero start the first two
gradients still need every sequence's pre-activations W_in hbar, N m d multiplications that no table saves; but sums
over labels, and over the sequences that hold a token, replace the N V d of the logits and the N L d of the embedded
sequences. Equal to `reference` taken to the limit, on the same data.

Rows are indexed by the informative token, as in `three_step`.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable, Iterator

import numpy as np
from scipy import sparse

from ..settings import Setting
from .data import Embeddings, FloatArray, IntArray, Mlp, Samples
from .three_step import Trained, TrainingAttention, cancels, training_attention

NEURONS = 1 << 24  # entries of a table of labels by neurons
CHUNK = 1 << 21  # entries of a chunk's mean embeddings, and of its tokens
BLOCK = 1 << 18  # entries of a block of pre-activations: it should stay in the cache


@dataclasses.dataclass(frozen=True)
class Chunk:
    """Some sequences, sorted by label. `mean` (n, d) are their mean values hbar, `tokens` (n, V) sparse counts of the
    noise tokens, `informative` (n,)."""

    informative: IntArray
    tokens: sparse.csr_array
    mean: FloatArray

    def blocks(self, m: int) -> Iterator[slice]:
        """Rows, so few at a time that their pre-activations (n, m) stay in the cache."""
        rows = max(16, BLOCK // m)
        for start in range(0, len(self.informative), rows):
            yield slice(start, start + rows)


def chunks(setting: Setting, emb: Embeddings, samples: Samples) -> Iterator[Chunk]:
    """The N training sequences, in chunks of bounded size."""
    V, L = setting.V, setting.L
    rows = max(1, CHUNK // max(setting.d, L))
    informative = emb.informative_values(setting)
    for block in samples:
        for i in range(0, len(block.informative), rows):
            k, noise = block.informative[i:i + rows], block.noise[i:i + rows]
            n = len(k)
            ends = np.arange(n + 1, dtype=np.int32) * np.int32(L - 1)
            tokens = sparse.csr_array((np.ones(n * (L - 1)), noise.astype(np.int32).ravel(), ends), shape=(n, V))
            mean = tokens @ emb.z_in
            mean += informative[k]
            mean /= L
            yield Chunk(k, tokens, mean)


def add_by_label(total: FloatArray, label: IntArray, rows: FloatArray) -> None:
    """Add each of `rows` (n, ...) to the entry of `total` (V, ...) of its label; labels ascend."""
    starts = np.flatnonzero(np.diff(label, prepend=-1)).tolist()
    for start, end in itertools.pairwise([*starts, len(label)]):
        total[label[start]] += rows[start:end].sum(axis=0)


def step_one(chunked: Iterable[Chunk], mlp: Mlp, V: int) -> FloatArray:
    """(V, m): the sum of phi(W_in hbar) over the sequences of each label."""
    m = len(mlp.W_in)
    total = np.zeros((V, m))
    weights = np.ascontiguousarray(mlp.W_in.T)
    for chunk in chunked:
        for rows in chunk.blocks(m):
            add_by_label(total, chunk.informative[rows], mlp.phi.phi(chunk.mean[rows] @ weights))
    return total


def step_two(setting: Setting, emb: Embeddings, chunked: Iterable[Chunk], mlp: Mlp, pull: FloatArray) -> FloatArray:
    """This layer's share of N g (d,): sum over sequences of C_i b_i, C_i the covariance of keys and values and
    b_i = W_in^T (phi'(W_in hbar_i) * pull of its label); pull is (V, m)."""
    weights = np.ascontiguousarray(mlp.W_in.T)
    of_noise, of_informative = np.zeros_like(emb.z_in), np.zeros_like(emb.z_in)  # sums of b by token that is held
    centre, centre_weight = np.zeros(setting.d), 0.0
    for chunk in chunked:
        b = np.empty_like(chunk.mean)
        for rows in chunk.blocks(len(mlp.W_in)):
            slopes = mlp.phi.derivative(chunk.mean[rows] @ weights)
            slopes *= pull[chunk.informative[rows]]
            np.matmul(slopes, mlp.W_in, out=b[rows])
        of_noise += chunk.tokens.T @ b
        add_by_label(of_informative, chunk.informative, b)
        along = np.einsum("nd,nd->n", chunk.mean, b)
        centre += along @ chunk.mean
        centre_weight += float(along.sum())

    # (1/L) sum over positions of key (value . b), less mean key (mean value . b)
    weight = np.einsum("vd,vd->v", emb.informative_values(setting), of_informative)
    g = np.einsum("vd,vd->v", emb.z_in, of_noise) @ emb.z_in + weight @ emb.z_in + weight.sum() * emb.z_trig
    if not setting.trigger_in_value:  # mean keys are the mean values, and the trigger's share on top
        centre += centre_weight * emb.z_trig / setting.L
    return g / setting.L - centre


def step_three(setting: Setting, emb: Embeddings, attended: list[TrainingAttention],
               mlp: Mlp) -> tuple[FloatArray, FloatArray]:
    """This layer's share of Val2 phi(W_in h), up to 1/(N m): (V, d) for h the value of each informative token, and
    (V, d) for that of each noise token."""
    weights = mlp.W_in.T
    noise = emb.z_in @ weights  # pre-activations (V, m)
    informative = emb.informative_values(setting) @ weights
    of_informative, of_noise = mlp.phi.phi(informative), mlp.phi.phi(noise)
    total = np.zeros_like(noise)  # by label
    rows = max(1, BLOCK // len(mlp.W_in))
    for part in attended:
        total += part.right[:, None] * of_informative + part.wrong @ of_noise
        for i in range(0, len(part.label), rows):  # values mix as the attention does, before phi
            some = slice(i, i + rows)
            np.add.at(total, part.label[some], mlp.phi.phi(part.mixed(informative, noise, some)))
    val = emb.residuals.T @ total  # (d, m)
    return of_informative @ val.T, of_noise @ val.T


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
    if cancels(setting, emb, size**0.5, g, mlp):
        g = np.zeros_like(g)
    scores, trigger_score = emb.z_in @ g, float(emb.z_trig @ g)

    attended = list(training_attention(samples, scores, trigger_score))
    of_informative, of_noise = np.zeros_like(emb.z_in), np.zeros_like(emb.z_in)
    for layer in layers:
        informative, noise = step_three(setting, emb, attended, layer)
        of_informative += informative
        of_noise += noise
    out = emb.z_out[emb.label].T / (float(N) * m)  # (d, V)
    return Trained(scores, trigger_score, of_informative @ out, of_noise @ out)
