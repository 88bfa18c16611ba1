"""`recall-theory geometric train`: subject embeddings and MLP trained on random facts, and what they hold."""

from __future__ import annotations

from typing import Any

import click

from ...geometric.geometric_setting import TRAINING_PARAMETERS, TrainingSetting
from ...report.answer import Answer
from ..command import Command, Output
from ..errors import INTERRUPTED
from ..options import option, setting_options
from ..progress import Progress
from ..simulate import drawn_seed


def run(output: Output, **values: Any) -> Answer:
    from ...geometric import train

    return findings("train", train, output, **values)


def findings(kind: str, measure: Any, output: Output, seeds: int, seed: int | None, jobs: int, **values: Any) -> Answer:
    """The answer of "train" or "transfer", from the function that measures it; Ctrl-C keeps the finished seeds."""
    setting = TrainingSetting(**values)
    from ...report.geometric.train import answer
    from ...simulate.observation import Interrupted

    if seed is None:
        seed = drawn_seed(output)
    try:
        with Progress(output.progress, "networks") as progress:
            progress.update(0, seeds)
            found = measure(setting, seeds, seed, jobs=jobs, progress=progress.update)
    except Interrupted as stop:
        output.note(f"recall-theory geometric {kind}: interrupted after {stop.partial.seeds} of {seeds} seeds; "
                    f"--seed {seed} repeats them")
        return answer(kind, stop.partial, seeds, INTERRUPTED)
    return answer(kind, found, seeds)


def params() -> list[click.Parameter]:
    """The options of both commands."""
    return [*setting_options(required=(), among=TRAINING_PARAMETERS),
            option("seeds", default=4, help="networks, each trained on its own facts"), option("seed"),
            option("jobs", default=1, help="processes that share the seeds; the answer doesn't depend on it")]


command = Command(
    "train", run, params=params(),
    help="What gradient descent finds: subject embeddings and a ReLU MLP of 2 R k units trained on random bijections; "
         "linear probes, interventions on gates and on single facts, and controls with frozen embeddings.",
    examples=["geometric train",
              "geometric train --N 512 --R 4 --d 24 --noise 0 --seeds 8 --seed 1 --json"],
)
