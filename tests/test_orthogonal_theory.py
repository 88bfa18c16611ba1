"""Orthogonal embeddings: moments against count tables, values against kept simulations and the law's own limits."""

from __future__ import annotations

import dataclasses
import itertools
import warnings

import numpy as np
import pytest
from scipy.special import binom
from support import assert_mean, drawn, standard_error

from recall_theory.numerics.forced_choice import thinned
from recall_theory.numerics.quadrature import gauss_binomial
from recall_theory.settings import Setting
from recall_theory.simulate import simulate, three_step
from recall_theory.theory import orthogonal, orthogonal_scores
from recall_theory.theory.accuracy import DEFAULT
from recall_theory.theory.domain import Batch
from recall_theory.theory.formulas import orthogonal_formulas as terms
from recall_theory.theory.formulas.step_two import distinct_tokens
from recall_theory.theory.orthogonal import NAMES, orthogonal_prediction, orthogonal_terms

MEANS = ("attention", "recall", "accuracy")
SPREADS = tuple(f"{name}_std" for name in MEANS)

# (V, L, d, N, e), means and standard deviations of attention, recall and accuracy over 3,000 seeds:
# simulate(Setting(...), seeds=3000, seed=5, n_test=None)
SIMULATED = {
    (17, 27, 58, 25, 0): ((0.3067, 0.2788, 0.2200), (0.2043, 0.1725, 0.1691)),
    (19, 52, 110, 63, 0): ((0.4253, 0.4419, 0.3994), (0.2708, 0.2506, 0.2698)),
    (24, 100, 98, 106, 0): ((0.3491, 0.3520, 0.3426), (0.2364, 0.2272, 0.2357)),
    (25, 149, 99, 64, 0): ((0.0952, 0.0937, 0.0920), (0.0774, 0.0716, 0.0726)),
    (37, 157, 55, 139, 1): ((0.4424, 0.2100, 0.2299), (0.2480, 0.1239, 0.1226)),
    (17, 184, 34, 69, 1): ((0.1140, 0.0765, 0.1250), (0.0788, 0.0641, 0.0652)),
    (40, 183, 149, 217, 1): ((0.6676, 0.3425, 0.3570), (0.2506, 0.1496, 0.1463)),
    (18, 66, 18, 337, 1): ((0.9637, 0.7008, 0.7029), (0.0530, 0.1796, 0.1806)),
    (31, 21, 31, 57, 0): ((0.9656, 0.8287, 0.8124), (0.0685, 0.0647, 0.0874)),
    (26, 210, 26, 47, 0): ((0.0903, 0.0955, 0.0956), (0.1373, 0.1068, 0.1105)),
    (19, 5, 19, 28, 1): ((0.9926, 0.2757, 0.2752), (0.0119, 0.1448, 0.1445)),
    (17, 18, 17, 1894, 0): ((0.9942, 1.0000, 0.9942), (0.0148, 0.0011, 0.0148)),
    (48, 8, 49, 90, 1): ((1.0000, 0.2466, 0.2466), (0.0000, 0.0802, 0.0802)),
    (61, 20, 61, 700, 1): ((1.0000, 0.5633, 0.5633), (0.0000, 0.1398, 0.1398)),
    (33, 10, 40, 60, 0): ((1.0000, 0.8464, 0.8464), (0.0000, 0.0498, 0.0498)),
}


def batch(V, L, d, N, e):
    return Batch.of(V, L, d, N, embedding="orthogonal", trigger_in_value=e)


def predicted(V, L, d, N, e, accuracy=DEFAULT):
    return {k: float(v[0]) for k, v in orthogonal_prediction(batch(V, L, d, N, e), accuracy).items()}


def excess(at, errors=3):
    """By how much the predicted means differ from the simulated ones beyond some standard errors."""
    (means, spreads), found = SIMULATED[at], predicted(*at)
    return max(abs(found[name] - mean) - errors * spread / np.sqrt(3000)
               for name, mean, spread in zip(MEANS, means, spreads, strict=True))


@pytest.mark.parametrize("at", SIMULATED)
def test_the_law_is_what_networks_do(at):
    assert excess(at) < 0.005
    found = predicted(*at)
    for name, (mean, spread) in zip(MEANS, zip(*SIMULATED[at], strict=True), strict=True):
        if spread > 0.03:
            assert found[f"{name}_std"] == pytest.approx(spread, rel=0.4 if at[0] == at[2] else 0.2), (name, mean)


