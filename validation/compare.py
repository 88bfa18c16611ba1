"""Predictions beside what was observed of drawn settings: excess, bias, spread and what misses most.

    python -m validation.compare [validation/fresh.json] [--worst 10] [--write]

excess = what is left of an error beyond two standard errors (three where the largest is shown). --write keeps the
summary in agreement.json, which the README and the docs quote.
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
TINY = {"V": 32, "d": 16}  # checked settings below either have a row of their own
SPREAD_COUNTS, SPREAD_SEEDS = 0.01, 100  # spreads of at least this, from at least so many seeds, are judged
MODELS = {"smooth": "MLP, smooth", "rough": "MLP, rough"}


@dataclasses.dataclass(frozen=True)
class Row:
    """One observable of one setting."""

    setting: Setting
    group: str
    name: str
    predicted: float
    predicted_std: float
    seen: dict[str, float]
    seeds: int

    @property
    def error(self) -> float:
        return self.predicted - self.seen["mean"]

    def excess(self, times: float) -> float:
        return max(0.0, abs(self.error) - times * self.seen["se"])

    @property
    def spread(self) -> float | None:
        """The logarithm of predicted over observed spread, where it is judged."""
        if self.seen["std"] < SPREAD_COUNTS or self.seeds < SPREAD_SEEDS:
            return None
        return float(np.log(max(self.predicted_std, 1e-9) / self.seen["std"]))


def group_of(kind: str, setting: Setting, checked: bool) -> str:
    """The row of the table that a setting belongs to."""
    if not checked:
        return "unchecked"
    if setting.V < TINY["V"] or setting.d < TINY["d"]:
        return "tiny"
    return MODELS.get(kind, setting.embedding)


def rows(observed: list[dict[str, Any]]) -> list[Row]:
    """All comparisons of a file of observations, with today's predictions."""
    found = []
    for seen in observed:
        s = Setting(**seen["setting"])
        p = predict(s)
        group = group_of(seen["kind"], s, p.checked)
        found += [Row(s, group, o, getattr(p, o), p.spread[o], seen[o], seen["seeds"]) for o in OBSERVABLES]
    return found


def summarise(found: list[Row]) -> dict[str, dict[str, float]]:
    """The figures of each group of settings."""
    result = {}
    for name in ("gaussian", "sphere", "orthogonal", *MODELS.values(), "tiny", "unchecked"):
        mine = [r for r in found if r.group == name]
        if not mine:
            continue
        spreads = [abs(r.spread) for r in mine if r.spread is not None]
        result[name] = {
            "settings": len(mine) // len(OBSERVABLES),
            "mean_error": float(np.mean([abs(r.error) for r in mine])),
            "bias": float(np.mean([r.error for r in mine])),
            "mean_excess": float(np.mean([r.excess(2) for r in mine])),
            "max_excess": max(r.excess(3) for r in mine),
            "max_se": max(r.seen["se"] for r in mine),
            "spreads": len(spreads),
            "spread_median": float(np.median(spreads)) if spreads else float("nan"),
            "spread_90": float(np.percentile(spreads, 90)) if spreads else float("nan"),
        }
    return result


def describe(s: Setting) -> str:
    """The sizes and the variant in one line."""
    model = "" if s.m is None else f" m={s.m} {s.activation}"
    keys = "" if s.trigger_in_value else ", trigger in keys only"
    return f"V={s.V} L={s.L} d={s.d} N={s.N}{model} {s.embedding}{keys}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("observed", type=Path, nargs="?", default=HERE / "fresh.json")
    parser.add_argument("--worst", type=int, default=10)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    found = rows(json.loads(options.observed.read_text()))
    summary = summarise(found)
    for name, figures in summary.items():
        print(f"{name:12s}", "  ".join(f"{key} {value:.4g}" for key, value in figures.items()))
    worst = sorted(found, key=lambda r: -r.excess(3))[: options.worst]
    print("\nlargest excess")
    for r in worst:
        print(f"    {r.excess(3):.4f} {r.name:9s} predicted {r.predicted:.4f} observed {r.seen['mean']:.4f} +- "
              f"{r.seen['se']:.4f}  {describe(r.setting)} ({r.group})")
    if options.write:
        kept = {"groups": summary, "worst": [
            {"setting": describe(r.setting), "group": r.group, "observable": r.name, "predicted": r.predicted,
             "observed": r.seen["mean"], "se": r.seen["se"]} for r in worst]}
        (HERE / "agreement.json").write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    main()
