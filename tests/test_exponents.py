"""From which length on it matters, in exponents: against the numbers of the formulas themselves."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from command_line import answer, refused

from recall_theory.theory import formulas
from recall_theory.theory.domain import Batch
from recall_theory.theory.length_exponents import exponents
from recall_theory.theory.seed import SeedLaws

HALF = Fraction(1, 2)


@pytest.mark.parametrize(("e", "delta", "nu", "c"), [
    (True, HALF, Fraction(3, 2), Fraction(7, 8)), (True, Fraction(3, 4), Fraction(5, 4), Fraction(15, 16)),
    (True, Fraction(2), Fraction(1), Fraction(5, 4)), (False, HALF, Fraction(1), Fraction(5, 8)),
    (False, Fraction(3, 4), Fraction(1), Fraction(13, 16)), (False, Fraction(3, 2), Fraction(1), Fraction(9, 8))])
def test_length_binds_along_the_edge_of_recall(e, delta, nu, c):
    found = exponents(None, e)
    assert found.edge(delta) == nu
    assert found.longest(nu, delta)[0] == c
    assert any(piece.start <= delta <= piece.end and piece.at(delta) == c for piece in found.along_edge())


def test_the_pieces_meet():
    for e in (True, False):
        pieces = exponents(None, e).along_edge()
        assert all(a.end == b.start and a.at(a.end) == b.at(b.start) for a, b in itertools.pairwise(pieces))
    assert [str(piece) for piece in exponents(None, False).along_edge()] == ["1/4 + 3/4 delta", "3/4 + 1/4 delta"]


@pytest.mark.parametrize("e", [True, False])
@pytest.mark.parametrize(("nu", "delta"), [(1.5, 0.75), (1.25, 1.5), (2.0, 0.5)])
def test_the_numbers_of_step_two_cross_there(e, nu, delta):
    """At V = 10^24 the noise of attention is below the signal a little before that c, and above a little after it."""
    c = float(exponents(None, e).longest(Fraction(nu), Fraction(delta))[0])
    V = 1e24
    for step, below in ((-0.05, True), (0.05, False)):
        terms = SeedLaws(Batch.of(V, V ** (c + step), V**delta, V**nu, trigger_in_value=e)).attention_terms()
        assert (max(float(x[0]) for x in terms.values()) < 1) == below


def test_bounds_are_those_of_the_formulas():
    """The slopes of the bound on samples between V = 10^30 and 10^31, one size at a time, less ln V."""
    samples = formulas["bound.gradient.samples"]

    def slope(c, delta):
        at = [math.log10(float(samples(V=V, L=V**c, d=V**delta)) / math.log(V)) for V in (1e30, 1e31)]
        return at[1] - at[0]

    information = exponents(None, True).bounds[-1]
    assert str(information) == "nu + 2 delta > c + 2"
    for c, delta in ((0.25, 0.5), (0.75, 0.75)):
        assert slope(c, delta) == pytest.approx(2 + c - 2 * delta, abs=1e-3)
    assert str(exponents("relu", True).bounds[1]) == "mu + delta > 1"


def test_moments_of_relu_and_tanh_have_the_powers_that_are_declared():
    from recall_theory.activations import activation
    from recall_theory.theory.length_exponents import MOMENTS
    from recall_theory.theory.seed import activation_moments

    for name, powers in MOMENTS.items():
        fine, coarse = (activation_moments(activation(name), np.float64(s)) for s in (1e-4, 1e-2))
        for moment in fine:
            if moment not in powers:
                assert abs(float(fine[moment])) < 1e-3
            else:
                seen = math.log(abs(float(fine[moment]) / float(coarse[moment]))) / math.log(100)
                assert seen == pytest.approx(powers[moment] / 2, abs=0.05), (name, moment)


def test_the_command_says_it():
    data = answer("phase", "--exponents", "--no-trigger-in-value")
    assert [x["condition"] for x in data["recall"]] == ["nu > 1", "2 delta > 1"]
    assert data["edge"][0]["c_at"] == ["5/8", "1"]
    assert "--V" in refused("phase", "--exponents", "--V", "64")
    assert "relu" in refused("phase", "--exponents", "--activation", "gelu")
    assert "--x" in refused("phase")
