"""Simulate the Attention-MLP grid and keep what was seen, cell by cell; an interrupted run goes on where it was.

    python -m validation.observe_mlp [--jobs 2] [--grid validation/mlp_grid.toml] [--out validation/observed_mlp.json]

Seeds a cell come from the rule in draw_mlp_grid.py; where the standard error is still over 0.01, more follow. Accuracy
is summed over all test sequences, so that the spread is that of the seeds alone. The cheapest cells come first.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np

from recall_theory import predict
from recall_theory.simulate.run import one_seed
from recall_theory.simulate.workers import collect
from recall_theory.verification.grids import load_grid
from recall_theory.verification.sampling import cell_seed
from validation.draw_mlp_grid import seconds, seeds_for
from validation.observe import MOST_SEEDS, summary

HERE = Path(__file__).parent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--grid", default=str(HERE / "mlp_grid.toml"))
    parser.add_argument("--out", type=Path, default=HERE / "observed_mlp.json")
    parser.add_argument("--seed", type=int, default=20261121)
    options = parser.parse_args()
    done = json.loads(options.out.read_text()) if options.out.exists() else {}
    cells = [(s, cell_seed(options.seed, number), seeds_for(predict(s)))
             for number, s in enumerate(load_grid(options.grid))]
    for setting, seed, wanted in sorted(cells, key=lambda cell: cell[2] * seconds(cell[0])):
        key = json.dumps(setting.to_dict(), sort_keys=True)
        if key in done:
            continue
        started, values = time.perf_counter(), np.empty((0, 3))
        while len(values) < min(wanted, MOST_SEEDS):
            tasks = ((setting, seed, i, None, None) for i in range(len(values), wanted))
            values = np.concatenate([values, collect(one_seed, tasks, jobs=options.jobs)])
            # a spread over the predicted one asks for more seeds than were planned
            wanted = max(wanted, int(np.ceil((values.std(axis=0, ddof=1).max() / 0.0098) ** 2)))
        done[key] = summary(values)
        temporary = options.out.with_suffix(".part")
        temporary.write_text(json.dumps(done, indent=1))
        temporary.replace(options.out)
        print(f"{time.perf_counter() - started:6.1f} s  {len(values)} seeds  {setting}", flush=True)


if __name__ == "__main__":
    main()
