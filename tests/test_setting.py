"""Settings of every model: a value outside its domain, and a contradiction, is refused with one line that says so."""

from __future__ import annotations

import dataclasses
import fractions
import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from support import assert_refused

from recall_theory import settings
from recall_theory.geometric import Construction, GeometricSetting, TrainingSetting
from recall_theory.geometric.geometric_setting import MOST_CODED
from recall_theory.settings import EMBEDDINGS, Setting, SettingError

GOOD = {"V": 64, "L": 8, "d": 32, "N": 1000}
NOT_NUMBERS = [math.nan, math.inf, -math.inf, True, False, "64", "", b"64", [64], (64,), {}, 64j,
               np.nan, np.array([64, 65]), object()]
MONSTROUS = [10**400, -10**400, 10**5000, fractions.Fraction(10**400), "x" * 10**6, "two\nlines", np.zeros((100, 100))]

GEOMETRIC = {"N": 100, "R": 3, "d": 64, "code_length": 16}
# Every declared parameter of every kind of setting, beside values that go together.
DECLARED = [pytest.param(kind, good, p, id=f"{kind.__name__}: {p.name}") for kind, good in (
    (Setting, GOOD), (GeometricSetting, GEOMETRIC), (TrainingSetting, {}), (Construction, {"N": 100, "R": 3}))
    for p in kind.parameters.values()]


@given(V=st.integers(2, 10**15), L=st.integers(1, 10**9), d=st.integers(1, 10**9), N=st.integers(1, 10**15),
       embedding=st.sampled_from(EMBEDDINGS), flag=st.booleans())
def test_every_value_of_the_domain_is_taken_as_it_is(V, L, d, N, embedding, flag):
    if embedding == "orthogonal" and d < V:
        with pytest.raises(SettingError, match=f"d={d} is too small.*V={V}") as caught:
            Setting(V=V, L=L, d=d, N=N, embedding=embedding)
        assert caught.value.name == "d"
        return
    setting = Setting(V=V, L=L, d=d, N=N, embedding=embedding, trigger_in_value=flag)
    assert (setting.V, setting.L, setting.d, setting.N) == (V, L, d, N)
    assert setting.ratio == N / V
    assert setting.is_limit
    assert Setting(**setting.to_dict()) == setting
    assert hash(setting) == hash(setting.replace(embedding=embedding))


@pytest.mark.parametrize("convert", [int, float, np.int32, np.int64, np.uint16, np.float32, np.float64])
def test_whole_numbers_of_any_type_become_int(convert):
    setting = Setting(**{k: convert(v) for k, v in GOOD.items()})
    assert setting == Setting(**GOOD)
    assert all(type(getattr(setting, name)) is int for name in GOOD)


@pytest.mark.parametrize("flag", [1, np.int64(1), True])
def test_flags_of_any_type_become_bool(flag):
    assert Setting(**GOOD, trigger_in_value=flag).trigger_in_value is True


@pytest.mark.parametrize("given_one, other", [("eta", "gamma"), ("gamma", "eta")])
def test_learning_rates_go_together(given_one, other):
    assert not Setting(**GOOD, eta=1e-3, gamma=1e6).is_limit
    with pytest.raises(SettingError, match="go together") as caught:
        Setting(**GOOD, **{given_one: 1.0})
    assert caught.value.name == other


def test_settings_do_not_change():
    setting = Setting(**GOOD)
    with pytest.raises(dataclasses.FrozenInstanceError):
        setting.V = 3  # type: ignore[misc]
    assert setting.replace(V=128).V == 128
    assert setting.V == 64
    with pytest.raises(SettingError):
        setting.replace(V=1)


@pytest.mark.parametrize("kind, good, parameter", DECLARED)
def test_declarations_are_whole(kind, good, parameter):
    assert parameter.meaning
    assert parameter.domain
    assert parameter.low <= parameter.high
    if parameter.typical:
        low, high = parameter.typical
        assert parameter.low <= low < high <= parameter.high
    if not parameter.optional and parameter.default is not None:
        assert parameter.check(parameter.default) == parameter.default
    assert {f.name for f in dataclasses.fields(kind)} == set(kind.parameters)


