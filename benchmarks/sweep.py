"""What a sweep's machinery costs beside the bare simulation, and how long a finished one takes to resume.

    python benchmarks/sweep.py [cells]

The same cells (each a setting of its own, one seed) are simulated by a bare loop over `one_seed` and by
`sweep` with a new store on disk, in turns, in processor time and on the wall clock; medians over the rounds. Then
the finished sweep is resumed in the library and by the command line.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time

import numpy as np
from threadpoolctl import threadpool_limits

from recall_theory.simulate.run import one_seed
from recall_theory.sweep import Problem, Store, product, sweep

ROUNDS = 5


def timed(function) -> np.ndarray:
    """Processor and wall-clock seconds of a call."""
    before = np.array([time.process_time(), time.perf_counter()])
    function()
    return np.array([time.process_time(), time.perf_counter()]) - before


def main() -> None:
    wanted = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    scan = {"N": range(64, 64 + wanted // 4), "L": [2, 3, 4, 6]}
    cells = product(scan, V=32, d=32)
    folder = tempfile.mkdtemp()
    todo = [(p.setting, p.cell_seed, 0, None) for p in (Problem(s, 1) for s in cells)]

    def loop(tasks: list) -> None:
        with threadpool_limits(1):
            for task in tasks:
                one_seed(*task)

    loop(todo[:200])
    times = []
    for part in range(ROUNDS):
        path = os.path.join(folder, f"{part}.db")
        bare, whole = timed(lambda: loop(todo)), timed(lambda path=path: sweep(cells, 1, 1, store=path))
        times.append((*bare, *whole, *(whole / bare - 1)))
    b, bw, w, ww, more, more_wall = np.median(times, axis=0)
    print(f"{len(cells)} cells: bare {b:.2f} s of processor, {bw:.2f} s of wall clock; sweep {w:.2f} and {ww:.2f}, "
          f"{100 * more:.1f} % and {100 * more_wall:.1f} % more")
    cpu, wall = timed(lambda: sweep(cells, 1, 1, store=path))
    print(f"resumed in the library: {cpu:.2f} s of processor, {wall:.2f} s of wall clock")
    with Store(path) as store:
        print(f"{len(store.problems())} problems, {os.path.getsize(path) / 2**20:.1f} MiB")
    command = [sys.executable, "-m", "recall_theory", "sweep", "--scan", f"N=64:{63 + wanted // 4}:+1", "--scan",
               "L=2,3,4,6", "--V", "32", "--d", "32", "--seeds", "1", "--seed", "1", "--store", path]
    for form in ([], ["--json"], ["--csv"]):
        wall = timed(lambda form=form: subprocess.run([*command, *form], check=True, stdout=subprocess.DEVNULL))[1]
        print(f"resumed by the command line {' '.join(form)}: {wall:.2f} s of wall clock")


if __name__ == "__main__":
    main()
