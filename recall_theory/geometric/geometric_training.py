"""What gradient descent finds: whole transformers trained on random bijections, one a seed, and what they hold.

All seeds train at once, by the trainer of `recall_theory.training`. Random streams are keyed by (seed, its number).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager

import numpy as np

from ..errors import interrupted_with, interrupts_deferred
from ..numerics.arrays import FloatArray, Observable
from ..settings import check_seed, check_seeds
from ..training.trainer import Plan, Progress, Training, Tree, check_installed, stacked
from . import trained_transformer as model
from .geometric_setting import TrainingSetting
from .geometric_simulation import GeometricObservation
from .trained_transformer import IntArray, Queries

# One random stream each, so that what is measured doesn't depend on what else is.
STREAMS = ("facts", "start", "frozen", "shuffle", "edit", "new facts", "new start", "numbers")


def train(setting: TrainingSetting, seeds: int = 4, seed: int | None = None, *, resume: str | None = None,
          progress: Progress | None = None) -> GeometricObservation:
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
    study = Study(setting, seeds, seed, 2, resume, progress)
    queries, start = study.queries("facts"), study.start("start")
    with study.interruptible():
        trained = study.trained("recall", start, queries)
        study.trained("frozen", start, queries, study.frozen())
        if setting.hops == 1:
            with interrupts_deferred():
                rows = [_structure(study, i, *(_of_seed(tree, i) for tree in (trained, start, queries)))
                        for i in range(seeds)]
            study.measures.update({name: np.array([row[name] for row in rows]) for name in rows[0]})
    return study.observed()


def transfer(setting: TrainingSetting, seeds: int = 4, seed: int | None = None, *, resume: str | None = None,
             progress: Progress | None = None) -> GeometricObservation:
    """Train one transformer a seed, draw new bijections, and train new entity embeddings for them, all else frozen.

    `recall` is that of the first facts, `new_facts` of the new ones, `new_facts_shuffled` the same where the numbers
    of each array of the MLP were shuffled first. The arguments are those of `train`.
    """
    study = Study(setting, seeds, seed, 3, resume, progress)
    new, fresh = study.queries("new facts"), study.start("new start")
    with study.interruptible():
        trained = study.trained("recall", study.start("start"), study.queries("facts"))
        kept = {name: np.asarray(array) for name, array in trained.items() if name != "entities"}
        mixed = {name: np.stack([stream("numbers", study.seed, i).permutation(array.ravel()).reshape(array.shape)
                                 for i, array in enumerate(kept[name])]) for name in ("inward", "bias", "outward")}
        study.trained("new_facts", fresh, new, kept)
        study.trained("new_facts_shuffled", fresh, new, {**kept, **mixed})
    return study.observed()


def least_dimension(setting: TrainingSetting, dimensions: Sequence[int], seeds: int, seed: int, *,
                    target: float = 0.95, frozen: bool = False) -> list[int | None]:
    """For each seed the least of `dimensions`, which ascend, at which at least `target` of all queries are answered
    right; None where none does. `frozen` keeps the entities' embeddings at random. `setting.d` is not used; dimensions
    beyond the last seed's are not trained."""
    least: list[int | None] = [None] * seeds
    for d in dimensions:
        study = Study(setting.replace(d=d), seeds, seed)
        study.trained("recall", study.start("start"), study.queries("facts"), study.frozen() if frozen else {})
        for i, recall in enumerate(study.measures["recall"]):
            if least[i] is None and recall >= target:
                least[i] = d
        if None not in least:
            break
    return least


