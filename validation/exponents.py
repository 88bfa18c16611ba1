"""Exponents from simulation: how the critical N and the critical d move with V, L and d.

For each value of the scanned size, the critical value is where an observable crosses one half. It is found from
simulations at five values around the predicted one (fixed beforehand, none chosen by its outcome): a weighted
straight line of the observable's logit in the logarithm. The exponent is the slope of the critical value over
the scan; its interval comes from resampling seeds. Beside it stand the slope of the exact prediction on the same
points and the exponent of the leading law.

    python -m validation.exponents [--jobs 2] [--out validation/exponents.json]
"""

from __future__ import annotations

import argparse
import dataclasses
import json
from pathlib import Path

import numpy as np

from recall_theory import Setting, solve_for
from recall_theory.settings import OBSERVABLES
from recall_theory.simulate.run import one_seed
from recall_theory.simulate.workers import collect
from recall_theory.verification.problem import cell_seed

AROUND = np.array([0.65, 0.8, 1.0, 1.25, 1.55])
RESAMPLES = 2000


@dataclasses.dataclass(frozen=True)
class Scan:
    """`of` is the critical size, `along` the scanned one; `law` its exponent by the leading law."""

    name: str
    of: str
    along: str
    values: tuple[int, ...]
    fixed: dict[str, float]
    observable: str
    seeds: int
    law: float | None
    ratio: float | None = None  # N = ratio * V where given


SCANS = (
    # sizes at which the critical N is many times V: below that a sample's overlap with itself adds to the lead
    Scan("attention: N in L", "N", "L", (64, 96, 144, 216), {"V": 64, "d": 24}, "attention", 500, 2.0),
    Scan("attention: N in V", "N", "V", (32, 64, 128, 256), {"L": 128, "d": 24}, "attention", 500, 0.5),
    Scan("attention: N in d", "N", "d", (18, 27, 40, 60), {"V": 64, "L": 128}, "attention", 500, -1.5),
    Scan("recall: N in V", "N", "V", (64, 91, 128, 181, 256), {"L": 2, "d": 128}, "recall", 240, 2.0),
    Scan("recall: N in d", "N", "d", (64, 91, 128, 181, 256), {"L": 2, "V": 96}, "recall", 240, -1.0),
    Scan("recall: d in V", "d", "V", (64, 128, 256, 512), {"L": 2}, "recall", 160, 0.5, ratio=2000),
)


def critical(x: np.ndarray, values: np.ndarray) -> np.ndarray:
    """ln of the crossing of one half: x (P,) sizes, values (..., P, seeds) observables."""
    mean = np.clip(values.mean(axis=-1), 1e-3, 1 - 1e-3)
    variance = np.maximum(values.var(axis=-1, ddof=1) / values.shape[-1], 1e-8)
    weight = (mean * (1 - mean)) ** 2 / variance  # of the logit
    logit, u = np.log(mean / (1 - mean)), np.log(x)
    total = weight.sum(-1)
    ubar, ybar = (weight * u).sum(-1) / total, (weight * logit).sum(-1) / total
    slope = ((weight * (u - ubar[..., None]) * (logit - ybar[..., None])).sum(-1)
             / (weight * (u - ubar[..., None]) ** 2).sum(-1))
    return ubar - ybar / slope


def slope(u: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Least-squares slopes of y (..., P) in u (P,)."""
    centred = u - u.mean()
    return (y * centred).sum(-1) / (centred**2).sum()


def measure(scan: Scan, seed: int, jobs: int) -> dict[str, object]:
    rng = np.random.default_rng(seed)
    observed, predicted, resampled = [], [], []
    for number, value in enumerate(scan.values):
        sizes = {**scan.fixed, scan.along: value}
        if scan.ratio is not None:
            sizes["N"] = round(scan.ratio * sizes["V"])
        found = solve_for(scan.of, 0.5, scan.observable, **sizes)
        assert found is not None, (scan, sizes)
        points = np.unique(np.rint(found.low * AROUND)).astype(int)
        settings = [Setting(**{**sizes, scan.of: int(p)}) for p in points]
        tasks = ((s, cell_seed(seed, 100 * number + i), j, None)
                 for i, s in enumerate(settings) for j in range(scan.seeds))
        column = OBSERVABLES.index(scan.observable)
        values = np.array(collect(one_seed, tasks, jobs=jobs))[:, column].reshape(len(points), scan.seeds)
        observed.append(float(critical(points, values)))
        predicted.append(float(np.log(found.low)))
        pick = rng.integers(scan.seeds, size=(RESAMPLES, len(points), scan.seeds))
        resampled.append(critical(points, np.take_along_axis(values[None], pick, axis=-1)))
    u = np.log(np.array(scan.values, dtype=float))
    spread = np.quantile(slope(u, np.stack(resampled, axis=-1)), [0.025, 0.975])
    return {
        **dataclasses.asdict(scan),
        "observed_critical": list(np.exp(observed)), "predicted_critical": list(np.exp(predicted)),
        "observed_slope": float(slope(u, np.array(observed))), "interval": [float(x) for x in spread],
        "predicted_slope": float(slope(u, np.array(predicted))),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=20261121)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "exponents.json")
    options = parser.parse_args()
    rows = []
    for number, scan in enumerate(SCANS):
        row = measure(scan, cell_seed(options.seed, number), options.jobs)
        rows.append(row)
        print(f"{scan.name:22s} observed {row['observed_slope']:6.3f} "
              f"[{row['interval'][0]:6.3f}, {row['interval'][1]:6.3f}]  exact prediction "
              f"{row['predicted_slope']:6.3f}  leading law {scan.law}", flush=True)
        options.out.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
