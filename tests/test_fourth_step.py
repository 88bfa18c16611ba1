"""The fourth step: the law beside the committed simulations, wrong laws that must fail, and the limits of it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import softmax
from support import shipped

from recall_theory import Setting
from recall_theory.simulate import reference
from recall_theory.simulate.data import Samples, draw_embeddings
from recall_theory.simulate.observables import known_facts
from recall_theory.theory import fourth_step
from recall_theory.theory.fourth_step import fourth_step_recall
from validation.fourth_step import SEEDS, recall_after_four, settings

ROWS = shipped("fourth_step")
MARGIN = 0.03


def largest_error():
    """Of the law over the settings in its domain."""
    return max(abs(fourth_step_recall(int(r["V"]), int(r["d"]), int(r["N"]), r["g"]).fourth - r["fourth"])
               for r in ROWS if r["checked"])


def test_the_law_is_within_its_margin_at_every_drawn_setting():
    assert [{name: r[name] for name in "VdNg"} for r in ROWS] == settings() and sum(r["checked"] for r in ROWS) == 24
    assert largest_error() < MARGIN - 0.01


def test_the_committed_rows_are_simulations():
    for number in (3, 16):
        row = ROWS[number]
        seen = [recall_after_four(int(row["V"]), int(row["d"]), int(row["N"]), row["g"],
                                  np.random.default_rng((17, number, i))) for i in range(4)]
        assert np.mean([x[1] for x in seen]) == pytest.approx(row["fourth"], abs=5 * row["se"] * math.sqrt(SEEDS / 4))


@pytest.mark.parametrize("name, wrong", [
    ("noise_feedback", fourth_step.signal_feedback),  # noise and signal taken alike: no gain
    ("mixed_feedback", lambda *given: 0.0),
    ("fresh_noise", lambda V, d, rest: 0.0),
])
def test_a_law_without_one_of_its_terms_is_rejected(name, wrong, monkeypatch):
    monkeypatch.setattr(fourth_step, name, wrong)
    assert largest_error() > MARGIN


def test_a_small_scale_changes_nothing_and_more_nodes_next_to_nothing(monkeypatch):
    found = fourth_step_recall(256, 64, 16384, 1e-6)
    assert found.fourth == pytest.approx(found.third, abs=0.002)
    before = fourth_step_recall(256, 64, 16384, 5.0).fourth
    for name in ("COUNT_NODES", "LENGTH_NODES", "NOISE_NODES", "FRESH_NODES"):
        monkeypatch.setattr(fourth_step, name, 2 * getattr(fourth_step, name))
    assert fourth_step_recall(256, 64, 16384, 5.0).fourth == pytest.approx(before, abs=1e-3)


def test_it_overshoots_where_the_formula_says():
    g = fourth_step.overshoot(256.0, 64.0, 0.7, 0.85)
    assert fourth_step.noise_feedback(256.0, 64.0, g, 0.85) == pytest.approx(1.7)


def test_the_step_is_one_of_descent_and_wipes_a_memory_that_has_the_trigger_in_it():
    recall = {}
    for trigger in (False, True):
        setting = Setting(V=128, L=1, d=64, N=128 * 64, eta=1.0, gamma=1.0, trigger_in_value=trigger)
        embeddings, samples, query = np.random.SeedSequence(3).spawn(3)
        emb = draw_embeddings(setting, np.random.default_rng(embeddings))
        task, none = reference.draw_task(setting, emb, Samples(setting, samples), query), np.zeros((64, 64))
        third = -setting.V * reference.gradients(task, none, none)[0]
        fourth = third - setting.V * reference.gradients(task, 5 * third, none)[0]
        recall[trigger] = [float(known_facts(reference.trained(task, reference.Model(Val, none))).mean())
                           for Val in (third, fourth)]
        if not trigger:
            tokens = np.concatenate([seq.tokens[:, 0] for seq in reference.blocks(task)])
            keys, u = np.bincount(tokens, minlength=128)[:, None] / 64 * emb.z_in, emb.z_out[emb.label]
            np.testing.assert_allclose(third, (u - u.mean(axis=0)).T @ keys, atol=1e-12)
            p = softmax(5 * emb.z_in @ third.T @ u.T, axis=1)
            np.testing.assert_allclose(fourth, third + ((np.eye(128) - p) @ u).T @ keys, atol=1e-12)
    assert recall[False][1] > recall[False][0] and recall[True][1] < recall[True][0] / 4, recall
