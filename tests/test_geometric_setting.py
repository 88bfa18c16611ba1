"""Settings of geometric recall: every value outside its domain, and every contradiction, is refused in one line."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from support import assert_refused

from recall_theory.geometric import GeometricSetting, TrainingSetting
from recall_theory.geometric.geometric_setting import GEOMETRIC_PARAMETERS, MOST_CODED
from recall_theory.settings import SettingError

GOOD = {"N": 100, "R": 3, "d": 64, "code_length": 16}
NUMBERS = [p for p in GEOMETRIC_PARAMETERS.values() if p.kind in ("integer", "real")]
NOT_NUMBERS = [math.nan, math.inf, -math.inf, True, "64", "", [64], {}, 64j, np.nan, object()]


@pytest.mark.parametrize("parameter", NUMBERS, ids=lambda p: p.name)
def test_what_is_outside_a_domain_is_refused(parameter):
    between = 2.5 if parameter.kind == "integer" else -1.0
    for value in (*NOT_NUMBERS, parameter.low - 1, parameter.high + 1, between):
        line = assert_refused(parameter.name, GeometricSetting, **{**GOOD, parameter.name: value})
        assert line.endswith(parameter.domain)


@pytest.mark.parametrize("values, name", [
    ({"d": None}, "d"), ({"code_length": None}, "code_length"), ({"code_length": 1}, "code_length"),
    ({"d": 15}, "d"), ({"depth": 2}, "depth"), ({"hops": 2, "depth": 2, "chain_of_thought": True}, "depth"),
    ({"construction": "none"}, "construction"), ({"chain_of_thought": 3}, "chain_of_thought"),
    ({"construction": "exact", "code_length": 6, "d": None}, "code_length"), ({"construction": "exact", "d": 50}, "d"),
    ({"hops": 9, "R": 4}, "hops"),
    ({"construction": "exact", "d": None, "code_length": None, "precision": 2}, "precision"),
])
def test_contradictions_are_refused(values, name):
    assert_refused(name, GeometricSetting, **{**GOOD, **values})


def test_the_cap_with_numbers_of_any_length():
    line = assert_refused("hops", GeometricSetting, **{**GOOD, "R": 10**6, "hops": 64})
    assert "about 10^385 coordinates" in line and len(line) < 200


@given(N=st.integers(2, 10**15), R=st.integers(1, 9), hops=st.integers(1, 6), depth=st.integers(1, 3),
       cot=st.booleans())
def test_sizes_of_the_exact_construction(N, R, hops, depth, cot):
    try:
        s = GeometricSetting(N=N, R=R, hops=hops, depth=depth, chain_of_thought=cot, construction="exact")
    except SettingError:
        assume(False)  # a contradiction, or too many words: the tests above
    assert sum(s.word_lengths) == hops and 2**s.k >= N > 2 ** (s.k - 1)
    assert len(s.word_lengths) <= (hops if cot else depth)
    assert s.words == sum(R**j for j in set(s.word_lengths)) and (hops == 1 or s.words * s.k <= MOST_CODED)
    assert s.width == s.exact_width == s.words * s.k + max(s.word_lengths) * R
    assert s.mlp_width == 2 * s.words * s.k
    assert GeometricSetting(**s.to_dict()) == s == s.replace(N=N)


def test_a_setting_is_frozen_and_canonical():
    s = GeometricSetting(N=np.int64(100), R=3.0, d=64, code_length=16)
    assert s == GeometricSetting(**GOOD) and type(s.N) is type(s.R) is int
    with pytest.raises(dataclasses.FrozenInstanceError):
        s.N = 5


@pytest.mark.parametrize("name, values", [
    ("N", (1, 2.5, math.nan, 10**5, "many")), ("R", (0, math.inf)), ("d", (0, True)), ("width", (0,)),
    ("hops", (0, 5)), ("start", (-1,)), ("steps", (0,)), ("rate", (0, 2, math.nan)),
    ("weight_decay", (1.5,)),
])
def test_what_is_out_of_range_in_a_training_is_named(name, values):
    for value in values:
        assert assert_refused(name, TrainingSetting, **{name: value}).startswith(f"{name}=")


@pytest.mark.parametrize("sizes", [{"N": 10**4, "R": 3}, {"N": 100, "R": 64, "hops": 4},
                                   {"N": 5000, "R": 2, "width": 10**5}])
def test_trainings_that_are_too_large_are_declined(sizes):
    with pytest.raises(SettingError, match="is the most"):
        TrainingSetting(**sizes)
