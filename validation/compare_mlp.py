"""Predictions of the Attention-MLP model beside its observed truth grid.

    python -m validation.compare_mlp [--observed validation/observed_mlp.json] [--worst 10] [--write]

As `compare.py`, whose figures these are; groups are the activations. --write keeps the summary in agreement_mlp.json,
which the docs quote and a test recomputes.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

from validation.compare import Row, rows

HERE = Path(__file__).parent
ALL = "all"


def figures(found: list[Row]) -> dict[str, float]:
    """Errors and excess over some comparisons."""
    excess = [r.excess for r in found]
    return {
        "settings": len({r.setting for r in found}),
        "attention_below_0.9": sum(r.name == "attention" and r.seen["mean"] < 0.9 for r in found),
        "fewest_seeds": min(r.seeds for r in found),
        "mean_error": float(np.mean([abs(r.predicted - r.seen["mean"]) for r in found])),
        "mean_excess": float(np.mean(excess)),
        "max_excess": float(np.max(excess)),
        "max_se": max(r.seen["se"] for r in found),
    }


def summarise(found: list[Row]) -> dict[str, dict[str, float]]:
    """The figures of each activation, and of all."""
    names = sorted({str(r.setting.activation) for r in found})
    return {name: figures([r for r in found if r.setting.activation == name]) for name in names} | {ALL: figures(found)}


def describe(r: Row) -> str:
    """One comparison in a line."""
    s = r.setting
    return f"{r.name} at V={s.V} L={s.L} d={s.d} N={s.N} m={s.m} {s.activation}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--observed", type=Path, default=HERE / "observed_mlp.json")
    parser.add_argument("--worst", type=int, default=10)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    found = rows(json.loads(options.observed.read_text()))
    summary = summarise(found)
    for name, shown in summary.items():
        print(name, " ".join(f"{key}={value:.5g}" for key, value in shown.items()))
    worst = sorted(found, key=lambda r: -r.excess)[: options.worst]
    for r in worst:
        print(f"    {r.excess:.4f} predicted {r.predicted:.4f} observed {r.seen['mean']:.4f} +- {r.seen['se']:.4f}  "
              f"{describe(r)}")
    if options.write:
        kept = {"groups": summary, "worst": [
            {"what": describe(r), "predicted": r.predicted, "observed": r.seen["mean"], "se": r.seen["se"],
             "excess": r.excess} for r in worst[:5]]}
        (HERE / "agreement_mlp.json").write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    main()
