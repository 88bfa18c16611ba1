"""Attention in step two: exact moments, the law's numerical parts and its limits."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import special, stats
from support import assert_mean, drawn

from recall_theory.numerics import quadrature
from recall_theory.settings import Setting
from recall_theory.simulate import three_step as counts
from recall_theory.theory import seed as law
from recall_theory.theory.accuracy import Accuracy
from recall_theory.theory.domain import Batch
from recall_theory.theory.formulas import score_shape as shape
from recall_theory.theory.formulas import step_two as terms
from recall_theory.theory.formulas.wishart_moments import along_mean_on_sphere, pairings, wishart


def scores(setting, seed, index):
    """T, the tokens' scores and tau of one seed."""
    emb, samples = drawn(setting, seed, index)
    g = counts.step_two(setting, emb, samples, counts.step_one(setting, emb, samples))
    return float(emb.z_trig @ g), emb.z_in @ g, float(emb.z_trig @ emb.z_trig)


@pytest.mark.parametrize("e", [True, False])
@pytest.mark.parametrize("embedding", ["gaussian", "sphere"])
def test_mean_lead_is_exact_at_any_size(embedding, e):
    V, L, d, N = 7, 4, 6, 12
    setting = Setting(V=V, L=L, d=d, N=N, embedding=embedding, trigger_in_value=e)
    T, _, tau = (np.array(x) for x in zip(*(scores(setting, 5, i) for i in range(6000)), strict=True))
    assert_mean(T - terms.lead(terms.StepTwo(V, L, d, N, int(e), tau=tau)), 0, 4)


@pytest.mark.parametrize("embedding", ["gaussian", "sphere"])
def test_token_variance_and_skewness_of_a_seed(embedding):
    V, L, d, N = 120, 60, 40, 600
    setting = Setting(V=V, L=L, d=d, N=N, embedding=embedding)
    draws = [scores(setting, 6, i) for i in range(400)]
    kappa = int(embedding == "gaussian")
    (b0, w), (Q, w_Q) = (quadrature.gauss_gamma(v, 3) for v in (2 / d, 2 / V))
    parts = terms.parts(terms.StepTwo(V, L, d, N, kappa=kappa, b0=b0[:, None], Q=Q))
    told = sum((w @ np.broadcast_to(token, (3, 3)) @ w_Q) for token, _ in parts.values())
    told += (np.mean([T**2 for T, _, _ in draws])) / d
    assert_mean([s.var() for _, s, _ in draws], told, 3, 0.05 * told)
    nodes = law.seed_law(Batch.of(V, L, d, N, embedding=embedding))
    assert_mean([stats.skew(s, bias=False) for _, s, _ in draws], nodes.weight @ nodes.seeds.skew, 3, 0.01)


@pytest.mark.parametrize("embedding", ["gaussian", "sphere"])
def test_outputs_pull_on_what_label_noise_stores(embedding):
    """W and W_2 of drawn labels and outputs; outputs of fixed norm pull on informative tokens by a tenth less."""
    V, d, N = 42, 26, 70
    rng = np.random.default_rng(61)
    pulls = []
    for _ in range(6000):
        u = rng.normal(size=(V, d)) / np.sqrt(d)
        if embedding == "sphere":
            u /= np.linalg.norm(u, axis=1, keepdims=True)
        p = np.bincount(rng.integers(V, size=N), minlength=V) / N
        beta = (u - u.mean(0)) @ ((p - 1 / V) @ u)
        pulls.append((p @ beta**2, p**2 @ beta**2))
    kappa = int(embedding == "gaussian")
    (b0, w), (Q, w_Q) = (quadrature.gauss_gamma(v, 5) for v in (2 / d / (1 + (1 - kappa) * (3 + V / N) / V), 2 / V))
    for number, formula in enumerate((terms.pull_of_noise, terms.pull_of_facts)):
        told = {k: w @ formula(terms.StepTwo(V, 8, d, N, kappa=k, b0=b0[:, None], Q=Q)) @ w_Q for k in (0, 1)}
        assert_mean([pull[number] for pull in pulls], told[kappa], 4, 0.025 * told[kappa])
        assert told[0] < 0.97 * told[1]


