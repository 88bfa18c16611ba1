"""The bounds: each by two methods, and learners found by enumeration that try to beat them."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr

from recall_theory.settings import SettingError
from recall_theory.theory import formulas
from recall_theory.theory.bounds import bounds_at
from recall_theory.theory.formulas import lower_bounds as bounds

ROUNDING = 1e-9


def permutations(V):
    """(V!, V): all of them."""
    return np.array(list(itertools.permutations(range(V))))


def best_learner(joint, pis):
    """Information in nats and the expected number right of the best answer to each of K observations.

    joint (K, V!) are the probabilities of observation and permutation, pis (V!, V)."""
    p = joint / joint.sum()
    given_seen = p / np.maximum(p.sum(axis=1, keepdims=True), 1e-300)
    prior = p.sum(axis=0)
    nats = np.sum(p * np.log(np.where(p > 0, given_seen / prior, 1)))
    V = pis.shape[1]
    right = sum((p @ (pis[:, k, None] == np.arange(V))).max(axis=1).sum() for k in range(V))
    return float(nats), float(right)


@pytest.mark.parametrize("bits", [0, 1, 2])
def test_no_codebook_recalls_more_on_average_than_its_bits_allow(bits):
    """All codebooks of 2^bits answers to V = 3 questions, answers that repeat labels included."""
    pis = permutations(3)
    answers = np.array(list(itertools.product(range(3), repeat=3)))
    matches = (answers[:, None] == pis).sum(axis=2)  # (27, 6)
    books = itertools.combinations(range(len(answers)), 2**bits)
    best = max(matches[list(book)].max(axis=0).mean() for book in books) / 3
    assert best <= bounds.recall_of_bits(3, 1, bits or 1e-9) + ROUNDING
    if bits == 0:
        assert best == pytest.approx(1 / 3)


@pytest.mark.parametrize(("V", "errors"), [(2, 0), (2, 1), (3, 0), (3, 1), (3, 2)])
def test_no_smaller_codebook_serves_all_permutations(V, errors):
    """Every codebook of (V - e)! - 1 answers leaves some permutation with more than e errors."""
    pis = permutations(V)
    answers = np.array(list(itertools.product(range(V), repeat=V)))
    served = (answers[:, None] != pis).sum(axis=2) <= errors
    states = round(2 ** float(bounds.bits_with_errors(V=float(V), errors=float(errors))))
    assert states == math.factorial(V - errors)
    for book in itertools.combinations(range(len(answers)), states - 1):
        assert not served[list(book)].any(axis=0).all()


@given(st.integers(2, 4), st.integers(1, 12), st.integers(0, 2**32 - 1), st.sampled_from([1.0, 3.0, 12.0]))
def test_random_channels_obey_the_information_bound(V, observations, seed, contrast):
    pis = permutations(V)
    joint = np.random.default_rng(seed).random((observations, len(pis))) ** contrast
    joint /= joint.sum(axis=0)  # a uniform permutation
    nats, right = best_learner(joint, pis)
    assert right <= bounds.most_right(nats=max(nats, 0.0)) + ROUNDING


@given(st.floats(-12, 12))
def test_the_best_learner_of_two_facts_obeys_the_gradient_bound(exponent):
    """At V = 2 the gradient is one number, +-sqrt(snr) in unit noise: its sign is the best answer."""
    snr = math.exp(exponent)
    right = 2 * float(ndtr(math.sqrt(snr)))
    nats = float(bounds.gradient_information(V=2.0, L=2.0, d=1.0, N=snr))
    assert right <= bounds.most_right(nats=nats) + ROUNDING


def noisy_gradient(L, d, N, seed):
    """Joint law of permutations of V = 3 and what is seen, on Gauss-Hermite nodes of the noise around each point.

    Random embeddings; the mean gradient in the noise of N samples' noise tokens, whitened. Returns nats and facts
    right of the best learner: the integral over what is seen, by importance from the mixture of all points.
    """
    V, pis = 3, permutations(3)
    rng = np.random.default_rng(seed)
    z, u = rng.standard_normal((2, V, d))
    r, f = u - u.mean(axis=0), (z - z.mean(axis=0)) / L
    noise = (L - 1) / N * np.kron(r.T @ r / V, f.T @ f / V)
    value, vector = np.linalg.eigh(noise)
    keep = value > value.max() * 1e-12
    G = np.array([(r[pi].T @ f / V).ravel() for pi in pis])  # (6, d d)
    points = G @ vector[:, keep] / np.sqrt(value[keep])  # (6, D)
    x, w = np.polynomial.hermite_e.hermegauss(24 if keep.sum() == 1 else 9)
    w = w / w.sum()
    offsets = np.array(list(itertools.product(x, repeat=int(keep.sum()))))
    weight = np.array([math.prod(c) for c in itertools.product(w, repeat=int(keep.sum()))])
    seen = (points[:, None] + offsets).reshape(-1, points.shape[1])
    log_p = -((seen[:, None] - points) ** 2).sum(axis=2) / 2
    given_seen = np.exp(log_p - log_p.max(axis=1, keepdims=True))
    given_seen /= given_seen.sum(axis=1, keepdims=True)
    joint = given_seen * np.tile(weight, len(pis))[:, None] / len(pis)
    return int(keep.sum()), best_learner(joint, pis)


@pytest.mark.parametrize("N", [0.05, 1, 4, 20])
@pytest.mark.parametrize(("L", "d"), [(2, 1), (7, 1), (2, 2), (5, 3)])
def test_the_best_learner_of_three_facts_obeys_the_gradient_bound(L, d, N):
    """Quadrature over the noise, good to 0.2 percent in recall, which stays 5 percent under the bound."""
    dimensions, (nats, right) = noisy_gradient(L, d, N * L, seed=d)
    allowed = float(bounds.gradient_information(V=3.0, L=float(L), d=float(d), N=float(N * L)))
    assert dimensions == min(d, 2) ** 2
    assert nats <= allowed
    if N < 1:  # of a faint signal the bound says just what there is
        assert nats == pytest.approx(allowed, rel=1e-3)
    assert right <= bounds.most_right(nats=allowed)


def test_a_smaller_constant_is_refuted():
    """Half the information would be beaten by the best learner of two facts: the test above has teeth."""
    snr = 1 / 4
    half = float(bounds.gradient_information(V=2.0, L=2.0, d=1.0, N=snr)) / 8
    assert 2 * float(ndtr(math.sqrt(snr))) > bounds.most_right(nats=half)


@given(st.integers(1, 3000))
def test_the_most_facts_of_some_bits_is_exact(bits):
    V = bounds.bits_bound(1, bits)
    assert math.factorial(V) <= 2**bits < math.factorial(V + 1)


@pytest.mark.parametrize(("P", "b"), [(10**18, 16), (2**60, 64), (10**6, 1 / 3), (1, 1 / 1000)])
def test_the_most_facts_of_very_many_bits_is_exact(P, b):
    V = bounds.bits_bound(P, b)
    with mpmath.workdps(60):
        has = mpmath.mpf(P) * mpmath.mpf(b) * mpmath.log(2)
        assert mpmath.loggamma(V + 1) <= has < mpmath.loggamma(V + 2)


@given(st.integers(1, 150), st.integers(1, 600))
def test_average_recall_is_the_sum_of_the_claim(V, bits):
    """The sum up to V; the closed form adds those beyond V, and a series of 1/(a+2) for one of 1/(a+2)(a+3)..."""
    terms = [min(Fraction(1), Fraction(2**bits, math.factorial(a))) for a in range(1, 300)]
    found = bounds.recall_of_bits(V, bits, 1)
    best = bounds.bits_bound(bits, 1)
    assert float(sum(terms[:V]) / V) <= found + 1e-12
    assert found <= min(1, float(sum(terms) / V) + 1 / (best**2 * V)) + 1e-12


@given(st.integers(2, 60), st.integers(1, 400))
def test_coverage_is_the_exact_optimum_up_to_what_is_stated(V, N):
    """E[seen]/V + Pr(some unseen)/V in integers, by inclusion and exclusion."""
    unseen = Fraction(V) * Fraction(V - 1, V) ** N
    some = 1 - sum((-1) ** j * math.comb(V, j) * Fraction(V - j, V) ** N for j in range(V + 1))
    exact = (V - unseen + some) / V
    found = float(bounds.coverage(V=float(V), N=float(N)))
    assert float(exact) - 1e-12 <= found <= float(exact + min(unseen**2 / 2, Fraction(1)) / V) + 1e-12


@given(st.floats(1e-6, 40).map(lambda x: 1 + math.exp(x) - math.exp(1e-6)), st.floats(0, 1e15))
def test_information_and_recall_invert_one_another_and_meet_fifty_digits(a, nats):
    least = float(bounds.least_information(a=a))
    assert bounds.most_right(nats=max(least, 0.0)) == pytest.approx(a, rel=1e-6)
    with mpmath.workdps(50):
        exact = mpmath.exp(1 + mpmath.lambertw((mpmath.mpf(nats) - 1) / mpmath.e).real)
    assert float(bounds.most_right(nats=nats)) == pytest.approx(float(exact), rel=1e-7)


def test_to_know_everything_is_to_recall_everything():
    """At I = ln V! the theorem gives V and half a fact: the price of its simple proof, at every V."""
    for V in (2.0, 64.0, 1e4, 1e8, 1e12):
        over = float(bounds.most_right(nats=math.lgamma(V + 1))) - V
        assert -1e-9 * V <= over <= 0.6 + 1e-9 * V


def test_asymptotic_forms_meet_the_exact_ones_at_their_rates():
    for V in (1e2, 1e4, 1e6, 1e9):
        stirling = V * math.log(V / math.e) / math.log(2)
        assert float(bounds.permutation_bits(V=V)) / stirling - 1 == pytest.approx(
            math.log(2 * math.pi * V) / 2 / (V * math.log(V / math.e)), rel=2 / V + 1e-3, abs=1e-12)
    for L, V in ((1e2, 1e4), (1e4, 1e6), (1e5, 1e9)):
        leading = 2 * V * L * math.lgamma(V + 1) / 1e4
        exact = float(bounds.gradient_samples(V=V, L=L, d=100.0))
        assert 1 - exact / leading == pytest.approx(1 / V + 1 / L - 1 / (V * L), rel=1e-6)
    for ratio in (1e1, 1e3, 1e6):  # Val1 of the samples themselves: the same for N >> V
        V, L, d = 1e3, 1e8, 10.0
        both = [float(f(V=V, L=L, d=d, N=ratio * V)) for f in
                (bounds.gradient_information, bounds.gradient_information_sampled)]
        assert both[1] / both[0] - 1 == pytest.approx(1 / ratio, rel=0.01)


def test_the_wide_mlp_meets_the_bound_without_one():
    sizes = {"V": 100.0, "L": 8.0, "d": 40.0, "N": 1000.0}
    assert bounds.gradient_information_mlp(**sizes, m=40.0) == bounds.gradient_information(**sizes)
    assert bounds.gradient_information_mlp(**sizes, m=1e6) == bounds.gradient_information_mlp(**sizes, m=99.0)


SIZES = {"V": st.integers(2, 10**12), "L": st.integers(1, 10**6), "d": st.integers(1, 10**6),
         "N": st.integers(1, 10**15), "m": st.none() | st.integers(1, 10**6)}
TARGETS = st.sampled_from([0.01, 0.5, 0.99])


def bounds_alone(**sizes):
    """Bounds without their factor to the best decoder, a search of its own that test_gradient_bounds looks at."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("recall_theory.theory.bounds._argmax_samples", lambda *given: None)
        return bounds_at(**sizes)


