"""How large eta*gamma has to be for predictions of the limit to hold."""

from __future__ import annotations

import math

import numpy as np

from ..settings import SettingError
from .domain import sizes_of
from .formulas.finite_rate_formulas import least_rates
from .predict import Prediction, predictions_at

__all__ = ["WITHIN", "rates_of_limit"]

WITHIN = 1 / 100  # of the limit's recall and accuracy: what counts as its holding
STEP, MOST_STEPS = 2, 12  # in eta*gamma, on the way to where the limit holds


def rates_of_limit(in_limit: Prediction) -> float | None:
    """About the least eta*gamma from which on recall and accuracy are within 0.01 of their limits `in_limit`, as
    eta -> 0; 0 where that is so at uniform attention, as of one token, and None where finite rates have no law.

    It is sought from the formula `least_rates` by factors of two, and interpolated between the last two.

    >>> from recall_theory import Setting, predict
    >>> round(math.log10(rates_of_limit(predict(Setting(V=64, L=8, d=64, N=4096)))), 1)
    4.6
    """
    setting = in_limit.setting
    if setting.L == 1:
        return 0.0
    try:
        beta = float(least_rates(setting.V, setting.L, WITHIN))
        gap = _gap(in_limit, beta)
        rising = gap > WITHIN
        for _ in range(MOST_STEPS):
            before, old = beta, gap
            beta *= STEP if rising else 1 / STEP
            gap = _gap(in_limit, beta)
            if (gap > WITHIN) != rising:
                share = _share(old, gap)
                return before * (beta / before) ** share
    except SettingError:
        return None
    return None if rising else 0.0


def _gap(in_limit: Prediction, beta: float) -> float:
    """The larger distance of recall and accuracy at eta*gamma = beta from their limits."""
    s = in_limit.setting
    sizes = {name: np.array([size]) for name, size in sizes_of(s).items()}
    at = predictions_at(sizes, s.activation, s.embedding, s.trigger_in_value, beta=beta)
    return max(abs(float(at.recall[0]) - in_limit.recall), abs(float(at.accuracy[0]) - in_limit.accuracy))


def _share(old: float, new: float) -> float:
    """Where on the way from one gap to another, straight in its logarithm, it is `WITHIN`; from 0 to 1."""
    if min(old, new) <= 0:
        return 1 if new <= 0 and old > WITHIN else 0
    return (math.log(old) - math.log(WITHIN)) / (math.log(old) - math.log(new))
