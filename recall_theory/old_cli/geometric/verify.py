"""`recall-theory geometric verify`: prediction beside simulation, with a verdict a cell."""

from __future__ import annotations

import click

from ...report.answer import Answer
from ..command import Command, Output
from ..errors import INTERRUPTED, BadInput
from ..options import option
from ..progress import Progress
from ..simulate import drawn_seed
from ..verify import EXIT_CODES, cores


def run(output: Output, grid: str, seeds: int | None, seed: int | None, jobs: int | None, margin: float) -> Answer:
    if not grid:
        raise BadInput("--grid '' is not default or a file")
    from ...geometric import GeometricSetting
    from ...report.geometric.verify import answer
    from ...simulate.observation import Interrupted
    from ...verification.engine import verify
    from ...verification.grids import load_grid
    from ...verification.problem import GEOMETRIC_RECALL

    settings = load_grid(GEOMETRIC_RECALL, grid)
    if seed is None:
        seed = drawn_seed(output)

    def advance(done: int, total: int, setting: GeometricSetting) -> None:
        progress.update(done, total)

    try:
        with Progress(output.progress, "seeds") as progress:
            found = verify(settings, seeds, seed, jobs=jobs or cores(), margin=margin, progress=advance,
                           problem=GEOMETRIC_RECALL)
    except Interrupted as stop:
        output.note(f"recall-theory geometric verify: interrupted after {len(stop.partial.cells)} of {len(settings)} "
                    f"cells; --seed {seed} repeats them")
        return answer(stop.partial, grid, wanted=len(settings), exit_code=INTERRUPTED)
    return answer(found, grid, wanted=len(settings), exit_code=EXIT_CODES[found.verdict])


command = Command(
    "verify", run,
    params=[
        click.Option(["--grid", "grid"], default="default", metavar="GRID",
                     help="default, or a TOML file with one table [[cell]] a setting.  [default: default]"),
        option("seeds", default=None, help="seeds a cell; planned from the predicted spread where absent"),
        option("seed"),
        option("jobs", help="processes that share the seeds; all cores where absent"),
        option("margin"),
    ],
    help="Lay predicted recall beside simulated recall over a grid of geometric settings. Each cell gets a verdict: "
         "agree, disagree, or inconclusive. Exit code 0 if all agree, 1 if any disagrees, else 3.",
    examples=["geometric verify", "geometric verify --grid my_grid.toml --seeds 100 --seed 7 --json"],
)
