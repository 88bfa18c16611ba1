"""`recall-theory sweep`: simulations over a grid, kept in a store, never run twice."""

from __future__ import annotations

import re
from typing import Any

import click

from ..report.answer import Answer
from ..settings import PARAMETERS, Setting
from .command import Command, Output
from .errors import INTERRUPTED, BadInput, option_of, shown
from .options import option
from .progress import Progress
from .simulate import drawn_seed

SEEDS = 8


def run(output: Output, scan: tuple[str, ...], grid: str | None, ratio: float | None, seeds: int | None,
        seed: int | None, jobs: int, n_test: int | None, store: str | None, part: str | None,
        scheduler: str | None, merge: tuple[str, ...], export: tuple[str, ...], **values: Any) -> Answer:
    from ..report.sweep import answer
    from ..simulate.observation import Interrupted
    from ..sweep.run_sweep import sweep
    from ..sweep.store import Store
    from ..sweep.sweep_results import Results, check_export, export_results, gathered

    for path in export:
        check_export(path)
    share, given_seeds = _part(part), seeds
    cells, seeds, seed, n_test = _planned(scan, grid, ratio, seeds, seed, n_test, values)
    idle = {"seeds": given_seeds, "seed": seed, "n_test": n_test, "part": part, "scheduler": scheduler}
    if not cells and store is not None and (vain := [name for name, value in idle.items() if value is not None]):
        raise BadInput(f"{option_of(vain[0])} is for what is to be run: give --scan, --grid or the sizes of a setting")
    if store is None and (merge or not cells):
        raise BadInput("--merge needs --store FILE, into which the others go" if merge else
                       "nothing to run: give --scan, --grid or the sizes of a setting, or --store FILE to see what "
                       "it holds")

    def finished(results: Results, run: int, exit_code: int = 0) -> Answer:
        for path in export:
            export_results(results, path)
        return answer(results, run=run, merged=merged, store=store, exports=export, exit_code=exit_code)

    with Store(store, must_exist=not (cells or merge)) as kept:
        merged = _merged(kept, merge)
        if unused := kept.unused():
            output.note(f"recall-theory sweep: {store}: {unused}")
        if not cells:
            return finished(gathered(kept, kept.current()), run=0)
        seed = _seed(output, kept, seed)
        known, present = None, 0  # results at the beginning, and now

        def advance(done: int, wanted: int) -> None:
            nonlocal known, present
            known, present = done if known is None else known, done
            progress.update(done, wanted)

        try:
            with Progress(output.progress, "seeds") as progress:
                results = sweep(cells, seeds, seed, n_test=n_test, jobs=jobs, store=kept, part=share,
                                scheduler=scheduler, progress=advance)
        except Interrupted as stop:
            output.note(f"recall-theory sweep: interrupted after {stop.partial.found} of {stop.partial.wanted} "
                        f"seeds; the same with --seed {seed}"
                        + (" goes on from here" if store else " and --store FILE would go on from where it was"))
            return finished(stop.partial, present - (known or 0), INTERRUPTED)
    return finished(results, present - (known or 0))


def _planned(scan: tuple[str, ...], grid: str | None, ratio: float | None, seeds: int | None, seed: int | None,
             n_test: int | None, values: dict[str, Any]) -> tuple[list[Setting], int, int | None, int | None]:
    """The cells, and the numbers of the run: the command line's before the file's."""
    from ..sweep.sweep_grid import load_plan, product
    from ..sweep.sweep_grid import scan as parsed

    scans: dict[str, list[Any]] = {}
    for text in scan:
        name, found = parsed(text)
        if name in scans:
            raise BadInput(f"--scan {shown(text)}: {name} is scanned twice")
        scans[name] = found
    sizes = {name: value for name, value in values.items() if value is not None}
    if ratio is not None:
        sizes["ratio"] = ratio
    if grid is not None:
        if scans or sizes:
            raise BadInput("--grid FILE says which settings: leave --scan and the parameters out beside it")
        plan = load_plan(grid)
        return plan.cells, seeds or plan.seeds or SEEDS, plan.seed if seed is None else seed, n_test or plan.n_test
    if not scans and not sizes:
        return [], SEEDS, seed, n_test
    return product(scans, **sizes), seeds or SEEDS, seed, n_test


