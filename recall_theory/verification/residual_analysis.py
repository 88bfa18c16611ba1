"""Why a formula fails: in which regime, with which exponents, and which named term has the shape of what is missing.

Attention and recall are turned into noise: observed and predicted probabilities p into (noise/signal)^2 = 1/s^2 with
P(s, K) = p, K the number of rivals' places (L, or V). On that scale contributions add, so that the difference is what
the formula leaves out (or, where it is negative, what it has too much of), and its slopes over the sizes are exponents.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from . import statistics
from .results import Cell, Comparison, Verification

FloatArray = NDArray[np.float64]

RIGHT = 0.9  # attention from which recall decides
SIZES = ("V", "L", "d", "N", "m")
CONFIDENCE = 0.95
MOST_CERTAIN = 0.999  # a probability beyond it says little of its noise
SPARE = 3  # cells beyond the number of unknowns, so that a fit has something to say about its error


@dataclasses.dataclass(frozen=True)
class Regime:
    """Cells in which the same thing limits the model, and how the formula does there on one observable."""

    name: str
    observable: str
    cells: int
    disagree: int
    mean_difference: float
    largest: float


@dataclasses.dataclass(frozen=True)
class Exponent:
    """The slope of log |missing noise| over the logarithm of a size, with its 95 % interval."""

    size: str
    value: float
    low: float
    high: float


@dataclasses.dataclass(frozen=True)
class Likeness:
    """How far what is missing is proportional to a named term: `scatter` is the standard deviation of the logarithm of
    their ratio over cells (0 is the same shape), `ratio` its typical value (1 is the same size). `share` is the term's
    coefficient in the sum of all terms that comes nearest to what is missing (NaN where cells are too few for it)."""

    term: str
    ratio: float
    scatter: float
    share: float


@dataclasses.dataclass(frozen=True)
class Missing:
    """What a formula lacks (`sign` +1) or has too much of (-1) in one observable, over `cells` cells where it shows.

    `misfit` is the root mean square error, relative to what is missing, of the sum of terms that comes nearest to it.
    """

    observable: str
    sign: int
    cells: int
    exponents: tuple[Exponent, ...]
    terms: tuple[Likeness, ...]
    misfit: float


@dataclasses.dataclass(frozen=True)
class Explanation:
    """The residuals of a verification, explained."""

    regimes: tuple[Regime, ...]
    missing: tuple[Missing, ...]

    def to_dict(self) -> dict[str, object]:
        """As in the JSON of `verify --predictor`."""
        return dataclasses.asdict(self)


def explain(found: Verification) -> Explanation:
    """Where and how the formula of a verification fails.

    >>> from recall_theory import Setting, verify
    >>> done = verify([Setting(V=32, L=4, d=64, N=1024)], seeds=8, seed=1, predictor=lambda s: 0.1)
    >>> explain(done).regimes[0].observable
    'recall'
    """
    regimes = []
    for observable in ("attention", "recall", "accuracy"):
        groups: dict[str, list[Comparison]] = {}
        for cell in found.cells:
            if observable in cell.comparisons:
                groups.setdefault(regime_of(cell), []).append(cell.comparisons[observable])
        regimes += [_regime(name, observable, of) for name, of in sorted(groups.items())]
    missing = [m for o in ("attention", "recall") if (m := _missing(found.cells, o)) is not None]
    return Explanation(tuple(regimes), tuple(missing))


def regime_of(cell: Cell) -> str:
    """What limits the model at a cell: the largest named term of the step that decides."""
    theory = cell.theory
    if theory is None:
        return "where the theory says nothing"
    step = "recall" if theory.attention >= RIGHT else "attention"
    terms = theory.terms[step]
    largest = max(terms, key=lambda name: terms[name]) if terms else "nothing"
    return f"{'attention right' if step == 'recall' else 'attention failing'}, {largest}"


def _regime(name: str, observable: str, of: Sequence[Comparison]) -> Regime:
    differences = [c.difference for c in of]
    return Regime(name, observable, len(of), sum(c.verdict == statistics.DISAGREE for c in of),
                  float(np.mean(differences)), max(differences, key=abs))


def _missing(cells: Sequence[Cell], observable: str) -> Missing | None:
    """The missing noise over the cells in which the difference is beyond doubt and one can tell its size."""
    seen: list[tuple[Cell, float]] = []
    for cell in cells:
        c = cell.comparisons.get(observable)
        if c is not None and (c.low > 0 or c.high < 0):
            K = cell.setting.V if observable == "recall" else cell.setting.L
            gap = noise(c.observed.mean, K) - noise(c.predicted, K)
            if math.isfinite(gap) and gap != 0:
                seen.append((cell, gap))
    if not seen:
        return None
    sign = 1 if sum(gap > 0 for _, gap in seen) * 2 >= len(seen) else -1
    seen = [(cell, gap) for cell, gap in seen if gap * sign > 0]
    size = np.log([abs(gap) for _, gap in seen])
    mine = [cell for cell, _ in seen]
    return Missing(observable, sign, len(mine), _exponents(mine, size), *_likeness(mine, size, observable))


def noise(p: float, K: int) -> float:
    """(noise/signal)^2 at which one of K is picked rightly with probability p; NaN at and near chance, and near 1.

    >>> noise(0.03, 25), round(noise(0.8263, 25), 3)
    (nan, 0.111)
    """
    from ..numerics.forced_choice import forced_choice_inverse

    if K < 2 or not 1.5 / K < p < MOST_CERTAIN:
        return math.nan
    return float(forced_choice_inverse(p, K)) ** -2


def _exponents(cells: Sequence[Cell], size: FloatArray) -> tuple[Exponent, ...]:
    """Least squares of log |missing| on the logarithms of the sizes that vary; none where cells are too few."""
    from scipy.special import stdtrit

    names = [s for s in SIZES if all(getattr(c.setting, s) is not None for c in cells)]
    logs = np.array([[math.log(getattr(c.setting, s)) for s in names] for c in cells])
    varied = [i for i in range(len(names)) if np.ptp(logs[:, i]) > 0]
    design = np.column_stack([np.ones(len(cells)), logs[:, varied]])
    spare = len(cells) - design.shape[1]
    if spare < SPARE or np.linalg.matrix_rank(design) < design.shape[1]:
        return ()
    found = np.linalg.lstsq(design, size, rcond=None)[0]
    variance = float(((size - design @ found) ** 2).sum()) / spare
    half = float(stdtrit(spare, (1 + CONFIDENCE) / 2)) * np.sqrt(variance * np.diag(np.linalg.inv(design.T @ design)))
    return tuple(Exponent(names[i], float(b), float(b - h), float(b + h))
                 for i, b, h in zip(varied, found[1:], half[1:], strict=True))


def _likeness(cells: Sequence[Cell], size: FloatArray, observable: str) -> tuple[tuple[Likeness, ...], float]:
    """The named terms of the theory that are there in all cells, those most like what is missing first, and how well
    a sum of them with coefficients of at least 0 does."""
    from scipy.optimize import nnls

    budgets = [{} if c.theory is None else c.theory.terms.get(observable, {}) for c in cells]
    names = [n for n in budgets[0] if all(b.get(n, 0) > 0 for b in budgets)]
    if len(cells) < SPARE or not names:
        return (), math.nan
    terms = np.array([[b[n] for n in names] for b in budgets])
    shares, misfit = np.full(len(names), math.nan), math.nan
    if len(cells) >= len(names) + SPARE:
        shares, left = nnls(terms / np.exp(size)[:, None], np.ones(len(cells)))
        misfit = float(left) / math.sqrt(len(cells))
    ratios = size[:, None] - np.log(terms)
    found = [Likeness(n, float(np.exp(r.mean())), float(r.std(ddof=1)), float(share))
             for n, r, share in zip(names, ratios.T, shares, strict=True)]
    return tuple(sorted(found, key=lambda x: x.scatter)), misfit
