"""How often `verify` errs at its default budget: right formulas called wrong, and wrong ones let pass.

    python -m validation.false_alarms [--part right|wrong|theory|biases] [--repeats 20000] [--write]

Every repeat is a whole `verify` of the default grid, of which each seed is drawn with replacement from the observations
in bank.npz (see bank.py). A cell's law is then that of the bank, and its true mean the bank's mean. Right formulas are
that mean, and two that are off by the whole margin everywhere, the worst that still counts as right; their false alarms
are an upper bound, as they are looked for at the second stage of every cell, open or not. Wrong ones are the theory
with an error in it, and the mean off by the margin and the smallest detectable bias together in three cells drawn anew
each time. Intervals for the shares are Clopper and Pearson's.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from recall_theory import Prediction, Setting, predict
from recall_theory.numerics.forced_choice import forced_choice
from recall_theory.settings import OBSERVABLES
from recall_theory.verification.grids import load_grid
from recall_theory.verification.intervals import mean_intervals
from recall_theory.verification.planning import STAGES, planned_seeds, second_stage
from recall_theory.verification.problem import THREE_STEP_RECALL
from recall_theory.verification.residual_analysis import noise
from recall_theory.verification.verdicts import (
    AGREE,
    DISAGREE,
    INCONCLUSIVE,
    VERDICT_ALPHA,
    declared_margin,
    family_confidence,
    judge,
    smallest_detectable_bias,
    worst,
)
from validation.bank import values

HERE = Path(__file__).parent
SURELY_NOT = 4  # standard errors beyond the margin: ends that a claim in [0, 1] can pass by are 4.49 or more away

Law = Callable[[Setting, Prediction], tuple[float, float, float]]
Claims = np.ndarray  # (cells, 3)


def means(p: Prediction) -> tuple[float, float, float]:
    return p.attention, p.recall, p.accuracy


def at(**factors: float) -> Law:
    """The theory at sizes multiplied by the factors."""

    def law(s: Setting, p: Prediction) -> tuple[float, float, float]:
        wrong = {k: max(1, round(getattr(s, k) * f)) for k, f in factors.items()}
        if s.embedding == "orthogonal":
            wrong["d"] = max(wrong.get("d", s.d), s.V)
        return means(predict(s.replace(**wrong)))

    return law


def without(step: str, term: str) -> Law:
    """The theory without one of its terms: (noise/signal)^2 less that term gives attention or recall."""

    def law(s: Setting, p: Prediction) -> tuple[float, float, float]:
        before, places = getattr(p, step), s.L if step == "attention" else s.V
        left = noise(before, places) - p.terms[step].get(term, 0)
        if np.isnan(left):  # so near to 1, or to chance, that the noise is not known
            return means(p)
        after = 1.0 if left <= 0 else float(forced_choice(left**-0.5, places))
        changed = {"attention": p.attention, "recall": p.recall, step: after}
        return changed["attention"], changed["recall"], min(1.0, p.accuracy * after / before)

    return law


def wrong_laws(predictions: list[Prediction]) -> dict[str, Law]:
    laws: dict[str, Law] = {
        "L dropped": at(L=0), "half of L": at(L=0.5), "d 10 % up": at(d=1.1), "d 10 % down": at(d=0.9),
        "half of N": at(N=0.5)}
    for step in ("attention", "recall"):
        names = dict.fromkeys(name for p in predictions for name in p.terms[step])
        laws |= {f"{step} without {name}": without(step, name) for name in names}
    return laws


class Instrument:
    """`verify` of the default grid, on resampled seeds."""

    def __init__(self, rng: np.random.Generator):
        self.rng, self.bank, self.grid = rng, values(), load_grid("default")
        self.confidence = family_confidence(STAGES * len(OBSERVABLES) * len(self.grid), VERDICT_ALPHA)
        self.margins = [declared_margin(s) for s in self.grid]
        self.predictions = [predict(s) for s in self.grid]
        self.first = [planned_seeds(THREE_STEP_RECALL.moments(p).values(), m, self.confidence)
                      for p, m in zip(self.predictions, self.margins, strict=True)]
        self.truth: Claims = np.array([v.mean(axis=0) for v in self.bank])

    def seeds(self, c: int, n: int) -> np.ndarray:
        return self.bank[c][self.rng.integers(len(self.bank[c]), size=n)]

    def verdicts(self, c: int, seen: np.ndarray, claim: np.ndarray) -> list[str]:
        found = mean_intervals(seen.T, self.confidence)
        return [judge(low - p, high - p, self.margins[c])
                for low, high, p in zip(found.low, found.high, claim, strict=True)]

    def disagree(self, c: int, seen: np.ndarray, claims: np.ndarray) -> np.ndarray:
        """Which of the claims (claims, 3) any verdict calls wrong, at little cost where it is plain that none does."""
        mean = seen.sum(axis=0) / len(seen)
        error = np.sqrt((np.einsum("ij,ij->j", seen, seen) / len(seen) - mean**2).clip(0) / len(seen))
        near = np.abs(mean - claims) - self.margins[c] > SURELY_NOT * error
        return np.array([bool(some.any()) and DISAGREE in self.verdicts(c, seen[:, some], claim[some])
                         for claim, some in zip(claims, near, strict=True)])

    def alarms(self, claims: np.ndarray, times: np.ndarray) -> np.ndarray:
        """Which claims (claims, cells, 3) are called wrong in any cell, at the first stage or at one with so many times
        the seeds (claims,)."""
        hit = np.zeros(len(claims), dtype=bool)
        for c, n in enumerate(self.first):
            seen = self.seeds(c, n * times.max())
            hit |= self.disagree(c, seen[:n], claims[:, c])
            for k in np.unique(times):
                hit[times == k] |= self.disagree(c, seen[:n * k], claims[times == k, c])
        return hit

    def whole(self, claim: Claims, order: np.ndarray) -> tuple[str, list[int]]:
        """The verdict of a whole `verify` and its plan; `order` names the cells that are likely to disagree first."""
        seen = {c: self.seeds(c, self.first[c]) for c in order.tolist()}
        if any(self.disagree(c, seen[c], claim[None, c])[0] for c in seen):
            return DISAGREE, self.first
        still = {c for c in seen if INCONCLUSIVE in self.verdicts(c, seen[c], claim[c])}
        plan = second_stage(self.first, still)
        again = [v for c in still
                 for v in self.verdicts(c, np.concatenate([seen[c], self.seeds(c, plan[c] - self.first[c])]), claim[c])]
        return worst([AGREE, *again]), plan

    def detectable(self) -> Claims:
        """The smallest detectable bias of every comparison after a second stage."""
        found = []
        for c, n in enumerate(self.first):
            seen = self.seeds(c, max(second_stage(self.first, {c})[c], n))
            ends = mean_intervals(seen.T, self.confidence)
            found.append([smallest_detectable_bias(v.mean(), low, high, v.std(ddof=1) / len(v) ** 0.5)
                          for v, low, high in zip(seen.T, ends.low, ends.high, strict=True)])
        return np.array(found)


def share(hits: int, runs: int) -> dict[str, Any]:
    """Hits of runs with the 95 % interval of Clopper and Pearson."""
    low, high = stats.binomtest(hits, runs).proportion_ci(0.95, "exact")
    return {"runs": runs, "hits": hits, "low": float(low), "high": float(high)}


def false_alarms(it: Instrument, repeats: int) -> dict[str, Any]:
    """How often right formulas are called wrong."""
    margins = np.array(it.margins)[:, None]
    inward = margins * np.where(it.truth < 0.5, 1, -1)
    right = {"the true mean": it.truth, "off by the margin, towards 1/2": it.truth + inward,
             "off by the margin, away from 1/2": np.clip(it.truth - inward, 0, 1)}
    # With everything off by the margin every cell is open, and the second stage has twice the seeds.
    claims, times = np.array(list(right.values())), np.array([4, 2, 2])
    hits = sum(it.alarms(claims, times).astype(int) for _ in range(repeats))
    return {name: share(int(n), repeats) for name, n in zip(right, hits, strict=True)}


def power(it: Instrument, repeats: int) -> dict[str, Any]:
    """How often wrong formulas are called wrong."""
    margins, detectable = np.array(it.margins)[:, None], it.detectable()
    found: dict[str, Any] = {}
    for name, law in wrong_laws(it.predictions).items():
        claim = np.array([law(s, p) for s, p in zip(it.grid, it.predictions, strict=True)])
        beyond = (np.abs(claim - it.truth) - margins - detectable).max(axis=1)
        found[name] = {"cells_off": int((beyond > 0).sum())}
        if found[name]["cells_off"] >= 3:
            order = np.argsort(-beyond)
            found[name] |= share(sum(it.whole(claim, order)[0] == DISAGREE for _ in range(repeats)), repeats)
    hits = 0
    for _ in range(repeats):
        claim, cells = it.truth.copy(), it.rng.choice(len(it.grid), 3, replace=False)
        for c in cells:
            i = it.rng.integers(len(OBSERVABLES))
            size = margins[c, 0] + detectable[c, i]
            claim[c, i] += size * it.rng.choice([s for s in (-1, 1) if 0 <= claim[c, i] + s * size <= 1])
        hits += it.whole(claim, np.r_[cells, np.setdiff1d(np.arange(len(it.grid)), cells)])[0] == DISAGREE
    found["off at random in three cells"] = {"cells_off": 3, **share(int(hits), repeats)}
    return found


def own_theory(it: Instrument, repeats: int) -> dict[str, Any]:
    """What the library's own theory is called, and how many seeds that takes."""
    theory: Claims = np.array([means(p) for p in it.predictions])
    runs = [it.whole(theory, np.arange(len(it.grid))) for _ in range(repeats)]
    words = [word for word, _ in runs]
    found = {word: share(words.count(word), repeats) for word in (AGREE, INCONCLUSIVE, DISAGREE)}
    return {**found, "seeds": float(np.mean([sum(plan) for _, plan in runs]))}


