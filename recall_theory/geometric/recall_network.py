"""The layer that is trained, its loss on all facts with the exact gradients, and the gradient descent.

    z_s = W e_s                      W (m, d), e_s the embedding of subject s
    h_rs = relu(z_s + u_r)           u_r what the MLP reads from the token of relation r
    y_rs = V h_rs                    V (k, m)
    score of attribute a: <c_a, y_rs>

The relation enters as a one-hot vector, so u_r is a row of trained numbers: any trained embedding of the relation
followed by any matrix comes to the same R m numbers. The codes c_a are fixed. They know nothing of the facts, and
y_rs can grow, so they need no scale. The loss is the mean cross-entropy (nats) over the N R facts.

The gradients are written out in NumPy: the layer is small enough that a framework would add a dependency and no speed.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Collection

import numpy as np
from numpy.typing import NDArray

from ..errors import SettingError
from .geometric_draws import binary_codes, draw_bijections, draw_codes
from .geometric_setting import TrainingSetting
from .geometric_transformer import IntArray

Array = NDArray[np.floating]

MLP_ARRAYS = ("inward", "gates", "outward")
ARRAYS = ("subjects", *MLP_ARRAYS)
BLOCK = 2**17  # scores held at a time

# Adam's usual constants, but for a faster second moment: the runs are short.
FIRST_MOMENT, SECOND_MOMENT, EPSILON = 0.9, 0.99, 1e-12


@dataclasses.dataclass(frozen=True)
class FactTable:
    """What has to be learned: `facts[r, s]` is the attribute of subject s under relation r, shape (R, N); `codes`
    (N, k), rows of norm 1, are the attributes' vectors."""

    codes: Array
    facts: IntArray

    def superposed(self) -> Array:
        """The codes of a subject's attributes side by side, shape (N, R k)."""
        return np.concatenate([self.codes[f] for f in self.facts], axis=1)

    def with_facts(self, facts: IntArray) -> FactTable:
        """The same attributes under other relations."""
        return dataclasses.replace(self, facts=facts)


@dataclasses.dataclass(frozen=True)
class RecallNetwork:
    """Trained numbers: `subjects` (N, d), `inward` W (m, d), `gates` u (R, m), `outward` V (k, m)."""

    subjects: Array
    inward: Array
    gates: Array
    outward: Array

    def replace(self, **changes: Array) -> RecallNetwork:
        """The same network with some of its arrays changed."""
        return dataclasses.replace(self, **changes)

    def hidden(self) -> Array:
        """The hidden units for every question, shape (R, N, m)."""
        return np.maximum((self.subjects @ self.inward.T)[None] + self.gates[:, None], 0)


def draw_fact_table(setting: TrainingSetting, rng: np.random.Generator) -> FactTable:
    """Random bijections, and the codes of the setting."""
    if setting.code_length is None:
        codes = binary_codes(setting.N, setting.k) / np.sqrt(setting.k)
    else:
        codes = draw_codes(setting.N, setting.k, rng)
    return FactTable(codes.astype(np.float32), draw_bijections(setting.N, setting.R, rng))


def draw_network(setting: TrainingSetting, rng: np.random.Generator, width: int | None = None) -> RecallNetwork:
    """The network before training; `width` overrides the 2 R k hidden units."""
    m = setting.mlp_width if width is None else width
    d, k = setting.width, setting.k

    def gaussian(std: float, *shape: int) -> Array:
        return (std * rng.standard_normal(shape)).astype(np.float32)

    return RecallNetwork(gaussian(setting.start, setting.N, d), gaussian(d**-0.5, m, d), gaussian(0.5, setting.R, m),
                         gaussian(m**-0.5, k, m))


def answers(network: RecallNetwork, table: FactTable) -> IntArray:
    """The attribute of the largest score for every question, shape (R, N)."""
    return np.argmax(network.hidden() @ network.outward.T @ table.codes.T, axis=-1)


def accuracy(network: RecallNetwork, table: FactTable) -> NDArray[np.float64]:
    """The fraction of right answers under each relation, shape (R,)."""
    return np.mean(answers(network, table) == table.facts, axis=1)


def recall(network: RecallNetwork, table: FactTable) -> float:
    """The fraction of the N R facts that are answered rightly."""
    return float(accuracy(network, table).mean())


