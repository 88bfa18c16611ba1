"""The ladder: what each rung changes, how it is trained by rule, and what was observed once it is.

Rules, fixed before any quoted run:
- rung 2: eta = 1e-3 and eta*gamma = 8 V L^2, a lead of attention of about 8 nats, where the setting names no rates;
- rung 3: learning rate d/2, at which a step adds about d/(2 V) to a fact's logit (at 2 d attention is lost);
- rungs 4 and 5: AdamW at 0.03 and 0.01, weight decay 0.01, minibatches of 256 sequences;
- rungs 6 and 7 and their controls: AdamW at 0.003, weight decay 0.01, 100 steps of warm-up, minibatches of 128.
`rate` multiplies the learning rate, `decay` replaces the weight decay.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import SettingError, interrupted_with
from ..numerics.arrays import Measured, Observable
from ..settings import N_TEST, OBSERVABLES, Setting, check_seed, check_seeds
from .attention_model import AttentionLayer, RecallTask, Sequences, credit, cross_entropy, draw_recall_task, three_steps
from .trainer import Plan, Problem, Progress, Trained, Training, Tree, check_installed, stacked
from .transformer_blocks import TransformerBlocks

BLOCK_SEQUENCES = 512  # training sequences measured at a time
MOST_NUMBERS = 2e9  # of the largest array, over all seeds
LEAD = 8.0  # nats by which attention leads on rung 2 where no rates are given
ETA = 1e-3
MEASURES = (*OBSERVABLES, "attention_weight", "training_accuracy", "loss")


@dataclasses.dataclass(frozen=True)
class Rung:
    """One model of the ladder: its `name`, the `change` from the rung before, and what that comes to.

    `batch` is the sequences of a minibatch, None for all; `rate` the learning rate, times d without minibatches, which
    rises over `warmup` steps; `steps` the gradient steps that a rung always takes, None where it trains to the stopping
    rule; `zipf` the exponent of the facts' frequencies.
    """

    name: str
    change: str
    model: AttentionLayer | TransformerBlocks
    batch: int | None = None
    rate: float = 0.0
    warmup: int = 0
    steps: int | None = None
    zipf: float = 0.0

    def plan(self, setting: Setting, most_steps: int = 20_000, rate: float = 1.0, decay: float = 0.01) -> Plan:
        """How the rung is trained, by the rules above."""
        if self.batch is None:
            return Plan("descent", rate * self.rate * setting.d, most_steps=most_steps)
        return Plan("adamw", rate * self.rate, decay, self.warmup, most_steps=most_steps)

    def observe(self, setting: Setting, parameters: Tree, task: RecallTask) -> dict[str, Tree]:
        """The observables of one seed on fresh sequences.

        attention: the last position looks most at the informative token, with blocks in the last of them, mean over
        heads; recall: as of the simulator, with blocks the share of the facts that are answered right in more than half
        of 8 fresh sequences; attention_weight: the mean attention on the informative token.
        """
        import jax.numpy as jnp

        seen = self.model.forward(setting, parameters, task, task.held_out)
        return {
            "attention": credit(seen.scores, seen.place).mean(),
            "recall": self.model.known(setting, parameters, task).mean(),
            "accuracy": credit(seen.logits, task.held_out.label).mean(),
            "attention_weight": jnp.take_along_axis(seen.weights, seen.place[:, None], axis=-1).mean(),
        }

    def problem(self, setting: Setting) -> Problem:
        """The loss on a minibatch or on all training sequences, and both measures on all of them."""
        import jax

        def of_sequences(parameters: Tree, task: RecallTask, seq: Sequences) -> tuple[Tree, Tree]:
            logits = self.model.forward(setting, parameters, task, seq).logits
            return cross_entropy(logits, seq.label).mean(), credit(logits, seq.label).mean()

        def loss(parameters: Tree, task: RecallTask, key: Tree) -> Tree:
            seq = task.training
            if self.batch is not None:
                rows = jax.random.randint(key, (min(self.batch, setting.N),), 0, setting.N)
                seq = jax.tree.map(lambda x: x[rows], seq)
            return of_sequences(parameters, task, seq)[0]

        def measure(parameters: Tree, task: RecallTask) -> tuple[Tree, Tree]:
            each = jax.tree.map(lambda x: x[:, None], task.training)
            losses, right = jax.lax.map(lambda seq: of_sequences(parameters, task, seq), each,
                                        batch_size=BLOCK_SEQUENCES)
            return losses.mean(), right.mean()

        return Problem(loss, measure)


RUNGS = {rung.name: rung for rung in (
    Rung("1", "three gradient steps, rates in the limit", AttentionLayer(is_limit=True), steps=3),
    Rung("2", "three gradient steps at finite rates", AttentionLayer(), steps=3),
    Rung("3", "full-batch gradient descent of both matrices", AttentionLayer(), rate=1 / 2),
    Rung("4", "minibatches and AdamW", AttentionLayer(), 256, 0.03),
    Rung("5", "embeddings and unembedding trained too", AttentionLayer(trains_embeddings=True), 256, 0.01),
    Rung("6", "two pre-norm transformer blocks, the trigger a token", TransformerBlocks(2, True), 128, 0.003, 100),
    Rung("6-vector", "control: one block, the trigger an added vector", TransformerBlocks(1, False), 128, 0.003, 100),
    Rung("6-token", "control: one block, the trigger a token", TransformerBlocks(1, True), 128, 0.003, 100),
    Rung("7", "rung 6 with facts of Zipf frequencies", TransformerBlocks(2, True), 128, 0.003, 100, zipf=1.0),
)}


@dataclasses.dataclass(frozen=True)
class RungObservation(Measured[Setting]):
    """What was observed of `seeds` models of one rung.

    `measures` holds attention, recall, accuracy, attention_weight, and training_accuracy and loss (nats) on the
    training sequences; `steps` (seeds,) the gradient steps taken; `parameters` the numbers that were trained.
    """

    rung: Rung
    n_test: int
    steps: NDArray[np.int64]
    parameters: int

    def to_dict(self) -> dict[str, Any]:
        """What `recall-theory train --json` prints, and a line of the ladder's study holds."""
        facts, V = self.recall.mean * self.setting.V, self.setting.V
        bits = math.lgamma(V + 1) / math.log(2) / V  # of a fact, where all are known
        return {"rung": self.rung.name, "setting": self.setting.to_dict(), "seed": self.seed, "seeds": self.seeds,
                "n_test": self.n_test, "steps": self.steps.tolist(), "parameters": self.parameters,
                "facts_per_parameter": facts / self.parameters, "bits_per_parameter": facts * bits / self.parameters,
                "observed": super().to_dict()["observed"]}


