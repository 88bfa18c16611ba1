"""One trainer for any model and any loss: optax in a scan, vectorised over seeds, in chunks that can be stopped.

A model is known by its parameters, a tree of arrays with a leading axis of seeds, and by two functions of one seed's
parameters and data: the loss that a step descends, and the loss and accuracy on all its training data.
"""

from __future__ import annotations

import dataclasses
import importlib.util
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..errors import SettingError, interrupts_deferred
from ..numerics.formatting import write_named

Tree = Any  # nested dictionaries and tuples of arrays, as jax has them
Progress = Callable[[int, int, str], None]  # (steps done, steps at most, loss and accuracy in words)

CHUNK = 50  # steps between two looks at the stopping rule
SAVE_EVERY = 20  # chunks between two writings of a checkpoint


def check_installed(parameter: str = "rung") -> None:
    """Raise `SettingError` for `parameter` where jax or optax is missing."""
    if not all(importlib.util.find_spec(name) for name in ("jax", "optax")):
        raise SettingError(parameter, "training needs jax and optax: pip install 'recall-theory[train]'")


@dataclasses.dataclass(frozen=True)
class Plan:
    """How a model is trained, and when training ends.

    `optimiser` is "descent" (plain gradient descent) or "adamw"; `rate` its learning rate, which rises linearly over
    `warmup` steps and then stays, or falls along a cosine to 0 at `most_steps` with `cosine`; `weight_decay` is AdamW's
    decoupled one. Training ends once the accuracy on all training data is at least `accuracy` and their loss below
    `loss` (nats), or after `most_steps` steps. Both are looked at every 50 steps.
    """

    optimiser: str
    rate: float
    weight_decay: float = 0.0
    warmup: int = 0
    cosine: bool = False
    most_steps: int = 20_000
    accuracy: float = 1.0
    loss: float = 0.01

    def transformation(self) -> Tree:
        """The optax transformation."""
        import optax

        if self.optimiser == "descent":
            return optax.sgd(self.rate)
        rate: Any = self.rate
        if self.cosine:
            rate = optax.warmup_cosine_decay_schedule(0.0, self.rate, self.warmup, self.most_steps)
        elif self.warmup:
            rate = optax.linear_schedule(0.0, self.rate, self.warmup)
        return optax.adamw(rate, weight_decay=self.weight_decay)

    def is_met(self, loss: Tree, accuracy: Tree) -> Tree:
        """Whether training may end."""
        return (accuracy >= self.accuracy) & (loss < self.loss)


class Problem(NamedTuple):
    """A model and its data, seen by the trainer.

    `loss(parameters, data, key)` is what a step descends, a number; `key` draws its minibatch or its noise.
    `measure(parameters, data)` is the loss and the accuracy on all training data. Both are of one seed.
    """

    loss: Callable[[Tree, Tree, Tree], Tree]
    measure: Callable[[Tree, Tree], tuple[Tree, Tree]]


class Trained(NamedTuple):
    """Where training stands: trees with a leading axis of seeds of the `parameters` and of the optimiser's `moments`;
    a value a seed of `steps` taken, `loss` (nats) and `accuracy` on the training data at the last look."""

    parameters: Tree
    moments: Tree
    steps: Tree
    loss: Tree
    accuracy: Tree


