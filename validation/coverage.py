"""How often the intervals of `verify` hold the true mean, on named laws of per-seed values, skewed ones included.

    python -m validation.coverage [--repeats 20000] [--write]

For each law and number of seeds: how often each method of the rule applies, and how often its interval covers. The last
block looks at the interval for any number of seeds after every seed, and counts the runs that it ever leaves the truth
out of. --write keeps the figures in coverage.json, which the docs quote and a test recomputes in part.
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

from recall_theory.verification.intervals import anytime_interval, mean_intervals

HERE = Path(__file__).parent
SEEDS = (8, 16, 32, 64, 128, 512)
CONFIDENCE = 0.95
LOOKS = (8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)  # the more looks, the more chances to err
METHODS = ("t", "BCa", "any law")

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
                "looks": LOOKS, "fixed": fixed, "ever_missed": anytime}
        (HERE / "coverage.json").write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    main()
