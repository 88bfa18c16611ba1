"""The ladder from three gradient steps to a trained transformer: every training that docs/ladder.md quotes.

    python -m validation.ladder            # appends to validation/ladder.jsonl what it lacks; may be stopped any time
    python -m validation.ladder --part "keys only" --rung 3   # that alone; several may run side by side
    python -m validation.ladder --scheduler tcp://host:8786   # on the machines of a Dask cluster
    python -m validation.ladder --count    # says what is done and what is left

The rule, written before any of it ran. Settings: the 42 of `ladder_study.STUDY`, all at 8 seeds (seed 1), at
most 1,000 steps, learning rates and weight decay by the rules at the head of `recall_theory.training.rungs`; then the
same without the trigger in the values (rungs 1 to 5, the samples' settings and V = 2 d), rungs 5 and 6 at d = 2, 3, 4,
6 (what embeddings that are trained can hold), orthogonal and spherical embeddings at d = V, and, at V = 64, L = 8,
d = 16, N = 2,048, learning rates of a quarter and four times the rule's, weight decays of 0 and 0.1, and 4,000 steps.
Small settings come first, so that a run that is cut short has whole settings of all rungs.

One part was added once the first settings were seen, since rungs 1 and 2 reach accuracy 0.5 below V = d: `fewer`,
V = d/2 and d/4 along d, for these two. Four more were added once all of the above was seen, each written before any of
it ran: `three steps`, rungs 1 and 2 at 32 seeds, for the exponents that 8 seeds leave open; `between`, rungs 3 and 4 at
V = 1.5 d, 3 d, 6 d, for the same; `least samples`, the least N along d and L of the rungs that are trained (rungs 1 and
2 have theirs at V = 32, where the law has one); `long`, rung 3 for 20,000 steps at V = 2 d and 4 d. And after these,
again before it ran: `long` also for rung 4, at all settings of V along d, and for rung 3 at V = d up to d = 16;
`narrow, long`, rung 5 at d = 2, 3, 4 for 20,000 steps; `many seeds`, rungs 1 and 2 where exponents were left open:
the least N from d = 48 on, being no power just above the d below which no N is enough, and V along L at d = 64,
where by the law rung 2 reaches accuracy 0.5 at every L. Last of all, again before it ran: 20,000 steps of each training
of the 42 settings, and of `narrow`'s, in which a seed had not met the stopping rule in 1,000 (`grid, long` and
`narrow, long`), on a GPU where blocks or large matrices ask for one; and then, written before it ran too, of what was
cut of `keys only`, `embeddings`, `least samples` and, on rung 4, `between`. Nothing is left out or drawn again once it
is seen.
"""

from __future__ import annotations

import argparse
import functools
import os
import time
from pathlib import Path

# One thread: several of these may run side by side.
os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")

from recall_theory import Setting
from recall_theory.simulate.workers import unordered_map
from recall_theory.sweep.run_sweep import cluster_map
from recall_theory.training.rungs import RUNGS
from recall_theory.verification.ladder_study import (
    DIMENSIONS,
    RATIO,
    STUDY,
    Place,
    read_rows,
    run_ladder,
    setting_of_row,
)

FILE = Path(__file__).with_suffix(".jsonl")
SEED = 1
SEEDS = 8  # of a training
STEPS = 1000  # of a training, at most
MANY_SEEDS = 32  # of rungs 1 and 2, for exponents
LONG_STEPS = 20_000
ONLY_LAYER = ("1", "2", "3", "4", "5")  # rungs of the paper's layer, which know keys without the trigger in values


