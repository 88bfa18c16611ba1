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
              V: int | None = None, L: int | None = None, d: int | None = None, N: int | None = None,
              m: int | None = None, activation: Any = None, embedding: str = "gaussian",
              trigger_in_value: bool = True, ratio: float | None = None) -> Interval | None:
    """The largest V or L, or the least N, d or m, at which a predicted observable reaches the target.

    Give the other ones of V, L, d, N, and m with an MLP; `ratio` = N/V can stand in for N. `activation` alone belongs
    with the unknown m; m alone means relu. Returns the whole interval of the unknown on which the target is reached
    (the highest one for V and L, the lowest for N, d and m), or None where there is none.

    Raises `SettingError` for a value outside its domain and for a missing or superfluous size.

    >>> solve_for("N", 0.5, V=256, L=16, d=128).low
    12333
    >>> solve_for("V", 0.9, "recall", L=16, d=128, ratio=64).high
    69
    """
    given = {"V": V, "L": L, "d": d, "N": N, "m": m}
    if unknown not in given:
        raise SettingError("unknown", f"unknown={unknown!r} is not one of {', '.join(given)}")
    if unknown == "N" and ratio is not None:
        raise SettingError("ratio", "ratio gives N = ratio V: to solve for N leave it out")
    sizes = {name: size for name, size in given.items() if size is not None}
    check_proportion("target", target)
    if observable not in OBSERVABLES:
        raise SettingError("observable", f"observable={observable!r} is not one of {', '.join(OBSERVABLES)}")
    width = "m" if "m" in sizes or unknown == "m" else None
    model = Model(embedding, trigger_in_value, activation_in_use(width, activation))
    needed = [name for name in model.sizes if name != unknown and (name != "N" or ratio is None)]
    if list(sizes) != needed:
        raise SettingError("sizes", f"to solve for {unknown} give {', '.join(needed)}, not "
                           f"{', '.join(sizes) or 'nothing'}")
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
