"""Limits: each noise term vanishes where it should, and at the rate it should."""

from __future__ import annotations

import math

import numpy as np
import pandas
import pytest
from scipy.special import gammaln, ndtr

from recall_theory import Setting, SettingError, predict, predict_many
from recall_theory.settings import OBSERVABLES
from recall_theory.theory.domain import Batch
from recall_theory.theory.memories import hebbian_recall
from recall_theory.theory.noise_budget import recall_terms
from recall_theory.theory.seed import SeedLaws


@pytest.mark.parametrize("cause, power", [("mean embedding", -2), ("noise tokens", -2), ("informative tokens", -1),
                                          ("trigger overlap", 0)])
def test_attention_noise_vanishes_with_samples(cause, power):
    few, many = SeedLaws(Batch.of(4096, 64, 512, [1e9, 1e10])).attention_terms()[cause]
    assert math.log10(many / few) == pytest.approx(power, abs=0.05)


@pytest.mark.parametrize("cause, power", [("gradient noise", -1), ("mean bias", -1), ("interference", 0)])
def test_recall_noise_vanishes_with_samples(cause, power):
    few, many = recall_terms(Batch.of(4096, 2, 256, [1e6, 1e9]))[cause]
    assert math.log10(many / few) / 3 == pytest.approx(power, abs=0.01)


def test_without_samples_noise_only_the_overlap_is_left():
    p = predict(Setting(V=4096, L=64, d=128, N=10**15))
    alone = p.terms["attention"]["trigger overlap"]
    assert sum(p.terms["attention"].values()) == pytest.approx(alone, rel=0.02)


def test_recall_has_a_threshold_in_d_squared_over_V_ln_V():
    # At fixed x = d^2/(V ln V) and no sampling noise, recall tends to 1 above x = 2 (1 + tau) = 4, to 0 below.
    V = np.array([10**4, 10**6, 10**8])
    for x, rises in ((8.0, True), (2.0, False)):
        d = np.rint(np.sqrt(x * V * np.log(V)))
        recall = predict_many(V=V, L=1, d=d, N=V * 10**6).recall
        steps = np.diff(recall)
        assert (steps > 0).all() if rises else (steps < 0).all(), recall


def test_one_token_needs_no_attention():
    for embedding in ("gaussian", "sphere"):
        p = predict(Setting(V=128, L=1, d=64, N=4096, embedding=embedding))
        assert p.attention == 1 and p.spread["attention"] == 0
        assert p.accuracy == pytest.approx(p.recall, abs=1e-12)


def test_without_the_trigger_in_the_values_there_is_no_mean_bias():
    with_it = predict(Setting(V=256, L=8, d=128, N=8192))
    without = predict(Setting(V=256, L=8, d=128, N=8192, trigger_in_value=False))
    assert with_it.terms["recall"]["mean bias"] > 0
    assert "mean bias" not in without.terms["recall"]
    assert without.recall > with_it.recall


def test_many_dimensions_tend_to_orthogonal_embeddings():
    # d >> V: Gaussian embeddings are orthogonal but for 1/sqrt(d); recall meets the orthogonal law.
    sizes = {"V": 64, "L": 4, "N": 64 * 16}
    orthogonal = predict(Setting(d=2048, embedding="orthogonal", **sizes)).recall
    gap = [abs(predict(Setting(d=d, **sizes)).recall - orthogonal) for d in (128, 512, 2048)]
    assert gap[0] > gap[1] > gap[2] and gap[2] < 0.05


EXTREME = ((2, 1, 1, 1), (2, 10**9, 1, 1), (64, 2, 4096, 64), (10**12, 64, 256, 10**13), (2, 2, 10**9, 10**15),
           (100, 3, 5, 1))  # some intermediate quantities overflow here
