"""The trainer and the ladder: rungs 1 to 3 against the NumPy simulator, the stopping rule, checkpoints, the blocks."""

from __future__ import annotations

import numpy as np
import pytest
from support import assert_refused

from recall_theory import Setting
from recall_theory.errors import Interrupted, SettingError
from recall_theory.numerics.arrays import zipf_frequencies
from recall_theory.simulate import reference
from recall_theory.simulate.data import Samples, draw_embeddings
from recall_theory.training import RUNG_NAMES, attention_model, rungs, transformer_blocks
from recall_theory.training.attention_model import (
    AttentionLayer,
    FixedEmbeddings,
    RecallTask,
    Sequences,
    draw_recall_task,
    draw_sequences,
)
from recall_theory.training.trainer import Plan, Problem, Training
from recall_theory.training.transformer_blocks import TransformerBlocks

jax = pytest.importorskip("jax")
optax = pytest.importorskip("optax")
jnp = jax.numpy

SMALL = Setting(V=24, L=4, d=12, N=300, eta=0.5, gamma=40.0)


def both(setting):
    """One seed's task, as the simulator and as the ladder have it."""
    embeddings, samples, query = np.random.SeedSequence(3).spawn(3)
    emb = draw_embeddings(setting, np.random.default_rng(embeddings))
    task = reference.draw_task(setting, emb, Samples(setting, samples), query)
    parts = [np.concatenate(x) for x in zip(*((s.tokens, s.position, s.label) for s in reference.blocks(task)),
                                            strict=True)]
    training = Sequences(*(x.astype(np.int32) for x in parts))
    z = FixedEmbeddings(*(x.astype(np.float32) for x in (emb.z_in, emb.z_out, emb.z_trig, task.z_eos)))
    return task, RecallTask(z, emb.label.astype(np.int32), training, training, training)


def close(found, expected, rtol=1e-5):
    np.testing.assert_allclose(np.asarray(found), expected, rtol=rtol, atol=rtol * np.abs(expected).max())


@pytest.mark.parametrize("trigger_in_value", [True, False])
def test_losses_and_gradients_are_the_simulators(trigger_in_value):
    setting = SMALL.replace(trigger_in_value=trigger_in_value)
    task, mine = both(setting)
    rng = np.random.default_rng(0)
    Val, W = rng.standard_normal((2, 12, 12))
    at = {"Val": jnp.asarray(Val, jnp.float32), "W": jnp.asarray(W, jnp.float32)}

    def loss(parameters):
        scores = AttentionLayer().forward(setting, parameters, mine, mine.training).logits
        return attention_model.cross_entropy(scores, mine.training.label).mean()

    close(loss(at), reference.loss(task, Val, W))
    for found, expected in zip((jax.grad(loss)(at)[name] for name in ("Val", "W")), reference.gradients(task, Val, W),
                               strict=True):
        close(found, expected)


@pytest.mark.parametrize("is_limit", [True, False])
@pytest.mark.parametrize("trigger_in_value", [True, False])
def test_three_steps_are_the_simulators(is_limit, trigger_in_value):
    setting = SMALL.replace(trigger_in_value=trigger_in_value, **({"eta": None, "gamma": None} if is_limit else {}))
    task, mine = both(setting)
    expected = reference.train(task)
    found = attention_model.three_steps(mine, setting, setting.eta, setting.gamma)
    close(found["W"], expected.W)
    close(found["Val"], expected.Val)
    # Both on the training sequences: attention, accuracy and the mean attention weight, and recall of all facts.
    seen = rungs.RUNGS["1" if is_limit else "2"].observe(setting, found, mine)
    seq = reference.Sequences(*(np.asarray(x, dtype=np.intp) for x in mine.training))
    attended, right, weight = (x.mean() for x in reference.answered(task, expected, seq))
    known = reference.known_facts(reference.trained(task, expected)).mean()
    for name, value in (("attention", attended), ("accuracy", right), ("attention_weight", weight), ("recall", known)):
        assert float(seen[name]) == pytest.approx(value, abs=1e-3), name


