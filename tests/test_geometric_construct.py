"""Transformers that are written down recall every fact, at the sizes that were predicted, and forget when broken."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.special import ndtr

from recall_theory.geometric import Construction, GeometricSetting, construct, run_queries
from recall_theory.geometric.geometric_setting import ROUTES
from recall_theory.geometric.geometric_simulation import (
    all_words,
    answer_of_word,
    decoded,
    draw_bijections,
    draw_maps,
    superpose,
    word_index,
    word_tables,
)
from recall_theory.numerics.unit_sphere import random_rows
from recall_theory.settings import SettingError


def built(seed=0, **sizes):
    """A construction, its transformer for random facts, and the facts."""
    c = Construction(**sizes)
    facts = draw_bijections(c.N, c.R, np.random.default_rng(seed))
    return c, construct(c, facts), facts


def asked(seed=0, **sizes):
    """What a construction recalls; its sizes are those that were predicted."""
    c, model, facts = built(seed, **sizes)
    assert (model.d, model.width, len(model.unembedding)) == (c.d, c.width, c.answers)
    found = run_queries(c, model, facts, np.random.default_rng(1))
    # In single precision; attention to other tokens takes up to a quarter with chain of thought.
    assert found.margin >= c.margin * (3 / 4 if c.route == "chain" else 1) - 1e-4
    return found


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("hops", [1, 2, 3, 4])
def test_every_query_is_recalled(route, hops):
    for N, R in ((2, 2), (3, 4), (7, 3), (40, 2), (101, 1), (64, 3)):
        found = asked(N=N, R=R, hops=hops, route=route)
        assert (found.recall, found.queries) == (1, N * R**hops), (N, R)


@settings(deadline=None, max_examples=40)
@given(N=st.integers(2, 200), R=st.integers(1, 5), hops=st.integers(1, 3), seed=st.integers(0, 2**32),
       route=st.sampled_from(("embedding", "middle", "two-layers", "chain")), bits=st.integers(1, 5),
       circle=st.booleans(), disjoint=st.booleans())
def test_other_codes_and_sets(N, R, hops, seed, route, bits, circle, disjoint):
    more = {"codes": "circle"} if circle else {"bits": bits}
    disjoint = disjoint and route != "two-layers"
    hops = 1 if disjoint else hops
    assert asked(seed, N=N, R=R, hops=hops, route=route, sets="disjoint" if disjoint else "shared", **more).recall == 1


def test_sizes_of_the_issue():
    """Two hops through the middle at d = 80 where the embedding alone takes 528; and 8 hops of chain of thought."""
    sizes = {"N": 256, "R": 8, "hops": 2}
    assert {route: Construction(**sizes, route=route).d for route in ROUTES} == {
        "embedding": 528, "wide": 24, "middle": 80, "two-layers": 80, "chain": 8 * 8 + 8 + 5}
    assert asked(**sizes, route="middle").recall == asked(**sizes, route="two-layers").recall == 1
    assert Construction(N=4096, R=16, hops=4, route="two-layers").refused is None
    c = Construction(N=4096, R=16, hops=8, route="chain")
    assert (c.d, c.width) == (16 * 12 + 16 + 17, 2 * 16 * 12)
    assert Construction(N=4096, R=16, codes="circle").d == 3 * 16
    assert Construction(N=10**15, R=1000, hops=9).refused is not None
    with pytest.raises(SettingError, match="too large to run"):
        construct(Construction(N=2048, R=16, hops=4), np.zeros((16, 2048), int))


class Exported:
    """The arrays of `weights` alone, run by a few lines of another library."""

    def __init__(self, weights, library, convert, compiled):
        self.weights, self.library = {name: convert(array) for name, array in weights.items()}, library
        self.logits = compiled(self.logits)

    def forward(self, tokens):
        return np.asarray(self.logits(tokens)).copy()

    def logits(self, tokens):
        w, einsum = self.weights, self.library.einsum
        x = w["embedding"][tokens] + w["positions"][:tokens.shape[1]]
        attention = self.library.exp(einsum("nd,hde,nte->nht", x[:, -1], w["key_query"], x))
        attention = attention / attention.sum(-1)[..., None]
        hidden = einsum("nht,hde,nte->nd", attention, w["value"], x) @ w["inward"].T + w["bias"]
        hidden = hidden * (hidden > 0)
        if "second" in w:
            hidden = hidden @ w["second"].T + w["second_bias"]
            hidden = hidden * (hidden > 0)
        return hidden @ w["outward"].T @ w["unembedding"].T


@pytest.mark.parametrize("library, convert", [("jax.numpy", "asarray"), ("torch", "tensor")])
@pytest.mark.parametrize("sizes", [*({"route": route, "hops": hops} for route in ROUTES for hops in (1, 3)),
                                   {"sets": "disjoint"}, {"hops": 3, "route": "middle", "bits": 2},
                                   {"hops": 2, "codes": "circle"}, {"hops": 5, "route": "chain"}])
def test_exported_weights_are_the_model_in_other_libraries(sizes, library, convert):
    """Logits, recall and margin are those of NumPy, in jax and in PyTorch."""
    module = pytest.importorskip(library, reason=f"{library} is not installed")
    c, model, facts = built(N=25, R=3, **sizes)
    compiled = pytest.importorskip("jax").jit if library == "jax.numpy" else lambda function: function
    exported = Exported(model.weights(), module, getattr(module, convert), compiled)
    rng = np.random.default_rng(2)
    tokens = np.concatenate([rng.integers(0, 25, (50, 1)), 25 + rng.integers(0, 3, (50, c.hops))], axis=1)
    np.testing.assert_allclose(exported.forward(tokens), model.forward(tokens), atol=1e-4)
    there, here = (run_queries(c, m, facts, np.random.default_rng(1)) for m in (exported, model))
    assert (there.recall, there.queries) == (here.recall, here.queries) == (1, 25 * 3**c.hops)
    assert there.margin == pytest.approx(here.margin, abs=1e-4)


@pytest.mark.parametrize("break_it", ["no key-query", "no gate", "wrong facts", "shuffled MLP", "positions shuffled"])
@pytest.mark.parametrize("route", ["embedding", "middle", "two-layers", "chain"])
def test_a_broken_transformer_forgets(break_it, route):
    """Controls: what the proofs use is needed."""
    c, model, facts = built(N=200, R=4, hops=3 if route == "chain" else 2, route=route)
    rng = np.random.default_rng(5)
    if break_it == "no key-query":
        model = dataclasses.replace(model, key_query=tuple(0 * head for head in model.key_query))
    elif break_it == "no gate":
        inward = model.inward.toarray()
        inward[:, c.coded:] = 0
        model = dataclasses.replace(model, inward=sparse.csr_matrix(inward), bias=0 * model.bias)
    elif break_it == "wrong facts":
        facts = draw_bijections(200, 4, rng)
    elif break_it == "positions shuffled":
        model = dataclasses.replace(model, positions=np.roll(model.positions, 1, axis=0))
    else:
        model.outward.indices[:] = rng.permutation(model.outward.indices)
    assert run_queries(c, model, facts, rng).recall < 0.5


def test_only_the_embedding_depends_on_the_facts_but_where_it_is_said():
    for route, changed in (("embedding", {"embedding"}), ("chain", {"embedding"}), ("wide", {"outward"}),
                           ("middle", {"embedding", "unembedding"}), ("two-layers", {"embedding", "unembedding"})):
        one, other = (built(seed, N=31, R=3, hops=2, route=route)[1].weights() for seed in (0, 1))
        assert {name for name in one if not np.array_equal(one[name], other[name])} == changed


@pytest.mark.parametrize("bits, deviation", [(1, 0.3), (2, 0.3), (3, 0.25)])
def test_digits_under_noise(bits, deviation):
    """Noise on the embeddings, in units of the spacing: each digit is read rightly by the law of the derivation."""
    c, model, facts = built(N=64, R=4, bits=bits)
    rng, seen = np.random.default_rng(8), []
    for _ in range(40):
        noisy = model.embedding.copy()
        noisy[:c.N, :c.coded] += 2 * deviation * rng.standard_normal((c.N, c.coded))
        seen.append(run_queries(c, dataclasses.replace(model, embedding=noisy), facts, rng).recall)
    right = (1 - 2 * (1 - 2.0**-bits) * ndtr(-1 / (2 * deviation))) ** c.k
    assert abs(np.mean(seen) - right) < 5 * np.std(seen) / np.sqrt(40)


def test_what_does_not_fit_is_told_in_one_line():
    model = built(N=6, R=2)[1]
    with pytest.raises(SettingError, match="are too long"):
        model.forward(np.zeros((1, 3), int))
    with pytest.raises(SettingError, match="don't fit"):
        construct(Construction(N=4, R=2), np.array([[1, 0, 2], [2, 1, 0]]))
    with pytest.raises(SettingError, match="the most that is written"):
        built(N=300, R=32, hops=2)[1].weights()


@pytest.mark.parametrize("shape", [{"hops": 1}, {"hops": 2}, {"hops": 3, "depth": 2}])
def test_superposition_read_as_a_product_is_the_gated_mlp(shape):
    """On every word the layer with its gates, written out here, decides as the simulation does."""
    s, rng = GeometricSetting(N=40, R=3, d=40, code_length=9, **shape), np.random.default_rng(11)
    facts, codes = draw_bijections(s.N, s.R, rng), random_rows(rng, s.N, s.k, "sphere")
    maps = draw_maps(s.words, s.width, s.k, rng)
    tables = np.concatenate([word_tables(facts, j) for j in sorted(set(s.word_lengths))])
    subjects = superpose(codes, maps, tables)
    decisions = decoded(codes, (subjects @ b for b in maps), tables)
    for w in range(s.words):
        out = np.zeros((s.N, s.k))
        for v, b in enumerate(maps):  # the gates of word v see how many slots differ
            read, shut = subjects @ b, s.words * (v != w)
            out += np.maximum(read - shut, 0) - np.maximum(-read - shut, 0)
        assert np.array_equal(np.argmax(out @ codes.T, axis=1), decisions[w])
    columns = np.einsum("wdi,wdj->wij", maps, maps)
    np.testing.assert_allclose(columns, np.broadcast_to(np.eye(s.k), columns.shape), atol=1e-12)


@given(N=st.integers(2, 30), R=st.integers(1, 4), length=st.integers(0, 4), seed=st.integers(0, 2**32))
def test_tables_of_words_are_compositions(N, R, length, seed):
    rng = np.random.default_rng(seed)
    facts = draw_bijections(N, R, rng)
    assert all(sorted(f) == list(range(N)) for f in facts)
    subjects, words = rng.integers(0, N, 20), rng.integers(0, R, (20, length))
    tables = word_tables(facts, length)
    assert np.array_equal(tables[word_index(words, R), subjects], answer_of_word(facts, subjects, words))
    assert np.array_equal(word_index(all_words(R, length), R), np.arange(R**length))
