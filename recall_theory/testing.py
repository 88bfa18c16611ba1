"""Checks of formulas for a test suite: the same verdicts as `recall-theory verify`, as assertions.

    from recall_theory.testing import assert_agrees, assert_rejected

    def test_my_law():
        assert_agrees(my_law, grid="default")

    def test_that_the_check_has_teeth():
        assert_rejected(my_law_without_L)

Each verifies a predictor over a grid and returns the verification. The arguments are those of `recall_theory.verify`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypedDict, Unpack

from .settings import Setting
from .verification.engine import verify
from .verification.results import Verification
from .verification.verdicts import DISAGREE, INCONCLUSIVE

__all__ = ["assert_agrees", "assert_not_rejected", "assert_rejected"]

Predictor = Callable[[Setting], object]
Grid = Sequence[Setting] | str


class Options(TypedDict, total=False):
    """The other arguments of `recall_theory.verify`."""

    margin: float | None
    until: str | None
    jobs: int


def assert_agrees(predictor: Predictor, grid: Grid = "default", seeds: int | None = None, seed: int | None = None,
                  **options: Unpack[Options]) -> Verification:
    """Raise AssertionError unless the predictor agrees with the simulation in every comparison of the grid.

    A right formula fails in some runs where a true error near the margin leaves a cell inconclusive: give more seeds,
    or use `assert_not_rejected`.

    >>> grid = [Setting(V=16, L=2, d=256, N=2048)]
    >>> assert_agrees(lambda s: 1.0, grid, seeds=600, seed=0).verdict
    'agree'
    """
    result = assert_not_rejected(predictor, grid, seeds, seed, **options)
    return _without(result, INCONCLUSIVE, "agree with the simulation")


def assert_not_rejected(predictor: Predictor, grid: Grid = "default", seeds: int | None = None,
                        seed: int | None = None, **options: Unpack[Options]) -> Verification:
    """Raise AssertionError where a comparison or pooled test disagrees, as one run in 1,000 of a right formula does."""
    result = verify(grid, seeds, seed, predictor=predictor, **options)
    return _without(result, DISAGREE, "escape rejection")


def assert_rejected(predictor: Predictor, grid: Grid = "default", seeds: int | None = None, seed: int | None = None,
                    **options: Unpack[Options]) -> Verification:
    """Raise AssertionError unless some comparison disagrees: the control that a wrong formula is found out.

    >>> grid = [Setting(V=16, L=2, d=256, N=2048)]
    >>> assert_rejected(lambda s: 0.5, grid, seeds=50, seed=0).verdict
    'disagree'
    """
    result = verify(grid, seeds, seed, predictor=predictor, **options)
    if result.verdict != DISAGREE:
        raise AssertionError(f"the predictor was not rejected: {result.verdict} (seed={result.seed})")
    return result


def _without(result: Verification, failure: str, what: str) -> Verification:
    """The verification, or an AssertionError with one line for each comparison and pooled test of this verdict."""
    lines = []
    for cell, name, c in result.comparisons:
        if c.verdict == failure:
            lines.append(f"  {cell.setting.describe()}: {name} predicted {c.predicted:.4f}, observed "
                         f"{c.observed.mean:.4f}, difference in [{c.usual[0]:+.4f}, {c.usual[1]:+.4f}], margin "
                         f"{c.margin:.2g}: {failure}{f' ({c.reason})' if c.reason else ''}")
    for test in result.biased if failure == DISAGREE else ():
        lines.append(f"  {test.model}, {test.regime}, {test.cells} cells: mean {test.observable} predicted "
                     f"{test.predicted:.4f}, observed {test.observed:.4f}, margin {test.margin:.2g}: {failure}")
    if lines:
        raise AssertionError(f"the predictor does not {what} (seed={result.seed}):\n" + "\n".join(lines))
    return result
