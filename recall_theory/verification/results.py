"""What a verification consists of: comparisons of one observable, cells of one setting, tests of groups of cells, and
the whole. `Cell` and `Verification` without parameters are those of recall by three steps."""

from __future__ import annotations

import dataclasses
import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Generic

import numpy as np
from numpy.typing import NDArray

from ..numerics.arrays import Observable
from ..numerics.formatting import SCHEMA_VERSION, cleaned
from ..theory.predict import LAW
from . import verdicts
from .intervals import mean_intervals, pooled_interval
from .problem import P, Problem, S

REASONS = {"any law": "too skewed to judge", "rare failures": "too few seeds to show rare failures"}  # by method
FEWEST_POOLED = 3  # cells of a group: fewer are no more than cells
EVEN_CHANCE = 2.63  # standard errors in a margin at which an unbiased formula agrees every other time

Interval = tuple[float, float]


@dataclasses.dataclass(frozen=True)
class Comparison:
    """One observable of one cell: what is claimed, what was observed, and the verdict.

    `usual` is the 95 % interval of observed - predicted, by the `method` "t", "rare failures", "any law" or "anytime";
    `low` and `high` are the ends of the family-wise one. `reason` says why a comparison is inconclusive where it isn't
    the width alone. `design_effect` is the variance over seeds in units of that of as many independent facts (NaN where
    nothing varies). `detectable` is the bias beyond the margin that would be found with probability 0.9.
    `predicted_std` is the spread that the library's own theory predicts (NaN where it describes none).
    """

    predicted: float
    predicted_std: float
    observed: Observable
    margin: float
    usual: Interval
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
    """One setting of the grid and its comparisons, by observable.

    `theory` is the library's own prediction there, None where it has none. `remarks` say why that was not checked
    there; None where no domain is declared.
    """

    setting: S
    seeds: int
    comparisons: dict[str, Comparison]
    theory: P | None
    remarks: tuple[str, ...] | None = None

    @property
    def margin(self) -> float:
        """The largest margin of its comparisons."""
        return max(c.margin for c in self.comparisons.values())

    @property
    def verdict(self) -> str:
        """The worst of its verdicts."""
        return verdicts.worst(c.verdict for c in self.comparisons.values())

    @property
    def is_open(self) -> bool:
        """Whether any of its verdicts is inconclusive."""
        return any(c.verdict == verdicts.INCONCLUSIVE for c in self.comparisons.values())

    def to_dict(self) -> dict[str, object]:
        """The cell as the JSON contract has it."""

        def each(*names: str) -> dict[str, object]:
            """An attribute of each comparison, or several."""
            return {o: cleaned(attrgetter(*names)(c)) for o, c in self.comparisons.items()}

        of_domain = {} if self.remarks is None else {"checked": not self.remarks, "remarks": list(self.remarks)}
        observed = {o: {x: cleaned(getattr(c.observed, x)) for x in ("mean", "se", "std")}
                    for o, c in self.comparisons.items()}
        return {
            "setting": self.setting.to_dict(), **of_domain, "seeds": self.seeds,
            "margin": self.margin, "margins": each("margin"),
            "predicted": {**each("predicted"), "std": each("predicted_std")},
            "observed": observed, "difference": each("difference"),
            "interval": each("low", "high"), "agreement_interval": each("usual"),
            "method": each("method"), "design_effect": each("design_effect"),
            "smallest_detectable_bias": each("detectable"), "verdict": each("verdict"), "reason": each("reason"),
        }


@dataclasses.dataclass(frozen=True)
class PooledTest:
    """The mean error of one observable over the cells of a group: a model in a regime.

    `predicted` and `observed` are means over the cells, `se` is the standard error of the latter over seeds. `usual`
    and `family` are the 95 % and the family-wise interval of `bias`, predicted - observed.
    """

    model: str
    regime: str
    observable: str
    cells: int
    predicted: float
    observed: float
    se: float
    margin: float
    usual: Interval
    family: Interval

    @property
    def bias(self) -> float:
        """By how much the prediction is too high over the group."""
        return self.predicted - self.observed

    @property
    def relative(self) -> float:
        """The bias in units of what is observed."""
        return self.bias / self.observed if self.observed else math.nan

    @property
    def verdict(self) -> str:
        """agree, disagree or inconclusive."""
        return verdicts.judge(self.usual, self.family, self.margin)

    @property
    def looks_biased(self) -> bool:
        """Whether the verdict is open and the bias seems larger than the margin: more seeds will tell."""
        beyond = abs(self.bias) > self.margin + verdicts.SUSPECTED * self.se
        return beyond and self.verdict == verdicts.INCONCLUSIVE

    @property
    def group(self) -> str:
        """The model and the regime in words."""
        return group_in_words(self.model, self.regime)

    @property
    def in_percent(self) -> str:
        """The bias in per cent of what is observed, with the half width of its 95 % interval: "−3.00 ± 0.30"."""
        half = (self.usual[1] - self.usual[0]) / 2 / self.observed if self.observed else math.inf
        digits = ".2f" if max(abs(self.relative), half) < 10 else ".0e"
        return f"{100 * self.relative:+{digits}} ± {100 * half:{digits}}".replace("-", "−")

    def to_dict(self) -> dict[str, object]:
        """The test as the JSON contract has it."""
        whole = dataclasses.asdict(self)
        family, usual = whole.pop("family"), whole.pop("usual")
        return {**whole, "bias": self.bias, "relative": self.relative, "interval": family,
                "agreement_interval": usual, "verdict": self.verdict}


