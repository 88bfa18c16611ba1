"""The fast path at finite rates against the explicit simulator at a tiny eta, and against its own limits."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from support import drawn_task
from test_reference import VARIANTS, assert_close, assert_same, at_beta, by_definition, fast

from recall_theory.settings import SMALL_RATES, Setting
from recall_theory.simulate import loops, observables, reference, run, three_step
from recall_theory.simulate.run import simulate

LAYERS = [{}, {"m": 30, "activation": "gelu"}, {"m": 30, "activation": "x**2 + x"}]
SIZES = [(20, 6, 24, 300), (9, 1, 12, 50), (30, 12, 31, 97)]  # V, L, d, N


@pytest.mark.parametrize("variant, layer", list(itertools.product(VARIANTS, LAYERS)), ids=str)
def test_the_fast_path_is_the_explicit_one_at_a_tiny_eta(variant, layer):
    for size, lead in itertools.product(SIZES, (1e-3, 3.0, 1e4)):
        setting = at_beta(Setting(*size, **variant, **layer), lead)
        task = drawn_task(setting, 1)
        explicit, quick = reference.train(task), fast(task)
        assert_same(quick, reference.trained(task, explicit), setting)
        assert observables.on_fresh_sequences(quick, setting.L, np.random.default_rng(4), 100) == pytest.approx(
            reference.on_fresh_sequences(task, explicit, np.random.default_rng(4), 100), abs=1e-9)


def test_a_wrong_temperature_is_seen():
    """The negative control of the above: beta off by a hundredth."""
    setting = at_beta(Setting(20, 6, 24, 300), 1.0)
    task = drawn_task(setting, 1)
    off = fast(task, 1.01 * setting.beta).logits - by_definition(task).logits / setting.gamma
    assert np.abs(off).max() > 1e-4 * np.abs(fast(task).logits).max()


@pytest.mark.parametrize("layer", LAYERS)
def test_large_beta_is_the_limit_and_small_beta_uniform_attention(layer):
    setting = Setting(30, 8, 24, 600, **layer)
    task = drawn_task(at_beta(setting, 1.0), 3)
    attended, recall, accuracy, weight = observables.on_fresh_sequences(
        fast(task, 1e30), 8, np.random.default_rng(0), 400)
    limit = three_step.train(setting, task.emb, task.samples, task.layer)
    assert (attended, recall, accuracy, weight) == pytest.approx(
        observables.on_fresh_sequences(limit, 8, np.random.default_rng(0), 400), abs=1e-12)
    assert weight == pytest.approx(attended, abs=1e-12)
    *_, weight = observables.on_fresh_sequences(fast(task, 0.0), 8, np.random.default_rng(0), 400)
    assert weight == pytest.approx(1 / 8, abs=1e-12)
    if not layer:  # at beta 0 step three is step one
        val1 = three_step.step_one(setting, task.emb, task.samples)
        assert_close(fast(task, 0.0).out, val1.T @ task.emb.u.T, 1e-12)


def test_softmax_of_scores_that_underflow():
    """Sequences far below the greatest score of all have a softmax too; it is NumPy's in long double."""
    rng = np.random.default_rng(0)
    scores = rng.normal(0, 900, 40)
    informative, noise = np.sort(rng.integers(40, size=500)), rng.integers(40, size=(500, 3), dtype=np.uint16)
    for trigger in (-3000.0, 0.0, 5.0):
        own, weight = loops.softmax(informative, noise, scores, trigger)
        logits = np.concatenate([scores[informative][:, None] + trigger, scores[noise]], axis=1).astype(np.longdouble)
        expected = np.exp(logits - logits.max(axis=1, keepdims=True))
        expected /= expected.sum(axis=1, keepdims=True)
        assert own == pytest.approx(expected[:, 0].astype(float), rel=1e-12, abs=1e-25)
        assert weight == pytest.approx(expected[:, 1:].astype(float), rel=1e-12, abs=1e-25)
        assert (scores[noise].max(axis=1) < scores.max() - 800).any()  # some do underflow


def test_rates_choose_the_path(monkeypatch):
    calls = []
    for module in (three_step, reference):
        inner = module.train
        monkeypatch.setattr(module, "train", lambda *given, module=module, inner=inner, **how:
                            (calls.append(module.__name__.rsplit(".", 1)[1]), inner(*given, **how))[1])
    setting = Setting(V=16, L=4, d=32, N=200)
    for eta, gamma in ((1e-6, 1e9), (0.01, 1e5), (5.0, 1e5), (1e-6, 1e-4)):
        run.one_seed(setting.replace(eta=eta, gamma=gamma), 0, 0, 16)
    assert calls == ["three_step", "three_step", "reference", "reference"]


@pytest.mark.parametrize("layer", [{}, {"m": 24, "activation": "relu"}])
def test_at_the_edge_of_small_rates_both_paths_observe_the_same(layer):
    """The largest rates that count as small: eta is as good as 0 to 0.002, on the same draws."""
    for size, lead in itertools.product([(64, 6, 16, 640), (200, 4, 8, 2000)], (1.0, 5.0)):
        setting = Setting(*size, **layer)
        one = setting.replace(eta=1.0, gamma=1.0)
        eta = SMALL_RATES / one.logits_after_step_one
        setting = at_beta(setting, lead, eta)
        assert setting.logits_after_step_one == pytest.approx(SMALL_RATES)
        found = []
        for seed in range(6):
            task = drawn_task(setting, seed)
            explicit = reference.on_fresh_sequences(task, reference.train(task), np.random.default_rng(0), 1000)
            quick = observables.on_fresh_sequences(fast(task), setting.L, np.random.default_rng(0), 1000)
            found.append(np.subtract(explicit, quick))
        assert np.abs(np.mean(found, axis=0)).max() < 0.002 + 1e-9, (size, lead, np.mean(found, axis=0))


@pytest.mark.parametrize("variant", [*VARIANTS[:4], {"m": 40, "activation": "relu"}, {"m": 40, "activation": "tanh"}],
                         ids=str)
def test_the_size_of_the_logits_after_step_one_is_a_bound(variant):
    for size in ((40, 6, 48, 300), (100, 12, 100, 80), (60, 2, 64, 6000)):
        setting = Setting(*size, eta=0.1, gamma=1.0, **variant)
        squares = []
        for seed in range(6):
            task = drawn_task(setting, seed)
            Val = -0.1 * reference.gradients(task, np.zeros((setting.d, setting.m or setting.d)),
                                             np.zeros((setting.d, setting.d)))[0]
            logits = reference.logits(task, Val, task.emb.informative_values(setting))
            squares.append(float((logits**2).mean()))
        size_seen = np.mean(squares) ** 0.5
        assert size_seen < 1.05 * setting.logits_after_step_one
        assert size_seen > setting.logits_after_step_one / 30  # and not an empty one


def test_simulate_observes_the_weight_at_finite_rates_only():
    setting = Setting(V=32, L=8, d=24, N=600)
    assert simulate(setting, 2, 1).attention_weight is None
    assert "attention_weight" not in simulate(setting, 2, 1).to_dict()["observed"]
    soft = simulate(at_beta(setting, 2.0), 3, 1, n_test=200)
    assert 1 / 8 < soft.attention_weight.mean < soft.attention.mean
    assert soft.to_dict()["observed"]["attention_weight"]["values"] == soft.attention_weight.values.tolist()
    explicit = simulate(at_beta(setting, 2.0, eta=30.0), 3, 1, n_test=200)
    assert 1 / 8 < explicit.attention_weight.mean < explicit.attention.mean
