"""What twice as many nodes move: predictions of drawn settings of every kind, tiny and extreme ones included.

    python -m validation.doubling [--number 300] [--seed 505] > doubling.txt

All node counts are doubled at once, which takes a quarter of an hour. Allowed: 0.001 in a mean, 5 % in a spread (of at
least 0.01).
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import numpy as np

from recall_theory import Setting, predict
from recall_theory.settings import OBSERVABLES
from recall_theory.theory.accuracy import DEFAULT

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


def moves(setting: Setting) -> tuple[float, float]:
    """The largest move of a mean, and the largest ratio of spreads, as a logarithm."""
    before, after = predict(setting), predict(setting, DEFAULT.doubled())
    mean = max(abs(getattr(after, o) - getattr(before, o)) for o in OBSERVABLES)
    ratios = [abs(np.log(after.spread[o] / before.spread[o])) for o in OBSERVABLES
              if min(after.spread[o], before.spread[o]) > LEAST_SPREAD]
    return mean, float(max(ratios, default=0.0))


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
