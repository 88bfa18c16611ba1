"""Approximations of near-normal variables, Gauss rules, and the expression language on its own."""

from __future__ import annotations

import ast
import math

import numpy as np
import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st
from scipy import special, stats
from scipy.interpolate import CubicSpline

from recall_theory.expressions import Language, evaluate, exact_number, integer_power, parse
from recall_theory.numerics import jacobi_matrices, quadrature, unit_sphere

PLAIN = Language(("x", "y"), {"exp": (1, 1), "max": (2, 9)}, ValueError, "an expression", "there are x and y",
                 longest=200, largest_number=10**6, largest_power=16)
NUMERIC = {"exp": np.exp, "max": np.maximum}


@pytest.mark.parametrize(("scale", "tolerance"),
                         [(unit_sphere.wallace_scale, 0.02), (unit_sphere.peizer_pratt_scale, 1e-3)])
@pytest.mark.parametrize("d", [8.0, 100.0, 1e6])
def test_the_normal_score_of_a_coordinate(scale, tolerance, d):
    b = np.array([-3.5, -1.0, -0.01, 0.0, 0.5, 2.0]) / math.sqrt(d) * min(1, d / 20)
    exact = special.ndtri(stats.t.cdf(b * np.sqrt((d - 1) / (1 - b * b)), d - 1))
    score = unit_sphere.score_of_coordinate(b, scale(d))
    assert score == pytest.approx(exact, abs=tolerance * (1 if d < 50 else 20 / d) + 1e-8)
    assert unit_sphere.coordinate_of_score(score, scale(d)) == pytest.approx(b, rel=1e-12, abs=1e-15)


def test_the_ends_of_a_coordinate():
    score = unit_sphere.score_of_coordinate(np.array([-1.0, 1.0, 2.0, math.nan]), 10.0)
    assert np.isfinite(score[:3]).all() and (np.sign(score[:3]) == [-1, 1, 1]).all() and np.isnan(score[3])
    assert (unit_sphere.coordinate_of_score(np.array([-np.inf, np.inf]), 10.0) == [-1, 1]).all()


@given(x=st.floats(-1.4, 4), skew=st.floats(0, 1), sign=st.sampled_from([-1, 1]))
def test_the_score_of_a_skewed_variable(x, skew, sign):
    """Of a gamma variable of that skewness or its mirror image, away from its end, where a cube root isn't enough."""
    shape = 4 / max(skew, 1e-3)**2
    exact = special.ndtri(stats.gamma.cdf(x * math.sqrt(shape) + shape, shape))
    score = unit_sphere.score_of_skewed(sign * x, sign * skew)
    assert float(score) == pytest.approx(sign * exact, abs=0.025)
    assert unit_sphere.skewed_of_score(score, sign * skew) == pytest.approx(sign * x, abs=1e-9)


@pytest.mark.parametrize("degrees", [20, 1000])
def test_quantiles_of_a_gamma_variable(degrees):
    z = np.array([-2.0, 0.0, 1.0, 3.0])
    exact = stats.chi2.ppf(special.ndtr(z), degrees) / degrees
    deviation = np.sqrt(2 / degrees)
    value = 1 + deviation * unit_sphere.skewed_of_score(z, 2 * deviation)
    assert value == pytest.approx(exact, rel=0.02 / degrees**0.5)
    assert unit_sphere.score_of_skewed((value - 1) / deviation, 2 * deviation) == pytest.approx(z, abs=1e-12)


@pytest.mark.parametrize("n", [1, 2, 5, 12])
def test_gauss_rules_are_those_of_numpy_and_scipy(n):
    for rule, (x, w) in ((quadrature.gauss_hermite(n), np.polynomial.hermite_e.hermegauss(n)),
                         (quadrature.gauss_hermite(n, symmetric=True), np.polynomial.hermite_e.hermegauss(n)),
                         (quadrature.gauss_legendre(n), special.roots_sh_legendre(n)),
                         (quadrature.gauss_beta(2.5, 3.0, n), special.roots_sh_jacobi(n, 4.5, 2.5)),
                         (quadrature.gauss_coordinate(10.0, n), special.roots_gegenbauer(n, 4.0))):
        scale = rule[0].max() / x.max() if x.max() > 1e-9 else 1
        assert rule[0] == pytest.approx(x * scale, abs=1e-13 * max(1, scale))
        assert rule[1] == pytest.approx(w / w.sum(), rel=1e-10)


@pytest.mark.parametrize("root", [False, True])
def test_rules_of_a_gamma_variable_are_joined_as_scipy_does(root):
    rules, _ = quadrature._gamma_rules(4, root)
    ends = np.log(quadrature.LEAST_VARIANCE), np.log(quadrature.MOST_VARIANCE)
    variance = np.exp(np.concatenate([ends, np.random.default_rng(1).uniform(*ends, 300)]))
    spline = CubicSpline(np.linspace(*ends, quadrature.GAMMA_RULES), rules)
    x, w = quadrature.gauss_of_gamma(variance, 4, root=root)
    log = (np.sqrt(x) - 1 if root else np.log(x)) / np.sqrt(variance)[:, None]
    assert np.concatenate([log, w], axis=-1) == pytest.approx(spline(np.log(variance)), rel=1e-7, abs=1e-9)


