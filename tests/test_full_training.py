"""Training beyond three steps: exact gradients, a loss that only falls, and what is kept when it is stopped."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recall_theory import Setting, SettingError, simulate
from recall_theory.errors import Interrupted
from recall_theory.simulate import further_training as module
from recall_theory.simulate.further_training import SeedTraining, checkpoints, descend, full_training
from recall_theory.simulate.reference import train

SMALL = Setting(V=24, L=3, d=12, N=240)


@pytest.mark.parametrize("more", [{}, {"trigger_in_value": False}, {"embedding": "sphere"},
                                  {"eta": 0.01, "gamma": 100.0}])
def test_gradients_are_difference_quotients(more):
    run = SeedTraining(SMALL.replace(**more), 1, 0, 64)
    rng = np.random.default_rng(0)
    x = rng.standard_normal((2, 12, 12))
    gradient = run.gradient(x)
    for direction in rng.standard_normal((6, *x.shape)):
        direction /= np.linalg.norm(direction)
        quotient = (run.loss(x + 1e-5 * direction) - run.loss(x - 1e-5 * direction)) / 2e-5
        assert quotient == pytest.approx(np.vdot(gradient, direction), rel=1e-6, abs=1e-8)


def test_the_three_steps_are_those_of_simulate_and_a_scale_changes_nothing():
    trained = full_training(SMALL, steps=1, seeds=2, seed=7, n_test=256)
    three, scaled = trained.stages[:2]
    assert three.steps is None and np.isnan(three.loss.mean)
    assert three.recall.values == pytest.approx(simulate(SMALL, seeds=2, seed=7, n_test=64).recall.values)
    assert scaled.recall.values == pytest.approx(three.recall.values)
    assert scaled.attention.values == pytest.approx(three.attention.values)


def test_the_best_scale_is_a_minimum():
    run = SeedTraining(SMALL, 3, 0, 16)
    x = run.scaled(np.stack(train(run.task)))
    for factors in ((1.1, 1), (0.9, 1), (1, 1.1), (1, 0.9)):
        assert run.loss(np.reshape(factors, (2, 1, 1)) * x) >= run.loss(x) - 1e-9


def test_the_loss_falls_at_every_step_and_recall_ends_high():
    run = SeedTraining(SMALL, 5, 0, 64)
    x = run.scaled(np.stack(train(run.task)))
    losses = [run.loss(p) for p in [x, *itertools.islice(descend(run.loss, run.gradient, x), 60)]]
    assert all(b < a for a, b in itertools.pairwise(losses))
    assert losses[-1] < 0.2 * losses[0]
    trained = full_training(SMALL, steps=60, seeds=2, seed=5, n_test=64)
    assert trained.stages[-1].recall.mean > trained.stages[0].recall.mean + 0.2
    assert trained.linear.mean >= trained.stages[-1].recall.mean


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 6), st.floats(1e-6, 1e6), st.integers(0, 2**32))
def test_descent_needs_no_hand_on_any_scale(n, scale, seed):
    """Convex quadratics of condition 100 at any scale: a thousandth of the loss is left after 150 steps, at most."""
    rng = np.random.default_rng(seed)
    A = scale * np.diag(np.geomspace(1, 100, n))
    x = rng.standard_normal(n)
    *_, end = itertools.islice(descend(lambda v: float(v @ A @ v), lambda v: 2 * A @ v, x), 150)
    assert end @ A @ end <= 1e-3 * (x @ A @ x)


def test_descent_rests_where_nothing_falls():
    x = np.zeros(3)
    points = list(itertools.islice(descend(lambda v: float(v @ v), lambda v: 2 * v, x), 3))
    assert all((p == 0).all() for p in points)


def test_a_run_repeats_bit_by_bit():
    one, two = (full_training(SMALL, steps=3, seeds=2, seed=9, n_test=32) for _ in range(2))
    for a, b in zip(one.stages, two.stages, strict=True):
        assert (a.recall.values == b.recall.values).all()
        assert np.array_equal(a.loss.values, b.loss.values, equal_nan=True)


def stopped_at(step, **more):
    """What is left of a training on which Ctrl-C comes at a step, of all steps of all seeds."""
    def progress(done, total):
        if done == step:
            raise KeyboardInterrupt

    with pytest.raises(Interrupted) as stop:
        full_training(SMALL, seeds=3, seed=1, n_test=32, progress=progress, **more)
    return stop.value.partial


def test_an_interrupt_keeps_finished_seeds():
    partial, whole = stopped_at(7, steps=5), full_training(SMALL, steps=5, seeds=1, seed=1, n_test=32)
    assert partial.seeds == 1 and partial.stages[-1].steps == 5
    assert partial.stages[-1].recall.values == whole.stages[-1].recall.values


def test_an_interrupt_in_the_first_seed_keeps_its_stages():
    assert [s.steps for s in stopped_at(4, steps=20).stages] == [None, 0, 1, 2]


def test_checkpoints():
    assert checkpoints(1) == [1]
    assert checkpoints(100) == [1, 2, 5, 10, 20, 50, 100]
    assert checkpoints(7) == [1, 2, 5, 7]


@pytest.mark.parametrize("setting, more, name", [
    (SMALL.replace(m=8), {}, "m"), (SMALL, {"steps": 10**15}, "steps"), (SMALL, {"seeds": 0}, "seeds"),
    (SMALL, {"seed": -1}, "seed"), (Setting(V=10**9, L=2, d=10, N=10), {}, "V"),
])
def test_what_is_too_much_is_refused_before_any_work(setting, more, name, monkeypatch):
    monkeypatch.setattr(module, "SeedTraining", None)
    with pytest.raises(SettingError) as error:
        full_training(setting, **{"steps": 2, "seed": 0, **more})
    assert error.value.name == name
