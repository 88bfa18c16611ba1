"""The sharp constant of recall: the curve against `predict`, simulations and the law of the largest, and wrong ones."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import log_ndtr, ndtri
from support import shipped

from recall_theory import Setting, simulate
from recall_theory.theory.formulas import sharp_constant as sharp
from recall_theory.theory.predict import predict_many
from validation.sharp_constant import grid, recall_of_seed

CELLS = shipped("sharp_constant")
DIMENSIONS = (64, 128, 256, 512, 1024)


def at(cell):
    return tuple(float(cell[name]) for name in "VdN") + (cell["e"],)


def transition(d, e):
    """V over the transition at this d, N = 16 V d, and the package's own recall there."""
    V = np.unique(np.round(d * d / (1 + e) / np.geomspace(3, 40, 9)))
    N = 16 * V * d
    return V, N, predict_many(V=V, L=1, d=d, N=N, trigger_in_value=bool(e)).recall


def worst(law, d, e, V, N, full):
    return float(np.abs(law(V, float(d), N, e) - full).max())


@pytest.mark.parametrize("e", [0, 1])
def test_the_corrected_curve_is_the_law_of_the_package_and_the_bare_one_is_not(e):
    errors = {law: [worst(law, d, e, *transition(d, e)) for d in DIMENSIONS] for law in (sharp.corrected, sharp.recall)}
    assert max(errors[sharp.corrected]) < 0.005 and errors[sharp.corrected][-1] < 0.0015
    assert errors[sharp.corrected] == sorted(errors[sharp.corrected], reverse=True)
    assert errors[sharp.recall][0] > 0.2 and errors[sharp.recall][-1] > 0.07  # bare Phi does not do


def test_the_corrected_curve_is_what_was_simulated():
    """Five standard errors beside the correction's own error, largest at d = 64."""
    assert [{name: cell[name] for name in "VdNe"} for cell in CELLS] == grid()[:len(CELLS)]
    for cell in CELLS:
        assert abs(float(sharp.corrected(*at(cell))) - cell["recall"]) < 5 * cell["se"] + 0.3 / cell["d"], cell


WRONG = {
    "the trigger's share of the constant": lambda V, d, N, e: sharp.corrected(V, d * math.sqrt(1 + e), N, 0),
    "d 5 % off": lambda V, d, N, e: sharp.corrected(V, 1.05 * d, N, e),
    "mean bias": lambda V, d, N, e: sharp.corrected(V, d, N + 1e12, e),
    "2 ln V": lambda V, d, N, e: sharp.normal_below(sharp.lead(V, d, N, e) - math.sqrt(2 * math.log(V))),
}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
def test_wrong_curves_are_rejected_by_the_simulations(wrong):
    """The mean of squared differences in units of what the test above allows, over the cells with the trigger."""
    cells = [cell for cell in CELLS if cell["e"] == 1]

    def misfit(law):
        return np.mean([((float(law(*at(c))) - c["recall"]) / (c["se"] + 0.1 / c["d"])) ** 2 for c in cells])

    assert misfit(sharp.corrected) < 2 < 4 < misfit(wrong)


PARTS = {"lead_mean": lambda *a: 1.0, "lead_variance": lambda *a: 0.0,
         "_largest": lambda V: (sharp.largest_normal(V), 0.0)}


@pytest.mark.parametrize("name", PARTS)
def test_each_correction_is_needed(name, monkeypatch):
    cases = [(d, e, *transition(d, e)) for d in (64, 256) for e in (0, 1)]
    before = [worst(sharp.corrected, *case) for case in cases]
    monkeypatch.setattr(sharp, name, PARTS[name])
    after = [worst(sharp.corrected, *case) for case in cases]
    assert all(b > 1.7 * a for a, b in zip(before, after, strict=True)), (before, after)


def moments_of_the_largest(V):
    """Mean and variance of the largest of V normals, by quadrature of the tails of its law."""
    def above(x):
        return -math.expm1(V * log_ndtr(x))

    mean = quad(above, 0, 12, epsabs=1e-10)[0] - quad(lambda x: math.exp(V * log_ndtr(x)), -12, 0)[0]
    square = (quad(lambda x: 2 * x * above(x), 0, 12, epsabs=1e-10)[0]
              - quad(lambda x: 2 * x * math.exp(V * log_ndtr(x)), -12, 0)[0])
    return mean, square - mean**2


@pytest.mark.parametrize("V", [64, 256, 4096, 10**6, 10**9])
def test_the_largest_of_V_normals(V):
    mean, variance = moments_of_the_largest(V)
    told = sharp._largest(float(V))
    assert abs(told[0] - mean) < 1 / math.log(V) ** 2.5
    assert abs(told[1] - variance) < 5 / math.log(V) ** 3
    assert abs(sharp.largest_normal(float(V)) - mean) < 1 / math.sqrt(2 * math.log(V))  # the leading order alone


def test_dimension_inverts_the_lead():
    for V, N, e, s in ((500.0, 1e5, 1, 3.0), (1e6, 1e8, 1, 5.0), (1e6, 3e7, 0, 4.0)):
        d = sharp.dimension(V, N, e, s)
        assert sharp.lead(V, d, N, e) == pytest.approx(s, rel=1e-12)
    assert sharp.threshold(1e6, 1e30, 1)**2 == pytest.approx(4e6 * math.log(1e6), rel=1e-9)
    # with samples short, mean bias sets the constant: N d = 2 V^2 ln V
    assert sharp.threshold(1e6, 1e8, 1) == pytest.approx(2e12 * math.log(1e6) / 1e8, rel=0.02)


@pytest.mark.parametrize("e", [0, 1])
def test_the_theorem_s_limit_is_approached(e):
    """At the d where the leading curve says a share p, the corrected one tends to p as V grows, as a theorem says."""
    for p in (0.1, 0.5, 0.9):
        gaps = []
        for V in (1e3, 1e6, 1e12, 1e24, 1e48, 1e96):
            d = sharp.dimension(V, V * 1e60, e, sharp.largest_normal(V) + ndtri(p))
            gaps.append(abs(float(sharp.corrected(V, d, V * 1e60, e)) - p))
        assert gaps[0] > 0.02 and all(b < a for a, b in itertools.pairwise(gaps[1:])), gaps
        assert gaps[-1] < 0.012, gaps


def test_the_simulation_of_the_grid_is_the_simulator_s():
    """Blocks drawn twice, counts and residuals: the same recall as `simulate` at L = 1, within 5 standard errors."""
    for e in (0, 1):
        mine = np.array([recall_of_seed(90, 48, 4096, e, seed) for seed in range(150)])
        theirs = simulate(Setting(V=90, L=1, d=48, N=4096, trigger_in_value=bool(e)), seeds=150, seed=3).recall
        assert theirs.se is not None
        assert abs(mine.mean() - theirs.mean) < 5 * math.hypot(mine.std(ddof=1) / 150**0.5, theirs.se)
