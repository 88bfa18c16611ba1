"""What a store says of the theory: every cell judged beside its prediction, phase diagrams with the cells on them,
critical sizes, and the commands that simulate it again."""

from __future__ import annotations

import dataclasses

from ..numerics.plain_data import SCHEMA_VERSION
from ..settings import OBSERVABLES, Setting, SettingError, check_proportion
from ..theory.phase import PhaseDiagram, binding
from ..theory.predict import Prediction, predict
from ..verification import verdicts
from ..verification.problem import THREE_STEP_RECALL
from ..verification.results import Cell, Comparison, compare
from .reproduce import Reproduction, reproductions
from .scaling_experiment import Scaling
from .slices import DIAGRAM_CELLS, SettingMap, Slice2D, critical_scalings, phase_diagram_of, slices_of
from .sweep_problem import SIMULATION_VERSION, SweepProblem
from .sweep_results import Results

SURE_ATTENTION = 0.9  # predicted attention from which attention counts as sure
LEVEL = 0.5  # the level whose crossings are critical


@dataclasses.dataclass(frozen=True)
class RefusedCell:
    """A cell that the theory doesn't describe, its number of seeds, and why."""

    problem: SweepProblem
    seeds: int
    reason: str


@dataclasses.dataclass(frozen=True)
class StoreAnalysis:
    """The judged cells of a store, each with the problem that was simulated, and the refused ones.

    `confidence` is that of each interval, so that all together hold at 99.8 %.
    """

    problems: tuple[SweepProblem, ...]
    cells: tuple[Cell, ...]
    refused: tuple[RefusedCell, ...]
    confidence: float

    @property
    def verdict(self) -> str:
        """disagree if any comparison disagrees, else inconclusive if any is, else agree."""
        return verdicts.worst(cell.verdict for cell in self.cells)

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
        given = [c.verdict for _, o, c in self.comparisons if observable in (None, o)]
        return {v: given.count(v) for v in (verdicts.AGREE, verdicts.DISAGREE, verdicts.INCONCLUSIVE)}

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
                "cells": cells, "refused": refused, "verdict": self.verdict if self.cells else None}

    def records(self) -> list[dict[str, object]]:
        """One flat record a comparison, as the CSV output of `recall-theory report` has them."""
        return [{**cell.setting.to_dict(), "seed": p.cell_seed, "n_test": p.n_test, "seeds": cell.seeds,
                 "margin": cell.margin, "observable": observable, **c.record()}
                for p, cell in zip(self.problems, self.cells, strict=True)
                for observable, c in cell.comparisons.items()]


@dataclasses.dataclass(frozen=True)
class SliceSummary:
    """A slice of the cells with its predicted phase diagram (or why there is none) and its critical sizes."""

    slice: Slice2D
    diagram: PhaseDiagram | str
    scalings: tuple[Scaling, ...]

    def to_dict(self) -> dict[str, object]:
        """The slice and its diagram as the JSON contract has them."""
        where = {"x": self.slice.x, "y": self.slice.y, "fixed": self.slice.fixed, "reason": self.diagram}
        return {"cells": list(self.slice.cells), **(where if isinstance(self.diagram, str) else self.diagram.to_dict())}


@dataclasses.dataclass(frozen=True)
class StoreSummary:
    """What a store shows. `at` is the level of critical sizes and of the boundaries in phase diagrams, `more_slices`
    counts the slices beyond those in `slices`."""

    analysis: StoreAnalysis
    at: float
    slices: tuple[SliceSummary, ...]
    more_slices: int
    reproductions: tuple[Reproduction, ...]

    def to_dict(self) -> dict[str, object]:
        """The JSON contract of `recall-theory report`."""
        return {**self.analysis.to_dict(), "at": self.at, "phase": [s.to_dict() for s in self.slices],
                "scaling": [x.to_dict() for s in self.slices for x in s.scalings],
                "repeat": [r.command for r in self.reproductions]}


def analyse_cells(results: Results, *, mapped: SettingMap = map) -> StoreAnalysis:
    """Judge the cells of a sweep by the rules and declared margins of `verify`, one family for all comparisons.

    `mapped` may be a parallel map, which predicts.

    >>> from recall_theory.sweep import product, sweep
    >>> analysis = analyse_cells(sweep(product({"d": [16, 32]}, V=16, L=2, N=128), seeds=3, seed=1))
    >>> len(analysis.cells), analysis.verdict
    (2, 'inconclusive')
    """
    predictions = list(mapped(predict_or_reason, [p.setting for p in results.problems]))
    described = sum(isinstance(p, Prediction) for p in predictions)
    confidence = verdicts.family_confidence(len(OBSERVABLES) * described, verdicts.VERDICT_ALPHA)
    problems, cells, refused = [], [], []
    for c, (problem, prediction) in enumerate(zip(results.problems, predictions, strict=True)):
        finished = results.finished(c)
        if isinstance(prediction, str):
            refused.append(RefusedCell(problem, len(finished), prediction))
            continue
        problems.append(problem)
        claimed = {o: getattr(prediction, o) for o in OBSERVABLES}
        cells.append(compare(THREE_STEP_RECALL, problem.setting, claimed, finished, prediction,
                             margin=verdicts.declared_margin(problem.setting), confidence=confidence))
    return StoreAnalysis(tuple(problems), tuple(cells), tuple(refused), confidence)


def summarise_store(results: Results, at: float = LEVEL, *, diagram_cells: tuple[int, int] | None = DIAGRAM_CELLS,
                    mapped: SettingMap = map) -> StoreSummary:
    """What the results of a sweep show: judged cells, slices with phase diagrams and critical sizes, commands.

    `at`, above 0 and below 1, is the level whose crossings are critical. Phase diagrams have `diagram_cells` (columns,
    rows), and are left out where that is None; `mapped` may be a parallel map, which predicts. Raises `SettingError`
    where there is no result.

    >>> from recall_theory.sweep import product, sweep
    >>> cells = product({"d": [8, 16, 32], "L": [2, 4]}, V=16, N=128)
    >>> summary = summarise_store(sweep(cells, seeds=8, seed=1), diagram_cells=(3, 2))
    >>> summary.slices[0].diagram.accuracy.shape
    (2, 3)
    """
    if not results.found:
        raise SettingError("store", "the store holds no result of the present model")
    check_proportion("at", at)
    analysis = analyse_cells(results, mapped=mapped)
    settings = [cell.setting for cell in analysis.cells]
    slices, more = slices_of(settings)
    summaries = []
    for s in slices:
        diagram = "" if diagram_cells is None else phase_diagram_of(s, settings, at, cells=diagram_cells, mapped=mapped)
        scalings = critical_scalings(s, analysis.cells, at, analysis.problems[s.cells[0]].seed)
        summaries.append(SliceSummary(s, diagram, tuple(scalings)))
    commands = reproductions(analysis.all_problems, analysis.seed_counts)
    return StoreSummary(analysis, at, tuple(summaries), more, tuple(commands))


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
