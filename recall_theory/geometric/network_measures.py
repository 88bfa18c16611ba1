"""What a trained network is asked: linear probes, interventions, controls that must fail, and new facts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .geometric_setting import TrainingSetting
from .recall_network import (
    MLP_ARRAYS,
    Array,
    FactTable,
    RecallNetwork,
    accuracy,
    answers,
    draw_network,
    optimise,
    recall,
)

FloatArray = NDArray[np.float64]

FOLDS = 5
NAN = float("nan")


# Linear maps between embeddings and the codes of attributes: probes one way, superposition the other.


def ridge_fit(x: Array, y: Array) -> FloatArray:
    """Ridge regression of y (n, q) on x (n, p) with a free intercept: a matrix (p + 1, q), its last row the intercept.

    The penalty is that of one observation: one unit, with x scaled to a root mean square of one. It settles what
    the data leave open, and is small beside n observations.
    """
    x, y = x.astype(np.float64), y.astype(np.float64)
    centre, mean = x.mean(axis=0), y.mean(axis=0)
    centred = x - centre
    penalty = float(np.mean(centred**2)) or 1.0
    gram = centred.T @ centred + penalty * np.eye(x.shape[1])
    slope = np.linalg.solve(gram, centred.T @ (y - mean))
    return np.vstack([slope, mean - centre @ slope])


def ridge_values(fitted: FloatArray, x: Array) -> FloatArray:
    """The fitted map at x (n, p), shape (n, q)."""
    return x @ fitted[:-1] + fitted[-1]


def held_out(x: Array, y: Array) -> FloatArray:
    """For each row of y its value by a map that was fitted without its row, or its fifth of the rows. The rows must be
    in no order: subjects are not."""
    guess = np.empty(y.shape)
    fold = np.arange(len(x)) % FOLDS
    for f in range(min(FOLDS, len(x))):
        out = fold == f
        guess[out] = ridge_values(ridge_fit(x[~out], y[~out]), x[out])
    return guess


def probe_recall(network: RecallNetwork, table: FactTable) -> float:
    """The fraction of facts that linear probes read off the embeddings of subjects they were not fitted on.

    A probe a relation, by ridge regression from the embedding to the attribute's code, decoded by the largest score
    among all N attributes. Every attribute occurs once a relation, so the right answer is one that the probe
    was never fitted on: it can be named only where embeddings are linear in codes.
    """
    guesses = [held_out(network.subjects, table.codes[f]) @ table.codes.T for f in table.facts]
    return float(np.mean(np.argmax(guesses, axis=2) == table.facts))


def superposition_share(network: RecallNetwork, table: FactTable) -> float:
    """The share of the embeddings' variance that a linear map of the attributes' codes foretells, for subjects that
    it was not fitted on; below zero where it foretells worse than the mean, NaN where embeddings are all the same."""
    subjects = network.subjects.astype(np.float64)
    rest = np.sum((subjects - held_out(table.superposed(), subjects)) ** 2)
    total = np.sum((subjects - subjects.mean(axis=0)) ** 2)
    return 1 - float(rest / total) if total > 0 else NAN


def transported(network: RecallNetwork, table: FactTable, new: FactTable) -> Array:
    """Embeddings for new facts: the linear map of attributes' codes that the trained ones follow, at the new ones."""
    fitted = ridge_fit(table.superposed(), network.subjects)
    return ridge_values(fitted, new.superposed()).astype(network.subjects.dtype)


# Interventions: on the relation, the gates, the hidden units, and a single fact.


def relation_swapped(network: RecallNetwork, table: FactTable) -> float:
    """The relation's input is replaced by that of the next relation: how often the answer becomes the attribute under
    that one. NaN for a single relation."""
    if len(table.facts) < 2:
        return NAN
    swapped = network.replace(gates=np.roll(network.gates, -1, axis=0))
    return recall(swapped, table.with_facts(np.roll(table.facts, -1, axis=0)))


def gates_averaged(network: RecallNetwork, table: FactTable) -> float:
    """Recall where every relation's input is replaced by their mean, so that the MLP cannot tell which is asked."""
    mean = np.broadcast_to(network.gates.mean(axis=0), network.gates.shape)
    return recall(network.replace(gates=mean), table)