def test_what_raises_the_lead_raises_the_noise():
    """Cov(T, g'Sigma g)/Var(T) beside the trigger, given the label noise: the law has about three quarters of it (its
    derivation says so); the echo of the trigger alone is rejected."""
    V, L, d, N = 42, 14, 26, 70
    setting = Setting(V=V, L=L, d=d, N=N, embedding="sphere")
    found, given = [], []
    for i in range(6000):
        emb, samples = drawn(setting, 62, i)
        g = counts.step_two(setting, emb, samples, counts.step_one(setting, emb, samples))
        T = emb.z_trig @ g
        beside = (emb.z_in - emb.z_in.mean(0)) @ (g - emb.z_trig * T)
        delta = samples.counts / N - 1 / V
        found.append((T, beside @ beside / (V - 1)))
        given.append((1, delta @ delta, np.sum((delta @ emb.u)**2) / (delta @ delta)))
    x, y = np.array(found), np.array(given)
    lead, noise = (x - y @ np.linalg.lstsq(y, x, rcond=None)[0]).T
    seen = lead * noise / np.mean(lead**2)
    error = 3 * seen.std() / np.sqrt(len(seen))
    p = terms.StepTwo(V, L, d, N, kappa=0)
    spread = sum(of_lead for _, of_lead in terms.parts(p).values())
    echo = 2 * terms.echo(p) * law._turn(p)[1] / spread
    told = echo + terms.lead_with_noise(p, 1) / spread
    assert 0.6 * (seen.mean() - error) < told < seen.mean() + error
    assert echo < seen.mean() - error


@pytest.mark.parametrize(("V", "d", "m"), [(60, 12, None), (60, 12, 60), (100, 40, 100)])
def test_the_noise_of_a_vocabulary_and_its_neurons_varies(V, d, m):
    """Where the mean embedding decides (L -> infinity): |E Sigma M zbar|^2 over vocabularies E and, by M, neurons."""
    rng = np.random.default_rng(63)
    seen = np.empty(6000)
    for i in range(len(seen)):
        z = rng.normal(size=(V, d)) / np.sqrt(d)
        E, v = z - z.mean(0), z.mean(0)
        if m is not None:
            w = rng.normal(size=(m, d))
            v = w.T @ (w @ v) / m
        seen[i] = np.sum((E @ (E.T @ (E @ v)))**2)
    batch = Batch.of(V, 10**6, d, 10**6, m=m, phi=None if m is None else "identity", trigger_in_value=False)
    p = law.step_two_of(batch, law._moments(batch), 0)
    told = law._noise_spread(p, {name: token for name, (token, _) in law._noise(p).items()}) + 2 / V
    assert_mean(((seen - seen.mean()) / seen.mean())**2, told, 4, 0.08 * told)


def test_the_counts_of_a_token_overlap_by_their_covariance():
    """Of n(n - lam)/(L N^2) and c n(n - 1)/(L N)^2 for a Poisson count n."""
    V, L, N = 60, 8, 240
    n, w = quadrature.gauss_charlier(N / V, 5)
    fact, own = n * (n - N / V) / (L * N**2), (1 - 1 / L) * n * (n - 1) / (L * N) ** 2
    covariance = w @ (fact * own) - (w @ fact) * (w @ own)
    Q, w_Q = quadrature.gauss_gamma(2 / V, 8)
    assert w_Q @ terms.count_overlap(terms.StepTwo(V, L, 8, N, Q=Q)) == pytest.approx(2 * V * covariance, rel=2e-3)


def test_sums_over_labels_follow_the_spread_of_their_counts():
    """Of n^3, n x^2 and n^2 x^2, x = n - lam: averages at low and high Q, by drawing."""
    V, lam, rng = 40, 3.0, np.random.default_rng(5)
    n = rng.multinomial(int(V * lam), np.full(V, 1 / V), size=40000)
    x = n - lam
    Q = (x**2).sum(1) / (V * lam * (1 - 1 / V))
    p = terms.StepTwo(V, 8, 8, V * lam, Q=Q)
    pull = {1: (1 + 1 / lam, 1 + 3 / lam), 2: (1 + 5 / lam + 1 / lam**2, 1 + 12 / lam + 7 / lam**2)}
    pairs = [(terms.cubed_counts(p), n**3 / lam**3)]
    pairs += [(terms.given_counts(p, *pull[k]), n**k * x**2 / lam**(k + 1)) for k in (1, 2)]
    for told, seen in pairs:
        seen = seen.mean(1)
        for part in (Q < 0.85, Q > 1.2):
            assert told[part].mean() == pytest.approx(seen[part].mean(), rel=0.08)