def test_the_law_is_right_on_average():
    off = [predicted(*at)[name] - mean for at, (means, _) in SIMULATED.items()
           for name, mean in zip(MEANS, means, strict=True)]
    assert abs(np.mean(off)) < 0.0015
    ratios = [predicted(*at)[name] / spread for at, (_, spreads) in SIMULATED.items()
              for name, spread in zip(SPREADS, spreads, strict=True) if spread > 0.02]
    assert np.median(np.abs(np.log(ratios))) < 0.06


def test_the_kept_simulations_are_todays():
    V, L, d, N, e = at = (19, 5, 19, 28, 1)
    seen = simulate(Setting(V=V, L=L, d=d, N=N, embedding="orthogonal", trigger_in_value=bool(e)), seeds=60, seed=5,
                    n_test=None)
    for name, mean, spread in zip(MEANS, *SIMULATED[at], strict=True):
        assert abs(getattr(seen, name).mean - mean) < 4 * spread / np.sqrt(60)


@pytest.mark.parametrize("name, wrong, at", [
    ("own_pull", lambda right: lambda *a: right(*a) * 2, (31, 21, 31, 57, 0)),
    ("pull", lambda right: lambda *a: right(*a) * 0.9, (40, 183, 149, 217, 1)),
    ("lead_given", lambda right: lambda *a: right(*a) * 0.93, (24, 100, 98, 106, 0)),
    ("lead_noise_given", lambda right: lambda *a: 4 * right(*a), (40, 183, 149, 217, 1)),
    ("trigger_weight_noise_given", lambda right: lambda *a, nx2, xn2: (0 * nx2, 0 * xn2), (37, 20, 37, 45, 1)),
    ("wallace_scale", lambda right: lambda d: 1 / orthogonal_scores.FLAT_SPHERE, (17, 18, 17, 1894, 0)),
    ("skewed_of_score", lambda right: lambda z, skew: z, (24, 100, 98, 106, 0)),
    ("distinct_trials", lambda right: lambda V, n: (n, 1.0), (24, 100, 98, 106, 0)),
    ("shared_places", lambda right: lambda ties: (1 + 0 * ties, 1 + 0 * ties), (48, 8, 49, 90, 1)),
    ("log_of_one_plus", lambda right: lambda z: right(z.real + 0j), (19, 5, 19, 28, 1)),
])
def test_a_wrong_term_is_seen(monkeypatch, name, wrong, at):
    """Each of these moves a prediction by more than what is left of its error."""
    before = predicted(*at)
    for module in (orthogonal, orthogonal_scores, orthogonal_scores.terms):
        if hasattr(module, name):
            monkeypatch.setattr(module, name, wrong(getattr(module, name)))
    after = predicted(*at)
    assert max(abs(after[key] - before[key]) for key in NAMES) > 0.006
    if at in SIMULATED and name not in ("shared_places", "log_of_one_plus", "wallace_scale"):
        assert excess(at) > 0.005


DOUBLED = [*list(SIMULATED)[::2], (22, 31, 58, 96, 0), (35, 176, 76, 418, 0), (57, 90, 120, 182, 0),
           (16, 59, 128, 152, 1), (85, 108, 85, 136, 1), (22, 9, 22, 716, 1), (455, 101, 455, 11191, 1),
           (7, 35, 7, 53, 0), (12, 3, 12, 60, 1),
           (10**9, 2, 10**9, 10**10, 1)]


@pytest.mark.parametrize("at", DOUBLED)
def test_doubling_all_nodes_moves_nothing(at):
    once, twice = predicted(*at), predicted(*at, DEFAULT.doubled())
    for name in MEANS:
        assert abs(twice[name] - once[name]) < 0.001
        assert abs(twice[f"{name}_std"] - once[f"{name}_std"]) < 0.05 * once[f"{name}_std"] + 0.0005


