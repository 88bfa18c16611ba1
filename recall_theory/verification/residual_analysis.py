"""Where a formula fails: in which regime, and what its noise lacks.

Attention and recall are turned into noise: observed and predicted probabilities p into (noise/signal)^2 = 1/s^2 with
P(s, K) = p, K the number of competitors' places (L, or V). On that scale contributions add, so that the difference is
what the formula leaves out (or, where it is negative, what it has too much of), and its slopes over the sizes are
exponents.
"""

from __future__ import annotations

import dataclasses
import math
from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from ..numerics.formatting import number, plural
from ..settings import SIZES
from ..theory.phase import binding
from .results import Cell, Comparison, Verification
from .verdicts import DISAGREE

MOST_CERTAIN = 0.999  # a probability beyond it says little of its noise
SPARE_CELLS = 3  # beyond the number of unknowns, so that a fit means something


@dataclasses.dataclass(frozen=True)
class Regime:
    """Cells in which the same thing limits the model ("recall: interference"), and how the formula does there on one
    observable."""

    name: str
    observable: str
    cells: int
    disagree: int
    mean_difference: float
    largest: float


@dataclasses.dataclass(frozen=True)
class Missing:
    """What a formula lacks (`sign` +1) or has too much of (-1) in one observable, over `cells` cells where it shows.

    `exponents` are the slopes of log |missing noise| over the logarithms of the sizes, empty where cells are too few.
    `term` is the theory's term that is nearest to proportional to it, `ratio` how many times that term it typically is.
    """

    observable: str
    sign: int
    cells: int
    exponents: dict[str, float]
    term: str | None
    ratio: float | None


@dataclasses.dataclass(frozen=True)
class Explanation:
    """The residuals of a verification, explained; its dictionary is in the JSON of `verify --predictor`."""

    regimes: tuple[Regime, ...]
    missing: tuple[Missing, ...]


def explain(verification: Verification) -> Explanation:
    """Where and how the formula of a verification fails.

    >>> from recall_theory import Setting, verify
    >>> done = verify([Setting(V=32, L=4, d=64, N=1024)], seeds=8, seed=1, predictor=lambda s: 0.1)
    >>> explain(done).regimes[0].observable
    'recall'
    """
    groups: defaultdict[tuple[str, str], list[Comparison]] = defaultdict(list)
    for cell in verification.cells:
        name = "the theory says nothing" if cell.theory is None else binding(cell.theory)
        for observable, comparison in cell.comparisons.items():
            groups[name, observable].append(comparison)
    regimes = []
    for (name, observable), group in groups.items():
        differences = [c.difference for c in group]
        regimes.append(Regime(name, observable, len(group), sum(c.verdict == DISAGREE for c in group),
                              float(np.mean(differences)), max(differences, key=abs)))
    missing = (_missing(verification.cells, observable) for observable in ("attention", "recall"))
    return Explanation(tuple(regimes), tuple(m for m in missing if m is not None))


def paragraph(explanation: Explanation) -> str:
    """The explanation in a few sentences."""
    wrong = [r for r in explanation.regimes if r.disagree]
    if not wrong:
        return "In no cell does the formula disagree with the simulation."
    worst = max(wrong, key=lambda r: abs(r.mean_difference))
    direction = "low" if worst.mean_difference > 0 else "high"
    place = worst.name.replace(": ", " is limited by ")
    sentences = [f"The formula is furthest from the simulation where {place}: there the {worst.observable} that it "
                 f"predicts is on average {number(abs(worst.mean_difference), 2)} too {direction}, and it disagrees in "
                 f"{worst.disagree} of {plural(worst.cells, 'cell')}."]
    for m in explanation.missing:
        much, large, amount = ("little", "small", "missing") if m.sign > 0 else ("much", "large", "surplus")
        among = "label" if m.observable == "recall" else "position"
        sentences.append(f"Its {m.observable} is that of too {much} noise in the choice of a {among}: (noise/signal)^2 "
                         f"is too {large} in {plural(m.cells, 'cell')}.")
        if m.exponents:
            powers = " ".join(f"{size}^{x:.1f}" for size, x in m.exponents.items())
            sentences.append(f"Over these cells the {amount} noise varies roughly as {powers}.")
        if m.term:
            sentences.append(f"Of the noise terms in the library's own theory '{m.term}' varies most like it, and the "
                             f"{amount} noise is about {m.ratio:.2g} times that term.")
    return " ".join(sentences)


def noise(p: float, K: int) -> float:
    """(noise/signal)^2 at which one of K is picked rightly with probability p; NaN at and near chance, and near 1.

    >>> noise(0.03, 25), round(noise(0.8263, 25), 3)
    (nan, 0.111)
    """
    from ..numerics.forced_choice import forced_choice_inverse

    if K < 2 or not 1.5 / K < p < MOST_CERTAIN:
        return math.nan
    return float(forced_choice_inverse(p, K)) ** -2


def _missing(cells: Sequence[Cell], observable: str) -> Missing | None:
    """The missing noise over the cells in which the difference is beyond doubt and its size can be told."""
    gaps: list[tuple[Cell, float]] = []
    for cell in cells:
        c = cell.comparisons.get(observable)
        if c is not None and (c.low > 0 or c.high < 0):
            K = cell.setting.V if observable == "recall" else cell.setting.L
            gaps.append((cell, noise(c.observed.mean, K) - noise(c.predicted, K)))
    sign = 1 if sum(np.sign(gap) for _, gap in gaps if math.isfinite(gap)) >= 0 else -1
    shown = [cell for cell, gap in gaps if gap * sign > 0]  # no NaN
    if not shown:
        return None
    log_gap = np.log([gap * sign for _, gap in gaps if gap * sign > 0])

    sizes = {size: [getattr(cell.setting, size) for cell in shown] for size in SIZES}
    varied = {size: np.log(values) for size, values in sizes.items() if None not in values and len(set(values)) > 1}
    design = np.column_stack([np.ones(len(shown)), *varied.values()])
    slopes, _, rank, _ = np.linalg.lstsq(design, log_gap, rcond=None)
    determined = rank == design.shape[1] and len(shown) >= rank + SPARE_CELLS
    exponents = dict(zip(varied, slopes[1:].tolist(), strict=True)) if determined else {}

    budgets = [{} if cell.theory is None else cell.theory.terms.get(observable, {}) for cell in shown]
    log_ratios = {name: log_gap - np.log([budget[name] for budget in budgets]) for name in budgets[0]
                  if len(shown) >= SPARE_CELLS and all(budget.get(name, 0) > 0 for budget in budgets)}
    term = min(log_ratios, key=lambda name: float(log_ratios[name].std()), default=None)
    ratio = None if term is None else float(np.exp(log_ratios[term].mean()))
    return Missing(observable, sign, len(shown), exponents, term, ratio)
