"""`solve_for`: the inverse of a prediction for any one size."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..numerics.thresholds import Interval, Known, grid, interval_search, known_interval, run_search
from ..settings import OBSERVABLES, PARAMETERS, SettingError, activation_in_use, check_proportion
from .batch_predictor import Model, Sizes, along, bearable
from .predict import FloatArray

COARSE = 8  # points a decade where a crossing is looked for
LARGEST = ("V", "L")  # sizes whose largest value is sought


def solve_for(unknown: str, target: float = 0.99, observable: str = "accuracy", *,
              ratio: float | None = None, embedding: str = "gaussian", trigger_in_value: bool = True,
              activation: Any = None, **sizes: float) -> Interval | None:
    """The largest V or L, or the least N, d or m, at which a predicted observable reaches the target.

    `sizes` fixes the other ones of V, L, d, N, and m with an MLP; for the unknown V give N or `ratio` = N/V.
    `activation` alone belongs with the unknown m; m alone means relu. Returns the whole interval of the unknown on
    which the target is reached (the highest one for V and L, the lowest for N, d and m), or None where there is none.

    Raises `SettingError` for a value outside its domain and for a missing or superfluous size.

    >>> found = solve_for("N", 0.5, V=256, L=16, d=128)
    >>> found.low < 256 * 100
    True
    """
    check_proportion("target", target)
    if observable not in OBSERVABLES:
        raise SettingError("observable", f"observable={observable!r} is not one of {', '.join(OBSERVABLES)}")
    model = _model(unknown, embedding, trigger_in_value, activation, sizes)
    names = set(model.sizes)
    needed = names - {unknown} - ({"N"} if ratio is not None else set())
    if unknown not in names or (ratio is not None and unknown == "N"):
        raise SettingError("unknown", f"unknown={unknown!r} is not one of {', '.join(model.sizes)}"
                           + (" (and N is given by the ratio)" if unknown == "N" else ""))
    if set(sizes) != needed:
        raise SettingError("sizes", f"to solve for {unknown} give {', '.join(sorted(needed))}, not "
                           f"{', '.join(sorted(sizes)) or 'nothing'}")
    fixed = {name: float(PARAMETERS[name].check(value)) for name, value in sizes.items()}

    low, high = model.search_range(unknown, fixed, target)
    if low > high:
        return None
    points, highest = grid(low, high, COARSE), unknown in LARGEST

    def sizes_at(x: FloatArray) -> Sizes:
        return along(unknown, x, fixed, ratio)

    if observable == "attention":  # cheap enough to look everywhere
        return known_interval(lambda x: model.attention(sizes_at(x)), target, points, highest)
    known: Known = {}

    def values(wanted: list[int]) -> list[float]:
        many = model.predict(sizes_at(np.array(wanted, dtype=float)))
        return getattr(many, observable).tolist()

    guess = model.estimate(sizes_at(points))
    worth = bearable(guess["attention"], target) if observable == "accuracy" else None
    search = interval_search(points, guess[observable], target, known, highest, worth=worth)
    return run_search(search, known, values)


def _model(unknown: str, embedding: str, trigger_in_value: bool, activation: Any, sizes: dict[str, float]) -> Model:
    """The model that the given sizes mean: an MLP where m is among them or is the unknown."""
    width = "m" if "m" in sizes or unknown == "m" else None
    return Model(embedding, trigger_in_value, activation_in_use(width, activation))
