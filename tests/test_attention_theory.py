"""Attention in step two: exact moments, the law's numerical parts and its limits."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import special, stats
from support import assert_mean, drawn

from recall_theory.numerics import quadrature
from recall_theory.settings import Setting
from recall_theory.simulate import three_step as counts
from recall_theory.theory import attention_law as law
from recall_theory.theory.formulas import attention_formulas as terms


def scores(setting, seed, index):
    """T, the tokens' scores and tau of one seed."""
    emb, samples = drawn(setting, seed, index)
    g = counts.step_two(setting, emb, samples, *counts.step_one(setting, emb, samples))
    return float(emb.z_trig @ g), emb.z_in @ g, float(emb.z_trig @ emb.z_trig)


@pytest.mark.parametrize("e", [True, False])
@pytest.mark.parametrize("embedding", ["gaussian", "sphere"])
def test_mean_lead_is_exact_at_any_size(embedding, e):
    V, L, d, N = 7, 4, 6, 12
    setting = Setting(V=V, L=L, d=d, N=N, embedding=embedding, trigger_in_value=e)
    draws = [scores(setting, 5, i) for i in range(6000)]
    gap = [T - terms.lead(V, L, d, N, int(e), tau, 1) for T, _, tau in draws]
    assert_mean(gap, 0, 4)


@pytest.mark.parametrize("embedding", ["gaussian", "sphere"])
def test_token_variance_and_skewness_of_a_seed(embedding):
    V, L, d, N = 120, 60, 40, 600
    setting = Setting(V=V, L=L, d=d, N=N, embedding=embedding)
    draws = [scores(setting, 6, i) for i in range(400)]
    kappa = int(embedding == "gaussian")
    b0, w = quadrature.gauss_gamma(2 / d + 2 / V, 3)
    parts = law._variance_parts(V, L, d, N, 1, 1, b0, kappa)
    told = sum((w * part).sum() for part in parts.values())
    told += (np.mean([T**2 for T, _, _ in draws])) / d
    assert_mean([s.var() for _, s, _ in draws], told, 3, 0.05 * told)
    nodes = law.seed_law(V, L, d, N, embedding)
    assert_mean([stats.skew(s, bias=False) for _, s, _ in draws], (nodes.weight * nodes.skew).sum(), 3, 0.01)


def test_the_counts_of_a_token_overlap_by_their_covariance():
    """Of n(n - lam)/(L N^2) and c n(n - 1)/(L N)^2 for a Poisson count n."""
    V, L, N = 60, 8, 240
    n, w = quadrature.gauss_charlier(N / V, 5)
    fact, own = n * (n - N / V) / (L * N**2), (1 - 1 / L) * n * (n - 1) / (L * N) ** 2
    covariance = w @ (fact * own) - (w @ fact) * (w @ own)
    assert terms.count_overlap(V, L, N) == pytest.approx(2 * V * covariance)


def test_wishart_moments_are_exact():
    rng = np.random.default_rng(1)
    V, d = 9, 5
    seen = []
    for _ in range(20000):
        z = rng.standard_normal((V, d)) / np.sqrt(d)
        eigen = np.linalg.eigvalsh(np.cov(z.T, bias=True)) * d
        seen.append([np.mean(eigen**k) for k in (1, 2, 3, 4)])
    for k, values in enumerate(np.array(seen).T, start=1):
        assert_mean(values, terms.wishart(k, V, d, 1), 4)


def test_rivals_by_enumeration():
    V, L = 4, 5
    number = [len(set(x) - {0}) for x in itertools.product(range(V), repeat=L - 1)]
    assert terms.distinct_rivals(V, L) == pytest.approx(np.mean(number))
    assert terms.distinct_rivals_variance(V, L) == pytest.approx(np.var(number))


def test_coordinate_of_a_unit_vector():
    for d in (16, 64):
        x = np.linspace(-3.4, 3.4, 35)
        below = special.betainc((d - 1) / 2, (d - 1) / 2, (1 + x / np.sqrt(d)) / 2)
        told = special.ndtr(law.normal_score(x, 0, -6 / (d + 2), d))
        assert np.abs(told - below).max() < 2e-4


def test_condensed_quadrature_agrees_with_a_dense_one(monkeypatch):
    sizes = [(79, 149, 145, 428), (452, 160, 57, 2851), (92, 20, 17, 744), (1057, 180, 76, 4396)]
    V, L, d, N = np.array(sizes, dtype=float).T
    quick = law.attention(V, L, d, N), law.attention_std(V, L, d, N)
    for name, nodes in (("TAU_NODES", 7), ("LEAD_NODES", 15), ("SCALE_NODES", 5), ("SNR_NODES", 21),
                        ("GRID", 225)):
        monkeypatch.setattr(law, name, nodes)
    dense = law.attention(V, L, d, N), law.attention_std(V, L, d, N)
    assert np.abs(quick[0] - dense[0]).max() < 1e-3
    assert np.abs(quick[1] - dense[1]).max() < 3e-3


def test_fact_by_fact_attention_adds_up():
    nodes = law.seed_law(200, 50, 40, 2000)
    x, p = law.score_grid(nodes.skew, nodes.excess)
    each = law.attention_of_fact(x, nodes.snr[..., None], 200, 50, nodes.skew[..., None],
                                 nodes.excess[..., None])
    told = law.attention_given(nodes)
    ahead = nodes.snr > 1
    assert np.abs((p * each).sum(axis=-1) - told)[ahead].max() < 1e-3


def test_limits():
    # Nothing but the overlap with the trigger is left at large N: short sequences are free.
    assert law.attention(512, 4, 64, 10**9)[0] > 0.9999
    # More samples, more dimensions and shorter sequences help.
    told = law.attention([512, 512, 512, 512], [64, 64, 64, 32], [32, 32, 48, 32], [2000, 4000, 2000, 2000])
    assert np.all(told[1:] > told[0])
    told = law.attention_terms(512, 64, 32, 10**12)
    assert told["trigger overlap"] == pytest.approx(1 / 32)
    assert all(v < 1e-4 for k, v in told.items() if k not in ("trigger overlap", "trigger echo"))
