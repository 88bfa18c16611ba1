"""How often `verify` errs at its default budget: right formulas called wrong, and wrong ones let pass.

    python -m validation.false_alarms [--part right|wrong|theory|biases] [--runs 2000] [--jobs 2] [--write]

Every run is a `verify` of the default grid, of which each seed is drawn with replacement from the observations in
bank.npz (see bank.py). A cell's law is then that of the bank, and its true mean the bank's mean. Right formulas are
that mean, and two that are off by nine tenths of the margin in every cell; of these only the cells' verdicts count, as
their bias over the grid is wrong. Their false alarms are an upper bound: every cell has the third look, once as an open
cell and once as one of a group that looks biased. Wrong ones are the theory with an error in it; the cells that it
leaves open and the groups that look biased have the third look, as in `verify`. `theory` runs `verify` itself.
Intervals for the shares are Clopper and Pearson's.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from recall_theory import Prediction, Setting, predict
from recall_theory.numerics.forced_choice import forced_choice
from recall_theory.settings import OBSERVABLES
from recall_theory.simulate.workers import ordered_map
from recall_theory.theory.predict import LAW
from recall_theory.verification.engine import verify
from recall_theory.verification.intervals import mean_intervals, pooled_interval
from recall_theory.verification.predictors import noise
from recall_theory.verification.problem import THREE_STEP_RECALL, load_grid
from recall_theory.verification.results import Verification, pooled_groups, suspected_groups
from recall_theory.verification.verdicts import (
    AGREE,
    AGREE_CONFIDENCE,
    DISAGREE,
    INCONCLUSIVE,
    LOOKS,
    SECOND_STAGE,
    SUSPECTED,
    early_look,
    family_confidence,
    pooled_margin,
    second_stage,
)
from validation.bank import values

HERE = Path(__file__).parent
MOST_DRAWN = 24_000  # seeds of a cell in any run

FACTORS = {"left out": 0, "x 1.3": 1.3, "x 1.1": 1.1}  # of a term

Claim = tuple[float, float, float]
Law = Callable[[Setting, Prediction], Claim]


def means(p: Prediction) -> Claim:
    return p.attention, p.recall, p.accuracy


def at(**wrong: Callable[[Setting], float]) -> Law:
    """The theory at other sizes."""

    def law(s: Setting, p: Prediction) -> Claim:
        sizes = {name: max(1, round(size(s))) for name, size in wrong.items()}
        if s.embedding == "orthogonal" and "d" in sizes:
            sizes["d"] = max(sizes["d"], s.V)
        return means(predict(s.replace(**sizes)))

    return law


def scaled(step: str, term: str, factor: float) -> Law:
    """The theory with one of its terms times a factor: (noise/signal)^2 with that term gives attention or recall."""

    def law(s: Setting, p: Prediction) -> Claim:
        before, places = getattr(p, step), s.L if step == "attention" else s.V
        left = noise(before, places) + (factor - 1) * p.terms[step].get(term, 0)
        if np.isnan(left):  # so near to 1, or to chance, that the noise is not known
            return means(p)
        after = 1.0 if left <= 0 else float(forced_choice(left**-0.5, places))
        changed = {"attention": p.attention, "recall": p.recall, step: after}
        return changed["attention"], changed["recall"], min(1.0, p.accuracy * after / before)

    return law


def twice_the_labels(s: Setting, p: Prediction) -> Claim:
    """Recall by a choice among 2V labels in place of V."""
    left = noise(p.recall, s.V)
    recall = p.recall if np.isnan(left) else float(forced_choice(left**-0.5, 2 * s.V))
    return p.attention, recall, p.accuracy * recall / p.recall


def naive(s: Setting, p: Prediction) -> Claim:
    """All is known from N = dL samples on, and nothing before."""
    known = float(s.N >= s.d * s.L)
    return 1.0, known, known


def low_everywhere(s: Setting, p: Prediction) -> Claim:
    """Recall and accuracy 2 % below the theory's."""
    return p.attention, 0.98 * p.recall, 0.98 * p.accuracy


