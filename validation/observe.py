"""Simulate the truth grid and keep what was seen, cell by cell; an interrupted run goes on where it was.

    python -m validation.observe [--jobs 2] [--out validation/observed.json] [--seed 20261120]

Seeds a cell come from the rule in draw_grid.py; where the standard error is still over 0.01, more follow.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np
from scipy.stats import bootstrap

from recall_theory import Setting
from recall_theory.settings import OBSERVABLES
from recall_theory.simulate.run import one_seed
from recall_theory.simulate.workers import collect
from recall_theory.verification.grids import load_grid
from recall_theory.verification.sampling import cell_seed
from validation.draw_grid import guess, seeds_for

MOST_SEEDS = 4000


def summary(values: np.ndarray) -> dict[str, object]:
    """Mean, standard error, spread and the spread's 95 % bootstrap interval of each observable."""
    result: dict[str, object] = {"seeds": len(values)}
    for name, column in zip(OBSERVABLES, values.T, strict=True):
        std = float(column.std(ddof=1))
        low, high = std, std
        if std > 0:
            interval = bootstrap((column,), lambda x, axis: x.std(axis=axis, ddof=1), n_resamples=1999,
                                 method="percentile", rng=np.random.default_rng(0)).confidence_interval
            low, high = float(interval.low), float(interval.high)
        result[name] = {"mean": float(column.mean()), "se": std / len(values) ** 0.5, "std": std,
                        "std_low": low, "std_high": high}
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--grid", default="attention-only")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "observed.json")
    parser.add_argument("--seed", type=int, default=20261120)
    options = parser.parse_args()
    done = json.loads(options.out.read_text()) if options.out.exists() else {}
    for number, setting in enumerate(load_grid(options.grid)):
        key = json.dumps(setting.to_dict(), sort_keys=True)
        if key in done:
            continue
        started, seed = time.perf_counter(), cell_seed(options.seed, number)
        wanted, values = seeds_for(guess(setting)), np.empty((0, 3))
        while len(values) < min(wanted, MOST_SEEDS):
            tasks = ((setting, seed, i, None, None) for i in range(len(values), wanted))
            values = np.concatenate([values, collect(one_seed, tasks, jobs=options.jobs)])
            # a spread over the predicted one asks for more seeds than were planned
            wanted = max(wanted, int(np.ceil((values.std(axis=0, ddof=1).max() / 0.0098) ** 2)))
        done[key] = summary(values)
        temporary = options.out.with_suffix(".part")
        temporary.write_text(json.dumps(done, indent=1))
        temporary.replace(options.out)
        print(f"{number:4d} {time.perf_counter() - started:6.1f} s  {short(setting)}", flush=True)


def short(s: Setting) -> str:
    return f"V={s.V} L={s.L} d={s.d} N={s.N} {s.embedding}{'' if s.trigger_in_value else ' keys only'}"


if __name__ == "__main__":
    main()
