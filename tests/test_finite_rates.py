"""The law at finite rates: against sampling of its own hierarchy, the simulator, its limits and finer nodes."""

import numpy as np
import pytest
from support import of_one_group, shipped

from recall_theory import Setting, predict, predict_many, simulate
from recall_theory.numerics.quadrature import gauss_hermite
from recall_theory.settings import SettingError
from recall_theory.simulate.data import Samples, draw_embeddings
from recall_theory.simulate.three_step import train
from recall_theory.theory import finite_rates, formulas
from recall_theory.theory.accuracy import DEFAULT
from recall_theory.theory.domain import Batch
from recall_theory.theory.finite_rates import competing_labels
from recall_theory.theory.seed import shape_score
from recall_theory.theory.soft_attention import Softmax, labels, soft_seeds

SIZES = {"V": 96.0, "L": 24.0, "d": 48.0, "N": 2400.0}


def softmax(beta, embedding="sphere", **sizes):
    return Softmax(soft_seeds(Batch.of(**(SIZES | sizes), embedding=embedding, beta=beta), DEFAULT), DEFAULT)


def rates(beta):
    return {"eta": 1e-9, "gamma": beta * 1e9}


@pytest.mark.parametrize("beta", [3e4, 1e5, 2e5])
def test_moments_of_the_weights_by_sampling(beta):
    """Weights of sequences drawn from normal scores: E a, E a^2, the noise's mean score and squared weights, of which
    the law knows the first two for a vocabulary of V tokens."""
    found = softmax(beta)
    heat, snr = found.soft.heat[0], found.seeds.snr[0]
    rng = np.random.default_rng(1)
    for zeta in (-1.0, 0.5):
        vocabulary = rng.standard_normal((400, 96))
        noise = np.take_along_axis(vocabulary[:, None], rng.integers(96, size=(400, 50, 23)), -1).reshape(-1, 23)
        power = np.exp(heat * (noise - zeta - snr))
        a = 1 / (1 + power.sum(-1))
        w = power * a[:, None]
        at = np.full((len(found.soft.heat), 1), zeta)
        one, two = ((x[0, 0] @ found.w_vocabulary) for x in found.weights(found.soft.at(at)))
        score, squares = (x[0, 0] for x in found.noise(found.soft.at(at)))
        by_seed = a.reshape(400, -1).mean(-1)
        error = 5 * by_seed.std() / 20
        # scores of the law are a little flatter than normal, and one of the V tokens is the informative one
        assert abs(one - a.mean()) < error + 0.03 * a.mean()
        assert abs(two - (a**2).mean()) < 2 * error + 0.06 * (a**2).mean()
        assert abs(squares - (w**2).sum(-1).mean()) < 0.1 * squares + 1e-4
        assert abs(score - (w * noise).sum() / w.sum()) < 0.1


@pytest.mark.parametrize("beta", [1e5, 1e7])
def test_the_weights_in_long_sequences_of_a_small_vocabulary(beta):
    """Of which the noise holds nearly all tokens: V = 18, L = 120. The law has a vocabulary's sum in two moments."""
    found = softmax(beta, V=18.0, L=120.0, d=164.0, N=412.0)
    heat, snr = found.soft.heat[-1], found.seeds.snr[-1]  # a large lead
    rng = np.random.default_rng(2)
    for zeta in (0.0, 1.0):
        u = np.broadcast_to(rng.standard_normal((1, 68000)), (len(found.soft.heat), 68000))
        scores = np.append(shape_score(found.seeds, u)[-1].reshape(4000, 17), np.full((4000, 1), zeta), axis=1)
        counts = rng.multinomial(119, np.full(18, 1 / 18), size=4000)
        a = 1 / (1 + (counts * np.exp(heat * (scores - zeta - snr))).sum(-1))
        one, two = ((x[-1, 0] @ found.w_vocabulary)
                    for x in found.weights(found.soft.at(np.full((len(found.soft.heat), 1), zeta))))
        assert abs(one - a.mean()) < 0.02 + 5 * a.std() / 4000**0.5
        assert abs(two - (a**2).mean()) < 0.02 + 5 * (a**2).std() / 4000**0.5


