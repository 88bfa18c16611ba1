"""The loops over training tokens, which numba compiles to machine code, and activations as tables that it reads.

In all loops `informative` (n,) are the informative tokens of n sequences, which ascend, and `noise` (n, L-1) the
tokens at the other positions. NumPy has no function for any of them that passes over the tokens once.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..activations import FUNCTIONS, Activation
from ..numerics.arrays import BoolArray, FloatArray
from ..numerics.machine_code import compiled

Tokens = NDArray[np.integer[Any]]


@compiled
def softmax(informative: Tokens, noise: Tokens, scores: FloatArray,
            trigger_score: float) -> tuple[FloatArray, FloatArray]:
    """The attention (n,) of the informative position, and that (n, L-1) of the others: the softmax of the scores (V,)
    of the tokens, the trigger's on top where the token is informative."""
    own, weight = np.empty(len(informative)), np.empty(noise.shape)
    greatest = max(scores.max(), scores.max() + trigger_score)
    as_noise, as_informative = np.exp(scores - greatest), np.exp(scores + trigger_score - greatest)
    for i in range(len(informative)):
        own[i] = as_informative[informative[i]]
        total = own[i]
        for position in range(noise.shape[1]):
            weight[i, position] = as_noise[noise[i, position]]
            total += weight[i, position]

        if total < 1e-280:  # all of them may have underflowed: measure from the greatest of this sequence
            highest = scores[informative[i]] + trigger_score
            for position in range(noise.shape[1]):
                highest = max(highest, scores[noise[i, position]])
            own[i] = np.exp(scores[informative[i]] + trigger_score - highest)
            total = own[i]
            for position in range(noise.shape[1]):
                weight[i, position] = np.exp(scores[noise[i, position]] - highest)
                total += weight[i, position]

        own[i] /= total
        for position in range(noise.shape[1]):
            weight[i, position] /= total
    return own, weight


@compiled
def add_weights(row: Tokens, noise: Tokens, own: FloatArray, weight: FloatArray, table: FloatArray) -> None:
    """Add weight[i, position], of weight (n, L-1), to table[row[i], token] for each noise token of each sequence i, but
    for those whose informative position has all the attention, `own` (n,)."""
    for i in range(len(row)):
        if own[i] < 1:
            line = table[row[i]]
            for position in range(noise.shape[1]):
                line[noise[i, position]] += weight[i, position]


@compiled
def add_weighted(total: FloatArray, noise: Tokens, weight: FloatArray, values: FloatArray) -> None:
    """Add to total[i] the values (V, width) of the noise tokens of sequence i, each times its weight (n, L-1)."""
    for i in range(len(noise)):
        for position in range(noise.shape[1]):
            if weight[i, position] != 0:
                token = noise[i, position]
                for column in range(values.shape[1]):
                    total[i, column] += weight[i, position] * values[token, column]


@compiled
def add_pulls(row: Tokens, noise: Tokens, pull: FloatArray, own_pull: FloatArray, weight: FloatArray,
              own_weight: FloatArray) -> None:
    """Add each position's pull, less the mean over its sequence, to weight (V,) of its token, or to own_weight of its
    row at the informative position.

    pull (rows, V) is that of tokens as noise, own_pull (rows,) that of the informative position.
    """
    n, places = noise.shape
    for first in range(0, n, 4):
        # An addition to a sum waits for the one before it: four sums at a time take two thirds of the time.
        a, b, c, d = first, min(first + 1, n - 1), min(first + 2, n - 1), min(first + 3, n - 1)
        pull_a, pull_b, pull_c, pull_d = pull[row[a]], pull[row[b]], pull[row[c]], pull[row[d]]
        sum_a, sum_b, sum_c, sum_d = own_pull[row[a]], own_pull[row[b]], own_pull[row[c]], own_pull[row[d]]
        for position in range(places):
            sum_a += pull_a[noise[a, position]]
            sum_b += pull_b[noise[b, position]]
            sum_c += pull_c[noise[c, position]]
            sum_d += pull_d[noise[d, position]]

        sums = sum_a, sum_b, sum_c, sum_d
        for i in range(first, min(first + 4, n)):
            k = row[i]
            mean = sums[i - first] / (places + 1)
            own_weight[k] += own_pull[k] - mean
            for position in range(places):
                token = noise[i, position]
                weight[token] += pull[k, token] - mean


