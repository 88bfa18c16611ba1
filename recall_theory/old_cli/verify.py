"""`recall-theory verify`: prediction beside simulation, with a verdict a cell."""

from __future__ import annotations

import os

import click

from ..report.answer import Answer
from ..settings import Setting
from .command import Command, Output
from .errors import AGREE, DISAGREE, INCONCLUSIVE, INTERRUPTED, BadInput
from .options import option
from .progress import Progress
from .simulate import drawn_seed

EXIT_CODES = {"agree": AGREE, "disagree": DISAGREE, "inconclusive": INCONCLUSIVE}


def run(output: Output, grid: str, seeds: int | None, seed: int | None, jobs: int | None,
        margin: float | None, until: str | None, predictor: str | None) -> Answer:
    if not grid:
        raise BadInput("--grid '' is not default, full or a file")
    from ..report.verify import answer
    from ..simulate.observation import Interrupted
    from ..theory.predict import predict
    from ..verification.engine import verify
    from ..verification.grids import load
    from ..verification.predictors import load as load_predictor

    settings = load(grid)
    judged = predict if predictor is None else load_predictor(predictor)
    if seed is None:
        seed = drawn_seed(output)

    def advance(done: int, total: int, setting: Setting) -> None:
        progress.update(done, total)

    try:
        with Progress(output.progress, "seeds") as progress:
            found = verify(settings, seeds, seed, jobs=jobs or cores(), margin=margin, until=until,
                           predictor=judged, progress=advance)
    except Interrupted as stop:
        done = len(stop.partial.cells)
        output.note(f"recall-theory verify: interrupted after {done} of {len(settings)} cells; "
                    f"--seed {seed} repeats them")
        return answer(stop.partial, grid, wanted=len(settings), exit_code=INTERRUPTED, predictor=predictor)
    return answer(found, grid, wanted=len(settings), exit_code=EXIT_CODES[found.verdict],
                  predictor=predictor)


def cores() -> int:
    """Cores that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        return os.cpu_count() or 1


command = Command(
    "verify", run,
    params=[
        click.Option(["--grid", "grid"], default="default", metavar="GRID",
                     help="default, full, attention-only, mlp, or a TOML file with one table [[cell]] a setting.  "
                          "[default: default]"),
        option("seeds", default=None,
               help="seeds a cell; planned from the predicted spread where absent"),
        click.Option(["--until", "until"], type=click.Choice(["conclusive"]), metavar="conclusive",
                     help="go on in each cell until its verdicts are conclusive, or until it has had --seeds (50,000); "
                          "the intervals are wider, and hold however long that takes"),
        click.Option(["--predictor", "predictor"], metavar="PREDICTOR",
                     help="judge your own formula: module:function, law.py:function, or a file of expressions in V, L, "
                          "d, N, m"),
        option("seed"),
        option("jobs", help="processes that share the seeds; all cores where absent"),
        option("margin", default=None, help="largest difference that still counts as agreement; what each formula "
               "declares where absent"),
    ],
    help="Lay predictions beside simulations over a grid of settings. Each observable of each cell gets a "
         "verdict: agree, disagree, or inconclusive. Exit code 0 if all agree, 1 if any disagrees, else 3.",
    examples=["verify", "verify --grid my_grid.toml --seeds 200 --seed 7 --json --output verdict.json",
              "verify --predictor mylaws:recall --until conclusive"],
)
