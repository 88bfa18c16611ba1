"""`verify`: predicted beside observed over a grid of settings, with an interval and a verdict each."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..settings import Setting, SettingError
from ..simulate.observables import OBSERVABLES
from ..simulate.observation import Interrupted
from ..simulate.run import Triple, check_affordable, one_seed
from ..theory.predict import Prediction, predict
from . import statistics
from .predictors import Claim, claim_of
from .results import Cell, Comparison, Verification, compare
from .sampling import Looks, check_arguments, first_look
from .tolerances import declared_margin, spread_allowance

__all__ = ["Cell", "Comparison", "Verification", "planned_seeds", "verify"]

FIRST_LOOK, LATER_LOOKS = 64, 1.25  # with no fixed number of seeds: at 64, and at each quarter more
MOST_SEEDS_UNTIL = 50_000
USUAL_SPREAD = 0.15  # where the library's theory doesn't say: about the widest that recall shows

Progress = Callable[[int, int, Setting], None]
FloatArray = NDArray[np.float64]


def planned_seeds(theory: Prediction | None, observables: Iterable[str], margin: float, confidence: float) -> int:
    """Seeds of one cell's first look, fixed before anything is observed: from the theory's means and spreads."""
    return first_look(max(statistics.seeds_planned(*_expected(theory, o), margin, confidence) for o in observables))


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
    a setting (see `recall_theory.verification.predictors`). With until="conclusive" every cell goes on until its
    verdicts are
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
    if until not in (None, "conclusive"):
        raise SettingError("until", f"until={until!r} is not conclusive")
    seed = check_arguments(grid, seeds, seed, margin)
    for setting in grid:
        if not setting.is_limit:
            raise SettingError("eta", f"eta={setting.eta:g}: verify sums over all sequences, which needs the limit "
                               "eta -> 0, eta*gamma -> infinity: leave eta and gamma out")
        check_affordable(setting)
    bench = _Bench(grid, seed, jobs, margin, predictor, progress)
    try:
        if until is not None:
            bench.until_conclusive(seeds or MOST_SEEDS_UNTIL)
        elif seeds is not None:
            bench.looks.look([seeds] * len(grid))
        else:
            bench.look_as_planned()
    except KeyboardInterrupt:
        if not bench.looks.seen:
            raise
        raise Interrupted(bench.verification(bench.looks.seen)) from None
    return bench.verification(range(len(grid)))


class _Bench:
    """The cells of one verification, with what is claimed of each and the values seen so far."""

    def __init__(self, grid: Sequence[Setting], seed: int, jobs: int, margin: float | None,
                 predictor: Callable[[Setting], Any], progress: Progress | None):
        self.grid, self.seed = grid, seed
        self.claims: list[Claim] = [claim_of(predictor, s) for s in grid]
        self.theory = [c.given if isinstance(c.given, Prediction) and predictor is predict else _theory(s)
                       for c, s in zip(self.claims, grid, strict=True)]
        self.margins = [margin or c.margin or declared_margin(s) for c, s in zip(self.claims, grid, strict=True)]
        self.confidence = self._confidence(looks=1)
        self.anytime = False
        shown = None if progress is None else lambda done, total, c: progress(done, total, grid[c])
        self.looks: Looks[Triple] = Looks(grid, some_seeds, seed, jobs, shown)

    def _confidence(self, looks: int) -> float:
        comparisons = sum(len(c.values) for c in self.claims)
        return statistics.family_confidence(looks * comparisons, statistics.VERDICT_ALPHA)

    def look_as_planned(self) -> None:
        """Two looks, both planned, each with half of the error."""
        self.confidence = self._confidence(statistics.LOOKS)
        first = [planned_seeds(theory, claim.values, margin, self.confidence)
                 for theory, claim, margin in zip(self.theory, self.claims, self.margins, strict=True)]
        self.looks.look_twice(first, lambda: self.verification(range(len(self.grid))).cells)

    def until_conclusive(self, most: int) -> None:
        """Each cell goes on until its verdicts are conclusive, or until it has had `most` seeds.

        The intervals hold for any number of seeds: after a Ctrl-C a cell's look need not be whole.
        """
        self.anytime = True
        target = FIRST_LOOK
        still = set(range(len(self.grid)))
        while still:
            self.looks.observe([min(target, most) if c in still else 0 for c in range(len(self.grid))])
            still = {c for c in still if target < most and self._cell(c).is_open}
            target = math.ceil(target * LATER_LOOKS)

    def _cell(self, c: int) -> Cell:
        values: FloatArray = np.array(self.looks.values[c], dtype=float).reshape(-1, len(OBSERVABLES))
        return compare(self.grid[c], self.claims[c].values, self.margins[c], values, self.confidence, self.theory[c],
                       self.anytime)

    def verification(self, cells: Iterable[int]) -> Verification:
        """What the values of these cells say."""
        return Verification(self.seed, self.confidence, tuple(self._cell(c) for c in cells))


def _theory(setting: Setting) -> Prediction | None:
    """The library's own prediction, for the seeds to plan and the terms to name; None where it has none."""
    try:
        return predict(setting)
    except SettingError:
        return None


def some_seeds(setting: Setting, seed: int, indices: range) -> list[Triple]:
    """Attention, recall and accuracy of some seeds of a setting, summed over all sequences."""
    return [one_seed(setting, seed, i, None) for i in indices]