def large_ladder() -> list[Place]:
    """Every training of the quoted study, in the order in which it is run."""
    order = [(part, setting) for part in ("width", "samples", "length") for setting in STUDY[part]]
    order.sort(key=lambda pair: pair[1].N * pair[1].V)  # cheap ones first, of all parts
    places = [Place(part, rung, setting, SEEDS, STEPS) for part, setting in order for rung in RUNGS]
    fewer = [Setting(V=d // c, L=8, d=d, N=RATIO * (d // c)) for d in DIMENSIONS for c in (2, 4)]
    places += [Place("fewer", rung, setting, SEEDS, STEPS) for setting in fewer for rung in ("1", "2")]
    keys_only = [setting.replace(trigger_in_value=False) for setting in (*STUDY["samples"], *STUDY["width"][:5])]
    places += [Place("keys only", rung, setting, SEEDS, STEPS) for setting in keys_only for rung in ONLY_LAYER]
    alike = [Setting(V=V, L=8, d=V, N=ratio * V, embedding=law) for V in (16, 32) for ratio in (2, 8, 32)
             for law in ("orthogonal", "sphere")]
    places += [Place("embeddings", rung, setting, SEEDS, STEPS) for setting in alike for rung in ONLY_LAYER]
    narrow = [Setting(V=V, L=8, d=d, N=RATIO * V) for V in (32, 64, 128, 256) for d in (2, 3, 4, 6)]
    places += [Place("narrow", rung, setting, SEEDS, STEPS) for setting in narrow for rung in ("5", "6")]
    middle = Setting(V=64, L=8, d=16, N=2048)
    for rung in ("3", "4", "5", "6"):
        places += [Place("choices", rung, middle, SEEDS, STEPS, rate=rate) for rate in (0.25, 4.0)]
        places += [Place("choices", rung, middle, SEEDS, 4 * STEPS)]
        if rung != "3":
            places += [Place("choices", rung, middle, SEEDS, STEPS, decay=decay) for decay in (0.0, 0.1)]
    long = [Setting(V=c * d, L=8, d=d, N=RATIO * c * d) for d in (8, 12, 16) for c in (2, 4)]
    places += exponent_places() + [Place("long", "3", setting, SEEDS, LONG_STEPS) for setting in long]
    places += to_the_end() + unfinished()
    return list({place.key: place for place in reversed(places)}.values())[::-1]


def exponent_places() -> list[Place]:
    """What exponents take beside the grid: rungs 1 and 2 at many seeds, and the least N of those that are trained."""
    shares = (0.25, 0.375, 0.5, 0.75, 1, 1.5)  # V/d
    facts = [Setting(V=round(c * d), L=8, d=d, N=RATIO * round(c * d)) for d in (*DIMENSIONS, 48, 64) for c in shares]
    facts += [Setting(V=V, L=L, d=16, N=RATIO * V) for L in (2, 4, 8, 16, 32) for V in (3, 4, 6, 8, 12, 16, 24)]
    shapes = [(8, d) for d in (32, 64, 96)] + [(L, 48) for L in (2, 4, 8, 16, 32)]
    facts += [Setting(V=32, L=L, d=d, N=32 * ratio) for L, d in shapes for ratio in (2, 4, 8, 16, 32, 64, 128)]
    places = [Place("three steps", rung, setting, MANY_SEEDS, STEPS) for setting in facts for rung in ("1", "2")]
    shapes = [(8, d) for d in DIMENSIONS] + [(L, 16) for L in (2, 16, 32)]
    places += [Place("between", rung, Setting(V=c * d // 2, L=L, d=d, N=RATIO * (c * d // 2)), SEEDS, STEPS)
               for L, d in shapes for c in (3, 6, 12) for rung in ("3", "4")]

    others = ((8, 24), (8, 48), (2, 32), (4, 32), (16, 32))  # L and d beside the grid's (8, 32)
    layer = {(8, 32): (0.5, 1)} | dict.fromkeys(others, (0.5, 1, 2, 4, 8))
    blocks = dict.fromkeys(others, (4, 8, 16, 32)) | {(2, 32): (1, 2, 4, 8, 16, 32), (4, 32): (2, 4, 8, 16, 32),
                                                      (16, 32): (4, 8, 16, 32, 64, 128)}
    for shapes_of, rungs in ((layer, ("3", "4", "5")), (blocks, ("6", "6-vector", "7"))):
        places += [Place("least samples", rung, Setting(V=64, L=L, d=d, N=round(64 * ratio)), SEEDS, STEPS)
                   for (L, d), ratios in shapes_of.items() for ratio in ratios for rung in rungs]
    return places


def to_the_end() -> list[Place]:
    """20,000 steps of rungs 3 to 5, and the seeds that the exponents of rungs 1 and 2 take."""
    grid = sorted(STUDY["width"], key=lambda setting: setting.V * setting.d)
    places = [Place("long", "4", setting, SEEDS, LONG_STEPS) for setting in grid]
    places += [Place("long", "3", Setting(V=d, L=8, d=d, N=RATIO * d), SEEDS, LONG_STEPS) for d in (8, 12, 16)]
    places += [Place("narrow, long", "5", Setting(V=V, L=8, d=d, N=RATIO * V), SEEDS, LONG_STEPS)
               for V in (32, 64, 128, 256, 512) for d in (2, 3, 4)]
    samples = [Setting(V=32, L=8, d=d, N=32 * ratio) for d in (48, 64, 96, 128, 192) for ratio in (4, 8, 16, 32)]
    facts = [Setting(V=V, L=L, d=64, N=RATIO * V) for L in (2, 4, 8, 16, 32) for V in (24, 36, 48, 72, 96)]
    for part, settings, seeds in (("many seeds, N", samples, 4 * MANY_SEEDS), ("many seeds, V", facts, 2 * MANY_SEEDS)):
        places += [Place(part, rung, setting, seeds, STEPS) for setting in settings for rung in ("1", "2")]
    return places


def unfinished() -> list[Place]:
    """20,000 steps of what the file shows to have been cut at 1,000, but for rung 3 of `between`."""
    rows = [row for row in read_rows(FILE) if row["most_steps"] == STEPS and row["rate"] == 1 and row["decay"] == 0.01
            and row["rung"] not in ("1", "2") and max(row["steps"]) == STEPS]
    kinds = {"grid": tuple(STUDY)} | {name: (name,) for name in ("narrow", "keys only", "embeddings", "least samples",
                                                                 "between")}
    return [Place(f"{kind}, long", row["rung"], setting_of_row(row), SEEDS, LONG_STEPS)
            for kind, parts in kinds.items() for row in rows
            if row["part"] in parts and (kind, row["rung"]) != ("between", "3")]


def main() -> None:
    """Run what is missing, a line of progress for each training."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--count", action="store_true")
    parser.add_argument("--part", action="append")
    parser.add_argument("--rung", action="append")
    parser.add_argument("--limit", type=int, help="train so many and stop")
    parser.add_argument("--scheduler", help="a Dask cluster that does the work, as of recall-theory sweep")
    given = parser.parse_args()
    places = [place for place in large_ladder() if (not given.part or place.part in given.part)
              and (not given.rung or place.rung in given.rung)]
    if given.count:
        done = {row["key"] for row in read_rows(FILE)}
        print(f"{sum(place.key in done for place in places)} of {len(places)} trainings are done")
        return
    known = {row["key"] for row in read_rows(FILE)}
    places = [place for place in places if place.key not in known][:given.limit]
    start = time.time()

    def progress(done: int, total: int, what: str) -> None:
        print(f"{time.time() - start:7.0f} s  {done}/{total}  {what}", flush=True)

    cluster = functools.partial(cluster_map, address=given.scheduler, say=print, chunk_size=1)
    run_ladder(places, SEED, FILE, progress, cluster if given.scheduler else unordered_map)


if __name__ == "__main__":
    main()