def wrong_laws(predictions: list[Prediction]) -> dict[str, Law]:
    laws: dict[str, Law] = {
        "recall and accuracy 2 % low": low_everywhere,
        "N >= dL": naive,
        "L dropped": at(L=lambda s: 1),
        "sqrt(d) for d": at(d=lambda s: s.d**0.5),
        "2V for V": twice_the_labels,
        "d 10 % up": at(d=lambda s: 1.1 * s.d),
        "half of N": at(N=lambda s: 0.5 * s.N),
    }
    for step in ("attention", "recall"):
        names = dict.fromkeys(name for p in predictions for name in p.terms[step])
        for name in names:
            for word, factor in FACTORS.items():
                laws[f"{step}, {name}, {word}"] = scaled(step, name, factor)
    return laws


def models_of_terms(grid: list[Setting], predictions: list[Prediction]) -> dict[str, list[str]]:
    """The models of the grid in which each "step, term" stands."""
    models: dict[str, dict[str, None]] = {}
    for setting, prediction in zip(grid, predictions, strict=True):
        of_one_layer = "orthogonal" if setting.embedding == "orthogonal" else "attention-only"
        for step in ("attention", "recall"):
            for term in prediction.terms[step]:
                models.setdefault(f"{step}, {term}", {})["MLP" if setting.m else of_one_layer] = None
    return {term: list(names) for term, names in models.items()}


class Instrument:
    """`verify` of the default grid, on resampled seeds."""

    def __init__(self, jobs: int = 1):
        self.grid = load_grid("default")
        self.theory = list(ordered_map(predict, [(s,) for s in self.grid], jobs))
        self.bank = [np.ascontiguousarray(v) for v in values()]
        self.truth = np.array([v.mean(axis=0) for v in self.bank])
        self.plan = [THREE_STEP_RECALL.planned_seeds(s, p) for s, p in zip(self.grid, self.theory, strict=True)]
        self.groups = pooled_groups(THREE_STEP_RECALL, self.grid, [OBSERVABLES] * len(self.grid))

    def margins(self, claim: np.ndarray) -> np.ndarray:
        """The declared margins of a claim (cells, 3)."""
        return np.array([list(THREE_STEP_RECALL.margins(s, dict(zip(OBSERVABLES, c, strict=True))).values())
                         for s, c in zip(self.grid, claim.tolist(), strict=True)])

    def run(self, claim: np.ndarray, number: int) -> Verification:
        """The verification of a claim (cells, 3), as `verify` itself makes it."""
        rng = np.random.default_rng((SEED, number))
        index = {s: c for c, s in enumerate(self.grid)}
        rows = [list(map(tuple, v[rng.integers(len(v), size=MOST_DRAWN)].tolist())) for v in self.bank]
        resampled = dataclasses.replace(
            THREE_STEP_RECALL, predict=lambda s: self.theory[index[s]],
            observe=lambda s, seed, i: rows[index[s]][i])  # type: ignore[arg-type, return-value]
        return verify(self.grid, seed=0, problem=resampled,
                      predictor=lambda s: dict(zip(OBSERVABLES, claim[index[s]].tolist(), strict=True)))

    def found_wrong(self, claims: np.ndarray, margins: np.ndarray, number: int, all_open: bool) -> np.ndarray:
        """Which of the claims (laws, cells, 3) disagree in any cell, and which over a group: (2, laws).

        At the third look the cells that a claim left open and the groups that look biased have more seeds, as in
        `verify`, or all cells if `all_open`.
        """
        rng = np.random.default_rng((SEED, number))
        seen = [v[rng.integers(len(v), size=MOST_DRAWN)] for v in self.bank]
        planned = [x[:n] for x, n in zip(seen, self.plan, strict=True)]
        stages = [[int(SECOND_STAGE * n) for n in self.plan],
                  second_stage(self.plan, (), self.spreads(list(self.groups), planned))]
        wrong = np.zeros((2, len(claims)), dtype=bool)
        for look in [early_look(self.plan), self.plan, *(stages if all_open else [])]:
            wrong |= self.judged(claims, margins, [x[:n] for x, n in zip(seen, look, strict=True)])
        if not all_open:
            usual = [mean_intervals(np.ascontiguousarray(x[:n].T), AGREE_CONFIDENCE)
                     for x, n in zip(seen, self.plan, strict=True)]
            low, high = np.array([u.low for u in usual]), np.array([u.high for u in usual])
            is_open = ((claims - low > margins) | (high - claims > margins)).any(axis=2)
            for one in np.flatnonzero(~wrong.any(axis=0)):
                look = second_stage(self.plan, set(np.flatnonzero(is_open[one]).tolist()),
                                    self.suspected(claims[one], planned))
                had = [x[:n] for x, n in zip(seen, look, strict=True)]
                wrong[:, [one]] |= self.judged(claims[[one]], margins[[one]], had)
        return wrong

    def spreads(self, groups: Sequence[tuple[str, str, str]], had: list[np.ndarray]) -> list[dict[int, float]]:
        """The deviations from seed to seed of the cells of each group, by the values (seeds, 3) of each cell."""
        return [{c: float(had[c][:, OBSERVABLES.index(group[-1])].std(ddof=1)) for c in self.groups[group]}
                for group in suspected_groups(groups)]

    def suspected(self, claim: np.ndarray, had: list[np.ndarray]) -> list[dict[int, float]]:
        """Of the groups over which a claim (cells, 3) looks biased the `spreads`."""
        squared_errors = np.array([x.var(axis=0, ddof=1) / len(x) for x in had])
        means = np.array([x.mean(axis=0) for x in had])
        biased = []
        for group, members in self.groups.items():
            o = OBSERVABLES.index(group[-1])
            bias = abs(float((claim - means)[members, o].mean()))
            se = float(squared_errors[members, o].sum()) ** 0.5 / len(members)
            if bias > pooled_margin(float(means[members, o].mean())) + SUSPECTED * se:
                biased.append(group)
        return self.spreads(biased, had)

    def judged(self, claims: np.ndarray, margins: np.ndarray, had: list[np.ndarray]) -> np.ndarray:
        """As `found_wrong`, at one look: `had` are the values (seeds, 3) of each cell.

        An interval beyond the margin of a claim has its mean there too: others need not be computed.
        """
        wrong = np.zeros((2, len(claims)), dtype=bool)
        confidence = family_confidence(LOOKS * (3 * len(self.grid) + len(self.groups)))
        means = np.array([x.mean(axis=0) for x in had])
        for c in np.flatnonzero((np.abs(means - claims) > margins).any(axis=(0, 2))):
            ends = mean_intervals(np.ascontiguousarray(had[c].T), confidence)
            beyond = (claims[:, c] - ends.high > margins[:, c]) | (ends.low - claims[:, c] > margins[:, c])
            wrong[0] |= beyond.any(axis=1)
        for (_, _, name), members in self.groups.items():
            o = OBSERVABLES.index(name)
            observed, claim = float(means[members, o].mean()), claims[:, members, o].mean(axis=1)
            margin = pooled_margin(observed)
            if (np.abs(claim - observed) > margin).any():
                low, high, _ = pooled_interval([had[c][:, o] for c in members], confidence)
                wrong[1] |= (claim - high > margin) | (low - claim > margin)
        return wrong


