"""How many seeds a verdict will take, from the mean and spread that are expected; fixed before anything is observed."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence

from .intervals import BCA_UP_TO, T_UP_TO, UNSEEN, bca_confidence, log_price, tail_error
from .problem import Moments

FEWEST_SEEDS, MOST_SEEDS = 48, 6000  # of a first stage, whatever the plan
WIDTH = 0.65  # share of the margin that an interval may reach to one side
UNSEEN_REACH = 0.7  # share of the margin by which failures that no seed shows may move a mean
STAGES = 2  # of a plan; the intervals of each have half of the error
SECOND_STAGE = 4  # times the seeds of the first, so that intervals are half as wide


def seeds_needed(std: float, margin: float, confidence: float) -> int:
    """Seeds for an interval whose half width is 0.65 of the margin, at a seed-to-seed deviation std."""
    from scipy.special import ndtri

    # Beyond 1e9 the square would only overflow: no run has so many seeds.
    return max(2, math.ceil(min(float(ndtri((1 + confidence) / 2)) * std / (WIDTH * margin), 1e9) ** 2))


def seeds_to_rule_out(margin: float, confidence: float) -> int:
    """Seeds that show every failure frequent enough to move a mean by 0.7 of the margin.

    A failure in a share p of all seeds stays unseen in n of them with probability (1 - p)^n.

    >>> seeds_to_rule_out(0.02, 0.95)
    340
    """
    # Beyond 1e18 it would only overflow: no run has so many seeds.
    return math.ceil(min(math.log(UNSEEN * (1 - confidence) / 2) / math.log1p(-UNSEEN_REACH * margin), 1e18))


def seeds_planned(mean: float, std: float, margin: float, confidence: float) -> int:
    """Seeds for a verdict at an expected mean and seed-to-seed deviation of values in [0, 1].

    How skewed the values will be is taken from the beta law of that mean and deviation. Where no t or BCa interval
    will apply, the interval for any law has to reach no further than 0.65 of the margin: it reaches about y std + y^2/6
    where n y^2/2 is its price.

    >>> seeds_planned(0.5, 0.1, 0.02, 0.999), seeds_planned(0.97, 0.1, 0.02, 0.999)
    (641, 1890)
    """
    from scipy import stats

    n = max(seeds_needed(std, margin, confidence), seeds_to_rule_out(margin, confidence))
    size = mean * (1 - mean) / std**2 - 1 if std > 0 else 0.0  # a + b of the beta law; there is one where it is above 0
    skew = float(stats.beta.stats(mean * size, (1 - mean) * size, moments="s")) if size > 0 else 0.0
    log_error = tail_error(skew, n, confidence)
    if T_UP_TO < log_error <= BCA_UP_TO:
        n = max(n, seeds_needed(std, margin, bca_confidence(log_error, confidence)))
    if log_error > BCA_UP_TO:
        y = 3 * (math.sqrt(std**2 + 2 * WIDTH * margin / 3) - std)
        n = max(n, math.ceil(2 * log_price(n, (1 + confidence) / 2) / y**2))
    return n


def planned_seeds(moments: Iterable[Moments], margin: float, confidence: float) -> int:
    """Seeds of one cell's first stage, from the moments of its observables."""
    planned = (seeds_planned(m.mean, m.largest_spread, margin, confidence) for m in moments)
    return min(max(FEWEST_SEEDS, *planned), MOST_SEEDS)


def second_stage(first: Sequence[int], still_open: Collection[int]) -> list[int]:
    """Seeds of each cell after the second stage, from those of the first: four times as many where a verdict is open.

    Where that would take more new seeds than the first stage had in all, the open cells share so many in proportion.

    >>> second_stage([100, 200, 300, 400], {1})
    [100, 800, 300, 400]
    >>> second_stage([100, 100], {0, 1})
    [200, 200]
    """
    times = min(SECOND_STAGE, 1 + sum(first) / max(1, sum(first[c] for c in still_open)))
    return [math.floor(n * times) if c in still_open else n for c, n in enumerate(first)]
