"""Checks of formulas for a test suite: the same verdicts as `recall-theory verify`, as assertions.

    from recall_theory.testing import assert_agrees, assert_rejected

    def test_my_law():
        assert_agrees(my_law, grid="default")

    def test_that_the_check_has_teeth():
        assert_rejected(my_law_without_L)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .settings import Setting
from .verification.engine import verify
from .verification.results import Verification
from .verification.verdicts import AGREE, DISAGREE

__all__ = ["assert_agrees", "assert_not_rejected", "assert_rejected"]

Predictor = Callable[[Setting], object]


def assert_agrees(predictor: Predictor, grid: Sequence[Setting] | str = "default", seeds: int | None = None,
                  seed: int | None = None, *, margin: float | None = None, until: str | None = None,
                  jobs: int = 1) -> Verification:
    """Raise AssertionError unless the predictor agrees with the simulation in every comparison of the grid.

    The arguments are those of `verify`. A right formula fails in some runs where a true error near the margin leaves a
    cell inconclusive: give more seeds, or use `assert_not_rejected`. Returns the verification.

    >>> grid = [Setting(V=16, L=2, d=256, N=2048)]
    >>> assert_agrees(lambda s: 1.0, grid, seeds=600, seed=0).verdict
    'agree'
    """
    return _held(verify(grid, seeds, seed, jobs=jobs, margin=margin, predictor=predictor, until=until),
                 lambda verdict: verdict == AGREE, "agree with the simulation")


def assert_not_rejected(predictor: Predictor, grid: Sequence[Setting] | str = "default", seeds: int | None = None,
                        seed: int | None = None, *, margin: float | None = None, until: str | None = None,
                        jobs: int = 1) -> Verification:
    """Raise AssertionError where any comparison disagrees: less than one run in 1,000 of a right formula does."""
    return _held(verify(grid, seeds, seed, jobs=jobs, margin=margin, predictor=predictor, until=until),
                 lambda verdict: verdict != DISAGREE, "escape rejection")


def assert_rejected(predictor: Predictor, grid: Sequence[Setting] | str = "default", seeds: int | None = None,
                    seed: int | None = None, *, margin: float | None = None, until: str | None = None,
                    jobs: int = 1) -> Verification:
    """Raise AssertionError unless some comparison disagrees: the control that a wrong formula is found out.

    >>> grid = [Setting(V=16, L=2, d=256, N=2048)]
    >>> assert_rejected(lambda s: 0.5, grid, seeds=50, seed=0).verdict
    'disagree'
    """
    result = verify(grid, seeds, seed, jobs=jobs, margin=margin, predictor=predictor, until=until)
    if result.verdict != DISAGREE:
        raise AssertionError(f"the predictor was not rejected: {result.verdict} (seed={result.seed})")
    return result


def _held(result: Verification, good: Callable[[str], bool], what: str) -> Verification:
    """The verification, or an AssertionError with one line a comparison that is not good."""
    lines = []
    for cell in result.cells:
        s = cell.setting
        sizes = f"V={s.V} L={s.L} d={s.d} N={s.N}" + ("" if s.m is None else f" m={s.m} {s.activation}")
        for name, c in cell.comparisons.items():
            if not good(c.verdict):
                why = f" ({c.reason})" if c.reason else ""
                lines.append(f"  {sizes}: {name} predicted {c.predicted:.4f}, observed {c.observed.mean:.4f}, "
                             f"difference in [{c.low:+.4f}, {c.high:+.4f}], margin {cell.margin:g}: {c.verdict}{why}")
    if lines:
        raise AssertionError(f"the predictor does not {what} (seed={result.seed}):\n" + "\n".join(lines))
    return result