def check_trainable(rung: Rung, setting: Setting, seeds: int) -> None:
    """Raise `SettingError` where the rung does not have the setting, or it needs too much memory."""
    check_installed()
    check_seeds(seeds)
    if setting.m is not None:
        raise SettingError("m", f"m={setting.m}: the ladder is of the Attention-only model; leave out m")
    if not setting.is_limit and rung.name != "2":
        raise SettingError("eta", f"eta={setting.eta}: learning rates are given to rung 2 only")
    rows = setting.N if rung.batch is None else BLOCK_SEQUENCES
    largest = float(seeds) * max(rows * max(setting.V, setting.L * setting.d), setting.N * setting.L)
    if largest > MOST_NUMBERS:
        raise SettingError("N", f"N={setting.N}: training {seeds} seeds at once takes an array of {largest:.3g} "
                           f"numbers, and {MOST_NUMBERS:.0e} is the most; lower seeds, N, V, L or d")


def train_rung(rung: Rung, setting: Setting, seeds: int = 8, seed: int | None = None, *, plan: Plan | None = None,
               n_test: int = N_TEST, resume: str | None = None, progress: Progress | None = None) -> RungObservation:
    """Train one rung of the ladder on `seeds` independent draws, all at once, and observe.

    `plan` is the rung's own where None. With `resume`, a file, training is kept there and goes on from it. Raises
    `SettingError`, and `Interrupted` with what is observed at the last look where Ctrl-C stops it.
    """
    check_trainable(rung, setting, seeds)
    used = check_seed(seed)
    import jax

    tasks = [draw_recall_task(setting, rung.zipf, n_test, used, index) for index in range(seeds)]
    streams = [np.random.default_rng(np.random.SeedSequence(used, spawn_key=(index, 6))) for index in range(seeds)]
    start = [rung.model.initial(setting, task, rng) for task, rng in zip(tasks, streams, strict=True)]
    data, problem = stacked(tasks), rung.problem(setting)
    count = sum(np.size(array) for array in jax.tree.leaves(start[0]))
    if isinstance(rung.model, AttentionLayer) and not rung.model.trains_embeddings:
        count -= setting.d * (setting.d - 1)  # of W only W z_EOS acts where z_EOS is fixed, as rank one

    def observed(trained: Trained) -> RungObservation:
        observe = jax.jit(jax.vmap(lambda parameters, task: rung.observe(setting, parameters, task)))
        found = observe(trained.parameters, data)
        # On rung 1 the logits have no scale, hence no loss.
        found |= {"training_accuracy": trained.accuracy,
                  "loss": np.full(seeds, np.nan) if rung.name == "1" else trained.loss}
        measures = {name: Observable(np.asarray(found[name], np.float64)) for name in MEASURES}
        return RungObservation(setting, used, measures, rung, n_test, np.asarray(trained.steps), count)

    if rung.steps is not None:
        eta, gamma = rates(rung, setting)
        parameters = jax.jit(jax.vmap(lambda task: three_steps(task, setting, eta, gamma)))(data)
        loss, accuracy = jax.jit(jax.vmap(problem.measure))(parameters, data)
        return observed(Trained(parameters, None, np.full(seeds, rung.steps), loss, accuracy))
    used_plan = plan or rung.plan(setting)
    identity = {"rung": rung.name, "setting": setting.to_dict(), "seed": used, "seeds": seeds, "n_test": n_test,
                "plan": dataclasses.asdict(used_plan) | {"most_steps": None}}
    training = Training(problem, stacked(start), data, used_plan, seed=used, path=resume, identity=identity)
    with interrupted_with(lambda: observed(training.state) if training.state.steps.any() else None):
        training.run(progress)
    return observed(training.state)


def rates(rung: Rung, setting: Setting) -> tuple[float | None, float | None]:
    """eta and gamma of rungs 1 and 2: none in the limit, the setting's, or those of the rule."""
    if rung.name == "1":
        return None, None
    if setting.eta is not None:
        return setting.eta, setting.gamma
    return ETA, LEAD * setting.V * setting.L**2 / ETA
