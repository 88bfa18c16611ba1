"""What results say of the theory: every cell judged beside its prediction, and how many seeds verdicts take."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ..numerics.formatting import SCHEMA_VERSION, cleaned
from ..settings import OBSERVABLES, Setting, SettingError
from ..theory.phase import binding
from ..theory.predict import Prediction, predict
from ..verification import verdicts
from ..verification.planning import planned_cell, second_stage
from ..verification.problem import THREE_STEP_RECALL
from ..verification.results import Cell, JudgedCells, PooledTest, compare, pooled_groups, pooled_tests
from .sweep_results import SIMULATION_VERSION, Results, SweepProblem

SURE_ATTENTION = 0.9  # predicted attention from which attention counts as sure
STAGES = 2  # of a sweep that plans its seeds: each has half of the error
UNJUDGED_SEEDS = 32  # of a cell that the theory doesn't describe: there is no verdict to plan for

SettingMap = Callable[[Callable[[Setting], Any], Sequence[Setting]], Iterable[Any]]  # `map`, or a parallel one


@dataclasses.dataclass(frozen=True)
class RefusedCell:
    """A cell that the theory doesn't describe, its number of seeds, and why."""

    problem: SweepProblem
    seeds: int
    reason: str


@dataclasses.dataclass(frozen=True)
class StoreAnalysis(JudgedCells):
    """The judged cells of a store, each with the problem that was simulated, the tests of groups of them, and the
    refused cells.

    `confidence` is that of each interval, so that all together hold at 99.8 % after each of two stages. `planned` is
    whether every cell has the seeds of the first stage that `sweep` plans.
    """

    problems: tuple[SweepProblem, ...]
    cells: tuple[Cell, ...]
    refused: tuple[RefusedCell, ...]
    confidence: float
    planned: bool
    pooled: tuple[PooledTest, ...]

    @property
    def all_problems(self) -> tuple[SweepProblem, ...]:
        """The problems of all cells, refused ones last."""
        return (*self.problems, *(r.problem for r in self.refused))

    @property
    def seed_counts(self) -> list[int]:
        """Seeds of each of `all_problems`."""
        return [*(cell.seeds for cell in self.cells), *(r.seeds for r in self.refused)]

    def to_dict(self) -> dict[str, object]:
        """The part of `recall-theory report --json` that is about cells."""
        cells = [{**cell.to_dict(), "seed": p.cell_seed, "n_test": p.n_test, "binding": limited_by(cell),
                  "attention_sure": attention_sure(cell)}
                 for p, cell in zip(self.problems, self.cells, strict=True)]
        refused = [{"setting": r.problem.setting.to_dict(), "seed": r.problem.cell_seed, "seeds": r.seeds,
                    "n_test": r.problem.n_test, "reason": r.reason} for r in self.refused]
        return {"schema_version": SCHEMA_VERSION, "model": SIMULATION_VERSION, "confidence": self.confidence,
                "cells": cells, "pooled": [cleaned(test.to_dict()) for test in self.pooled], "refused": refused,
                "verdict": self.verdict if self.cells else None}

    def records(self) -> list[dict[str, object]]:
        """One flat record a comparison, as the CSV output of `recall-theory report` has them."""
        return [{**cell.setting.to_dict(), "seed": p.cell_seed, "n_test": p.n_test, "seeds": cell.seeds,
                 "margin": c.margin, "observable": observable, **c.record()}
                for p, cell in zip(self.problems, self.cells, strict=True)
                for observable, c in cell.comparisons.items()]


def analyse_cells(results: Results, *, mapped: SettingMap = map) -> StoreAnalysis:
    """Judge the cells of a sweep, and groups of them, by the rules and declared margins of `verify`, as one family.

    `mapped` may be a parallel map, which predicts.

    >>> from recall_theory.sweep import product, sweep
    >>> analysis = analyse_cells(sweep(product({"d": [16, 32]}, V=16, L=2, N=128), seeds=3, seed=1))
    >>> len(analysis.cells), analysis.verdict
    (2, 'inconclusive')
    """
    predictions = list(mapped(predict_or_reason, [p.setting for p in results.problems]))
    confidence = _confidence(results.problems, predictions)
    problems, cells, refused = [], [], []
    for c, (problem, prediction) in enumerate(zip(results.problems, predictions, strict=True)):
        finished = results.finished(c)
        if isinstance(prediction, str):
            refused.append(RefusedCell(problem, len(finished), prediction))
            continue
        problems.append(problem)
        claimed = {o: getattr(prediction, o) for o in OBSERVABLES}
        cells.append(compare(THREE_STEP_RECALL, problem.setting, claimed, finished, prediction,
                             margins=THREE_STEP_RECALL.margins(problem.setting, claimed), confidence=confidence))
    settings = [problem.setting for problem in results.problems]
    planned = all(n >= least for n, least in zip(results.counts, _first_stage(settings, predictions), strict=True))
    pooled = pooled_tests(THREE_STEP_RECALL, cells, confidence)
    return StoreAnalysis(tuple(problems), tuple(cells), tuple(refused), confidence, planned, pooled)


def planned_for_verdicts(settings: Sequence[Setting]) -> list[int]:
    """The seeds of each cell for a verdict, by the predicted spread, as `verify` plans its first stage."""
    return _first_stage(settings, list(map(predict_or_reason, settings)))


def _first_stage(settings: Sequence[Setting], predictions: Sequence[Prediction | str]) -> list[int]:
    return [UNJUDGED_SEEDS if isinstance(prediction, str) else
            planned_cell(THREE_STEP_RECALL, setting, prediction)
            for setting, prediction in zip(settings, predictions, strict=True)]


def planned_for_open_verdicts(results: Results) -> list[int]:
    """The seeds of each cell after a first stage: more where a verdict is open, if no cell disagrees."""
    analysis = analyse_cells(results)
    still_open = {p for p, cell in zip(analysis.problems, analysis.cells, strict=True) if cell.is_open}
    if analysis.verdict == verdicts.DISAGREE:
        still_open = set()
    return second_stage(results.counts.tolist(), {c for c, p in enumerate(results.problems) if p in still_open})


def _confidence(problems: Sequence[SweepProblem], predictions: Sequence[Prediction | str]) -> float:
    """The confidence of every interval where cells and groups of them are judged after each of two stages."""
    described = [p.setting for p, prediction in zip(problems, predictions, strict=True)
                 if not isinstance(prediction, str)]
    groups = pooled_groups(THREE_STEP_RECALL, described, [OBSERVABLES] * len(described))
    return verdicts.family_confidence(STAGES * (len(OBSERVABLES) * len(described) + len(groups)))


def predict_or_reason(setting: Setting) -> Prediction | str:
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
    return cell.comparisons["attention"].predicted >= SURE_ATTENTION