class JudgedCells(Generic[S, P]):
    """Base of what holds judged cells and the tests of their groups, as one family."""

    cells: tuple[Cell[S, P], ...]
    pooled: tuple[PooledTest, ...]

    @property
    def comparisons(self) -> list[tuple[Cell[S, P], str, Comparison]]:
        """Every comparison with its cell and observable."""
        return [(cell, o, c) for cell in self.cells for o, c in cell.comparisons.items()]

    @property
    def largest(self) -> tuple[Cell[S, P], str, Comparison]:
        """The comparison whose difference is largest."""
        return max(self.comparisons, key=lambda item: abs(item[2].difference))

    def tally(self, observable: str | None = None) -> dict[str, int]:
        """How many comparisons have each verdict: those of one observable, or all."""
        given = [c.verdict for _, o, c in self.comparisons if observable in (None, o)]
        return {v: given.count(v) for v in (verdicts.AGREE, verdicts.DISAGREE, verdicts.INCONCLUSIVE)}

    @property
    def biased(self) -> list[PooledTest]:
        """The groups over which the prediction is wrong beyond doubt, the largest bias in units of its margin first."""
        wrong = (test for test in self.pooled if test.verdict == verdicts.DISAGREE)
        return sorted(wrong, key=lambda test: -abs(test.bias) / test.margin)

    @property
    def verdict(self) -> str:
        """disagree if any comparison or pooled test disagrees, else inconclusive if any comparison is, else agree."""
        whole = verdicts.DISAGREE if self.biased else verdicts.AGREE
        return verdicts.worst([whole, *(cell.verdict for cell in self.cells)])

    @property
    def seeds_wanted(self) -> int:
        """The seeds that a verdict on the widest inconclusive comparison would take by the mean and spread that it
        shows (0 where none is inconclusive)."""
        return max((verdicts.seeds_planned(c.observed.mean, c.observed.std, c.margin) for _, _, c in self.comparisons
                    if c.verdict == verdicts.INCONCLUSIVE and len(c.observed.values) > 1), default=0)


@dataclasses.dataclass(frozen=True)
class Verification(JudgedCells[S, P]):
    """All cells of a grid, the tests of their groups, and the verdict on the whole.

    `confidence` is that of each family-wise interval. `margin` is the declared one of every cell where the problem has
    one for all; JSON then shows it once, and else with each cell. `seeds_planned` counts those of all cells where the
    run ended early, because its verdict was certain.
    """

    seed: int
    confidence: float
    cells: tuple[Cell[S, P], ...]
    margin: float | None = None
    pooled: tuple[PooledTest, ...] = ()
    seeds_planned: int | None = None

    def to_dict(self) -> dict[str, object]:
        """The JSON contract of `recall-theory verify` and `recall-theory geometric verify`."""
        shared = {} if self.margin is None else {"margin": self.margin}
        cells = [{name: value for name, value in c.to_dict().items() if name not in shared} for c in self.cells]
        return {"schema_version": SCHEMA_VERSION, "law": LAW, "seed": self.seed, **shared,
                "confidence": self.confidence, "cells": cells, "pooled": [cleaned(t.to_dict()) for t in self.pooled],
                "seeds_planned": self.seeds_planned, "verdict": self.verdict}


def group_in_words(model: str, regime: str) -> str:
    """A group of cells in words; gaussian embeddings go without saying.

    >>> group_in_words("MLP", "sphere"), group_in_words("MLP", "gaussian"), group_in_words("all", "all")
    ('MLP, sphere', 'MLP', 'all')
    """
    if regime == "all":
        return "all"
    return ", ".join([model, *(word for word in regime.split(", ") if word != "gaussian")])


def biases_in_words(biases: Iterable[tuple[str, str]], most: int | None = None) -> str:
    """Biases (group, observable) in words, by observable; more than `most` groups are counted.

    >>> biases_in_words([("MLP", "recall"), ("MLP", "accuracy"), ("MLP, sphere", "accuracy"), ("all", "accuracy")], 2)
    'recall (MLP); accuracy (3 groups)'
    """
    groups: defaultdict[str, list[str]] = defaultdict(list)
    for group, observable in biases:
        groups[observable].append(group)
    return "; ".join(f"{observable} ({len(members)} groups)" if most and len(members) > most else
                     f"{observable} ({'; '.join(members)})" for observable, members in groups.items())


