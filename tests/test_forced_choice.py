"""P(s, K) against rigorous balls, 50-digit quadrature, closed forms and its own properties."""

from __future__ import annotations

import importlib
import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import erfc, log_ndtr

from recall_theory.theory import forced_choice, forced_choice_complement, forced_choice_inverse, forced_choice_log

flint = pytest.importorskip("flint")
module = importlib.import_module("recall_theory.numerics.forced_choice")

ALTERNATIVES = (2, 2.5, 3, 7.3, 25, 1000, 12345.67, 1e6, 1e9, 1e12)
leads = st.floats(-5, 15)
alternatives = st.floats(math.log(2), math.log(1e12)).map(math.exp)


def window(s, K, complement):
    """Where the integrand over t = x + s is within 75 nats of its peak, seen on a coarse grid."""
    t = np.linspace(min(s, -1) - 25, max(s, 0) + 25, 20001)
    with np.errstate(divide="ignore"):
        power = (K - 1) * log_ndtr(t)
        f = (np.log(-np.expm1(power)) if complement else power) - (t - s) ** 2 / 2
    inside = np.flatnonzero(f > f.max() - 75)
    return t[max(inside[0] - 1, 0)], t[min(inside[-1] + 1, len(t) - 1)], f.max()


def ball(s, K, complement=False):
    """The integral as an Arb ball, good to 20 digits or more; what is cut off is below e^-70 of it."""
    acb, arb = flint.acb, flint.arb
    flint.ctx.prec = 160
    low, high, top = window(s, K, complement)
    lead, rivals, scale = acb(s), acb(K) - 1, acb(-top).exp()

    def log_cdf(t, analytic):
        if t.real < 0:
            return ((-t / acb(2).sqrt()).erfc() / 2).log(analytic=analytic)
        below = 1 - (t / acb(2).sqrt()).erfc() / 2
        if analytic and not (below.real > 0 or below.imag > 0 or below.imag < 0):
            return acb("nan")
        return (-(t / acb(2).sqrt()).erfc() / 2).log1p()

    def integrand(t, analytic):
        power = rivals * log_cdf(t, analytic)
        weight = -power.expm1() if complement else power.exp()
        return (-((t - lead) ** 2) / 2).exp() * weight * scale

    # a start at zero keeps each part on one side of the switch of log_cdf
    cuts = [low, 0.0, high] if low < 0 < high else [low, high]
    total = acb(0)
    for a, b in itertools.pairwise(cuts):
        tolerance = arb(10) ** -22
        total += acb.integral(integrand, a, b, rel_tol=tolerance, abs_tol=tolerance,
                              eval_limit=400_000)
    value = (total / scale / (2 * acb.pi()).sqrt()).real
    assert value.is_finite() and value.rad() < value.mid() * arb(10) ** -19
    return value


def error(computed, exact):
    return abs(float((exact - computed) / exact))


@pytest.mark.parametrize("K", ALTERNATIVES)
def test_all_three_agree_with_rigorous_balls(K):
    for s in (-5.0, -2.3, 0.0, 1.7, 4.4, 6.1, 9.0, 15.0):
        exact = ball(s, K)
        assert error(forced_choice(s, K), exact) < 1e-13, s
        assert error(forced_choice_log(s, K), exact.log()) < 1e-13 or s > 8, s
    for s in (-5.0, -1.0, 2.0, 7.0, 11.3, 12.7, 20.0, 30.0):
        exact = ball(s, K, complement=True)
        assert error(forced_choice_complement(s, K), exact) < 1e-13, s
        if s > 0:  # the logarithm keeps the digits that P loses near 1
            assert error(forced_choice_log(s, K), (-exact).log1p()) < 1e-13
    for s in (-40.0, -25.5, -12.0):
        assert error(forced_choice_log(s, K), ball(s, K).log()) < 1e-13, s


def test_logarithm_where_the_probability_underflows():
    assert forced_choice(-40.0, 1e12) == 0
    assert forced_choice_log(-40.0, 1e12) == pytest.approx(-1103.0152926562953, rel=1e-13)
    # to leading order -(s^2/2)(1 - 1/K): all of the distance is split among the competitors
    assert forced_choice_log(-1e9, 4) == pytest.approx(-3e18 / 8, rel=1e-8)


def test_published_values():
    found = forced_choice(np.arange(1, 6), 25)
    assert np.allclose(found, [.1997, .5218, .8263, .9648, .9961], atol=5e-5)


@given(st.floats(-30, 30))
def test_two_alternatives_in_closed_form(s):
    assert forced_choice(s, 2) == pytest.approx(erfc(-s / 2) / 2, rel=2e-13)
    assert forced_choice_complement(s, 2) == pytest.approx(erfc(s / 2) / 2, rel=2e-13)


@given(st.floats(1, 1e12))
def test_no_lead_is_chance(K):
    assert forced_choice(0.0, K) == pytest.approx(1 / K, rel=1e-13)