def _part(text: str | None) -> tuple[int, int]:
    if text is None:
        return 1, 1
    parts = re.fullmatch(r"\s*([0-9]{1,6})/([0-9]{1,6})\s*", text)
    if parts is None or not 1 <= int(parts[1]) <= int(parts[2]):
        raise BadInput(f"--part {shown(text)} is not I/N with I from 1 to N, such as 2/4")
    return int(parts[1]), int(parts[2])


def _merged(kept: Any, paths: tuple[str, ...]) -> int | None:
    """Results added from other stores; None where there is none to merge."""
    from ..sweep.store import Store

    if not paths:
        return None
    import contextlib

    with contextlib.ExitStack() as stack:
        return int(kept.merge([stack.enter_context(Store(path, must_exist=True, name="merge")) for path in paths]))


def _seed(output: Output, kept: Any, seed: int | None) -> int:
    """The seed that is given, or the one of all that the store holds, or a drawn one."""
    if seed is not None:
        return seed
    seeds = {problem.seed for problem in kept.current()}
    if len(seeds) > 1:
        raise BadInput(f"--seed is missing: the store holds results of {len(seeds)} seeds "
                       f"({', '.join(map(str, sorted(seeds)[:5]))}{', ...' if len(seeds) > 5 else ''})")
    return seeds.pop() if seeds else drawn_seed(output)


def _parameters() -> list[click.Option]:
    """An option for each parameter of a setting, None where it is absent: a scan or a grid may say what it is."""
    usual = {name: "yes" if p.default is True else p.default for name, p in PARAMETERS.items() if p.default is not None}
    return [option(name, default=None, help=f"{p.meaning}; {usual[name]} where absent" if name in usual else None)
            for name, p in PARAMETERS.items()]


command = Command(
    "sweep", run,
    params=[
        click.Option(["--scan", "scan"], multiple=True, metavar="NAME=VALUES",
                     help="values of a parameter: d=64:512:x2 multiplies, L=8:32:+8 adds, m=none,64,128 lists; "
                          "repeated scans are combined"),
        click.Option(["--grid", "grid"], metavar="FILE",
                     help="in place of --scan: a TOML file with sizes, a table [scan], seeds, seed and n_test; or a "
                          "shipped grid: default, full, attention-only, mlp"),
        *_parameters(),
        option("ratio", help="training samples a fact, N/V, instead of --N"),
        option("seeds", default=None, help="independently drawn models a cell; 8 where absent"),
        option("seed", help="fixes everything random; the store's own, else drawn and shown, where absent"),
        option("jobs", default=1, help="processes that share the work; the answer doesn't depend on it"),
        option("n_test", default=None, help="fresh sequences a seed; where absent, all are summed over exactly"),
        click.Option(["--store", "store"], metavar="FILE",
                     help="keep results in FILE: a sweep that was ended at any moment goes on from there. Alone: "
                          "print what FILE holds"),
        click.Option(["--scheduler", "scheduler"], metavar="ADDRESS",
                     help="do the work on a Dask cluster, such as tcp://host:8786, in place of --jobs"),
        click.Option(["--part", "part"], metavar="I/N", help="do the I-th of N equal shares: N machines, N stores"),
        click.Option(["--merge", "merge"], multiple=True, metavar="FILE",
                     help="first add what the store FILE holds; may be repeated"),
        click.Option(["--export", "export"], multiple=True, metavar="FILE",
                     help="write the results to FILE.csv, FILE.parquet (pandas) or FILE.nc (xarray); may be repeated"),
    ],
    help="Simulate every combination of the scanned values. With --store nothing is run twice, a kill loses at most "
         "a second of work, and stores of several machines can be merged.",
    examples=["sweep --scan d=32:128:x2 --scan L=4,8 --V 64 --ratio 32 --seeds 16 --store sweep.db --jobs 2",
              "sweep --store sweep.db --merge other.db --export all.csv"],
)
