"""Predicted beside observed over a grid of settings, with an interval and a verdict each; for any problem."""

from __future__ import annotations

import contextlib
import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Generic

import numpy as np

from ..errors import interrupted_with
from ..settings import SettingError, check_proportion, check_seed, check_seeds
from ..simulate import workers
from . import verdicts
from .predictors import claim_of
from .problem import THREE_STEP_RECALL, P, Problem, S, cell_seed, load_grid, predictions_of
from .results import (
    Cell,
    Verification,
    biases_in_words,
    compare,
    pooled_groups,
    pooled_tests,
    suspected_groups,
    too_small_to_judge,
)

__all__ = ["Verification", "verify"]

FIRST_CHECK, GROWTH = 64, 1.25  # with no fixed number of seeds: verdicts at 64 of them, and at each quarter more
MOST_SEEDS_UNTIL = 50_000
UNDESCRIBED = verdicts.Moments(0.5, 0.15)  # where the library's theory doesn't say: about the most that recall shows

Value = float | tuple[float, ...]  # the observables of one seed


def verify(grid: Sequence[S] | str = "default", seeds: int | None = None, seed: int | None = None, *,
           jobs: int = 1, margin: float | None = None, predictor: Callable[[S], object] | None = None,
           until: str | None = None, progress: Callable[[int, int, S], None] | None = None,
           announce: Callable[[str], None] | None = None,
           problem: Problem[S, P] = THREE_STEP_RECALL) -> Verification[S, P]:  # type: ignore[assignment]
    """Compare predictions with simulations on every setting of `grid`.

    Parameters
    ----------
    grid : a list of settings, the name of a shipped grid, or a TOML file.
    seeds : seeds a cell. Where None they are planned from the predicted spread, and the run looks at an eighth of them,
        at all, and at 4 times as many where a cell is open, or so many that the variance of a group's mean is 6 times
        smaller where it looks biased; it ends as soon as the verdict is certain.
    seed : fixes all draws; drawn, and kept in the result, where None. Any number of `jobs` gives the same bits.
    margin : the largest difference that still counts as agreement, above 0 and below 1, also over a group of cells.
        Where None what the predictor says, or else what the theory declares, which is less where probabilities are
        small.
    predictor : a function of a setting (see `recall_theory.verification.predictors`); the library's own where None.
    until : "conclusive": every cell goes on until its verdicts are conclusive, until it has had `seeds` seeds (50,000
        where None), or until any cell disagrees; intervals hold however long that takes. Groups are not tested.
    progress : called with (seeds done, seeds in all, setting).
    announce : called before any planned seed, with a line on the biases over the grid for which these are too few.
    problem : `THREE_STEP_RECALL` or `GEOMETRIC_RECALL` of `recall_theory.verification.problem`.

    Observables are summed over all sequences exactly, given the seed. Raises `SettingError` for bad arguments, and
    where the predictor raises or returns no probability. Ctrl-C raises `Interrupted`, a KeyboardInterrupt, with the
    verification of the cells finished by then.

    >>> from recall_theory import Setting
    >>> verify([Setting(V=16, L=2, d=256, N=2048)], seeds=50, seed=0, predictor=lambda setting: 0.5).verdict
    'disagree'
    """
    settings = load_grid(grid, problem) if isinstance(grid, str) else grid
    if until not in (None, "conclusive"):
        raise SettingError("until", f"until={until!r} is not conclusive")
    if not settings:
        raise SettingError("grid", "the grid holds no setting")
    if seeds is not None:
        check_seeds(seeds)
    if margin is not None:
        check_proportion("margin", margin)
    seed = check_seed(seed)
    for setting in settings:
        problem.check(setting)

    if predictor is problem.predict:
        predictor = None
    # All claims of a formula first: one that is refused needs no prediction of the library.
    claims = [] if predictor is None else [claim_of(predictor, setting, problem) for setting in settings]
    theories = {s: None if isinstance(p, str) else p
                for s, p in zip(settings, predictions_of(problem.predict, settings, jobs), strict=True)}
    if predictor is None:
        claims = [claim_of(lambda s: theories[s] or problem.predict(s), setting, problem) for setting in settings]
    cells = []
    for number, (setting, (claimed, own_margin)) in enumerate(zip(settings, claims, strict=True)):
        given = margin or own_margin or 0.0
        margins = problem.margins(setting, claimed, given)
        cells.append(_Sampled(setting, cell_seed(seed, number), claimed, theories[setting], margins, given))

    groups = {} if until else pooled_groups(problem, settings, [cell.claimed for cell in cells])
    looks = verdicts.LOOKS if until is None and seeds is None else 1
    confidence = verdicts.family_confidence(looks * (len(groups) + sum(len(cell.claimed) for cell in cells)))
    run = _Run(problem, cells, seed, jobs, progress, confidence, anytime=until is not None)
    with interrupted_with(lambda: run.verification() if any(cell.values for cell in cells) else None):
        if until is not None:
            run.until_conclusive(seeds or MOST_SEEDS_UNTIL)
        elif seeds is not None:
            run.extend([seeds] * len(cells))
        else:
            run.planned(announce)
    return run.verification()


