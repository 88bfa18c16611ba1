"""Geometric recall, predicted beside observed, on a grid drawn by a rule before anything was simulated.

    python -m validation.geometric draw full > validation/geometric_grid.toml
    python -m validation.geometric draw default > recall_theory/verification/shipped_grids/geometric.toml
    nice python -m validation.geometric observe [--seed 20261121]     # writes validation/geometric_observed.json
    python -m validation.geometric compare

The rule: a scrambled Sobol sequence with a fixed scramble, even in the logarithms of N, R and k and in the recall
that is aimed at for one pass; d is the least that is predicted to reach it. Three quarters of the cells have one
hop. The others have two to six, a third of them each with chain of thought, in one pass, and in two layers. It looks at
predictions, never at a simulation. Seeds a cell come from the predicted spread: a standard error of 0.002, at least 24.

The excess of a cell is max(0, |predicted - observed| - 2 standard errors).
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import qmc

from recall_theory.geometric import GeometricSetting, predict
from recall_theory.geometric.geometric_setting import MOST_CODED
from recall_theory.geometric.geometric_simulation import one_seed
from recall_theory.geometric.superposition import superposition_dimension
from recall_theory.settings import SettingError
from recall_theory.simulate.workers import ordered_map
from recall_theory.verification.problem import GEOMETRIC_RECALL, cell_seed, load_grid

HERE = Path(__file__).parent
CELLS = {"full": 64, "default": 16}
SCRAMBLE = {"full": 7, "default": 8}
SE, FEWEST, MOST = 0.002, 24, 4000  # standard error aimed at, and seeds a cell
WORK = 3e10  # multiplications a seed that a cell may take: some seconds


def between(u: float, low: float, high: float) -> int:
    """An integer from low to high, even in the logarithm."""
    return round(math.exp(math.log(low) + u * math.log(high / low)))


def draw(which: str) -> list[GeometricSetting]:
    """The cells of a grid."""
    cells: list[GeometricSetting] = []
    points = qmc.Sobol(5, seed=SCRAMBLE[which]).random(1024)
    for u in points:
        number = len(cells)
        if number == CELLS[which]:
            break
        hops, kind = (2 + round(4 * u[4]), number // 4 % 3) if number % 4 == 3 else (1, None)
        N, R, k = between(u[0], 4, 2048), between(u[1], 2, 16 if hops == 1 else 4), between(u[2], 4, 64)
        shape = {"hops": hops, "chain_of_thought": kind == 0, "depth": 2 if kind == 2 else 1}
        if which == "default":
            N = min(N, 512)
        try:
            s = GeometricSetting(N=N, R=R, code_length=k, d=k, **shape)
        except SettingError:
            continue  # more words than a construction may have
        d = superposition_dimension(N, s.words, k, 0.03 + 0.96 * u[3])
        work = s.words * N * k * (N + 2 * (d or 0))
        if d is not None and s.words * k <= MOST_CODED / 10 and work * FEWEST < WORK * 24:
            cells.append(s.replace(d=d))
    return cells


def seeds_for(s: GeometricSetting) -> int:
    """Seeds of a cell, from the predicted spread."""
    return int(np.clip(math.ceil((predict(s).std / SE) ** 2), FEWEST, MOST))


def shipped() -> list[GeometricSetting]:
    """The cells of the full grid, as they were drawn."""
    return load_grid(str(HERE / "geometric_grid.toml"), GEOMETRIC_RECALL)


def observe(seed: int, jobs: int, out: Path) -> None:
    """Simulate what is missing, cell by cell."""
    done = json.loads(out.read_text()) if out.exists() else []
    for number, s in enumerate(shipped()):
        if number < len(done):
            continue
        seeds = seeds_for(s)
        values = np.array(list(ordered_map(one_seed, ((s, cell_seed(seed, number), i) for i in range(seeds)), jobs)))
        done.append({"setting": s.to_dict(), "seeds": seeds, "mean": float(values.mean()),
                     "std": float(values.std(ddof=1))})
        out.write_text(json.dumps(done, indent=1) + "\n")
        print(number, seeds, flush=True)


@dataclasses.dataclass(frozen=True)
class Compared:
    """One cell: today's prediction beside what was seen."""

    setting: GeometricSetting
    seeds: int
    predicted: float
    predicted_std: float
    observed: float
    std: float

    @property
    def se(self) -> float:
        """The standard error of what was seen."""
        return self.std / math.sqrt(self.seeds)

    @property
    def excess(self) -> float:
        """The part of the difference that two standard errors don't cover."""
        return max(0.0, abs(self.predicted - self.observed) - 2 * self.se)


def compare(found: list[dict[str, Any]]) -> list[Compared]:
    """Each observed cell with its prediction."""
    cells = []
    for cell in found:
        s = GeometricSetting(**cell["setting"])
        p = predict(s)
        cells.append(Compared(s, cell["seeds"], p.recall, p.std, cell["mean"], cell["std"]))
    return cells


def summary(cells: list[Compared]) -> dict[str, float]:
    """The figures that are claimed."""
    moving = [c for c in cells if c.std > 0]
    return {
        "settings": len(cells), "one_hop": sum(c.setting.hops == 1 for c in cells),
        "fewest_seeds": min(c.seeds for c in cells), "largest_se": max(c.se for c in cells),
        "mean_excess": float(np.mean([c.excess for c in cells])), "max_excess": max(c.excess for c in cells),
        "largest_difference": max(abs(c.predicted - c.observed) for c in cells),
        "rms_z": float(np.sqrt(np.mean([((c.predicted - c.observed) / c.se) ** 2 for c in moving]))),
        "median_std_ratio": float(np.median([c.predicted_std / c.std for c in moving])),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("draw", "observe", "compare"))
    parser.add_argument("grid", nargs="?", choices=tuple(CELLS), default="full")
    parser.add_argument("--seed", type=int, default=20261121)
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    out = HERE / "geometric_observed.json"
    if options.what == "draw":
        print(f"# The {options.grid} grid of geometric recall, drawn by validation/geometric.py before anything was "
              "simulated.")
        for s in draw(options.grid):
            print("\n[[cell]]")
            for name, value in s.to_dict().items():
                if name in ("N", "R", "d", "code_length") or (name in ("hops", "depth") and value > 1):
                    print(f"{name} = {value}")
                elif name == "chain_of_thought" and value:
                    print(f"{name} = true")
    elif options.what == "observe":
        observe(options.seed, options.jobs, out)
    else:
        cells = compare(json.loads(out.read_text()))
        for name, value in summary(cells).items():
            print(f"{name:20s} {value:.5g}")
        for c in sorted(cells, key=lambda c: -c.excess)[:8]:
            print(f"excess {c.excess:.4f} predicted {c.predicted:.4f} observed {c.observed:.4f} +- {c.se:.4f} "
                  f"{c.setting}")


if __name__ == "__main__":
    main()