def share(hits: int, runs: int) -> dict[str, Any]:
    """Hits of runs with the 95 % interval of Clopper and Pearson."""
    low, high = stats.binomtest(hits, runs).proportion_ci(0.95, "exact")
    return {"runs": runs, "hits": hits, "low": float(low), "high": float(high)}


def false_alarms(it: Instrument, runs: int, jobs: int) -> dict[str, Any]:
    """How often right formulas are called wrong."""
    margins = it.margins(it.truth)
    inward = margins * np.where(it.truth < 0.5, 1, -1)
    # The margin of a claim is another where it is relative: nine tenths of the truth's keep within both.
    claims = {"the true mean": it.truth}
    for sign, name in ((1, "towards 1/2"), (-1, "away from 1/2")):
        claims[f"off by nine tenths of the margin, {name}"] = np.clip(it.truth + sign * 0.9 * inward, 0, 1)
    found = {}
    for name, claim in claims.items():
        repeats = runs if claim is it.truth else runs // 10  # every cell of the others has to be looked at closely
        tasks = [(it, claim[None], it.margins(claim)[None], i, True) for i in range(repeats)]
        in_cells, over_groups = sum(wrong.astype(int) for wrong in ordered_map(Instrument.found_wrong, tasks, jobs))
        found[name] = share(int(in_cells[0]) + (int(over_groups[0]) if claim is it.truth else 0), repeats)
    return found


