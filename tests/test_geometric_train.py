"""Training on random facts: gradients, measures, controls, thresholds, and that all of it can be repeated."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recall_theory.errors import Interrupted, SettingError
from recall_theory.geometric import TrainingSetting, geometric_training, least_dimension, train, transfer
from recall_theory.geometric import network_measures as measures
from recall_theory.geometric import recall_network as layer
from recall_theory.geometric.geometric_training import counting_dimension, trained
from recall_theory.geometric.recall_network import ARRAYS, RecallNetwork, loss_and_gradients, optimise, recall

QUICK = TrainingSetting(N=32, R=2, steps=400)


def drawn(seed=0, **sizes):
    """A task and an untrained network in double precision, with embeddings large enough to matter."""
    setting = TrainingSetting(**{"N": 7, "R": 3, "d": 5, "start": 1.0, **sizes})
    rng = np.random.default_rng(seed)
    task, network = layer.draw_fact_table(setting, rng), layer.draw_network(setting, rng)
    double = RecallNetwork(*(getattr(network, name).astype(float) for name in ARRAYS))
    return layer.FactTable(task.codes.astype(float), task.facts), double


def constructed(N, R, seed=0):
    """The exact construction as a network: codes side by side, and units that are open for one relation each."""
    setting = TrainingSetting(N=N, R=R)
    task = layer.draw_fact_table(setting, np.random.default_rng(seed))
    k, width = setting.k, setting.R * setting.k
    inward, relation = np.concatenate([np.eye(width), -np.eye(width)]), np.tile(np.repeat(np.arange(R), k), 2)
    gates = np.where(np.arange(R)[:, None] == relation, 0.0, -1.0)  # coordinates are at most 1 in size
    outward = np.tile(np.eye(k), 2 * R) * np.repeat([1.0, -1.0], width)
    return task, RecallNetwork(task.superposed(), inward, gates, outward)


@pytest.mark.parametrize("seed, sizes", [(0, {}), (1, {"R": 1}), (2, {"code_length": 4}), (3, {"N": 2, "d": 1}),
                                         (4, {"N": 16, "R": 2, "d": 9})])
@pytest.mark.parametrize("name", ARRAYS)
def test_gradients_are_those_of_the_loss(seed, sizes, name):
    task, network = drawn(seed, **sizes)
    gradient = loss_and_gradients(network, task)[1][name]
    direction = np.random.default_rng(seed).standard_normal(gradient.shape)
    step = 1e-6
    up, down = (loss_and_gradients(network.replace(**{name: getattr(network, name) + sign * step * direction}), task)[0]
                for sign in (1, -1))
    slope = (up - down) / (2 * step)
    assert np.sum(gradient * direction) == pytest.approx(slope, rel=1e-6, abs=1e-8)
    assert np.sum(gradient * direction) * 1.001 != pytest.approx(slope, rel=1e-6, abs=1e-8)  # it would be seen


def test_the_loss_is_the_cross_entropy_to_50_digits():
    task, network = drawn()
    with mpmath.workdps(50):
        total = mpmath.mpf(0)
        for r, s in np.ndindex(task.facts.shape):
            read = [mpmath.fdot(map(mpmath.mpf, w), map(mpmath.mpf, network.subjects[s])) for w in network.inward]
            hidden = [max(z + mpmath.mpf(u), 0) for z, u in zip(read, network.gates[r], strict=True)]
            y = [mpmath.fdot(map(mpmath.mpf, v), hidden) for v in network.outward]
            scores = [mpmath.fdot(map(mpmath.mpf, c), y) for c in task.codes]
            total += mpmath.log(mpmath.fsum(map(mpmath.exp, scores))) - scores[task.facts[r, s]]
        expected = float(total / task.facts.size)
    assert loss_and_gradients(network, task)[0] == pytest.approx(expected, rel=1e-14)


def test_the_first_gradient_is_a_superposition_of_codes():
    task, network = drawn(N=40, R=3, d=12)
    network = network.replace(subjects=np.zeros((40, 12)))
    found = loss_and_gradients(network, task)[1]["subjects"]
    expected = np.zeros_like(found)
    for r, facts in enumerate(task.facts):
        open_units = network.gates[r] > 0
        scores = task.codes @ network.outward @ np.maximum(network.gates[r], 0)
        p = np.exp(scores) / np.exp(scores).sum()
        expected += (p @ task.codes - task.codes[facts]) @ (network.outward * open_units) @ network.inward
    np.testing.assert_allclose(found, expected / task.facts.size, rtol=1e-10, atol=1e-15)


@settings(max_examples=25, deadline=None)
@given(N=st.integers(2, 20), R=st.integers(1, 4), d=st.integers(1, 8), seed=st.integers(0, 2**32))
def test_the_order_of_subjects_and_relations_is_of_no_account(N, R, d, seed):
    task, network = drawn(seed, N=N, R=R, d=d)
    rng = np.random.default_rng(seed)
    s, r = rng.permutation(N), rng.permutation(R)
    moved = network.replace(subjects=network.subjects[s], gates=network.gates[r])
    loss, gradients = loss_and_gradients(network, task)
    again, permuted = loss_and_gradients(moved, task.with_facts(task.facts[r][:, s]))
    assert again == pytest.approx(loss, rel=1e-12)
    expected = {**gradients, "subjects": gradients["subjects"][s], "gates": gradients["gates"][r]}
    for name in ARRAYS:
        np.testing.assert_allclose(permuted[name], expected[name], rtol=1e-9, atol=1e-13)


def test_blocks_do_not_change_the_gradients(monkeypatch):
    task, network = drawn()
    loss, whole = loss_and_gradients(network, task)
    monkeypatch.setattr(layer, "BLOCK", 15)  # two questions a block, and a rest
    again, parts = loss_and_gradients(network, task)
    assert again == pytest.approx(loss, rel=1e-14)
    for name in ARRAYS:
        np.testing.assert_allclose(parts[name], whole[name], rtol=1e-12, atol=1e-15)


def test_training_keeps_its_precision_and_what_is_not_named():
    task, network = drawn()
    assert set(loss_and_gradients(network, task, ("gates",))[1]) == {"gates"}
    after = optimise(network, task, TrainingSetting(N=7, R=3, steps=3), np.random.default_rng(0), ("subjects",))
    assert not np.array_equal(after.subjects, network.subjects)
    assert all(getattr(after, name) is getattr(network, name) for name in layer.MLP_ARRAYS)
    _, single = trained(QUICK.replace(steps=2), 0, 0)
    assert {getattr(single, name).dtype for name in ARRAYS} == {np.dtype(np.float32)}


def test_noise_is_relative_to_the_embeddings():
    _, network = drawn(N=4000, R=1, d=50)
    network = network.replace(subjects=7 * network.subjects)
    noise = layer.with_noise(network, 0.5, np.random.default_rng(1)).subjects - network.subjects
    # 200,000 normal numbers: six standard errors of their mean square are 2 %
    assert np.mean(noise**2) == pytest.approx(0.25 * np.mean(network.subjects**2), rel=0.02)
    assert layer.with_noise(network, 0.0, np.random.default_rng(1)) is network


def test_a_training_that_diverges_says_so():
    task, network = drawn()
    huge = network.replace(subjects=1e200 * network.subjects, outward=1e200 * network.outward)
    with pytest.raises(SettingError, match="diverged at step 1"):
        optimise(huge, task, TrainingSetting(N=7, R=3), np.random.default_rng(0))


@settings(max_examples=25, deadline=None)
@given(N=st.integers(2, 70), R=st.integers(1, 5), seed=st.integers(0, 2**32))
def test_the_exact_construction_recalls_all_and_its_units_do_one_thing_each(N, R, seed):
    task, network = constructed(N, R, seed)
    assert recall(network, task) == 1
    own, others = measures.units_off(network, task)
    assert own == pytest.approx(1 / N)  # all scores are alike: every question gets attribute 0
    swapped = measures.relation_swapped(network, task)
    assert (others, swapped) == (1, 1) if R > 1 else np.isnan([others, swapped]).all()


def test_the_exact_construction_is_read_and_rewritten_linearly():
    task, network = constructed(128, 3)
    assert measures.probe_recall(network, task) == 1 and measures.superposition_share(network, task) > 0.999
    assert measures.edited(network, task, np.random.default_rng(0)) == (1, 1)
    assert measures.gates_averaged(network, task) < 0.2
    new = task.with_facts(task.facts[:, ::-1])
    np.testing.assert_allclose(measures.transported(network, task, new), new.superposed(), atol=0.02)


def test_probes_find_nothing_in_random_embeddings():
    task, network = drawn(N=200, R=3, d=24)
    # 600 guesses at 1/200: more than 20 right has a probability of 1e-10
    assert measures.probe_recall(network, task) <= 20 / 600 and measures.superposition_share(network, task) < 0.1
    assert math.isnan(measures.superposition_share(network.replace(subjects=np.ones((200, 24))), task))


def test_the_fit_is_ridge_regression_and_never_sees_what_it_is_asked():
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((50, 4)) * 3 + 1, rng.standard_normal((50, 2))
    before = measures.held_out(x, y)
    for row in range(5):
        other = y + 100 * (np.arange(50) == row)[:, None]
        assert np.array_equal(measures.held_out(x, other)[row], before[row])
    fitted = measures.ridge_fit(x, y)
    penalty = np.mean((x - x.mean(axis=0)) ** 2)
    residual = y - measures.ridge_values(fitted, x)
    # normal equations: no correlation with the intercept, penalty times slope with x
    np.testing.assert_allclose(residual.sum(axis=0), 0, atol=1e-10)
    np.testing.assert_allclose((x - x.mean(axis=0)).T @ residual, penalty * fitted[:-1], atol=1e-9)


def test_shuffling_keeps_the_numbers_and_nothing_else():
    task, network = constructed(64, 3)
    mixed = measures.shuffled(network, np.random.default_rng(0))
    for before, after in ((getattr(network, name), getattr(mixed, name)) for name in layer.MLP_ARRAYS):
        assert after.shape == before.shape and not np.array_equal(before, after)
        assert np.array_equal(np.sort(after, axis=None), np.sort(before, axis=None))
    assert mixed.subjects is network.subjects and recall(mixed, task) < 0.5


def test_a_changed_mlp_fails_the_transfer(monkeypatch):
    task, network = constructed(16, 2)
    rng = np.random.default_rng(0)
    given = TrainingSetting(N=16, R=2, steps=2), network, task, task, rng, rng
    assert measures.transferred(*given)["linear_map"] == 1
    outward = network.outward.copy()
    outward[0, 0] = np.nextafter(outward[0, 0], 2)
    monkeypatch.setattr(measures, "optimise", lambda network, *_, **__: network.replace(outward=outward))
    with pytest.raises(AssertionError, match="changed"):
        measures.transferred(*given)


@settings(max_examples=60, deadline=None)
@given(N=st.integers(2, 4096), R=st.integers(1, 64), data=st.data())
def test_bisection_finds_any_threshold(N, R, data):
    setting = TrainingSetting(N=N, R=R) if R * N * max(N, 2 * R * 12) <= 10**8 else QUICK
    most = setting.R * setting.k
    wanted = data.draw(st.integers(1, most + 1))
    with pytest.MonkeyPatch.context() as patch:  # a recall of the dimension alone
        patch.setattr(geometric_training, "trained", lambda s, seed, index: (None, s.width))
        patch.setattr(geometric_training, "recall", lambda d, task: 0.99 if d >= wanted else 0.98)
        assert least_dimension(setting, 0, 0) == (wanted if wanted <= most else None)


@given(N=st.integers(2, 500), R=st.integers(1, 8), bits=st.floats(0.1, 10))
def test_the_counting_dimension_spends_what_the_facts_need(N, R, bits):
    setting = TrainingSetting(N=N, R=R)
    d = counting_dimension(setting, bits)
    spent = bits * (N * d + setting.mlp_width * (d + R + setting.k))
    with mpmath.workdps(50):
        assert spent == pytest.approx(float(R * mpmath.log(mpmath.factorial(N), 2)), rel=1e-9, abs=1e-6)


# Runs. Where a training is judged its seed is fixed, and the bounds lie beyond the worst of 60 other seeds.


def test_a_small_task_is_learned_and_moves_to_new_facts():
    seen = {name: o.mean for name, o in train(QUICK, seeds=2, seed=0).measures.items()}
    assert seen["recall"] == 1
    assert seen["linear_probe"] > 0.4 and seen["fact_edited_others"] > 0.4  # chance is 1/32
    assert seen["gates_averaged"] < 0.6 and seen["units_off"] < 0.5
    later = {name: o.mean for name, o in transfer(QUICK, seeds=2, seed=0).measures.items()}
    assert later["recall"] == 1 and later["embeddings_trained"] > 0.85
    assert later["linear_map"] > 0.4 > later["linear_map_shuffled"]


def test_the_same_seed_gives_the_same_bits_for_any_jobs():
    setting = QUICK.replace(steps=20)
    for measure in (train, transfer):
        first, again, one = (measure(setting, seeds=seeds, seed=5, jobs=jobs).measures
                             for seeds, jobs in ((3, 1), (3, 2), (1, 1)))
        assert all(np.array_equal(o.values, again[m].values) for m, o in first.items())
        assert all(o.values[0] == first[m].values[0] for m, o in one.items())


def test_seeds_are_independent_networks():
    seeds = [trained(QUICK.replace(steps=1), seed, index) for seed, index in ((0, 0), (0, 1), (1, 0))]
    assert len({network.subjects.tobytes() for _, network in seeds}) == 3
    assert len({task.facts.tobytes() for task, _ in seeds}) == 3


@pytest.mark.parametrize("finished, expected", [(2, [0, 0.1]), (0, None)])
def test_ctrl_c_keeps_the_finished_seeds(finished, expected, monkeypatch):
    def measure(setting, seed, index):
        if index == finished:
            raise KeyboardInterrupt
        return {"recall": index / 10}

    monkeypatch.setattr(geometric_training, "train_one", measure)
    with pytest.raises(KeyboardInterrupt) as stop:
        train(QUICK, seeds=5, seed=0)
    assert isinstance(stop.value, Interrupted) == (finished > 0)
    if expected:
        assert stop.value.partial.measures["recall"].values.tolist() == expected


@pytest.mark.parametrize("sizes", [{"N": 2, "R": 1, "d": 1, "steps": 1}, {"N": 2, "R": 2, "start": 0, "noise": 0},
                                   {"N": 3, "R": 1, "code_length": 2, "start": 100, "noise": 10, "rate": 1,
                                    "weight_decay": 1}])
def test_the_corners_of_the_domain_are_borne(sizes):
    setting = TrainingSetting(**{"steps": 3, **sizes})
    for measure in (train, transfer):
        values = [o.mean for m, o in measure(setting, seeds=1, seed=0).measures.items() if m != "superposition_share"]
        assert all(0 <= v <= 1 or (math.isnan(v) and setting.R == 1) for v in values)