def biases(it: Instrument, most: int) -> list[dict[str, Any]]:
    """The cells in which the library's own theory is furthest off, in margins."""
    theory: Claims = np.array([means(p) for p in it.predictions])
    off = it.truth - theory
    worst_first = np.argsort(-(np.abs(off) / np.array(it.margins)[:, None]).max(axis=1))
    found = []
    for c in worst_first[:most]:
        i = np.abs(off[c]).argmax()
        found.append({"setting": it.grid[c].to_dict(), "observable": OBSERVABLES[i], "margin": it.margins[c],
                      "bias": float(off[c, i]), "se": float(it.bank[c][:, i].std(ddof=1) / len(it.bank[c]) ** 0.5)})
    return found


SEED = 20261121
PARTS = {  # each with its repeats and its seed
    "right": (false_alarms, 20_000, SEED),
    "wrong": (power, 1000, (SEED, 1)),
    "theory": (own_theory, 400, (SEED, 2)),
    "biases": (biases, 5, SEED),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", choices=PARTS)
    parser.add_argument("--repeats", type=int)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    path = HERE / "false_alarms.json"
    for part, (study, repeats, seed) in PARTS.items():
        if options.part not in (None, part):
            continue
        it = Instrument(np.random.default_rng(options.seed or seed))
        found = {part: study(it, options.repeats or repeats)}
        print(json.dumps(found, indent=1), flush=True)
        if options.write:
            kept = json.loads(path.read_text()) if path.exists() else {}
            kept |= {"cells": len(it.grid), "seeds": sum(it.first), "bank": len(it.bank[0]), **found}
            path.write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    main()
