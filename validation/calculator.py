"""The calculator's engine in a browser against the library on random settings: `validation/calculator.py --write`.

Writes calculator.json: how far any number of any setting is off, by kind of setting. It needs the extra "test" and
Chromium, or with --v8 no browser.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from recall_theory import Setting, predict
from recall_theory.pages import engine
from recall_theory.theory.bounds import bounds_at
from recall_theory.theory.capacity import limiting_term

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "tests"))
from javascript import PageScript, Script, difference, headless_chromium  # noqa: E402

SETTINGS, SEED = 1000, 20_261_121


def drawn(seed: int, many: int) -> Iterator[Setting]:
    """Random settings of all kinds, over the ranges that people ask about."""
    rng = np.random.default_rng(seed)

    def between(low: float, high: float) -> float:
        return float(np.exp(rng.uniform(np.log(low), np.log(high))))

    while many:
        V, L, d = int(between(32, 1e5)), int(between(2, 500)), int(between(8, 2000))
        N = int(V * between(1, 1000))
        m = int(between(16, 1e4)) if rng.random() < 1 / 3 else None
        embedding = str(rng.choice(["gaussian", "sphere", "orthogonal"], p=[0.6, 0.2, 0.2]))
        activation = str(rng.choice(engine.ACTIVATIONS)) if m else None
        trigger = bool(rng.random() < 2 / 3)
        if embedding != "orthogonal" or (m is None and d >= V):  # others are refused
            yield Setting(V, L, d, N, m, activation, embedding, trigger)
            many -= 1


def given(setting: Setting) -> dict[str, Any]:
    """What the page hands to the engine."""
    return {name: getattr(setting, name) for name in engine.SIZES}


def expected(setting: Setting) -> dict[str, Any]:
    """What the engine should answer, from the library."""
    p = predict(setting)
    bounds = bounds_at(setting.L, setting.d, V=setting.V, N=setting.N, m=setting.m, activation=setting.activation)
    predicted = {"attention": p.attention, "recall": p.recall, "accuracy": p.accuracy, "std": p.std, "spread": p.spread}
    return {"setting": given(setting), "predicted": predicted, "terms": p.terms, "remarks": list(p.remarks),
            "limited_by": limiting_term(p),
            "bounds": [{**dataclasses.asdict(b), "formulas": list(b.formulas)} for b in bounds.bounds]}


def kind(setting: Setting) -> str:
    return "Attention-MLP" if setting.m else setting.embedding


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--settings", type=int, default=SETTINGS)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--v8", action="store_true")
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args()
    found: dict[str, list[float]] = {}
    with Script(engine.source()) if args.v8 else headless_chromium() as started:
        script = started if args.v8 else PageScript(started, engine.source())
        where = "V8" if args.v8 else f"Chromium {started.version}"
        for i, setting in enumerate(drawn(args.seed, args.settings)):
            off = difference(script.value(f"recallTheory.calculate({json.dumps(given(setting))})"), expected(setting))
            found.setdefault(kind(setting), []).append(off)
            if off > 1e-9:
                print(f"{i}: off by {off:.2g} at {setting}", flush=True)
    kinds = {name: {"settings": len(off), "largest_difference": max(off), "above_1e-9": sum(x > 1e-9 for x in off)}
             for name, off in sorted(found.items())}
    report = {"in": where, "seed": args.seed, "settings": args.settings, "kinds": kinds}
    print(json.dumps(report, indent=1))
    if args.write:
        (HERE / "calculator.json").write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
