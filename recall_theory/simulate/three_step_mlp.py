"""Attention-MLP, the fast path: the three-step limit in matrix products over blocks of samples and neurons.

Values pass a fixed random layer: logits_j = z_out(j)^T Val phi(W_in h)/sqrt(m). The first two gradients still need
every sequence's pre-activations W_in hbar, N m d multiplications that no table saves; but sums over labels, and over
the sequences that hold a token, replace the N V d of the logits and the N L d of the embedded sequences. Equal to
`reference` taken to the limit, on the same data. Rows are indexed by the informative token, as in `three_step`.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Iterator

import numpy as np

from ..activations import Activation
from ..numerics.arrays import FloatArray
from ..settings import Setting
from . import loops
from .data import Block, Embeddings, Mlp, Samples
from .three_step import Trained, attended_sums, cancels

TABLE_ENTRIES = 1 << 24  # entries of a table of labels by neurons
BLOCK_ENTRIES = 1 << 18  # entries of a block of pre-activations: it should stay in the cache

# Activations that NumPy and SciPy evaluate number by number are piecewise polynomials here. The error function takes
# them 10 ns a number, a table of polynomials 2 to 3. Its error is that of rounding, and checked.
Function = Callable[[FloatArray], FloatArray]
NUMBER_BY_NUMBER = {"erf", "gelu", "sigmoid", "silu", "softplus"}
TABLE_END = 10.0  # the table's; inputs are of size one
PER_UNIT = 64  # pieces
DEGREE = 5
TABLE_ROUNDING = 1e-14  # of the largest value: what the table may be off by


def fast_activation(phi: Activation) -> tuple[Function, Function]:
    """phi and its derivative as functions of arrays (n, width), by a table where that is faster and as exact."""
    if phi.kinks or not NUMBER_BY_NUMBER & set(re.findall("[a-z]+", phi.name)):
        return phi.phi, phi.derivative
    return _tabulated(phi.phi), _tabulated(phi.derivative)


@functools.lru_cache(maxsize=16)
def _tabulated(function: Function) -> Function:
    """The function by a table within TABLE_END; by itself for an array that goes beyond, or where no table is exact.

    Each piece interpolates at its Chebyshev points.
    """
    lower = np.arange(-TABLE_END, TABLE_END, 1 / PER_UNIT)[:, None]
    points = (1 + np.cos(np.pi * (np.arange(DEGREE + 1) + 0.5) / (DEGREE + 1))) / 2
    at_points = function(lower + points / PER_UNIT)
    pieces = np.array(np.linalg.solve(np.vander(points, increasing=True), at_points.T).T, dtype=float, order="C")

    def by_table(x: FloatArray) -> FloatArray:
        result = np.empty_like(x)
        loops.piecewise(pieces, -TABLE_END, PER_UNIT, x, result)
        return result

    between = lower + np.arange(1, 8) / (8 * PER_UNIT)
    exact = function(between)
    if not np.abs(by_table(between) - exact).max() <= TABLE_ROUNDING * np.abs(exact).max():
        return function
    return lambda x: by_table(x) if max(x.max(initial=0), -x.min(initial=0)) < TABLE_END else function(x)


def rows_of_block(mlp: Mlp) -> int:
    """How many sequences a block takes."""
    return max(16, BLOCK_ENTRIES // len(mlp.W_in))


def mean_values(setting: Setting, emb: Embeddings, samples: Samples, mlp: Mlp) -> Iterator[tuple[Block, FloatArray]]:
    """The training sequences with their mean values hbar (n, d)."""
    informative = emb.informative_values(setting)
    for block in samples.blocks(rows=rows_of_block(mlp)):
        mean = informative[block.informative]
        loops.add_weighted(mean, block.noise, np.ones(block.noise.shape), emb.z_in)
        mean /= setting.L
        yield block, mean


def add_by_label(total: FloatArray, block: Block, rows: FloatArray) -> None:
    """Add each of `rows` (n, width) to the row of `total` (V, width) of its label."""
    loops.add_rows(total, block.informative[:, None], rows, np.arange(len(rows)))


def summed_features(V: int, mlp: Mlp, attended: Iterable[tuple[Block, FloatArray]]) -> FloatArray:
    """(V, m): the sum over the sequences of each label of phi(W_in h), h (n, d) what a block of them attends to."""
    phi, _ = fast_activation(mlp.phi)
    weights = np.ascontiguousarray(mlp.W_in.T)
    total = np.zeros((V, len(mlp.W_in)))
    for block, h in attended:
        add_by_label(total, block, phi(h @ weights))
    return total


def step_two(setting: Setting, emb: Embeddings, samples: Samples, mlp: Mlp, pull: FloatArray) -> FloatArray:
    """This layer's share of N g (d,): sum over sequences of C_i b_i, C_i the covariance of keys and values and
    b_i = W_in^T (phi'(W_in hbar_i) * pull of its label); pull is (V, m)."""
    _, derivative = fast_activation(mlp.phi)
    weights = np.ascontiguousarray(mlp.W_in.T)
    of_noise, of_informative = np.zeros_like(emb.z_in), np.zeros_like(emb.z_in)  # sums of b by token that is held
    centre, centre_weight = np.zeros(setting.d), 0.0
    for block, mean in mean_values(setting, emb, samples, mlp):
        slopes = derivative(mean @ weights)
        slopes *= pull[block.informative]
        b = slopes @ mlp.W_in
        loops.add_rows(of_noise, block.noise, b, np.arange(len(b)))
        add_by_label(of_informative, block, b)
        along = np.einsum("nd,nd->n", mean, b)
        centre += along @ mean
        centre_weight += float(along.sum())

    # (1/L) sum over positions of key (value . b), less mean key (mean value . b)
    weight = np.einsum("vd,vd->v", emb.informative_values(setting), of_informative)
    g = np.einsum("vd,vd->v", emb.z_in, of_noise) @ emb.z_in + weight @ emb.z_in + weight.sum() * emb.z_trig
    if not setting.trigger_in_value:  # mean keys are the mean values, and the trigger's share on top
        centre += centre_weight * emb.z_trig / setting.L
    return g / setting.L - centre


def step_three(setting: Setting, emb: Embeddings, samples: Samples, mlp: Mlp, scores: FloatArray,
               trigger_score: float) -> tuple[FloatArray, FloatArray]:
    """This layer's share of Val2 phi(W_in h), up to 1/(N m): (V, d) for h the value of each informative token, and
    (V, d) for that of each noise token."""
    phi, _ = fast_activation(mlp.phi)
    informative, noise = emb.informative_values(setting) @ mlp.W_in.T, emb.z_in @ mlp.W_in.T  # (V, m)
    val = emb.residuals.T @ attended_sums(samples, scores, trigger_score, informative, noise, phi)  # (d, m)
    return phi(informative) @ val.T, phi(noise) @ val.T


def layers_of(setting: Setting, mlp: Mlp) -> list[Mlp]:
    """The layer in parts, of so many neurons each as are worked on together."""
    width = max(1, TABLE_ENTRIES // setting.V)
    return [Mlp(mlp.W_in[i:i + width], mlp.phi) for i in range(0, len(mlp.W_in), width)]


def attention_scores(setting: Setting, emb: Embeddings, samples: Samples, mlp: Mlp) -> tuple[FloatArray, float]:
    """z_b.g of every token b, shape (V,), and z_trig.g: what steps one and two leave."""
    N, m = setting.N, len(mlp.W_in)
    residual = emb.residuals  # (V, d)
    g, size = np.zeros(setting.d), 0.0
    for layer in layers_of(setting, mlp):
        means = mean_values(setting, emb, samples, layer)
        val1 = residual.T @ summed_features(setting.V, layer, means)  # N sqrt(m) Val1
        size += float((val1**2).sum()) / (float(N)**2 * m)
        g += step_two(setting, emb, samples, layer, residual @ val1)
    g /= float(N) * N * m
    if cancels(setting, emb, size**0.5, g, mlp):
        g = np.zeros_like(g)
    return emb.z_in @ g, float(emb.z_trig @ g)


def train(setting: Setting, emb: Embeddings, samples: Samples, mlp: Mlp) -> Trained:
    """Three steps of gradient descent in the limit eta -> 0, eta*gamma -> infinity."""
    scores, trigger_score = attention_scores(setting, emb, samples, mlp)
    right, wrong = np.zeros_like(emb.z_in), np.zeros_like(emb.z_in)
    for layer in layers_of(setting, mlp):
        informative, noise = step_three(setting, emb, samples, layer, scores, trigger_score)
        right += informative
        wrong += noise
    return Trained(scores, trigger_score, right, wrong, emb.u.T / (float(setting.N) * len(mlp.W_in)))
