"""Predictions beside the observed truth grid: excess, spread and what misses most.

    python -m validation.compare [--observed validation/observed.json] [--worst 10] [--write]

excess = max(0, |predicted - observed| - 2 standard errors). --write keeps the summary in agreement.json, which the
README and the docs quote and a test recomputes.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np

from recall_theory import Setting, predict
from recall_theory.settings import OBSERVABLES

HERE = Path(__file__).parent
GROUPS = {  # the targets are set for these
    "gaussian": lambda s: s.embedding == "gaussian" and s.trigger_in_value,
    "sphere": lambda s: s.embedding == "sphere" and s.trigger_in_value,
    "orthogonal": lambda s: s.embedding == "orthogonal" and s.trigger_in_value,
    "trigger in keys only": lambda s: not s.trigger_in_value,
}
SPREAD_COUNTS = 0.01  # spreads of at least this are judged


@dataclasses.dataclass(frozen=True)
class Row:
    """One observable of one cell."""

    setting: Setting
    name: str
    predicted: float
    predicted_std: float
    seen: dict[str, float]
    seeds: int

    @property
    def excess(self) -> float:
        return max(0.0, abs(self.predicted - self.seen["mean"]) - 2 * self.seen["se"])

    @property
    def spread_counts(self) -> bool:
        return self.seen["std"] > SPREAD_COUNTS and self.seeds >= 128

    @property
    def ratio(self) -> tuple[float, float, float]:
        """Observed over predicted spread, and the 95 % bootstrap interval of that."""
        predicted = max(self.predicted_std, 1e-12)
        return tuple(self.seen[k] / predicted for k in ("std", "std_low", "std_high"))  # type: ignore[return-value]

    @property
    def spread_is_off(self) -> bool:
        return self.ratio[2] < 0.8 or self.ratio[1] > 1.25


def rows(observed: dict[str, Any]) -> list[Row]:
    """All comparisons of a file of observations, with today's predictions."""
    found = []
    for key, seen in observed.items():
        s = Setting(**json.loads(key))
        p = predict(s)
        found += [Row(s, o, getattr(p, o), p.spread[o], seen[o], seen["seeds"]) for o in OBSERVABLES]
    return found


def summarise(found: list[Row]) -> dict[str, dict[str, float]]:
    """The figures of each group of settings."""
    result = {}
    for name, belongs in GROUPS.items():
        mine = [r for r in found if belongs(r.setting)]
        excess = [r.excess for r in mine]
        spreads = [r for r in mine if r.spread_counts]
        result[name] = {
            "settings": len(mine) // len(OBSERVABLES),
            "attention_below_0.9": sum(r.name == "attention" and r.seen["mean"] < 0.9 for r in mine),
            "V_below_2d": sum(r.setting.V < 2 * r.setting.d for r in mine) // len(OBSERVABLES),
            "mean_error": float(np.mean([abs(r.predicted - r.seen["mean"]) for r in mine])),
            "mean_excess": float(np.mean(excess)),
            "max_excess": float(np.max(excess)),
            "max_se": max(r.seen["se"] for r in mine),
            "spreads": len(spreads),
            "spreads_off": sum(r.spread_is_off for r in spreads),
            "spread_median_abs_log_ratio": float(np.median([abs(np.log(r.ratio[0])) for r in spreads])),
        }
    return result


def describe(s: Setting) -> str:
    return (f"V={s.V} L={s.L} d={s.d} N={s.N} {s.embedding}"
            + ("" if s.trigger_in_value else ", trigger in keys only"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--observed", type=Path, default=HERE / "observed.json")
    parser.add_argument("--worst", type=int, default=10)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    found = rows(json.loads(options.observed.read_text()))
    summary = summarise(found)
    for name, figures in summary.items():
        print(name)
        for key, value in figures.items():
            print(f"    {key:28s} {value:.5g}")
    print("\nlargest excess")
    for r in sorted(found, key=lambda r: -r.excess)[: options.worst]:
        print(f"    {r.excess:.4f} {r.name:9s} predicted {r.predicted:.4f} observed {r.seen['mean']:.4f} +- "
              f"{r.seen['se']:.4f}  {describe(r.setting)}")
    print("\nspreads whose interval misses [0.8, 1.25]")
    for r in found:
        if r.spread_counts and r.spread_is_off:
            print(f"    {r.name:9s} predicted {r.predicted_std:.4f} observed {r.seen['std']:.4f}  "
                  f"{describe(r.setting)}")
    if options.write:
        worst = max(found, key=lambda r: r.excess)
        kept = {"groups": summary, "worst": {"setting": describe(worst.setting), "observable": worst.name,
                                             "predicted": worst.predicted, "observed": worst.seen["mean"],
                                             "se": worst.seen["se"]}}
        (HERE / "agreement.json").write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    main()