CORNERS = (
    (10**12, 64, 4096, 10**13), (10**6, 16, 3000, 10**7), (64, 1, 32, 6400), (64, 8, 3, 640), (3, 4, 8, 30),
    (64, 16, 32, 1), (1024, 16, 128, 1), (64, 16, 32, 64 * 10**9), (64, 10**9, 128, 640), (128, 16, 10**9, 1280),
    (2, 16, 1, 2 * 10**9), (8, 1000, 2, 8 * 10**9), (10**15, 8, 2, 10**15),
)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("embedding, trigger_in_value", [("gaussian", True), ("gaussian", False), ("sphere", True)])
def test_predict_answers_in_the_corners(embedding, trigger_in_value):
    exponents = np.random.default_rng(2).uniform((1, 0, 0, 0), (17, 13, 9, 26), (30, 4))
    V, L, d, N = np.concatenate([EXTREME, CORNERS, np.rint(2**exponents)]).T
    found = predict_many(V=V, L=L, d=d, N=N, embedding=embedding, trigger_in_value=trigger_in_value)
    for name in OBSERVABLES:
        for values in (getattr(found, name), found.spread[name], found.std[name]):
            assert ((values >= 0) & (values <= 1)).all(), name


def test_few_samples_far_more_dimensions_than_tokens():
    # Scores of skewed shape: attention is certain here (1.0000 in 200 simulated seeds of each).
    for V, L, d, N in ((64, 4, 512, 128), (64, 8, 1024, 64), (64, 2, 4096, 64)):
        assert predict(Setting(V=V, L=L, d=d, N=N)).attention > 0.999


@pytest.mark.parametrize(("V", "d", "lam"), [(1024, 20_000, 12), (10**4, 10**5, 23), (10**5, 2 * 10**6, 40)])
def test_counts_decide_where_embeddings_are_all_but_orthogonal(V, d, lam):
    """Beside 2 n_k against Poisson counts n_j, each with the noise of what all labels store: the law had 16 nodes over
    n_k, of which a step two counts wide asks more (.419, .541 and .754 for .429, .552 and .748)."""
    n = np.arange(6 * lam + 60)
    p = np.exp(n * np.log(lam) - lam - gammaln(n + 1))
    noise, (x, w) = np.sqrt((V * lam + 2 * V * lam**2 / d) / d), np.polynomial.hermite_e.hermegauss(40)
    above = ndtr((n - 2 * n[:, None, None] - noise * x[:, None]) / noise) @ p
    recall = p @ (np.exp((V - 1) * np.log1p(-np.minimum(above, 1 - 1e-16))) @ w) / w.sum()
    assert predict(Setting(V=V, L=4, d=d, N=V * lam)).recall == pytest.approx(recall, abs=0.002)


@pytest.mark.parametrize("model", [{}, {"m": 64}, {"m": 64, "activation": "tanh"}, {"embedding": "orthogonal"}])
def test_predictions_keep_their_sizes_and_make_a_data_frame(model):
    many = predict_many(V=[[16, 32]], L=[[2], [4]], d=32, N=512, **model)
    assert many.V.shape == many.L.shape == many.recall.shape == (2, 2)
    assert (many.m is None) == ("m" not in model)
    table = pandas.DataFrame(many.to_dict())
    assert table["V"].tolist() == [16, 32, 16, 32]
    assert table["L"].tolist() == [2, 2, 4, 4]
    one = predict(Setting(V=32, L=4, d=32, N=512, **model))
    assert table["recall"].iloc[3] == pytest.approx(one.recall, abs=1e-6)
    assert table["std.recall"].iloc[3] == pytest.approx(one.std["recall"], rel=1e-3, abs=1e-6)


@pytest.mark.parametrize("model, shape", [({}, (0,)), ({"m": 64}, (2, 0)), ({"m": []}, (0,)),
                                          ({"embedding": "orthogonal"}, (2, 0))])
def test_no_settings_have_no_predictions(model, shape):
    many = predict_many(V=np.empty(shape), L=2, d=32, N=512, **model)
    assert many.recall.shape == many.V.shape == many.std["recall"].shape == shape
    assert len(pandas.DataFrame(many.to_dict())) == 0


def test_settings_with_and_without_an_mlp_are_predicted_apart():
    with pytest.raises(SettingError, match="m holds None"):
        predict_many(V=64, L=2, d=32, N=512, m=[None, 64])


def test_arrays_of_memories_broadcast():
    recall = hebbian_recall([[64], [256]], [32, 64, 128])
    assert recall.shape == (2, 3)
    assert recall[1, 2] == float(hebbian_recall(256, 128))
