"""What twice as many nodes move: predictions of drawn settings of every kind, tiny and extreme ones included.

    python -m validation.doubling [--number 300] [--seed 505] > doubling.txt

Where training attended rightly all node counts are doubled at once. Elsewhere that costs a hundred predictions each, so
that the counts of one part of the law after another are, and the moves of all parts are added up. Allowed: 0.001 in a
mean, 5 % in a spread (of at least 0.01).
"""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Iterator

import numpy as np

from recall_theory import Setting, predict
from recall_theory.settings import OBSERVABLES
from recall_theory.theory.accuracy import DEFAULT, Accuracy

PARTS = {
    "seed": ("tau_nodes", "scale_nodes", "spread_nodes", "noise_nodes", "lead_nodes", "ahead_nodes", "behind_nodes",
             "score_steps"),
    "seeds of recall": ("seed_tau", "seed_ahead", "seed_behind"),
    "fact": ("score", "trigger", "length", "signal", "outranking", "common", "count", "few_count", "strength"),
    "neurons": ("neuron_",),
    "correct label": ("chi", "power", "noise"),
    "competitors": ("classes", "class_score", "class_above", "competitor", "few_competitor", "kind", "tail", "logit",
                    "gain"),
    "variance": ("overlap", "angle", "pair", "cells"),
    "wrong answers": ("rank", "answer"),
    "orthogonal": ("orthogonal_",),
    "finite rates": ("soft_",),
}
RANGES = {"usual": ((16, 1024), (2, 256), (8, 384), (1, 500), (32, 1024)),
          "tiny": ((2, 24), (1, 32), (2, 32), (0.5, 50), (4, 64)),
          "extreme": ((1000, 10**9), (1, 10**5), (2, 10**5), (0.1, 10**6), (2, 10**6))}
ACTIVATIONS = (None, "relu", None, "gelu", None, "tanh", None, "abs(x)", None, "identity")
MEAN, SPREAD, LEAST_SPREAD = 0.001, 0.05, 0.01


def drawn(number: int, seed: int) -> Iterator[tuple[str, Setting]]:
    """The kinds in turn."""
    rng = np.random.default_rng(seed)
    for i in range(number):
        kind = tuple(RANGES)[i % len(RANGES)]
        V, L, d, ratio, m = (float(np.exp(rng.uniform(*np.log(ends)))) for ends in RANGES[kind])
        phi = ACTIVATIONS[i // 3 % len(ACTIVATIONS)]
        embedding = ("gaussian", "sphere", "gaussian" if phi else "orthogonal")[i // 30 % 3]
        d = max(d, V) if embedding == "orthogonal" else d
        yield kind, Setting(V=round(V), L=round(L), d=round(d), N=max(1, round(ratio * V)), embedding=embedding,
                            m=round(m) if phi else None, activation=phi, trigger_in_value=bool(rng.random() < 0.6))


def doubled(names: tuple[str, ...]) -> Accuracy:
    """The counts whose names begin like these, twice."""
    counts = {f.name: 2 * getattr(DEFAULT, f.name) for f in dataclasses.fields(DEFAULT)
              if f.type == "int" and f.name.startswith(names)}
    return dataclasses.replace(DEFAULT, **counts)


def moves(setting: Setting) -> tuple[float, float]:
    """The largest move of a mean, and the largest ratio of spreads, as a logarithm."""
    before = predict(setting)
    sure = before.attention > 1 - DEFAULT.sure
    mean = spread = 0.0
    for accuracy in [DEFAULT.doubled()] if sure else [doubled(part) for part in PARTS.values()]:
        after = predict(setting, accuracy)
        mean += max(abs(getattr(after, o) - getattr(before, o)) for o in OBSERVABLES)
        ratios = [abs(np.log(after.spread[o] / before.spread[o])) for o in OBSERVABLES
                  if min(after.spread[o], before.spread[o]) > LEAST_SPREAD]
        spread += float(max(ratios, default=0.0))
    return mean, spread


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--number", type=int, default=300)
    parser.add_argument("--seed", type=int, default=505)
    options = parser.parse_args()
    found: dict[str, list[tuple[float, float]]] = {kind: [] for kind in RANGES}
    for kind, setting in drawn(options.number, options.seed):
        mean, spread = moves(setting)
        found[kind].append((mean, spread))
        if mean > MEAN or spread > SPREAD:
            print(f"{kind:8s} mean {mean:.5f} spread {spread:.3f} {setting}", flush=True)
    for kind, rows in found.items():
        means, spreads = np.array(rows).T
        print(f"{kind:8s} {len(rows)} settings, {int((means > MEAN).sum())} means and {int((spreads > SPREAD).sum())} "
              f"spreads move by more; median {np.median(means):.1g}, largest {means.max():.2g} and {spreads.max():.2g}")


if __name__ == "__main__":
    main()
