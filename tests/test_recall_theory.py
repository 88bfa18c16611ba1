"""Recall and accuracy in step three: against a dense quadrature and nested sums, and their moments."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pytest
from nested_recall import nested
from scipy import special, stats

from recall_theory.numerics import quadrature
from recall_theory.numerics.unit_sphere import peizer_pratt_scale
from recall_theory.theory import competitors, correct_label, recall_given_seed, seed_variance, training_attention
from recall_theory.theory import fact as facts
from recall_theory.theory import recall as law
from recall_theory.theory.formulas import recall_formulas as terms
from recall_theory.theory.seed import seed_law

KEYS = ("recall", "accuracy", "recall_std", "accuracy_std")


def predicted(V, L, d, N, embedding="gaussian", e=True):
    found = law.recall_and_accuracy(seed_law(V, max(L, 2), d, N, embedding, e), V, L, d, N, embedding, e)
    return {k: float(found[k][0]) for k in KEYS}


def test_exact_law_of_the_scores():
    """Given theta, the scores in units of |Y|/sqrt d are chi theta/|theta| + eta, as the page claims."""
    rng = np.random.default_rng(3)
    V, d = 6, 5
    theta = np.array([2.0, -1.0, 0.5, 0.3, -0.7, 0.1])
    u = rng.standard_normal((40000, V, d)) / np.sqrt(d)
    y = np.einsum("v,nvd->nd", theta, u)
    length = np.linalg.norm(y, axis=1)
    score = np.einsum("nvd,nd->nv", u, y) / (length / np.sqrt(d))[:, None]
    size = np.linalg.norm(theta)
    chi = length * d / (size * np.sqrt(d))
    rest = score - chi[:, None] * theta / size
    assert np.abs(np.cov(rest.T) - (np.eye(V) - np.outer(theta, theta) / size**2)).max() < 0.03
    assert abs(np.corrcoef(chi, rest[:, 0])[0, 1]) < 0.02
    assert stats.kstest(chi**2, stats.chi2(d).cdf).pvalue > 1e-3


def test_weight_square_is_the_sum_of_the_terms():
    for V, d, N, e in itertools.product((64, 1024), (16, 256), (300, 10**6), (0, 1)):
        parts = (terms.interference(V, d, e, 1) + terms.gradient_noise(V, d, N, e, 1)
                 + terms.mean_bias(V, d, N, e, 1))
        assert np.isclose(parts, V / d * terms.weight_square(V, d, N, e, 1), rtol=1e-12)


def test_terms_by_name():
    found = law.recall_terms([256, 512], 16, 64, 25600)
    assert set(found) == {"interference", "gradient noise", "mean bias", "token overlap"}
    assert all(v.shape == (2,) for v in found.values())
    assert "mean bias" not in law.recall_terms(256, 16, 64, 25600, trigger_in_value=False)


def test_normal_score_of_a_coordinate():
    """Peizer and Pratt's D: within 0.01, at d >= 20 within 0.007, of the exact normal score of a coordinate."""
    for d, tolerance in ((8, 0.01), (20, 0.007), (200, 0.001)):
        b = np.linspace(0.02, min(0.85, 4 / np.sqrt(d)), 40)
        exact = -stats.norm.ppf(special.betainc((d - 1) / 2, (d - 1) / 2, (1 - b) / 2))
        assert np.abs(np.sqrt(-peizer_pratt_scale(d) * np.log1p(-b * b)) - exact).max() < tolerance


def test_tilted_score_against_the_exact_law():
    """The signed root of a von Mises-Fisher cosine against numerical integration, at V = d-like tilts."""
    d, grid = 24, np.linspace(-1, 1, 200001)
    for tilt, at in itertools.product((0.0, 2.0, 6.0), (0.3, 0.5, 0.7)):
        density = (1 - grid**2) ** ((d - 3) / 2) * np.exp(tilt * grid)
        exact = density[grid < at].sum() / density.sum()
        ratio = tilt / (d - 1)  # m/(1 - m^2) = kappa/(d - 1)
        m = 0.0 if tilt == 0 else (np.sqrt(1 + 4 * ratio**2) - 1) / (2 * ratio)
        D = np.array(peizer_pratt_scale(d))
        score = np.sqrt(-D * np.log1p(-at * at))
        z = competitors._tilted_score(np.array(score), np.array(m), np.array(0.0), D, np.array(0.0))
        assert abs(-special.ndtri(1 - exact) - float(z)) < 0.02


def seeds_at(V, L, d, N, snr, cumulant, e, sphere):
    """One seed of these sizes, with tau = 1 and scores of that skewness and excess."""
    V, L, d, N, snr, cumulant = (np.full(1, float(a)) for a in (V, L, d, N, snr, cumulant))
    return training_attention.Seeds(V, L, d, N, np.ones(1), snr, cumulant, cumulant, e, sphere)


