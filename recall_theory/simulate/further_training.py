"""Gradient descent that goes on from the three steps, with exact gradients of both matrices.

Three steps in the limit leave directions but no scale, so the first thing found is the scale of Val and of W at which
the training loss is least. From there, and from finite rates as they are, both matrices descend the loss together. The
learning rate needs no hand: Barzilai and Borwein's guess of the curvature (IMA J. Numer. Anal. 8, 1988), halved until
the loss falls by Armijo's rule.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator

import numpy as np

from ..errors import interrupted_with
from ..settings import N_TEST, Setting, SettingError, check_seed, check_seeds
from . import reference
from .data import FloatArray, Samples, draw_embeddings
from .memories import separate
from .observation import Observable
from .run import check_affordable
from .workers import one_thread

__all__ = ["FullTraining", "Stage", "checkpoints", "descend", "full_training"]

SUFFICIENT = 1e-4  # Armijo's share of the decrease that the slope promises
MOST_HALVINGS = 60  # of one step, after which rounding is all that is left
MOST_WORK = 1e14  # embedded numbers, over all steps and seeds; some days

Measures = tuple[float, ...]  # the loss and the three observables


@dataclasses.dataclass(frozen=True)
class Stage:
    """What was observed after `steps` further steps, over seeds. The loss is in nats, on the training samples; in the
    limit, before a scale is found, it is NaN."""

    steps: int | None
    loss: Observable
    attention: Observable
    recall: Observable
    accuracy: Observable


@dataclasses.dataclass(frozen=True)
class FullTraining:
    """Stages in order: the three steps (`steps` None), these at their best scale (0), and the checkpoints.

    `linear` is the recall, a value a seed, of the best linear memory found on the same embeddings, which reads each
    fact's value without any noise.
    """

    setting: Setting
    seed: int
    seeds: int
    stages: tuple[Stage, ...]
    linear: Observable


def checkpoints(steps: int) -> list[int]:
    """1, 2, 5, 10, 20, ... and the last step.

    >>> checkpoints(30)
    [1, 2, 5, 10, 20, 30]
    """
    round_steps = {c * 10**k for k in range(len(str(steps))) for c in (1, 2, 5)}
    return sorted({s for s in round_steps if s < steps} | {steps})


def descend(loss: Callable[[FloatArray], float], gradient: Callable[[FloatArray], FloatArray],
            x: FloatArray) -> Iterator[FloatArray]:
    """The points of gradient descent from x, without end; where no step lowers the loss any more, x itself.

    >>> steps = descend(lambda x: float(x @ x), lambda x: 2 * x, np.array([3.0, 4.0]))
    >>> float(np.abs([next(steps) for _ in range(5)][-1]).max()) < 1e-6
    True
    """
    value, slope = loss(x), gradient(x)
    rate = 1.0
    while True:
        decrease = SUFFICIENT * float(np.vdot(slope, slope))
        for _ in range(MOST_HALVINGS):
            there = x - rate * slope
            lower = loss(there)
            if lower <= value - rate * decrease:  # false where the loss is NaN
                break
            rate /= 2
        else:
            while True:
                yield x
        slope_there = gradient(there)
        moved, turned = there - x, slope_there - slope
        bend = float(np.vdot(moved, turned))
        rate = float(np.vdot(moved, moved)) / bend if bend > 0 else 2 * rate
        x, value, slope = there, lower, slope_there
        yield x


class SeedTraining:
    """One seed: the task, the same with finite rates, and its loss and gradient at x (2, d, d), Val and W in one."""

    def __init__(self, setting: Setting, seed: int, index: int, n_test: int):
        root = np.random.SeedSequence(seed, spawn_key=(index,))
        s_emb, s_samples, self.s_test, s_reference, _ = root.spawn(5)  # the streams of `simulate`
        emb = draw_embeddings(setting, np.random.default_rng(s_emb))
        self.task = reference.draw_task(setting, emb, Samples(setting, s_samples), s_reference)
        finite = setting.replace(eta=1.0, gamma=1.0) if setting.is_limit else setting
        self.finite = dataclasses.replace(self.task, setting=finite)
        self.n_test = n_test

    def loss(self, x: FloatArray) -> float:
        """The training loss in nats; infinite or NaN where it overflows."""
        with np.errstate(over="ignore", invalid="ignore"):  # too long a step is halved
            return reference.loss(self.finite, *x)

    def gradient(self, x: FloatArray) -> FloatArray:
        """The gradient of `loss`, of the shape of x."""
        return np.stack(reference.gradients(self.finite, *x))

    def measure(self, task: reference.Task, x: FloatArray) -> Measures:
        """The loss and what fresh sequences show, the same at every stage. In the limit there is no loss: NaN."""
        loss = float("nan") if task.setting.is_limit else self.loss(x)
        fresh = np.random.default_rng(self.s_test)
        return (loss, *reference.on_fresh_sequences(task, reference.Model(*x), fresh, self.n_test)[:3])

    def scaled(self, x: FloatArray) -> FloatArray:
        """Both matrices, each at the scale at which the training loss is least."""
        from scipy.optimize import minimize

        setting, emb = self.task.setting, self.task.emb
        Val, W = x
        query = W @ self.task.z_eos
        correct = np.abs(reference.trained(self.finite, reference.Model(Val, W)).logits.diagonal()).mean()
        lead = np.abs(emb.z_in @ query).mean() + abs(float(emb.z_trig @ query))
        unit = np.stack([matrix / (size if size > 0 else 1.0) for matrix, size in ((Val, correct), (W, lead))])

        def at(logs: FloatArray) -> FloatArray:
            return np.exp(logs)[:, None, None] * unit

        def slope(logs: FloatArray) -> FloatArray:
            there = at(logs)
            return (there * self.gradient(there)).reshape(2, -1).sum(axis=1)

        start = np.log([np.log(setting.V) + 1, np.log(setting.L) + 1])
        best = minimize(lambda logs: self.loss(at(logs)), start, jac=slope, method="L-BFGS-B",
                        bounds=[(-10, 10)] * 2, options={"maxiter": 30})
        return at(best.x)

    def linear(self) -> float:
        """Recall of the best linear memory found for the values of the facts themselves."""
        emb = self.task.emb
        return separate(emb.informative_values(self.task.setting), emb.u).recall

    def stages(self, steps: int, step_done: Callable[[], None]) -> Iterator[Measures]:
        """What is measured at every stage, in order."""
        x = np.stack(reference.train(self.task))
        yield self.measure(self.task, x)
        if self.task.setting.is_limit:
            x = self.scaled(x)
        yield self.measure(self.finite, x)
        shown = checkpoints(steps)
        points = descend(self.loss, self.gradient, x)
        for step in range(1, steps + 1):
            x = next(points)
            step_done()
            if step in shown:
                yield self.measure(self.finite, x)


def check_work(setting: Setting, steps: int, seeds: int) -> None:
    """Raise `SettingError` where the model is not one that this trains, or the work would take days."""
    if setting.m is not None:
        raise SettingError("m", f"m={setting.m}: training beyond three steps is for the Attention-only model")
    check_affordable(setting.replace(eta=1.0, gamma=1.0))
    work = float(setting.N) * setting.L * setting.d * steps * seeds
    if work > MOST_WORK:
        raise SettingError("steps", f"steps={steps}: {seeds} seeds of them embed {work:.3g} numbers, and "
                           f"{MOST_WORK:.0e} is the most it takes on; lower steps, seeds, N, L or d")


def full_training(setting: Setting, steps: int = 100, seeds: int = 4, seed: int | None = None, *,
                  n_test: int = N_TEST, progress: Callable[[int, int], None] | None = None) -> FullTraining:
    """Train the Attention-only model by three steps and `steps` more, on `seeds` independent draws.

    Streams are those of `simulate`: the same seed sees the same embeddings and samples. `progress` is called with
    (steps done, steps in all). Raises `SettingError`, and `Interrupted` with what was finished by then: the seeds that
    were, or the stages of the first.

    >>> training = full_training(Setting(V=16, L=2, d=16, N=128), steps=5, seeds=1, seed=0, n_test=64)
    >>> [stage.steps for stage in training.stages]
    [None, 0, 1, 2, 5]
    >>> bool(training.stages[-1].loss.mean < training.stages[1].loss.mean)
    True
    """
    check_seeds(seeds)
    used = check_seed(seed)
    check_work(setting, steps, seeds)
    labels = [None, 0, *checkpoints(steps)]
    rows: list[Measures] = []  # seed after seed, stage after stage
    linear: list[float] = []
    done = 0

    def step_done() -> None:
        nonlocal done
        done += 1
        if progress is not None:
            progress(done, steps * seeds)

    def result() -> FullTraining | None:
        if not rows:
            return None
        whole = max(1, len(rows) // len(labels))
        values = np.array(rows[:whole * len(labels)]).reshape(whole, -1, len(rows[0]))
        stages = tuple(Stage(label, *map(Observable, observed))
                       for label, observed in zip(labels, values.transpose(1, 2, 0), strict=False))
        return FullTraining(setting, used, whole, stages, Observable(np.array(linear[:whole])))

    with interrupted_with(result), one_thread():
        for index in range(seeds):
            training = SeedTraining(setting, used, index, n_test)
            linear.append(training.linear())
            for measures in training.stages(steps, step_done):
                rows.append(measures)
    complete = result()
    assert complete is not None
    return complete
