"""Linear memories trained to their limit, and errors of memories of Zipf-distributed facts, over d.

    python -m validation.other_memories        # simulates, writes other_memories.json

Linear: the share of random problems of n facts that some d x d matrix solves, decided by convex optimisation, on a
ladder of n; where it crosses one half stands beside the law. Zipf: the error over d of each kind of memory, and the
slope of its logarithm. Both sets of sizes were written before they were run.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from recall_theory.numerics.arrays import FloatArray, Observable, zipf_frequencies
from recall_theory.numerics.unit_sphere import random_rows
from recall_theory.simulate import memories as simulated
from recall_theory.theory.formulas import memory_laws as laws
from recall_theory.theory.memories import best_threshold, linear_capacity
from recall_theory.theory.memories.zipf_facts import tail

FILE = Path(__file__).parent / "other_memories.json"
SEED = 20261122
MOST_STEPS = 4000  # of the optimiser that looks for a memory
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


@dataclasses.dataclass(frozen=True)
class Separation:
    """`separable`: True with a memory (d, d) that recalls all facts, False with a proof that there is none, None
    where the optimiser stopped before either; `recall` of the last memory."""

    separable: bool | None
    memory: FloatArray
    recall: float


class _Separated(Exception):
    """A memory that recalls all facts stands."""


def separate(keys: FloatArray, outputs: FloatArray) -> Separation:
    """Look for W with <u_x, W e_x> > <u_z, W e_x> for all facts x and z != x, keys (n, d) and outputs (n, d).

    The squared hinge loss, sum over pairs of max(0, 1 - margin)^2, is convex and minimised by L-BFGS (scipy). If all
    margins are positive, W is the memory. If the gradient vanishes at a positive loss, the hinge's pulls are
    multipliers >= 0, not all zero, under which the margins of *every* W average to zero: no W has all of them
    positive (Gordan). Here "vanishes" allows what rounding and the optimiser leave, one part in 10^5 of the pulls.

    >>> rng = np.random.default_rng(0)
    >>> keys, outputs = rng.standard_normal((2, 8, 8))
    >>> separate(keys, outputs).separable
    True
    """
    from scipy.optimize import minimize

    n, d = keys.shape
    total_pull = 0.0

    def loss(flat: FloatArray) -> tuple[float, FloatArray]:
        nonlocal total_pull
        scores = keys @ flat.reshape(d, d).T @ outputs.T  # (n, n)
        margin = scores.diagonal()[:, None] - scores
        np.fill_diagonal(margin, np.inf)
        if margin.min() > 0:
            raise _Separated(flat.reshape(d, d).copy())
        pull = np.maximum(1 - margin, 0)
        value = 0.5 * float((pull**2).sum()) / n
        np.fill_diagonal(pull, -pull.sum(axis=1))
        total_pull = float(np.abs(pull).sum()) / n
        return value, (outputs.T @ pull.T @ keys / n).ravel()

    try:
        end = minimize(loss, (outputs.T @ keys).ravel(), jac=True, method="L-BFGS-B",
                       options={"maxiter": MOST_STEPS, "maxfun": 2 * MOST_STEPS, "maxcor": 20, "ftol": 0, "gtol": 0})
    except _Separated as stop:
        return Separation(True, stop.args[0], 1.0)
    W = end.x.reshape(d, d)
    value, gradient = loss(end.x)
    certain = value > 0 and np.abs(gradient).max() <= 1e-5 * total_pull
    recall = float((simulated.answers_of(keys, outputs, W) == np.arange(n)).mean())
    return Separation(False if certain else None, W, recall)


def zipf_error(alpha: float, d: int, facts: int, weight: Callable[[FloatArray], FloatArray], classes: int | None = None,
               *, questions: int | None = None, seeds: int = 32, seed: int | None = None) -> Observable:
    """How often memories err that store fact x with a weight, W = sum_x weight(p)_x u_f(x) e_x^T, one value a seed.

    `weight` maps the frequencies (facts,) to weights (facts,) >= 0; facts of weight 0 are not stored. Without `classes`
    each stored fact has an output of its own, and those of the others are no candidates; else f draws one of `classes`
    outputs for each fact. Gaussian embeddings. Every fact is asked and counts with its frequency; with `questions`, the
    first so many are, and as many of the others, drawn at random, answer for them.

    >>> error = zipf_error(2.0, 32, 50, lambda p: (p >= p[9]) * 1.0, seeds=4, seed=0)
    >>> round(float(error.mean), 4)
    0.0702
    """
    p = zipf_frequencies(facts, alpha)
    q = weight(p)
    first = facts if questions is None else min(questions, facts)
    return simulated.over_seeds(lambda rng: float(p @ _wrong(q, d, classes, first, rng)), seeds, seed)


def _wrong(q: FloatArray, d: int, classes: int | None, first: int, rng: np.random.Generator) -> FloatArray:
    """(facts,): 1 where one memory errs. Facts of equal weight share the mean over them: which of them is the more
    frequent makes no difference to the law, and much to the scatter."""
    stored = np.flatnonzero(q)
    keys = random_rows(rng, len(q), d, "gaussian")
    outputs = random_rows(rng, len(stored) if classes is None else classes, d, "gaussian")
    if classes is None:
        label = np.full(len(q), -1)
        label[stored] = np.arange(len(stored))
    else:
        label = rng.integers(classes, size=len(q))
    others = rng.choice(np.arange(first, len(q)), min(first, len(q) - first), replace=False)

    held, weighted = outputs[label[stored]], q[stored, None] * keys[stored]  # (stored, d) each
    # The memory (d, d) itself; where it is larger than its factors, these in its place.
    factors = [held.T @ weighted] if d < len(stored) else [held.T, weighted]
    asked = np.concatenate([np.arange(first), others])
    asked = asked[(q[asked] > 0) | (classes is not None)]
    wrong = np.ones(len(q))
    wrong[asked] = simulated.answers_of(keys[asked], outputs, *factors) != label[asked]
    if len(others):
        wrong[first:] = wrong[others].mean()
    _, group = np.unique(q, return_inverse=True)
    return (np.bincount(group, wrong) / np.bincount(group))[group]


def separable_share(n: int, d: int, seeds: int, seed: int) -> tuple[float, float]:
    """Shares of random Gaussian problems of n facts that are proved separable, and that are left undecided."""
    proved = []
    for s in np.random.SeedSequence((seed, n, d)).spawn(seeds):
        rng = np.random.default_rng(s)
        keys, outputs = random_rows(rng, n, d, "gaussian"), random_rows(rng, n, d, "gaussian")
        proved.append(separate(keys, outputs).separable)
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
        seen = zipf_error(alpha, d, facts, lambda p: p ** (rho or 0), classes, questions=QUESTIONS,
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
