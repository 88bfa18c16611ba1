"""What `verify` finds at its default budget: wrong formulas rejected, right ones not, on resampled observations.

    python validation/power.py [--repeats 500] [--values values.npz] [--write]

The default grid is simulated once with the planned seeds (kept in --values where given, and read from there again).
Each repeat draws every cell's seeds anew from what was seen, with replacement, and judges all formulas by it. A wrong
formula counts as off in a cell where it misses the observed mean by more than the margin and the smallest detectable
bias together. The last formulas are right ones: the theory, and one that is off by exactly the margin everywhere.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np

from recall_theory import Setting, predict
from recall_theory.grids import load
from recall_theory.simulate.observe import OBSERVABLES
from recall_theory.simulate.run import run_tasks
from recall_theory.statistics import (
    DISAGREE,
    VERDICT_ALPHA,
    family_confidence,
    judge,
    mean_intervals,
    smallest_detectable_bias,
)
from recall_theory.theory.margins import declared_margin
from recall_theory.verify import cell_seed, planned_seeds

HERE = Path(__file__).parent


def at(**factors: float) -> Callable[[Setting], tuple[float, ...]]:
    """The theory at sizes multiplied by the factors."""

    def law(s: Setting) -> tuple[float, ...]:
        wrong = {k: max(1, round(getattr(s, k) * f)) for k, f in factors.items()}
        if s.embedding == "orthogonal":
            wrong["d"] = max(wrong.get("d", s.d), s.V)
        return means(s.replace(**wrong))

    return law


def means(s: Setting) -> tuple[float, ...]:
    p = predict(s)
    return tuple(getattr(p, o) for o in OBSERVABLES)


def without_trigger(s: Setting) -> tuple[float, ...]:
    """The mean bias left out of recall: the shared trigger forgotten."""
    bare = predict(s.replace(trigger_in_value=False))
    return means(s)[0], bare.recall, bare.accuracy


FORMULAS: dict[str, Callable[[Setting], tuple[float, ...]]] = {
    "L dropped": lambda s: means(s.replace(L=1)),
    "half of L": at(L=0.5),
    "d 10 % up": at(d=1.1),
    "d 10 % down": at(d=0.9),
    "half of N": at(N=0.5),
    "mean bias left out": without_trigger,
    "the theory": means,
}


def observed(path: Path | None, grid: list[Setting], confidence: float, jobs: int) -> list[np.ndarray]:
    """(seeds, 3) of every cell, simulated or read."""
    if path is not None and path.exists():
        with np.load(path) as kept:
            return [kept[f"v{c}"] for c in range(len(grid))]
    found = []
    for c, s in enumerate(grid):
        n = planned_seeds(predict(s), OBSERVABLES, declared_margin(s), confidence)
        found.append(np.array(list(run_tasks(((s, cell_seed(1, c), i, None, None) for i in range(n)), jobs))))
    if path is not None:
        np.savez(path, **{f"v{c}": v for c, v in enumerate(found)})
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=500)
    parser.add_argument("--values", type=Path)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=20261121)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    grid = load("default")
    confidence = family_confidence(len(OBSERVABLES) * len(grid), VERDICT_ALPHA)
    values = observed(options.values, grid, confidence, options.jobs)
    margins = [declared_margin(s) for s in grid]
    plan = [planned_seeds(predict(s), OBSERVABLES, m, confidence) for s, m in zip(grid, margins, strict=True)]
    claims = {name: np.array([law(s) for s in grid]) for name, law in FORMULAS.items()}
    truth = np.array([v.mean(axis=0) for v in values])
    claims["off by the margin"] = truth + np.array(margins)[:, None] * np.where(truth < 0.5, 1, -1)
    off: dict[str, int] = {}
    for name, claim in claims.items():
        off[name] = 0
        for v, mine, m in zip(values, claim, margins, strict=True):
            seen = mean_intervals(v.T, confidence)
            least = [smallest_detectable_bias(float(v[:, i].mean()), float(seen.low[i]), float(seen.high[i]),
                                              float(v[:, i].std(ddof=1)) / len(v) ** 0.5) for i in range(3)]
            off[name] += bool((np.abs(v.mean(axis=0) - mine) > m + np.array(least)).any())
    rng = np.random.default_rng(options.seed)
    rejected = dict.fromkeys(claims, 0)
    for _ in range(options.repeats):
        hit: set[str] = set()
        for c, (v, n) in enumerate(zip(values, plan, strict=True)):
            seen = mean_intervals(v[rng.integers(len(v), size=n)].T, confidence)
            hit |= {name for name, claim in claims.items() if any(
                judge(low - p, high - p, margins[c]) == DISAGREE
                for low, high, p in zip(seen.low, seen.high, claim[c], strict=True))}
        for name in hit:
            rejected[name] += 1
    result = {name: {"cells_off": off[name], "rejected": rejected[name] / options.repeats} for name in claims}
    for name, f in result.items():
        print(f"{name:24s} off in {f['cells_off']:3d} cells, rejected in {f['rejected']:.4f} of {options.repeats}")
    if options.write:
        kept = {"repeats": options.repeats, "cells": len(grid), "seeds": sum(plan), "formulas": result}
        (HERE / "power.json").write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    main()