class Study:
    """Trainings of one setting, one after the other; `measures` are the recalls of those that are finished or under
    way, by name."""

    def __init__(self, setting: TrainingSetting, seeds: int, seed: int | None, trainings: int = 1,
                 resume: str | None = None, progress: Progress | None = None):
        check_installed("N")
        check_seeds(seeds)
        self.setting, self.seeds, self.seed = setting, seeds, check_seed(seed)
        self.trainings, self.resume, self.progress = trainings, resume, progress
        self.measures: dict[str, FloatArray] = {}

    def drawn(self, name: str, draw: Callable[[np.random.Generator], Tree]) -> Tree:
        """What all seeds draw, each from its random stream of that name."""
        return stacked([draw(stream(name, self.seed, i)) for i in range(self.seeds)])

    def queries(self, name: str) -> Queries:
        """The queries of all seeds on random facts."""
        s = self.setting
        return self.drawn(name, lambda rng: model.queries_of(s, np.stack([rng.permutation(s.N) for _ in range(s.R)])))

    def start(self, name: str) -> Tree:
        """Parameters of all seeds before training."""
        return self.drawn(name, lambda rng: model.initial(self.setting, rng))

    def frozen(self) -> Tree:
        """Entities' embeddings that are not trained: Gaussian, of norm about 1."""
        s = self.setting
        return self.drawn("frozen", lambda rng: {
            "entities": (rng.standard_normal((s.N, s.d)) / np.sqrt(s.d)).astype(np.float32)})

    def trained(self, measure: str, start: Tree, queries: Queries, fixed: Tree | None = None) -> Tree:
        """All arrays of the model once those of `start` that are not `fixed` are trained. Its recall becomes the
        measure of that name, also where Ctrl-C ends the training."""
        s, fixed, before = self.setting, fixed or {}, len(self.measures)

        def shown(done: int, most: int, note: str) -> None:
            if self.progress is not None:
                self.progress(before * most + done, self.trainings * most, note)

        plan = Plan("adamw", s.rate, s.weight_decay, warmup=min(50, s.steps // 2), cosine=True, most_steps=s.steps)
        path = self.resume if measure == "recall" or self.resume is None else f"{self.resume}.{measure}"
        training = Training(model.problem(s), {name: array for name, array in start.items() if name not in fixed},
                            (queries, fixed), plan, seed=self.seed, path=path,
                            identity=[s.to_dict(), self.seeds, self.seed, [measure, self.trainings, *fixed]])
        try:
            training.run(shown)
        finally:
            found = {**fixed, **training.state.parameters}
            if training.state.steps.any():
                with interrupts_deferred():
                    self.measures[measure] = self.recall(found, queries)
        return found

    def recall(self, parameters: Tree, queries: Queries) -> FloatArray:
        """(seeds,) the share of all queries that are answered right."""
        import jax

        recall = jax.jit(model.recall, static_argnums=2)
        return np.array([float(np.mean(recall(_of_seed(parameters, i), _of_seed(queries, i), self.setting)))
                         for i in range(self.seeds)])

    def interruptible(self) -> AbstractContextManager[None]:
        """Ctrl-C in the block raises `Interrupted` with the measures so far, where there are any."""
        return interrupted_with(lambda: self.observed() if self.measures else None)

    def observed(self) -> GeometricObservation:
        """All measures so far."""
        return GeometricObservation(self.setting, self.seed, {
            name: Observable(values) for name, values in self.measures.items()})


def stream(name: str, seed: int, index: int) -> np.random.Generator:
    """The random stream of that name, of seed number `index`."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(index, STREAMS.index(name))))


def _of_seed(tree: Tree, index: int) -> Tree:
    import jax

    return jax.tree.map(lambda array: np.asarray(array[index]), tree)


def _structure(study: Study, index: int, parameters: Tree, untrained: Tree, queries: Queries) -> dict[str, float]:
    """Everything else that `train` measures on the network of one seed that answers one hop."""
    import jax

    setting, facts, (subject, asked) = study.setting, queries.facts, queries.tokens.T
    entities, codes = parameters["entities"], model.codes_of(parameters["unembedding"])
    hidden_units, recall = jax.jit(model.hidden_units), jax.jit(model.recall, static_argnums=2)
    scores = jax.jit(model.scores, static_argnums=2)

    def activity(weights: Tree) -> FloatArray:
        hidden = np.asarray(hidden_units(weights, queries.tokens)[1][:, -1])
        return np.stack([hidden[asked == setting.N + r].mean(axis=0) for r in range(setting.R)])

    def answered(entities: Tree) -> IntArray:
        found = scores({**parameters, "entities": entities}, queries.tokens, 1)
        return np.asarray(found[:, 0].argmax(axis=-1))

    means, before, shares = activity(parameters), answered(entities), []
    rng = stream("edit", study.seed, index)
    for r in range(setting.R):
        own = asked == setting.N + r
        silenced = np.asarray(recall(parameters, queries, setting, np.float32(means.argmax(axis=0) != r)))
        new = (facts[r] + rng.integers(1, setting.N, setting.N)) % setting.N
        after = answered(model.edited_embeddings(entities, codes, facts, r, new))
        seen = silenced[own], silenced[~own], after[own] == new[subject[own]], after[~own] == before[~own]
        shares.append([np.mean(right) if right.size else np.nan for right in seen])
    off, off_others, edited, edited_others = np.mean(shares, axis=0).tolist()
    order = stream("shuffle", study.seed, index).permutation(setting.N)
    return {
        "linear_probe": model.probe_recall(entities, codes, facts),
        "linear_probe_shuffled": model.probe_recall(entities[order], codes, facts),
        "superposition_share": model.superposition_share(entities, codes, facts),
        "superposition_share_shuffled": model.superposition_share(entities[order], codes, facts),
        "gate_selectivity": model.gate_selectivity(means),
        "gate_selectivity_untrained": model.gate_selectivity(activity(untrained)),
        "units_off": off, "units_off_others": off_others, "fact_edited": edited, "fact_edited_others": edited_others,
    }
