"""`recall-theory train`: gradient descent beyond the three steps."""

from __future__ import annotations

from typing import Any

from ..report.answer import Answer
from ..settings import Setting
from .command import Command, Output
from .errors import INTERRUPTED
from .options import option, setting_options
from .progress import Progress
from .simulate import drawn_seed, prediction_of


def run(output: Output, steps: int, seeds: int, seed: int | None, n_test: int, **values: Any) -> Answer:
    setting = Setting(**values)
    from ..report.train import answer
    from ..simulate.full_training import check_work, full_training
    from ..simulate.observation import Interrupted
    from ..theory.memories import linear_capacity

    check_work(setting, steps, seeds)
    if seed is None:
        seed = drawn_seed(output)
    prediction, best = prediction_of(setting), linear_capacity(setting.d)
    try:
        with Progress(output.progress, "steps") as progress:
            found = full_training(setting, steps, seeds, seed, n_test=n_test, progress=progress.update)
    except Interrupted as stop:
        output.note(f"recall-theory train: interrupted after {len(stop.partial.stages)} stages of "
                    f"{stop.partial.seeds} of {seeds} seeds; --seed {seed} repeats them")
        return answer(stop.partial, prediction, best, seeds, steps, INTERRUPTED)
    return answer(found, prediction, best, seeds, steps)


command = Command(
    "train", run,
    params=[*setting_options(leave_out=("m", "activation")), option("steps"), option("seeds", default=4),
            option("seed"), option("n_test")],
    help="Train the Attention-only model by three gradient steps, as `simulate` does, and then go on: full gradient "
         "descent of both matrices, with a step length that sets itself. One table shows what the three steps leave on "
         "the table: facts recalled, and facts per parameter, after three steps, on the way, and at the best linear "
         "memory.",
    examples=["train --V 128 --L 4 --d 32 --N 2048 --steps 100 --seeds 2 --seed 1",
              "train --V 64 --L 8 --d 32 --N 2048 --steps 20 --json --output train.json"],
)
