"""The page of `recall-theory explore`: its curve point by point, and its records in the order of their computation."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterator, Mapping
from html import escape
from typing import TYPE_CHECKING

from ..activations import NAMED
from ..numerics.formatting import BEYOND_EVERY_RANGE, count, number, parse_integer, parse_real, probability
from ..settings import EMBEDDINGS, OBSERVABLE_MEANINGS, OBSERVABLES, PARAMETERS, SIZES, Setting, SettingError
from .document import GROUPS, asset, fragment, model_of, render

if TYPE_CHECKING:
    from ..theory.predict import Prediction

CURVE_SPAN = 64  # the curve reaches this factor to either side of the setting
INTERVALS = 24
STEEP_CHANGE = 0.05  # change between neighbouring points above which one is added between them
MOST_POINTS = 48
FIRST_POINTS = 5  # with which a curve takes the place of the one before
HEIGHT = 300  # pixels, as are those around the area of the curve
LEFT, RIGHT, TOP, BOTTOM = 40, 84, 12, 40
TICK_WIDTH = 85  # pixels

RESULTS = "explore_results.html.jinja"
RATES = ("eta", "gamma")
CONTROLS = (*SIZES, "activation", "embedding", *RATES)  # beside which the page says what is wrong with them
ENDS = {"V": 20, "L": 14, "d": 14, "N": 32, "m": 18}  # of the sliders, as powers of two; texts may go beyond
START_FORM = {"V": "1024", "L": "64", "d": "256", "N": "65536", "m": "1024", "activation": "relu",
              "embedding": "gaussian", "trigger_in_value": "yes", "hold": "", "along": "N", "eta": "", "gamma": ""}

Record = dict[str, object]


def page(form: Mapping[str, str], token: str) -> str:
    """The page, whose form holds the given texts (by default a setting to start from) and which asks with `token`.

    >>> "<title>How much can a transformer remember?</title>" in page({}, "secret")
    True
    """
    sizes = {name: {"low": int(4 * math.log2(PARAMETERS[name].low)), "high": 4 * ENDS[name],
                    "meaning": PARAMETERS[name].meaning.partition(";")[0]} for name in SIZES}
    return render("explore.html.jinja", style=asset("explore.css"), script=asset("explore.js"), connect="'self'",
                  form={**START_FORM, **form}, given=form, token=token, sizes=sizes, activations=list(NAMED),
                  embeddings=EMBEDDINGS, formulas=fragment("parts.html.jinja", "formula_groups", GROUPS))


@functools.lru_cache(maxsize=4096)
def predicted(setting: Setting) -> Prediction:
    """`predict`, which remembers the latest settings: curves and controls come back to them."""
    from ..theory.predict import predict

    return predict(setting)


def answers(form: Mapping[str, str]) -> Iterator[Record]:
    """The answers to what the page's form holds, one record at a time; each is computed when it is asked for.

    `form` has the texts of the controls by name: V, L, d and N as on the command line; where they are set m,
    activation, eta and gamma, embedding, trigger_in_value ("no"), hold (N/V, which then decides on N) and along (the
    size of the curve); moved, the control that was changed; width of the curve in pixels.

    Yields records of kind "setting", "prediction", "bounds" and, as its points come, "curve"; "html" maps ids on the
    page to what they hold then. Where the setting is outside the domain of the theory, one of kind "problems" is the
    last.
    """
    from ..theory.bounds import bounds_at
    from ..theory.capacity import limiting_term

    setting, problems = _setting(form)
    if setting is not None:
        yield _described(setting)
        try:
            prediction = predicted(setting)
        except SettingError as error:
            problems = {error.name: str(error)}
    if setting is None or problems:
        yield {"kind": "problems", "problems": problems,
               "html": {**_beside_controls(problems), "status": f"No result: see {', '.join(problems)}."}}
        return
    cause = limiting_term(prediction)
    yield {"kind": "prediction", **prediction.to_dict(), "words": f"{_words(prediction)}; limited by {cause}",
           "html": {"observables": fragment(RESULTS, "observables", prediction, OBSERVABLE_MEANINGS),
                    "limits": fragment(RESULTS, "limits", prediction, cause)}}

    s = setting
    found = bounds_at(V=s.V, L=s.L, d=s.d, N=s.N, m=s.m, activation=s.activation)
    rows = [(bound, found.least_samples(bound)) for bound in found.bounds]
    yield {"kind": "bounds", **found.to_dict(), "html": {"bound-rows": fragment(RESULTS, "bounds", rows)}}

    along = form.get("along", "N")
    if along not in SIZES or getattr(setting, along) is None:
        along = "N"
    width = min(max(parse_integer(form.get("width", "")) or 800, 240), 4000)
    curve = Curve(setting, along, setting.ratio if along == "V" and "hold" in form else None, width)
    for value in curve.compute():
        point = curve.points.get(value)
        yield {"kind": "curve", "along": along, "value": value, "provisional": True,
               "predicted": point and {name: getattr(point, name) for name in OBSERVABLES},
               "checked": point and point.checked,
               "html": curve.html(provisional=True) if len(curve.points) >= FIRST_POINTS else {}}
    yield {"kind": "curve", "along": along, "provisional": False, "html": curve.html(provisional=False)}


def _setting(form: Mapping[str, str]) -> tuple[Setting | None, dict[str, str]]:
    """The setting that the texts stand for, and what is wrong with which of them."""
    from ..sweep.sweep_grid import read_value

    values: dict[str, object] = {}
    problems = {}
    for name in (*SIZES, *RATES):
        entered = form.get(name, "").strip()
        if (name == "m" and name not in form) or (name in RATES and not entered):
            continue
        try:
            values[name] = read_value(PARAMETERS[name], entered)
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
    return {f"{name}-problem": escape(problems.get(name, "")) for name in CONTROLS}


def _described(setting: Setting) -> Record:
    """The setting as numbers, as a command and as Python."""
    from ..sweep.sweep_grid import options
    from ..sweep.sweep_results import beside_defaults

    given = beside_defaults(setting.to_dict())
    arguments = ", ".join(f"{name}={value!r}" for name, value in given.items())
    python = f"from recall_theory import Setting, predict\nprint(predict(Setting({arguments})))"
    return {"kind": "setting", "setting": setting.to_dict(), "ratio": setting.ratio, "model": model_of(setting),
            "html": {**_beside_controls({}), "ratio": number(setting.ratio), "python": escape(python),
                     "command": escape(f"recall-theory predict {options(given)}")}}


def _words(p: Prediction) -> str:
    return ", ".join(f"{name} {probability(getattr(p, name))}" for name in OBSERVABLES)


class Curve:
    """Observables along a size around a setting, drawn `width` pixels wide.

    `ratio` is N/V where N follows V, else None. `points` maps values of the size to predictions.
    """

    def __init__(self, setting: Setting, along: str, ratio: float | None, width: int):
        self.setting, self.along, self.ratio, self.width = setting, along, ratio, width
        self.points: dict[int, Prediction] = {}
        self.omitted = ""  # why a value has no point
        self.present: int = getattr(setting, along)
        parameter = PARAMETERS[along]
        low, high = max(parameter.low, self.present / CURVE_SPAN), min(parameter.high, self.present * CURVE_SPAN)
        spaced = {round(low * (high / low) ** (i / INTERVALS)) for i in range(INTERVALS + 1)}
        self.values = sorted(spaced | {self.present})

    def compute(self) -> Iterator[int]:
        """Add the points one by one: evenly spaced in the logarithm first, so that every beginning spans the whole
        range, then closer where the curve is steep.

        Yields the value of each once it is there, or `omitted` says why it is not.
        """
        order = [self.present, self.values[0], self.values[-1]]
        for power in range(len(self.values).bit_length(), -1, -1):
            order += self.values[::2**power]
        for value in dict.fromkeys(order):
            yield self._add(value)
        tried = set(order)
        while len(tried) < MOST_POINTS:
            gaps = [(max(abs(getattr(b, o) - getattr(a, o)) for o in OBSERVABLES), round(math.sqrt(left * right)))
                    for (left, a), (right, b) in itertools.pairwise(sorted(self.points.items()))]
            change, middle = max((gap for gap in gaps if gap[1] not in tried), default=(0.0, 0))
            if change <= STEEP_CHANGE:
                return
            tried.add(middle)
            yield self._add(middle)

    def _add(self, value: int) -> int:
        sizes = {self.along: value}
        if self.ratio is not None:
            sizes["N"] = max(1, round(self.ratio * value))
        try:
            self.points[value] = predicted(self.setting.replace(**sizes))
        except SettingError as error:
            self.omitted = str(error)
        return value

    def html(self, provisional: bool) -> dict[str, str]:
        """The drawing, the table and the note, by their ids on the page."""
        points = sorted(self.points.items())
        rows = [(count(value) + ("" if p.checked else "*"), *(probability(getattr(p, name)) for name in OBSERVABLES))
                for value, p in points]
        table = fragment("parts.html.jinja", "table", "Predicted along one size", (self.along, *OBSERVABLES), rows)
        unchecked = [(value, p) for value, p in points if not p.checked]
        notes = [f"provisional: {len(points)} points so far" if provisional else "",
                 "" if self.ratio is None else f"at N/V = {number(self.ratio)}",
                 f"left out: {self.omitted}" if self.omitted else ""]
        if unchecked:
            (first, p), (last, _) = unchecked[0], unchecked[-1]
            notes.append(f"{len(unchecked)} of {len(points)} points, from {count(first)} to {count(last)} (* below): "
                         f"{p.remarks[0]}")
        return {"plot": self.svg(), "curve-table": table, "along-note": escape("; ".join(filter(None, notes)))}

    def svg(self) -> str:
        """The curve as an SVG element; each point is a line that carries its value and what is read there."""
        points = sorted(self.points.items())
        right = self.width - RIGHT
        span = math.log(self.values[-1] / self.values[0]) or 1

        def x(value: float) -> float:
            return round(LEFT + math.log(value / self.values[0]) / span * (right - LEFT), 1)

        def y(probability: float) -> float:
            return round(HEIGHT - BOTTOM - probability * (HEIGHT - BOTTOM - TOP), 1)

        def upright(value: int, more: str) -> str:
            return f'<line x1="{x(value)}" x2="{x(value)}" y1="{y(0)}" y2="{y(1)}" {more}/>'

        (start, first), (end, last) = points[0], points[-1]
        label = f"Along {self.along}, from {start} to {end}: first {_words(first)}, last {_words(last)}"
        parts = [f'<svg viewBox="0 0 {self.width} {HEIGHT}" role="img" aria-label="{escape(label)}">']
        for share in (0, 0.25, 0.5, 0.75, 1):
            parts += [f'<line x1="{LEFT}" x2="{right}" y1="{y(share)}" y2="{y(share)}"/>',
                      f'<text x="4" y="{y(share) + 4}">{share}</text>']
        powers = [10**k for k in range(16) if self.values[0] <= 10**k <= self.values[-1]]
        for tick in powers[::math.ceil(len(powers) / ((right - LEFT) // TICK_WIDTH))]:
            parts.append(f'<text class="middle" x="{x(tick)}" y="{y(0) + 20}">{count(tick)}</text>')
        parts += [upright(self.present, 'class="present"'),
                  f'<text class="middle" x="{x(self.present)}" y="{HEIGHT - 4}">{self.along}</text>']
        height = 0.0  # of the names at the right end, apart from one another
        for name in sorted(OBSERVABLES, key=lambda name: -getattr(last, name)):
            height = max(height + 15, y(getattr(last, name)) + 4)
            corners = " ".join(f"{x(value)},{y(getattr(p, name))}" for value, p in points)
            parts += [f'<polyline class="{name}" points="{corners}"/>',
                      f'<text class="{name}" x="{right + 8}" y="{height}">{name}</text>']
        for value, p in points:
            kind = "point start" if value == self.present else "point"
            words = escape(f"{self.along} = {count(value)}: {_words(p)}")
            parts.append(upright(value, f'class="{kind}" data-value="{value}" data-words="{words}"'))
        return "".join([*parts, "</svg>"])
