"""Observe every cell of the default grid of `verify` many times over, for studies that resample it.

    python -m validation.bank

bank.npz holds the three observables of `SEEDS` seeds a cell, as fractions of 65,535. Takes some minutes.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from recall_theory.settings import OBSERVABLES
from recall_theory.simulate.run import one_seed
from recall_theory.simulate.workers import collect
from recall_theory.verification.problem import load_grid

HERE = Path(__file__).parent
SEEDS = 8000
SEED = 20261129
SCALE = 2**16 - 1


def values() -> list[np.ndarray]:
    """(SEEDS, 3) of every cell."""
    with np.load(HERE / "bank.npz") as kept:
        return list(kept["values"] / SCALE)


def main() -> None:
    found = []
    for number, setting in enumerate(load_grid("default")):
        tasks = ((setting, SEED, number * SEEDS + i, None) for i in range(SEEDS))
        found.append(np.array(collect(one_seed, tasks, jobs=2)))
        print(number, found[-1].mean(axis=0).round(4), flush=True)
    assert np.shape(found)[1:] == (SEEDS, len(OBSERVABLES))
    np.savez_compressed(HERE / "bank.npz", values=np.rint(np.array(found) * SCALE).astype(np.uint16))


if __name__ == "__main__":
    main()
