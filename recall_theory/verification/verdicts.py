"""The rules of a verdict, fixed before anything is observed: margins, an equivalence test, its error rate over a
family, and how many seeds it will take by the mean and spread that are expected.

A theory for large sizes declares how large its error may be. It agrees when the 95 % interval of observed - predicted
lies inside that margin: a whole agrees only where every comparison does, which needs no correction for their number
(Berger 1982). It disagrees when the interval corrected for the whole family lies outside. Else the comparison is
inconclusive.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from ..settings import Setting
from ..theory.domain import class_of
from .intervals import NEAR_ONE, UNSEEN

AGREE, DISAGREE, INCONCLUSIVE = "agree", "disagree", "inconclusive"

# Declared margins: differences of probabilities, at most RELATIVE_MARGIN of what is predicted.
MARGINS = {"attention-only": 20 / 1000, "smooth": 20 / 1000, "rough": 30 / 1000}  # by the class of an activation
GEOMETRIC = 20 / 1000
RELATIVE_MARGIN = 1 / 10
LEAST_MARGIN = 1 / 1000
POOLED_RELATIVE = 5 / 1000  # of the observed mean over a group of cells

AGREE_CONFIDENCE = 0.95
# Of all intervals of a run that may say disagree, both sides together. A formula whose error equals its margin is only
# wronged on one side, so that no right formula is called wrong in more than one run of 1,000.
VERDICT_ALPHA = 0.002
POWER = 0.9  # at which one comparison detects its smallest detectable bias; three cells miss it once in 1,000

FEWEST_SEEDS, MOST_SEEDS = 48, 6000  # of a plan
ERRORS_IN_MARGIN = 4.0  # standard: agreement takes two, and a right formula is so lucky 96 times in 100
UNSEEN_SHARE_OF_MARGIN = 0.7  # share of the margin by which failures that no seed shows may move a mean
LOOKS = 3  # of a plan: at an eighth of the seeds, at all, and at more where a verdict is open
EARLY_PART = 8
SECOND_STAGE = 4.0  # times the seeds of the plan: half a margin off is then found to agree 98 times in 100
SUSPECTED = 0.75  # standard errors beyond the margin at which a group looks biased
SECOND_STAGE_OF_GROUPS = 6.0  # times smaller is the variance of its mean then: most of what is beyond two margins shows
MOST_OF_GROUPS = 2.0  # new seeds for them at most, in units of all seeds of the plan


class Moments(NamedTuple):
    """The predicted mean of an observable and its deviation from seed to seed."""

    mean: float
    spread: float


def declared_margin(setting: Setting) -> float:
    """The largest difference that still counts as agreement at a setting, where a prediction is not small.

    >>> declared_margin(Setting(V=64, L=4, d=64, N=4096)), declared_margin(Setting(V=64, L=4, d=64, N=4096, m=256))
    (0.02, 0.02)
    """
    return MARGINS[class_of(setting.activation if setting.m else None)]


def margin_at(predicted: float, declared: float) -> float:
    """The margin of one predicted probability: as declared, or a tenth of the prediction, but 0.001 or more.

    >>> margin_at(0.6, 0.02), margin_at(0.09, 0.02)
    (0.02, 0.009)
    """
    return max(LEAST_MARGIN, min(declared, RELATIVE_MARGIN * predicted))


def pooled_margin(observed: float) -> float:
    """The margin of a mean over cells: 0.5 % of it, but 0.001 or more.

    >>> pooled_margin(0.6), pooled_margin(0.1)
    (0.003, 0.001)
    """
    return max(LEAST_MARGIN, POOLED_RELATIVE * observed)


def family_confidence(comparisons: int) -> float:
    """The confidence of each interval that keeps the error of the whole family below `VERDICT_ALPHA` (Bonferroni)."""
    return 1 - VERDICT_ALPHA / max(1, comparisons)


def judge(usual: tuple[float, float], family: tuple[float, float], margin: float) -> str:
    """The verdict on two intervals of a difference: the 95 % one, and the one corrected for the family.

    >>> judge((-0.01, 0.015), (-0.03, 0.03), 0.02), judge((0.03, 0.04), (0.021, 0.05), 0.02)
    ('agree', 'disagree')
    """
    if -margin <= usual[0] and usual[1] <= margin:
        return AGREE
    return DISAGREE if family[1] < -margin or family[0] > margin else INCONCLUSIVE


def worst(verdicts: Iterable[str]) -> str:
    """One verdict for many: any disagreement wins, then any doubt."""
    return max(verdicts, key=(AGREE, INCONCLUSIVE, DISAGREE).index, default=AGREE)


def smallest_detectable_bias(mean: float, low: float, high: float, se: float) -> float:
    """The bias beyond the margin that this comparison would call a disagreement with probability 0.9.

    `low` and `high` are the ends of the interval of the mean, `se` its standard error (NaN: nothing is detectable).
    """
    from scipy.special import ndtri

    if not math.isfinite(se):
        return math.inf
    return max(mean - low, high - mean) + float(ndtri(POWER)) * se


def seeds_to_rule_out(margin: float) -> int:
    """Seeds that show, at 95 %, every failure frequent enough to move a mean by 0.7 of the margin.

    A failure in a share p of all seeds stays unseen in n of them with probability (1 - p)^n.

    >>> seeds_to_rule_out(0.02)
    340
    """
    # Beyond 1e18 it would only overflow: no run has so many seeds.
    unseen = math.log(UNSEEN * (1 - AGREE_CONFIDENCE) / 2)
    return math.ceil(min(unseen / math.log1p(-UNSEEN_SHARE_OF_MARGIN * margin), 1e18))


def seeds_planned(mean: float, std: float, margin: float) -> int:
    """Seeds for a verdict at an expected mean and seed-to-seed deviation of values in [0, 1].

    The margin is four standard errors, and means above 0.9 take as many seeds as show rare failures.

    >>> seeds_planned(0.5, 0.1, 0.02), seeds_planned(0.97, 0.01, 0.02)
    (400, 340)
    """
    n = max(2, math.ceil(min(ERRORS_IN_MARGIN * std / margin, 1e9) ** 2))
    return max(n, seeds_to_rule_out(margin)) if mean > NEAR_ONE else n


def planned_seeds(moments: Mapping[str, Moments], margins: Mapping[str, float]) -> int:
    """Seeds of one cell, from the moments and margins of its observables, by name.

    >>> planned_seeds({"recall": Moments(0.5, 0.1)}, {"recall": 0.02})
    400
    """
    planned = (seeds_planned(m.mean, m.spread, margins[name]) for name, m in moments.items())
    return min(max(FEWEST_SEEDS, *planned), MOST_SEEDS)


def early_look(plan: Sequence[int]) -> list[int]:
    """Seeds of each cell at the first look: an eighth of the plan, which shows a hopeless formula.

    >>> early_look([800, 100])
    [100, 48]
    """
    return [min(n, max(FEWEST_SEEDS, n // EARLY_PART)) for n in plan]


def fewest_seeds(first: Sequence[int], spreads: Mapping[int, float], times: float) -> dict[int, int]:
    """Seeds of some cells, not below their `first`, that make the variance of the mean over them so many times smaller,
    with the fewest in all: in proportion to each cell's deviation from seed to seed, by the number of the cell.

    >>> fewest_seeds([100, 100], {0: 0.1, 1: 0.3}, 4)
    {0: 160, 1: 480}
    >>> fewest_seeds([100, 1000], {0: 0.1, 1: 0.1}, 2)
    {0: 222, 1: 1000}
    """
    seeds = {c: first[c] for c in spreads}
    raised = [c for c in spreads if spreads[c] > 0]
    allowed = sum(spreads[c] ** 2 / first[c] for c in raised) / times
    while raised:
        kept = sum(spreads[c] ** 2 / first[c] for c in spreads if c not in raised)
        rate = sum(spreads[c] for c in raised) / (allowed - kept)
        enough = [c for c in raised if rate * spreads[c] <= first[c]]
        if not enough:
            seeds |= {c: round(rate * spreads[c]) for c in raised}
            break
        raised = [c for c in raised if c not in enough]
    return seeds


def second_stage(first: Sequence[int], still_open: Collection[int],
                 suspected: Collection[Mapping[int, float]] = ()) -> list[int]:
    """Seeds of each cell after the second stage, from those of the first: 4 times as many where a verdict is open, and
    so many in groups that look biased that the variance of their means is 6 times smaller.

    `suspected` has the deviations from seed to seed in each such group, by cell. Where that would take more new seeds
    than the first stage had in all, the open cells share so many in proportion; and suspected groups twice so many.

    >>> second_stage([100, 200, 300, 400], {1})
    [100, 800, 300, 400]
    >>> second_stage([100, 100], {0, 1})
    [200, 200]
    >>> second_stage([100, 100, 300, 400], {1}, [{0: 0.1, 1: 0.1}])
    [600, 600, 300, 400]
    """
    new_of_open = (SECOND_STAGE - 1) * sum(first[c] for c in still_open)
    of_open = 1 + (SECOND_STAGE - 1) * min(1, sum(first) / max(1, new_of_open))
    groups = [fewest_seeds(first, spreads, SECOND_STAGE_OF_GROUPS) for spreads in suspected]
    wanted = [max([n, *(group.get(c, n) for group in groups)]) for c, n in enumerate(first)]
    share = min(1, MOST_OF_GROUPS * sum(first) / max(1, sum(wanted) - sum(first)))
    return [math.floor(max(n * of_open if c in still_open else n, n + share * (want - n)))
            for c, (n, want) in enumerate(zip(first, wanted, strict=True))]
