"""`recall-theory sweep` and `scaling`: simulations over a grid, or around critical sizes, that a store can keep."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import math
import os
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from ..errors import SettingError
from ..numerics.formatting import count, number, plural, with_error
from ..settings import OBSERVABLES, PARAMETERS, SIZES
from .answers import Answer, Output, command
from .options import EXTRA, Declared, choice, file_option, option, option_of, setting_options
from .streams import BadInput, shown
from .text_layout import Block, Heading, Remark, legend, marked, table
from .verify import one_line, variant

if TYPE_CHECKING:
    from ..settings import Setting
    from ..sweep.scaling_experiment import Scaling
    from ..sweep.store import Store
    from ..sweep.sweep_grid import SweepPlan
    from ..sweep.sweep_results import Results

SEEDS_OR_AUTO = dataclasses.replace(EXTRA["seeds"], choices=("auto",))
NUMBERS = ("V", "L", "d", "N", "eta", "gamma")
TO_RUN = "give --scan, --grid or the sizes of a setting"


_USUAL = {name: "yes" if p.default is True else p.default for name, p in PARAMETERS.items() if p.default is not None}


def scan_options(grids: str, leave_out: Sequence[str] = ()) -> list[click.Parameter]:
    """The options that say which cells: scans, or a grid, of which `grids` says what it may be; and each parameter of a
    setting, None where it is absent, since a scan or a grid may say what it is."""
    return [
        file_option("scan", "values of a parameter: d=64:512:x2 multiplies, L=8:32:+8 adds, m=none,64,128 lists; "
                    "repeated scans are combined", metavar="NAME=VALUES", multiple=True),
        file_option("grid", f"in place of --scan: {grids}"),
        *(option(name, default=None, help=f"{p.meaning}; {_USUAL[name]} where absent" if name in _USUAL else None)
          for name, p in PARAMETERS.items() if name not in leave_out),
        option("ratio"),
    ]


def scheduler_option(instead_of: str = "") -> click.Option:
    return file_option("scheduler", f"do the work on a Dask cluster, such as tcp://host:8786{instead_of}",
                       metavar="ADDRESS")


@command("sweep --scan d=32:128:x2 --scan L=4,8 --V 64 --ratio 32 --seeds 16 --store sweep.db --jobs 2",
         "sweep --store sweep.db --merge other.db --export all.csv",
         params=[*scan_options("a TOML file with sizes, a table [scan], seeds, seed and n_test; or a shipped grid: "
                               "default, full, attention-only, mlp"),
                 click.Option(["--seeds", "seeds"], type=Declared(SEEDS_OR_AUTO), metavar="INTEGER|auto",
                              help="independently drawn models a cell; auto, also where absent, is as many as a "
                              "verdict on the theory takes, as verify plans them"),
                 option("seed", help="fixes everything random; the store's own, else drawn and shown, where absent"),
                 "jobs",
                 option("n_test", default=None, help="fresh sequences a seed; where absent, all are summed over "
                        "exactly"),
                 file_option("store", "keep results in FILE: a sweep that was ended at any moment goes on from there. "
                             "Alone: print what FILE holds"),
                 scheduler_option(", in place of --jobs"),
                 file_option("part", "do the I-th of N equal shares: N machines, N stores", metavar="I/N"),
                 file_option("merge", "first add what the store FILE holds; may be repeated", multiple=True),
                 file_option("export", "write the results to FILE.csv, FILE.parquet (pandas) or FILE.nc (xarray); may "
                             "be repeated", multiple=True)])
def sweep_command(output: Output, *, scan: Sequence[str], grid: str | None, ratio: float | None,
                  seeds: int | str | None, seed: int | None, jobs: int, n_test: int | None, store: str | None,
                  part: str | None, scheduler: str | None, merge: Sequence[str], export: Sequence[str],
                  **values: Any) -> Answer:
    """Simulate every combination of the scanned values. With --store nothing is run twice, a kill loses at most a
    second of work, and stores of several machines can be merged."""
    from ..sweep.run_sweep import sweep
    from ..sweep.store import Store, gathered
    from ..sweep.sweep_results import check_export, export_results

    for path in export:
        check_export(path)
    share, plan = _part(part), planned_cells(scan, grid, {**values, "ratio": ratio})
    if store is None and merge:
        raise BadInput("--merge needs --store FILE, into which the others go")
    if store is None and not plan.cells:
        raise BadInput(f"nothing to run: {TO_RUN}, or --store FILE to see what it holds")
    of_a_run = {"seeds": seeds, "seed": seed, "n_test": n_test, "part": part, "scheduler": scheduler}
    for name, value in of_a_run.items():
        if value is not None and not plan.cells:
            raise BadInput(f"{option_of(name)} is for what is to be run: {TO_RUN}")

    with contextlib.ExitStack() as stack:
        # The others first: where one of them is missing, no new store is left behind.
        others = [stack.enter_context(Store(path, must_exist=True, name="merge")) for path in merge]
        kept = stack.enter_context(Store(store, must_exist=not (plan.cells or merge)))
        merged = kept.merge(others) if merge else None
        if unused := kept.unused():
            output.say(f"{store}: {unused}")
        if plan.cells:
            used = _seed(output, kept, plan.seed if seed is None else seed)
            wanted = plan.seeds if seeds is None else seeds
            where = "goes on from here" if store else "and --store FILE would go on from where it was"
            results = output.measure(
                "seeds", lambda progress: sweep(
                    plan.cells, wanted if isinstance(wanted, int) else None, used, n_test=n_test or plan.n_test,
                    jobs=jobs, store=kept, part=share, scheduler=scheduler, progress=progress,
                    announce=output.say if output.progress else None, note=output.say),
                lambda results: f"{results.found} of {results.wanted} seeds; the same with --seed {used} {where}")
        else:
            results = gathered(kept, kept.current())
        for path in export:
            export_results(results, path)

    run, cells = results.simulated, results.problems
    seeds_used = sorted({problem.seed for problem in cells})
    data = results.to_dict() | {"run": run} | ({"seed": seeds_used[0]} if len(seeds_used) == 1 else {})
    blocks: list[Block] = []
    if merged is not None:
        data["merged"] = merged
        blocks.append(f"{plural(merged, 'result')} merged into {os.path.basename(store or '')}.")
    if not cells:
        return Answer(data, results.records(), ["The store holds no result.", *blocks])
    done = f"{plural(results.found, 'seed')} of {plural(len(cells), 'cell')}: {run:,} simulated now"
    if store is not None:
        done += f", {results.found - run:,} found in {os.path.basename(store)}"
    if results.found < results.wanted:
        done += f", {results.wanted - results.found:,} still to do"
    named = f"{'--seed' if len(seeds_used) == 1 else 'seeds'} {', '.join(map(str, seeds_used))}"
    heading, *means = _cells(results)
    written = [f"Written: {path}" for path in export]
    return Answer(data, results.records(), [heading, *blocks, f"{done}. {named}.", *means, *written])


def planned_cells(scan: Sequence[str], grid: str | None, values: Mapping[str, Any],
                  shipped: Mapping[str, list[Setting]] | None = None) -> SweepPlan:
    """The cells, and what a grid file says of the run; `shipped` are further grids that a command knows by name."""
    from ..sweep import sweep_grid

    scans: dict[str, list[Any]] = {}
    for text in scan:
        name, scanned = sweep_grid.scan(text)
        if name in scans:
            raise BadInput(f"--scan {shown(text)}: {name} is scanned twice")
        scans[name] = scanned
    fixed = {name: value for name, value in values.items() if value is not None}
    if grid is None:
        return sweep_grid.SweepPlan(sweep_grid.product(scans, **fixed) if scans or fixed else [])
    if scans or fixed:
        raise BadInput("--grid FILE says which settings: leave --scan and the parameters out beside it")
    return sweep_grid.load_plan(grid, shipped)


def _part(text: str | None) -> tuple[int, int]:
    parts = re.fullmatch(r"\s*([0-9]{1,6})/([0-9]{1,6})\s*", "1/1" if text is None else text)
    if parts is None or not 1 <= int(parts[1]) <= int(parts[2]):
        raise BadInput(f"--part {shown(text)} is not I/N with I from 1 to N, such as 2/4")
    return int(parts[1]), int(parts[2])


def _seed(output: Output, kept: Store, seed: int | None) -> int:
    """The seed that is given, or the one of all that the store holds, or a drawn one."""
    seeds = sorted({problem.seed for problem in kept.current()}) if seed is None else [seed]
    if len(seeds) > 1:
        raise BadInput(f"--seed is missing: the store holds results of seeds {', '.join(map(str, seeds))}")
    return seeds[0] if seeds else output.seed(None)


def _cells(results: Results) -> list[Block]:
    """What is the same in all cells, and a line a cell: what differs, and its means with their standard errors."""
    from ..sweep.store_summary import described
    from ..theory.domain import remarks

    settings, counts = [p.setting for p in results.problems], results.counts.tolist()
    varied = [name for name in PARAMETERS if len({getattr(setting, name) for setting in settings}) > 1]
    numbers = [name for name in varied if name in NUMBERS]
    fixed = described({name: getattr(settings[0], name) for name in PARAMETERS if name not in varied})
    over = f"over {', '.join(varied)}{fixed and f' ({fixed})'}" if varied else f"at {fixed}"
    rows: list[dict[str, object]] = []
    for c, setting in enumerate(settings):
        means = {o: with_error(x.mean, x.se) for o, x in results.observed(c).items()}
        means[OBSERVABLES[-1]] = marked(means[OBSERVABLES[-1]], remarks(setting))
        rows.append({**{name: getattr(setting, name) for name in numbers},
                     "variant": variant(setting) if len(numbers) < len(varied) else "",
                     "seeds": counts[c] if len(set(counts)) > 1 else None, **means})
    return [
        Heading(f"What was observed {over}"),
        one_line(rows, ", ".join(rows[0]), "Means over seeds ± standard error; --json and --csv have all digits",
                 labels=len(numbers) + 2),
        *legend(map(remarks, settings)),
    ]


# How a critical size scales

# What isn't given: sizes at which any pair of them has a crossing at one half, and values that are quick to run.
USUAL_SIZES = {"V": 96, "L": 4, "d": 128, "N": 16384}
USUAL_VALUES = {"V": "64,91,128,181,256", "L": "4:64:x2", "d": "64,91,128,181,256", "N": "2^12:2^16:x2",
                "m": "64:1024:x2"}
FOUR_DIGITS = functools.partial(number, digits=4)


@command("scaling --of N --in V --at 0.5",
         "scaling --of d --in V --values 64:512:x2 --observable recall --L 2 --ratio 500 --seed 1 --jobs 2",
         params=[choice("of", SIZES, "the size whose critical value is sought: V, L, d, N, m", metavar="SIZE",
                        required=True),
                 choice("in", SIZES, "the size along which it scales", metavar="SIZE", required=True),
                 file_option("values", "values of --in: 64,128,256 or 64:256:x2; where absent "
                             + "; ".join(f"{name} {text}" for name, text in USUAL_VALUES.items()), metavar="VALUES"),
                 option("at", help="what the mean observable has at the critical value"),
                 option("observable", help="what is held against --at"),
                 *[option(name, help=f"{PARAMETERS[name].meaning}; {usual} where it is neither given nor scaled")
                   for name, usual in USUAL_SIZES.items()],
                 *setting_options((), leave_out=(*USUAL_SIZES, "eta", "gamma")), "ratio",
                 option("seeds", default=64, help="seeds of each of the five points around a crossing"), "seed", "jobs",
                 file_option("store", "keep every simulation in FILE, as sweep does: with the same --seed nothing is "
                             "run twice")])
def scaling_command(output: Output, of: str, values: str | None, *, at: float, seed: int | None, store: str | None,
                    ratio: float | None, **given: Any) -> Answer:
    """Find by simulation the value of one size at which an observable crosses --at, for several values of another; fit
    the exponent, with its interval, and set it beside the predicted one."""
    from ..sweep.scaling_experiment import scaling
    from ..sweep.sweep_grid import scan_values

    along: str = given.pop("in")
    try:
        scanned: list[Any] = scan_values(along, values or USUAL_VALUES[along])
    except SettingError as error:
        raise BadInput(f"--values {shown(values)}: {error}") from None
    if None in scanned:
        raise BadInput(f"--values {shown(values)}: none is not a value to scale along")
    usual = {name: size for name, size in USUAL_SIZES.items()
             if name not in (of, along) and not (name == "N" and ratio is not None)}
    fixed = usual | {name: value for name, value in given.items() if value is not None}
    used = output.seed(seed)
    where = f"goes on from what {store} holds" if store else "and --store FILE could be gone on with"
    result = output.measure(
        "seeds", lambda progress: scaling(of, along, scanned, at, seed=used, store=store, ratio=ratio,
                                          progress=progress, **fixed),
        again=f"the same with --seed {used} {where}")
    return Answer(result.to_dict(), result.records(), [
        *scaling_blocks(result), f"--seed {result.seed}.",
        Remark("The predicted exponent is that of the same line through the predicted critical values.")])


def scaling_blocks(result: Scaling) -> list[Block]:
    """The critical sizes, and the exponent where there is one; `report` shows them too."""
    from ..sweep.store_summary import described

    fixed, along, line = described(result.fixed), result.along, result.line
    points = [{along: p.value, "predicted": marked(FOUR_DIGITS(p.predicted), p.remarks),
               "observed": FOUR_DIGITS(p.observed), "95 % interval": p.interval_in_words,
               "observed / predicted": FOUR_DIGITS(p.observed / p.predicted), "simulated seeds": p.simulated}
              for p in result.points]
    blocks: list[Block] = [
        Heading(f"The {result.of} at which {result.observable} is {result.at:g}, along {along}"
                + (f" ({fixed})" if fixed else "")),
        table(points),
        *legend(p.remarks for p in result.points),
    ]
    left_out = [count(p.value) for p in result.points if not math.isnan(p.observed) and not p.se_log > 0]
    if left_out:
        blocks.append(f"Not in the line: {along} = {', '.join(left_out)}, whose interval lacks an end; more --seeds "
                      "narrow it.")
    if line is None:
        return [*blocks, "An exponent needs two critical values whose intervals have both ends."]

    low, high = result.interval
    text = f"{result.of} ~ {along}^{line.slope:.3f}, 95 % interval {low:.3f} to {high:.3f}"
    if not math.isnan(expected := result.predicted_exponent):
        text += (f"; predicted {expected:.3f}, observed - predicted {line.slope - expected:+.3f} "
                 f"({low - expected:+.3f} to {high - expected:+.3f})")
    if not math.isnan(line.p_value):
        text += (". Points as far from a straight line as these, by their errors alone, have probability "
                 f"{number(line.p_value, 2)}")
    return [*blocks, f"{text}."]
