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

from ..settings import Setting, SettingError
from . import observables as observe
from . import reference as explicit
from .data import FloatArray, Samples, draw_embeddings
from .linear_toy import separate
from .observation import Interrupted, Observable
from .run import check_affordable, check_seed, check_seeds

__all__ = ["FullTraining", "Stage", "checkpoints", "descend", "full_training"]

SUFFICIENT = 1e-4  # Armijo's share of the decrease that the slope promises
MOST_HALVINGS = 60  # of one step, after which rounding is all that is left
MOST_WORK = 1e14  # embedded numbers, over all steps and seeds; some days
MEASURES = ("loss", "attention", "recall", "accuracy")

Objective = Callable[[FloatArray], float]
Gradient = Callable[[FloatArray], FloatArray]


@dataclasses.dataclass(frozen=True)
class Stage:
    """What was seen after `steps` further steps: each of MEASURES over seeds. The loss is in nats, on the training
    samples; in the limit, before a scale is found, it is NaN."""

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
    seen = {c * 10**k for k in range(len(str(steps))) for c in (1, 2, 5)}
    return sorted({s for s in seen if s < steps} | {steps})


def descend(loss: Objective, gradient: Gradient, x: FloatArray) -> Iterator[FloatArray]:
    """The points of gradient descent from x, without end; where no step lowers the loss any more, x itself.

    >>> steps = descend(lambda x: float(x @ x), lambda x: 2 * x, np.array([3.0, 4.0]))
    >>> float(np.abs([next(steps) for _ in range(5)][-1]).max()) < 1e-6
    True
    """
    value, slope = loss(x), gradient(x)
    rate = 1.0
    while True:
        decrease = SUFFICIENT * float(slope @ slope)
        for _ in range(MOST_HALVINGS):
            there = x - rate * slope
            found = loss(there)
            if found <= value - rate * decrease:  # false where the loss is NaN
                break
            rate /= 2
        else:
            while True:
                yield x
        slope_there = gradient(there)
        moved, turned = there - x, slope_there - slope
        bend = float(moved @ turned)
        rate = float(moved @ moved) / bend if bend > 0 else 2 * rate
        x, value, slope = there, found, slope_there
        yield x


