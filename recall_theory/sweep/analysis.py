"""Every cell of a store beside its prediction, judged by the rules and margins of `verify`."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from ..settings import Setting, SettingError
from ..simulate.observables import OBSERVABLES
from ..theory.phase import binding
from ..theory.predict import Prediction, predict
from ..verification.problem import THREE_STEP_RECALL
from ..verification.results import Cell, Comparison, Judging, compare
from ..verification.tolerances import declared_margin
from ..verification.verdicts import AGREE, DISAGREE, INCONCLUSIVE, VERDICT_ALPHA, family_confidence, worst
from .problem import MODEL, Problem
from .results import Results

RIGHT = 0.9  # predicted attention from which attention counts as sure

Map = Callable[[Callable[[Setting], Any], Sequence[Setting]], Iterable[Any]]


@dataclasses.dataclass(frozen=True)
class Refused:
    """A cell that the theory doesn't describe, and why."""

    problem: Problem
    seeds: int
    reason: str


@dataclasses.dataclass(frozen=True)
class Evidence:
    """The judged cells of a store, each with the problem that was simulated, and the refused ones.

    `confidence` is that of each interval, so that all together hold at 99.8 %.
    """

    problems: tuple[Problem, ...]
    cells: tuple[Cell, ...]
    refused: tuple[Refused, ...]
    confidence: float

    @property
    def verdict(self) -> str:
        """disagree if any comparison disagrees, else inconclusive if any is, else agree."""
        return worst(cell.verdict for cell in self.cells)

    @property
    def comparisons(self) -> list[tuple[Cell, str, Comparison]]:
        """Every comparison with its cell and observable."""
        return [(cell, o, c) for cell in self.cells for o, c in cell.comparisons.items()]

    @property
    def largest(self) -> tuple[Cell, str, Comparison]:
        """The comparison whose difference is largest."""
        return max(self.comparisons, key=lambda item: abs(item[2].difference))

    def tally(self, observable: str | None = None) -> dict[str, int]:
        """How many comparisons have each verdict: those of one observable, or all."""
        seen = [c.verdict for _, o, c in self.comparisons if observable in (None, o)]
        return {v: seen.count(v) for v in (AGREE, DISAGREE, INCONCLUSIVE)}

    @property
    def all_problems(self) -> tuple[Problem, ...]:
        """The problems of all cells, refused ones last."""
        return (*self.problems, *(r.problem for r in self.refused))

    def to_dict(self) -> dict[str, Any]:
        """The part of `recall-theory report --json` that is about cells."""
        return {
            "schema_version": 1, "model": MODEL, "confidence": self.confidence,
            "cells": [{**cell.to_dict(), "seed": p.cell_seed, "n_test": p.n_test, "binding": limited_by(cell),
                       "attention_sure": attention_sure(cell)}
                      for p, cell in zip(self.problems, self.cells, strict=True)],
            "refused": [{"setting": r.problem.setting.to_dict(), "seed": r.problem.cell_seed, "seeds": r.seeds,
                         "n_test": r.problem.n_test, "reason": r.reason} for r in self.refused],
            "verdict": self.verdict if self.cells else None,
        }


def evidence(results: Results, mapped: Map = map) -> Evidence:
    """Judge what a store holds: `compare` at the margin that the theory declares, one family for all its comparisons.

    `mapped` may be a parallel map, which predicts.

    >>> from recall_theory.sweep import product, sweep
    >>> found = evidence(sweep(product({"d": [16, 32]}, V=16, L=2, N=128), seeds=3, seed=1))
    >>> len(found.cells), found.verdict
    (2, 'inconclusive')
    """
    counted = [(p, values[~np.isnan(values[:, 0])]) for p, values in zip(results.problems, results.values, strict=True)]
    predictions = list(mapped(predicted, [p.setting for p, _ in counted]))
    described = [isinstance(x, Prediction) for x in predictions]
    confidence = family_confidence(len(OBSERVABLES) * sum(described), VERDICT_ALPHA)
    problems, cells, refused = [], [], []
    for (problem, values), theory in zip(counted, predictions, strict=True):
        if isinstance(theory, Prediction):
            problems.append(problem)
            judging = Judging(declared_margin(problem.setting), confidence)
            cells.append(compare(THREE_STEP_RECALL, problem.setting, {o: getattr(theory, o) for o in OBSERVABLES},
                                 values, judging, theory))
        else:
            refused.append(Refused(problem, len(values), theory))
    return Evidence(tuple(problems), tuple(cells), tuple(refused), confidence)


def predicted(setting: Setting) -> Prediction | str:
    """The prediction, or why there is none."""
    try:
        return predict(setting)
    except SettingError as error:
        return str(error)


def limited_by(cell: Cell) -> str:
    """The step that falls shorter and the family of its largest noise term: "recall: mean bias"."""
    assert cell.theory is not None
    return binding(cell.theory)


def attention_sure(cell: Cell) -> bool:
    """Whether attention is predicted to find the informative token, nine times in ten at least."""
    return cell.comparisons["attention"].predicted >= RIGHT