def test_full_batch_descent_is_the_simulators():
    task, mine = both(SMALL)
    rung = rungs.RUNGS["3"]
    plan = rung.plan(SMALL, most_steps=20)
    start, data = (jax.tree.map(lambda x: x[None], tree) for tree in (rung.model.initial(SMALL, mine, None), mine))
    training = Training(rung.problem(SMALL), start, data, plan)
    found = training.run().parameters
    Val, W = np.zeros((2, 12, 12))
    for _ in range(20):
        in_Val, in_W = reference.gradients(task, Val, W)
        Val, W = Val - SMALL.d / 2 * in_Val, W - SMALL.d / 2 * in_W
    close(found["Val"][0], Val, 1e-4)
    close(found["W"][0], W, 1e-4)
    assert training.state.loss[0] == pytest.approx(reference.loss(task, Val, W), rel=1e-5)


# The trainer, on a problem that has nothing to do with facts.


def bowl(steps=200, measure=None, **more):
    """Least squares: its least loss is 0, and its accuracy 1 once the distance is small."""
    def loss(x, data, key):
        return ((x["x"] - data) ** 2).sum()

    def close_by(x, data):
        value = loss(x, data, None)
        return value, (value < 1e-3).astype(float)

    return Training(Problem(loss, measure or close_by), {"x": np.zeros((3, 2), np.float32)},
                    np.array([[0, 0], [1, 2], [3, 4]], np.float32), Plan("adamw", 0.05, 0.0, most_steps=steps), **more)


def test_a_seed_stops_once_it_meets_the_rule():
    found = bowl().run()
    assert found.steps.tolist() == sorted(found.steps.tolist()) and found.steps[0] == 50 < found.steps[2]
    assert (found.loss[found.accuracy == 1] < 0.01).all()
    assert bowl(70).run().steps.max() == 70


def test_a_right_seed_goes_on_until_its_loss_is_small():
    sure = bowl(measure=lambda x, data: (((x["x"] - data) ** 2).sum(), 1.0)).run()
    assert sure.steps.tolist()[0] == 50 < sure.steps[2] and (sure.loss < 0.01).all()


def test_rung_two_has_rates_at_which_the_trigger_leads():
    """By the simulator's trained logits: the trigger's is the lead times 1 - 1/L, but for the noise of one draw."""
    setting = Setting(V=24, L=4, d=128, N=4096, embedding="sphere")
    eta, gamma = rungs.rates(rungs.RUNGS["2"], setting)
    task, _ = both(setting.replace(eta=eta, gamma=gamma))
    model = reference.trained(task, reference.train(task))
    assert model.trigger_score == pytest.approx(rungs.LEAD * (1 - 1 / 4), rel=0.1)


def test_a_checkpoint_goes_on_as_if_nothing_had_happened(tmp_path):
    whole = bowl().run()
    path = str(tmp_path / "state.npz")
    bowl(100, path=path).run()
    went_on = bowl(path=path)
    assert int(went_on.state.steps.max()) == 100
    assert np.array_equal(went_on.run().parameters["x"], whole.parameters["x"])
    with pytest.raises(SettingError, match="another rung"):
        bowl(path=path, identity="other")
    (tmp_path / "state.npz").write_bytes(b"no archive")
    with pytest.raises(SettingError, match="can't be read"):
        bowl(path=path)


def test_ctrl_c_keeps_what_was_done():
    def stop(done, most, note):
        assert "loss" in note and "accuracy" in note
        if done == 100:
            raise KeyboardInterrupt

    with pytest.raises(Interrupted) as stopped:
        rungs.train_rung(rungs.RUNGS["3"], Setting(V=16, L=2, d=8, N=64), 2, 0, n_test=32, progress=stop)
    assert stopped.value.partial.steps.tolist() == [100, 100]


# Rungs 5 to 7