class _Run:
    """One seed: the task with finite rates, and its loss and gradient in one vector of both matrices."""

    def __init__(self, setting: Setting, seed: int, index: int, n_test: int):
        root = np.random.SeedSequence(seed, spawn_key=(index,))
        s_emb, s_samples, self.s_test, s_explicit, _ = root.spawn(5)  # the streams of `simulate`
        emb = draw_embeddings(setting, np.random.default_rng(s_emb))
        self.task = explicit.draw_task(setting, emb, Samples(setting, s_samples), s_explicit)
        finite = setting.replace(eta=1.0, gamma=1.0) if setting.is_limit else setting
        self.finite = dataclasses.replace(self.task, setting=finite)
        self.n_test, self.shape = n_test, (setting.d, setting.d)

    def model(self, x: FloatArray) -> explicit.Model:
        Val, W = x.reshape(2, *self.shape)
        return explicit.Model(Val, W)

    def loss(self, x: FloatArray) -> float:
        model = self.model(x)
        with np.errstate(over="ignore", invalid="ignore"):  # too long a step is halved
            return explicit.loss(self.finite, model.Val, model.W)

    def gradient(self, x: FloatArray) -> FloatArray:
        model = self.model(x)
        return np.concatenate([g.ravel() for g in explicit.gradients(self.finite, model.Val, model.W)])

    def measure(self, task: explicit.Task, model: explicit.Model, loss: float) -> tuple[float, ...]:
        """The loss and what a fresh sequence shows; every stage sees the same fresh sequences."""
        rng = np.random.default_rng(self.s_test)
        return (loss, *explicit.on_fresh_sequences(task, model, rng, self.n_test))

    def scaled(self, model: explicit.Model) -> FloatArray:
        """Both matrices, each at the scale at which the training loss is least."""
        from scipy.optimize import minimize

        query = model.W @ self.task.z_eos
        own = np.abs(explicit.trained(self.finite, model).logits.diagonal()).mean()
        lead = np.abs(self.task.emb.z_in @ query).mean() + abs(float(self.task.emb.z_trig @ query))
        parts = np.stack([part / size if size > 0 else part for part, size in ((model.Val, own), (model.W, lead))])

        def at(logs: FloatArray) -> FloatArray:
            flat: FloatArray = (np.exp(logs)[:, None, None] * parts).ravel()
            return flat

        def slope(logs: FloatArray) -> FloatArray:
            x = at(logs)
            result: FloatArray = (x * self.gradient(x)).reshape(2, -1).sum(axis=1)
            return result

        start = np.log([np.log(self.task.setting.V) + 1, np.log(self.task.setting.L) + 1])
        found = minimize(lambda logs: self.loss(at(logs)), start, jac=slope, method="L-BFGS-B",
                         bounds=[(-10, 10)] * 2, options={"maxiter": 30})
        return at(found.x)

    def linear(self) -> float:
        """Recall of the best linear memory found for the values of the facts themselves."""
        emb = self.task.emb
        keys = emb.z_in + emb.z_trig if self.task.setting.trigger_in_value else emb.z_in
        return separate(keys, emb.z_out[emb.label]).recall

    def stages(self, steps: int, step_done: Callable[[], None]) -> Iterator[tuple[float, ...]]:
        """MEASURES of every stage, in order."""
        three = explicit.train(self.task)
        if self.task.setting.is_limit:
            yield self.measure(self.task, three, float("nan"))
            x = self.scaled(three)
        else:
            x = np.concatenate([three.Val.ravel(), three.W.ravel()])
            yield self.measure(self.finite, three, self.loss(x))
        yield self.measure(self.finite, self.model(x), self.loss(x))
        shown = set(checkpoints(steps))
        points = descend(self.loss, self.gradient, x)
        for step in range(1, steps + 1):
            x = next(points)
            step_done()
            if step in shown:
                yield self.measure(self.finite, self.model(x), self.loss(x))


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
                  n_test: int = observe.N_TEST, progress: Callable[[int, int], None] | None = None) -> FullTraining:
    """Train the Attention-only model by three steps and `steps` more, on `seeds` independent draws.

    Streams are those of `simulate`: the same seed sees the same embeddings and samples. `progress` is called with
    (steps done, steps in all). Raises `SettingError`, and `Interrupted` with what was finished by then: the seeds that
    were, or the stages of the first.

    >>> found = full_training(Setting(V=16, L=2, d=16, N=128), steps=5, seeds=1, seed=0, n_test=64)
    >>> [stage.steps for stage in found.stages]
    [None, 0, 1, 2, 5]
    >>> bool(found.stages[-1].loss.mean < found.stages[1].loss.mean)
    True
    """
    from threadpoolctl import threadpool_limits

    check_seeds(seeds)
    seed = check_seed(seed)
    check_work(setting, steps, seeds)
    labels = [None, 0, *checkpoints(steps)]
    table: list[list[tuple[float, ...]]] = []
    linear: list[float] = []
    steps_done = 0

    def step_done() -> None:
        nonlocal steps_done
        steps_done += 1
        if progress is not None:
            progress(steps_done, steps * seeds)

    def result() -> FullTraining:
        whole = [rows for rows in table if len(rows) == len(labels)] or table[:1]
        values = np.array(whole)  # (seeds, stages, measures)
        stages = tuple(Stage(labels[i], *(Observable(values[:, i, j]) for j in range(len(MEASURES))))
                       for i in range(values.shape[1]))
        return FullTraining(setting, seed, len(whole), stages, Observable(np.array(linear[:len(whole)])))

    try:
        with threadpool_limits(limits=1):
            for index in range(seeds):
                run = _Run(setting, seed, index, n_test)
                linear.append(run.linear())
                table.append([])
                for row in run.stages(steps, step_done):
                    table[-1].append(row)
    except KeyboardInterrupt:
        if not table or not table[0]:
            raise
        raise Interrupted(result()) from None
    return result()
