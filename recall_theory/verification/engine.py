"""Predicted beside observed over a grid of settings, with an interval and a verdict each; for any problem."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Generic

import numpy as np

from ..errors import interrupted_with
from ..settings import SettingError, check_proportion, check_seed, check_seeds
from .grids import load_grid
from .planning import STAGES, second_stage, seeds_planned
from .predictors import Claim, claim_of
from .problem import THREE_STEP_RECALL, Moments, P, Problem, S
from .results import Cell, Comparison, Judging, Verification, compare
from .sampling import SeedScheduler, first_stage
from .verdicts import INCONCLUSIVE, VERDICT_ALPHA, family_confidence

__all__ = ["Cell", "Comparison", "Verification", "planned_seeds", "verify"]

FIRST_CHECK, GROWTH = 64, 1.25  # with no fixed number of seeds: verdicts at 64 of them, and at each quarter more
MOST_SEEDS_UNTIL = 50_000
USUAL = Moments(0.5, 0.15, 0.15)  # where the library's theory doesn't say: about the widest that recall shows


def verify(grid: Sequence[S] | str = "default", seeds: int | None = None, seed: int | None = None, *,
           jobs: int = 1, margin: float | None = None, predictor: Callable[[S], object] | None = None,
           until: str | None = None, progress: Callable[[int, int, S], None] | None = None,
           problem: Problem[S, P] = THREE_STEP_RECALL) -> Verification[S, P]:  # type: ignore[assignment]
    """Compare predictions with simulations on every setting of `grid`.

    Parameters
    ----------
    grid : a list of settings, the name of a shipped grid, or a TOML file.
    seeds : seeds a cell. Where None they are planned from the predicted spread: for a first stage, and for a second
        with four times as many where a verdict is open and none is "disagree".
    seed : fixes all draws; drawn, and kept in the result, where None. Any number of `jobs` gives the same bits.
    margin : the largest difference that still counts as agreement, above 0 and below 1; what the predictor or else
        the theory declares at each setting where None.
    predictor : a function of a setting (see `recall_theory.verification.predictors`); the library's own where None.
    until : "conclusive": every cell goes on until its verdicts are conclusive, or until it has had `seeds` seeds
        (50,000 where None); its intervals hold however long that takes.
    progress : called with (seeds done, seeds in all, setting).
    problem : `THREE_STEP_RECALL` or `GEOMETRIC_RECALL` of `recall_theory.verification.problem`.

    Observables are summed over all sequences exactly, given the seed. Raises `SettingError` for bad arguments, and
    where the predictor raises or returns no probability. Ctrl-C raises `Interrupted`, a KeyboardInterrupt, with the
    verification of the cells finished by then.

    >>> from recall_theory import Setting
    >>> verify([Setting(V=16, L=2, d=256, N=2048)], seeds=50, seed=0, predictor=lambda setting: 0.5).verdict
    'disagree'
    """
    settings = load_grid(problem, grid) if isinstance(grid, str) else grid
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

    own_prediction: Callable[[S], P] = functools.cache(problem.predict)
    judged = own_prediction if predictor is None or predictor is problem.predict else predictor
    claims = [claim_of(judged, s, problem) for s in settings]
    theory = [_where_there_is_one(own_prediction, s) for s in settings]
    margins = [margin or claim.margin or problem.margin(s) for claim, s in zip(claims, settings, strict=True)]
    sampler = SeedScheduler(settings, problem.draw, seed=seed, jobs=jobs, progress=progress)
    run = _Run(problem, claims, theory, margins, sampler)
    with interrupted_with(lambda: run.verification(sampler.sampled) if sampler.sampled else None):
        if until is not None:
            run.until_conclusive(seeds or MOST_SEEDS_UNTIL)
        elif seeds is not None:
            sampler.run_stage([seeds] * len(settings))
        else:
            run.two_stages()
    return run.verification(range(len(settings)))


def planned_seeds(moments: Iterable[Moments], margin: float, confidence: float) -> int:
    """Seeds of one cell's first stage, fixed before anything is observed: from the moments of its observables."""
    return first_stage(max(seeds_planned(m.mean, m.largest_spread, margin, confidence) for m in moments))


class _Run(Generic[S, P]):
    """One verification: what is claimed of each cell, beside the values observed so far."""

    def __init__(self, problem: Problem[S, P], claims: Sequence[Claim], theory: Sequence[P | None],
                 margins: Sequence[float], sampler: SeedScheduler[S]):
        self.problem, self.claims, self.theory = problem, claims, theory
        self.margins, self.sampler = margins, sampler
        self.confidence = self.confidence_of(stages=1)
        self.anytime = False

    def confidence_of(self, stages: int) -> float:
        """The confidence of each interval where all cells are judged `stages` times."""
        return family_confidence(stages * sum(len(c.values) for c in self.claims), VERDICT_ALPHA)

    def two_stages(self) -> None:
        """As planned; where no cell disagrees after that, a second stage of the cells that are open. Each stage has
        half of the error."""
        self.confidence = self.confidence_of(STAGES)
        first = []
        for theory, claim, margin in zip(self.theory, self.claims, self.margins, strict=True):
            moments = {} if theory is None else self.problem.moments(theory)
            first.append(planned_seeds([moments.get(o, USUAL) for o in claim.values], margin, self.confidence))
        self.sampler.run_stage(first)
        result = self.verification(range(len(first)))
        if result.verdict == INCONCLUSIVE:
            self.sampler.run_stage(second_stage(first, {c for c, cell in enumerate(result.cells) if cell.is_open}))

    def until_conclusive(self, most: int) -> None:
        """Each cell goes on until its verdicts are conclusive, or until it has had `most` seeds.

        The intervals hold for any number of seeds: after a Ctrl-C a cell's stage need not be whole.
        """
        self.anytime = True
        target = FIRST_CHECK
        still_open = set(range(len(self.claims)))
        while still_open:
            self.sampler.extend([min(target, most) if c in still_open else 0 for c in range(len(self.claims))])
            still_open = {c for c in still_open if target < most and self.cell(c).is_open}
            target = math.ceil(target * GROWTH)

    def cell(self, c: int) -> Cell[S, P]:
        """What the values of cell number c say."""
        values = np.array(self.sampler.values[c], dtype=float).reshape(-1, len(self.problem.observables))
        judging = Judging(self.margins[c], self.confidence, self.anytime)
        return compare(self.problem, self.sampler.grid[c], self.claims[c].values, values, judging, self.theory[c])

    def verification(self, cells: Iterable[int]) -> Verification[S, P]:
        """What the values of these cells say."""
        margin = self.margins[0] if self.problem.has_one_margin else None
        return Verification(self.sampler.seed, self.confidence, tuple(self.cell(c) for c in cells), margin)


def _where_there_is_one(prediction: Callable[[S], P], setting: S) -> P | None:
    """The library's own prediction, for the seeds to plan and the terms to name; None where it has none."""
    try:
        return prediction(setting)
    except SettingError:
        return None
