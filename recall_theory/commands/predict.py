"""`recall-theory predict` and `solve`: one setting, and the size at which a target is reached."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import SettingError
from ..numerics.formatting import NOTHING, count, exact, number, percent, probability, sizes
from ..settings import OBSERVABLE_MEANINGS, OBSERVABLES, PARAMETERS, SIZES, Setting
from .command import Answer, Command, Output
from .options import option, setting_options
from .text_layout import Block, Heading, Remark, Table, table

if TYPE_CHECKING:
    from ..numerics.thresholds import Interval
    from ..theory.noise_budget import Requirement
    from ..theory.predict import Prediction

OUTSIDE = "outside its regime"  # said in place of a law's value that means nothing
SOUGHT = {"V": "largest", "L": "longest", "d": "least", "N": "least", "m": "least"}


def run(output: Output, **values: Any) -> Answer:
    setting = Setting(**values)
    from ..theory.noise_budget import requirements
    from ..theory.predict import predict
    from ..theory.solve import WITHIN, rates_of_limit

    prediction = predict(setting)
    least_rates = rates_of_limit(prediction) if setting.is_limit else None
    changes, laws = _factors_of_two(setting), requirements(setting)
    data = prediction.to_dict()
    predicted = data["predicted"]
    record = {**data["setting"], **{o: predicted[o] for o in OBSERVABLES}, "std": predicted["std"],
              "terms": data["terms"], "checked": data["checked"]}
    if "attention_weight" in predicted:
        record["attention_weight"] = predicted["attention_weight"]
    data |= {"factors_of_two": changes, "laws": _laws_data(laws)}
    if setting.is_limit:
        data["limit_holds"] = {"eta_gamma": least_rates, "within": WITHIN}
    return Answer(data, [record], _blocks(prediction, changes, laws, _rates(prediction, least_rates)))


def _rates(prediction: Prediction, least_rates: float | None) -> str:
    """What the learning rates do: how soft attention is, or in the limit from which eta*gamma on that holds."""
    if not prediction.setting.is_limit:
        return (f"At eta*gamma = {number(prediction.setting.beta)} the mean attention weight of the right token is "
                f"{probability(prediction.attention_weight)}.")
    if least_rates is None:
        return ""
    if least_rates == 0:
        return "The limit of large eta*gamma holds within 0.01 at any eta*gamma."
    return f"The limit of large eta*gamma holds within 0.01 from an eta*gamma of about {number(least_rates, 2)} on."


def _laws_data(laws: Sequence[Requirement]) -> list[dict[str, object]]:
    """What the leading laws require, for --json."""
    return [{"name": law.name, "size": law.size, "asks": law.value, "has": law.has} for law in laws]


def _required(law: Requirement) -> str:
    """The size that a law requires, as people see it."""
    if not law.in_regime:
        return OUTSIDE
    return number(law.value) if law.value < 10 else count(law.value)


def _factors_of_two(setting: Setting) -> list[dict[str, Any]]:
    """Each size doubled and halved, with the observables there; these are None where it is outside the domain."""
    from ..theory.predict import predict_many

    names = [name for name in ("N", "d", "V", "L", "m") if getattr(setting, name) is not None]
    rows = [{"size": name, "value": value, **dict.fromkeys(OBSERVABLES)}
            for name in names for value in (2 * getattr(setting, name), getattr(setting, name) // 2)]
    inside: list[tuple[dict[str, Any], Setting]] = []
    for row in rows:
        with contextlib.suppress(SettingError):
            inside.append((row, setting.replace(**{row["size"]: row["value"]})))
    sizes_inside: dict[str, Any] = {size: [getattr(there, size) for _, there in inside] for size in names}
    many = predict_many(**sizes_inside, embedding=setting.embedding, trigger_in_value=setting.trigger_in_value,
                        activation=setting.activation, eta=setting.eta, gamma=setting.gamma)
    for i, (row, _) in enumerate(inside):
        row |= {o: float(getattr(many, o)[i]) for o in OBSERVABLES}
    return rows


def _blocks(prediction: Prediction, changes: Sequence[Mapping[str, Any]], laws: Sequence[Requirement],
            rates: str) -> list[Block]:
    from ..theory.capacity import limiting_term

    blocks: list[Block] = [
        Heading(f"What an attention layer remembers at {prediction.setting.describe()}"),
        _observables(prediction, OBSERVABLE_MEANINGS),
        f"What limits it most: {limiting_term(prediction)}.",
        *([rates] if rates else []),
        *(_budget(step, terms) for step in ("attention", "recall") if (terms := prediction.terms.get(step))),
        _doubling(prediction, changes),
    ]
    remark = ("Std is that of one seed observed on 4,096 fresh sequences. In a budget, (noise/signal)^2 is one cause's "
              "variance over the squared signal; the shares add up to the whole.")
    if laws:
        blocks.append(laws_table(laws, "The leading laws beside it"))
        remark += (" Each law is one cause alone, to leading order in large sizes; where it is not met by far, the "
                   "full prediction above decides.")
    return [*blocks, Remark(remark), *prediction.remarks]


def _observables(prediction: Prediction, meaning: Mapping[str, str], title: str = "") -> Table:
    """The predicted observables; the `meaning` of each is the chance that it is."""
    rows: list[dict[str, object]] = [{"observable": o, "predicted": getattr(prediction, o),
                                      "std over seeds": prediction.std[o]} for o in OBSERVABLES]
    return table([{**row, "chance that": meaning[o]} if meaning else row
                  for o, row in zip(OBSERVABLES, rows, strict=True)], title)


def _budget(step: str, terms: Mapping[str, float]) -> Table:
    total = sum(terms.values())
    rows = [{"cause": name, "(noise/signal)^2": value, "share": percent(value / total) if total > 0 else NOTHING}
            for name, value in sorted(terms.items(), key=lambda item: -item[1])]
    rows.append({"cause": "all together", "(noise/signal)^2": total, "share": ""})
    title = f"Noise budget of {step}" + ("" if step == "attention" else ", once the right token is attended")
    return table(rows, title, marked=[0])


def _doubling(prediction: Prediction, changes: Sequence[Mapping[str, Any]]) -> Table:
    as_it_is = {o: getattr(prediction, o) for o in OBSERVABLES}
    rows: list[dict[str, object]] = [{"a factor of two": "as it is", **as_it_is}]
    for change in changes:
        name, value = change["size"], change["value"]
        label = f"{'twice' if value > getattr(prediction.setting, name) else 'half'} the {name}: {count(value)}"
        label += " (not possible)" if change["accuracy"] is None else ""
        rows.append({"a factor of two": label, **{o: change[o] for o in OBSERVABLES}})
    return table(rows, "What a factor of two would do")


def laws_table(laws: Sequence[Requirement], title: str) -> Table:
    """What the leading laws require, beside what the setting has."""
    rows: list[dict[str, object]] = []
    for law in laws:
        row: dict[str, object] = {"cause": law.cause, "leading law": law.law, "it requires": OUTSIDE, "here": law.has,
                                  "": ""}
        if law.in_regime:
            row["it requires"] = f"{law.size} {'<=' if law.size == 'V' else '>='} {_required(law)}"
            row[""] = "met" if law.met else "not met"
        rows.append(row)
    return table(rows, title)


def run_solve(output: Output, target: float, observable: str, ratio: float | None, **values: Any) -> Answer:
    unknown: str = values.pop("for")
    known = {name: value for name in SIZES if (value := values.pop(name)) is not None}
    from ..theory.noise_budget import requirements
    from ..theory.predict import predict
    from ..theory.solve import solve_for

    interval = solve_for(unknown, target, observable, ratio=ratio, **values, **known)
    for name in ("activation", "eta", "gamma"):
        if values[name] is None:
            values.pop(name)
    given = {**values, **known}
    known_words = [sizes(given, [name for name in SIZES if name in given])]
    if ratio is not None:
        known_words.append(f"N/V = {exact(ratio)}")
    question = Heading(f"The {SOUGHT[unknown]} {unknown} at which {observable} reaches {exact(target)}, given "
                       f"{', '.join(known_words)}")
    data = {"for": unknown, "target": target, "observable": observable, "ratio": ratio, "given": given,
            "answer": None, "interval": None, "predicted": None, "checked": None, "remarks": []}
    if interval is None:
        none = f"None: no {unknown} in the range that was searched reaches {exact(target)}."
        return Answer({**data, "laws": []}, [data], [question, none])

    solution = interval.high if unknown in ("V", "L") else interval.low
    there = {**given, unknown: solution}
    if ratio is not None:
        there["N"] = int(min(max(1, round(ratio * there["V"])), PARAMETERS["N"].high))
    setting = Setting(**there)
    prediction, laws = predict(setting), requirements(setting)
    data |= {"answer": solution, "predicted": prediction.to_dict()["predicted"],
             "checked": prediction.checked, "remarks": list(prediction.remarks),
             "interval": {"low": interval.low, "high": interval.high, "bounded": interval.bounded}}
    beside = [{"cause": law.cause, "leading law": law.law, f"its {unknown}": _required(law)}
              for law in laws if law.size == unknown]
    return Answer({**data, "laws": _laws_data(laws)}, [data], [
        question,
        f"{unknown} = {count(solution)}{_ends(unknown, interval)}",
        _observables(prediction, {}, "There"),
        table(beside, "The leading laws beside it, one cause alone each", formats={f"its {unknown}": number}),
        *prediction.remarks,
    ])


def _ends(unknown: str, interval: Interval) -> str:
    """What there is to say about the other end of the interval."""
    if unknown not in ("V", "L"):
        return "" if not interval.bounded else f" (beyond {count(interval.high)} the target is missed again)"
    if not interval.bounded:
        return " or more: the search ended there with the target still reached"
    whole = interval.low <= PARAMETERS[unknown].low
    return "" if whole else f" (the target is reached from {count(interval.low)} up)"


command = Command(
    "predict", run, params=setting_options(),
    help="Attention, recall and accuracy of one setting, semi-analytically (by quadrature of closed forms): with the "
         "noise budget, what a factor of two would do, and the leading laws beside it.",
    examples=["predict --V 1024 --L 64 --d 256 --N 65536",
              "predict --V 1e6 --L 32 --d 4096 --N 2^28 --embedding sphere --json",
              "predict --V 1024 --L 64 --d 256 --N 65536 --eta 1e-6 --gamma 1e13"],
)

solve_command = Command(
    "solve", run_solve,
    params=[option("for", required=True, help="the size to solve for: V, L, d, N or m"),
            *setting_options(()), "ratio",
            option("target", help="what the observable has to reach"),
            option("observable", help="attention, recall or accuracy")],
    help="The largest V or L, or the least N, d or m, at which the predicted accuracy reaches the target, the other "
         "sizes being given.",
    examples=["solve --for N --V 1024 --L 64 --d 256 --target 0.9",
              "solve --for V --d 128 --L 16 --ratio 64 --observable recall",
              "solve --for L --V 64 --d 128 --N 65536 --target 0.9 --eta 1e-6 --gamma 1e12",
              "solve --for m --V 256 --L 16 --d 64 --ratio 256 --target 0.5 --activation tanh"],
)
