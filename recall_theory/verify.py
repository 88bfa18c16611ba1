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
from .simulate.run import Triple, check_affordable, check_seed, check_seeds, map_tasks, one_seed
from .theory.margins import declared_margin, spread_allowance
from .theory.predict import Prediction, predict

__all__ = ["Cell", "Comparison", "Verification", "cell_seed", "planned_seeds", "verify"]

FEWEST_SEEDS, MOST_SEEDS = 48, 6000
FIRST_LOOK, LATER_LOOKS = 64, 1.25  # with no fixed number of seeds: at 64, and at each quarter more
MOST_SEEDS_UNTIL = 50_000
TASK = 16  # seeds that a worker takes at a time: handing them over one by one takes a fifth of a small seed's time
SHARES = 8  # at least, for each worker, of every cell
USUAL_SPREAD = 0.15  # where the library's theory doesn't say: about the widest that recall shows

Progress = Callable[[int, int, Setting], None]
FloatArray = NDArray[np.float64]


def planned_seeds(theory: Prediction | None, observables: Iterable[str], margin: float, confidence: float) -> int:
    """Seeds of one cell's first look, fixed before anything is observed: from the theory's means and spreads."""
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
    spread where None: for a first look, and for a second with four times as many where a verdict is open and none is
    "disagree". `margin` is the one that the theory declares at each setting where None. `predictor` is a function of
    a setting (see `recall_theory.predictors`). With until="conclusive" every cell goes on until its verdicts are
    conclusive, or until it has had `seeds` seeds (50,000 where None); its intervals hold however long that takes.

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
    bench = _Bench(grid, seed, jobs, margin, predictor, progress)
    if until is not None:
        return bench.until_conclusive(seeds or MOST_SEEDS_UNTIL)
    return bench.planned() if seeds is None else bench.fixed(seeds)


class _Bench:
    """The cells of one verification, with what is claimed of each and the values seen so far."""

    def __init__(self, grid: Sequence[Setting], seed: int, jobs: int, margin: float | None,
                 predictor: Callable[[Setting], Any], progress: Progress | None):
        self.grid, self.seed, self.jobs, self.progress = grid, seed, jobs, progress
        self.claims: list[Claim] = [claim_of(predictor, s) for s in grid]
        self.theory = [c.given if isinstance(c.given, Prediction) and predictor is predict else _theory(s)
                       for c, s in zip(self.claims, grid, strict=True)]
        self.margins = [margin or c.margin or declared_margin(s) for c, s in zip(self.claims, grid, strict=True)]
        self.confidence = self._confidence(looks=1)
        self.values: list[list[Triple]] = [[] for _ in grid]

    def _confidence(self, looks: int) -> float:
        comparisons = sum(len(c.values) for c in self.claims)
        return statistics.family_confidence(looks * comparisons, statistics.VERDICT_ALPHA)

    def fixed(self, seeds: int) -> Verification:
        """A verification by `seeds` seeds in every cell."""
        self._look([seeds] * len(self.grid))
        return self._verification(range(len(self.grid)))

    def planned(self) -> Verification:
        """A verification in two planned looks, each with half of the error."""
        self.confidence = self._confidence(statistics.LOOKS)
        first = [planned_seeds(theory, claim.values, margin, self.confidence)
                 for theory, claim, margin in zip(self.theory, self.claims, self.margins, strict=True)]
        self._look(first)
        found = self._verification(range(len(self.grid)))
        if found.verdict != statistics.INCONCLUSIVE:  # the word on the whole would stay
            return found
        self._look(statistics.second_look(first, {c for c, cell in enumerate(found.cells) if cell.is_open}))
        return self._verification(range(len(self.grid)))

    def until_conclusive(self, most: int) -> Verification:
        """A verification of which each cell goes on until its verdicts are conclusive, or it has had `most` seeds."""
        target = FIRST_LOOK
        still = set(range(len(self.grid)))
        try:
            while still:
                self._observe([min(target, most) if c in still else 0 for c in range(len(self.grid))])
                still = {c for c in still if target < most and self._cell(c, anytime=True).is_open}
                target = math.ceil(target * LATER_LOOKS)
        except KeyboardInterrupt:  # the intervals hold for any number of seeds: cells need not be finished
            self._stop([c for c, v in enumerate(self.values) if v], anytime=True)
        return self._verification(range(len(self.grid)), anytime=True)

    def _look(self, plan: Sequence[int]) -> None:
        """Simulate the plan; what Ctrl-C leaves are the cells whose seeds are those of a whole look."""
        before = [len(v) for v in self.values]
        try:
            self._observe(plan)
        except KeyboardInterrupt:
            for c, (had, n) in enumerate(zip(before, plan, strict=True)):
                if len(self.values[c]) < n:
                    del self.values[c][had:]
            self._stop([c for c, v in enumerate(self.values) if v])

    def _observe(self, plan: Sequence[int]) -> None:
        """Simulate until every cell has as many seeds as planned."""
        tasks = []
        for c, n in enumerate(plan):
            step = min(TASK, math.ceil(n / (SHARES * self.jobs))) or 1
            tasks += [(c, range(i, min(i + step, n))) for i in range(len(self.values[c]), n, step)]
        done = sum(map(len, self.values))
        total = done + sum(len(indices) for _, indices in tasks)
        found = map_tasks(some_seeds, ((self.grid[c], cell_seed(self.seed, c), indices) for c, indices in tasks),
                          self.jobs)
        for (c, indices), triples in zip(tasks, found, strict=True):
            self.values[c] += triples
            done += len(indices)
            if self.progress is not None:
                self.progress(done, total, self.grid[c])

    def _stop(self, cells: Sequence[int], anytime: bool = False) -> None:
        if not cells:
            raise KeyboardInterrupt
        raise Interrupted(self._verification(cells, anytime)) from None

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


def some_seeds(setting: Setting, seed: int, indices: range) -> list[Triple]:
    """Attention, recall and accuracy of some seeds of a setting, summed over all sequences."""
    return [one_seed(setting, seed, i, None) for i in indices]


def cell_seed(seed: int, number: int) -> int:
    """The seed of cell `number` of a grid: cells must not share their draws."""
    return int(np.random.SeedSequence((seed, number)).generate_state(1, np.uint64)[0])
