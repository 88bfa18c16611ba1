"""Linear memories trained to their limit, and errors of memories of Zipf-distributed facts, over d.

    python -m validation.other_memories        # simulates, writes other_memories.json

Linear: the share of random problems of n facts that some d x d matrix solves, decided by convex optimisation, on a
ladder of n; where it crosses one half stands beside the law. Zipf: the error over d of each kind of memory, and the
slope of its logarithm. Both sets of sizes were written before they were run.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from recall_theory.numerics.arrays import zipf_frequencies
from recall_theory.numerics.unit_sphere import random_rows
from recall_theory.simulate import memories as simulated
from recall_theory.theory.formulas import memory_laws as laws
from recall_theory.theory.memories import best_threshold, linear_capacity
from recall_theory.theory.memories.zipf_facts import tail

FILE = Path(__file__).parent / "other_memories.json"
SEED = 20261122
LINEAR = ((8, 40), (12, 40), (16, 40), (24, 20), (32, 12))  # d, problems an n
LADDER = np.arange(1, 2.6, 0.1)  # of n over the law's
FACTS, QUESTIONS = 2000, 300
LARGE = tuple(2**k for k in range(9, 15))
ZIPF = [  # alpha, rho (None: the best threshold), classes (None: an output a fact), seeds, d
    (2.0, None, None, 40, (32, 64, 128, 256)),
    (1.5, None, None, 40, (32, 64, 128)),
    (2.0, None, 8, 100, (64, 128, 256, 512)),
    (1.5, None, 8, 100, (64, 128, 256, 512)),
    (2.0, 0.5, 8, 100, (32, 64, 128, 256, 512)),
    (1.5, 0.5, 8, 100, (32, 64, 128, 256, 512)),
    (2.0, 0.5, None, 100, (32, 64, 128, 256, 512)),
    (2.0, 1.0, 8, 60, LARGE),
    (2.0, 1.0, None, 60, LARGE),
    (1.5, 1.0, 8, 60, LARGE),
    (1.5, 1.0, None, 60, LARGE),
]
SAMPLES = ((1.5, 10**6), (2.0, 10**5), (3.0, 10**4))  # alpha, facts; T from 100 to 10^4


def separable_share(n: int, d: int, seeds: int, seed: int) -> tuple[float, float]:
    """Shares of random Gaussian problems of n facts that are proved separable, and that are left undecided."""
    proved = []
    for s in np.random.SeedSequence((seed, n, d)).spawn(seeds):
        rng = np.random.default_rng(s)
        keys, outputs = random_rows(rng, n, d, "gaussian"), random_rows(rng, n, d, "gaussian")
        proved.append(simulated.separate(keys, outputs).separable)
    return proved.count(True) / seeds, proved.count(None) / seeds


def linear(d: int, problems: int) -> dict[str, Any]:
    """The n at which half of the problems can be solved, between two rungs of the ladder."""
    law, rungs = linear_capacity(d), []
    for factor in LADDER:
        n = max(2, round(law * factor))
        share, undecided = separable_share(n, d, problems, SEED)
        rungs.append({"n": n, "separable": share, "undecided": undecided})
        if share == 0:
            break
    n, share = [r["n"] for r in rungs], [r["separable"] for r in rungs]
    half = float(np.interp(-0.5, [-s for s in share], n))
    return {"d": d, "law": law, "half": half, "problems": problems, "rungs": rungs}


def power(alpha: float, rho: float | None, classes: int | None, seeds: int, sizes: tuple[int, ...]) -> dict[str, Any]:
    """Errors over d, their slope, and the exponent of the law."""
    errors, finite = [], []
    for d in sizes:
        facts = FACTS if rho != 1 else FACTS // 10  # fewer do where weights fall fast, and many dimensions cost
        if rho is None:
            best = best_threshold(alpha, d, classes)
            facts = best.stored
            finite.append(best.error)
        seen = simulated.zipf_error(alpha, d, facts, lambda p: p ** (rho or 0), classes, questions=QUESTIONS,
                                    seeds=seeds, seed=SEED + d)
        rest = tail(alpha, facts)  # the facts after the last one that is simulated are wrong, or guessed
        errors.append(seen.mean * (1 - rest) + rest * (1 if classes is None else 1 - 1 / classes))
    slope = -float(np.polyfit(np.log(sizes), np.log(errors), 1)[0])
    if rho is None:
        law = laws.zipf_threshold(alpha) if classes is None else laws.zipf_threshold_classes(alpha)
    else:
        law = laws.zipf_power(alpha, rho)
    found = {"alpha": alpha, "rho": rho, "classes": classes, "d": sizes, "error": errors, "slope": slope, "law": law}
    if finite:
        found |= {"finite": finite, "finite_slope": -float(np.polyfit(np.log(sizes), np.log(finite), 1)[0])}
    return found


def samples(alpha: float, facts: int) -> dict[str, Any]:
    """The frequency of the facts that T draws leave unseen, over T."""
    sizes = (100, 316, 1000, 3162, 10000)
    p = zipf_frequencies(facts, alpha)

    def unseen(T: int) -> float:
        return simulated.over_seeds(lambda rng: float(p[rng.multinomial(T, p) == 0].sum()), 100, SEED + T).mean

    errors = [unseen(T) for T in sizes]
    return {"alpha": alpha, "T": sizes, "unseen": errors, "law": laws.zipf_samples(alpha),
            "slope": -float(np.polyfit(np.log(sizes), np.log(errors), 1)[0])}


def main() -> None:
    found: dict[str, Any] = {"zipf": [power(*case) for case in ZIPF], "samples": [samples(*case) for case in SAMPLES]}
    for row in found["zipf"] + found["samples"]:
        print({k: row.get(k) for k in ("alpha", "rho", "classes", "slope", "finite_slope", "law")}, flush=True)
    found["linear"] = []
    for case in LINEAR:
        found["linear"].append(linear(*case))
        print({k: found["linear"][-1][k] for k in ("d", "law", "half")}, flush=True)
    FILE.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
