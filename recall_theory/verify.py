"""`verify`: predicted beside observed over a grid of settings, with an interval and a verdict each."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import statistics
from .comparison import Cell, Comparison, Verification, compare
from .predictors import Claim, claim_of
from .setting import Setting, SettingError
from .simulate.observe import OBSERVABLES
from .simulate.result import Interrupted
from .simulate.run import check_affordable, check_seed, check_seeds, run_tasks
from .theory.margins import declared_margin, spread_allowance
from .theory.predict import Prediction, predict

__all__ = ["Cell", "Comparison", "Verification", "cell_seed", "planned_seeds", "verify"]

FEWEST_SEEDS, MOST_SEEDS = 48, 6000
FIRST_LOOK, LATER_LOOKS = 64, 1.25  # with no fixed number of seeds: at 64, and at each quarter more
MOST_SEEDS_UNTIL = 50_000
USUAL_SPREAD = 0.15  # where the library's theory doesn't say: about the widest that recall shows

Progress = Callable[[int, int, Setting], None]
FloatArray = NDArray[np.float64]


def planned_seeds(theory: Prediction | None, observables: Iterable[str], margin: float, confidence: float) -> int:
    """Seeds for one cell, fixed before anything is observed: from the means and spreads that the theory expects."""
    wanted = max(statistics.seeds_planned(*_expected(theory, o), margin, confidence) for o in observables)
    return int(np.clip(wanted, FEWEST_SEEDS, MOST_SEEDS))


def _expected(theory: Prediction | None, observable: str) -> tuple[float, float]:
    """Mean and spread over seeds to be expected of an observable."""
    if theory is None:
        return 0.5, USUAL_SPREAD
    return getattr(theory, observable), spread_allowance(theory.setting) * theory.spread[observable]


def verify(grid: Sequence[Setting] | str = "default", seeds: int | None = None, seed: int | None = None, *,
           jobs: int = 1, margin: float | None = None, predictor: Callable[[Setting], Any] = predict,
           until: str | None = None, progress: Progress | None = None) -> Verification:
    """Compare predictions with simulations on every setting of `grid`.

    `grid` is a list of settings, or the name of a shipped one. `seeds` a cell are planned from the predicted
    spread where None. `margin` is the one that the theory declares at each setting where None. `predictor` is a
    function of a setting (see `recall_theory.predictors`). With until="conclusive" every cell goes on until its
    verdicts are conclusive, or until it has had `seeds` seeds (50,000 where None); its intervals hold however long
    that takes.

    Observables are summed over all sequences exactly, given the seed. `progress` is called with (seeds done, seeds in
    all, setting). Ctrl-C raises `Interrupted`, a KeyboardInterrupt, with the verification of the cells finished then.

    Raises `SettingError` for bad arguments, and where the predictor raises or returns no probability.

    >>> done = verify([Setting(V=32, L=4, d=64, N=1024)], seeds=8, seed=1)
    >>> done.verdict in ("agree", "disagree", "inconclusive")
    True
    """
    if isinstance(grid, str):
        from .grids import load

        grid = load(grid)
    if not grid:
        raise SettingError("grid", "the grid holds no setting")
    if seeds is not None:
        check_seeds(seeds)
    if until not in (None, "conclusive"):
        raise SettingError("until", f"until={until!r} is not conclusive")
    if margin is not None and not 0 < margin < 1:
        raise SettingError("margin", f"margin={margin!r} is not a number above 0 and below 1")
    seed = check_seed(seed)
    for setting in grid:
        if not setting.is_limit:
            raise SettingError("eta", f"eta={setting.eta:g}: verify sums over all sequences, which needs the limit "
                               "eta -> 0, eta*gamma -> infinity: leave eta and gamma out")
        check_affordable(setting)
    return _Bench(grid, seed, jobs, margin, predictor, progress).run(seeds, until)


class _Bench:
    """The cells of one verification, with what is claimed of each and the values seen so far."""

    def __init__(self, grid: Sequence[Setting], seed: int, jobs: int, margin: float | None,
                 predictor: Callable[[Setting], Any], progress: Progress | None):
        self.grid, self.seed, self.jobs, self.progress = grid, seed, jobs, progress
        self.claims: list[Claim] = [claim_of(predictor, s) for s in grid]
        self.theory = [c.given if isinstance(c.given, Prediction) and predictor is predict else _theory(s)
                       for c, s in zip(self.claims, grid, strict=True)]
        self.margins = [margin or c.margin or declared_margin(s) for c, s in zip(self.claims, grid, strict=True)]
        self.confidence = statistics.family_confidence(sum(len(c.values) for c in self.claims),
                                                       statistics.VERDICT_ALPHA)
        self.values: list[list[tuple[float, ...]]] = [[] for _ in grid]

    def run(self, seeds: int | None, until: str | None) -> Verification:
        if until is None:
            plan = [seeds or self._planned(c) for c in range(len(self.grid))]
            try:
                self._observe(plan)
            except KeyboardInterrupt:
                self._stop([c for c, n in enumerate(plan) if len(self.values[c]) == n])
            return self._verification(range(len(self.grid)))
        most, target = seeds or MOST_SEEDS_UNTIL, FIRST_LOOK
        still = set(range(len(self.grid)))
        try:
            while still:
                self._observe([min(target, most) if c in still else 0 for c in range(len(self.grid))])
                still = {c for c in still if target < most and self._open(self._cell(c, anytime=True))}
                target = math.ceil(target * LATER_LOOKS)
        except KeyboardInterrupt:  # the intervals hold for any number of seeds: cells need not be finished
            self._stop([c for c, v in enumerate(self.values) if v], anytime=True)
        return self._verification(range(len(self.grid)), anytime=True)

    def _planned(self, c: int) -> int:
        return planned_seeds(self.theory[c], self.claims[c].values, self.margins[c], self.confidence)

    def _observe(self, plan: Sequence[int]) -> None:
        """Simulate until every cell has as many seeds as planned."""
        slots = [(c, i) for c, n in enumerate(plan) for i in range(len(self.values[c]), n)]
        before = sum(map(len, self.values))
        tasks = ((self.grid[c], cell_seed(self.seed, c), i, None, None) for c, i in slots)
        for done, ((c, _), triple) in enumerate(zip(slots, run_tasks(tasks, self.jobs), strict=True), start=1):
            self.values[c].append(triple)
            if self.progress is not None:
                self.progress(before + done, before + len(slots), self.grid[c])

    def _stop(self, cells: Sequence[int], anytime: bool = False) -> None:
        if not cells:
            raise KeyboardInterrupt
        raise Interrupted(self._verification(cells, anytime)) from None

    def _open(self, cell: Cell) -> bool:
        return any(c.verdict == statistics.INCONCLUSIVE for c in cell.comparisons.values())

    def _cell(self, c: int, anytime: bool) -> Cell:
        values: FloatArray = np.array(self.values[c], dtype=float).reshape(-1, len(OBSERVABLES))
        return compare(self.grid[c], self.claims[c].values, self.margins[c], values, self.confidence, self.theory[c],
                       anytime)

    def _verification(self, cells: Iterable[int], anytime: bool = False) -> Verification:
        return Verification(self.seed, self.confidence, tuple(self._cell(c, anytime) for c in cells))


def _theory(setting: Setting) -> Prediction | None:
    """The library's own prediction, for the seeds to plan and the terms to name; None where it has none."""
    try:
        return predict(setting)
    except SettingError:
        return None


def cell_seed(seed: int, number: int) -> int:
    """The seed of cell `number` of a grid: cells must not share their draws."""
    return int(np.random.SeedSequence((seed, number)).generate_state(1, np.uint64)[0])
