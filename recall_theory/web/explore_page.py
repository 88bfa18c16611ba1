"""The page of `recall-theory explore`, and what it shows at a setting: records, in the order of their computation."""

from __future__ import annotations

import functools
import math
import shlex
from collections.abc import Iterator, Mapping

from ..activations import NAMED
from ..numerics.formatting import BEYOND, count, number, parse_integer, parse_real, probability
from ..settings import EMBEDDINGS, OBSERVABLE_MEANINGS, OBSERVABLES, PARAMETERS, SIZES, Setting, SettingError
from .document import asset, fragment, render, text
from .explore_curve import Curve, predicted

Record = dict[str, object]

FIRST_POINTS = 5  # with which a curve takes the place of the one before
RESULTS = "explore_results.html.jinja"
RATES = ("eta", "gamma")
CONTROLS = (*SIZES, "activation", "embedding", *RATES)  # beside which the page says what is wrong with them
ENDS = {"V": 20, "L": 14, "d": 14, "N": 32, "m": 18}  # of the sliders, as powers of two; texts may go beyond
START = {"V": "1024", "L": "64", "d": "256", "N": "65536", "m": "1024", "activation": "relu", "embedding": "gaussian",
         "trigger_in_value": "yes", "hold": "", "along": "N", "eta": "", "gamma": ""}
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
                  form={**START, **form}, given=form, token=token, formulas=_formulas(), sizes=sizes,
                  activations=list(NAMED), embeddings=EMBEDDINGS)


@functools.cache
def _formulas() -> str:
    """The formulas of all models; the page shows those of the model at hand."""
    from .formula_groups import GROUPS

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
            setting = setting.replace(N=max(1, round(min(ratio * setting.V, BEYOND))))
    except SettingError as error:
        return None, {error.name: str(error)}
    return setting, {}


def _beside_controls(problems: Mapping[str, str]) -> dict[str, str]:
    """What is wrong beside each control, "" where nothing is."""
    return {f"{name}-problem": text(problems.get(name, "")) for name in CONTROLS}


def _described(setting: Setting) -> Record:
    """The setting as numbers, as a command and as Python."""
    from .formula_groups import model_of

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