def gamma_moments(variance, n):
    """Of a gamma variable of mean 1."""
    return [math.prod(1 + j * variance for j in range(k)) for k in range(n)]


def beta_moments(a, b, n):
    return [math.prod((a + j) / (a + b + j) for j in range(k)) for k in range(n)]


def poisson_moments(mean):
    return [1, mean, mean + mean**2, mean + 3 * mean**2 + mean**3]


@pytest.mark.parametrize("rule, moments, tolerance", [
    *[(quadrature.gauss_gamma(v, 4), gamma_moments(v, 8), 1e-6) for v in (2 / 7, 2 / 16, 2 / 300)],
    (quadrature.gauss_hermite(5), [1, 0, 1, 0, 3, 0, 15, 0, 105], 1e-6),
    (quadrature.gauss_legendre(3), [1 / (k + 1) for k in range(6)], 1e-12),
    (quadrature.gauss_coordinate(10.0, 5), [1, 0, 1, 0, 3 * 10 / 12], 1e-6),
    (quadrature.gauss_binomial(7, 0.2, 3), [1, 1.4, 1.4 * 0.8 + 1.4**2], 1e-9),
    *[(quadrature.gauss_beta(a, b, 8), beta_moments(a, b, 6), 1e-9)
      for a, b in ((0.5, 0.5), (3.0, 0.5), (64.0, 512.0), (5e6, 5e11))],
    *[(quadrature.gauss_charlier(mean, 5), poisson_moments(mean), 1e-6) for mean in (1e-6, 0.3, 2.0, 40.0, 1e6)],
    *[(quadrature.gauss_charlier(mean, 5), poisson_moments(mean)[:2], 1e-9) for mean in (1e-6, 0.3, 2.0, 40.0, 1e6)],
    # what is condensed keeps its moments: here those of a fair die
    (quadrature.condense(np.arange(1.0, 7), np.full(6, 1 / 6), 2), [1, 3.5, 91 / 6, 73.5], 1e-9),
])
def test_gauss_rules_have_the_moments_of_their_laws(rule, moments, tolerance):
    x, w = rule
    assert w.sum() == pytest.approx(1, rel=1e-12)
    found = [(w * x**k).sum() for k in range(len(moments))]
    assert found == pytest.approx(moments, rel=tolerance, abs=1e-12)


def measure(seed, n, M=60):
    """Points and weights of a drawn measure, and its first 2 n moments about 0."""
    rng = np.random.default_rng(seed)
    x, w = rng.normal(size=M), rng.dirichlet(np.ones(M))
    return x, w, [w @ x**k for k in range(2 * n)]


@pytest.mark.parametrize("n", [1, 2, 5, 9])
def test_the_gauss_rule_of_a_discrete_measure_has_its_moments(n):
    for seed in range(5):
        x, w, moments = measure(seed, n)
        nodes, weights = quadrature.condense(x, w, n)
        assert [weights @ nodes**k for k in range(2 * n)] == pytest.approx(moments, rel=1e-9, abs=1e-9)
        assert ((weights > 0).all() and x.min() < nodes.min() < nodes.max() < x.max()) or n == 1


def test_regression_on_polynomials_is_that_of_least_squares():
    x, w, _ = measure(7, 4)
    nodes, weights, operator = quadrature.condensation(x, w, 4)
    values = np.cos(3 * x)
    fit = np.polynomial.Polynomial.fit(x, values, 3, w=np.sqrt(w))
    assert operator @ values == pytest.approx(fit(nodes), abs=1e-10)
    assert weights @ (operator @ values) == pytest.approx(w @ values)
    assert quadrature.condense_with(x, w, values, 4)[2] == pytest.approx(operator @ values, rel=1e-13)


def test_orthonormal_polynomials_are_those_of_a_qr_decomposition():
    n, M = 12, 40
    rng = np.random.default_rng(3)
    t, root = np.sort(rng.normal(size=(3, M))), np.sqrt(rng.dirichlet(np.ones(M), size=3))
    basis, diagonal, beside = jacobi_matrices.recursion(t, root, n)
    for row in range(3):
        q, _ = np.linalg.qr(root[row][:, None] * np.polynomial.chebyshev.chebvander(t[row] / 4, n - 1))
        assert np.abs(basis[row] @ q) == pytest.approx(np.eye(n), abs=1e-9)
        jacobi = np.diag(diagonal[row]) + np.diag(beside[row], 1) + np.diag(beside[row], -1)
        assert basis[row] @ (t[row] * basis[row]).T == pytest.approx(jacobi, abs=1e-12)