class Training:
    """Training under way: `state` after the last finished chunk, whatever ends it.

    `parameters` and `data` have a leading axis of seeds; `seed` keys every random draw of the steps. With `path`, the
    state is kept in that file and read from it where it is there; `identity` must then be what it was made with.

    Raises `SettingError` where the file is of another training or can't be written.
    """

    @interrupts_deferred()
    def __init__(self, problem: Problem, parameters: Tree, data: Tree, plan: Plan, *, seed: int = 0,
                 path: str | None = None, identity: object = None):
        import jax
        import jax.numpy as jnp

        self.problem, self.data, self.plan = problem, jax.device_put(data), plan
        self.path, self.identity = path, json.dumps(identity, sort_keys=True)
        self.optimiser = plan.transformation()
        parameters = jax.device_put(parameters)
        seeds = jax.tree.leaves(parameters)[0].shape[0]
        self.keys = jax.random.split(jax.random.key(seed % 2**32), seeds)
        zero = jnp.zeros(seeds)
        moments = jax.vmap(self.optimiser.init)(parameters)
        self.state = Trained(parameters, moments, zero.astype(int), zero + jnp.inf, zero)
        self._advance = jax.jit(self._advanced, static_argnums=3)
        if path is not None and Path(path).exists():
            self._load(path)
        self._save()  # where it can't be written, that is said before the work

    def run(self, progress: Progress | None = None) -> Trained:
        """Train until every seed has met the stopping rule; what a chunk of steps leaves is in `state` at once. Ctrl-C
        waits for the end of a chunk."""
        import jax

        most = self.plan.most_steps
        try:
            for chunk, done in enumerate(range(int(self.state.steps.max()), most, CHUNK), start=1):
                if self.plan.is_met(self.state.loss, self.state.accuracy).all():
                    break
                length = min(CHUNK, most - done)
                with interrupts_deferred():
                    self.state = jax.block_until_ready(self._advance(self.state, self.data, self.keys, length))
                if progress is not None:
                    progress(done + length, most, f"loss {float(self.state.loss.mean()):.3g}, "
                             f"accuracy {float(self.state.accuracy.mean()):.3f}")
                if chunk % SAVE_EVERY == 0:
                    self._save()
        finally:
            self._save()
        return self.state

    def _advanced(self, state: Trained, data: Tree, keys: Tree, length: int) -> Trained:
        """The state after `length` steps of every seed that has not met the stopping rule."""
        import jax
        import jax.numpy as jnp
        import optax

        def one(state: Trained, data: Tree, key: Tree) -> Trained:
            def step(number: Tree, carry: tuple[Tree, Tree]) -> tuple[Tree, Tree]:
                parameters, moments = carry
                of_step = jax.random.fold_in(key, state.steps + number)
                updates, moments = self.optimiser.update(gradient(parameters, data, of_step), moments, parameters)
                return optax.apply_updates(parameters, updates), moments

            gradient = jax.grad(self.problem.loss)
            parameters, moments = jax.lax.fori_loop(0, length, step, (state.parameters, state.moments))
            new = Trained(parameters, moments, state.steps + length, *self.problem.measure(parameters, data))
            done = self.plan.is_met(state.loss, state.accuracy)
            return Trained(*jax.tree.map(lambda old, now: jnp.where(done, old, now), state, new))

        return jax.vmap(one)(state, data, keys)

    def _save(self) -> None:
        if self.path is None:
            return
        import jax

        leaves = {f"leaf{i}": np.asarray(leaf) for i, leaf in enumerate(jax.tree.leaves(self.state))}
        file = io.BytesIO()
        np.savez(file, identity=np.array(self.identity), **leaves)  # type: ignore[arg-type]
        write_named("resume", self.path, file.getvalue())

    def _load(self, path: str) -> None:
        import jax

        leaves, shape = jax.tree.flatten(self.state)
        try:
            with np.load(path) as file:
                same = str(file["identity"]) == self.identity
                found = [jax.device_put(file[f"leaf{i}"]) for i in range(len(leaves))] if same else []
        except (ValueError, KeyError, OSError) as error:
            raise SettingError("resume", f"resume={path!r} can't be read as a training: {error}") from None
        if not same:
            raise SettingError("resume", f"resume={path!r} holds a training of another rung, setting, seed or plan")
        self.state = jax.tree.unflatten(shape, found)


def stacked(trees: list[Tree]) -> Tree:
    """Trees of one shape, one a seed, as one tree with a leading axis of seeds."""
    import jax

    return jax.tree.map(lambda *arrays: np.stack(arrays), *trees)
