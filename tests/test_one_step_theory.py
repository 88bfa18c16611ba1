"""The one-step reading: its noise terms against simulated logits, its leading law and its corners."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from support import assert_mean, drawn

from recall_theory.settings import Setting
from recall_theory.simulate.memories import argmax_reading, draw_gradient
from recall_theory.simulate.three_step import step_one
from recall_theory.theory import one_step_memory as one_step


def test_noise_terms_are_the_variance_of_a_logit():
    """Noise of a competitor's logit over signal: its variance across labels, in the limit of large V and d."""
    setting = Setting(V=256, L=24, d=64, N=4096)
    ratio = []
    for i in range(24):
        emb, samples = drawn(setting, 5, i)
        val1 = step_one(setting, emb, samples)
        logits = emb.z_in @ val1.T @ emb.z_out[emb.label].T
        signal = np.diagonal(logits).mean()
        off = logits - np.diag(np.diagonal(logits))
        ratio.append((off**2).sum() / (setting.V * (setting.V - 1)) / signal**2)
    told = sum(float(t[0]) for t in one_step.one_step_terms(256, 24, 64, 4096).values())
    # Beside the terms a competitor shares the winner's direction, 1/d, and holds its own coefficient, q * terms.
    assert np.mean(ratio) == pytest.approx(told * (1 + 64 / 256) + 1 / 64, rel=0.08)


def test_recall_follows_the_leading_law():
    """At N d^2 = 2 V^2 L ln V recall passes through the middle, and far on either side it is 0 or 1."""
    V, L, d = 10**6, 10**4, 60000
    N = float(one_step.one_step_law(V, L, d))
    recall = one_step.one_step_recall(V, L, d, np.round([N / 4, N, 4 * N]))
    assert recall[0] < 0.1 < recall[1] < 0.7 < recall[2]


def test_leading_law_solves_for_its_largest_term():
    N = one_step.one_step_law(10**6, 100, 2000)
    assert 2 * np.log(10**6) * one_step.sampling(10**6, 100, 2000, N) == pytest.approx(1, rel=0.02)


@pytest.mark.parametrize("embedding, d", [("gaussian", 48), ("sphere", 48), ("orthogonal", 128)])
def test_more_samples_recall_more(embedding, d):
    recall = one_step.one_step_recall(128, 16, d, [128, 512, 2048, 8192], embedding)
    assert (np.diff(recall) > 0).all()


@pytest.mark.parametrize("embedding", ["gaussian", "sphere", "orthogonal"])
def test_every_size_gives_a_probability(embedding):
    for V in (2, 64, 10**15):
        dimensions = (V, V + 1) if embedding == "orthogonal" else (1, 64, 10**9)
        sizes = itertools.product((1, 2, 10**9), dimensions, [max(1, round(r * V)) for r in (1e-3, 1, 1e9)])
        L, d, N = np.array(list(sizes), dtype=float).T
        recall = one_step.one_step_recall(V, L, d, N, embedding)
        assert recall.shape == L.shape
        assert ((recall >= 0) & (recall <= 1)).all()
        for term in one_step.one_step_terms(V, L, d, N, embedding).values():
            assert np.isfinite(term).all()


@pytest.mark.parametrize("V, L, d, N, embedding, e", [
    (77, 10, 152, 491, "gaussian", False), (82, 23, 29, 16642, "gaussian", False),
    (70, 6, 49, 124, "gaussian", False), (125, 17, 98, 634, "sphere", True),
    (68, 16, 29, 3105, "sphere", False), (95, 29, 95, 249, "orthogonal", False),
    (145, 9, 152, 151, "orthogonal", True), (121, 15, 121, 346, "orthogonal", True),
])
def test_one_step_recall_agrees_with_simulation(V, L, d, N, embedding, e):
    setting = Setting(V=V, L=L, d=d, N=N, embedding=embedding, trigger_in_value=e)
    seen = [argmax_reading(*draw_gradient(setting, 11, i)[:2]) for i in range(40)]
    assert_mean(seen, one_step.one_step_recall(V, L, d, N, embedding, e)[0], 3, 0.02)