def loss_and_gradients(network: RecallNetwork, table: FactTable,
                       names: Collection[str] = ARRAYS) -> tuple[float, dict[str, Array]]:
    """Mean cross-entropy over all facts, in nats, and its gradient in the named arrays.

    Computed in the precision of the network's arrays.
    """
    R, N = table.facts.shape
    hidden = network.hidden().reshape(R * N, -1)
    loss, of_outputs = _loss_of_outputs(hidden @ network.outward.T, table)
    passed = ((of_outputs @ network.outward) * (hidden > 0)).reshape(R, N, -1)
    read = passed.sum(axis=0)
    gradients: dict[str, Callable[[], Array]] = {
        "outward": lambda: of_outputs.T @ hidden,
        "gates": lambda: passed.sum(axis=1),
        "inward": lambda: read.T @ network.subjects,
        "subjects": lambda: read @ network.inward,
    }
    return loss, {name: gradients[name]() for name in names}


def _loss_of_outputs(y: Array, table: FactTable) -> tuple[float, Array]:
    """The loss, and its gradient in what the MLP writes, y (R N, k). Scores are held for a block of questions at a
    time: all R N^2 of them would leave the cache."""
    facts = table.facts.ravel()
    gradient = np.empty_like(y)
    block = max(1, BLOCK // len(table.codes))
    loss = 0.0
    for i in range(0, len(y), block):
        part = slice(i, i + block)
        scores = y[part] @ table.codes.T
        right = np.arange(len(scores)), facts[part]
        scores -= scores.max(axis=1, keepdims=True)
        lead = scores[right]
        np.exp(scores, out=scores)
        total = scores.sum(axis=1, keepdims=True)
        loss += float(np.sum(np.log(total[:, 0]) - lead, dtype=np.float64))
        scores *= 1 / (total * len(y))  # the probabilities, and below what is wrong with them
        scores[right] -= 1 / len(y)
        gradient[part] = scores @ table.codes
    return loss / len(y), gradient


def optimise(network: RecallNetwork, table: FactTable, setting: TrainingSetting, rng: np.random.Generator,
             names: Collection[str] = ARRAYS) -> RecallNetwork:
    """The network after `setting.steps` steps on the named arrays; the others are handed on as they are.

    Adam with decoupled weight decay and a cosine schedule, on all facts at once. With noise, every step reads the
    embeddings through fresh Gaussian noise, so that a coordinate carries a bounded number of bits however the
    embeddings are scaled; the gradient is that of the loss at the noisy embeddings, with the noise held fixed.

    Raises `SettingError` where the loss leaves the finite numbers.
    """
    trained = {name: np.array(getattr(network, name)) for name in names}
    mean = {name: np.zeros_like(x) for name, x in trained.items()}
    square = {name: np.zeros_like(x) for name, x in trained.items()}
    for step in range(1, setting.steps + 1):
        with np.errstate(over="ignore", invalid="ignore"):
            current = with_noise(network.replace(**trained), setting.noise, rng)
            loss, gradients = loss_and_gradients(current, table, names)
        if not math.isfinite(loss):
            raise SettingError("rate", f"rate={setting.rate}: the training diverged at step {step}; lower rate, start "
                               "or noise")
        rate = setting.rate * (1 + math.cos(math.pi * step / setting.steps)) / 2
        for name, x in trained.items():
            g = gradients[name]
            mean[name] += (1 - FIRST_MOMENT) * (g - mean[name])
            square[name] += (1 - SECOND_MOMENT) * (g * g - square[name])
            size = np.sqrt(square[name] / (1 - SECOND_MOMENT**step)) + EPSILON
            x -= rate / (1 - FIRST_MOMENT**step) * mean[name] / size + rate * setting.weight_decay * x
    return network.replace(**trained)


def with_noise(network: RecallNetwork, noise: float, rng: np.random.Generator) -> RecallNetwork:
    """The network with Gaussian noise of `noise` times their root mean square on its subject embeddings."""
    if noise == 0:
        return network
    subjects = network.subjects
    size = noise * float(np.sqrt(np.mean(subjects.astype(np.float64) ** 2)))
    return network.replace(subjects=subjects + size * rng.standard_normal(subjects.shape, dtype=np.float32))
