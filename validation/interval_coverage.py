"""How often the intervals of `verify` hold the true mean: of cells of the default grid, and on named laws.

    python -m validation.interval_coverage [--repeats 20000] [--write]

`cells` resamples recall and accuracy of ten cells of the default grid from bank.npz (see bank.py). The laws are harder:
for each of them and number of seeds, how often each method of the rule applies, and how often its interval covers.
`stopped` are runs of those cells that look three times, as `verify` does, and end at the first verdict. `ever_missed`
looks at the interval for any number of seeds often, and counts the runs that it ever leaves the truth out of. --write
keeps the figures in coverage.json, which the docs quote and a test recomputes in part.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import integrate, stats

from recall_theory.settings import OBSERVABLES
from recall_theory.verification.intervals import anytime_interval, mean_intervals
from recall_theory.verification.problem import load_grid
from validation.bank import values

HERE = Path(__file__).parent
SEEDS = (8, 16, 32, 64, 128, 512)
CONFIDENCE = 0.95
LOOKS = (8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)  # the more looks, the more chances to err
METHODS = ("t", "rare failures", "any law")
CELLS = (0, 1, 3, 5, 8, 10, 15, 18, 25, 37)  # of the default grid, few and many right, with and without an MLP
STAGES = (24, 192, 480)  # looks of a run that may stop early

Draw = Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]


@dataclasses.dataclass(frozen=True)
class Law:
    """A law of per-seed values in [0, 1]: how it is drawn, and its exact mean."""

    draw: Draw
    mean: float


def _beta(a: float, b: float) -> Law:
    return Law(lambda rng, size: rng.beta(a, b, size), a / (a + b))


def _probit(shift: float, scale: float) -> Law:
    """Phi(shift + scale Z): a probability ruled by a signal-to-noise ratio that differs from seed to seed."""
    return Law(lambda rng, size: stats.norm.cdf(shift + scale * rng.normal(size=size)),
               float(stats.norm.cdf(shift / np.hypot(1, scale))))


def _failing(share: float, usual: Law) -> Law:
    """Every value 0 in a share of all seeds, and as usual in the others."""
    return Law(lambda rng, size: np.where(rng.random(size) < share, 0, usual.draw(rng, size)), (1 - share) * usual.mean)


def _deficit(median: float, sigma: float) -> Law:
    """1 - a lognormal deficit, at most 1."""

    def survival(x: float) -> float:
        return float(stats.norm.sf(np.log(x / median) / sigma))

    mean = integrate.quad(survival, 0, 1, points=[median], epsabs=1e-12, limit=200)[0]
    return Law(lambda rng, size: 1 - np.minimum(1, median * np.exp(sigma * rng.normal(size=size))), 1 - mean)


def _overdispersed(n: int, a: float, b: float) -> Law:
    """A share of n facts, whose probability differs from seed to seed."""
    return Law(lambda rng, size: rng.binomial(n, rng.beta(a, b, size)) / n, a / (a + b))


LAWS: dict[str, Law] = {
    "uniform": _beta(1, 1),
    "bell, beta(40, 60)": _beta(40, 60),
    "U-shaped, beta(1/2, 1/2)": _beta(0.5, 0.5),
    "skewed, beta(8, 1)": _beta(8, 1),
    "very skewed, beta(1/2, 10)": _beta(0.5, 10),
    "facts of 64, overdispersed": _overdispersed(64, 9, 1),
    "facts of 32, few right": _overdispersed(32, 0.5, 9.5),
    "probit, in transition": _probit(1, 1),
    "probit, high": _probit(3, 1),
    "probit, rare failures": _probit(6, 2),
    "lognormal deficit": _deficit(0.01, 1.5),
    "coin": _failing(0.5, Law(lambda rng, size: np.ones(size), 1)),
    "fails 1 seed in 10": _failing(0.1, _beta(300, 3)),
    "fails 1 seed in 30": _failing(1 / 30, _beta(300, 3)),
    "fails 1 seed in 100": _failing(0.01, _beta(300, 3)),
    "fails 1 seed in 300, else 1": _failing(1 / 300, Law(lambda rng, size: np.ones(size), 1)),
    "half, fails 1 seed in 30": _failing(1 / 30, _beta(50, 50)),
}


def coverage(law: Law, seeds: int, repeats: int, rng: np.random.Generator,
             confidence: float = CONFIDENCE) -> dict[str, Any]:
    """Share of each method and how often it covers; the mean half width of all."""
    found = mean_intervals(law.draw(rng, (repeats, seeds)), confidence)
    hit = (found.low - 1e-12 <= law.mean) & (law.mean <= found.high + 1e-12)
    result: dict[str, Any] = {"covered": float(hit.mean()), "half_width": float((found.high - found.low).mean() / 2)}
    for method in METHODS:
        mine = found.method == method
        result[method] = {"share": float(mine.mean()), "covered": float(hit[mine].mean()) if mine.any() else None}
    judged = found.method != "any law"
    result["judged"] = {"share": float(judged.mean()), "covered": float(hit[judged].mean()) if judged.any() else None}
    return result


def of_cells() -> dict[str, Law]:
    """The laws of ten cells' recall and accuracy, as the bank has them."""
    laws, bank, grid = {}, values(), load_grid("default")
    for c in CELLS:
        s = grid[c]
        mlp = "" if s.m is None else f", {s.activation} {s.m}"
        for o in ("recall", "accuracy"):
            x = bank[c][:, OBSERVABLES.index(o)]
            laws[f"{o} at V = {s.V}, L = {s.L}, d = {s.d}, N = {s.N}{mlp}, {s.embedding}"] = Law(
                lambda rng, size, x=x: x[rng.integers(len(x), size=size)], float(x.mean()))
    return laws