@pytest.mark.parametrize("e", [0, 1])
@pytest.mark.parametrize("V, L, N", [(64, 48, 96), (24, 30, 60)])
def test_moments_of_scores_are_those_of_the_count_tables(V, L, N, e):
    """Lead, token variance, and the mean score of a token by how many sequences store it."""
    setting = Setting(V=V, L=L, d=V + 1, N=N, embedding="orthogonal", trigger_in_value=bool(e))
    leads, spreads, by_count = [], [], {n: [] for n in range(5)}
    for i in range(200):
        emb, samples = drawn(setting, 3, i)
        g = three_step.step_two(setting, emb, samples, three_step.step_one(setting, emb, samples))
        unit = (setting.N * setting.L) ** 2
        scores = emb.z_in @ g * unit
        leads.append(float(emb.z_trig @ g) * unit)
        spreads.append(scores.var(ddof=1))
        for n, seen in by_count.items():
            if (samples.counts == n).any():
                seen.append(scores[samples.counts == n].mean())
    assert_mean(leads, terms.lead(V, L, N, e), 4)
    leading = (terms.noise_counts(V, L, N) + terms.label_noise(V, L, N, e) + terms.shared_sequences(V, L, N)
               + terms.own_sequences(V, L, N, e))
    assert np.mean(spreads) < leading < (1 + 4 / V) * np.mean(spreads) + 4 * standard_error(spreads)
    n = np.arange(30.0)
    m, w = gauss_binomial(n * (L - 1), np.full(30, 1 / V), 6)
    w /= w.sum(axis=1, keepdims=True)
    law = thinned(np.array([float(N)]), n, 1, np.array(1 / V))[0]
    parts = [f(V, L, N, e, n[:, None], m) for f in (terms.pull, terms.own_pull)]
    other, own = ((w * part).sum(axis=1) for part in parts)
    centre = own - other - law @ (own - other)
    z, c = parts[0] - other[:, None], m - (w * m).sum(axis=1, keepdims=True)
    linear = (w * z * c).sum(axis=1) ** 2 / np.maximum((w * c * c).sum(axis=1), 1e-300)
    rest, beside = ((w * (part - mean[:, None]) ** 2).sum(axis=1) + terms.shared_power_given(V, L, n, k)
                    for k, (part, mean) in enumerate(zip(parts, (other, own), strict=True)))
    pairs = law @ (n * (n - 1)) * V
    expected = (law @ ((V - 1) * rest + V / (V - 1) * linear + beside + centre**2)
                + 2 * ((1 - 1 / L) * (L - 1) / V**2) ** 2 * (N**2 - pairs - N)
                + terms.shared_sequences_given(V, L, pairs))
    assert_mean(spreads, expected, 4, 0.015 * expected)
    for count, seen in by_count.items():
        assert np.mean(seen) == pytest.approx(centre[count], abs=0.06 * np.ptp(centre[:5]) + 4 * standard_error(seen))


@pytest.mark.parametrize(("V", "n"), [(2, 3), (5, 1), (5, 12), (40, 25)])
def test_distinct_tokens_are_those_of_the_occupancy_chain(V, n):
    """Draw by draw: a new token other than the given one, with probability (V - 1 - D)/V."""
    law = np.zeros(V)
    law[0] = 1
    for _ in range(n):
        new = law * (V - 1 - np.arange(V)) / V
        law = law - new + np.roll(new, 1)
    mean, variance = distinct_tokens(V - 1, V, n)
    assert mean == pytest.approx(law @ np.arange(V), rel=1e-12)
    assert variance == pytest.approx(law @ (np.arange(V) - mean) ** 2, rel=1e-9)


