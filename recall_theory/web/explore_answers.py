"""What the page of `recall-theory explore` shows at a setting: records, in the order in which they are computed."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from ..numerics.formatting import BEYOND, count, number, parse_integer, parse_real, probability
from ..settings import OBSERVABLES, PARAMETERS, Setting, SettingError
from .document import fragment
from .explore_curve import SIZES, Curve, predicted

if TYPE_CHECKING:
    from ..theory.bounds import Bound
    from ..theory.predict import Prediction

__all__ = ["answers"]

Record = dict[str, object]

FIRST_POINTS = 5  # with which a curve takes the place of the one before
RESULTS = "explore_results.html.jinja"
MEANINGS = {
    "attention": "the informative token is attended",
    "recall": "a fact is answered right, once attended",
    "accuracy": "a fresh sequence is answered right",
}
PLAIN = {
    "coverage": "A fact that never occurred among the samples can only be guessed.",
    "bits: all right": "An assignment of V labels takes log2 V! bits, and the parameters hold no more than theirs.",
    "bits: few wrong": "The same where one fact in a hundred may be wrong.",
    "bits: on average": "The recall that so many bits allow on average.",
    "gradient access": "The first gradient, in noise of its own size, carries a limited number of bits.",
}


def answers(form: Mapping[str, str]) -> Iterator[Record]:
    """The answers to what the page's form holds, one record at a time; each is computed when it is asked for.

    Parameters
    ----------
    form : the texts of the controls by name: V, L, d and N as on the command line; where they are set m, activation,
        embedding, trigger_in_value ("no"), hold (N/V, which then decides on N) and along (the size of the curve);
        moved, the control that was changed; width of the curve in pixels

    Yields
    ------
    Records of kind "setting", "prediction", "bounds" and, as its points come, "curve". Where the setting is outside
    the domain of the theory, one of kind "problems" is the last.
    """
    try:
        setting = _setting(form)
        if isinstance(setting, Setting):
            yield _described(setting)
            yield _prediction(predicted(setting))
    except SettingError as error:
        setting = {error.name: str(error)}
    if not isinstance(setting, Setting):
        yield {"kind": "problems", "problems": setting}
        return
    yield _bounds(setting)
    yield from _curve(setting, form)


def _setting(form: Mapping[str, str]) -> Setting | dict[str, str]:
    """The setting that the texts stand for, or what is wrong with which of them."""
    values: dict[str, object] = {}
    problems = {}
    for name in SIZES:
        text = form.get(name, "")
        size = parse_integer(text)
        if name == "m" and name not in form:
            values[name] = None
            continue
        try:
            values[name] = PARAMETERS[name].check(text if size is None else size)
        except SettingError:
            shown = text if len(text) <= 40 else f"{text[:40]}..."
            problems[name] = f"“{shown}” is not {PARAMETERS[name].domain.removesuffix(', or none')}"
    if problems:
        return problems
    if values["m"] is not None:
        values["activation"] = form.get("activation", "").strip() or None
    setting = Setting(**values, embedding=form.get("embedding", "gaussian"),  # type: ignore[arg-type]
                      trigger_in_value=form.get("trigger_in_value") != "no")
    ratio = parse_real(form.get("hold", ""))
    if ratio and ratio > 0 and form.get("moved") != "N":
        setting = setting.replace(N=max(1, round(min(ratio * setting.V, BEYOND))))
    return setting


def _described(setting: Setting) -> Record:
    """The setting as numbers, as a command and as Python."""
    from .formula_groups import model_of

    sizes = {name: getattr(setting, name) for name in SIZES if getattr(setting, name) is not None}
    words = [f"--{name} {value}" for name, value in sizes.items()]
    arguments = [f"{name}={value}" for name, value in sizes.items()]
    if setting.activation is not None:
        words.append(f"--activation {shlex.quote(setting.activation)}")
        arguments.append(f'activation="{setting.activation}"')
    if setting.embedding != "gaussian":
        words.append(f"--embedding {setting.embedding}")
        arguments.append(f'embedding="{setting.embedding}"')
    if not setting.trigger_in_value:
        words.append("--no-trigger-in-value")
        arguments.append("trigger_in_value=False")
    texts = {"command": f"recall-theory predict {' '.join(words)}", "ratio": number(setting.ratio),
             "python": f"from recall_theory import Setting, predict\nprint(predict(Setting({', '.join(arguments)})))"}
    return {"kind": "setting", "setting": setting.to_dict(), "ratio": setting.ratio, "model": model_of(setting),
            "texts": texts}


def _prediction(prediction: Prediction) -> Record:
    """What `predict` says, as its `to_dict`, and how it is shown and said."""
    from ..theory.capacity import limiting_term

    cause = limiting_term(prediction)
    values = ", ".join(f"{name} {probability(getattr(prediction, name))}" for name in OBSERVABLES)
    return {"kind": "prediction", **prediction.to_dict(), "limited_by": cause,
            "words": f"{values}; limited by {cause}",
            "html": {"observables": fragment(RESULTS, "observables", prediction, MEANINGS),
                     "limits": fragment(RESULTS, "limits", prediction, cause)}}


def _bounds(setting: Setting) -> Record:
    from ..theory.bounds import bounds_at

    s = setting
    found = bounds_at(s.L, s.d, V=s.V, N=s.N, m=s.m, activation=s.activation)
    said = [(bound, PLAIN.get(bound.name, ""), _least_samples(bound, s.L)) for bound in found.bounds]
    return {"kind": "bounds", **found.to_dict(), "html": {"bound-rows": fragment(RESULTS, "bounds", said)}}


def _least_samples(bound: Bound, L: int) -> str:
    """The least N of a bound; one that no N changes either allows the target or does not."""
    if bound.least_N is not None:
        return count(bound.least_N)
    if bound.name == "gradient access":
        return "-" if L == 1 else "over 10^15"
    return "no N" if bound.allows is False else "any"


def _curve(setting: Setting, form: Mapping[str, str]) -> Iterator[Record]:
    """The curve point by point, and how it is drawn once it has a few of them."""
    along = form.get("along", "N")
    if along not in SIZES or getattr(setting, along) is None:
        along = "N"
    ratio = setting.ratio if along == "V" and "hold" in form else None
    width = parse_integer(form.get("width", "")) or 800
    curve = Curve(setting, along, ratio, width=min(max(width, 240), 4000))
    for value in curve.compute():
        enough = len(curve.points) >= FIRST_POINTS
        yield {"kind": "curve", "along": along, "value": value, "predicted": _values(curve.points.get(value)),
               "provisional": True, "note": curve.note(True), "html": _drawn(curve) if enough else {}}
    yield {"kind": "curve", "along": along, "provisional": False, "note": curve.note(False), "html": _drawn(curve)}


def _values(prediction: Prediction | None) -> dict[str, float] | None:
    return None if prediction is None else {name: getattr(prediction, name) for name in OBSERVABLES}


def _drawn(curve: Curve) -> dict[str, str]:
    return {"plot": curve.svg(), "curve-table": fragment(RESULTS, "curve_table", curve, OBSERVABLES)}