@dataclasses.dataclass
class _Sampled(Generic[S, P]):
    """A cell of the grid, with the values of its seeds so far; `given_margin` is 0 where the declared margins hold."""

    setting: S
    seed: int
    claimed: dict[str, float]
    theory: P | None
    margins: dict[str, float]
    given_margin: float
    values: list[Value] = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class _Run(Generic[S, P]):
    """One verification: how its cells are sampled and judged."""

    problem: Problem[S, P]
    cells: Sequence[_Sampled[S, P]]
    seed: int
    jobs: int
    progress: Callable[[int, int, S], None] | None
    confidence: float
    anytime: bool
    seeds_planned: int | None = None

    def extend(self, plan: Sequence[int], most: int = 0) -> None:
        """Simulate until every cell has as many seeds as planned; progress shows `most` seeds where these are more.

        An interrupt keeps what was finished, of cells that are judged after whole stages only these.
        """
        before = [len(cell.values) for cell in self.cells]
        places = [(cell, i) for cell, had, planned in zip(self.cells, before, plan, strict=True)
                  for i in range(had, planned)]
        tasks = [(cell.setting, cell.seed, i) for cell, i in places]
        total = max(most, sum(before) + len(places))
        try:
            with contextlib.closing(workers.ordered_map(self.problem.observe, tasks, self.jobs)) as finished:
                pairs = zip(places, finished, strict=False)
                for done, ((cell, _), value) in enumerate(pairs, start=sum(before) + 1):
                    cell.values.append(value)
                    if self.progress is not None:
                        self.progress(done, total, cell.setting)
        except KeyboardInterrupt:
            for cell, had, planned in zip(self.cells, before, plan, strict=True):
                if not self.anytime and len(cell.values) < planned:
                    del cell.values[had:]
            raise

    def planned(self, announce: Callable[[str], None] | None) -> None:
        """Look at an eighth of the planned seeds, at all of them, and at more of what is still open then: cells,
        and groups that look biased.

        The first look only ends the run where the verdict is disagree. Each look has a third of the error.
        """
        plan, expected = [], []
        for cell in self.cells:
            described = {} if cell.theory is None else self.problem.moments(cell.theory)
            moments = {o: described.get(o, UNDESCRIBED) for o in cell.claimed}
            # Margins at the theory's means: a claim near 0 would ask for far too many.
            margins = self.problem.margins(cell.setting, {o: m.mean for o, m in moments.items()}, cell.given_margin)
            plan.append(verdicts.planned_seeds(moments, margins))
            expected.append(moments)
        settings = [cell.setting for cell in self.cells]
        open_biases = too_small_to_judge(self.problem, settings, expected, plan,
                                         min(cell.given_margin for cell in self.cells))
        if open_biases and announce is not None:
            announce(f"{sum(plan):,} seeds judge every cell, but are too few for a bias over the grid of "
                     f"{biases_in_words(open_biases)}")
        self.extend(verdicts.early_look(plan), most=sum(plan))
        if self.verification().verdict == verdicts.DISAGREE:
            self.seeds_planned = sum(plan)
            return
        self.extend(plan)
        result = self.verification()
        if result.verdict != verdicts.DISAGREE:
            still_open = {c for c, cell in enumerate(result.cells) if cell.is_open}
            groups = pooled_groups(self.problem, settings, [cell.claimed for cell in self.cells])
            biased = [(t.model, t.regime, t.observable) for t in result.pooled if t.looks_biased]
            suspected = [{c: result.cells[c].comparisons[group[-1]].observed.std for c in groups[group]}
                         for group in suspected_groups(biased)]
            self.extend(verdicts.second_stage(plan, still_open, suspected))

    def until_conclusive(self, most: int) -> None:
        """Each cell goes on until its verdicts are conclusive, it has had `most` seeds, or any cell disagrees.

        The intervals hold for any number of seeds: after a Ctrl-C a cell's stage need not be whole.
        """
        target = FIRST_CHECK
        still_open = set(range(len(self.cells)))
        while still_open:
            plan = [min(target, most) if c in still_open else 0 for c in range(len(self.cells))]
            self.extend(plan)
            cells = {c: self.compared(self.cells[c]) for c in still_open}
            if any(cell.verdict == verdicts.DISAGREE for cell in cells.values()):
                return
            still_open = {c for c, cell in cells.items() if target < most and cell.is_open}
            target = math.ceil(target * GROWTH)

    def compared(self, cell: _Sampled[S, P]) -> Cell[S, P]:
        """What the values of a cell say."""
        values = np.array(cell.values, dtype=float).reshape(-1, len(self.problem.observables))
        return compare(self.problem, cell.setting, cell.claimed, values, cell.theory, margins=cell.margins,
                       confidence=self.confidence, anytime=self.anytime)

    def verification(self) -> Verification[S, P]:
        """What the cells say that have any values."""
        sampled = [cell for cell in self.cells if cell.values]
        cells = tuple(self.compared(cell) for cell in sampled)
        admitted = min(cell.given_margin for cell in sampled)
        pooled = () if self.anytime else pooled_tests(self.problem, cells, self.confidence, admitted)
        declared = self.problem.margin(sampled[0].setting) if self.problem.has_one_margin else None
        margin = declared and (admitted or declared)
        return Verification(self.seed, self.confidence, cells, margin, pooled, self.seeds_planned)