def power(it: Instrument, runs: int, jobs: int) -> dict[str, Any]:
    """How often wrong formulas are called wrong, and by how many margins they are off the theory."""
    laws = wrong_laws(it.theory)
    theory = np.array([means(p) for p in it.theory])
    claims = np.array([[law(s, p) for s, p in zip(it.grid, it.theory, strict=True)] for law in laws.values()])
    margins = np.array([it.margins(claim) for claim in claims])
    moved = np.abs(claims - theory)
    pooled = np.max([np.abs((claims - theory)[:, members, OBSERVABLES.index(name)].mean(axis=1))
                     / pooled_margin(float(it.truth[members, OBSERVABLES.index(name)].mean()))
                     for (_, _, name), members in it.groups.items()], axis=0)
    tasks = [(it, claims, margins, i, False) for i in range(runs)]
    hits = sum(found.any(axis=0).astype(int) for found in ordered_map(Instrument.found_wrong, tasks, jobs))
    in_cell = (moved / margins).max(axis=(1, 2))
    return {name: {"cell_margins": float(cell), "pooled_margins": float(group), **share(int(n), runs)}
            for name, cell, group, n in zip(laws, in_cell, pooled, np.asarray(hits), strict=True)}


def own_theory(it: Instrument, runs: int, jobs: int) -> dict[str, Any]:
    """What the library's own theory is called, and how many seeds that takes."""
    theory = np.array([means(p) for p in it.theory])
    found = list(ordered_map(_own, [(it, theory, i) for i in range(runs // 10)], jobs))
    words = [word for word, _, _ in found]
    result: dict[str, Any] = {word: share(words.count(word), len(words)) for word in (AGREE, INCONCLUSIVE, DISAGREE)}
    result["seeds"] = float(np.mean([seeds for _, seeds, _ in found]))
    result["pooled"] = {"; ".join(group): [words[i] for _, _, words in found].count(AGREE) / len(found)
                        for i, group in enumerate(it.groups)}
    return result


def _own(it: Instrument, theory: np.ndarray, number: int) -> tuple[str, int, list[str]]:
    result = it.run(theory, number)
    return result.verdict, sum(c.seeds for c in result.cells), [test.verdict for test in result.pooled]


def biases(it: Instrument, runs: int, jobs: int) -> dict[str, Any]:
    """The cells in which the library's own theory is furthest off, in margins, and its bias over each group."""
    theory = np.array([means(p) for p in it.theory])
    margins = it.margins(theory)
    se = np.array([v.std(axis=0, ddof=1) / len(v) ** 0.5 for v in it.bank])
    off = it.truth - theory
    cells = []
    for c in np.argsort(-(np.abs(off) / margins).max(axis=1))[:5]:
        i = (np.abs(off[c]) / margins[c]).argmax()
        cells.append({"setting": it.grid[c].to_dict(), "observable": OBSERVABLES[i], "margin": float(margins[c, i]),
                      "bias": float(off[c, i]), "se": float(se[c, i])})
    groups = []
    for (model, regime, name), members in it.groups.items():
        i = OBSERVABLES.index(name)
        observed = float(it.truth[members, i].mean())
        groups.append({"group": f"{model}, {regime}", "observable": name, "cells": len(members), "observed": observed,
                       "bias": float(-off[members, i].mean()), "margin": pooled_margin(observed),
                       "se": float((se[members, i] ** 2).sum() ** 0.5 / len(members))})
    return {"cells": cells, "groups": groups}


SEED = 20261122
PARTS = {"biases": biases, "theory": own_theory, "wrong": power, "right": false_alarms}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", choices=PARTS)
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    path, it = HERE / "false_alarms.json", Instrument(options.jobs)
    for part, study in PARTS.items():
        if options.part not in (None, part):
            continue
        found = {part: study(it, options.runs, options.jobs)}
        print(json.dumps(found, indent=1), flush=True)
        if options.write:
            kept = json.loads(path.read_text()) if path.exists() else {}
            # parts take minutes to hours: each says which law it is of, and how many seeds a cell the bank had
            kept["of"] = kept.get("of", {}) | {part: {"law": LAW, "bank": len(it.bank[0])}}
            if part == "wrong":
                kept["terms"] = models_of_terms(it.grid, it.theory)
            if part == "theory":
                kept |= {"cells": len(it.grid), "seeds": sum(it.plan)}
            kept |= found
            path.write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    main()
