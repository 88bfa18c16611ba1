"""The ladder from three gradient steps to a trained transformer: every training that docs/ladder.md quotes.

    python -m validation.ladder            # appends to validation/ladder.jsonl what it lacks; may be stopped any time
    python -m validation.ladder --part "keys only" --rung 3   # that alone; several may run side by side
    python -m validation.ladder --count    # says what is done and what is left

The rule, written before any of it ran. Settings: the 42 of `recall_theory.verification.ladder_study.grid_settings`, all
at 8 seeds (seed 1), at most 1,000 steps, learning rates and weight decay by the rules at the head of
`recall_theory.training.rungs`; then the same without the trigger in the values (rungs 1 to 5, the samples' settings and
V = 2 d), rungs 5 and 6 at d = 2, 3, 4, 6 (what embeddings that are trained can hold), orthogonal and spherical
embeddings at d = V, and, at V = 64, L = 8, d = 16, N = 2,048, learning rates of a quarter and four times the rule's,
weight decays of 0 and 0.1, and 4,000 steps. Small settings come first, so that a run that is cut short has whole
settings of all rungs. One part was added once the first settings were seen, since rungs 1 and 2 reach accuracy 0.5
below V = d: `fewer`, V = d/2 and d/4 along d, for these two. Nothing is left out or drawn again once it is seen.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path

# One thread: several of these may run side by side.
os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")

from recall_theory.verification.ladder_study import large_ladder, read_rows, run_ladder

FILE = Path(__file__).with_suffix(".jsonl")
SEED = 1


def main() -> None:
    """Run what is missing, a line of progress for each training."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--count", action="store_true")
    parser.add_argument("--part", action="append")
    parser.add_argument("--rung", action="append")
    parser.add_argument("--limit", type=int, help="train so many and stop")
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
    run_ladder(places, SEED, FILE, lambda done, total, what: print(f"{time.time() - start:7.0f} s  {done}/{total}  "
                                                                   f"{what}", flush=True))


if __name__ == "__main__":
    main()
