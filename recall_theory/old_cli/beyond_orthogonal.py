"""`recall-theory beyond-orthogonal`: random against orthogonal embeddings."""

from __future__ import annotations

from functools import partial
from typing import Any

import click

from ..report.answer import Answer
from .command import Command, Output
from .errors import INTERRUPTED, BadInput
from .options import option, setting_options
from .progress import Progress


def run(output: Output, points: int, seeds: int | None, seed: int | None, jobs: int, plot: tuple[str, ...],
        **values: Any) -> Answer:
    if seed is not None and seeds is None:
        raise BadInput(f"--seed {seed} is for --seeds: give that too, or leave it out")
    from ..plots.embedding_costs import embedding_figure
    from ..plots.style import check_pictures, save_pictures
    from ..report.beyond_orthogonal import answer
    from ..simulate.observation import Interrupted
    from ..verification.embedding_comparison import beyond_orthogonal
    from .simulate import drawn_seed

    check_pictures(plot)
    if seeds and seed is None:
        seed = drawn_seed(output)
    try:
        with Progress(output.progress, "seeds") as progress:
            found = beyond_orthogonal(**values, points=points, seeds=seeds or 0, seed=seed, jobs=jobs,
                                      progress=progress.update)
    except Interrupted as stop:
        output.note("recall-theory beyond-orthogonal: interrupted; what was simulated by then is shown")
        return answer(stop.partial, exit_code=INTERRUPTED)
    save_pictures(partial(embedding_figure, found), plot)
    return answer(found, plot)


command = Command(
    "beyond-orthogonal", run,
    params=[*setting_options(("d", "L"), leave_out=("V", "N", "m", "activation", "embedding", "eta", "gamma")),
            option("target", default=0.9), option("points", default=6, help="values of V"),
            option("seeds", default=None, help="simulate each predicted N on so many seeds"),
            option("seed"), option("jobs", default=1, help="processes that share the seeds"),
            click.Option(["--plot", "plot"], multiple=True, metavar="FILE",
                         help="draw it into FILE.svg, FILE.png or FILE.pdf; may be repeated")],
    help="Random against orthogonal embeddings of the same dimension: how many facts each stores, and the samples that "
         "each needs for them.",
    examples=["beyond-orthogonal --d 128 --L 16",
              "beyond-orthogonal --d 128 --L 16 --no-trigger-in-value --seeds 8 --seed 1 --plot beyond.svg"],
)