def test_the_trigger_token_stands_before_the_informative_one():
    seq = Sequences(np.array([[3, 1, 2], [0, 1, 2]], np.int32), np.array([1, 0], np.int32), np.array([0, 0], np.int32))
    setting = Setting(V=5, L=3, d=8, N=10)
    for token, expected in ((True, [[3, 6, 1, 2, 5], [6, 0, 1, 2, 5]]), (False, [[3, 1, 2, 5], [0, 1, 2, 5]])):
        model = TransformerBlocks(1, token)
        parameters = model.initial(setting, None, np.random.default_rng(0))
        parameters["positions"] = np.zeros_like(parameters["positions"])
        x, place = model.embedded(jax.tree.map(jnp.asarray, parameters), seq, setting.V)
        rows = parameters["tokens"][np.array(expected)]
        if not token:
            rows[[0, 1], [1, 0]] += parameters["tokens"][6]
        np.testing.assert_allclose(x, rows, rtol=1e-6)
        assert place.tolist() == ([2, 1] if token else [1, 0])


def test_blocks_look_back_only():
    rng = np.random.default_rng(0)
    start = TransformerBlocks(2, True).initial(Setting(V=9, L=4, d=16, N=10), None, rng)
    parameters = jax.tree.map(jnp.asarray, start)
    x = rng.standard_normal((3, 6, 16)).astype(np.float32)
    other = x.copy()
    other[:, 4:] = 0
    weights = parameters["blocks"][0]
    one, two = (transformer_blocks.block(jnp.asarray(y), weights, 2, False)[0] for y in (x, other))
    np.testing.assert_allclose(one[:, :4], two[:, :4], atol=1e-6)
    last, a = transformer_blocks.block(jnp.asarray(x), weights, 2, True)
    np.testing.assert_allclose(last[:, 0], one[:, -1], atol=1e-5)
    np.testing.assert_allclose(a.sum(axis=-1), 1, atol=1e-5)


def test_trained_embeddings_hold_what_fixed_ones_cannot():
    setting = Setting(V=48, L=4, d=8, N=48 * 24)
    fixed, trained = (rungs.train_rung(rungs.RUNGS[name], setting, 2, 0, plan=rungs.RUNGS[name].plan(setting, 200))
                      for name in ("4", "5"))
    assert trained.measures["accuracy"].values.min() > 0.9 > 0.7 > fixed.measures["accuracy"].values.max()
    assert trained.parameters == 2 * 8 * 8 + 2 * 48 * 8 + 2 * 8 and fixed.parameters == 8 * 8 + 8


def test_two_blocks_learn_where_one_with_a_trigger_token_cannot():
    setting = Setting(V=8, L=4, d=16, N=1024)
    found = {name: rungs.train_rung(rungs.RUNGS[name], setting, 2, 0, n_test=512,
                                    plan=rungs.RUNGS[name].plan(setting, 250)).measures["accuracy"].mean
             for name in ("6", "6-token")}
    assert found["6"] > 0.95 and found["6-token"] < 0.6


def test_zipf_facts_are_as_frequent_as_they_should_be():
    assert zipf_frequencies(4, 1.0) == pytest.approx(np.array([12, 6, 4, 3]) / 25)
    task = draw_recall_task(Setting(V=4, L=3, d=4, N=20_000), 1.0, 10, 0, 0)
    informative = np.take_along_axis(task.training.tokens, task.training.position[:, None], 1)[:, 0]
    assert np.bincount(informative) / 20_000 == pytest.approx(zipf_frequencies(4, 1.0), abs=0.02)
    assert np.array_equal(task.label[informative], task.training.label)
    drawn = draw_sequences(np.array([2, 3]), task.label, Setting(V=4, L=3, d=4, N=2), np.random.default_rng(0))
    assert np.take_along_axis(drawn.tokens, drawn.position[:, None], 1)[:, 0].tolist() == [2, 3]


@pytest.mark.parametrize("change, name", [({"m": 8}, "m"), ({"eta": 1.0, "gamma": 1.0}, "eta"), ({"N": 10**10}, "N")])
def test_what_cannot_be_trained_is_refused(change, name):
    setting = Setting(V=16, L=2, d=8, N=64).replace(**change)
    assert_refused(name, rungs.check_trainable, rungs.RUNGS["3"], setting, 2)


def test_every_rung_is_named():
    assert tuple(rungs.RUNGS) == RUNG_NAMES
