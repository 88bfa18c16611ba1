"""Interventions on a trained network: on the relation, the gates, the hidden units, and a single fact."""

from __future__ import annotations

import numpy as np

from .linear import fit
from .model import Network, Task, accuracy, answers, recall

__all__ = ["edited", "gates_averaged", "relation_swapped", "units_off", "units_of"]


def relation_swapped(network: Network, task: Task) -> float:
    """The relation's input is replaced by that of the next relation: how often the answer becomes the attribute under
    that one. NaN for a single relation."""
    if len(task.facts) < 2:
        return float("nan")
    swapped = network.replace(gates=np.roll(network.gates, -1, axis=0))
    return recall(swapped, task.with_facts(np.roll(task.facts, -1, axis=0)))


def gates_averaged(network: Network, task: Task) -> float:
    """Recall where every relation's input is replaced by their mean, so that the MLP isn't told which is asked."""
    mean = np.broadcast_to(network.gates.mean(axis=0), network.gates.shape)
    return recall(network.replace(gates=mean), task)


def units_of(network: Network) -> np.ndarray:
    """The relation that each hidden unit works for most: where its mean output is largest; shape (m,)."""
    return np.argmax(network.hidden().mean(axis=1), axis=0)


def units_off(network: Network, task: Task) -> tuple[float, float]:
    """With the units of one relation silenced: the recall under that relation, and under the others; means over the
    relations. In the exact construction they are chance and 1. The second is NaN for a single relation."""
    units, R = units_of(network), len(task.facts)
    table = np.array([accuracy(network.replace(outward=network.outward * (units != r)), task) for r in range(R)])
    own = np.eye(R, dtype=bool)
    return float(table[own].mean()), float(table[~own].mean()) if R > 1 else float("nan")


def edited(network: Network, task: Task, rng: np.random.Generator) -> tuple[float, float]:
    """One fact a subject is rewritten in its embedding alone, by adding B_r (c_new - c_old), B_r the linear map of
    codes that the embeddings follow: how often the answer becomes the new attribute, and how often the answers under
    the other relations stay. The second is NaN for a single relation."""
    R, N = task.facts.shape
    k = task.codes.shape[1]
    maps = fit(task.superposed(), network.subjects)[:-1].reshape(R, k, -1)
    new = (task.facts + rng.integers(1, N, (R, N))) % N
    before = answers(network, task)
    taken, kept = [], []
    for r in range(R):
        moved = network.subjects + (task.codes[new[r]] - task.codes[task.facts[r]]) @ maps[r]
        after = answers(network.replace(subjects=moved), task)
        taken.append(np.mean(after[r] == new[r]))
        others = np.arange(R) != r
        kept.append(np.mean(after[others] == before[others]) if R > 1 else np.nan)
    return float(np.mean(taken)), float(np.mean(kept))
