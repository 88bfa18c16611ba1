"""The MLP's fast simulator against the explicit one, and the explicit one against the model's definition."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from recall_theory.settings import Setting
from recall_theory.simulate import (
    data,
    run,
    simulate,
)
from recall_theory.simulate import (
    observables as observe,
)
from recall_theory.simulate import (
    reference as explicit,
)
from recall_theory.simulate import (
    reference_mlp as mlp_explicit,
)
from recall_theory.simulate import (
    three_step as counts,
)
from recall_theory.simulate import (
    three_step_mlp as mlp,
)

ACTIVATIONS = ["relu", "gelu", "tanh", "erf", "quadratic", "identity", "x**3 - 3*x", "relu(x - 0.3)**2"]


def draw(setting, seed=0):
    """The task of one seed, layer included."""
    s_emb, s_samples, s_explicit, s_mlp = np.random.SeedSequence(seed).spawn(4)
    emb = data.draw_embeddings(setting, np.random.default_rng(s_emb))
    task = explicit.draw_task(setting, emb, data.Samples(setting, s_samples), s_explicit)
    return mlp_explicit.MlpTask(task, mlp.draw_mlp(setting, np.random.default_rng(s_mlp)))


def fast(task):
    return mlp.train(task.base.setting, task.base.emb, task.base.samples, task.mlp)


def by_definition(task):
    return mlp_explicit.trained(task, mlp_explicit.train(task))


def assert_close(a, b, tolerance=1e-9, scale=0.0):
    a, b = np.asarray(a), np.asarray(b)
    assert np.abs(a - b).max() <= tolerance * max(np.abs(b).max(), scale)


def assert_same(a, b, setting):
    natural = 1 / (setting.V * setting.L**2)  # at L = 1 all scores are zero but for rounding
    assert_close(a.scores, b.scores, scale=natural)
    assert_close(a.trigger_score, b.trigger_score, scale=natural)
    assert_close(a.logits, b.logits)
    assert_close(a.wrong_logits, b.wrong_logits)
    assert observe.exactly(a, setting.L) == pytest.approx(observe.exactly(b, setting.L), abs=1e-9)


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("size", [(20, 6, 24, 300, 7), (9, 1, 12, 50, 30), (7, 4, 9, 1, 5), (30, 12, 31, 97, 64)],
                         ids=str)
def test_the_fast_path_is_the_explicit_limit(size, activation):
    setting = Setting(*size, activation=activation)
    for seed in range(2):
        task = draw(setting, seed)
        assert_same(fast(task), by_definition(task), setting)


@pytest.mark.parametrize("embedding", ["gaussian", "sphere", "orthogonal"])
@pytest.mark.parametrize("trigger_in_value", [True, False])
def test_the_fast_path_is_the_explicit_limit_in_every_variant(embedding, trigger_in_value):
    setting = Setting(V=15, L=5, d=16, N=400, m=12, activation="gelu", embedding=embedding,
                      trigger_in_value=trigger_in_value)
    task = draw(setting, 1)
    assert_same(fast(task), by_definition(task), setting)


def test_blocks_of_any_size_give_the_same(monkeypatch):
    setting = Setting(V=12, L=7, d=10, N=333, m=50, activation="tanh")
    whole = fast(draw(setting, 2))
    monkeypatch.setattr(data, "BLOCK_TOKENS", 50)
    monkeypatch.setattr(mlp, "CHUNK", 100)
    monkeypatch.setattr(mlp, "BLOCK", 70)
    monkeypatch.setattr(mlp, "NEURONS", 12 * 7)
    monkeypatch.setattr(explicit, "BLOCK_NUMBERS", 400)
    again = draw(setting, 2)  # samples are drawn block by block: other sizes draw others
    assert_same(fast(again), by_definition(again), setting)
    monkeypatch.setattr(data, "BLOCK_TOKENS", 1 << 21)
    assert_same(fast(draw(setting, 2)), whole, setting)


def test_attention_that_ties_mixes_the_values():
    setting = Setting(V=6, L=3, d=7, N=30, m=9, activation="relu", embedding="orthogonal")
    task = draw(setting, 4)
    seen = mlp.attended(setting, task.base.samples, np.zeros(6), 0.0)
    assert seen.share == pytest.approx(np.full(30, 1 / 3))
    assert np.asarray(seen.rest.sum(axis=1)).ravel() == pytest.approx(np.full(30, 2 / 3))
    assert not seen.right.any()
    assert seen.wrong.nnz == 0


@pytest.mark.parametrize("activation", ["relu", "tanh"])
@pytest.mark.parametrize("trigger_in_value", [True, False])
def test_ties_are_mixed_alike_by_both(activation, trigger_in_value):
    """Tokens that are embedded alike tie with one another."""
    setting = Setting(V=6, L=8, d=8, N=20, m=10, activation=activation, trigger_in_value=trigger_in_value)
    tied = 0
    for seed in range(8):
        task = draw(setting, seed)
        emb = dataclasses.replace(task.base.emb, z_in=task.base.emb.z_in[[0, 0, 0, 3, 3, 5]])
        task = dataclasses.replace(task, base=dataclasses.replace(task.base, emb=emb))
        model = fast(task)
        assert_same(model, by_definition(task), setting)
        tied += len(mlp.attended(setting, task.base.samples, model.scores, model.trigger_score).label)
    assert tied > 0


def test_what_rounding_leaves_of_step_two_is_a_tie():
    # One sample whose tokens are all the same token: without the trigger its values are equal, and nothing is learnt.
    setting = Setting(V=2, L=3, d=8, N=1, m=16, activation="gelu", trigger_in_value=False)
    seen = 0
    for seed in range(20):
        task = draw(setting, seed)
        block = next(iter(task.base.samples))
        if (block.noise == block.informative[:, None]).all():
            seen += 1
            for model in (fast(task), by_definition(task)):
                assert not model.scores.any()
                assert model.trigger_score == 0
    assert seen > 0


def test_a_wide_identity_layer_is_the_attention_only_model():
    # W_in^T W_in/m = I + O(sqrt(d/m)): at m = 2^15 the observables agree but for rare close calls
    setting = Setting(V=32, L=6, d=24, N=300, m=2**15, activation="identity")
    task = draw(setting, 0)
    deep = observe.exactly(fast(task), setting.L)
    plain = counts.train(setting, task.base.emb, task.base.samples)
    assert deep == pytest.approx(observe.exactly(plain, setting.L), abs=0.04)
    assert_close(fast(task).scores, plain.scores, 0.05)
    assert_close(fast(task).logits, plain.logits, 0.05)


def test_a_scaled_activation_scales_the_scores():
    one, three = (fast(draw(Setting(V=16, L=5, d=12, N=300, m=20, activation=a), 1)) for a in ("tanh(x)", "3*tanh(x)"))
    assert_close(three.scores, 9 * one.scores)
    assert_close(three.logits, 9 * one.logits)


@pytest.mark.parametrize("activation", ["relu", "gelu", "tanh", "x**3 - 3*x"])
def test_gradients_are_those_of_the_cross_entropy(activation):
    """Central differences of the true loss at generic Val and W, entry by entry along random directions."""
    setting = Setting(V=7, L=4, d=5, N=40, m=6, activation=activation, eta=1.0, gamma=1.0)
    task = draw(setting, 0)
    rng = np.random.default_rng(1)
    Val, W = rng.standard_normal((5, 6)), rng.standard_normal((5, 5))
    grad_Val, grad_W = mlp_explicit.gradients(task, Val, W)
    step = 1e-5
    for _ in range(6):
        dVal, dW = rng.standard_normal(Val.shape), rng.standard_normal(W.shape)
        up, down = (mlp_explicit.loss(task, Val + t * dVal, W + t * dW) for t in (step, -step))
        slope = float((grad_Val * dVal).sum() + (grad_W * dW).sum())
        assert (up - down) / (2 * step) == pytest.approx(slope, rel=1e-6, abs=1e-9)


def test_the_limit_is_what_finite_rates_tend_to():
    setting = Setting(V=10, L=4, d=16, N=400, m=20, activation="relu")
    limit = by_definition(draw(setting))
    distances = []
    for eta in (1e-2, 1e-4):
        near = draw(setting.replace(eta=eta, gamma=1e3 / eta**2))
        model = mlp_explicit.train(near)
        logits = mlp_explicit.trained(near, model).logits
        logits = logits / np.linalg.norm(logits)
        distances.append(np.abs(logits - limit.logits / np.linalg.norm(limit.logits)).max())
    assert distances[1] < 1e-3
    assert distances[1] < distances[0] / 10


def test_finite_rates_and_the_limit_observe_alike():
    setting = Setting(V=16, L=4, d=24, N=1000, m=64, activation="tanh")
    limit = run.one_seed(setting, 0, 0, 4096)
    near = run.one_seed(setting.replace(eta=1e-6, gamma=1e14), 0, 0, 4096)
    assert near == pytest.approx(limit, abs=0.03)


def test_simulate_takes_the_layer_of_each_seed():
    setting = Setting(V=16, L=4, d=12, N=300, m=8)
    assert setting.activation == "relu"
    seen = simulate(setting, seeds=3, seed=5)
    again = simulate(setting.replace(activation="relu(x)"), seeds=3, seed=5)
    assert (seen.accuracy.values == again.accuracy.values).all()
    assert len(set(seen.accuracy.values)) > 1
