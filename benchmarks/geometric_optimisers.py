"""Adam in single and in double precision beside L-BFGS, on the same facts from the same start, without noise.

    OPENBLAS_NUM_THREADS=1 python benchmarks/geometric_optimisers.py [SEEDS]

The table goes to geometric_optimisers.json too, which docs/geometric-training.md shows. L-BFGS is SciPy's, in double
precision, with as many evaluations of loss and gradients as Adam takes steps. (With
noise the loss is a different function in each step, which a line search can't bear.)
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import numpy as np
from scipy.optimize import minimize

from recall_theory.geometric import TrainingSetting
from recall_theory.geometric.recall_network import (
    ARRAYS,
    FactTable,
    RecallNetwork,
    draw_fact_table,
    draw_network,
    loss_and_gradients,
    optimise,
    recall,
)


def as_type(network: RecallNetwork, kind: type) -> RecallNetwork:
    return RecallNetwork(*(getattr(network, name).astype(kind) for name in ARRAYS))


def lbfgs(network: RecallNetwork, task: FactTable, setting: TrainingSetting) -> RecallNetwork:
    network = as_type(network, np.float64)
    shapes = [getattr(network, name).shape for name in ARRAYS]
    ends = np.cumsum([np.prod(shape) for shape in shapes])[:-1]

    def unpacked(x: np.ndarray) -> RecallNetwork:
        return RecallNetwork(*(part.reshape(shape) for part, shape in zip(np.split(x, ends), shapes, strict=True)))

    def objective(x: np.ndarray) -> tuple[float, np.ndarray]:
        loss, gradients = loss_and_gradients(unpacked(x), task)
        return loss, np.concatenate([gradients[name].ravel() for name in ARRAYS])

    start = np.concatenate([getattr(network, name).ravel() for name in ARRAYS])
    found = minimize(objective, start, jac=True, method="L-BFGS-B",
                     options={"maxfun": setting.steps, "maxiter": setting.steps, "maxcor": 20})
    return unpacked(found.x)


def main() -> None:
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else 8
    rows = []
    print("    N  R   d  optimiser      recalls 99 %  mean recall  processor s")
    for N, R, ds in ((256, 2, (4, 5, 6, 16)), (256, 4, (6, 7, 8, 9, 10, 32))):
        for d in ds:
            setting = TrainingSetting(N=N, R=R, d=d, noise=0)
            seen: dict[str, list[tuple[float, float]]] = {}
            for seed in range(seeds):
                rng = np.random.default_rng(seed)
                task, network = draw_fact_table(setting, rng), draw_network(setting, rng)
                double = FactTable(task.codes.astype(np.float64), task.facts)
                for name, fit in (
                    ("Adam, single", lambda: optimise(network, task, setting, rng)),  # noqa: B023 - called at once
                    ("Adam, double", lambda: optimise(as_type(network, np.float64), double, setting, rng)),  # noqa: B023
                    ("L-BFGS", lambda: lbfgs(network, double, setting)),  # noqa: B023
                ):
                    clock = time.process_time()
                    value = recall(fit(), double)
                    seen.setdefault(name, []).append((value, time.process_time() - clock))
            for name, runs in seen.items():
                values, times = np.array(runs).T
                print(f"{N:5d} {R:2d} {d:3d}  {name:13s} {np.mean(values >= 0.99):12.2f} {values.mean():12.4f} "
                      f"{np.median(times):11.2f}", flush=True)
                rows.append({"N": N, "R": R, "d": d, "optimiser": name, "recall": values.tolist(),
                             "seconds": float(np.median(times))})
    Path(__file__).with_suffix(".json").write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
