"""From observed values to a verdict: intervals over seeds, and an equivalence test.

A fact is not a sample: the facts of one seed share its trigger, attention vector and label frequencies. Everything
here counts seeds. A closed form has a finite-size error, so a formula agrees when the interval of observed - predicted
lies inside its margin, disagrees when it lies outside, and the comparison is inconclusive otherwise.
"""

from .bounded import anytime_interval, guaranteed_interval
from .intervals import Intervals, mean_intervals, student_interval
from .plan import LOOKS, second_look, seeds_needed, seeds_planned, seeds_to_rule_out
from .verdict import (
    AGREE,
    ALPHA,
    DISAGREE,
    INCONCLUSIVE,
    VERDICT_ALPHA,
    family_confidence,
    judge,
    smallest_detectable_bias,
    worst,
)

__all__ = [
    "AGREE",
    "ALPHA",
    "DISAGREE",
    "INCONCLUSIVE",
    "LOOKS",
    "VERDICT_ALPHA",
    "Intervals",
    "anytime_interval",
    "family_confidence",
    "guaranteed_interval",
    "judge",
    "mean_intervals",
    "second_look",
    "seeds_needed",
    "seeds_planned",
    "seeds_to_rule_out",
    "smallest_detectable_bias",
    "student_interval",
    "worst",
]