def beyond(parameter):
    """Values outside a declared domain, some of them by a hair."""
    if parameter.kind == "integer":
        ends = [parameter.low - 1, parameter.high + 1, -10**20, 10**20, parameter.low + 1e-9, 100.5]
    else:
        ends = [math.nextafter(parameter.low, -math.inf), math.nextafter(parameter.high, math.inf), -1, 1e301]
    return {
        "integer": [*NOT_NUMBERS, *MONSTROUS, *ends], "real": [*NOT_NUMBERS, *MONSTROUS, *ends],
        "flag": [None, "true", 2, -1, 0.5, math.nan, [], *MONSTROUS],
        "choice": [{}, *MONSTROUS, *(near for c in parameter.choices for near in (c.title(), f"{c} ", [c]))],
        "activation": [],
    }[parameter.kind] + ([] if parameter.optional else [None])


@pytest.mark.parametrize("kind, good, parameter", DECLARED)
def test_what_is_outside_a_domain_is_refused(kind, good, parameter):
    """In one short line that names the parameter and its domain."""
    for value in ["nonsense", "", 2.5j, object(), [parameter.default], *beyond(parameter)]:
        line = assert_refused(parameter.name, kind, **{**good, parameter.name: value})
        assert len(line) < 250
        if parameter.kind != "activation":
            assert line.startswith(f"{parameter.name}=")
            assert line.removesuffix("; use predict_many for arrays").endswith(parameter.domain)


@pytest.mark.parametrize("name", GOOD)
def test_a_size_must_be_given(name):
    with pytest.raises(TypeError):
        Setting(**{k: v for k, v in GOOD.items() if k != name})


def test_an_array_is_sent_to_predict_many():
    for value in (np.array([64, 65]), [64, 65], (64,)):
        with pytest.raises(SettingError, match=r"use predict_many for arrays$"):
            Setting(**{**GOOD, "V": value})


@pytest.mark.parametrize("value", [*NOT_NUMBERS, None, 0, 1, -0.5, 1 + 1e-15, 10**400, "0.5"])
def test_proportions_lie_between_0_and_1(value):
    assert settings.check_proportion("target", np.float32(0.5)) == 0.5
    with pytest.raises(SettingError, match=r"^target=.* is not a number above 0 and below 1$") as caught:
        settings.check_proportion("target", value)
    assert caught.value.name == "target"


def test_integers_and_seeds_are_exact_at_any_size():
    assert issubclass(SettingError, ValueError)
    assert settings.check_seed(2**200 + 1) == 2**200 + 1
    assert settings.check_seed(None) != settings.check_seed(None)
    assert settings.check_integer("points", np.int64(3), 2, 5) == 3
    assert settings.check_seeds(7.0) == 7
    assert settings.check_at_most("bits", 16, 1024) == 16.0
    for check, *values in ((settings.check_seed, -1), (settings.check_seed, 0.5), (settings.check_seeds, 0),
                          (settings.check_seeds, True), (settings.check_integer, "points", 6, 2, 5),
                          (settings.check_at_most, "bits", 0, 1024), (settings.check_at_most, "bits", math.nan, 1024)):
        with pytest.raises(SettingError, match=r"^(seeds?|points|bits)=.* is not an? (integer|number)"):
            check(*values)


# Geometric recall


@pytest.mark.parametrize("values, name", [
    ({"d": None}, "d"), ({"code_length": None}, "code_length"), ({"code_length": 1}, "code_length"),
    ({"d": 15}, "d"), ({"depth": 2}, "depth"), ({"hops": 2, "depth": 2, "chain_of_thought": True}, "depth"),
    ({"construction": "none"}, "construction"), ({"chain_of_thought": 3}, "chain_of_thought"),
    ({"construction": "exact", "code_length": 6, "d": None}, "code_length"), ({"construction": "exact", "d": 50}, "d"),
    ({"hops": 9, "R": 4}, "hops"),
    ({"construction": "exact", "d": None, "code_length": None, "precision": 2}, "precision"),
])
def test_contradictions_of_geometric_recall_are_refused(values, name):
    assert_refused(name, GeometricSetting, **{**GEOMETRIC, **values})


def test_the_cap_with_numbers_of_any_length():
    line = assert_refused("hops", GeometricSetting, **{**GEOMETRIC, "R": 10**6, "hops": 64})
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


@pytest.mark.parametrize("sizes", [{"N": 10**4, "R": 3}, {"N": 100, "R": 64, "hops": 4},
                                   {"N": 5000, "R": 2, "width": 10**5}])
def test_trainings_that_are_too_large_are_declined(sizes):
    with pytest.raises(SettingError, match="is the most"):
        TrainingSetting(**sizes)
