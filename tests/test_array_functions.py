"""Functions of arrays as machine code, against NumPy and SciPy, and the score of a tilted cosine against its law."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import ndtr, ndtri, roots_jacobi
from scipy.stats import gamma

from recall_theory.numerics import array_functions as af
from recall_theory.numerics import unit_sphere
from recall_theory.numerics.arrays import TINY

SIZES = np.array([0.0, TINY, 1e-300, 1e-20, 1e-9, 1e-3, 0.3, 1, 1 + 1e-12, 5, 30, 700])
SIGNED = np.concatenate([-SIZES[::-1], SIZES])


def held(found, right, units=40):
    """Right to so many units of rounding, or of the least float."""
    assert (np.abs(found - right) <= units * np.finfo(float).eps * np.abs(right) + 2 * TINY).all(), (found, right)


def test_exponentials():
    x = SIGNED[SIGNED <= 100]
    held(af.exponentials(x.copy()), np.exp(x), units=2000)  # of x/1024, ten times squared
    held(af.exponentials_less_one(x.copy()), np.expm1(x), units=2000)
    assert af.exponentials(np.array([-np.inf, -1e9])) == pytest.approx([math.exp(-708)] * 2)
    assert (af.exponentials_less_one(np.array([-np.inf, -1e9])) == -1).all()


@given(st.lists(st.floats(TINY, 1e300), min_size=1, max_size=40))
def test_logarithms(values):
    x = np.array(values)
    found = af.logarithms(x, x - 1)
    held(found, np.log(x), units=4)


@given(st.lists(st.floats(-0.25, 0.4), min_size=1, max_size=40))
def test_logarithms_near_one_are_those_of_the_difference(values):
    beyond = np.array(values)
    held(af.logarithms(1 + beyond, beyond), np.log1p(beyond), units=4)


def test_logarithms_at_the_ends_of_their_parts():
    ends = np.array([math.sqrt(1 / 2), 1, math.sqrt(2), 2, 4]) * 2.0**np.array([[0], [-1000], [900]])
    for x in (ends, np.nextafter(ends, 0), np.nextafter(ends, np.inf)):
        held(af.logarithms(x.ravel(), x.ravel() - 1), np.log(x.ravel()), units=4)


@pytest.mark.parametrize("n", [1, af.AT_A_TIME - 1, af.AT_A_TIME, af.AT_A_TIME + 1])
def test_upper_tails(n):
    near, far = np.linspace(-20, 20, n), np.linspace(-37, 37, n)
    held(af.upper_tails(near), ndtr(-near), units=4000)
    held(af.upper_tails(far), ndtr(-far), units=40_000)


def summed(x, share, skew):
    """The normal score of the sum of a gamma variable and a normal one, by the trapezoidal rule over the former."""
    law, v = gamma(4 / skew**2), np.linspace(-9, 9, 2001)
    values = np.where(v < 0, law.ppf(ndtr(v)), law.isf(ndtr(-v))) * skew / 2 - 2 / skew
    z, weight = (x - math.sqrt(share) * values) / math.sqrt(1 - share), np.exp(-v**2 / 2)
    below, above = (float(chance @ weight / weight.sum()) for chance in (ndtr(z), ndtr(-z)))
    return ndtri(below) if below < above else -ndtri(above)


def scored(x, share, skew):
    """By the compiled function."""
    x = np.array(x, dtype=float)
    af.scores_of_sums(x, np.full(len(x), share), np.full(len(x), math.sqrt(share) * skew / 2))
    return x


@pytest.mark.parametrize("skew, off", [(0.3, 0.0005), (-0.7, 0.004), (1.5, 0.012)])
@pytest.mark.parametrize("share", [0.02, 0.3, 0.64, 0.95])
def test_scores_of_sums_of_a_gamma_and_a_normal_variable(skew, off, share):
    """By numerical convolution; a gamma variable of the sum's skewness is further off, where a good part is normal."""
    skew_of_sum = share**1.5 * skew
    x = np.array([-2.0, -1.0, -0.1, 0.0, 0.5, 2.0, 3.0, 4.5])
    right = np.array([summed(v, share, skew) for v in x])
    assert np.abs(scored(x, share, skew) - right).max() < off
    alone = np.abs(unit_sphere.score_of_skewed(x, skew_of_sum) - right)
    assert alone.max() > 4 * off or share in (0.02, 0.95)


