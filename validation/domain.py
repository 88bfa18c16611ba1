"""Where predictions were checked: what theory/domain.py declares, measured against stored simulations.

    python -m validation.domain                             hold the declared domain against drawn.jsonl
    python -m validation.domain stored                      hold it against all draws of validation/draw.py (15 minutes)
    python -m validation.domain RANGES SEED SECONDS NUMBER  simulate more settings and add them

Settings are drawn log-uniformly with seeds chosen before: 183 from the ranges that the theory is meant for ("wide",
seed 101: V 16 to 1,024, L 2 to 256, d 8 to 384, N/V 1 to 500, m 32 to 1,024), others below them ("small", seed 303)
and at their lower end ("middle", seed 404). Settings where recall and accuracy are both within 0.03 of 0 or 1 are left
out.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from recall_theory import Setting, predict, simulate
from recall_theory.settings import OBSERVABLES
from recall_theory.simulate.workers import ordered_map
from recall_theory.theory import domain

HERE = Path(__file__).parent
DRAWN = HERE / "drawn.jsonl"
SMOOTH = ("relu", "gelu", "tanh", "erf", "identity", "softplus", "x/(1 + Abs(x))")
ROUGH = ("Abs(x)", "quadratic", "x**3 - 3*x", "sin(2*x)")
KINDS = ("attention-only", "smooth", "rough")
RANGES = {"small": {"V": (2, 40), "L": (2, 128), "d": (2, 128), "N/V": (0.5, 200), "m": (4, 512)},
          "middle": {"V": (16, 96), "L": (2, 128), "d": (8, 256), "N/V": (1, 200), "m": (32, 512)}}
SHARES = {"small": (0.5, 0.35, 0.15), "middle": (0.3, 0.3, 0.4)}  # of the kinds
NAMES = ("V", "L", "d", "N", "m", "activation", "embedding", "trigger_in_value")

MOST_OUTSIDE = {("attention-only", "smooth"): 0.1, ("rough",): 0.4}  # shares of the wide draw
KEPT = 0.95  # of what is promised outside
ERROR = 0.0015  # standard error at which a setting has been simulated enough
TRIVIAL = 0.03
MOST_WORK = 10**6  # tokens a seed

Row = dict[str, Any]


def draw(rng: np.random.Generator, ranges: str) -> Iterator[Setting]:
    """Settings of every kind from some of the ranges, without end."""

    def size(name: str) -> int:
        return max(1, round(float(np.exp(rng.uniform(*np.log(RANGES[ranges][name]))))))

    while True:
        kind = KINDS[rng.choice(3, p=SHARES[ranges])]
        V, d = max(2, size("V")), size("d")
        N = max(1, round(V * float(np.exp(rng.uniform(*np.log(RANGES[ranges]["N/V"]))))))
        how: dict[str, Any] = {"trigger_in_value": bool(rng.random() < 0.6)}
        how["embedding"] = str(rng.choice(("gaussian", "sphere")))
        if kind == "attention-only":
            how["embedding"] = str(rng.choice(("gaussian", "gaussian", "sphere", "orthogonal")))
            d = max(d, V) if how["embedding"] == "orthogonal" else d
        else:
            how |= {"m": size("m"), "activation": str(rng.choice(SMOOTH if kind == "smooth" else ROUGH))}
        setting = Setting(V=V, L=size("L"), d=d, N=N, **how)
        if setting.N * setting.L >= MOST_WORK:
            continue
        pilot = simulate(setting, seeds=16, seed=0, n_test=None)
        if any(TRIVIAL < x.mean < 1 - TRIVIAL for x in (pilot.recall, pilot.accuracy)):
            yield setting


def observe(setting: Setting, seed: int, seconds: float) -> Row:
    """Means of the observables over seeds, until they are known well enough or so many seconds are over."""
    start, values, n = time.process_time(), np.empty((0, 3)), 32
    while True:
        seen = simulate(setting, seeds=n, seed=seed + len(values), n_test=None)
        values = np.concatenate([values, np.stack([getattr(seen, o).values for o in OBSERVABLES], axis=1)])
        se = values.std(axis=0, ddof=1) / len(values) ** 0.5
        if time.process_time() - start > seconds or (len(values) >= 128 and se.max() < ERROR):
            break
        n = min(len(values), 1024)
    given = setting.to_dict()
    return {**{name: given[name] for name in NAMES}, "seeds": len(values),
            "mean": values.mean(axis=0).round(6).tolist(), "se": se.round(6).tolist()}


def stored() -> list[Row]:
    """The settings of all draws that predictions were compared with, in the form of drawn.jsonl."""
    return [{"draw": path.stem, **{name: Setting(**seen["setting"]).to_dict()[name] for name in NAMES},
             **{figure: [seen[o][figure] for o in OBSERVABLES] for figure in ("mean", "se")}}
            for path in sorted((*HERE.glob("fresh*.json"), HERE / "development.json"))
            for seen in json.loads(path.read_text())]


def errors(rows: list[Row]) -> list[dict[str, Any]]:
    """Of each stored setting its class, whether it is in the domain, the largest error of a mean beyond three standard
    errors of the simulation, and the largest to expect."""
    result = []
    settings = [Setting(**{name: row[name] for name in NAMES}) for row in rows]
    predictions = ordered_map(predict, [(setting,) for setting in settings], jobs=2)
    for row, setting, prediction in zip(rows, settings, predictions, strict=True):
        error = max(max(abs(getattr(prediction, o) - mean) - 3 * se, 0.0)
                    for o, mean, se in zip(OBSERVABLES, row["mean"], row["se"], strict=True))
        expected = domain.reasons(domain.batch_of(setting))[1]
        result.append({"draw": row["draw"], "setting": setting, "class": domain.class_of(setting.activation),
                       "checked": prediction.checked, "error": error, "expected": expected})
    return result


def broken(found: list[dict[str, Any]]) -> list[str]:
    """Prints what the domain is worth by draw and class, and tells which of its promises do not hold."""
    wrong = []
    for draw_, kind in sorted({(x["draw"], x["class"]) for x in found}):
        these = [x for x in found if (x["draw"], x["class"]) == (draw_, kind)]
        inside = [x for x in these if x["checked"]]
        outside = [x for x in these if not x["checked"]]
        largest = max((x["error"] for x in inside), default=0)
        print(f"{draw_:11} {kind:14} inside {len(inside):3}, largest error {largest:.4f}; outside {len(outside):3}, "
              f"within what is to be expected {sum(x['error'] <= x['expected'] for x in outside):3}")
        wrong += [f"{x['setting']}: off by {x['error']:.4f}, in the domain" for x in inside
                  if x["error"] > domain.INSIDE[kind]]
    for kinds, most in MOST_OUTSIDE.items():
        wide = [x["checked"] for x in found if x["draw"] == "wide" and x["class"] in kinds]
        if wide.count(False) > most * len(wide):
            wrong.append(f"{' and '.join(kinds)}: {wide.count(False)} of {len(wide)} settings are outside")
    outside = [x for x in found if not x["checked"]]
    kept = sum(x["error"] <= x["expected"] for x in outside)
    if kept < KEPT * len(outside):
        wrong.append(f"{kept} of {len(outside)} settings outside are off by no more than their remarks say")
    return wrong


def main(arguments: list[str]) -> int:
    rows = [json.loads(line) for line in DRAWN.read_text().splitlines()]
    if arguments == ["stored"]:
        rows = stored()
    elif arguments:
        ranges, seed, seconds, number = arguments[0], int(arguments[1]), float(arguments[2]), int(arguments[3])
        for i, setting in zip(range(number), draw(np.random.default_rng(seed), ranges), strict=False):
            rows.append({"draw": ranges, **observe(setting, 10**6 * seed + 10**4 * i, seconds)})
        DRAWN.write_text("".join(json.dumps(row) + "\n" for row in rows))
    wrong = broken(errors(rows))
    print("\n".join(wrong) or "Every promise holds.")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
