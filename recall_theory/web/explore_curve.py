"""The curve on the page of `recall-theory explore`: the observables along one size, point by point."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..numerics.formatting import number, probability
from ..settings import PARAMETERS, Setting, SettingError

if TYPE_CHECKING:
    from ..theory.predict import Prediction

__all__ = ["OBSERVABLES", "SIZES", "Curve", "predicted"]

SIZES = ("V", "L", "d", "N", "m")
OBSERVABLES = ("attention", "recall", "accuracy")

SPAN = 64  # the curve reaches this factor to either side of the setting
INTERVALS = 24
STEEP = 0.05  # change between neighbouring points above which one is added between them
MOST_POINTS = 48
LEFT, RIGHT, TOP, BOTTOM = 40, 84, 12, 40  # pixels around the area of the curve
TICK_WIDTH = 85  # pixels


@functools.lru_cache(maxsize=4096)
def predicted(setting: Setting) -> Prediction:
    """`predict`, which remembers the latest settings: curves and controls come back to them."""
    from ..theory.predict import predict

    return predict(setting)


@dataclasses.dataclass
class Curve:
    """Observables along a size around a setting, and where they lie in a drawing of `width` pixels.

    `ratio` is N/V where N follows V, else None. `points` maps values of the size to predictions.
    """

    setting: Setting
    along: str
    ratio: float | None
    width: int
    points: dict[int, Prediction] = dataclasses.field(default_factory=dict)
    omitted: str = ""  # why a value has no point

    height = 300
    observables = OBSERVABLES

    def __post_init__(self) -> None:
        parameter = PARAMETERS[self.along]
        self.present: int = getattr(self.setting, self.along)
        low, high = max(parameter.low, self.present / SPAN), min(parameter.high, self.present * SPAN)
        spaced = {round(low * (high / low) ** (i / INTERVALS)) for i in range(INTERVALS + 1)}
        self._values = sorted(spaced | {self.present})
        self.low, self.high = self._values[0], self._values[-1]

    def compute(self) -> Iterator[int]:
        """Add the points one by one: evenly spaced in the logarithm first, then closer where the curve is steep.

        Yields the value of each once it is there, or `omitted` says why it is not.
        """
        for value in self._coarse_first():
            self._add(value)
            yield value
        tried = set(self._values)
        while len(tried) < MOST_POINTS and (middle := self._steepest(tried)) is not None:
            tried.add(middle)
            self._add(middle)
            yield middle

    def _add(self, value: int) -> None:
        sizes = {self.along: value}
        if self.ratio is not None:
            sizes["N"] = max(1, round(self.ratio * value))
        try:
            self.points[value] = predicted(self.setting.replace(**sizes))
        except SettingError as error:
            self.omitted = str(error)

    def _coarse_first(self) -> list[int]:
        """The evenly spaced values in an order of which every beginning spans the whole range."""
        order = [self.present, self.low, self.high]
        stride = 2 ** len(self._values).bit_length()
        while stride >= 1:
            order += self._values[::stride]
            stride //= 2
        return list(dict.fromkeys(order))

    def _steepest(self, tried: set[int]) -> int | None:
        """The middle of the interval along which an observable changes most, where that is more than STEEP."""
        best, middle = STEEP, None
        for left, right in itertools.pairwise(sorted(self.points)):
            a, b = self.points[left], self.points[right]
            change = max(abs(getattr(b, name) - getattr(a, name)) for name in OBSERVABLES)
            between = round(math.sqrt(left * right))
            if change > best and between not in tried:
                best, middle = change, between
        return middle

    def note(self, provisional: bool) -> str:
        """What there is to know about the points so far."""
        notes = [f"provisional: {len(self.points)} points so far" if provisional else "",
                 "" if self.ratio is None else f"at N/V = {number(self.ratio)}",
                 f"left out: {self.omitted}" if self.omitted else ""]
        return "; ".join(filter(None, notes))

    def words(self) -> str:
        """The curve in a sentence."""
        first, last = self.points[min(self.points)], self.points[max(self.points)]
        changes = [f"{name} from {probability(getattr(first, name))} to {probability(getattr(last, name))}"
                   for name in OBSERVABLES]
        return f"Along {self.along}, from {min(self.points)} to {max(self.points)}: {', '.join(changes)}"

    def x(self, value: float) -> float:
        """Pixels from the left of a value of the size."""
        share = math.log(value / self.low) / (math.log(self.high / self.low) or 1)
        return round(LEFT + share * (self.width - LEFT - RIGHT), 1)

    def y(self, probability: float) -> float:
        """Pixels from the top of a probability."""
        return round(self.height - BOTTOM - probability * (self.height - BOTTOM - TOP), 1)

    def corners(self, observable: str) -> str:
        """The line of an observable."""
        return " ".join(f"{self.x(value)},{self.y(getattr(p, observable))}" for value, p in sorted(self.points.items()))

    def ticks(self) -> list[int]:
        """Powers of ten along the size, not more than there is room for."""
        powers = [power for power in (10**k for k in range(16)) if self.low <= power <= self.high]
        room = (self.width - LEFT - RIGHT) // TICK_WIDTH
        return powers[::math.ceil(len(powers) / room)]

    def names(self) -> list[tuple[str, float]]:
        """(observable, height of its name at the right end), the names apart from one another."""
        last = self.points[max(self.points)]
        placed: list[tuple[str, float]] = []
        height = 0.0
        for name in sorted(OBSERVABLES, key=lambda name: -getattr(last, name)):
            height = max(height + 15, self.y(getattr(last, name)) + 4)
            placed.append((name, height))
        return placed
