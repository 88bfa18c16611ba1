"""`recall-theory tightness`: the gradient bound beside decoders that are simulated."""

from __future__ import annotations

from functools import partial
from typing import Any

import click

from ..report.answer import Answer
from .command import Command, Output
from .errors import INTERRUPTED
from .options import option, setting_options
from .progress import Progress


def run(output: Output, points: int, seeds: int, seed: int | None, jobs: int, plot: tuple[str, ...],
        **values: Any) -> Answer:
    from ..plots.decoder_recall import decoder_figure
    from ..plots.style import check_pictures, save_pictures
    from ..report.tightness import answer
    from ..simulate.observation import Interrupted
    from ..verification.decoders import tightness
    from .simulate import drawn_seed

    check_pictures(plot)
    if seed is None:
        seed = drawn_seed(output)
    try:
        with Progress(output.progress, "seeds") as progress:
            found = tightness(**values, points=points, seeds=seeds, seed=seed, jobs=jobs, progress=progress.update)
    except Interrupted as stop:
        output.note(f"recall-theory tightness: interrupted after {len(stop.partial.points)} of {points} points")
        return answer(stop.partial, exit_code=INTERRUPTED)
    save_pictures(partial(decoder_figure, found), plot)
    return answer(found, plot)


command = Command(
    "tightness", run,
    params=[*setting_options(("V", "L", "d"), leave_out=("N", "m", "activation", "embedding", "eta", "gamma")),
            option("points", default=7), option("seeds", default=16, help="simulated seeds a point"),
            option("seed"), option("jobs", default=1, help="processes that share the seeds"),
            click.Option(["--plot", "plot"], multiple=True, metavar="FILE",
                         help="draw it into FILE.svg, FILE.png or FILE.pdf; may be repeated")],
    help="How close to the gradient bound real decoders come: the bound, the predicted and the simulated recall of one "
         "reading of the first gradient, and of three steps, over N d^2/(V^2 L ln V) from 1/4 to 16.",
    examples=["tightness --V 128 --L 32 --d 64 --seeds 16 --seed 1",
              "tightness --V 256 --L 256 --d 96 --jobs 2 --plot tightness.svg --json"],
)
