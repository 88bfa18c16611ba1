"""How many seeds a verdict will take, from the mean and spread that are expected; fixed before anything is observed."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence

from .intervals import NEAR_ONE, UNSEEN
from .problem import Moments, P, Problem, S
from .verdicts import AGREE_CONFIDENCE

FEWEST_SEEDS, MOST_SEEDS = 48, 6000  # of a plan
REACH = 4.0  # standard errors in a margin: agreement takes two, and a right formula is so lucky 96 times in 100
UNSEEN_REACH = 0.7  # share of the margin by which failures that no seed shows may move a mean
LOOKS = 3  # of a plan: at an eighth of the seeds, at all, and at more where a verdict is open
EARLY = 8
SECOND_STAGE = 4.0  # times the seeds of the plan: half a margin off is then found to agree 98 times in 100


def seeds_to_rule_out(margin: float) -> int:
    """Seeds that show, at 95 %, every failure frequent enough to move a mean by 0.7 of the margin.

    A failure in a share p of all seeds stays unseen in n of them with probability (1 - p)^n.

    >>> seeds_to_rule_out(0.02)
    340
    """
    # Beyond 1e18 it would only overflow: no run has so many seeds.
    unseen = math.log(UNSEEN * (1 - AGREE_CONFIDENCE) / 2)
    return math.ceil(min(unseen / math.log1p(-UNSEEN_REACH * margin), 1e18))


def seeds_planned(mean: float, std: float, margin: float) -> int:
    """Seeds for a verdict at an expected mean and seed-to-seed deviation of values in [0, 1].

    The margin is four standard errors, and means above 0.9 take as many seeds as show rare failures.

    >>> seeds_planned(0.5, 0.1, 0.02), seeds_planned(0.97, 0.01, 0.02)
    (400, 340)
    """
    n = max(2, math.ceil(min(REACH * std / margin, 1e9) ** 2))
    return max(n, seeds_to_rule_out(margin)) if mean > NEAR_ONE else n


def planned_seeds(moments: Mapping[str, Moments], margins: Mapping[str, float]) -> int:
    """Seeds of one cell, from the moments and margins of its observables, by name.

    >>> planned_seeds({"recall": Moments(0.5, 0.1)}, {"recall": 0.02})
    400
    """
    planned = (seeds_planned(m.mean, m.spread, margins[name]) for name, m in moments.items())
    return min(max(FEWEST_SEEDS, *planned), MOST_SEEDS)


def planned_cell(problem: Problem[S, P], setting: S, prediction: P) -> int:
    """Seeds of one cell for a verdict on the library's own prediction.

    >>> from recall_theory import Setting, predict
    >>> from recall_theory.verification.problem import THREE_STEP_RECALL
    >>> setting = Setting(V=64, L=4, d=64, N=4096)
    >>> planned_cell(THREE_STEP_RECALL, setting, predict(setting)) > 400
    True
    """
    moments = problem.moments(prediction)
    return planned_seeds(moments, problem.margins(setting, {name: m.mean for name, m in moments.items()}))


def early_look(plan: Sequence[int]) -> list[int]:
    """Seeds of each cell at the first look: an eighth of the plan, which shows a hopeless formula.

    >>> early_look([800, 100])
    [100, 48]
    """
    return [min(n, max(FEWEST_SEEDS, n // EARLY)) for n in plan]


def second_stage(first: Sequence[int], still_open: Collection[int]) -> list[int]:
    """Seeds of each cell after the second stage, from those of the first: 4 times as many where a verdict is open.

    Where that would take more new seeds than the first stage had in all, the open cells share so many in proportion.

    >>> second_stage([100, 200, 300, 400], {1})
    [100, 800, 300, 400]
    >>> second_stage([100, 100], {0, 1})
    [200, 200]
    """
    times = min(SECOND_STAGE, 1 + sum(first) / max(1, sum(first[c] for c in still_open)))
    return [math.floor(n * times) if c in still_open else n for c, n in enumerate(first)]