@given(leads, alternatives)
def test_the_two_sum_to_one(s, K):
    p, q = forced_choice(s, K), forced_choice_complement(s, K)
    assert 0 <= p <= 1 and 0 <= q <= 1
    assert abs(p + q - 1) <= 2.3e-16
    assert forced_choice_log(s, K) == pytest.approx(math.log(p), rel=1e-13, abs=1e-15)


@given(leads, leads, alternatives, alternatives)
def test_rising_in_the_lead_and_falling_in_the_number_of_alternatives(a, b, c, e):
    (low, high), (few, many) = sorted((a, b)), sorted((c, e))
    assert forced_choice(low, few) <= forced_choice(high, few) * (1 + 1e-13)
    assert forced_choice_complement(low, few) * (1 + 1e-13) >= forced_choice_complement(high, few)
    assert forced_choice(low, few) * (1 + 1e-13) >= forced_choice(low, many)
    assert forced_choice_complement(low, few) <= forced_choice_complement(low, many) * (1 + 1e-13)


@given(leads, alternatives)
def test_inverse_round_trip(s, K):
    p, q = forced_choice(s, K), forced_choice_complement(s, K)
    if p < 1:
        assert forced_choice(forced_choice_inverse(p, K), K) == pytest.approx(p, rel=1e-13)
        back = forced_choice_complement(forced_choice_inverse(p, K), K)
        assert back == pytest.approx(1 - p, rel=1e-13)
    back = forced_choice_inverse(q, K, complement=True)
    assert forced_choice_complement(back, K) == pytest.approx(q, rel=1e-13)


INF, NAN = math.inf, math.nan


@pytest.mark.parametrize("function, arguments, expected", [
    (forced_choice, (INF, 9), 1), (forced_choice, (-INF, 9), 0), (forced_choice, (3.0, 1), 1),
    (forced_choice, (-INF, 1), 1), (forced_choice, (3.0, INF), 0), (forced_choice, (-1e300, 3), 0),
    (forced_choice, (NAN, 9), NAN), (forced_choice, (1, NAN), NAN),
    (forced_choice_complement, (INF, 9), 0), (forced_choice_complement, (-INF, 9), 1),
    (forced_choice_complement, (3.0, INF), 1), (forced_choice_complement, (1e300, 1e12), 0),
    (forced_choice_complement, (1, NAN), NAN),
    (forced_choice_log, (INF, 9), 0), (forced_choice_log, (-INF, 9), -INF), (forced_choice_log, (NAN, 9), NAN),
    (forced_choice_inverse, (0, 5), -INF), (forced_choice_inverse, (1, 5), INF), (forced_choice_inverse, (NAN, 5), NAN),
])
def test_limits(function, arguments, expected):
    assert function(*arguments) == pytest.approx(expected, rel=0, abs=0, nan_ok=True)


def test_inverse_ends():
    assert forced_choice_inverse(0, 5, complement=True) == INF
    assert forced_choice_inverse(1, 5, complement=True) == -INF
    assert forced_choice_inverse(1 / 7, 7) == pytest.approx(0, abs=1e-14)
    far = forced_choice_inverse(5e-324, [2, 1e12], complement=True)
    assert np.all((far > 54) & (far < 56))
    assert np.all(np.isfinite(forced_choice_inverse(1e-300, [1.0001, 2, 1e12])))


def test_shapes():
    assert type(forced_choice(1, 4)) is float
    assert type(forced_choice_inverse(np.float64(0.3), 4)) is float
    grid = forced_choice(np.linspace(-3, 9, 7)[:, None], np.array([2, 30, 1e5]))
    assert grid.shape == (7, 3) and grid.dtype == np.float64
    assert grid[2, 1] == pytest.approx(forced_choice(1.0, 30), rel=1e-14)
    assert forced_choice(np.zeros((0, 3)), 4).shape == (0, 3)
    assert np.isnan(forced_choice([NAN, 1.0], 4)).tolist() == [True, False]


@pytest.mark.parametrize("call, words", [
    (lambda: forced_choice(1, 0.5), "K, the number of alternatives, must be at least 1: got 0.5"),
    (lambda: forced_choice([1, 2], [3, -2]), "must be at least 1: got -2"),
    (lambda: forced_choice_inverse(0.5, 1), "K, the number of alternatives, must be above 1: got 1"),
    (lambda: forced_choice_inverse(1.5, 4), "p, a probability, must be from 0 to 1: got 1.5"),
    (lambda: forced_choice_inverse(-1e-9, 4), "must be from 0 to 1"),
])
def test_bad_arguments_get_one_clear_line(call, words):
    with pytest.raises(ValueError) as caught:
        call()
    assert words in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize("name, value", [("NODES_PER_EDGE", 1), ("DEPTH", 12)])
def test_a_coarser_grid_is_seen(monkeypatch, name, value):
    """The negative control: the comparisons above notice a step too long or a window too short."""
    monkeypatch.setattr(module, name, value)
    exact = ball(7.0, 1e12)
    assert error(forced_choice(7.0, 1e12), exact) > 1e-10
