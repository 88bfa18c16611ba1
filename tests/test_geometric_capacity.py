"""Capacity of geometric recall: each row by its own definition, inverses that invert, budgets that are kept."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import assert_refused

from recall_theory.geometric import Construction, GeometricSetting, capacity, construct, crossovers, hops, run_queries
from recall_theory.geometric import hop_depth as counting
from recall_theory.geometric.geometric_capacity import CIRCLE
from recall_theory.geometric.superposition import best_within, cheapest, parameter_count, superposition_dimension
from recall_theory.geometric.superposition import superposition_recall as recall
from recall_theory.theory.formulas import geometric_laws as laws
from validation.geometric_circle import FORMATS, told_apart


def rows(**given):
    """The rows of a capacity: exact, superposition, bound, linear memory and bound of any matrix."""
    return capacity(**given).rows[:5]


def test_dimension_beside_bits():
    """Digits of b bits and angles are built and recall everything, at the d that is printed."""
    for bits in (1, 2, 3, 8):
        digits, circle = capacity(N=300, R=3, bits=bits).rows[5:]
        c = Construction(N=300, R=3, bits=bits)
        assert digits.d == c.d == 3 * (math.ceil(math.log2(300) / bits) + 1) and circle.d == 9
        bound = capacity(N=300, R=3, bits=bits).rows[2]
        assert digits.d >= bound.d
        facts = np.array([np.roll(np.arange(300), r) for r in range(3)])
        assert run_queries(c, construct(c, facts), facts, np.random.default_rng(0)).recall == 1
    assert capacity(N=10**4, R=3).rows[6].d is None and capacity(R=3, d=9).rows[6].N == CIRCLE["float32"]


@pytest.mark.parametrize("name", ["bfloat16", "float16"])
def test_what_formats_tell_apart_on_a_circle(name):
    most = CIRCLE[name]
    assert all(told_apart(N, name) == 1 for N in range(2, most + 1)) and told_apart(most + 1, name) < 1
    bits = FORMATS[name][0]
    assert 2 ** (bits / 2) < most < 4 * 2 ** (bits / 2)


@pytest.mark.parametrize("N, R", [(2, 1), (100, 3), (4096, 8), (1000, 60), (10**12, 4)])
def test_each_row_by_its_definition(N, R):
    exact, mixed, bound, linear, matrix = rows(N=N, R=R)
    assert exact.d == GeometricSetting(N=N, R=R, construction="exact").width and exact.recall == 1
    assert mixed.recall == pytest.approx(recall(N, R, mixed.code_length, mixed.d)) and mixed.recall >= 0.99
    if mixed.d > mixed.code_length:
        assert recall(N, R, mixed.code_length, mixed.d - 1) < 0.99
    assert bound.d == math.ceil(R * math.log2(N) / 16 - 1e-9)
    assert linear.d == math.ceil(math.sqrt(2 * N * R * math.log(N * R)))
    assert matrix.d**2 * 16 >= counting.tables_bits(N, R) * (1 - 1e-9) > (matrix.d - 1) ** 2 * 16 * (1 - 1e-6)
    assert min(exact.d, mixed.d) >= bound.d


@pytest.mark.parametrize("R, d", [(3, 40), (8, 512), (20, 100)])
def test_the_largest_n_is_the_largest(R, d):
    exact, mixed, _, linear, _ = rows(R=R, d=d)
    assert exact.N is None or exact.N in (2 ** (d // R - 1), 10**15)
    if mixed.N is not None:
        assert recall(mixed.N, R, mixed.code_length, d) >= 0.99 - 1e-3
        assert recall(round(1.05 * mixed.N) + 1, R, mixed.code_length, d) < 0.99 + 1e-3
    law = laws.linear_memory_dimension
    assert law(float(linear.N), float(R)) <= d < law(float(linear.N + 1), float(R))


@pytest.mark.parametrize("N, d", [(100, 60), (4096, 512)])
def test_the_largest_r_is_the_largest(N, d):
    exact, mixed, bound, *_ = rows(N=N, d=d)
    assert exact.R == d // ((N - 1).bit_length() + 1)
    assert bound.R == math.floor(16 * d / math.log2(N))
    assert mixed.R >= 1


def test_hops_take_more_and_chain_of_thought_does_not():
    shapes = ({}, {"hops": 3}, {"hops": 3, "chain_of_thought": True})
    one, three, thought = (rows(N=100, R=3, **shape) for shape in shapes)
    assert three[0].d == 27 * 7 + 9 and thought[0].d == one[0].d
    assert thought[1].d > one[1].d  # each of three passes must be right
    assert thought[2].d == one[2].d < three[2].d


def test_an_mlp_width_gives_the_longest_code_that_it_allows():
    mixed = rows(N=1000, R=8, mlp_width=2015)[1]
    assert mixed.code_length == 2015 // 16 and mixed.mlp_width <= 2015
    assert mixed.d == superposition_dimension(1000, 8, mixed.code_length, 0.99)
    assert superposition_dimension(1000, 8, mixed.code_length // 2, 0.99) > mixed.d  # a longer code needs no larger d
    assert rows(N=1000, R=8, mlp_width=20)[1].d is None


@pytest.mark.parametrize("N, words, target", [(300, 4, 0.9), (1000, 8, 0.99)])
def test_the_cheapest_layout_is_the_cheapest(N, words, target):
    """Beside it, by trying code lengths one by one."""
    k, d = cheapest(N, words, words, target)
    around = [max(2, round(k * f)) for f in (0.6, 0.8, 0.9, 1.1, 1.25, 1.6)]
    tried = [parameter_count(N, words, words, j, superposition_dimension(N, words, j, target)) for j in around]
    assert min(tried) > 0.998 * parameter_count(N, words, words, k, d)  # whole dimensions make a step of about this


@pytest.mark.parametrize("budget", [60_000, 100_000, 400_000])
def test_the_best_within_a_budget_is_the_best(budget):
    N, R = 500, 6
    k, d = best_within(N, R, R, budget)
    assert best_within(N, R, R, 100) is None  # buys nothing
    assert parameter_count(N, R, R, k, d) <= budget < parameter_count(N, R, R, k, d + 1)
    best = recall(N, R, k, d)
    for j in range(4, 60, 7):
        room = math.floor((budget - parameter_count(N, R, R, j, 0)) / (N + 2 * R * j))
        assert room < j or recall(N, R, j, room) < best + 2e-3
    mixed = rows(N=N, R=R, parameters=budget)[1]
    assert (mixed.code_length, mixed.d) == (k, d) and mixed.parameters <= budget


def test_parameters_are_those_of_the_built_model():
    c = Construction(N=30, R=3)
    weights = construct(c, np.array([np.roll(np.arange(30), r) for r in range(3)])).weights()
    held = sum(weights[name].size for name in ("unembedding", "inward", "bias", "outward"))
    assert parameter_count(30, 3, 3, 5, 15) == held + 30 * 15


@settings(deadline=None, max_examples=30)
@given(N=st.integers(2, 10**6), R=st.integers(1, 500))
def test_crossovers_cross(N, R):
    def smaller(n, r):
        return r * ((n - 1).bit_length() + 1) <= laws.linear_memory_dimension(float(n), float(r))

    from_N, to_R = crossovers(N, R).values()
    assert from_N in (None, 2) or not smaller(from_N - 1, R)
    assert all(smaller(n, R) for n in (from_N, *(2**e + 1 for e in range(50) if 2**e >= from_N)))
    assert to_R is None or (smaller(N, to_R) and not smaller(N, to_R + 1))


@pytest.mark.parametrize("bad, name", [
    ({"N": 5}, "R"), ({"N": 5, "R": 2, "d": 9}, "d"), ({"N": 1, "R": 2}, "N"), ({"N": math.nan, "R": 2}, "N"),
    ({"N": 10, "R": 2, "target": 1}, "target"), ({"N": 10, "R": 2, "target": math.nan}, "target"),
    ({"N": 10, "d": 20, "parameters": 100}, "parameters"), ({"N": 10, "R": 2, "code_length": 1}, "code_length"),
    ({"N": 10, "R": 2, "code_length": 5, "mlp_width": 50}, "mlp_width"), ({"N": 10, "R": 2, "depth": 2}, "depth"),
    ({"N": 10, "R": 2, "hops": 2, "depth": 2, "chain_of_thought": True}, "depth"),
])
def test_what_is_no_question_is_refused(bad, name):
    assert_refused(name, capacity, **bad)


def test_hops_by_depth():
    middle = next(way for way in hops(1024, 4, 2).ways if way.route == "middle")  # R log2 N! on 2 N vectors
    assert middle.bound_bits == pytest.approx(4 * math.lgamma(1025) / math.log(2) / 2048)
    ways = hops(1024, 4, 6).ways
    by_depth = {way.depth: way for way in ways if way.route in ("embedding", "layers")}
    assert by_depth[1].d == 4**6 * 10 + 24 and by_depth[6].d == 44
    assert by_depth[2].words == 4**3 and by_depth[2].lookup == 1024 * (10 + 640)
    assert by_depth[1].bound_bits is None  # 1 + 4 + ... + 4^5 is more than 1024
    assert ways[-1].chain_of_thought and ways[-1].bound_bits == pytest.approx(40)
    routes = {way.route: way for way in ways}
    assert routes["middle"].d == 4**3 * 10 + 24 and routes["wide"].d == 34 and routes["chain"].d == 40 + 4 + 13
    by_two = next(way for way in hops(4096, 16, 4).ways if way.route == "two-layers")
    assert (by_two.d, by_two.mlp_width, by_two.words) == (3136, 12_320, 256)
    for h in range(2, 6):  # from both ends below the bound for subject embeddings alone, never below its own
        alone, both = (way for way in hops(2**12, 4, h, bits=1).ways if way.route in ("middle", "embedding"))
        assert alone.bound_d > both.d >= both.bound_d
    assert hops(4, 2, 2).enumerated_lists == 148 and hops(1024, 4, 2).enumerated_lists is None
    assert hops(1000, 40, 6).ways[0].d is None  # beyond the cap
