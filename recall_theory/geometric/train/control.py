"""What must fail: embeddings that can't learn, and an MLP whose numbers are in the wrong places."""

from __future__ import annotations

import numpy as np

from .model import MLP, Network, Task, draw_network, recall
from .optimise import optimise
from .setting import TrainingSetting

__all__ = ["frozen", "shuffled"]


def frozen(setting: TrainingSetting, task: Task, rng: np.random.Generator, width: int) -> float:
    """Recall of an MLP of `width` hidden units that is trained on fixed random embeddings: it has to memorise.

    The embeddings are standard Gaussian, the training is that of the setting.
    """
    network = draw_network(setting.replace(start=1.0), rng, width)
    return recall(optimise(network, task, setting, rng, names=MLP), task)


def shuffled(network: Network, rng: np.random.Generator) -> Network:
    """The network with the numbers of each array of its MLP permuted among all its places."""
    return network.replace(**{name: rng.permutation(array.ravel()).reshape(array.shape)
                              for name in MLP for array in [getattr(network, name)]})