def test_counts_and_scores_are_tied_as_in_the_simulator():
    """Their correlation over a seed's labels, with few samples each and the trigger in the values. One that pulled
    three times as much on a label's token, as up to law 36, is rejected."""
    setting = Setting(V=57, L=3, d=202, N=163)
    seen = []
    for seed in np.random.SeedSequence(5).spawn(60):
        embeddings, drawn = seed.spawn(2)
        samples = Samples(setting, drawn)
        trained = train(setting, draw_embeddings(setting, np.random.default_rng(embeddings)), samples)
        seen.append(np.corrcoef(trained.scores, samples.counts)[0, 1])
    error = np.std(seen) / 60**0.5
    soft = soft_seeds(Batch.of(57.0, 3.0, 202.0, 163.0, beta=1e3), DEFAULT)
    law = soft.weight @ soft.tie
    assert abs(law - np.mean(seen)) < 0.02 + 4 * error  # a false alarm in 10,000
    assert 1.5 * law - np.mean(seen) > 0.02 + 4 * error


def test_the_tie_to_scores_leaves_counts_as_they_are():
    """Over all scores they are as before in mean and variance, and go with the scores as they are tied; so too where
    scores are told apart by classes."""
    found = softmax(2e3, "gaussian", V=57.0, L=3.0, d=202.0, N=163.0)
    found.counts = (40, 40)
    rows, lam = len(found.soft.heat), 163 / 57
    u, w = gauss_hermite(24)
    for between in (0.0, 0.5):  # the variance within a class; that of their means is the rest
        quantile = np.sqrt(1 - between) * u + np.zeros((rows, 1))
        a, a2 = (x + np.zeros_like(quantile) for x in (0.6, 0.42))
        c, p = finite_rates.summed_weights(found, quantile, between + 0 * a, a, a2)
        weight = w[:, None] * p
        mean, square = (weight * c).sum((1, 2)), (weight * c**2).sum((1, 2))
        assert mean == pytest.approx(np.full(rows, 0.6), rel=1e-3)
        assert square - mean**2 == pytest.approx(np.full(rows, 0.42 / lam), rel=2e-3)
        tied = (weight * c * quantile[..., None]).sum((1, 2)) / np.sqrt(0.42 / lam)
        assert tied == pytest.approx((1 - between) * found.soft.tie * 0.6 / np.sqrt(0.42), rel=0.05)


# of the stored simulations, those that law 36 missed by 0.02 to 0.1: a trigger that tied counts to scores too tightly,
# a dimension lost with keys only, weights on the noise of a small vocabulary
FORMERLY_OFF = [("fresh", 22, "recall"), ("test", 57, "recall"), ("test", 43, "recall"), ("fresh", 17, "recall"),
                ("test", 18, "attention_weight"), ("test", 26, "recall"), ("fresh", 60, "recall")]


@pytest.mark.parametrize("of, V, observable", FORMERLY_OFF)
def test_what_was_off_at_few_tokens(of, V, observable):
    row = next(row for row in shipped(f"finite_rates_{of}")
               if row["setting"]["V"] == V and row["setting"].get("m") is None)
    seen, found = row["observed"][observable], getattr(predict(Setting(**row["setting"])), observable)
    assert abs(found - seen["mean"]) < 0.01 + 2 * seen["se"]


def test_a_softmax_that_is_not_heated_is_uniform_and_a_hot_one_an_argmax():
    cold, hot = softmax(1e-3), softmax(1e12)
    assert np.allclose(labels(cold).missed, 1 - 1 / 24, atol=1e-5)
    groups = labels(hot)
    assert (groups.weight * (groups.a - groups.a2 - groups.varied)).sum(-1).max() < 1e-6


