"""`recall-theory geometric simulate`: codes, maps and facts drawn, and what they recall."""

from __future__ import annotations

from typing import Any

from ...geometric.geometric_setting import GEOMETRIC_PARAMETERS, GeometricSetting
from ...report.answer import Answer
from ..command import Command, Output
from ..errors import INTERRUPTED
from ..options import option, setting_options
from ..progress import Progress
from ..simulate import drawn_seed


def run(output: Output, seeds: int, seed: int | None, jobs: int, **values: Any) -> Answer:
    setting = GeometricSetting(**values)
    from ...geometric import predict
    from ...geometric.geometric_simulation import check_affordable, simulate
    from ...report.geometric.simulate import answer
    from ...simulate.observation import Interrupted

    check_affordable(setting)
    if seed is None:
        seed = drawn_seed(output)
    try:
        with Progress(output.progress, "seeds") as progress:
            seen = simulate(setting, seeds, seed, jobs=jobs, progress=progress.update)
    except Interrupted as stop:
        output.note(f"recall-theory geometric simulate: interrupted after {stop.partial.seeds} of {seeds} seeds; "
                    f"--seed {seed} repeats them")
        return answer(stop.partial, predict(setting), wanted=seeds, exit_code=INTERRUPTED)
    return answer(seen, predict(setting), wanted=seeds)


command = Command(
    "simulate", run,
    params=[*setting_options(required=("N", "R"), leave_out=("bits",), among=GEOMETRIC_PARAMETERS), option("seeds"),
            option("seed"),
            option("jobs", default=1, help="processes that share the seeds; the answer doesn't depend on it")],
    help="Draw bijections, codes and maps on independent seeds, ask every query (2^16 chains of passes where there are "
         "more), and print the recall beside the prediction.",
    examples=["geometric simulate --N 256 --R 4 --code-length 32 --d 128 --seeds 64 --seed 1",
              "geometric simulate --N 100 --R 2 --code-length 16 --d 48 --hops 3 --chain-of-thought --csv"],
)