def test_wishart_moments_are_exact():
    rng = np.random.default_rng(1)
    V, d = 9, 5
    seen = []
    for _ in range(20000):
        z = rng.standard_normal((V, d)) / np.sqrt(d)
        eigen = np.linalg.eigvalsh(np.cov(z.T, bias=True)) * d
        seen.append([np.mean(eigen**k) for k in range(1, 9)])
    for k, values in enumerate(np.array(seen).T, start=1):
        assert_mean(values, wishart(k, V, d, 1), 4)
        assert sum(number for _, _, number in pairings(k)) == special.factorial2(2 * k - 1, exact=True)  # all pairings


def test_the_mean_embedding_on_the_sphere():
    """The k-statistics of z.Sigma zbar over the tokens of drawn vocabularies, against the formulas; their leading order
    alone, as for ever larger vocabularies of the same d/V, is rejected."""
    V, d, n = 24, 16, 12000
    z = np.random.default_rng().normal(size=(n, V, d))
    z /= np.linalg.norm(z, axis=-1, keepdims=True)
    mean = z.mean(axis=1, keepdims=True)
    z -= mean
    along = (z @ mean.mT)[..., 0]
    s = np.einsum("nbd,ncd,nc->nb", z, z, along, optimize=True) / V
    found = [stats.kstat(s, k, axis=1) for k in (2, 3, 4)]
    square, third, fourth = along_mean_on_sphere(float(V), float(d))
    for draws, told, margin in zip(found, (square * V / (V - 1), third, fourth), (0, 0.02, 0.08), strict=True):
        assert_mean(draws, told, 5, margin * abs(told))
    far = along_mean_on_sphere(1e6 * V, 1e6 * d)
    for draws, leading in zip(found[1:], (far[1] * 1e6**7, far[2] * 1e6**9), strict=True):
        assert abs(leading) > 1.2 * abs(draws.mean()) + 5 * draws.std() / n**0.5


@pytest.mark.parametrize("embedding", ["gaussian", "sphere"])
def test_tokens_drawn_for_two_samples_count_twice(embedding):
    """The two sums over drawn vocabularies; that the product is d/V, as up to law 15, is rejected."""
    V, d = 60, 90
    z = np.random.default_rng().normal(size=(150, V, d)) / np.sqrt(d)
    if embedding == "sphere":
        z /= np.linalg.norm(z, axis=-1, keepdims=True)
    z -= z.mean(axis=1, keepdims=True)
    G = z @ z.mT
    again = G @ G / V
    p = terms.StepTwo(V, 20, d, 600, kappa=int(embedding == "gaussian"))
    diagonal = np.diagonal(again, axis1=1, axis2=2)
    square = (d / V)**2 * ((diagonal[:, :, None] * G**2).sum((1, 2)) - np.trace(again @ again, axis1=1, axis2=2))
    assert_mean(square, terms.drawn_square(p), 5, 0.04 * terms.drawn_square(p))
    product = (d / V)**2 * (again * G**2).sum((1, 2))
    assert_mean(product, terms.drawn_product(p), 5, 0.05 * terms.drawn_product(p))
    assert d / V < 0.6 * product.mean()


def test_what_all_values_share_has_its_cumulants():
    """v h + v q + s with normal v, q and s, of the variances that the formula has; without the product v q, whose
    fourth cumulant it is, nothing is left."""
    p, n, rng = terms.StepTwo(34.0, 60.0, 81.0, 386.0, e=0, kappa=0), 4_000_000, np.random.default_rng()
    known = shape.Scores({}, 0, 0, label=1.3, length=0.8)
    tight = p.moments[2] / p.d
    variance = known.label * (terms.noise_strength(p) + terms.fact_strength(p)) / p.V
    of_q = known.length / known.label * p.c**2 / (p.V * p.d)
    joint = known.length * terms.mean_pull(p) * p.c * tight / (p.V * p.d)
    v, q = rng.normal(size=(2, n)) * np.sqrt([[variance], [of_q]])
    s = joint / of_q * q
    sigma = np.sqrt(variance) * p.c**2 * tight
    found = (v * (p.c**2 * tight + q) + s) / sigma
    third, fourth = shape.shared_values(p, known)
    for k, told in ((3, third / sigma**3), (4, fourth / sigma**4)):
        parts = [stats.kstat(part, k) for part in found.reshape(40, -1)]
        assert_mean(parts, told, 5, 0.01 * told)
        assert told > 20 * np.std(parts) / 40**0.5