@pytest.mark.parametrize("changed", [
    {}, {"embedding": "sphere"}, {"trigger_in_value": False}, {"V": 57, "L": 3, "d": 202, "N": 163},
    {"V": 43, "L": 2, "d": 14, "N": 6028, "trigger_in_value": False}])
def test_the_limit_is_the_limit(changed):
    """To 1e-6 as beta grows, where the limit's code takes over; and just before, by this law's own nodes."""
    sizes = {"V": 96, "L": 12, "d": 48, "N": 4800} | changed
    limit, far = predict(Setting(**sizes)), predict(Setting(**sizes, **rates(1e12)))
    assert abs(far.recall - limit.recall) < 1e-6 and abs(far.accuracy - limit.accuracy) < 1e-6
    assert far.attention == limit.attention and abs(far.attention_weight - limit.attention) < 1e-6
    near = predict(Setting(**sizes, **rates(25 * sizes["V"] * sizes["L"]**2)))
    assert abs(near.recall - limit.recall) < 0.004 and near.recall != limit.recall
    assert abs(near.accuracy - limit.accuracy) < 0.006


@pytest.mark.parametrize("V, L, d, N", [(32, 64, 32, 3200), (43, 17, 17, 1100), (64, 20, 16, 2000)])
def test_hot_attention_that_is_not_sure_is_the_limits_too(V, L, d, N):
    """Up to law 37 accuracy fell the further the hotter the softmax was: to 0.25 for 0.58 at the first of these."""
    sizes = {"V": V, "L": L, "d": d, "N": N}
    limit = predict(Setting(**sizes))
    hot, hotter = (predict(Setting(**sizes, **rates(times * V * L**2))) for times in (1e2, 1e5))
    assert limit.attention < 0.98
    assert abs(hot.accuracy - limit.accuracy) < 0.012 and abs(hotter.accuracy - limit.accuracy) < 0.012


def test_cold_attention_is_the_mean_of_a_sequence():
    p = predict(Setting(V=96, L=24, d=48, N=2400, **rates(1e-3)))
    assert p.attention_weight == pytest.approx(1 / 24, abs=1e-4)
    assert abs(p.accuracy - 1 / 24) < 0.03 and p.recall > 2 * p.accuracy


# drawn once, before any prediction of them: V, L, d, N, keys only, sphere, beta times the lead
DRAWN = [(80, 10, 48, 2400, 0, 0, 2.0), (72, 12, 64, 2160, 1, 1, 4.0), (96, 6, 32, 3800, 1, 0, 1.5)]


@pytest.mark.parametrize("V, L, d, N, e, sphere, b", DRAWN)
def test_recall_and_accuracy_by_simulation(V, L, d, N, e, sphere, b):
    """Within 0.04 and five standard errors of 24 seeds: a false alarm has a chance below 1e-6."""
    beta = b * V * L**2 / (1 - 1 / L)
    setting = Setting(V=V, L=L, d=d, N=N, trigger_in_value=bool(e), embedding=("gaussian", "sphere")[sphere],
                      **rates(beta))
    observed, p = simulate(setting, seeds=24, seed=3, n_test=1024), predict(setting)
    for name in ("recall", "accuracy", "attention_weight"):
        seen = getattr(observed, name)
        assert abs(getattr(p, name) - seen.mean) < 0.04 + 5 * seen.std / np.sqrt(24), name
    # the limit's law would not do
    limit = predict(setting.replace(eta=None, gamma=None))
    assert abs(limit.accuracy - observed.accuracy.mean) > 0.04 + 5 * observed.accuracy.std / np.sqrt(24)


# near uniform attention, where a spread 2 to 50 times too small and a recall 0.02 to 0.04 too high were seen
NEARLY_UNIFORM = (35, 53, 63, 76)