def units_off(network: RecallNetwork, table: FactTable) -> tuple[float, float]:
    """With the units of one relation silenced: the recall under that relation, and under the others; means over the
    relations. In the exact construction they are chance and 1. The second is NaN for a single relation.

    A unit is of the relation under which its mean output is largest.
    """
    R = len(table.facts)
    relation = np.argmax(network.hidden().mean(axis=1), axis=0)
    silenced = [network.replace(outward=network.outward * (relation != r)) for r in range(R)]
    recalled = np.array([accuracy(n, table) for n in silenced])
    same = np.eye(R, dtype=bool)
    return float(recalled[same].mean()), float(recalled[~same].mean()) if R > 1 else NAN


def edited(network: RecallNetwork, table: FactTable, rng: np.random.Generator) -> tuple[float, float]:
    """One fact a subject is rewritten in its embedding alone, by adding B_r (c_new - c_old), B_r the linear map of
    codes that the embeddings follow: how often the answer becomes the new attribute, and how often the answers under
    the other relations stay. The second is NaN for a single relation."""
    R, N = table.facts.shape
    maps = ridge_fit(table.superposed(), network.subjects)[:-1].reshape(R, table.codes.shape[1], -1)
    new = (table.facts + rng.integers(1, N, (R, N))) % N
    before = answers(network, table)
    taken, kept = [], []
    for r in range(R):
        moved = network.subjects + (table.codes[new[r]] - table.codes[table.facts[r]]) @ maps[r]
        after = answers(network.replace(subjects=moved), table)
        taken.append(np.mean(after[r] == new[r]))
        others = np.arange(R) != r
        kept.append(np.mean(after[others] == before[others]) if R > 1 else NAN)
    return float(np.mean(taken)), float(np.mean(kept))


# Controls that must fail: embeddings that can't learn, and an MLP whose numbers are in the wrong places.


def frozen(setting: TrainingSetting, table: FactTable, rng: np.random.Generator, width: int) -> float:
    """Recall of an MLP of `width` hidden units that is trained on fixed random embeddings: it has to memorise.

    The embeddings are standard Gaussian, the training is that of the setting.
    """
    network = draw_network(setting.replace(start=1.0), rng, width)
    return recall(optimise(network, table, setting, rng, names=MLP_ARRAYS), table)


def shuffled(network: RecallNetwork, rng: np.random.Generator) -> RecallNetwork:
    """The network with the numbers of each array of its MLP permuted among all its places."""
    arrays = {name: getattr(network, name) for name in MLP_ARRAYS}
    return network.replace(**{name: rng.permutation(a.ravel()).reshape(a.shape) for name, a in arrays.items()})


# New facts for a trained MLP: only the subject embeddings are made anew.


def transferred(setting: TrainingSetting, network: RecallNetwork, table: FactTable, new: FactTable,
                start: np.random.Generator, steps: np.random.Generator) -> dict[str, float]:
    """Recall of the new facts by the network's MLP and unembedding, with new embeddings from two sources.

    `linear_map`: the linear map from attributes' codes to embeddings, fitted on the old facts, at the new ones; no
    step of training. `embeddings_trained`: embeddings trained from a fresh start on the new facts, and nothing else.
    Raises `AssertionError` should a number of the MLP or a code differ by a bit afterwards.
    """
    before = _bits(network, new)
    linear = network.replace(subjects=transported(network, table, new))
    fresh = network.replace(subjects=draw_network(setting, start).subjects)
    alone = optimise(fresh, new, setting, steps, names=("subjects",))
    recalls = {"linear_map": recall(linear, new), "embeddings_trained": recall(alone, new)}
    if not before == _bits(linear, new) == _bits(alone, new) == _bits(network, table):
        raise AssertionError("the MLP or the unembedding changed during the transfer")
    return recalls


def _bits(network: RecallNetwork, table: FactTable) -> list[bytes]:
    """All bits of the MLP and of the unembedding."""
    return [array.tobytes() for array in (*(getattr(network, name) for name in MLP_ARRAYS), table.codes)]