@given(st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=40), st.floats(0, 1), st.floats(-3, 3))
def test_scores_of_sums_are_finite_and_have_no_step_at_the_mean(values, share, skew):
    assert np.isfinite(scored(values, share, skew)).all()
    near = np.array([-1.01e-5, -0.99e-5, 0.99e-5, 1.01e-5])
    assert scored(near, share, skew) == pytest.approx(share**1.5 * skew / 6 + near, abs=5e-5)
    assert scored(values, share, 0.0) == pytest.approx(values, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("d", [2, 3, 16, 1e3, 1e9])
def test_cosines_and_scores_are_those_of_the_sphere(d):
    scale = unit_sphere.peizer_pratt_scale(float(d))
    z = SIGNED[np.abs(SIGNED) <= 30]
    cosine = af.cosines(z, scale)
    held(cosine, unit_sphere.coordinate_of_score(z, scale), units=2000)
    inside = np.abs(cosine) < 1 - 1e-9
    held(af.scores(cosine[inside], scale), unit_sphere.score_of_coordinate(cosine[inside], scale), units=2000)
    assert np.isfinite(af.scores(np.array([-1.0, 1.0]), scale)).all()


def below(cosine, mean, d):
    """The chance that a unit vector of the von Mises-Fisher law of this mean cosine has a coordinate below `cosine`."""
    def density(kappa):
        return lambda x: math.exp(kappa * (x - 1)) * (1 - x * x)**((d - 3) / 2)

    def mean_at(kappa):
        f = density(kappa)
        return quad(lambda x: x * f(x), -1, 1)[0] / quad(f, -1, 1)[0]

    low, high = -10.0 * d, 10.0 * d
    for _ in range(60):
        kappa = (low + high) / 2
        low, high = (kappa, high) if mean_at(kappa) < mean else (low, kappa)
    f = density(kappa)
    return quad(f, -1, cosine)[0] / quad(f, -1, 1)[0]


@pytest.mark.parametrize("d", [12, 40])
@pytest.mark.parametrize("mean", [-0.15, 0.0, 0.2])
def test_the_score_of_a_tilted_cosine_is_that_of_its_law(d, mean):
    cosine = np.array([-0.3, -0.1, mean, 0.25, 0.5])
    score, fixed = tilted(cosine, mean, 0.0, d), ndtri([below(c, mean, d) for c in cosine])
    assert score == pytest.approx(fixed, abs=1.15 * abs(mean) / math.sqrt(d) + 0.01)  # a sixth of its skewness
    assert np.abs(tilted(cosine, 0.0, 0.0, d) - fixed).max() > 0.1 or mean == 0  # without its mean it is not


def tilted(cosine, mean, spread, d, narrow=1.0):
    n = len(cosine)
    return af.tilted_scores(cosine, np.log1p(-cosine**2), *(np.full(n, a) for a in (mean, spread, narrow)), float(d))


def averaged(cosine, mean, spread, d, normal=False):
    """The score by quadrature over what the mean cosine varies by: a coordinate, or a normal variable."""
    x, w = np.polynomial.hermite_e.hermegauss(60) if normal else roots_jacobi(60, (d - 3) / 2, (d - 3) / 2)
    means = np.clip(mean + spread * (x if normal else math.sqrt(d) * x), -0.95, 0.95)
    return ndtri(w @ np.array([ndtr(tilted(cosine, m, 0.0, d)) for m in means]) / w.sum())


@pytest.mark.parametrize("mean", [-0.05, 0.0, 0.1])
@pytest.mark.parametrize(("d", "spread", "error"), [(17, 0.2, 0.025), (40, 0.1, 0.003), (40, 0.2, 0.008)])
def test_a_mean_cosine_that_is_a_coordinate_is_averaged_over(d, spread, error, mean):
    cosine = mean + np.linspace(-2, 2, 9) * math.sqrt(1 / d + spread**2)
    right = averaged(cosine, mean, spread, d)
    assert tilted(cosine, mean, spread, d) == pytest.approx(right, abs=error)
    assert np.abs(averaged(cosine, mean, spread, d, normal=True) - right).max() > 1.5 * error or spread < 0.2 or d < 40


def test_a_law_of_more_dimensions_is_narrower():
    cosine = np.array([-0.2, 0.1, 0.5])
    assert tilted(cosine, 0.1, 0.0, 30, narrow=1.44) == pytest.approx(1.2 * tilted(cosine, 0.1, 0.0, 30), abs=1e-12)


def test_scores_of_tilted_cosines_are_smooth_where_the_cosine_is_the_mean():
    rise = np.diff(tilted(0.2 + np.linspace(-5, 5, 101) * af.LEAST_GAP, 0.2, 0.045, 30))
    assert rise == pytest.approx(rise.mean(), rel=1e-3)
    # further out the score bends; where a series stands for its second derivative ends with no jump
    rise = np.diff(tilted(0.2 + np.linspace(-5, 5, 101) * af.LEAST_CURVED, 0.2, 0.045, 30))
    assert np.abs(np.diff(rise)).max() < 1e-6
