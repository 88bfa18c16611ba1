"""The explicit layers: the exact construction recalls every fact, whatever the sizes, and forgets when it is broken."""

from __future__ import annotations

import dataclasses
import itertools
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recall_theory.geometric import GeometricSetting, build
from recall_theory.geometric.construction import (
    answer_of_word,
    draw_bijections,
    draw_codes,
    draw_maps,
    superpose,
    word_index,
    word_tables,
)
from recall_theory.geometric.geometric_simulation import decoded, draw_queries, recall_of
from recall_theory.settings import SettingError

# Every N up to 40, then primes, powers of two and their neighbours, and other awkward sizes up to 4096.
SIZES = [*range(2, 41), 47, 61, 63, 64, 65, 97, 100, 127, 128, 129, 211, 255, 256, 257, 360, 509, 511, 512, 513, 769,
         1000, 1021, 1023, 1024, 1025, 1531, 2003, 2039, 2047, 2048, 2049, 2500, 3001, 3571, 4001, 4093, 4095, 4096]
RELATIONS = (1, 2, 3, 5, 7, 8, 13, 16, 17, 31, 32)
CASES = [(N, R) for i, N in enumerate(SIZES) for j, R in enumerate(RELATIONS) if N <= 40 or (i + j) % 4 == 0]
MOST_ASKED = 4096


def recall_asked(model, rng):
    """Recall over every query of a model, or over as many random ones."""
    subjects, words = draw_queries(model.setting, rng, MOST_ASKED)
    return np.mean(model.answer(subjects, words) == answer_of_word(model.facts, subjects, words))


@pytest.mark.parametrize("R", RELATIONS)
def test_the_exact_construction_recalls_every_fact(R):
    assert len(set(CASES)) >= 300
    for N in [n for n, r in CASES if r == R]:
        rng = np.random.default_rng([N, R])
        assert recall_asked(build(GeometricSetting(N=N, R=R, construction="exact"), rng), rng) == 1, (N, R)


@pytest.mark.parametrize("how", [{}, {"chain_of_thought": True}, {"depth": 2}, {"depth": 3}], ids=str)
@pytest.mark.parametrize("hops", [2, 3, 4, 5, 6])
def test_the_exact_construction_recalls_every_chain(hops, how):
    if hops < how.get("depth", 1):
        how = {"depth": hops}
    for N, R in ((2, 2), (3, 4), (7, 3), (30, 2), (101, 1), (64, 4)):
        if how or R**hops <= 1100:
            rng = np.random.default_rng([N, R, hops])
            model = build(GeometricSetting(N=N, R=R, hops=hops, construction="exact", **how), rng)
            assert recall_asked(model, rng) == 1, (N, R)


@settings(deadline=None, max_examples=40)
@given(N=st.integers(2, 300), R=st.integers(1, 6), hops=st.integers(1, 3), spare=st.integers(0, 9),
       longer=st.integers(0, 5), cot=st.booleans(), seed=st.integers(0, 2**32))
def test_any_size_longer_codes_and_spare_dimensions(N, R, hops, spare, longer, cot, seed):
    k = (N - 1).bit_length() + longer
    least = GeometricSetting(N=N, R=R, hops=hops, code_length=k, chain_of_thought=cot, construction="exact")
    rng = np.random.default_rng(seed)
    model = build(least.replace(d=least.exact_width + spare), rng)
    assert model.relation_embedding(0).shape[1] == least.exact_width + spare
    assert recall_asked(model, rng) == 1


def test_the_cap_is_told_in_one_line():
    for more in ({}, {"depth": 2}):
        with pytest.raises(SettingError, match=r"hops=6: words of \d relations .* 100000 is the most") as told:
            GeometricSetting(N=1000, R=40, hops=6, construction="exact", **more)
        assert "\n" not in str(told.value) and told.value.name == "hops"
    assert GeometricSetting(N=1000, R=40, hops=6, construction="exact", chain_of_thought=True).words == 40
    rng = np.random.default_rng(0)
    with pytest.raises(SettingError, match="is the most that is built"):
        build(GeometricSetting(N=2**20, R=8, construction="exact"), rng)
    large = build(GeometricSetting(N=20, R=4, hops=6, construction="exact"), rng)
    with pytest.raises(SettingError, match="the most that is written out"):
        large.weights()
    with pytest.raises(SettingError, match=r"must end in one of \.npz, \.json"):
        large.save("weights.txt")


@pytest.mark.parametrize("break_it", ["another relation", "no gate", "wrong facts", "shuffled MLP"])
def test_a_broken_layer_forgets(break_it):
    """Controls: what the proof uses is needed."""
    rng = np.random.default_rng(5)
    model = build(GeometricSetting(N=200, R=4, construction="exact"), rng)
    layer, d = model.layers[1], model.subjects.shape[1]
    subjects, words = draw_queries(model.setting, rng)
    truth = answer_of_word(model.facts, subjects, words)
    if break_it == "another relation":  # swapping the relation gives that relation's attribute, not this one's
        other = (words + 1) % 4
        assert np.all(model.answer(subjects, other) == answer_of_word(model.facts, subjects, other))
        words = other
    elif break_it == "no gate":
        weights = layer.inward.toarray()
        weights[:, d:] = 0
        model.layers[1] = dataclasses.replace(layer, inward=weights, bias=0 * layer.bias)
    elif break_it == "wrong facts":
        truth = answer_of_word(draw_bijections(200, 4, rng), subjects, words)
    else:
        layer.bias[:] = rng.permutation(layer.bias)
        layer.outward.data[:] = rng.permutation(layer.outward.data)
    # Without a gate a subject has one answer for all four relations; the others are right by chance, one in 200.
    assert np.mean(model.answer(subjects, words) == truth) < 0.3