def stopped(law: Law, repeats: int, rng: np.random.Generator, margin: float = 0.03) -> float:
    """How often the last interval of a run covers that ends as soon as a formula 0.03 off has a verdict."""
    rows, confidence = law.draw(rng, (repeats, STAGES[-1])), 1 - (1 - CONFIDENCE) / len(STAGES)
    going, hit, claim = np.ones(repeats, dtype=bool), np.zeros(repeats, dtype=bool), law.mean + margin
    for n in STAGES:
        found = mean_intervals(rows[going, :n], confidence)
        hit[going] = (found.low <= law.mean) & (law.mean <= found.high)
        decided = (found.low - claim > margin) | (found.high - claim < -margin)
        decided |= (np.abs(found.low - claim) < margin) & (np.abs(found.high - claim) < margin)
        going[going] = ~decided
        if not going.any():
            break
    return float(hit.mean())


def ever_missed(law: Law, repeats: int, rng: np.random.Generator, confidence: float = CONFIDENCE) -> float:
    """Share of runs in which the anytime interval leaves out the truth at any of the looks."""
    values = law.draw(rng, (repeats, LOOKS[-1]))
    missed = np.zeros(repeats, dtype=bool)
    for n in LOOKS:
        low, high = anytime_interval(values[:, :n], confidence)
        missed |= (law.mean < low - 1e-12) | (law.mean > high + 1e-12)
    return float(missed.mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=20261121)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    fixed: dict[str, Any] = {}
    anytime: dict[str, float] = {}
    cells = {name: {str(n): coverage(law, n, options.repeats, rng)["covered"] for n in SEEDS[1:]}
             for name, law in of_cells().items()}
    early = {name: stopped(law, options.repeats, rng) for name, law in of_cells().items()}
    print(json.dumps({"cells": cells, "stopped": early}, indent=1), flush=True)
    for name, law in LAWS.items():
        fixed[name] = {str(n): coverage(law, n, options.repeats, rng) for n in SEEDS}
        anytime[name] = ever_missed(law, options.repeats // 10, rng)
        for n, f in fixed[name].items():
            methods = "  ".join(f"{m} {f[m]['share']:.3f}" + (f" ({f[m]['covered']:.4f})" if f[m]["share"] else "")
                                for m in METHODS)
            print(f"{name:28s} {n:>4s}  covered {f['covered']:.4f}  half width {f['half_width']:.4f}  {methods}",
                  flush=True)
        print(f"{name:28s}  ever missed {anytime[name]:.4f}", flush=True)
    if options.write:
        kept = {"confidence": CONFIDENCE, "repeats": options.repeats, "repeats_anytime": options.repeats // 10,
                "looks": LOOKS, "cells": cells, "stopped": early, "fixed": fixed, "ever_missed": anytime}
        (HERE / "coverage.json").write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    main()
