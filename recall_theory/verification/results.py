"""What a verification consists of: comparisons of one observable, cells of one setting, and the whole.

One record serves every problem. `Cell` and `Verification` without parameters are those of recall by three steps.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Generic

import numpy as np
from numpy.typing import NDArray

from ..numerics.plain_data import SCHEMA_VERSION, cleaned
from ..simulate.observation import Observable
from ..theory.predict import LAW
from .intervals import Intervals, anytime_interval, mean_intervals
from .planning import seeds_planned, seeds_to_rule_out
from .problem import P, Problem, S
from .verdicts import INCONCLUSIVE, judge, smallest_detectable_bias, worst

TOO_SKEWED = "too skewed to judge"
TOO_FEW = "too few seeds to show rare failures"


@dataclasses.dataclass(frozen=True)
class Comparison:
    """One observable of one cell: what is claimed, what was observed, and the verdict.

    `low` and `high` are the ends of the family-wise interval of observed - predicted, by the `method` "t", "BCa", "any
    law" or "anytime". `reason` says why a comparison is inconclusive where it isn't the width alone. `design_effect` is
    the variance over seeds in units of that of as many independent facts (NaN where nothing varies). `detectable` is
    the bias beyond the margin that would be found with probability 0.9. `predicted_std` is the spread that the
    library's own theory predicts (NaN where it describes none).
    """

    predicted: float
    predicted_std: float
    observed: Observable
    low: float
    high: float
    method: str
    verdict: str
    reason: str
    design_effect: float
    detectable: float

    @property
    def difference(self) -> float:
        """Observed mean less prediction."""
        return self.observed.mean - self.predicted

    def record(self) -> dict[str, float | str]:
        """The comparison as a row of `--csv`."""
        return {"predicted": self.predicted, "predicted_std": self.predicted_std, "observed": self.observed.mean,
                "se": self.observed.se, "std": self.observed.std, "difference": self.difference, "low": self.low,
                "high": self.high, "method": self.method, "design_effect": self.design_effect,
                "smallest_detectable_bias": self.detectable, "verdict": self.verdict, "reason": self.reason}


@dataclasses.dataclass(frozen=True)
class Cell(Generic[S, P]):
    """One setting of the grid with its margin and its comparisons, by observable.

    `theory` is the library's own prediction there, None where it has none. `remarks` say why that was not checked
    there; None where no domain is declared.
    """

    setting: S
    seeds: int
    margin: float
    comparisons: dict[str, Comparison]
    theory: P | None
    remarks: tuple[str, ...] | None = None

    @property
    def verdict(self) -> str:
        """The worst of its verdicts."""
        return worst(c.verdict for c in self.comparisons.values())

    @property
    def is_open(self) -> bool:
        """Whether any of its verdicts is inconclusive."""
        return any(c.verdict == INCONCLUSIVE for c in self.comparisons.values())

    def to_dict(self) -> dict[str, object]:
        """The cell as the JSON contract has it."""

        def each(value: Callable[[Comparison], object]) -> dict[str, object]:
            return {o: cleaned(value(c)) for o, c in self.comparisons.items()}

        of_domain = {} if self.remarks is None else {"checked": not self.remarks, "remarks": list(self.remarks)}
        return {
            "setting": self.setting.to_dict(),
            **of_domain,
            "seeds": self.seeds,
            "margin": self.margin,
            "predicted": {**each(lambda c: c.predicted), "std": each(lambda c: c.predicted_std)},
            "observed": each(lambda c: {"mean": c.observed.mean, "se": c.observed.se, "std": c.observed.std}),
            "difference": each(lambda c: c.difference),
            "interval": each(lambda c: [c.low, c.high]),
            "method": each(lambda c: c.method),
            "design_effect": each(lambda c: c.design_effect),
            "smallest_detectable_bias": each(lambda c: c.detectable),
            "verdict": each(lambda c: c.verdict),
            "reason": each(lambda c: c.reason),
        }


@dataclasses.dataclass(frozen=True)
class Verification(Generic[S, P]):
    """All cells of a grid and the verdict on the whole.

    `confidence` is that of each interval. `margin` is the margin of every cell where the problem has one for all; JSON
    then shows it once, and else with each cell.
    """

    seed: int
    confidence: float
    cells: tuple[Cell[S, P], ...]
    margin: float | None = None

    @property
    def comparisons(self) -> list[tuple[Cell[S, P], str, Comparison]]:
        """Every comparison with its cell and observable."""
        return [(cell, o, c) for cell in self.cells for o, c in cell.comparisons.items()]

    @property
    def verdict(self) -> str:
        """disagree if any comparison disagrees, else inconclusive if any is, else agree."""
        return worst(cell.verdict for cell in self.cells)

    def to_dict(self) -> dict[str, object]:
        """The JSON contract of `recall-theory verify` and `recall-theory geometric verify`."""
        shared = {} if self.margin is None else {"margin": self.margin}
        cells = [{name: value for name, value in c.to_dict().items() if name not in shared} for c in self.cells]
        return {"schema_version": SCHEMA_VERSION, "law": LAW, "seed": self.seed, **shared,
                "confidence": self.confidence, "cells": cells, "verdict": self.verdict}


def seeds_wanted(comparisons: Iterable[tuple[Cell[S, P], str, Comparison]], confidence: float) -> tuple[int, int]:
    """The seeds that any verdict takes at the smallest margin, and those that the widest inconclusive comparison would
    take by the mean and spread that it shows (0 where none is inconclusive)."""
    given = list(comparisons)
    least = seeds_to_rule_out(min(cell.margin for cell, _, _ in given), confidence)
    wanted = [seeds_planned(c.observed.mean, c.observed.std, cell.margin, confidence)
              for cell, _, c in given if c.verdict == INCONCLUSIVE and len(c.observed.values) > 1]
    return least, max(wanted, default=0)


def compare(problem: Problem[S, P], setting: S, claimed: Mapping[str, float], values: NDArray[np.float64],
            theory: P | None, *, margin: float, confidence: float, anytime: bool = False) -> Cell[S, P]:
    """The cell of a setting, from a claim and what was observed.

    `claimed` has a mean for one or more of the problem's observables, `values` (seeds, observables) a row a seed.
    `theory` is what the library itself predicts there. Each interval has the confidence, with `anytime` for all numbers
    of seeds together.

    >>> from recall_theory import Setting, predict
    >>> from recall_theory.verification.problem import THREE_STEP_RECALL
    >>> setting, values = Setting(V=16, L=2, d=32, N=128), np.full((400, 3), 0.9)
    >>> compare(THREE_STEP_RECALL, setting, {"recall": 0.5}, values, predict(setting), margin=0.02,
    ...         confidence=0.95).verdict
    'disagree'
    """
    names = [name for name in problem.observables if name in claimed]
    rows = np.ascontiguousarray(values.T[[problem.observables.index(name) for name in names]])
    if anytime:
        ends = Intervals(*anytime_interval(rows, confidence), np.full(len(rows), "anytime"))
    else:
        ends = mean_intervals(rows, confidence)

    seeds = len(values)
    moments = {} if theory is None else problem.moments(theory)
    comparisons = {}
    for name, row, low, high, method in zip(names, rows, ends.low.tolist(), ends.high.tolist(), ends.method.tolist(),
                                            strict=True):
        observed, predicted = Observable(row), claimed[name]
        verdict = judge(low - predicted, high - predicted, margin)
        reason = ""
        if verdict == INCONCLUSIVE and method == "any law" and seeds > 1:
            reason = TOO_SKEWED
        elif verdict == INCONCLUSIVE and not anytime and seeds < seeds_to_rule_out(margin, confidence):
            reason = TOO_FEW
        comparisons[name] = Comparison(
            predicted=predicted,
            predicted_std=moments[name].spread if name in moments else math.nan,
            observed=observed,
            low=low - predicted,
            high=high - predicted,
            method=method,
            verdict=verdict,
            reason=reason,
            design_effect=observed.design_effect(problem.facts(setting)),
            detectable=smallest_detectable_bias(observed.mean, low, high, observed.se),
        )
    remarks = None if problem.remarks is None else problem.remarks(setting)
    return Cell(setting, seeds, margin, comparisons, theory, remarks)
