"""New facts for a trained MLP: only the subject embeddings are made anew."""

from __future__ import annotations

import numpy as np

from .linear import superposed
from .model import MLP, Network, Task, draw_network, recall
from .optimise import optimise
from .setting import TrainingSetting

__all__ = ["transferred"]


def transferred(setting: TrainingSetting, network: Network, task: Task, new: Task, start: np.random.Generator,
                steps: np.random.Generator) -> dict[str, float]:
    """Recall of the new facts by the network's MLP and unembedding, with new embeddings from two sources.

    `linear_map`: the linear map from attributes' codes to embeddings, fitted on the old facts, at the new ones; no
    step of training. `embeddings_trained`: embeddings trained from a fresh start on the new facts, and nothing else.
    Raises `AssertionError` should a number of the MLP or a code differ by a bit afterwards.
    """
    before = fingerprint(network, new)
    linear = network.replace(subjects=superposed(network, task, new))
    fresh = network.replace(subjects=draw_network(setting, start).subjects)
    alone = optimise(fresh, new, setting, steps, names=("subjects",))
    found = {"linear_map": recall(linear, new), "embeddings_trained": recall(alone, new)}
    if not before == fingerprint(linear, new) == fingerprint(alone, new) == fingerprint(network, task):
        raise AssertionError("the MLP or the unembedding changed during the transfer")
    return found


def fingerprint(network: Network, task: Task) -> list[bytes]:
    """All bits of the MLP and of the unembedding."""
    return [np.ascontiguousarray(array).tobytes() for array in (*(getattr(network, name) for name in MLP), task.codes)]
