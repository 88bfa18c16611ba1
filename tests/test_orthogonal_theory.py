"""Orthogonal embeddings: the closed forms against exact small cases, count tables and their own limits."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from support import assert_mean, drawn

from recall_theory.settings import Setting
from recall_theory.simulate import three_step as counts
from recall_theory.theory.formulas import orthogonal_formulas as terms
from recall_theory.theory.orthogonal.orthogonal_attention import (
    attention_nodes,
    chi_squared_quantile,
    distinct_competitors,
)
from recall_theory.theory.orthogonal.orthogonal_law import NAMES, orthogonal_prediction, orthogonal_terms


def predicted(V, L, d, N, e):
    return {k: float(v[0]) for k, v in orthogonal_prediction(V, L, d, N, e).items()}


@pytest.mark.parametrize("e", [0, 1])
def test_lead_and_token_variance_are_those_of_the_count_tables(e):
    setting = Setting(V=64, L=48, d=65, N=96, embedding="orthogonal", trigger_in_value=e)
    leads, spreads = [], []
    for i in range(150):
        emb, samples = drawn(setting, 3, i)
        g = counts.step_two(setting, emb, samples, *counts.step_one(setting, emb, samples))
        unit = (setting.N * setting.L) ** 2
        leads.append(float(emb.z_trig @ g) * unit)
        spreads.append((emb.z_in @ g * unit).var(ddof=1))
    assert_mean(leads, terms.lead(64, 48, 96, e), 4)
    expected = (terms.noise_counts(64, 48, 96) + terms.label_noise(64, 48, 96, e)
                + terms.shared_sequences(64, 48, 96) + terms.own_sequences(64, 48, 96, e))
    assert np.mean(spreads) == pytest.approx(expected, rel=0.1)


@pytest.mark.parametrize(("V", "n"), [(2, 3), (5, 1), (5, 12), (40, 25)])
def test_distinct_competitors_are_those_of_the_occupancy_chain(V, n):
    """Draw by draw: a new token other than the given one, with probability (V - 1 - D)/V."""
    law = np.zeros(V)
    law[0] = 1
    for _ in range(n):
        new = law * (V - 1 - np.arange(V)) / V
        law = law - new + np.roll(new, 1)
    mean, variance = distinct_competitors(V, n)
    assert mean == pytest.approx(law @ np.arange(V), rel=1e-12)
    assert variance == pytest.approx(law @ (np.arange(V) - mean) ** 2, rel=1e-9)


def test_recall_is_a_competition_of_multinomial_counts():
    rng = np.random.default_rng(0)
    for V, N in ((64, 128), (168, 1453), (64, 1280)):
        n = rng.multinomial(N, np.full(V, 1 / V), size=8000)
        most = n.max(axis=1, keepdims=True)
        ties = (n == most).sum(axis=1, keepdims=True)
        recall = np.where(2 * n > most, 1, np.where(2 * n == most, 1 / (1 + ties), 0)).mean(axis=1)
        told = predicted(V, 4, V + 1, N, True)
        assert told["recall"] == pytest.approx(recall.mean(), abs=0.004)
        assert told["recall_std"] == pytest.approx(recall.std(), rel=0.1)


def test_trigger_outside_the_values_leaves_coverage():
    told = predicted(128, 8, 129, 200, False)
    unseen = (1 - 1 / 128) ** 200
    assert told["attention"] == 1
    assert told["recall"] == pytest.approx(1 - unseen, abs=0.003)
    assert terms.coverage(128, 200) == pytest.approx(1 - unseen + unseen / 128)
    variance = unseen * (1 - unseen) / 128 + (1 - 1 / 128) * ((1 - 2 / 128) ** 200 - unseen**2)
    assert told["recall_std"] == pytest.approx(np.sqrt(variance), rel=0.05)


def test_recall_rises_to_one_about_its_law():
    """Almost all facts at V ln V/(2 ln 2 - 1): recall passes one half there, and is nearly 1 at four times it."""
    V = 10**6
    N = float(terms.recall_most(V))
    recall = [predicted(V, 4, V + 1, round(f * N), True)["recall"] for f in (1 / 2, 1, 2, 4)]
    assert recall[0] < 0.3
    assert 0.3 < recall[1] < 0.7
    assert 0.7 < recall[2] < recall[3]
    assert recall[3] > 0.99
    assert predicted(V, 4, V + 1, round(float(terms.recall_all(V))), True)["recall"] > 1 - 2 / V


def test_attention_law_is_where_the_lead_meets_the_competitors():
    V, L = 400, 20000
    N = float(terms.least_samples(V, L))
    attention = [attention_nodes(V, L, V + 1, round(f * N), 0).mean for f in (0.5, 1, 2)]
    assert attention[0] < 0.3 < attention[1] < 0.95 < attention[2]


def test_chi_squared_quantile_has_the_moments_it_stands_for():
    x, w = np.polynomial.hermite_e.hermegauss(60)
    s = chi_squared_quantile(x, np.asarray(20.0))
    w = w / w.sum()
    assert w @ s == pytest.approx(0, abs=1e-3)
    assert w @ s**2 == pytest.approx(1, rel=3e-3)
    assert w @ s**3 == pytest.approx(np.sqrt(8 / 20), rel=0.02)


def test_every_size_gives_probabilities():
    sizes = [(V, L, V + extra, max(1, round(ratio * V))) for V, L, ratio, extra in itertools.product(
        (2, 5, 64, 10**9, 10**15), (1, 2, 10**5), (1e-3, 1, 30, 1e9), (0, 1))]
    V, L, d, N = np.array(sizes, dtype=float).T
    for e in (False, True):
        prediction = orthogonal_prediction(V, L, d, N, e)
        assert set(prediction) == set(NAMES)
        for name, value in prediction.items():
            assert value.shape == V.shape
            assert ((value >= 0) & (value <= 1)).all(), name
        for part in orthogonal_terms(V, L, d, N, e).values():
            for name, term in part.items():
                assert (np.isfinite(term) & (term >= 0)).all(), name