@given(**SIZES, target=TARGETS)
def test_the_least_N_is_where_each_bound_turns(V, L, d, N, m, target):
    for bound in bounds_alone(V=V, L=L, d=d, m=m, target=target).bounds:
        if bound.least_N is None:
            continue
        there = bounds_alone(V=V, L=L, d=d, N=bound.least_N, m=m, target=target)[bound.name]
        # in floats the inverse and the bound may differ in the last digits
        assert there.allows or there.recall == pytest.approx(target, rel=1e-6)
        if bound.least_N > 1:
            below = bounds_alone(V=V, L=L, d=d, N=bound.least_N - 1, m=m, target=target)[bound.name]
            assert not below.allows or below.recall == pytest.approx(target, rel=1e-6)


@settings(max_examples=30)
@given(**SIZES, target=TARGETS)
def test_the_largest_V_is_where_each_bound_turns(V, L, d, N, m, target):
    for bound in bounds_alone(N=N, L=L, d=d, m=m, target=target).bounds:
        end = bound.largest_V
        if end is None or not 2 <= end < 10**15:
            continue
        assert bounds_alone(V=end, N=N, L=L, d=d, m=m, target=target)[bound.name].allows
        beyond = [bounds_alone(V=v, N=N, L=L, d=d, m=m, target=target)[bound.name].allows
                  for v in (end + 1, min(2 * end + 1, 10**15), min(100 * end, 10**15))]
        assert not any(beyond)


