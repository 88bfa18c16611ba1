"""What the page of `recall-theory explore` shows at a setting: records, in the order in which they are computed."""

from __future__ import annotations

import functools
import itertools
import math
import shlex
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from ..cli.numbers import integer
from ..report.numbers import count, deviation, number, percent, probability
from ..settings import PARAMETERS, Setting, SettingError

if TYPE_CHECKING:
    from ..theory.bounds import Bound
    from ..theory.predict import Prediction

__all__ = ["OBSERVABLES", "SIZES", "answers"]

Record = dict[str, object]
Number = tuple[float | None, str]  # a value and how it is shown

SIZES = ("V", "L", "d", "N", "m")
OBSERVABLES = ("attention", "recall", "accuracy")

SPAN = 64  # the curve reaches this factor to either side of the setting
INTERVALS = 24
STEEP = 0.05  # change between neighbouring points above which one is added between them
MOST_POINTS = 48

PLAIN = {
    "coverage": "A fact that never occurred among the samples can only be guessed.",
    "bits: all right": "An assignment of V labels takes log2 V! bits, and the parameters hold no more than theirs.",
    "bits: few wrong": "The same where one fact in a hundred may be wrong.",
    "bits: on average": "The recall that so many bits allow on average.",
    "gradient access": "The first gradient, in noise of its own size, carries a limited number of bits.",
}


def answers(form: Mapping[str, str]) -> Iterator[Record]:
    """The answers to what the page's controls hold, one record at a time; each is computed when it is asked for.

    Parameters
    ----------
    form : the texts of the controls by name: V, L, d, N as on the command line, and where they are set m,
        activation, embedding, trigger_in_value ("no"), hold ("yes"), along (the size of the curve) and ratio
        (N/V, which then replaces N)

    Yields
    ------
    Records of kind "setting", "prediction", "bounds", "curve", then "point" or "omitted" for each point of the
    curve, and "end". Where the setting is outside the theory's domain, one of kind "problems" ends them.
    """
    setting, problems = _setting(form)
    if setting is None:
        yield {"kind": "problems", "problems": problems}
        return
    yield _described(setting)
    try:
        prediction = _predict(setting)
    except SettingError as error:
        yield {"kind": "problems", "problems": {error.name: str(error)}}
        return
    yield _predicted(prediction)
    yield {"kind": "bounds", "bounds": [_bound(b, setting) for b in _bounds(setting)]}
    yield from _curve(setting, form.get("along", "N"), held=form.get("hold") == "yes")
    yield {"kind": "end"}


def _setting(form: Mapping[str, str]) -> tuple[Setting | None, dict[str, str]]:
    """The setting that the texts stand for, or what is wrong with which of them."""
    values: dict[str, object] = {"embedding": form.get("embedding", "gaussian"),
                                 "trigger_in_value": form.get("trigger_in_value") != "no"}
    if "m" in form:
        values["activation"] = form.get("activation", "").strip() or None
    problems = {}
    for name in SIZES:
        if name in form or name != "m":
            text = form.get(name, "")
            size = integer(text)
            try:
                values[name] = PARAMETERS[name].check(text if size is None else size)
            except SettingError:
                shown = text if len(text) <= 40 else f"{text[:40]}..."
                problems[name] = f"“{shown}” is not {PARAMETERS[name].domain.removesuffix(', or none')}"
    if problems:
        return None, problems
    try:
        setting = Setting(**values)  # type: ignore[arg-type]
        if "ratio" in form:
            setting = setting.replace(N=max(1, round(float(form["ratio"]) * setting.V)))
    except SettingError as error:
        return None, {error.name: str(error)}
    except (ValueError, OverflowError):
        return None, {"N": f"N/V = {form['ratio'][:40]} is not a number"}
    return setting, {}


@functools.lru_cache(maxsize=4096)
def _predict(setting: Setting) -> Prediction:
    from ..theory.predict import predict

    return predict(setting)


def _bounds(setting: Setting) -> tuple[Bound, ...]:
    from ..theory.bounds import bounds_at

    s = setting
    return bounds_at(s.L, s.d, V=s.V, N=s.N, m=s.m, activation=s.activation).bounds


def _described(setting: Setting) -> Record:
    """The setting as numbers, as a command and as Python."""
    from .formula_groups import model_of

    words = ["recall-theory predict", *(f"--{name} {getattr(setting, name)}" for name in SIZES[:4])]
    arguments = [f"{name}={getattr(setting, name)}" for name in SIZES[:4]]
    if setting.m is not None:
        words.append(f"--m {setting.m} --activation {shlex.quote(str(setting.activation))}")
        arguments.append(f'm={setting.m}, activation="{setting.activation}"')
    if setting.embedding != "gaussian":
        words.append(f"--embedding {setting.embedding}")
        arguments.append(f'embedding="{setting.embedding}"')
    if not setting.trigger_in_value:
        words.append("--no-trigger-in-value")
        arguments.append("trigger_in_value=False")
    python = f"from recall_theory import Setting, predict\nprint(predict(Setting({', '.join(arguments)})))"
    return {"kind": "setting", "setting": setting.to_dict(), "ratio": (setting.ratio, number(setting.ratio)),
            "model": model_of(setting), "command": " ".join(words), "python": python}


