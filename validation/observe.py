"""Simulate drawn settings and keep what was seen; an interrupted run goes on where it was.

    python -m validation.observe draw.json --out validation/fresh.json --seed 505 [--seconds 2]

Seeds of a setting follow until every standard error is below 0.0012 (64 seeds at least) or its time is over. Sequences
of the test are summed over, not drawn: attention and accuracy have no other error than that of the seeds.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np

from recall_theory import Setting, simulate
from recall_theory.settings import OBSERVABLES

ENOUGH, FEWEST, MOST = 0.0012, 64, 6000


def observed(setting: Setting, seed: int, seconds: float) -> dict[str, Any]:
    """Seeds, and mean, standard error and spread of each observable."""
    started, parts, count = time.process_time(), [], 16
    while True:
        run = simulate(setting, seeds=count, seed=seed + len(parts), n_test=None, jobs=1)
        parts.append(np.stack([getattr(run, o).values for o in OBSERVABLES]))
        values = np.concatenate(parts, axis=1)
        n = values.shape[1]
        std = values.std(axis=1, ddof=1)
        sharp = n >= FEWEST and std.max() / n**0.5 < ENOUGH
        if sharp or n >= MOST or time.process_time() - started > seconds:
            return {"seeds": n, **{o: {"mean": float(m), "se": float(s) / n**0.5, "std": float(s)}
                                   for o, m, s in zip(OBSERVABLES, values.mean(axis=1), std, strict=True)}}
        count = max(16, min(512, n))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("draw", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--seconds", type=float, default=6.0)
    options = parser.parse_args()
    rows = json.loads(options.draw.read_text())
    done = json.loads(options.out.read_text()) if options.out.exists() else []
    for number, row in enumerate(rows[len(done):], start=len(done)):
        seed = 100_000 * options.seed + 1000 * number
        done.append({**row, **observed(Setting(**row["setting"]), seed, options.seconds)})
        temporary = options.out.with_suffix(".part")
        temporary.write_text("[\n" + ",\n".join(map(json.dumps, done)) + "\n]\n")
        temporary.replace(options.out)


if __name__ == "__main__":
    main()
