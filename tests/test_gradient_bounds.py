"""Bounds by what the learner sees of the first gradient: in noise, in bits, by queries; and a lattice decoder."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from command_line import call
from scipy.optimize import linear_sum_assignment
from sympy import ZZ
from sympy.polys.matrices import DomainMatrix

from recall_theory.theory.bounds import bounds_at
from recall_theory.theory.formulas import lower_bounds as bounds

SMALL = {"V": 6, "L": 4, "d": 2, "N": 24}
BITS = 45


def lattice_recall(seed: int, V: int, L: int, d: int, N: int, bits: int) -> float:
    """Recall from one plain gradient, its entries rounded to `bits`: the table of counts is the short vector of a
    lattice, up to a constant a column, which no assignment sees; the permutation is the assignment that fits best."""
    rng = np.random.default_rng([seed, bits])
    z, u, trigger = rng.standard_normal((V, d)), rng.standard_normal((V, d)), rng.standard_normal(d)
    label = rng.permutation(V)
    tokens = rng.integers(V, size=(N, L))
    counts = np.zeros((V, V), dtype=int)  # of tokens in the sequences of a label; the first is the informative one
    np.add.at(counts, (np.repeat(label[tokens[:, 0]], L), tokens.ravel()), 1)
    r = u - u.mean(axis=0)
    columns = np.einsum("yi,bj->ybij", r, z + trigger / L).reshape(V * V, d * d)
    gradient = counts.ravel() @ columns  # N L Val1
    unit = np.abs(gradient).max() / 2 ** (bits - 1)
    told = np.rint(gradient / unit)

    fine, mean = 4, round(N * L / V**2)
    target = [round(x) for x in fine * (told - mean * columns.sum(axis=0) / unit)]
    exact = [[round(fine * x / unit) for x in row] for row in columns]
    rows = [[int(i == k) for k in range(V * V)] + exact[i] + [2**12, 0] for i in range(V * V)]
    rows.append([0] * V * V + [-x for x in target] + [-(N * L - V**2 * mean) * 2**12, 3])
    short = DomainMatrix(rows, (V * V + 1, V * V + d * d + 2), ZZ).lll().to_list()
    found = next((row for row in short if abs(row[-1]) == 3), None)
    if found is None:
        return 1 / V
    table = np.array([int(x) for x in found[:V * V]]).reshape(V, V) * (1 if found[-1] == 3 else -1)
    _, token = linear_sum_assignment(table, maximize=True)
    return float((label[token] == np.arange(V)).mean())


def test_a_lattice_decoder_beats_the_noisy_bound_and_not_the_one_in_bits():
    """The plain gradient of 45 bits: the headline says which access each bound assumes, and neither is violated."""
    recall = np.array([lattice_recall(seed, **SMALL, bits=BITS) for seed in range(24)])
    error = recall.std(ddof=1) / len(recall) ** 0.5
    found = bounds_at(**SMALL, bits=BITS)
    noisy, plain = found["gradient access"], found["gradient in bits"]
    assert noisy.recall == pytest.approx(0.587, abs=0.001) and recall.mean() > noisy.recall + 5 * error
    assert noisy.access == "gradient + noise" and plain.access == "gradient, 45 bits"
    assert plain.details["nats"] == pytest.approx(4 * 45 * math.log(2)) and recall.mean() <= plain.recall == 1
    text = call("bounds", *(x for name, size in SMALL.items() for x in (f"--{name}", str(size))), "--bits", "45",
                columns=100)[1]
    assert " sees " in text and "gradient + noise" in text and "gradient, 45 bits" in text


@pytest.mark.parametrize("bits", [1, 2, 3])
def test_few_bits_cannot_tell_more_than_they_are(bits):
    """At d = 1 the gradient is one number: all of a 4-token world, its best learner, and the bound."""
    V, N = 4, 3
    rng = np.random.default_rng(1)
    z, u, trigger = rng.standard_normal(V), rng.standard_normal(V), rng.standard_normal()
    r = u - u.mean()
    tokens = np.array(list(itertools.product(range(V), repeat=2 * N))).reshape(-1, N, 2)
    permutations = np.array(list(itertools.permutations(range(V))))
    values = np.array([(r[pi[tokens[:, :, 0]]] * (z[tokens].sum(axis=2) + trigger)).sum(axis=1) for pi in permutations])
    edges = np.quantile(values, np.arange(1, 2**bits) / 2**bits)  # a scale fixed beforehand
    level = np.digitize(values, edges)
    chance = np.array([(level == k).mean(axis=1) for k in range(2**bits)]) / len(permutations)
    right = sum(max(row @ (permutations[:, k] == y) for y in range(V)) for row in chance for k in range(V))
    nats = float(bounds.gradient_information_bits(d=1.0, m=1.0, b=float(bits)))
    marginal = chance.sum(axis=1)
    told = float((chance * np.log(np.where(chance > 0, chance * len(permutations) / marginal[:, None], 1))).sum())
    assert 0 < told <= nats
    assert 1 < right <= float(bounds.most_right(nats=nats))
    assert right > float(bounds.most_right(nats=nats * 1e-3))  # a bound a thousand times tighter would be false


def test_queries_by_the_proof_s_own_answers():
    """All permutations of five: rounding answers are within the error, and tell and recall no more than is claimed."""
    V, L, d = 5, 3, 2
    rng = np.random.default_rng(2)
    z, u = rng.standard_normal((2, V, d))
    r, c = u - u.mean(axis=0), z - z.mean(axis=0)
    permutations = list(itertools.permutations(range(V)))
    mean = np.array([(r[list(pi)].T @ c / (V * L)).ravel() for pi in permutations])
    noise = np.diag(np.kron(r.T @ r / V, (L - 1) / L**2 * (c.T @ c) / V))  # of one sample's noise tokens
    assert (mean.var(axis=0) <= noise / ((V - 1) * (L - 1)) + 1e-15).all()
    for N in (1, 4, 30, 1000):
        step = 2 * np.sqrt(noise / N)
        K = np.rint((mean - mean.mean(axis=0)) / step)
        assert (np.abs(mean - mean.mean(axis=0) - K * step) <= step / 2 * (1 + 1e-9)).all()
        snr = float(bounds.gradient_snr(V=float(V), L=float(L), N=float(N)))
        assert (np.mean(K**2, axis=0) <= snr + 1e-12).all()
        _, place, size = np.unique(K, axis=0, return_inverse=True, return_counts=True)
        told = -sum(s / len(K) * math.log(s / len(K)) for s in size)
        assert told <= float(bounds.queries_information(V=5.0, L=3.0, N=float(N), P=4.0))
        answers = np.array(permutations)
        right = sum(np.bincount(answers[place.ravel() == g, k], minlength=V).max() for g in range(len(size))
                    for k in range(V)) / len(K)
        outside = float((np.abs(mean - mean.mean(axis=0)) > step / 2).any(axis=1).mean())
        assert outside <= 4 * snr
        if not K.any():
            assert right / V <= float(bounds.queries_recall(V=5.0, L=3.0, N=float(N), P=4.0))


def test_queries_are_multiplicative_and_weaker_than_gaussian_noise():
    for V, L, d in ((256, 64, 16), (1024, 128, 64)):
        found = bounds_at(V=V, L=L, d=d)
        queries, noisy = found["gradient queries"].least_N, found["gradient access"].least_N
        assert queries is not None and noisy is not None and queries < noisy
        least = 0.989 * (V - 1) * (L - 1) / d**2
        assert queries >= math.floor(least)
    assert bounds_at(V=64, L=1, d=8, N=64)["gradient queries"].recall == 1
    assert bounds_at(V=64, L=4, d=8, m=32, N=10)["gradient in bits"].details["nats"] == pytest.approx(
        8 * 32 * 16 * math.log(2))


def test_factors_to_the_best_decoder():
    found = bounds_at(V=64, L=16, d=64, target=0.9)
    assert found["coverage"].factor == found["bits: all right"].factor == 1
    noisy = found["gradient access"]
    assert noisy.factor is not None and noisy.factor > 2 and noisy.factor_of.startswith("N: argmax")
    assert found["gradient in bits"].factor is None
