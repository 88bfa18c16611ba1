"""The predicted critical size, on the same footing as the observed one: a real number, between whole sizes."""

from __future__ import annotations

import math
from collections.abc import Callable

from ..settings import Setting, SettingError
from ..theory.predict import predict

DOUBLINGS = 40


def predicted_crossing(at: float, start: int, low: int, high: int, rising: bool, make: Callable[[int], Setting],
                       observable: str) -> float | None:
    """The logarithm of the size at which the prediction crosses `at`, None for nowhere.

    Of several crossings, the first that doubling or halving from `start` comes upon. Between whole sizes the logit
    is interpolated in the logarithm of the size.
    """
    from scipy.optimize import brentq

    known: dict[int, float] = {}

    def height(x: int) -> float:
        """The logit of the prediction less that of `at`."""
        if x not in known:
            p = min(max(float(getattr(predict(make(x)), observable)), 1e-300), 1 - 1e-16)
            known[x] = math.log(p) - math.log1p(-p) - math.log(at / (1 - at))
        return known[x]

    def between(u: float) -> float:
        below = min(max(math.floor(math.exp(u) * (1 + 1e-14)), low), high)
        above = min(below + 1, high)
        if above == below:
            return height(below)
        share = (u - math.log(below)) / (math.log(above) - math.log(below))
        return (1 - share) * height(below) + share * height(above)

    try:
        x = min(max(start, low), high)
        upwards = rising == (height(x) < 0)
        for _ in range(DOUBLINGS):
            following = min(2 * x, high) if upwards else max(x // 2, low)
            if following == x:
                return None
            if (height(following) < 0) != (height(x) < 0):
                ends = sorted((math.log(x), math.log(following)))
                return float(brentq(between, *ends, xtol=1e-9))
            x = following
    except SettingError:  # a setting that predict doesn't describe, or one out of its domain
        return None
    return None
