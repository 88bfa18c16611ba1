"""What gradient descent finds: one network trained a seed on random bijections, and what it holds.

Every random stream is keyed by (seed, number of the seed), never by a worker, and BLAS runs on one thread, so
any number of workers gives the same bits.
"""

from __future__ import annotations

import numpy as np

from ..numerics.thresholds import bisect
from ..theory.relation_counting import tables_bits
from . import network_measures as measure
from .geometric_setting import TrainingSetting
from .geometric_simulation import GeometricObservation, Progress, observe_seeds
from .recall_network import FactTable, RecallNetwork, draw_fact_table, draw_network, optimise, recall, with_noise

# One random stream each, so that what is measured doesn't depend on what else is.
STREAMS = ("facts", "start", "steps", "noise", "edit", "frozen", "new facts", "new start", "shuffle", "new steps",
           "shuffled steps")


def train(setting: TrainingSetting, seeds: int = 4, seed: int | None = None, *, jobs: int = 1,
          progress: Progress | None = None) -> GeometricObservation[TrainingSetting]:
    """Train one network a seed on random bijections, and measure recall, probes, interventions and frozen controls.

    `seed` fixes the draws (drawn and kept in the result where None). `progress` is called with (done, seeds). Raises
    `SettingError` where a number is out of range, and `Interrupted` (a KeyboardInterrupt) with the seeds finished by
    then where Ctrl-C stops it.

    >>> result = train(TrainingSetting(N=16, R=2, steps=200), seeds=1, seed=0)
    >>> result.measures["recall"].mean
    1.0
    """
    return observe_seeds(train_one, setting, seeds, seed, jobs=jobs, progress=progress)


def transfer(setting: TrainingSetting, seeds: int = 4, seed: int | None = None, *, jobs: int = 1,
             progress: Progress | None = None) -> GeometricObservation[TrainingSetting]:
    """Train one network a seed, draw new bijections, and recall them with its MLP bitwise unchanged.

    The arguments are those of `train`. The networks are too: the same seeds train the same ones.
    """
    return observe_seeds(transfer_one, setting, seeds, seed, jobs=jobs, progress=progress)


def stream(name: str, seed: int, index: int) -> np.random.Generator:
    """The random stream of that name, of seed number `index`."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(index, STREAMS.index(name))))


def trained(setting: TrainingSetting, seed: int, index: int) -> tuple[FactTable, RecallNetwork]:
    """Facts, and the network that gradient descent finds for them.

    >>> table, network = trained(TrainingSetting(N=16, R=2, steps=200), seed=0, index=0)
    >>> recall(network, table)
    1.0
    """
    table = draw_fact_table(setting, stream("facts", seed, index))
    start = draw_network(setting, stream("start", seed, index))
    return table, optimise(start, table, setting, stream("steps", seed, index))


def train_one(setting: TrainingSetting, seed: int, index: int) -> dict[str, float]:
    """Everything that `train` measures, on seed number `index`."""
    table, network = trained(setting, seed, index)
    control = stream("frozen", seed, index)
    silenced, others = measure.units_off(network, table)
    taken, kept = measure.edited(network, table, stream("edit", seed, index))
    return {
        "recall": recall(network, table),
        "recall_under_noise": recall(with_noise(network, setting.noise, stream("noise", seed, index)), table),
        "linear_probe": measure.probe_recall(network, table),
        "superposition_share": measure.superposition_share(network, table),
        "relation_swapped": measure.relation_swapped(network, table),
        "gates_averaged": measure.gates_averaged(network, table),
        "units_off": silenced,
        "units_off_others": others,
        "fact_edited": taken,
        "fact_edited_others": kept,
        "frozen_same_layer": measure.frozen(setting, table, control, setting.mlp_width),
        "frozen_same_numbers": measure.frozen(setting, table, control, setting.numbers // setting.numbers_a_unit),
    }


def transfer_one(setting: TrainingSetting, seed: int, index: int) -> dict[str, float]:
    """Everything that `transfer` measures, on seed number `index`."""
    table, network = trained(setting, seed, index)
    new = table.with_facts(draw_fact_table(setting, stream("new facts", seed, index)).facts)
    start = stream("new start", seed, index)
    mixed = measure.shuffled(network, stream("shuffle", seed, index))
    kept = measure.transferred(setting, network, table, new, start, stream("new steps", seed, index))
    lost = measure.transferred(setting, mixed, table, new, start, stream("shuffled steps", seed, index))
    return {"recall": recall(network, table), **kept, **{f"{name}_shuffled": value for name, value in lost.items()}}


def least_dimension(setting: TrainingSetting, seed: int, index: int, target: float = 0.99) -> int | None:
    """The least d at which the network of this seed recalls at least `target` of its facts; None where not even
    R k does, the dimension of the exact construction. `setting.d` is not used.

    By bisection: log2(R k) trainings, each judged once, at its last step. Recall rises with d but for the noise of
    single trainings, which moves the answer either way.

    >>> least_dimension(TrainingSetting(N=16, R=2, steps=300), seed=0, index=0) < 8
    True
    """

    def enough(d: int) -> bool:
        table, network = trained(setting.replace(d=d), seed, index)
        return recall(network, table) >= target

    most = setting.R * setting.k
    least = bisect(enough, most + 1, 0)
    return least if least <= most else None


def counting_dimension(setting: TrainingSetting, bits: float) -> float:
    """The d at which all trained numbers, MLP included, at `bits` each come to the R log2 N! bits of the facts.

    With m = 2 R k hidden units: bits (N d + m (d + R + k)) = R log2 N!. Negative where the MLP alone would do. No
    model whose numbers hold `bits` each can do with a smaller d. `setting.d` is not used.

    >>> round(counting_dimension(TrainingSetting(N=256, R=2), bits=2.0), 3)
    4.736
    """
    mlp = setting.mlp_width * (setting.R + setting.k)
    return (tables_bits(setting.N, setting.R) / bits - mlp) / (setting.N + setting.mlp_width)
