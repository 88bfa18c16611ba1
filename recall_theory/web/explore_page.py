"""The page of `recall-theory explore`: its curve point by point, and its records in the order of their computation."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
import shlex
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element, SubElement, tostring

from ..activations import NAMED
from ..numerics.formatting import BEYOND_EVERY_RANGE, count, number, parse_integer, parse_real, probability
from ..settings import EMBEDDINGS, OBSERVABLE_MEANINGS, OBSERVABLES, PARAMETERS, SIZES, Setting, SettingError
from .document import GROUPS, asset, fragment, model_of, render, text

if TYPE_CHECKING:
    from ..theory.predict import Prediction


CURVE_SPAN = 64  # the curve reaches this factor to either side of the setting
INTERVALS = 24
STEEP_CHANGE = 0.05  # change between neighbouring points above which one is added between them
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
        low, high = max(parameter.low, self.present / CURVE_SPAN), min(parameter.high, self.present * CURVE_SPAN)
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
        """The middle of the interval along which an observable changes most, where that is more than STEEP_CHANGE."""
        best, middle = STEEP_CHANGE, None
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


Record = dict[str, object]

FIRST_POINTS = 5  # with which a curve takes the place of the one before
RESULTS = "explore_results.html.jinja"
RATES = ("eta", "gamma")
CONTROLS = (*SIZES, "activation", "embedding", *RATES)  # beside which the page says what is wrong with them
ENDS = {"V": 20, "L": 14, "d": 14, "N": 32, "m": 18}  # of the sliders, as powers of two; texts may go beyond
START_FORM = {"V": "1024", "L": "64", "d": "256", "N": "65536", "m": "1024", "activation": "relu",
              "embedding": "gaussian", "trigger_in_value": "yes", "hold": "", "along": "N", "eta": "", "gamma": ""}
PLAIN_BOUNDS = {
    "coverage": "A fact that never occurred among the samples can only be guessed.",
    "bits: all right": "An assignment of V labels takes log2 V! bits, and the parameters hold no more than theirs.",
    "bits: few wrong": "The same where one fact in a hundred may be wrong.",
    "bits: on average": "The recall that so many bits allow on average.",
    "gradient access": "The first gradient, in noise of its own size, carries a limited number of bits.",
}


def page(form: Mapping[str, str], token: str) -> str:
    """The page, whose form holds the given texts (by default a setting to start from) and which asks with `token`.

    >>> "<title>How much can a transformer remember?</title>" in page({}, "secret")
    True
    """
    sizes = {name: {"low": int(4 * math.log2(PARAMETERS[name].low)), "high": 4 * ENDS[name],
                    "meaning": PARAMETERS[name].meaning.partition(";")[0]} for name in SIZES}
    return render("explore.html.jinja", style=asset("explore.css"), script=asset("explore.js"), connect="'self'",
                  form={**START_FORM, **form}, given=form, token=token, formulas=_formulas(), sizes=sizes,
                  activations=list(NAMED), embeddings=EMBEDDINGS)


@functools.cache
def _formulas() -> str:
    """The formulas of all models; the page shows those of the model at hand."""
    return fragment("parts.html.jinja", "formula_groups", GROUPS.values())


def answers(form: Mapping[str, str]) -> Iterator[Record]:
    """The answers to what the page's form holds, one record at a time; each is computed when it is asked for.

    Parameters
    ----------
    form : the texts of the controls by name: V, L, d and N as on the command line; where they are set m, activation,
        eta and gamma, embedding, trigger_in_value ("no"), hold (N/V, which then decides on N) and along (the size of
        the curve); moved, the control that was changed; width of the curve in pixels

    Yields
    ------
    Records of kind "setting", "prediction", "bounds" and, as its points come, "curve"; "html" maps ids on the page
    to what they hold then. Where the setting is outside the domain of the theory, one of kind "problems" is the last.
    """
    setting, problems = _setting(form)
    if setting is not None:
        yield _described(setting)
        try:
            yield _prediction(setting)
        except SettingError as error:
            problems = {error.name: str(error)}
    if setting is None or problems:
        yield {"kind": "problems", "problems": problems,
               "html": {**_beside_controls(problems), "status": f"No result: see {', '.join(problems)}."}}
        return
    yield _bounds(setting)
    yield from _curve(setting, form)


def _setting(form: Mapping[str, str]) -> tuple[Setting | None, dict[str, str]]:
    """The setting that the texts stand for, and what is wrong with which of them."""
    values: dict[str, object] = {}
    problems = {}
    for name in (*SIZES, *RATES):
        entered = form.get(name, "").strip()
        if (name == "m" and name not in form) or (name in RATES and not entered):
            continue
        read = parse_integer(entered) if name in SIZES else parse_real(entered)
        try:
            values[name] = PARAMETERS[name].check(entered if read is None else read)
        except SettingError as error:
            problems[name] = str(error).removesuffix(", or none")
    if problems:
        return None, problems
    if "m" in values:
        values["activation"] = form.get("activation", "").strip() or None
    try:
        setting = Setting(**values, embedding=form.get("embedding", "gaussian"),  # type: ignore[arg-type]
                          trigger_in_value=form.get("trigger_in_value") != "no")
        ratio = parse_real(form.get("hold", ""))
        if ratio and ratio > 0 and form.get("moved") != "N":
            setting = setting.replace(N=max(1, round(min(ratio * setting.V, BEYOND_EVERY_RANGE))))
    except SettingError as error:
        return None, {error.name: str(error)}
    return setting, {}


def _beside_controls(problems: Mapping[str, str]) -> dict[str, str]:
    """What is wrong beside each control, "" where nothing is."""
    return {f"{name}-problem": text(problems.get(name, "")) for name in CONTROLS}


def _described(setting: Setting) -> Record:
    """The setting as numbers, as a command and as Python."""
    given = {name: value for name, value in setting.to_dict().items() if value != PARAMETERS[name].default}
    arguments = ", ".join(f"{name}={value!r}" for name, value in given.items())
    options = [f"--{name} {shlex.quote(str(value))}" for name, value in given.items() if name != "trigger_in_value"]
    if not setting.trigger_in_value:
        options.append("--no-trigger-in-value")
    python = f"from recall_theory import Setting, predict\nprint(predict(Setting({arguments})))"
    return {"kind": "setting", "setting": setting.to_dict(), "ratio": setting.ratio, "model": model_of(setting),
            "html": {**_beside_controls({}), "ratio": number(setting.ratio), "python": text(python),
                     "command": text(f"recall-theory predict {' '.join(options)}")}}


def _prediction(setting: Setting) -> Record:
    """What `predict` says, as its `to_dict`, and how it is shown and said."""
    from ..theory.capacity import limiting_term

    prediction = predicted(setting)
    cause = limiting_term(prediction)
    values = ", ".join(f"{name} {probability(getattr(prediction, name))}" for name in OBSERVABLES)
    return {"kind": "prediction", **prediction.to_dict(), "words": f"{values}; limited by {cause}",
            "html": {"observables": fragment(RESULTS, "observables", prediction, OBSERVABLE_MEANINGS),
                     "limits": fragment(RESULTS, "limits", prediction, cause)}}


def _bounds(s: Setting) -> Record:
    from ..theory.bounds import bounds_at

    found = bounds_at(V=s.V, L=s.L, d=s.d, N=s.N, m=s.m, activation=s.activation)
    rows = [(bound, PLAIN_BOUNDS.get(bound.name, ""), found.least_samples(bound)) for bound in found.bounds]
    return {"kind": "bounds", **found.to_dict(), "html": {"bound-rows": fragment(RESULTS, "bounds", rows)}}


def _curve(setting: Setting, form: Mapping[str, str]) -> Iterator[Record]:
    """The curve point by point, and how it is drawn once it has a few of them."""
    along = form.get("along", "N")
    if along not in SIZES or getattr(setting, along) is None:
        along = "N"
    ratio = setting.ratio if along == "V" and "hold" in form else None
    width = parse_integer(form.get("width", "")) or 800
    curve = Curve(setting, along, ratio, width=min(max(width, 240), 4000))
    for value in curve.compute():
        point = curve.points.get(value)
        yield {"kind": "curve", "along": along, "value": value, "provisional": True,
               "predicted": point and {name: getattr(point, name) for name in OBSERVABLES},
               "checked": point and point.checked,
               "html": _drawn(curve, provisional=True) if len(curve.points) >= FIRST_POINTS else {}}
    yield {"kind": "curve", "along": along, "provisional": False, "html": _drawn(curve, provisional=False)}


def _drawn(curve: Curve, provisional: bool) -> dict[str, str]:
    rows = [(count(value) + ("" if p.checked else "*"), *(probability(getattr(p, name)) for name in OBSERVABLES))
            for value, p in sorted(curve.points.items())]
    table = fragment("parts.html.jinja", "table", "Predicted along one size", (curve.along, *OBSERVABLES), rows)
    return {"plot": curve.svg(), "curve-table": table, "along-note": text(curve.note(provisional))}
