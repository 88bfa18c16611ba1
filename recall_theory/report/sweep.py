"""The results of a sweep, a line a cell."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from ..settings import PARAMETERS
from .answer import Answer, Block, Column, Prose, Table
from .numbers import NOTHING, deviation, number, plural, probability
from .predict import OBSERVABLES

if TYPE_CHECKING:
    from ..sweep.sweep_results import Results

MOST_ROWS = 200  # of the table for people; a longer one is for programs


def answer(results: Results, *, run: int, merged: int | None, store: str | None, exports: tuple[str, ...],
           exit_code: int = 0) -> Answer:
    """The results in their three forms; `run` seeds are new, `merged` results came from other stores."""
    data = results.to_dict() | {"run": run}
    seeds = sorted({problem.seed for problem in results.problems})
    if len(seeds) == 1:
        data["seed"] = seeds[0]
    if merged is not None:
        data["merged"] = merged
    if exit_code:
        data["interrupted"] = True
    return Answer(data, results.records(), _blocks(results, seeds, run, merged, store, exports), exit_code)


def _blocks(results: Results, seeds: list[int], run: int, merged: int | None, store: str | None,
            exports: tuple[str, ...]) -> list[Block]:
    settings = [{name: getattr(p.setting, name) for name in PARAMETERS} for p in results.problems]
    changes = {n: sum(a[n] != b[n] for a, b in itertools.pairwise(settings)) for n in PARAMETERS}
    varied = sorted((n for n in PARAMETERS if changes[n]), key=changes.__getitem__)  # the fastest comes last
    if not varied and settings:
        varied = ["V", "L", "d", "N"]
    fixed = ", ".join(f"{n} = {_shown(settings[0][n])}" for n in PARAMETERS
                      if settings and n not in varied and settings[0][n] is not None)
    done = f"{plural(results.found, 'seed')} of {plural(len(settings), 'cell')}: {run:,} simulated now"
    if store is not None:
        done += f", {results.found - run:,} found in {store}"
    if results.found < results.wanted:
        done += f", {results.wanted - results.found:,} still to do"
    blocks: list[Block] = [Prose(f"What was seen over {' x '.join(varied)}" + (f" ({fixed})" if fixed else ""),
                                 heading=True)] if settings else [Prose("The store holds no result.")]
    if merged is not None:
        blocks.append(Prose(f"{plural(merged, 'result')} merged into {store}."))
    if not settings:
        return blocks
    named = f"--seed {seeds[0]}" if len(seeds) == 1 else f"seeds {', '.join(map(str, seeds))}"
    columns = [*(Column(n, words=isinstance(settings[0][n], str)) for n in varied), Column("seeds"),
               *(c for o in OBSERVABLES for c in (Column(o), Column("se")))]
    rows = []
    shown = slice(None, MOST_ROWS)
    for setting, count, mean, se in zip(settings[shown], results.counts.tolist()[shown], results.mean.tolist()[shown],
                                        results.se.tolist()[shown], strict=True):
        seen = [text for m, e in zip(mean, se, strict=True) for text in (probability(m), deviation(e))]
        rows.append([*(_shown(setting[n]) for n in varied), f"{count:,}", *seen])
    blocks += [Prose(f"{done}. {named}."), Table(columns, rows, groups=len(varied))]
    if len(settings) > MOST_ROWS:
        blocks.append(Prose(f"These are the first {MOST_ROWS} of {plural(len(settings), 'cell')}; --csv and --json "
                            "have all of them."))
    blocks += [Prose(f"Written: {path}") for path in exports]
    return blocks


def _shown(value: Any) -> str:
    if value is None:
        return NOTHING
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value if isinstance(value, str) else f"{value:,}" if isinstance(value, int) else number(value)
