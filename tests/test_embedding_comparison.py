"""Random against orthogonal embeddings: the claims, the simulations at the predicted N, and the command."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from command_line import answer, call, refused

from recall_theory import Setting, simulate
from recall_theory.settings import SettingError
from recall_theory.theory.formulas.leading_laws import recall_interference
from recall_theory.verification.simulated_alternatives import beyond_orthogonal

SIZES = ["compare", "embeddings", "--d", "32", "--L", "4", "--no-trigger-in-value", "--points", "3", "--target", "0.8"]


@pytest.fixture(scope="module")
def found():
    return beyond_orthogonal(L=4, d=48, target=0.8, points=3, seeds=24, seed=3, trigger_in_value=False)


def test_random_embeddings_store_more_facts_than_dimensions(found):
    ratios = [x.random / x.orthogonal for x in found.dimensions]
    assert [x.d for x in found.dimensions] == [12, 24, 48, 96]
    assert (np.diff(ratios) > 0).all() and ratios[-1] > 4
    # below the leading law, which drops what is of order 1/ln V, and nearer to it in more dimensions
    shares = [x.random / x.law for x in found.dimensions]
    assert (np.diff(shares) > 0).all() and shares[-1] < 1


def test_the_law_is_quadratic_in_d_up_to_a_logarithm():
    for d, e in ((64.0, 0), (1e4, 0), (1e4, 1), (1e8, 1)):
        V = float(recall_interference(d=d, e=e, tau=1))
        assert V * np.log(V) * 2 * (1 + e) == pytest.approx(d**2)


def test_more_facts_cost_more_samples_each(found):
    random = [f.needs["gaussian"].N / f.V for f in found.facts]
    assert (np.diff(random) > 0).all()
    for f in found.facts:
        assert ("orthogonal" in f.needs) == (f.V <= 48)
        if f.V <= 48:
            assert f.needs["gaussian"].N > f.needs["orthogonal"].N
    assert 48 in [f.V for f in found.facts] and found.facts[-1].V > 2 * 48


def test_what_is_seen_at_the_predicted_N_is_the_target(found):
    """The seed is fixed. 0.02 is the theory's margin below V of 64; six standard errors on top."""
    for f in found.facts:
        for need in f.needs.values():
            assert abs(need.observed - 0.8) < 0.02 + 6 * need.se, (f.V, need)
            assert need.se < 0.04


def test_a_tenth_of_the_samples_would_not_do(found):
    """Negative control: a least N that is ten times too small is refuted by what is seen there."""
    for f in found.facts:
        for embedding, need in f.needs.items():
            setting = Setting(V=f.V, L=4, d=48, N=need.N // 10, embedding=embedding, trigger_in_value=False)
            seen = simulate(setting, 8, 1).accuracy
            assert seen.mean + 6 * seen.se < 0.78


@pytest.mark.parametrize(("wrong", "words"), [({"d": 1}, "orthogonal embeddings need"), ({"d": 0}, "d=0"),
                                              ({"target": 1.0}, "target=1.0"), ({"points": 1}, "points=1"),
                                              ({"L": 2.5}, "L=2.5"), ({"seeds": -1}, "seeds=-1")])
def test_bad_values_are_refused(wrong, words):
    with pytest.raises(SettingError, match=words):
        beyond_orthogonal(**{"d": 32, "L": 4, **wrong})


@pytest.fixture
def quick(monkeypatch):
    """A stand-in for the search: what is tested with it lies around it."""
    from recall_theory.numerics.thresholds import Interval

    def solve(unknown, target, *, d, embedding="gaussian", V=None, **sizes):
        size = 3 * d if unknown == "V" else (8 if embedding == "orthogonal" else 16) * V
        return Interval(size if unknown == "N" else 2, size, bounded=True)

    monkeypatch.setattr("recall_theory.verification.simulated_alternatives.solve_for", solve)


@pytest.mark.usefixtures("quick")
def test_the_command_is_the_librarys():
    command = answer(*SIZES, "--seeds", "2", "--seed", "5")
    library = beyond_orthogonal(L=4, d=32, target=0.8, points=3, seeds=2, seed=5, trigger_in_value=False)
    assert command == json.loads(json.dumps(library.to_dict()))
    assert command["seeds"] == 2 and command["seed"] == 5
    assert answer(*SIZES)["seed"] is None


@pytest.mark.usefixtures("quick")
def test_the_command_draws_and_lists(tmp_path):
    picture = tmp_path / "b.svg"
    code, out, _ = call(*SIZES, "--plot", str(picture))
    assert code == 0 and "V > d" in out
    ElementTree.parse(picture)
    assert "orthogonal, V = d" in picture.read_text()


def test_the_command_refuses_in_one_line():
    assert "--d" in refused("compare", "embeddings", "--d", "1", "--L", "4")
    assert "--d is missing" in refused("compare", "embeddings", "--L", "4")