@compiled
def argmax(informative: Tokens, noise: Tokens, scores: FloatArray, trigger_score: float,
           width: float) -> tuple[FloatArray, FloatArray]:
    """As `softmax` in the limit of large scores: those within `width` of the greatest share the attention."""
    own, weight = np.ones(len(informative)), np.zeros(noise.shape)
    for i in range(len(informative)):
        score = scores[informative[i]] + trigger_score
        greatest = -np.inf
        for position in range(noise.shape[1]):
            greatest = max(greatest, scores[noise[i, position]])
        least = max(score, greatest) - width
        if greatest < least:
            continue

        own[i] = score >= least
        total = own[i]
        for position in range(noise.shape[1]):
            weight[i, position] = scores[noise[i, position]] >= least
            total += weight[i, position]

        if total > 1:
            own[i] /= total
            for position in range(noise.shape[1]):
                weight[i, position] /= total
    return own, weight


@compiled
def add_rows(total: FloatArray, index: Tokens, rows: FloatArray) -> None:
    """Add rows[i], of rows (n, width), to total[index[i, j]] for every j."""
    for i in range(len(index)):
        for j in range(index.shape[1]):
            for column in range(rows.shape[1]):
                total[index[i, j], column] += rows[i, column]


@compiled
def longest(rows: FloatArray) -> float:
    """The greatest Euclidean norm of rows (n, width), 0 without any."""
    greatest = 0.0
    for i in range(len(rows)):
        square = 0.0
        for column in range(rows.shape[1]):
            square += rows[i, column] ** 2
        greatest = max(greatest, square)
    return float(np.sqrt(greatest))


@compiled
def answers(logits: FloatArray, tie: float) -> tuple[BoolArray, Tokens]:
    """Where (n, V) the entries of logits (n, V) are the largest of their row, several where they tie, and how many
    (n,) these are. They tie within `tie` of the largest of all entries, by its size."""
    near, number, most = np.empty(logits.shape, np.bool_), np.zeros(len(logits), np.intp), np.empty(len(logits))
    size = 0.0
    for i in range(len(logits)):
        largest = smallest = logits[i, 0]
        for j in range(1, logits.shape[1]):
            x = logits[i, j]
            largest = x if x > largest else largest
            smallest = x if x < smallest else smallest
        most[i] = largest
        size = max(size, largest, -smallest)
    for i in range(len(logits)):
        for j in range(logits.shape[1]):
            near[i, j] = logits[i, j] >= most[i] - tie * size
            number[i] += near[i, j]
    return near, number


@compiled
def piecewise(pieces: FloatArray, start: float, per_unit: float, x: FloatArray, result: FloatArray) -> bool:
    """Write the piecewise polynomial of degree 5 at x (n, width) into result; False, and unfinished, if some x lies
    beyond its pieces or is NaN.

    pieces (number, 6) hold its coefficients, lowest first, in the distance from each piece's lower end, in its lengths;
    there are `per_unit` of them a unit, from `start` on.
    """
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            place = (x[i, j] - start) * per_unit
            if not 0 <= place < len(pieces):
                return False
            piece = int(place)
            t = place - piece
            c = pieces[piece]
            result[i, j] = c[0] + t * (c[1] + t * (c[2] + t * (c[3] + t * (c[4] + t * c[5]))))
    return True


# --- activations that NumPy and SciPy evaluate number by number --------------------------------------------
# The error function takes SciPy 10 ns a number, a table of polynomials 2 to 3. Its error is that of rounding, which is
# checked as it is made.

Function = Callable[[FloatArray], FloatArray]

NUMBER_BY_NUMBER = {"erf", "gelu", "sigmoid", "silu", "softplus"}
TABLE_END = 10.0  # the table's; inputs are of size one
PER_UNIT = 64  # pieces
DEGREE = 5
TABLE_ROUNDING = 1e-14  # of the largest value: what the table may be off by


@functools.lru_cache(maxsize=16)
def fast_activation(phi: Activation) -> tuple[Function, Function]:
    """phi and its derivative as functions of arrays (n, width), by a table where that is faster and as exact."""
    if phi.kinks or not NUMBER_BY_NUMBER & set(re.findall("[a-z]+", phi.name)):
        return FUNCTIONS.get(phi.name, (phi.phi, phi.derivative))  # relu and tanh: no walk of a tree
    return _tabulated(phi.phi), _tabulated(phi.derivative)


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
        return result if piecewise(pieces, -TABLE_END, PER_UNIT, x, result) else function(x)

    between = lower + np.arange(1, 8) / (8 * PER_UNIT)
    exact = function(between)
    error = np.abs(by_table(between) - exact).max()
    return by_table if error <= TABLE_ROUNDING * np.abs(exact).max() else function