def _predicted(prediction: Prediction) -> Record:
    """What `predict` says, as its `to_dict`, and how each number is shown."""
    from ..theory.capacity import limiting_term

    recalled = count(prediction.setting.V * prediction.recall)
    return {
        "kind": "prediction", **prediction.to_dict(), "limited_by": limiting_term(prediction),
        "summary": f"Of {count(prediction.setting.V)} facts, about {recalled} are recalled once the right token is "
                   "attended.",
        "means": _observables(prediction),
        "deviations": {name: _number(prediction.std[name], deviation) for name in OBSERVABLES},
        "budgets": {step: _budget(terms) for step, terms in prediction.terms.items()},
    }


def _observables(prediction: Prediction) -> dict[str, Number]:
    return {name: _number(getattr(prediction, name), probability) for name in OBSERVABLES}


def _budget(terms: Mapping[str, float]) -> Record:
    """The terms of (noise/signal)^2, largest first, with their shares of the total."""
    total = sum(terms.values())
    rows = []
    for cause, value in sorted(terms.items(), key=lambda item: -item[1]):
        share = value / total if total > 0 else math.nan
        rows.append({"cause": cause, "value": _number(value, number), "share": _number(share, percent)})
    return {"rows": rows, "total": _number(total, number)}


def _bound(bound: Bound, setting: Setting) -> Record:
    """A bound in words and numbers."""
    if bound.least_N is not None:
        least = count(bound.least_N)
    elif bound.name == "gradient access":
        least = "-" if setting.L == 1 else "over 10^15"
    else:
        least = "no N" if bound.allows is False else "any"
    largest = "any" if bound.largest_V is None else count(bound.largest_V)
    return {
        "name": bound.name, "strength": bound.strength, "plain": PLAIN.get(bound.name, ""),
        "statement": bound.statement.replace("<=", "≤").replace(">=", "≥"),
        "assumes": f"Binds {bound.binds}; broken by {bound.broken_by}.", "allows": bound.allows,
        "recall": _number(bound.recall, probability),
        "least_N": (bound.least_N, least), "largest_V": (bound.largest_V, largest),
    }


def _curve(setting: Setting, along: str, held: bool) -> Iterator[Record]:
    """The observables along one size, ends and middle first, then closer where they are steep."""
    if along not in SIZES or getattr(setting, along) is None:
        along = "N"
    present = getattr(setting, along)
    ratio = setting.ratio if held and along == "V" else None
    low = max(PARAMETERS[along].low, present / SPAN)
    high = min(PARAMETERS[along].high, present * SPAN)
    spaced = {round(low * (high / low) ** (i / INTERVALS)) for i in range(INTERVALS + 1)}
    values = sorted(spaced | {present})
    yield {"kind": "curve", "along": along, "present": present, "low": values[0], "high": values[-1],
           "points": len(values), "note": "" if ratio is None else f"at N/V = {number(ratio)}"}
    known: dict[int, Prediction] = {}
    tried: set[int] = set()
    queue = _coarse_first(values, present)
    while queue:
        value = queue.pop(0)
        tried.add(value)
        sizes = {along: value} if ratio is None else {"V": value, "N": max(1, round(ratio * value))}
        try:
            known[value] = _predict(setting.replace(**sizes))
        except SettingError as error:
            yield {"kind": "omitted", "value": value, "message": str(error)}
        else:
            yield {"kind": "point", "value": value, "shown": count(value), **_observables(known[value])}
        if not queue and len(tried) < MOST_POINTS:
            queue = _steepest(known, tried)


def _coarse_first(values: list[int], present: int) -> list[int]:
    """The same values in another order: every beginning of it spans the whole range."""
    order = [present, values[0], values[-1]]
    stride = 2 ** len(values).bit_length()
    while stride >= 1:
        order += values[::stride]
        stride //= 2
    return list(dict.fromkeys(order))


def _steepest(known: Mapping[int, Prediction], tried: set[int]) -> list[int]:
    """The middle of the interval along which an observable changes most, where that is more than STEEP."""
    best, middle = STEEP, None
    for left, right in itertools.pairwise(sorted(known)):
        change = max(abs(getattr(known[right], name) - getattr(known[left], name)) for name in OBSERVABLES)
        between = round(math.sqrt(left * right))
        if change > best and between not in tried:
            best, middle = change, between
    return [] if middle is None else [middle]


def _number(value: float | None, shown: Callable[[float], str]) -> Number:
    """A number and its text; what is not finite has no value in JSON."""
    if value is None or not math.isfinite(value):
        return None, "-"
    return value, shown(value)
