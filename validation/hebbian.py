"""Hebbian memories: a grid drawn from a rule, simulated once, and the law's error on it.

For each kind of embedding the grid is a Sobol sequence with a fixed scramble, even in the logarithm of d (32 to 1024)
and of n between d/2 and d^2/4; memories of more than 2^25 numbers are passed over. It looks at no prediction. Memories
are added until the standard error over seeds is below 0.003, or 64 have been seen.

    python -m validation.hebbian        # simulates what hebbian.json lacks, then prints the law beside it
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import qmc

from recall_theory.simulate.memories import hebbian_recall as simulated
from recall_theory.theory.memories import hebbian_recall

FILE = Path(__file__).parent / "hebbian.json"
CELLS, LARGEST, SE, FEWEST, MOST, QUESTIONS = 32, 2**25, 0.003, 8, 64, 1024
SEED = 20261121


def grid() -> list[dict[str, Any]]:
    """The cells, in the order of the sequences."""
    cells: list[dict[str, Any]] = []
    for kind, embedding in enumerate(("gaussian", "sphere")):
        points = qmc.Sobol(2, rng=np.random.default_rng(SEED + kind))
        found: list[dict[str, Any]] = []
        while len(found) < CELLS:
            for u, v in points.random(64):
                d = round(32 * (1024 / 32) ** u)
                low, high = d / 2, d * d / 4
                n = round(low * (high / low) ** v)
                if n * d <= LARGEST and len(found) < CELLS:
                    found.append({"n": n, "d": d, "embedding": embedding})
        cells += found
    return cells


def observe(cell: dict[str, Any], number: int) -> dict[str, Any]:
    """Mean recall and its standard error over seeds, as many as the rule asks for."""
    values = np.empty(0)
    while len(values) < FEWEST or (values.std(ddof=1) > SE * len(values) ** 0.5 and len(values) < MOST):
        seen = simulated(cell["n"], cell["d"], cell["embedding"], questions=QUESTIONS, seeds=FEWEST,
                         seed=SEED + 1000 * number + len(values))
        values = np.concatenate([values, seen.values])
    return cell | {"seeds": len(values), "recall": values.mean(), "se": values.std(ddof=1) / len(values) ** 0.5}


def errors(cells: list[dict[str, Any]]) -> np.ndarray:
    """Law minus simulation, a number a cell."""
    return np.array([float(hebbian_recall(c["n"], c["d"], c["embedding"])) - c["recall"] for c in cells])


def main() -> None:
    done = json.loads(FILE.read_text()) if FILE.exists() else []
    for number, cell in enumerate(grid()[len(done):], len(done)):
        done.append(observe(cell, number))
        FILE.write_text(json.dumps(done, indent=1) + "\n")
        print(number, done[-1], flush=True)
    for cell, error in zip(done, errors(done), strict=True):
        print(f"{cell['embedding']:9s} d={cell['d']:5d} n={cell['n']:6d} recall {cell['recall']:.4f} "
              f"+- {cell['se']:.4f}  law {error:+.4f}")


if __name__ == "__main__":
    main()