@pytest.mark.parametrize(("V", "N"), [(16, 16), (16, 100), (24, 107), (64, 128), (168, 1453)])
def test_recall_is_a_competition_of_multinomial_counts(V, N):
    n = np.random.default_rng(0).multinomial(N, np.full(V, 1 / V), size=400_000 // V)
    most = n.max(axis=1, keepdims=True)
    ties = (n == most).sum(axis=1, keepdims=True)
    recall = np.where(2 * n > most, 1, np.where(2 * n == most, 1 / (1 + ties), 0)).mean(axis=1)
    found = predicted(V, 4 if V > 50 else 1, V + 1, N, True)
    assert_mean(recall, found["recall"], 4)
    assert found["recall_std"] == pytest.approx(recall.std(), rel=0.05)


def test_trigger_outside_the_values_leaves_coverage():
    found = predicted(128, 8, 129, 200, False)
    unseen = (1 - 1 / 128) ** 200
    assert found["attention"] == 1
    assert found["recall"] == pytest.approx(1 - unseen + unseen / 128, abs=1e-6)
    assert terms.coverage(128, 200) == pytest.approx(1 - unseen + unseen / 128)
    variance = unseen * (1 - unseen) / 128 + (1 - 1 / 128) * ((1 - 2 / 128) ** 200 - unseen**2)
    assert found["recall_std"] == pytest.approx(np.sqrt(variance), rel=0.02)


def test_recall_rises_to_one_about_its_law():
    """Almost all facts at V ln V/(2 ln 2 - 1): recall passes one half there, and is nearly 1 at four times it."""
    V = 10**6
    N = float(terms.recall_most(V))
    recall = [predicted(V, 4, V + 1, round(f * N), True)["recall"] for f in (1 / 2, 1, 2, 4)]
    assert recall[0] < 0.3
    assert 0.3 < recall[1] < 0.7
    assert 0.7 < recall[2] < recall[3]
    assert recall[3] > 0.99
    assert predicted(V, 4, V + 1, round(float(terms.recall_all(V))), True)["recall"] > 1 - 2 / V


def test_attention_law_is_where_the_lead_meets_the_competitors():
    V, L = 400, 20000
    N = float(terms.least_samples(V, L))
    attention = [predicted(V, L, V + 1, round(f * N), 0)["attention"] for f in (0.5, 1, 2)]
    assert attention[0] < 0.3 < attention[1] < 0.95 < attention[2]


def test_every_size_gives_probabilities():
    sizes = [(V, L, V + extra, max(1, round(ratio * V))) for V, L, ratio, extra in itertools.product(
        (2, 3, 64, 10**15), (1, 2, 10**5), (1e-3, 1, 1e9), (0, 1))]
    V, L, d, N = np.array(sizes, dtype=float).T
    for e in (False, True):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            prediction = orthogonal_prediction(batch(V, L, d, N, e))
        assert set(prediction) == set(NAMES)
        for name, value in prediction.items():
            assert value.shape == V.shape
            assert ((value >= 0) & (value <= 1)).all(), name
        for name in MEANS:
            p, spread = prediction[name], prediction[f"{name}_std"]
            assert (spread <= np.sqrt(p * (1 - p)) + 1e-12).all(), name
        for part in orthogonal_terms(batch(V, L, d, N, e)).values():
            for name, term in part.items():
                assert (np.isfinite(term) & (term >= 0)).all(), name


def test_guesses_are_near_the_law_and_attention_alone_is_the_laws():
    """At settings drawn anew each time; of 60 the largest error of half the nodes was 0.009."""
    rng = np.random.default_rng()
    V, L, ratio = np.exp(rng.uniform(np.log([[4], [1], [0.5]]), np.log([[500], [100], [300]]), (3, 20)))
    V, N = np.round(V), np.ceil(ratio * V)
    at = Batch.of(V, np.round(L), V * rng.choice([1, 2], 20), N, embedding="orthogonal")
    whole, half = orthogonal_prediction(at), orthogonal_prediction(at, DEFAULT.halved())
    assert (orthogonal.orthogonal_attention(at) == whole["attention"]).all()
    for name in MEANS:
        assert np.abs(half[name] - whole[name]).max() < 0.03, name


def test_every_count_of_nodes_is_used():
    at = (18, 66, 18, 337, 1), (24, 100, 98, 106, 0), (19, 5, 19, 40000, 1)
    for field in dataclasses.fields(DEFAULT):
        if field.name.startswith("orthogonal_") and field.type == "int":
            other = dataclasses.replace(DEFAULT, **{field.name: max(2, getattr(DEFAULT, field.name) - 1)})
            assert any(predicted(*a, other) != predicted(*a) for a in at), field.name


@pytest.mark.parametrize("n", [0, 1, 2, 5, 40])
def test_shared_ties_by_counting_and_by_quadrature(n):
    """All ways in which n labels and one more stay below or tie; and, complex as transforms are, the integral."""
    below, tie, top, top_tie = 0.55, 0.2, 0.3, 0.45
    ties = orthogonal._Ties.of(np.array([below + tie - 1 + 0j]), np.array([tie + 0j]))
    k = np.arange(n + 1)
    chance = binom(n, k) * tie**k * below**(n - k)
    expected = (chance * (top / (1 + k) + top_tie / (2 + k))).sum()
    assert ties.credit(n, np.array([top + top_tie - 1 + 0j]), np.array([top_tie + 0j]))[0] == pytest.approx(expected)
    u, w = np.polynomial.legendre.leggauss(64)
    v, w = (u + 1) / 2, w / 2
    for P, equal, P1, equal1 in ((0.3 - 0.4j, 0.1 + 0.1j, 1e-9j, 0.04 - 0.1j), (0.2j, 0.5 - 0.3j, 0.4 + 0j, 0.1j),
                                 (0.9 + 0.1j, 1e-7j, 0.8 - 0.1j, 1e-8 + 0j), (0.5 + 0j, 1e-5 + 1e-5j, 1 + 0j, 0j)):
        ties = orthogonal._Ties.of(np.array([P - 1]), np.array([equal]))
        expected = (w * (P - v * equal)**n * (P1 - v * equal1)).sum()
        assert ties.credit(n, np.array([P1 - 1]), np.array([equal1]))[0] == pytest.approx(expected, rel=1e-6, abs=1e-15)