@pytest.mark.parametrize("number", NEARLY_UNIFORM)
def test_recall_and_its_spread_near_uniform_attention(number):
    """Beside the stored simulation: weights near 1/L, where strengths are small in units of a whole sample."""
    row = shipped("finite_rates_test")[number]
    seen, p = row["observed"], predict(Setting(**row["setting"]))
    assert p.attention_weight < 0.2
    assert abs(p.recall - seen["recall"]["mean"]) < 0.005 + 2 * seen["recall"]["se"]
    assert p.std["recall"] == pytest.approx(seen["recall"]["std"], rel=0.2)


def test_twice_as_many_nodes_move_little():
    """Of those that are of soft attention alone; the others are the limit's."""
    setting = Setting(V=96, L=12, d=48, N=2400, embedding="sphere", **rates(3.0 * 96 * 144))
    few, many = predict(setting), predict(setting, DEFAULT.doubled("soft_"))
    assert abs(few.recall - many.recall) < 2e-3 and abs(few.accuracy - many.accuracy) < 2e-3


def test_a_batch_is_its_settings():
    many = predict_many(V=[64, 96], L=12, d=48, N=2400, **rates(4e4))
    one = predict(Setting(V=96, L=12, d=48, N=2400, **rates(4e4)))
    assert abs(many.recall[1] - one.recall) < 1e-12 and abs(many.accuracy[1] - one.accuracy) < 1e-12
    assert (many.checked == [True, True]).all()


def test_accuracy_falls_with_length_at_fixed_rates():
    at = predict_many(V=96, L=[4, 8, 16, 32], d=48, N=4800, **rates(3e4))
    assert (np.diff(at.accuracy) < 0).all() and at.accuracy[0] > 4 * at.accuracy[-1]


@pytest.mark.parametrize("changed", [{"m": 64}, {"embedding": "orthogonal", "d": 128}])
def test_what_is_not_predicted_is_refused(changed):
    with pytest.raises(SettingError, match="finite rates"):
        predict(Setting(**({"V": 96, "L": 12, "d": 48, "N": 2400} | changed), **rates(1e5)))


def test_the_size_of_the_logits_is_the_settings_own():
    setting = Setting(V=96, L=12, d=48, N=2400, eta=0.5, gamma=1e5)
    size = formulas["finite.logits"](V=96, L=12, d=48, N=2400, e=1, eta=0.5)
    assert size == pytest.approx(setting.logits_after_step_one, rel=1e-12)


def test_length_costs_what_the_branch_says():
    """At the V of the branch typical weights are the share asked for, with the heat left out."""
    V = formulas["finite.law.length"](L=16, beta=1e7, share=0.8)
    lead = formulas["finite.lead"](V=V, L=16, beta=1e7, tau=1)
    assert formulas["finite.weight"](L=16, logit=lead, heat=0) == pytest.approx(0.8)
    assert formulas["finite.law.rates"](V=V, L=16, missed=0.2) == pytest.approx(1e7)


@pytest.mark.parametrize("sizes, beta", [({"V": 167, "L": 3, "d": 132, "N": 11_883, "embedding": "sphere"}, 290),
                                         ({"V": 201, "L": 4, "d": 139, "N": 11_485, "embedding": "sphere"}, 168)])
def test_labels_of_a_sequence_compete_each_by_itself(sizes, beta, monkeypatch):
    """Where weights are nearly alike. The control takes them for as many among all labels."""
    setting = Setting(**sizes, trigger_in_value=False, **rates(beta))
    seen = simulate(setting, seeds=40, seed=5).accuracy
    assert abs(predict(setting).accuracy - seen.mean) < 6 * seen.se + 0.01

    def among_all(*given):
        kinds, *rest = competing_labels(*given)
        return of_one_group(kinds), *rest

    monkeypatch.setattr(finite_rates, "competing_labels", among_all)
    assert predict(setting).accuracy - seen.mean > 6 * seen.se + 0.02
