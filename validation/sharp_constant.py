"""Recall at right attention, simulated across the transition: what the sharp constant is checked against.

The grid is a rule, written before anything was simulated: d from 64 to 1,024, both conventions of the trigger,
N = 16 V d, and V = d^2/((1 + e) c) for three c. Step three is taken as it stands, from drawn embeddings and label
counts, all training sequences attended rightly; of the V facts at most FACTS are asked. Embeddings come in blocks that
are drawn twice, so that V d numbers never lie in memory.

    python -m validation.sharp_constant [--jobs 2] [--out validation/sharp_constant.json]
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

from recall_theory.simulate.workers import collect, one_thread

SEEDS = {64: 512, 128: 192, 256: 64, 512: 20, 1024: 6}
LOADS = (8, 14, 24)  # d^2/((1 + e) V)
SAMPLES = 16  # N/(V d)
FACTS, ROWS = 2048, 2048
SEED = 20261122


def grid() -> list[dict[str, int]]:
    """The settings, smallest first."""
    return [{"V": round(d * d / ((1 + e) * c)), "d": d, "N": SAMPLES * d * round(d * d / ((1 + e) * c)), "e": e}
            for d in SEEDS for e in (1, 0) for c in LOADS]


def recall_of_seed(V: int, d: int, N: int, e: int, seed: int) -> float:
    """Share of the first FACTS facts that step three keeps, all training sequences attended rightly."""
    with one_thread():
        root = np.random.SeedSequence([SEED, seed])
        rng = np.random.default_rng(root)
        counts = rng.multinomial(N, np.full(V, 1 / V)) / N
        trigger = e * rng.standard_normal(d) / np.sqrt(d)

        def block(start: int) -> tuple[np.ndarray, np.ndarray]:
            """Values (rows, d) that are attended, and outputs (rows, d) of their labels."""
            own = np.random.default_rng(np.random.SeedSequence(root.entropy, spawn_key=(start,)))
            rows = min(ROWS, V - start)
            z, u = own.standard_normal((2, rows, d)) / np.sqrt(d)
            return z + trigger, u

        stored, mean_value, mean_output = np.zeros((d, d)), np.zeros(d), np.zeros(d)
        for start in range(0, V, ROWS):
            value, output = block(start)
            weighted = counts[start:start + ROWS, None] * value
            stored += output.T @ weighted
            mean_value += weighted.sum(axis=0)
            mean_output += output.sum(axis=0) / V
        stored -= np.outer(mean_output, mean_value)  # residuals z_out(y) - mean

        value, output = block(0)
        read = value[:FACTS] @ stored.T
        own_logit = (read * output[:FACTS]).sum(axis=1)
        above = np.zeros(len(read), dtype=int)
        for start in range(0, V, ROWS):
            above += (read @ block(start)[1].T > own_logit[:, None] + 1e-12).sum(axis=1)
        return float((above == 0).mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "sharp_constant.json")
    options = parser.parse_args()
    found = json.loads(options.out.read_text()) if options.out.exists() else []
    for setting in grid()[len(found):]:
        tasks = [(*setting.values(), seed) for seed in range(SEEDS[setting["d"]])]
        seen = np.array(collect(recall_of_seed, tasks, jobs=options.jobs))
        found.append(setting | {"seeds": len(seen), "recall": round(float(seen.mean()), 5),
                                "se": round(float(seen.std(ddof=1) / len(seen)**0.5), 5)})
        print(found[-1], flush=True)
        options.out.write_text("[\n" + ",\n".join(map(json.dumps, found)) + "\n]\n")


if __name__ == "__main__":
    main()