@given(**SIZES)
def test_every_bound_is_a_probability_and_grows_with_samples(V, L, d, N, m):
    less, more = (bounds_alone(V=V, L=L, d=d, N=n, m=m) for n in (N, min(10 * N, 10**15)))
    for a, b in zip(less.bounds, more.bounds, strict=True):
        if a.recall is not None:
            assert 0 <= a.recall <= b.recall <= 1
        assert a.binds and a.broken_by and a.strength in ("exact", "rigorous")
        assert all(name in formulas for name in a.formulas)


def test_without_noise_tokens_the_gradient_bound_says_nothing():
    found = bounds_at(V=64, L=1, d=4, N=10)["gradient access"]
    assert (found.recall, found.least_N, found.largest_V) == (1.0, None, None)


@pytest.mark.parametrize(("wrong", "words"), [
    ({}, "V and N are both missing"), ({"V": 1}, "V=1 is not an integer from 2"), ({"N": 0}, "N=0"),
    ({"V": float("nan")}, "V=nan"), ({"V": 8, "bits": 0}, "bits=0"), ({"V": 8, "bits": float("nan")}, "bits=nan"),
    ({"V": 8, "target": 1}, "target=1"), ({"V": 8, "activation": "relu"}, "needs an MLP"),
    ({"V": 8, "m": 0}, "m=0"), ({"V": 2.5}, "V=2.5")])
def test_bad_values_are_refused(wrong, words):
    with pytest.raises(SettingError, match=words):
        bounds_at(L=4, d=8, **wrong)


def test_the_smallest_bits_there_are_store_nothing():
    assert bounds.bits_bound(2, 5e-324) == 1
    recall = bounds_at(V=8, L=2, d=1, N=9, bits=5e-324)["bits: on average"].recall
    assert recall == pytest.approx(1.75 / 8)  # chance is 1/8
