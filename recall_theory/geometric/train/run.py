"""`train` and `transfer`: one network a seed, and what was measured on it.

Every random stream is keyed by (seed, number of the seed), never by a worker, and BLAS runs on one thread, so
any number of workers gives the same bits.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ...simulate.observation import Interrupted, Observable
from ...simulate.run import check_seed, check_seeds, map_tasks
from . import intervene, linear
from .control import frozen, shuffled
from .model import Network, Task, draw_network, draw_task, recall
from .new_facts import transferred
from .optimise import optimise, with_noise
from .setting import TrainingSetting

__all__ = ["Findings", "train", "trained", "transfer"]

Measures = dict[str, float]


@dataclasses.dataclass(frozen=True)
class Findings:
    """What was measured on the trained networks of `seeds` independent draws; `measures` by name, one value a seed."""

    setting: TrainingSetting
    seed: int
    measures: Mapping[str, Observable]

    @property
    def seeds(self) -> int:
        """How many networks were trained."""
        return len(next(iter(self.measures.values())).values)

    def to_dict(self) -> dict[str, Any]:
        """The JSON contract of `recall-theory geometric train` and `transfer`."""
        observed = {name: {"mean": o.mean, "se": None if np.isnan(o.se) else o.se, "values": o.values.tolist()}
                    for name, o in self.measures.items()}
        return {"schema_version": 1, "setting": self.setting.to_dict(), "seed": self.seed, "seeds": self.seeds,
                "observed": observed}


# One random stream each, so that what is measured doesn't depend on what else is.
STREAMS = ("facts", "start", "steps", "noise", "edit", "frozen", "new facts", "new start", "shuffle", "new steps",
           "shuffled steps")


def stream(name: str, seed: int, index: int) -> np.random.Generator:
    """The random stream of that name, of seed number `index`."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(index, STREAMS.index(name))))


def trained(setting: TrainingSetting, seed: int, index: int) -> tuple[Task, Network]:
    """Facts, and the network that gradient descent finds for them.

    >>> task, network = trained(TrainingSetting(N=16, R=2, steps=200), seed=0, index=0)
    >>> recall(network, task)
    1.0
    """
    task = draw_task(setting, stream("facts", seed, index))
    start = draw_network(setting, stream("start", seed, index))
    return task, optimise(start, task, setting, stream("steps", seed, index))


def train_one(setting: TrainingSetting, seed: int, index: int) -> Measures:
    """Everything that `train` measures, on seed number `index`."""
    task, network = trained(setting, seed, index)
    control = stream("frozen", seed, index)
    own, others = intervene.units_off(network, task)
    taken, kept = intervene.edited(network, task, stream("edit", seed, index))
    return {
        "recall": recall(network, task),
        "recall_under_noise": recall(with_noise(network, setting.noise, stream("noise", seed, index)), task),
        "linear_probe": linear.probe_recall(network, task),
        "superposition_share": linear.superposition_share(network, task),
        "relation_swapped": intervene.relation_swapped(network, task),
        "gates_averaged": intervene.gates_averaged(network, task),
        "units_off": own,
        "units_off_others": others,
        "fact_edited": taken,
        "fact_edited_others": kept,
        "frozen_same_layer": frozen(setting, task, control, setting.mlp_width),
        "frozen_same_numbers": frozen(setting, task, control, setting.numbers // setting.numbers_a_unit),
    }


def transfer_one(setting: TrainingSetting, seed: int, index: int) -> Measures:
    """Everything that `transfer` measures, on seed number `index`."""
    task, network = trained(setting, seed, index)
    new = task.with_facts(draw_task(setting, stream("new facts", seed, index)).facts)
    start = stream("new start", seed, index)
    mixed = shuffled(network, stream("shuffle", seed, index))
    kept = transferred(setting, network, task, new, start, stream("new steps", seed, index))
    lost = transferred(setting, mixed, task, new, start, stream("shuffled steps", seed, index))
    return {"recall": recall(network, task), **kept, **{f"{name}_shuffled": value for name, value in lost.items()}}


def train(setting: TrainingSetting, seeds: int = 4, seed: int | None = None, *, jobs: int = 1,
          progress: Callable[[int, int], None] | None = None) -> Findings:
    """Train one network a seed on random bijections, and measure recall, probes, interventions and frozen controls.

    `seed` fixes the draws (drawn and kept in the result where None). `progress` is called with (done, seeds). Raises
    `SettingError` where a number is out of range, and `Interrupted` (a KeyboardInterrupt) with the seeds finished by
    then where Ctrl-C stops it.

    >>> found = train(TrainingSetting(N=16, R=2, steps=200), seeds=1, seed=0)
    >>> found.measures["recall"].mean
    1.0
    """
    return _over_seeds(train_one, setting, seeds, seed, jobs, progress)


def transfer(setting: TrainingSetting, seeds: int = 4, seed: int | None = None, *, jobs: int = 1,
             progress: Callable[[int, int], None] | None = None) -> Findings:
    """Train one network a seed, draw new bijections, and recall them with its MLP bitwise unchanged.

    The arguments are those of `train`. The networks are too: the same seeds train the same ones.
    """
    return _over_seeds(transfer_one, setting, seeds, seed, jobs, progress)


Measure = Callable[[TrainingSetting, int, int], Measures]


def _over_seeds(measure: Measure, setting: TrainingSetting, seeds: int, seed: int | None, jobs: int,
                progress: Callable[[int, int], None] | None) -> Findings:
    check_seeds(seeds)
    seed = check_seed(seed)
    rows: list[Measures] = []

    def findings() -> Findings:
        measures = {name: Observable(np.array([row[name] for row in rows])) for name in rows[0]}
        return Findings(setting, seed, measures)

    try:
        for row in map_tasks(measure, [(setting, seed, i) for i in range(seeds)], jobs):
            rows.append(row)
            if progress is not None:
                progress(len(rows), seeds)
    except KeyboardInterrupt:
        if not rows:
            raise
        raise Interrupted(findings()) from None
    return findings()
