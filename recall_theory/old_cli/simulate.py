"""`recall-theory simulate`: the model trained, and what was seen."""

from __future__ import annotations

from typing import Any

import click

from ..report.answer import Answer
from ..settings import Setting, SettingError
from .command import Command, Output
from .errors import INTERRUPTED, BadInput, shown
from .options import option, setting_options
from .progress import Progress


def run(output: Output, seeds: int, seed: int | None, jobs: int, n_test: int, embeddings: str | None,
        normalise: str | None, **values: Any) -> Answer:
    setting = Setting(**values)
    if normalise is not None and embeddings is None:
        raise BadInput("--normalise is for --embeddings FILE: give that too, or leave it out")
    from ..report.simulate import answer
    from ..simulate.observation import Interrupted
    from ..simulate.run import check_affordable, simulate

    check_affordable(setting)
    own = None if embeddings is None else _loaded(embeddings)
    if seed is None:
        seed = drawn_seed(output)
    try:
        with Progress(output.progress, "seeds") as progress:
            seen = simulate(setting, seeds, seed, n_test=n_test, jobs=jobs, embeddings=own,
                            normalise=normalise or "none", progress=progress.update)
    except Interrupted as stop:
        output.note(f"recall-theory simulate: interrupted after {stop.partial.seeds} of {seeds} seeds; "
                    f"--seed {seed} repeats them")
        return answer(stop.partial, prediction_of(setting), wanted=seeds, exit_code=INTERRUPTED)
    return answer(seen, prediction_of(setting), wanted=seeds)


def drawn_seed(output: Output) -> int:
    """A fresh seed, told at once, so that an interrupted run can be repeated."""
    import secrets

    seed = secrets.randbits(32)
    if output.progress:
        output.note(f"--seed {seed}")
    return seed


def prediction_of(setting: Setting) -> Any:
    """The prediction to lay beside what was seen; none where `predict` doesn't describe the setting."""
    from ..theory.predict import predict

    try:
        return predict(setting)
    except SettingError:
        return None


def _loaded(path: str) -> Any:
    """The user's matrices; any file that isn't one of matrices is bad input, whatever reading it raises."""
    from ..simulate.user_embeddings import load_embeddings

    try:
        return load_embeddings(path)
    except SettingError:
        raise
    except Exception as error:
        raise BadInput(f"--embeddings {shown(path)} can't be read as .npy or .npz: {error}") from None


command = Command(
    "simulate", run,
    params=[*setting_options(), option("seeds"), option("seed"),
            option("jobs", default=1, help="processes that share the seeds; the answer doesn't depend on it"),
            option("n_test"),
            click.Option(["--embeddings", "embeddings"], metavar="FILE",
                         help="your own embeddings in place of random ones: FILE.npy of shape (2, V, d), or "
                              "(V, d) for both matrices, or FILE.npz with z_in, z_out and perhaps z_trig"),
            option("normalise", default=None, help="what is done to --embeddings first: nothing, one factor "
                   "a matrix, or every row to norm 1 [default: none]")],
    help="Train the model for real, in three gradient steps, on independently drawn seeds, and print what "
         "was seen beside the prediction.",
    examples=["simulate --V 256 --L 16 --d 64 --N 16384 --seeds 64 --seed 1",
              "simulate --V 128 --L 8 --d 64 --N 8192 --eta 1e-3 --gamma 1e6 --csv --output seeds.csv"],
)