def too_small_to_judge(problem: Problem[S, P], settings: Sequence[S], moments: Sequence[Mapping[str, verdicts.Moments]],
                       seeds: Sequence[int], least_margin: float = 0) -> list[tuple[str, str]]:
    """The pooled biases (group in words, observable) that an unbiased formula would more often than not leave open.

    By the expected moments of each cell's observables and its seeds; nothing is observed. `least_margin` is as in
    `pooled_tests`.
    """
    found = []
    for (model, regime, name), members in pooled_groups(problem, settings, moments).items():
        margin = max(verdicts.pooled_margin(float(np.mean([moments[c][name].mean for c in members]))), least_margin)
        se = math.sqrt(sum(moments[c][name].spread ** 2 / seeds[c] for c in members)) / len(members)
        if margin < EVEN_CHANCE * se:
            found.append((group_in_words(model, regime), name))
    return found


def compare(problem: Problem[S, P], setting: S, claimed: Mapping[str, float], values: NDArray[np.float64],
            theory: P | None, *, margins: Mapping[str, float], confidence: float, anytime: bool = False) -> Cell[S, P]:
    """The cell of a setting, from a claim and what was observed.

    `claimed` and `margins` have a mean and its margin for one or more of the problem's observables, `values` (seeds,
    observables) a row a seed. `theory` is what the library itself predicts there. `confidence` is that of the intervals
    that may say disagree. With `anytime` all intervals hold for all numbers of seeds together.
    """
    names = [name for name in problem.observables if name in claimed]
    rows = np.ascontiguousarray(values.T[[problem.observables.index(name) for name in names]])
    usual, family = (mean_intervals(rows, level, anytime) for level in (verdicts.AGREE_CONFIDENCE, confidence))
    moments = {} if theory is None else problem.moments(theory)
    comparisons = {}
    for i, name in enumerate(names):
        observed, predicted = Observable(rows[i]), claimed[name]
        low, high = float(family.low[i]), float(family.high[i])
        inner = float(usual.low[i]) - predicted, float(usual.high[i]) - predicted
        verdict = verdicts.judge(inner, (low - predicted, high - predicted), margins[name])
        method = str(usual.method[i])
        comparisons[name] = Comparison(
            predicted=predicted,
            predicted_std=moments[name].spread if name in moments else math.nan,
            observed=observed,
            margin=margins[name],
            usual=inner,
            low=low - predicted,
            high=high - predicted,
            method=method,
            verdict=verdict,
            reason=REASONS.get(method, "") if verdict == verdicts.INCONCLUSIVE else "",
            design_effect=observed.design_effect(problem.facts(setting)),
            detectable=verdicts.smallest_detectable_bias(observed.mean, low, high, observed.se),
        )
    remarks = None if problem.remarks is None else problem.remarks(setting)
    return Cell(setting, len(values), comparisons, theory, remarks)


def pooled_groups(problem: Problem[S, P], settings: Sequence[S],
                  claims: Sequence[Collection[str]]) -> dict[tuple[str, str, str], list[int]]:
    """The cells, by number, of each (model, regime, observable) that is among the claims in three cells or more.

    Where there are several models or regimes, ("all", "all", observable) is all of them together.
    """
    groups: defaultdict[tuple[str, str, str], list[int]] = defaultdict(list)
    for number, (setting, claimed) in enumerate(zip(settings, claims, strict=True)):
        for name in claimed:
            groups[*problem.group(setting), name].append(number)
    if len({group[:2] for group in groups}) > 1:
        for (_, _, name), members in list(groups.items()):
            groups["all", "all", name] += members
    return {group: members for group, members in groups.items() if len(members) >= FEWEST_POOLED}


def suspected_groups(biased: Sequence[tuple[str, str, str]]) -> Sequence[tuple[str, str, str]]:
    """The groups that look biased; all cells together only where no other group does.

    >>> suspected_groups([("MLP", "gaussian", "recall"), ("all", "all", "recall")])
    [('MLP', 'gaussian', 'recall')]
    """
    return [group for group in biased if group[0] != "all"] or biased


def pooled_tests(problem: Problem[S, P], cells: Sequence[Cell[S, P]], confidence: float,
                 least_margin: float = 0) -> tuple[PooledTest, ...]:
    """The test of the mean error over each group of cells, cells weighing the same.

    Cells are independent; attention, recall and accuracy of one seed are not, so that each has a test of its own.
    `least_margin` is what a claim itself admits, where that is more than the margin of pooled tests.
    """
    tests = []
    groups = pooled_groups(problem, [cell.setting for cell in cells], [cell.comparisons for cell in cells])
    for (model, regime, name), members in groups.items():
        group = [cells[i].comparisons[name] for i in members]
        samples = [c.observed.values for c in group]
        predicted, observed = (float(np.mean(x)) for x in ([c.predicted for c in group], [x.mean() for x in samples]))
        usual, family = ((predicted - high, predicted - low) for low, high, _ in
                         (pooled_interval(samples, verdicts.AGREE_CONFIDENCE), pooled_interval(samples, confidence)))
        se = math.sqrt(sum(c.observed.se**2 for c in group)) / len(group)
        margin = max(verdicts.pooled_margin(observed), least_margin)
        tests.append(PooledTest(model, regime, name, len(group), predicted, observed, se, margin, usual, family))
    return tuple(tests)