def test_outranking_tokens():
    """0, 1, 2 exactly for long sequences, and the binomial mean always."""
    seeds, one = seeds_at(100, 200, 30, 1e3, 2, 0, 1, False), np.ones(1)
    for L in (200, 8):
        chance = np.array([[0.001, 0.02, 0.3]])
        count, weight = training_attention.outranking(dataclasses.replace(seeds, L=L * one), chance, 4)
        assert np.allclose(weight.sum(-1), 1)
        assert np.allclose((count * weight).sum(-1), 99 * chance, rtol=1e-6)
        if L == 200:
            assert np.isclose(weight[0, 1, 0], 0.98**99)


# V, L, d, N, snr, trigger in the values, sphere: seeds whose recall is computed by plain nested sums too.
SEEDS = (
    (107, 112, 49, 1530, 2.2, 1, False), (91, 122, 185, 191, 1.0, 0, False), (300, 20, 300, 600, 2.0, 1, False),
    (512, 64, 96, 8192, 2.5, 1, False), (65, 61, 18, 1294, 2.0, 1, True), (200, 30, 64, 800, 1.5, 0, True),
)


def one_seed_of(V, L, d, N, snr, e, sphere):
    """A row of seeds, its classes and its facts, few enough for a sum over everything."""
    seeds = seeds_at(V, L, d, N, snr, 1 / 10, e, sphere)
    return seeds, training_attention.classes(seeds), facts.facts(seeds, 3)


@pytest.mark.parametrize("seed", SEEDS, ids=str)
def test_maps_between_grids_against_nested_sums(seed):
    row = one_seed_of(*seed)
    quick = recall_given_seed.compete(*row)
    recall, attended = nested(*row)
    assert abs(quick.recall[0] - recall[0]) < 1e-3
    assert abs(quick.attended[0] - attended[0]) < 1e-3


def test_nested_sums_tell_a_narrower_noise_apart(monkeypatch):
    """What the test above compares does depend on the noise of the label's own output."""
    row = one_seed_of(*SEEDS[3])
    exact = recall_given_seed.compete(*row).recall[0]
    gaussian = correct_label._gaussian
    monkeypatch.setattr(correct_label, "_gaussian", lambda d, widths, *rest: gaussian(d, widths * 0.8, *rest))
    assert abs(recall_given_seed.compete(*row).recall[0] - exact) > 2e-3


@pytest.mark.parametrize("power", [0.1, 0.7, 1.5, 2.5, 3.5])
def test_as_many_counts_as_their_bearing_asks_for(power):
    x, w = quadrature.gauss_hermite(competitors.nodes_for(power))
    assert abs((w * np.exp(power * x)).sum() / np.exp(power**2 / 2) - 1) < competitors.ERROR


DENSE = (
    (107, 112, 49, 1530, "gaussian", True), (145, 67, 88, 406, "gaussian", False),
    (65, 61, 18, 1294, "sphere", True), (512, 16, 64, 51200, "gaussian", True),
)


@pytest.mark.parametrize(("V", "L", "d", "N", "embedding", "e"), DENSE)
def test_against_a_dense_quadrature(V, L, d, N, embedding, e, monkeypatch):
    """More points over the seed, more facts, more classes of attention, more counts."""
    quick = predicted(V, L, d, N, embedding, e)
    monkeypatch.setattr(recall_given_seed.compete, "__defaults__", (4, 14, 5, 18))
    monkeypatch.setattr(training_attention, "SHARE_EDGES", np.arange(1, 20) / 20)
    for name, value in (("POINTS", (8, 13)), ("PER_POINT", 0.6), ("FACT_SCORES", (30, 20))):
        monkeypatch.setattr(law, name, value)
    slow = predicted(V, L, d, N, embedding, e)
    for k in KEYS:
        assert abs(quick[k] - slow[k]) < 0.003


def test_almost_orthogonal_embeddings_reach_coverage():
    """d >> V without the trigger in the values: all that was seen is recalled."""
    V, N = 128, 256
    found = predicted(V, 1, 10**6, N, "gaussian", False)["recall"]
    assert abs(found - (1 - (1 - 1 / V) ** N)) < 0.005


def test_rows_do_not_depend_on_company():
    """A setting's prediction is the same alone and among others."""
    V, L, d, N = (np.array(a, dtype=float) for a in zip((107, 112, 49, 1530), (512, 16, 64, 51200),
                                                        (64, 8, 32, 640), strict=True))
    both = law.recall_and_accuracy(seed_law(V, L, d, N), V, L, d, N)
    for i in range(3):
        alone = predicted(V[i], L[i], d[i], N[i])
        for k in KEYS:
            assert np.isclose(both[k][i], alone[k], rtol=1e-6, atol=1e-7)


def test_scatter_below_that_of_independent_facts():
    """At e = 0 and large N/V a sum rule pulls the spread below the binomial one."""
    found = predicted(412, 1, 76, 412 * 767, "sphere", False)
    binomial = np.sqrt(found["recall"] * (1 - found["recall"]) / 412)
    assert 0.8 < found["recall_std"] / binomial < 1


def test_wrong_answers_approach_one_over_v():
    """Sequences longer than the vocabulary: the best token nearly always answers with a label it outranks."""
    seeds = seeds_at(70, 198, 120, 1176, 1.8, 0, 1, False)
    part = seed_variance.wrong_answers(seeds, training_attention.classes(seeds))
    assert 0.8 < part[0] * 70 < 1
