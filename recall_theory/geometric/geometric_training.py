"""What gradient descent finds: whole transformers trained on random bijections, one a seed, and what they hold.

All seeds train at once, by the trainer of `recall_theory.training`. Random streams are keyed by (seed, its number).
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence

import numpy as np

from ..errors import Interrupted, interrupted_with, interrupts_deferred
from ..numerics.arrays import Observable
from ..settings import check_seed, check_seeds
from ..training.trainer import Plan, Problem, Trained, Training, Tree, check_installed, stacked
from . import trained_transformer as measure
from . import trained_transformer as model
from .geometric_setting import TrainingSetting
from .geometric_simulation import GeometricObservation
from .trained_transformer import Queries

Progress = Callable[..., None]  # (steps done, steps at most, loss and accuracy)
# One random stream each, so that what is measured doesn't depend on what else is.
STREAMS = ("facts", "start", "frozen", "shuffle", "edit", "new facts", "new start", "numbers")


def train(setting: TrainingSetting, seeds: int = 4, seed: int | None = None, *, resume: str | None = None,
          progress: Progress | None = None) -> GeometricObservation[TrainingSetting]:
    """Train one transformer a seed, and measure its recall, probes, gate and edits, each beside a control.

    `recall` is over all queries, `frozen` the same with the entities' embeddings frozen at random, so that the facts
    must be memorised elsewhere. For one hop also: `linear_probe` and `superposition_share` with facts shuffled among
    subjects as their controls; `gate_selectivity` beside that of the untrained network; `units_off`, recall under a
    relation whose units are silenced, and `units_off_others`; `fact_edited` and `fact_edited_others`. With `resume`, a
    file, training is kept there, that of the control in a file beside it, and goes on from them. Raises `SettingError`
    where a number is out of range, jax is missing or the file is of another training, and `Interrupted` with the recall
    of what is trained by then where Ctrl-C stops it.

    >>> result = train(TrainingSetting(N=16, R=2, d=8, steps=300), seeds=2, seed=0)
    >>> bool(result.measures["recall"].mean > 0.9)
    True
    """
    study = _Study(setting, seeds, _checked(seeds, seed), 2, resume, progress)
    data, start = study.queries("facts"), study.start("start")
    with interrupted_with(lambda: study.observed() if study.measures else None):
        trained = study.trained("recall", start, data)
        study.trained("frozen", start, study.queries("facts", frozen=True))
        if setting.hops == 1:
            with interrupts_deferred():
                rows = [_structure(setting, _of_seed(trained, i), _of_seed(start, i), _of_seed(data, i), study.seed, i)
                        for i in range(seeds)]
            study.measures.update({name: np.array([row[name] for row in rows]) for name in rows[0]})
    return study.observed()


def transfer(setting: TrainingSetting, seeds: int = 4, seed: int | None = None, *, resume: str | None = None,
             progress: Progress | None = None) -> GeometricObservation[TrainingSetting]:
    """Train one transformer a seed, draw new bijections, and train new entity embeddings for them, all else frozen.

    `recall` is that of the first facts, `new_facts` of the new ones, `new_facts_shuffled` the same where the numbers
    of each array of the MLP were shuffled first. The arguments are those of `train`.
    """
    study = _Study(setting, seeds, _checked(seeds, seed), 3, resume, progress)
    new, fresh = study.queries("new facts"), study.start("new start")["entities"]
    with interrupted_with(lambda: study.observed() if study.measures else None):
        trained = study.trained("recall", study.start("start"), study.queries("facts"))
        trained = {name: np.asarray(array) for name, array in trained.items()}
        mixed = {name: np.stack([stream("numbers", study.seed, i).permutation(array.ravel()).reshape(array.shape)
                                 for i, array in enumerate(trained[name])]) for name in ("inward", "bias", "outward")}
        for label, others in (("new_facts", trained), ("new_facts_shuffled", {**trained, **mixed})):
            kept = {name: array for name, array in others.items() if name != "entities"}
            study.trained(label, {"entities": fresh}, new, kept)
    return study.observed()


@dataclasses.dataclass
class _Study:
    """Trainings of one setting, one after the other; `measures` are the recalls of those that are finished or under
    way, by name."""

    setting: TrainingSetting
    seeds: int
    seed: int
    trainings: int = 1
    resume: str | None = None
    progress: Progress | None = None
    measures: dict[str, np.ndarray] = dataclasses.field(default_factory=dict)

    def queries(self, name: str, frozen: bool = False) -> Queries:
        """The queries of all seeds on the facts of a random stream; `frozen` entities are Gaussian, of norm about 1."""
        s = self.setting
        data = Queries(*stacked([model.queries_of(s, model.draw_facts(s, stream(name, self.seed, i)))
                                 for i in range(self.seeds)]))
        if not frozen:
            return data
        return data._replace(entities=np.stack([(stream("frozen", self.seed, i).standard_normal((s.N, s.d))
                                                 / np.sqrt(s.d)).astype(np.float32) for i in range(self.seeds)]))

    def start(self, name: str) -> Tree:
        """Parameters of all seeds before training, of a random stream."""
        return stacked([model.initial(self.setting, stream(name, self.seed, i)) for i in range(self.seeds)])

    def trained(self, measure: str, start: Tree, data: Queries, kept: Tree | None = None) -> Tree:
        """What training leaves of `start`; its recall becomes the measure of that name, also where Ctrl-C ends it."""
        before = len(self.measures)

        def shown(done: int, most: int, note: str) -> None:
            if self.progress is not None:
                self.progress(before * most + done, self.trainings * most, note)

        def keep(found: Tree) -> None:
            with interrupts_deferred():
                self.measures[measure] = _recall(self.setting, {**(kept or {}), **found}, data)

        path = self.resume if measure == "recall" or self.resume is None else f"{self.resume}.{measure}"
        try:
            found = fit(self.setting, start, data if kept is None else (data, kept), self.seed, shown, path=path,
                        identity=[measure, self.trainings])
        except Interrupted as stop:
            keep(stop.partial.parameters)
            raise
        keep(found.parameters)
        return found.parameters

    def observed(self) -> GeometricObservation[TrainingSetting]:
        """All measures so far."""
        return GeometricObservation(self.setting, self.seed, {
            name: Observable(values) for name, values in self.measures.items()})


def fit(setting: TrainingSetting, start: Tree, data: Tree, seed: int, progress: Progress | None, *,
        path: str | None = None, identity: object = None) -> Trained:
    """Train from `start` on the queries `data`; or on a pair of queries and arrays, those of the model that stay. With
    `path` the state is kept in that file, as of a training of that identity."""
    frozen = isinstance(data, tuple) and not isinstance(data, Queries)
    count = int((data[0] if frozen else data).tokens.shape[1])
    whole = alone = model.problem(setting, count)
    if frozen:
        whole = Problem(lambda some, pair, key: alone.loss({**pair[1], **some}, pair[0], key),
                        lambda some, pair: alone.measure({**pair[1], **some}, pair[0]))
    plan = Plan("adamw", setting.rate, setting.weight_decay, warmup=min(50, setting.steps // 2), cosine=True,
                most_steps=setting.steps)
    seeds = int((data[0] if frozen else data).tokens.shape[0])
    training = Training(whole, start, data, plan, seed=seed, path=path,
                        identity=[setting.to_dict(), seeds, seed, identity])
    with interrupted_with(lambda: training.trained() if int(training.state.steps.max()) else None):
        return training.run(progress)


def least_dimension(setting: TrainingSetting, dimensions: Sequence[int], seeds: int, seed: int, *,
                    target: float = 0.95, frozen: bool = False) -> list[int | None]:
    """For each seed the least of `dimensions`, which ascend, at which at least `target` of all queries are answered
    right; None where none does. `frozen` keeps the entities' embeddings at random. `setting.d` is not used; dimensions
    beyond the last seed's are not trained."""
    least: list[int | None] = [None] * seeds
    for d in dimensions:
        study = _Study(setting.replace(d=d), seeds, seed)
        study.trained("recall", study.start("start"), study.queries("facts", frozen))
        found = study.measures["recall"]
        least = [d if known is None and share >= target else known for known, share in zip(least, found, strict=True)]
        if None not in least:
            break
    return least