@pytest.mark.parametrize("shape", [{"hops": 1}, {"hops": 2}, {"hops": 3, "depth": 2},
                                   {"hops": 3, "chain_of_thought": True}])
def test_the_fast_path_is_the_explicit_layer(shape):
    """Superposition read as a matrix product answers as the layer with its gates does, on every query."""
    s = GeometricSetting(N=40, R=3, d=40, code_length=9, **shape)
    model, rng = build(s, np.random.default_rng(11)), np.random.default_rng(11)
    lengths = sorted(set(s.word_lengths))
    tables = np.concatenate([word_tables(model.facts, j) for j in lengths])
    facts, codes = draw_bijections(s.N, s.R, rng), draw_codes(s.N, s.k, rng)
    maps = draw_maps(s.words, s.width, s.k, rng)
    assert np.array_equal(facts, model.facts) and np.array_equal(codes, model.codes)
    np.testing.assert_allclose(superpose(codes, maps, tables), model.subjects, atol=1e-12)
    words = [word for j in lengths for word in itertools.product(range(s.R), repeat=j)]
    for word, answers in zip(words, decoded(codes, maps, tables), strict=True):
        explicit = np.argmax(model.logits(np.arange(s.N), np.tile(word, (s.N, 1))), axis=1)
        assert np.array_equal(explicit, answers)
    # Maps have orthonormal columns, codes lie on the sphere.
    columns = np.einsum("wdi,wdj->wij", maps, maps)
    np.testing.assert_allclose(columns, np.broadcast_to(np.eye(s.k), columns.shape), atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(codes, axis=1), 1)


@given(N=st.integers(2, 30), R=st.integers(1, 4), length=st.integers(0, 4), seed=st.integers(0, 2**32))
def test_tables_of_words_are_compositions(N, R, length, seed):
    rng = np.random.default_rng(seed)
    facts = draw_bijections(N, R, rng)
    assert all(sorted(f) == list(range(N)) for f in facts)
    subjects, words = rng.integers(0, N, 20), rng.integers(0, R, (20, length))
    tables = word_tables(facts, length)
    assert np.array_equal(tables[word_index(words, R), subjects], answer_of_word(facts, subjects, words))


@pytest.mark.parametrize("suffix", [".npz", ".json"])
@pytest.mark.parametrize("shape", [{"construction": "exact"}, {"d": 60, "code_length": 20},
                                   {"construction": "exact", "hops": 3, "depth": 2}])
def test_exported_weights_are_the_model(tmp_path, shape, suffix):
    """The file alone, run by a few lines of NumPy, answers as the model does."""
    rng = np.random.default_rng(2)
    model = build(GeometricSetting(N=25, R=3, **shape), rng)
    path = str(tmp_path / f"weights{suffix}")
    model.save(path)
    if suffix == ".npz":
        with np.load(path) as file:
            w = dict(file)
    else:
        w = {name: np.array(value) for name, value in json.loads((tmp_path / "weights.json").read_text()).items()}
    subjects, words = draw_queries(model.setting, rng)
    answers, start = subjects, 0
    for j in model.setting.word_lengths:
        asked_now = words[:, start:start + j]
        tokens = [np.pad(w["subjects"][answers], ((0, 0), (0, w["relations"].shape[2] - w["subjects"].shape[1])))]
        tokens += [w["relations"][slot][asked_now[:, slot]] for slot in range(j)]
        x = float(w[f"value_scale{j}"]) * np.mean(tokens, axis=0)
        hidden = np.maximum(x @ w[f"mlp_in{j}"].T + w[f"mlp_bias{j}"], 0)
        answers = np.argmax(hidden @ w[f"mlp_out{j}"].T @ w["unembedding"].T, axis=1)
        start += j
    assert np.array_equal(answers, model.answer(subjects, words))


def test_given_facts_are_kept_and_checked():
    facts, rng = np.array([[1, 0, 2], [2, 1, 0]]), np.random.default_rng(0)
    model = build(GeometricSetting(N=3, R=2, construction="exact"), rng, facts)
    assert model.facts is facts and recall_of(model, rng) == 1
    with pytest.raises(SettingError, match="don't fit"):
        build(GeometricSetting(N=4, R=2, construction="exact"), rng, facts)


def test_the_mlp_is_the_same_for_other_facts():
    """Nothing but the subjects' embeddings depends on the facts."""
    s = GeometricSetting(N=31, R=3, construction="exact")
    one, other = (build(s, np.random.default_rng(seed)) for seed in (0, 1))
    assert not np.array_equal(one.subjects, other.subjects)
    assert np.array_equal(one.codes, other.codes)
    for a, b in zip(one.layers.values(), other.layers.values(), strict=True):
        assert np.array_equal(a.bias, b.bias)
        assert (a.inward != b.inward).nnz == (a.outward != b.outward).nnz == 0