def test_the_noise_beside_the_lead():
    """g of covariance sum_a s_a Sigma^a: the tokens' mean squared noise, and its slope in the squared lead."""
    V, d, n = 200, 120, 4000
    rng, p = np.random.default_rng(), terms.StepTwo(200.0, 20.0, 120.0, 800.0, e=0)
    noise = {"mean embedding": 1.0, "sequence sampling": 0.3}
    powers = {"mean embedding": 2, "sequence sampling": 1}
    squares, slopes = [], []
    for _ in range(60):
        z = rng.normal(size=(V, d)) / np.sqrt(d)
        cov = np.cov(z.T, bias=True)
        value, axes = np.linalg.eigh(cov)
        M = sum(noise[name] / (p.moments[i + 1] / d**i) * value**i for name, i in powers.items())
        g = rng.normal(size=(n, d)) * np.sqrt(M) @ axes.T
        trigger = rng.normal(size=d)
        trigger /= np.linalg.norm(trigger)
        T, square = g @ trigger, ((g @ axes)**2 @ value) * V / (V - 1)
        squares.append(square.mean())
        slopes.append(np.polynomial.polynomial.polyfit(T**2, square, 1)[1])
    of_lead = sum(noise[name] * p.moments[i] / p.moments[i + 1] for name, i in powers.items())
    turn = (sum(noise.values()) - of_lead) / d / of_lead  # z.(Sigma - 1/d) M z over z.M z
    plain, more = law._beside_lead(p, noise, of_lead, turn)
    overlap = (1 + d * turn)**2 / d
    assert_mean(squares, plain + (overlap + more) * of_lead, 5, 0.01)
    assert_mean(slopes, overlap + more, 5, 0.05 * (overlap + more))
    assert more > 0.1 * overlap  # which the overlap alone does not show


def test_rivals_by_enumeration():
    V, L = 4, 5
    number = [len(set(x) - {0}) for x in itertools.product(range(V), repeat=L - 1)]
    assert terms.distinct_tokens(V - 1, V, L - 1) == pytest.approx((np.mean(number), np.var(number)))


def test_coordinate_of_a_unit_vector():
    for d in (16, 64):
        x = np.linspace(-3.4, 3.4, 35)
        below = special.betainc((d - 1) / 2, (d - 1) / 2, (1 + x / np.sqrt(d)) / 2)
        told = special.ndtr(law.normal_score(x, 0, -6 / (d + 2)))
        assert np.abs(told - below).max() < 2e-4


def test_scores_and_their_quantiles_are_inverse():
    u = np.linspace(-6, 6, 49)
    for skew, excess in ((0, 0), (0.4, 0.1), (-0.5, -0.4), (1.6, 4), (1e-9, 1e-9), (0, -1)):
        x = law.score_of_normal(u, skew, excess)
        assert np.all(np.diff(x) > 0)
        assert law.normal_score(x, skew, excess) == pytest.approx(u, abs=1e-6)


SHAPES = [(0.3, 0.135), (0.0, -0.2), (0.0, 0.2), (-0.2, -0.4), (0.5, 1.0), (1.1, 2.5)]


@pytest.mark.parametrize(("skew", "excess"), SHAPES)
def test_the_scores_have_their_cumulants(skew, excess):
    u, w = law.score_grid(Accuracy())
    x = law.score_of_normal(u, *law._composed(np.array(skew), np.array(excess)))
    assert w @ x == pytest.approx(0, abs=0.01)
    assert w @ x**2 == pytest.approx(1, abs=0.02)
    assert w @ x**3 == pytest.approx(skew, abs=0.05)
    assert w @ x**4 - 3 == pytest.approx(excess, abs=0.2)


def test_more_samples_more_dimensions_and_shorter_sequences_help():
    told = law.attention(Batch.of(512, [64, 64, 64, 32], [32, 32, 48, 32], [2000, 4000, 2000, 2000]))
    assert np.all(told[1:] > told[0])
