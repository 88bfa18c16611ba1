"""The layer that is trained, its loss on all facts, and the exact gradients.

    z_s = W e_s                      W (m, d), e_s the embedding of subject s
    h_rs = relu(z_s + u_r)           u_r what the MLP reads from the token of relation r
    y_rs = V h_rs                    V (k, m)
    score of attribute a: <c_a, y_rs>

The relation enters as a one-hot vector, so u_r is a row of trained numbers: any trained embedding of the relation
followed by any matrix comes to the same R m numbers. The codes c_a are fixed. They know nothing of the facts, and
y_rs can grow, so they need no scale. The loss is the mean cross-entropy (nats) over the N R facts.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from ..construct.build import binary_codes, draw_codes
from ..construct.tables import IntArray, draw_bijections
from .setting import TrainingSetting

__all__ = ["MLP", "NAMES", "Network", "Task", "accuracy", "answers", "draw_network", "draw_task",
           "loss_and_gradients", "recall", "scores"]

Array = NDArray[np.floating]

MLP = ("inward", "gates", "outward")
NAMES = ("subjects", *MLP)
BLOCK = 2**17  # scores held at a time


@dataclasses.dataclass(frozen=True)
class Task:
    """What has to be learned: `facts[r, s]` is the attribute of subject s under relation r, shape (R, N); `codes`
    (N, k), rows of norm 1, are the attributes' vectors."""

    codes: Array
    facts: IntArray

    def superposed(self) -> Array:
        """The codes of a subject's attributes side by side, shape (N, R k)."""
        return np.concatenate([self.codes[f] for f in self.facts], axis=1)

    def with_facts(self, facts: IntArray) -> Task:
        """The same attributes under other relations."""
        return dataclasses.replace(self, facts=facts)


@dataclasses.dataclass(frozen=True)
class Network:
    """Trained numbers: `subjects` (N, d), `inward` W (m, d), `gates` u (R, m), `outward` V (k, m)."""

    subjects: Array
    inward: Array
    gates: Array
    outward: Array

    def replace(self, **changes: Array) -> Network:
        """The same network with some of its arrays changed."""
        return dataclasses.replace(self, **changes)

    def hidden(self) -> Array:
        """The hidden units for every question, shape (R, N, m)."""
        return np.maximum((self.subjects @ self.inward.T)[None] + self.gates[:, None], 0)


def draw_task(setting: TrainingSetting, rng: np.random.Generator) -> Task:
    """Random bijections, and the codes of the setting."""
    if setting.code_length is None:
        codes = binary_codes(setting.N, setting.k) / np.sqrt(setting.k)
    else:
        codes = draw_codes(setting.N, setting.k, rng)
    return Task(codes.astype(np.float32), draw_bijections(setting.N, setting.R, rng))


def draw_network(setting: TrainingSetting, rng: np.random.Generator, width: int | None = None) -> Network:
    """The network before training; `width` overrides the 2 R k hidden units."""
    m = setting.mlp_width if width is None else width
    d, k = setting.width, setting.k

    def gaussian(std: float, *shape: int) -> Array:
        return (std * rng.standard_normal(shape)).astype(np.float32)

    return Network(gaussian(setting.start, setting.N, d), gaussian(d**-0.5, m, d), gaussian(0.5, setting.R, m),
                   gaussian(m**-0.5, k, m))


def scores(network: Network, task: Task) -> Array:
    """The score of every attribute for every question, shape (R, N, N)."""
    return network.hidden() @ network.outward.T @ task.codes.T


def answers(network: Network, task: Task) -> IntArray:
    """The attribute of the largest score for every question, shape (R, N)."""
    return np.argmax(scores(network, task), axis=-1)


def accuracy(network: Network, task: Task) -> NDArray[np.float64]:
    """The fraction of right answers under each relation, shape (R,)."""
    return np.mean(answers(network, task) == task.facts, axis=1)


def recall(network: Network, task: Task) -> float:
    """The fraction of the N R facts that are answered rightly."""
    return float(accuracy(network, task).mean())


def loss_and_gradients(network: Network, task: Task,
                       names: Collection[str] = NAMES) -> tuple[float, dict[str, Array]]:
    """Mean cross-entropy over all facts, in nats, and its gradient in the named arrays.

    Computed in the precision of the network's arrays.
    """
    R, N = task.facts.shape
    hidden = network.hidden().reshape(R * N, -1)
    loss, written = _errors(hidden @ network.outward.T, task)
    gradients: dict[str, Array] = {}
    if "outward" in names:
        gradients["outward"] = written.T @ hidden
    passed = ((written @ network.outward) * (hidden > 0)).reshape(R, N, -1)
    if "gates" in names:
        gradients["gates"] = passed.sum(axis=1)
    read = passed.sum(axis=0)
    if "inward" in names:
        gradients["inward"] = read.T @ network.subjects
    if "subjects" in names:
        gradients["subjects"] = read @ network.inward
    return loss, gradients


def _errors(y: Array, task: Task) -> tuple[float, Array]:
    """The loss, and its gradient in what the MLP writes, y (R N, k). Scores are held for a block of questions at a
    time: all R N^2 of them would leave the cache."""
    facts = task.facts.ravel()
    gradient = np.empty_like(y)
    block = max(1, BLOCK // len(task.codes))
    loss = 0.0
    for i in range(0, len(y), block):
        part = slice(i, i + block)
        scores = y[part] @ task.codes.T
        right = np.arange(len(scores)), facts[part]
        scores -= scores.max(axis=1, keepdims=True)
        lead = scores[right]
        np.exp(scores, out=scores)
        total = scores.sum(axis=1, keepdims=True)
        loss += float(np.sum(np.log(total[:, 0]) - lead, dtype=np.float64))
        scores *= 1 / (total * len(y))  # the probabilities, and below what is wrong with them
        scores[right] -= 1 / len(y)
        gradient[part] = scores @ task.codes
    return loss / len(y), gradient
