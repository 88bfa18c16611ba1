"""The other memories: linear, Zipf-weighted, side by side; laws against quadrature, sums and explicit memories."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq, linprog
from support import assert_mean, assert_refused, shipped

from recall_theory.numerics.arrays import zipf_frequencies
from recall_theory.theory import memories
from recall_theory.theory.capacity import capacity
from recall_theory.theory.formulas import memory_laws as laws
from recall_theory.theory.memories.memory_table import attention_capacity, attention_dimension
from recall_theory.theory.memories.zipf_facts import tail, zipf_at
from validation.other_memories import separate, zipf_error


@pytest.mark.parametrize("share", ["1e-12", "1e-3", "0.1", "0.5", "0.999"])
def test_the_load_by_quadrature_at_fifty_digits(share):
    with mpmath.workdps(50):
        r = mpmath.mpf(share)
        u = -mpmath.sqrt(2) * mpmath.erfinv(2 * r - 1)
        kappa = mpmath.npdf(u) / r
        exact = 1 / mpmath.quad(lambda g: (kappa - g) ** 2 * mpmath.npdf(g), [-30, -10, -3, 0, kappa])
    assert memories.linear_load(float(r)) == pytest.approx(float(exact), rel=1e-10)


def test_the_load_has_its_limits():
    assert memories.linear_load(1.0) == 2
    assert memories.linear_load(1 - 1e-9) == pytest.approx(2, rel=1e-6)
    off = [memories.linear_load(1 / n) * 2 * math.log(n) - 1 for n in (1e3, 1e5, 1e8, 1e12)]
    assert off == sorted(off, reverse=True)  # towards 1/(2 ln n), at the rate of ln ln n / ln n
    assert all(abs(x) < math.log(math.log(n)) / math.log(n) for x, n in zip(off, (1e3, 1e5, 1e8, 1e12), strict=True))


@pytest.mark.parametrize("share", [0, -1, 1.01, math.nan])
def test_a_share_out_of_range_is_refused(share):
    with pytest.raises(ValueError, match="share"):
        memories.linear_load(share)


@settings(max_examples=50)
@given(st.integers(3, 3000))
def test_linear_dimension_is_the_inverse_of_capacity(d):
    n = memories.linear_capacity(d)
    assert memories.linear_dimension(n) <= d < memories.linear_dimension(n + 1)


def test_the_decision_is_that_of_linear_programming():
    """The largest least margin over matrices with entries in [-1, 1], by a simplex code: positive or not."""
    rng = np.random.default_rng(11)
    decided = []
    for n in (6, 8, 9, 10, 11, 12, 14):
        keys, outputs = rng.standard_normal((2, n, 4))
        pairs = [np.outer(outputs[z] - outputs[x], keys[x]).ravel() for x in range(n) for z in range(n) if z != x]
        rows = np.column_stack([np.array(pairs), np.ones(len(pairs))])
        best = linprog(np.append(np.zeros(16), -1.0), A_ub=rows, b_ub=np.zeros(len(rows)),
                       bounds=[(-1, 1)] * 16 + [(None, None)])
        decided.append(bool(-best.fun > 1e-9))
        found = separate(keys, outputs)
        assert found.separable is decided[-1] and (found.recall == 1) == decided[-1]
        assert not decided[-1] or ((keys @ found.memory.T @ outputs.T).argmax(axis=1) == np.arange(n)).all()
    assert True in decided and False in decided


def test_shipped_linear_results_are_what_the_pages_say():
    for row in shipped("other_memories")["linear"]:
        assert row["law"] == memories.linear_capacity(row["d"])
        assert 1.3 < row["half"] / row["law"] < 1.8
        assert all(r["undecided"] == 0 for r in row["rungs"])


@settings(max_examples=60)
@given(st.floats(1.05, 6), st.integers(1, 200), st.integers(200, 3000))
def test_tails_are_sums(alpha, x, facts):
    p = zipf_frequencies(facts, alpha)
    assert tail(alpha, x, facts) == pytest.approx(p[x:].sum(), rel=1e-8, abs=1e-14)


@pytest.mark.parametrize("alpha", [1.2, 2.0, 3.5])
@pytest.mark.parametrize("samples", [1, 30, 10**5])
def test_unseen_mass_is_a_sum(alpha, samples):
    """The first facts summed to fifty digits, the rest by Euler and Maclaurin, and one way to cut against another."""
    with mpmath.workdps(50):
        zeta = mpmath.zeta(alpha)
        p = lambda x: mpmath.mpf(x) ** -alpha / zeta  # noqa: E731
        head = mpmath.fsum(p(x) * (1 - p(x)) ** samples for x in range(1, 2001))
        rest = mpmath.quad(lambda x: p(x) * (1 - p(x)) ** samples, [2000.5, 10**4, 10**6, 10**9, 10**20, mpmath.inf])
    assert memories.unseen(alpha, samples) == pytest.approx(float(head + rest), rel=1e-6)
    assert memories.unseen(alpha, samples, exact_to=3000) == pytest.approx(memories.unseen(alpha, samples), rel=1e-6)


# False alarms below 1e-6: six standard errors over many seeds, and the law's own margin.
@pytest.mark.parametrize("alpha, d, stored, classes", [(2.0, 64, 60, None), (1.5, 64, 200, None), (1.5, 96, 40, 8),
                                                       (2.0, 64, 60, 4)])
def test_thresholded_memories_err_as_the_law_says(alpha, d, stored, classes):
    facts = stored + 40
    seen = zipf_error(alpha, d, facts, lambda p: 1.0 * (np.arange(len(p)) < stored), classes, seeds=60,
                                seed=20260102)
    assert_mean(seen.values, memories.threshold_error(alpha, d, stored, classes, facts=facts), 6, 0.012)
    wrong = memories.threshold_error(alpha, d, 3 * stored, classes, facts=3 * facts)
    assert abs(seen.mean - wrong) > 0.012 + 6 * seen.se  # a law for other sizes is rejected


def test_a_few_questions_answer_for_all():
    how = {"classes": 4, "seeds": 60, "seed": 3}
    whole = zipf_error(2.0, 32, 400, lambda p: p**0.5, **how)
    some = zipf_error(2.0, 32, 400, lambda p: p**0.5, questions=50, **how)
    assert abs(whole.mean - some.mean) < 6 * math.hypot(whole.se, some.se)


@pytest.mark.parametrize("alpha", [1.3, 2.0, 3.0])
@pytest.mark.parametrize("classes", [None, 8])
def test_the_best_threshold_is_a_minimum_and_has_the_exponent(alpha, classes):
    best = memories.best_threshold(alpha, 128, classes)
    step = max(1, best.stored // 50)
    for other in (best.stored - step, best.stored + step):
        assert memories.threshold_error(alpha, 128, max(1, other), classes) >= best.error
    errors = [memories.best_threshold(alpha, d, classes).error for d in (10**4, 2 * 10**4, 10**6, 2 * 10**6)]
    slopes = [math.log2(errors[0] / errors[1]), math.log2(errors[2] / errors[3])]
    law = float(laws.zipf_threshold(alpha) if classes is None else laws.zipf_threshold_classes(alpha))
    off = [abs(s - law) / law for s in slopes]
    assert off[1] < off[0] < 0.15  # logarithms die slowly
    assert off[1] < 0.1


def test_the_power_exponent_meets_the_threshold_at_its_end():
    for alpha in (1.2, 2.0, 3.0):
        assert laws.zipf_power(alpha, 1 / (2 * alpha)) == pytest.approx(laws.zipf_threshold_classes(alpha))


def test_shipped_slopes_tell_the_right_exponent_from_wrong_ones():
    """Slopes of simulated errors, beside exponents with one factor of two moved.

    With weights p^rho and separate outputs, 1/d^2 would be the noise but for the competitors' own coefficients: the
    exponent would be twice as large, and with q = p simulation says that it is not.
    """
    found = shipped("other_memories")
    for row in found["zipf"]:
        off = abs(row["slope"] - row["law"])
        if row["rho"] is None:
            assert abs(row["slope"] - row["finite_slope"]) < 0.05
            assert off < 0.2 * row["law"]
        if row["rho"] == 1:
            assert off < 0.2 * row["law"] < abs(row["slope"] - 2 * row["law"])
        assert off < abs(row["slope"] - 2 * row["law"])
    for row in found["samples"]:
        assert abs(row["slope"] - row["law"]) < 0.02


@pytest.mark.parametrize("asked, given_, how, name", [
    *[(memories.threshold_error, given_, {}, name) for given_, name in (
        ((1.0, 64, 5), "alpha"), ((math.nan, 64, 5), "alpha"), ((2.0, 64, 0), "stored"),
        ((2.0, 64, 9, None, 5), "stored"), ((2.0, 64, 5, 17), "classes"), ((2.0, 64, 5, 1), "classes"))],
    *[(memories.compare_memories, (), how, name) for how, name in (
        ({}, "d"), ({"d": 8, "facts": 8}, "d"), ({"d": 0}, "d"), ({"facts": 1}, "facts"), ({"d": 2.5}, "d"),
        ({"d": 8, "rank": 9}, "rank"), ({"d": 8, "m": 0}, "m"), ({"d": 8, "target": 1.0}, "target"),
        ({"d": 8, "target": math.nan}, "target"))],
    (zipf_at, (2.0, 16), {"classes": 5}, "classes"),
])
def test_what_is_out_of_range_is_refused(asked, given_, how, name):
    assert_refused(name, asked, *given_, **how)


def test_zipf_without_room_for_classes():
    assert zipf_at(2.0, 16).shared is None
    assert zipf_at(2.0, 16, classes=4).shared is not None


def test_memories_lie_in_their_order():
    """Hebbian below the best linear memory, that below the bound; all right is harder than almost all."""
    for d in (64, 256, 4096, 10**7):
        rows = {(r.name, r.criterion): r.facts for r in memories.compare_memories(d=d).memories}
        hebbian, every = rows["Hebbian, Gaussian", "almost all"], rows["Hebbian, Gaussian", "all"]
        best = rows["best linear memory", "all"]
        bound = max(n for (name, _), n in rows.items() if name.startswith("any memory"))
        assert every < hebbian < best < bound
        assert rows["Hebbian, sphere", "almost all"] >= hebbian


def test_by_facts_and_by_dimension_agree():
    for row in memories.compare_memories(d=300, rank=100).memories:
        if row.facts is None or row.name.startswith(("orthogonal", "any")):
            continue
        back = {(r.name, r.criterion): r.d for r in memories.compare_memories(facts=row.facts, rank=100).memories}
        assert abs(back[row.name, row.criterion] - 300) <= 1, row.name


def test_comparisons_are_complete():
    found = memories.compare_memories(facts=10**12, rank=10**6, m=10**7)
    assert all(r.facts == 10**12 and (r.d is None or r.parameters) for r in found.memories)
    assert {r.provenance for r in found.memories} <= {"derived", "kin", "quoted"}
    fits = [r for r in found.memories if "fit" in r.name]
    assert fits and all(r.provenance == "kin" and "2412.06538" in r.reference for r in fits)


@pytest.mark.parametrize("d", [64, 256, 1024])
def test_the_attention_layer_as_a_memory_is_capacity_in_the_limit(d):
    leading = d * d / (4 * math.log(d))
    found = attention_capacity(d, 0.99, leading)
    assert found == capacity(d=d, L=1, ratios=(None,)).rows[0].V
    assert attention_dimension(found, 0.99, math.sqrt(4 * found * math.log(found))) <= d


def test_the_attention_layer_as_a_memory_nears_its_leading_law():
    """Slowly: the lead must beat the best rival, sqrt(2 ln V), in spite of an unlucky noise of its own, -2.33."""
    found = []
    for d in (10**3, 10**5, 10**7):
        leading = brentq(lambda V, d=d: 4 * V * math.log(V) - d * d, 2, float(d) ** 2)
        best = math.sqrt(2 * math.log(leading))
        share = attention_capacity(d, 0.99, leading) / leading
        found.append((share, (best / (best + 2.33)) ** 2))
    assert found[0][0] < found[1][0] < found[2][0] < 1
    misses = [abs(share - expected) for share, expected in found]
    assert max(misses) < 0.1 and misses[2] < 0.06


def test_the_attention_layer_as_a_memory_may_be_too_small():
    assert attention_capacity(1, 0.99, 2.0) is None