def stream(name: str, seed: int, index: int) -> np.random.Generator:
    """The random stream of that name, of seed number `index`."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(index, STREAMS.index(name))))


def _checked(seeds: int, seed: int | None) -> int:
    check_installed("N")
    check_seeds(seeds)
    return check_seed(seed)


def _of_seed(tree: Tree, index: int) -> Tree:
    import jax

    return jax.tree.map(lambda array: np.asarray(array[index]), tree)


def _recall(setting: TrainingSetting, parameters: Tree, data: Queries) -> np.ndarray:
    """(seeds,) the share of all queries that are answered right."""
    recall = _compiled()[2]
    return np.array([float(np.mean(recall(_of_seed(parameters, i), _of_seed(data, i), setting)))
                     for i in range(len(data.facts))])


@functools.cache
def _compiled() -> tuple[Callable[..., Tree], Callable[..., Tree], Callable[..., Tree]]:
    """The model's hidden units, scores and recall, compiled once a shape."""
    import jax

    return (jax.jit(model.hidden_units), jax.jit(model.scores, static_argnums=3),
            jax.jit(model.recall, static_argnums=2))


def _structure(setting: TrainingSetting, parameters: Tree, untrained: Tree, data: Queries, seed: int,
               index: int) -> dict[str, float]:
    """Everything else that `train` measures on one network that answers one hop."""
    R, N = data.facts.shape
    entities, codes = parameters["entities"], measure.codes_of(parameters["unembedding"])
    order = stream("shuffle", seed, index).permutation(N)
    relation = data.tokens[:, 1] - N
    hidden_units, scores, recall = _compiled()

    def activity(weights: Tree) -> np.ndarray:
        hidden = np.asarray(hidden_units(weights, data, data.tokens)[1][:, -1])
        return np.stack([hidden[relation == r].mean(axis=0) for r in range(R)])

    means = activity(parameters)
    owner = means.argmax(axis=0)
    silenced = np.array([[np.asarray(recall(parameters, data, setting, (owner != r).astype(np.float32)))[
        relation == other].mean() for other in range(R)] for r in range(R)])
    same = np.eye(R, dtype=bool)
    rng = stream("edit", seed, index)
    taken, kept = [], []
    before = np.asarray(scores(parameters, data, data.tokens, 1)[:, 0].argmax(axis=-1))
    for r in range(R):
        new = (data.facts[r] + rng.integers(1, N, N)) % N
        moved = {**parameters, "entities": measure.edited_embeddings(entities, codes, data.facts, r, new)}
        after = np.asarray(scores(moved, data, data.tokens, 1)[:, 0].argmax(axis=-1))
        taken.append(np.mean(after[relation == r] == new[data.tokens[relation == r, 0]]))
        kept.append(np.mean(after[relation != r] == before[relation != r]) if R > 1 else np.nan)
    return {
        "linear_probe": measure.probe_recall(entities, codes, data.facts),
        "linear_probe_shuffled": measure.probe_recall(entities[order], codes, data.facts),
        "superposition_share": measure.superposition_share(entities, codes, data.facts),
        "superposition_share_shuffled": measure.superposition_share(entities[order], codes, data.facts),
        "gate_selectivity": measure.gate_selectivity(means),
        "gate_selectivity_untrained": measure.gate_selectivity(activity(untrained)),
        "units_off": float(silenced[same].mean()),
        "units_off_others": float(silenced[~same].mean()) if R > 1 else float("nan"),
        "fact_edited": float(np.mean(taken)), "fact_edited_others": float(np.mean(kept)),
    }
