"""Verdicts: an equivalence test on two intervals, its error rate over a family, and what a sample can show.

A prediction for random embeddings has an error at any finite size. The theory declares how large it may be, a margin
that was fixed before anything was compared. It agrees when the 95 % interval of observed - predicted lies inside the
margin: a whole agrees only where every comparison does, so that this needs no correction for their number (Berger
1982). It disagrees when the interval corrected for the whole family lies outside. Else the comparison is inconclusive.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from ..settings import Setting
from ..theory.domain import class_of

AGREE, DISAGREE, INCONCLUSIVE = "agree", "disagree", "inconclusive"

# Declared margins: differences of probabilities, at most RELATIVE of what is predicted.
MARGINS = {"attention-only": 20 / 1000, "smooth": 20 / 1000, "rough": 30 / 1000}  # by the class of an activation
GEOMETRIC = 20 / 1000
RELATIVE = 1 / 10
LEAST = 1 / 1000
POOLED_RELATIVE = 5 / 1000  # of the observed mean over a group of cells

AGREE_CONFIDENCE = 0.95
# Of all intervals of a run that may say disagree, both sides together. A formula whose error equals its margin is only
# wronged on one side, so that no right formula is called wrong in more than one run of 1,000.
VERDICT_ALPHA = 0.002
POWER = 0.9  # at which one comparison detects its smallest detectable bias; three cells miss it once in 1,000


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
    return max(LEAST, min(declared, RELATIVE * predicted))


def pooled_margin(observed: float) -> float:
    """The margin of a mean over cells: 0.5 % of it, but 0.001 or more.

    >>> pooled_margin(0.6), pooled_margin(0.1)
    (0.003, 0.001)
    """
    return max(LEAST, POOLED_RELATIVE * observed)


def family_confidence(comparisons: int, alpha: float = VERDICT_ALPHA) -> float:
    """The confidence of each interval that keeps the error of the whole family below alpha (Bonferroni)."""
    return 1 - alpha / max(1, comparisons)


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

    `low` and `high` are the ends of the interval of the mean, `se` is its standard error (NaN where it isn't known:
    nothing is detectable).
    """
    from scipy.special import ndtri

    if not math.isfinite(se):
        return math.inf
    return max(mean - low, high - mean) + float(ndtri(POWER)) * se
