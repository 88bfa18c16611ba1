"""Predicted beside observed over a grid of settings, with an interval and a verdict each; for any problem."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import math
from collections.abc import Callable, Sequence
from typing import Generic

import numpy as np

from ..errors import interrupted_with
from ..settings import SettingError, check_proportion, check_seed, check_seeds
from ..simulate import workers
from .grids import load_grid
from .planning import STAGES, planned_seeds, second_stage
from .predictors import claim_of
from .problem import THREE_STEP_RECALL, Moments, P, Problem, S
from .results import Cell, Verification, compare
from .sampling import cell_seed
from .verdicts import INCONCLUSIVE, VERDICT_ALPHA, family_confidence

__all__ = ["Verification", "verify"]

FIRST_CHECK, GROWTH = 64, 1.25  # with no fixed number of seeds: verdicts at 64 of them, and at each quarter more
MOST_SEEDS_UNTIL = 50_000
USUAL = Moments(0.5, 0.15, 0.15)  # where the library's theory doesn't say: about the widest that recall shows
TASK = 16  # seeds that a worker takes at a time: handing them over one by one takes a fifth of a small seed's time
SHARES = 8  # at least, for each worker, of every cell

Value = float | tuple[float, ...]  # the observables of one seed


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

    library: Callable[[S], P] = functools.cache(problem.predict)
    judged = library if predictor is None or predictor is problem.predict else predictor
    cells = []
    for setting in settings:
        claimed, own_margin = claim_of(judged, setting, problem)
        theory = None
        with contextlib.suppress(SettingError):
            theory = library(setting)
        cells.append(_Sampled(setting, claimed, theory, margin or own_margin or problem.margin(setting)))

    stages = STAGES if until is None and seeds is None else 1
    confidence = family_confidence(stages * sum(len(cell.claimed) for cell in cells), VERDICT_ALPHA)
    run = _Run(problem, cells, seed, jobs, progress, confidence, anytime=until is not None)
    with interrupted_with(lambda: run.verification() if any(cell.values for cell in cells) else None):
        if until is not None:
            run.until_conclusive(seeds or MOST_SEEDS_UNTIL)
        elif seeds is not None:
            run.extend([seeds] * len(cells), whole=True)
        else:
            run.two_stages()
    return run.verification()


@dataclasses.dataclass
class _Sampled(Generic[S, P]):
    """A cell of the grid: what is claimed of it, what the library predicts, and the values of its seeds so far."""

    setting: S
    claimed: dict[str, float]
    theory: P | None
    margin: float
    values: list[Value] = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class _Run(Generic[S, P]):
    """One verification: its cells, how they are sampled, and how they are judged."""

    problem: Problem[S, P]
    cells: Sequence[_Sampled[S, P]]
    seed: int
    jobs: int
    progress: Callable[[int, int, S], None] | None
    confidence: float
    anytime: bool

    def extend(self, plan: Sequence[int], *, whole: bool) -> None:
        """Simulate until every cell has as many seeds as planned.

        An interrupt keeps what was finished; if `whole`, it leaves every cell with the seeds of whole stages.
        """
        before = [len(cell.values) for cell in self.cells]
        batches = []
        for number, (had, planned) in enumerate(zip(before, plan, strict=True)):
            step = max(1, min(TASK, math.ceil(planned / (SHARES * self.jobs))))
            batches += [(number, range(i, min(i + step, planned))) for i in range(had, planned, step)]
        tasks = ((self.problem.observe, self.cells[c].setting, cell_seed(self.seed, c), indices)
                 for c, indices in batches)
        done = sum(before)
        total = done + sum(len(indices) for _, indices in batches)
        try:
            with contextlib.closing(workers.ordered_map(_observe_seeds, tasks, self.jobs)) as finished:
                for (c, indices), values in zip(batches, finished, strict=False):
                    self.cells[c].values += values
                    done += len(indices)
                    if self.progress is not None:
                        self.progress(done, total, self.cells[c].setting)
        except KeyboardInterrupt:
            for cell, had, planned in zip(self.cells, before, plan, strict=True):
                if whole and len(cell.values) < planned:
                    del cell.values[had:]
            raise

    def two_stages(self) -> None:
        """As planned; where no cell disagrees after that, a second stage of the cells that are open. Each stage has
        half of the error."""
        first = []
        for cell in self.cells:
            moments = {} if cell.theory is None else self.problem.moments(cell.theory)
            first.append(planned_seeds([moments.get(o, USUAL) for o in cell.claimed], cell.margin,
                                       self.confidence))
        self.extend(first, whole=True)
        result = self.verification()
        if result.verdict == INCONCLUSIVE:
            still_open = {c for c, cell in enumerate(result.cells) if cell.is_open}
            self.extend(second_stage(first, still_open), whole=True)

    def until_conclusive(self, most: int) -> None:
        """Each cell goes on until its verdicts are conclusive, or until it has had `most` seeds.

        The intervals hold for any number of seeds: after a Ctrl-C a cell's stage need not be whole.
        """
        target = FIRST_CHECK
        still_open = set(range(len(self.cells)))
        while still_open:
            plan = [min(target, most) if c in still_open else 0 for c in range(len(self.cells))]
            self.extend(plan, whole=False)
            still_open = {c for c in still_open if target < most and self.compared(self.cells[c]).is_open}
            target = math.ceil(target * GROWTH)

    def compared(self, cell: _Sampled[S, P]) -> Cell[S, P]:
        """What the values of a cell say."""
        values = np.array(cell.values, dtype=float).reshape(-1, len(self.problem.observables))
        return compare(self.problem, cell.setting, cell.claimed, values, cell.theory, margin=cell.margin,
                       confidence=self.confidence, anytime=self.anytime)

    def verification(self) -> Verification[S, P]:
        """What the cells say that have any values."""
        margin = self.cells[0].margin if self.problem.has_one_margin else None
        return Verification(self.seed, self.confidence, tuple(self.compared(c) for c in self.cells if c.values), margin)


def _observe_seeds(observe: Callable[[S, int, int], Value], setting: S, seed: int, indices: range) -> list[Value]:
    return [observe(setting, seed, i) for i in indices]
