"""Gradient descent on all facts at once: Adam with decoupled weight decay and a cosine schedule.

With noise, every step sees the embeddings through fresh Gaussian noise of `noise` times their root mean square, so
a coordinate carries a bounded number of bits however the embeddings are scaled. The gradient is that of the loss at
the noisy embeddings, with the noise held fixed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ...settings import SettingError
from .model import NAMES, Network, Task, loss_and_gradients
from .setting import TrainingSetting

__all__ = ["optimise", "with_noise"]

# Adam's usual constants, but for a faster second moment: the runs are short.
FIRST, SECOND, EPSILON = 0.9, 0.99, 1e-12


def optimise(network: Network, task: Task, setting: TrainingSetting, rng: np.random.Generator,
             names: Sequence[str] = NAMES) -> Network:
    """The network after `setting.steps` steps on the named arrays; the others are handed on as they are.

    Raises `SettingError` where the loss leaves the finite numbers.
    """
    trained = {name: np.array(getattr(network, name)) for name in names}
    mean = {name: np.zeros_like(x) for name, x in trained.items()}
    square = {name: np.zeros_like(x) for name, x in trained.items()}
    for step in range(1, setting.steps + 1):
        current = network.replace(**trained)
        with np.errstate(over="ignore", invalid="ignore"):
            loss, gradients = loss_and_gradients(with_noise(current, setting.noise, rng), task, names)
        if not math.isfinite(loss):
            raise SettingError("rate", f"rate={setting.rate}: the training diverged at step {step}; lower rate, start "
                               "or noise")
        rate = setting.rate * (1 + math.cos(math.pi * step / setting.steps)) / 2
        for name, x in trained.items():
            g = gradients[name]
            mean[name] += (1 - FIRST) * (g - mean[name])
            square[name] += (1 - SECOND) * (g * g - square[name])
            size = np.sqrt(square[name] / (1 - SECOND**step)) + EPSILON
            x -= rate / (1 - FIRST**step) * mean[name] / size + rate * setting.weight_decay * x
    return network.replace(**trained)


def with_noise(network: Network, noise: float, rng: np.random.Generator) -> Network:
    """The network with Gaussian noise of `noise` times their root mean square on its subject embeddings."""
    if noise == 0:
        return network
    subjects = network.subjects
    size = noise * float(np.sqrt(np.mean(subjects.astype(np.float64) ** 2)))
    return network.replace(subjects=subjects + size * rng.standard_normal(subjects.shape, dtype=np.float32))

