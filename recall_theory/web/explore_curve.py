"""The curve on the page of `recall-theory explore`: the observables along one size, point by point."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element, SubElement, tostring

from ..numerics.formatting import count, number, probability
from ..settings import OBSERVABLES, PARAMETERS, Setting, SettingError

if TYPE_CHECKING:
    from ..theory.predict import Prediction


SPAN = 64  # the curve reaches this factor to either side of the setting
INTERVALS = 24
STEEP = 0.05  # change between neighbouring points above which one is added between them
MOST_POINTS = 48
HEIGHT = 300  # pixels, as are those around the area of the curve
LEFT, RIGHT, TOP, BOTTOM = 40, 84, 12, 40
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
                 f"left out: {self.omitted}" if self.omitted else "", self._unchecked()]
        return "; ".join(filter(None, notes))

    def _unchecked(self) -> str:
        """Which points lie outside the domain that was checked, and what to expect there."""
        values = [value for value, p in sorted(self.points.items()) if not p.checked]
        if not values:
            return ""
        among = f"{len(values)} of {len(self.points)} points, from {count(values[0])} to {count(values[-1])} (* below)"
        return f"{among}: {self.points[values[0]].remarks[0]}"

    def svg(self) -> str:
        """The curve as an SVG element; each point is a line that carries its value and what is read there."""
        high, low, right = self._y(1), self._y(0), self._x(self.high)
        first, last = self.points[min(self.points)], self.points[max(self.points)]
        changes = [f"{o} from {probability(getattr(first, o))} to {probability(getattr(last, o))}" for o in OBSERVABLES]
        label = f"Along {self.along}, from {min(self.points)} to {max(self.points)}: {', '.join(changes)}"
        root = Element("svg", {"viewBox": f"0 0 {self.width} {HEIGHT}", "role": "img", "aria-label": label})
        for p in (0, 0.25, 0.5, 0.75, 1):
            _add(root, "line", x1=LEFT, x2=right, y1=self._y(p), y2=self._y(p))
            _add(root, "text", str(p), x=4, y=self._y(p) + 4)
        for tick in self._ticks():
            _add(root, "text", count(tick), class_="middle", x=self._x(tick), y=low + 20)
        present = self._x(self.present)
        _add(root, "line", class_="present", x1=present, x2=present, y1=low, y2=high)
        _add(root, "text", self.along, class_="middle", x=present, y=HEIGHT - 4)
        height = 0.0  # of the names at the right end, apart from one another
        for name in sorted(OBSERVABLES, key=lambda name: -getattr(last, name)):
            height = max(height + 15, self._y(getattr(last, name)) + 4)
            corners = [f"{self._x(value)},{self._y(getattr(p, name))}" for value, p in sorted(self.points.items())]
            _add(root, "polyline", class_=name, points=" ".join(corners))
            _add(root, "text", name, class_=name, x=right + 8, y=height)
        for value, point in sorted(self.points.items()):
            read = ", ".join(f"{name} {probability(getattr(point, name))}" for name in OBSERVABLES)
            kind = "point start" if value == self.present else "point"
            line = _add(root, "line", class_=kind, x1=self._x(value), x2=self._x(value), y1=low, y2=high)
            line.attrib |= {"data-value": str(value), "data-words": f"{self.along} = {count(value)}: {read}"}
        return tostring(root, encoding="unicode")

    def _x(self, value: float) -> float:
        share = math.log(value / self.low) / (math.log(self.high / self.low) or 1)
        return round(LEFT + share * (self.width - LEFT - RIGHT), 1)

    def _y(self, probability: float) -> float:
        return round(HEIGHT - BOTTOM - probability * (HEIGHT - BOTTOM - TOP), 1)

    def _ticks(self) -> list[int]:
        """Powers of ten along the size, not more than there is room for."""
        powers = [power for power in (10**k for k in range(16)) if self.low <= power <= self.high]
        room = (self.width - LEFT - RIGHT) // TICK_WIDTH
        return powers[::math.ceil(len(powers) / room)]


def _add(root: Element, tag: str, text: str = "", class_: str = "", **attributes: object) -> Element:
    """An element at the end of `root`."""
    child = SubElement(root, tag, {name: str(value) for name, value in attributes.items()})
    child.text = text
    if class_:
        child.set("class", class_)
    return child
