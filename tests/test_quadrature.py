"""Gauss rules against the exact moments of their laws."""

from __future__ import annotations

import math

import numpy as np
import pytest

from recall_theory.numerics import quadrature


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


@pytest.mark.parametrize("mean", [0.01, 0.7, 2.0, 5.0, 40.0, 1e4, 1e9])
def test_gauss_poisson(mean):
    """It takes the counts themselves where nearly all are small, and then leaves out what exceeds 11."""
    x, w = quadrature.gauss_poisson(mean, 12)
    assert w.sum() == pytest.approx(1, rel=1e-5)
    assert (w * x).sum() == pytest.approx(mean, rel=1e-4 if mean < 3 else 1e-9)
    assert (w * (x - mean) ** 2).sum() == pytest.approx(mean, rel=1e-3 if mean < 3 else 1e-9)