@pytest.mark.parametrize("n", [1, 2, 9, 24])
@pytest.mark.parametrize("least", [1, 1e-8, 1e-200, 0])
def test_eigenvectors_of_jacobi_matrices(n, least):
    """Some falling apart into blocks, and all eigenvalues of some of them alike."""
    rng = np.random.default_rng()
    diagonal = rng.normal(size=(50, n)) * rng.choice([0, 1, 1e6], size=(50, 1))
    beside = rng.random((50, n - 1)) * rng.choice([1, least], size=(50, n - 1))
    values, vectors = jacobi_matrices.eigen(diagonal, beside)
    for row in range(50):
        jacobi = np.diag(diagonal[row]) + np.diag(beside[row], 1) + np.diag(beside[row], -1)
        size = max(np.abs(jacobi).max(), 1e-100)  # squares of lesser entries are no floats
        assert values[row] / size == pytest.approx(np.linalg.eigvalsh(jacobi) / size, abs=1e-13)
        assert vectors[row] @ np.diag(values[row]) @ vectors[row].T / size == pytest.approx(jacobi / size, abs=1e-13)
        assert vectors[row].T @ vectors[row] == pytest.approx(np.eye(n), abs=1e-13)


@pytest.mark.parametrize("apart", [0, 1e-12, 1e-9])
def test_a_rule_of_more_nodes_than_points_has_the_points(apart):
    x, w = np.array([0.5, 2.0, 2.0 * (1 + apart), 7.0]), np.array([0.25, 0.125, 0.375, 0.25])
    nodes, weights, operator = quadrature.condensation(x, w, 6)
    real = weights > 1e-9
    assert nodes[real] == pytest.approx([0.5, 2, 7], rel=1e-8) and weights[real] == pytest.approx([0.25, 0.5, 0.25])
    assert weights @ (operator @ x**2) == pytest.approx(w @ x**2)
    assert np.isfinite(operator).all()
    assert quadrature.condense_with(x, w, x**2, 6)[2] == pytest.approx(operator @ x**2, rel=1e-12)


def test_a_measure_of_one_point_and_one_without_mass():
    nodes, weights = quadrature.condense(np.full((2, 3), 3.0), np.array([[0.5, 0.25, 0.25], [0, 0, 0]]), 4)
    assert nodes[0][weights[0] > 0] == pytest.approx(3) and weights[0].sum() == pytest.approx(1)
    assert np.isfinite(nodes).all() and np.isfinite(weights).all()


@pytest.mark.parametrize("mean", [0.3, 1.5, 4.0, 14.6, 30.0])
def test_no_number_of_nodes_cuts_a_tail_of_counts_off(mean):
    """At 32 nodes of a mean of 14.6 counts from 32 on were left out: .004 of 67 labels, which moved recall by .001."""
    for n in range(4, 60):
        x, w = quadrature.gauss_poisson(mean, n)
        assert [float(w @ x**k) for k in range(4)] == pytest.approx(poisson_moments(mean), rel=1e-5, abs=1e-9)


@pytest.mark.parametrize("mean", [0.01, 0.7, 2.0, 5.0, 40.0, 1e4, 1e9])
def test_gauss_poisson(mean):
    """It takes the counts themselves where nearly all are small, and then leaves out what exceeds 11."""
    x, w = quadrature.gauss_poisson(mean, 12)
    assert w.sum() == pytest.approx(1, rel=1e-5)
    assert (w * x).sum() == pytest.approx(mean, rel=1e-7 if mean < 1 else 1e-9)
    assert (w * (x - mean) ** 2).sum() == pytest.approx(mean, rel=1e-6 if mean < 1 else 1e-9)


@given(st.floats(-3, 3), st.floats(0.5, 3))
def test_a_tree_means_the_same_in_floats_arrays_and_sympy(x, y):
    tree = parse("exp(-x^2/4) + max(x, 0.3*y)**3 - -y**-2 + y**1.5 - 7/3", PLAIN)
    value = float(evaluate(tree, {"x": x, "y": y}, NUMERIC))
    array = evaluate(tree, {"x": np.array([x]), "y": np.array([y])}, NUMERIC)
    symbols = dict(zip("xy", sympy.symbols("x y", real=True), strict=True))
    exact = sympy.sympify(ast.unparse(tree), {**symbols, "max": sympy.Max}, rational=True)
    assert array[0] == pytest.approx(value, rel=1e-13)
    assert float(exact.subs({symbols["x"]: x, symbols["y"]: y})) == pytest.approx(value, rel=1e-12)


def test_numbers_are_exact_where_they_can_be():
    assert exact_number(ast.parse("0.1 + 1/3", mode="eval").body) * 30 == 13
    assert exact_number(ast.parse("1/0", mode="eval").body) is None
    with pytest.raises(ArithmeticError):
        evaluate(parse("(0 - 2)**0.5", PLAIN), {}, {})
    assert integer_power(np.array([2.0, -0.5]), -3) == pytest.approx([1 / 8, -8])
