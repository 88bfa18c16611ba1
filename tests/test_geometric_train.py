"""Training whole transformers on random facts: what is asked, what is measured, and a small version of the study."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recall_theory.geometric import TrainingSetting, least_dimension, train, transfer
from recall_theory.geometric import trained_transformer as model
from recall_theory.geometric.geometric_training import Study
from validation import geometric_training as study

jax = pytest.importorskip("jax")


@settings(max_examples=20, deadline=None)
@given(N=st.integers(2, 12), R=st.integers(1, 3), hops=st.integers(1, 3), chain=st.booleans(), seed=st.integers(0, 99))
def test_queries_are_all_words_and_their_answers(N, R, hops, chain, seed):
    setting = TrainingSetting(N=N, R=R, hops=hops, chain_of_thought=chain)
    rng = np.random.default_rng(seed)
    facts = np.stack([rng.permutation(N) for _ in range(R)])
    queries = model.queries_of(setting, facts)
    assert len(queries.tokens) == setting.queries == len({tuple(row) for row in queries.tokens[:, :1 + hops]})
    for tokens, answers in zip(queries.tokens, queries.answers, strict=True):
        at = tokens[0]
        for hop in range(hops):
            at = facts[tokens[1 + hop] - N, at]
            assert answers[hop] == at
            if chain and hop < hops - 1:
                assert tokens[1 + hops + hop] == at


def test_the_numbers_are_counted():
    for setting in (TrainingSetting(N=9, R=2, d=4, width=7), TrainingSetting(N=9, R=2, hops=2, chain_of_thought=True)):
        start = model.initial(setting, np.random.default_rng(0))
        assert sum(array.size for array in start.values()) == setting.numbers


def test_a_chain_of_thought_reads_its_own_answers():
    """A wrong first answer makes the last one that of another entity, even where the trained positions are right."""
    setting = TrainingSetting(N=8, R=2, d=16, hops=2, chain_of_thought=True, steps=400)
    study = Study(setting, 1, 0)
    queries = study.queries("facts")
    found = study.trained("recall", study.start("start"), queries)
    assert study.measures["recall"].tolist() == [1]
    queries, one = (jax.tree.map(lambda x: x[0], tree) for tree in (queries, found))
    right = model.scores(one, queries.tokens, 2).argmax(axis=-1) == queries.answers
    assert bool(right.all())  # where it reads the right answers
    deaf = {**one, "positions": one["positions"] * np.array([1, 1, 1, 0], np.float32)[:, None]}
    assert float(model.recall(deaf, queries, setting).mean()) < 1


def construction(N, R):
    """Entities that are codes side by side, facts and codes: what probes and edits must find."""
    rng = np.random.default_rng(0)
    codes = rng.standard_normal((N, 8))
    codes /= np.linalg.norm(codes, axis=1, keepdims=True)
    facts = np.stack([rng.permutation(N) for _ in range(R)])
    return model.superposed(codes, facts), codes, facts


def test_superposed_codes_are_read_and_rewritten_linearly():
    entities, codes, facts = construction(128, 3)
    assert model.probe_recall(entities, codes, facts) == 1
    assert model.superposition_share(entities, codes, facts) > 0.999
    new = (facts[1] + 5) % 128
    moved = model.edited_embeddings(entities, codes, facts, 1, new)
    expected = model.superposed(codes, np.stack([facts[0], new, facts[2]]))
    np.testing.assert_allclose(moved, expected, atol=0.05)


def test_probes_find_nothing_in_random_embeddings():
    _, codes, facts = construction(200, 3)
    entities = np.random.default_rng(1).standard_normal((200, 24))
    # 600 guesses at 1/200: more than 20 right has a probability of 1e-10
    assert model.probe_recall(entities, codes, facts) <= 20 / 600
    assert model.superposition_share(entities, codes, facts) < 0.1
    assert math.isnan(model.superposition_share(np.ones((200, 24)), codes, facts))


def test_the_fit_is_ridge_regression_and_never_sees_what_it_is_asked():
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((50, 4)) * 3 + 1, rng.standard_normal((50, 2))
    before = model.held_out(x, y)
    for row in range(5):
        other = y + 100 * (np.arange(50) == row)[:, None]
        assert np.array_equal(model.held_out(x, other)[row], before[row])
    fitted = model.ridge_fit(x, y)
    penalty = np.mean((x - x.mean(axis=0)) ** 2)
    residual = y - (x @ fitted[:-1] + fitted[-1])
    # normal equations: no correlation with the intercept, penalty times slope with x
    np.testing.assert_allclose(residual.sum(axis=0), 0, atol=1e-10)
    np.testing.assert_allclose((x - x.mean(axis=0)).T @ residual, penalty * fitted[:-1], atol=1e-9)


def test_a_unit_of_one_relation_is_selective():
    assert model.gate_selectivity(np.eye(3)) == 1 and model.gate_selectivity(np.ones((4, 5))) == 0.25


def test_a_small_version_of_the_study():
    """One hop is learned with all trained, the probes read more than their control, new facts move to the same MLP."""
    setting = TrainingSetting(N=32, R=2, d=8, steps=400, start=0.1)
    seen = {name: o.mean for name, o in train(setting, seeds=2, seed=0).measures.items()}
    assert seen["recall"] > 0.95 and seen["linear_probe"] > seen["linear_probe_shuffled"] + 0.1
    assert seen["superposition_share"] > seen["superposition_share_shuffled"]
    assert seen["units_off"] < seen["units_off_others"]
    later = {name: o.mean for name, o in transfer(setting, seeds=2, seed=0).measures.items()}
    assert later["recall"] == pytest.approx(seen["recall"], abs=0.02)
    assert later["new_facts"] > later["new_facts_shuffled"]
    assert all(d in (4, 6, 8) for d in least_dimension(setting, (2, 4, 6, 8), 2, 0))


def test_the_study_has_the_rows_that_its_page_shows():
    places = [(part, setting.to_dict()) for part, setting in study.places()]
    rows = study.read_rows()
    assert rows and all((row["part"], row["setting"]) in places for row in rows)
