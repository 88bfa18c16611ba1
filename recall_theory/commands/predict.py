"""`recall-theory predict` and `solve`: one setting, and the size at which a target is reached."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..errors import SettingError
from ..numerics.formatting import count, exact, number, probability, sizes
from ..settings import OBSERVABLE_MEANINGS, OBSERVABLES, SIZES, Setting
from .answers import Answer, Output, command
from .options import option, setting_options
from .text_layout import Block, Heading, Remark, Table, table

if TYPE_CHECKING:
    from ..theory.noise_budget import Requirement

OUTSIDE = "outside its regime"  # said in place of a law's value that means nothing
SOUGHT = {"V": "largest", "L": "longest", "d": "least", "N": "least", "m": "least"}


def prediction_if_any(setting: Setting, *, bits: int | None = None, **changes: Any) -> dict[str, Any]:
    """What is predicted of a setting with these changes; nothing where `predict` doesn't describe it."""
    from ..theory.predict import predict

    try:
        return predict(setting.replace(**changes), bits=bits).to_dict()["predicted"]
    except SettingError:
        return {}


@command("predict --V 1024 --L 64 --d 256 --N 65536",
         "predict --V 1e6 --L 32 --d 4096 --N 2^28 --embedding sphere --json",
         params=setting_options())
def predict_command(output: Output, **values: Any) -> Answer:
    """Attention, recall and accuracy of one setting, semi-analytically (by quadrature of closed forms): with the
    noise budget, what a factor of two would do, and the leading laws beside it."""
    setting = Setting(**values)
    from ..theory.capacity import limiting_term
    from ..theory.noise_budget import requirements
    from ..theory.predict import predict
    from ..theory.solve import WITHIN, rates_of_limit

    prediction, laws = predict(setting), requirements(setting)
    data = prediction.to_dict()
    predicted = data["predicted"]
    record = {**data["setting"], **predicted, "terms": data["terms"], "checked": data["checked"]}
    changes: list[dict[str, Any]] = []
    for name in (name for name in ("N", "d", "V", "L", "m") if getattr(setting, name) is not None):
        for value in (2 * getattr(setting, name), getattr(setting, name) // 2):
            there = prediction_if_any(setting, **{name: value})
            changes.append({"size": name, "value": value, **{o: there.get(o) for o in OBSERVABLES}})
    data |= {"factors_of_two": changes, "laws": _laws_data(laws)}

    rates = ""
    if setting.is_limit:
        least = rates_of_limit(prediction)
        data["limit_holds"] = {"eta_gamma": least, "within": WITHIN}
        if least is not None:
            about = number(float(f"{least:.2g}"))
            where = f"from an eta*gamma of about {about} on" if least else "at any eta*gamma"
            rates = f" The limit of large eta*gamma holds within {WITHIN} {where}."
    else:
        rates = (f" At eta*gamma = {number(setting.beta)} the mean attention weight of the right token is "
                 f"{probability(prediction.attention_weight)}.")
    budgets: list[Block] = []
    for step, terms in prediction.terms.items():
        total, once = sum(terms.values()), "" if step == "attention" else ", once the right token is attended"
        rows = [{"cause": name, "(noise/signal)^2": value, "share": value / total if total > 0 else None}
                for name, value in sorted(terms.items(), key=lambda item: -item[1])]
        budgets.append(table(rows, title=f"Noise budget of {step}{once}: (noise/signal)^2 = {number(total)} in all",
                             marked=[0]))
    return Answer(data, [record], [
        Heading(f"What an attention layer remembers at {setting.describe()}"),
        _observables(predicted, "observable, predicted, std, chance that"),
        f"What limits it most: {limiting_term(prediction)}.{rates}",
        *budgets,
        table([{"size": "as it is", "value": "", **predicted}, *changes],
              "size, value, attention, recall, accuracy", "What a factor of two would do"),
        _laws_table(laws, "The leading laws beside it"),
        Remark("Std is that of one seed observed on 4,096 fresh sequences. A budget has each cause's variance over the "
               "squared signal. Each law is one cause alone, to leading order in large sizes."),
        *prediction.remarks,
    ])


def _observables(predicted: dict[str, Any], columns: str, title: str = "") -> Table:
    """The predicted observables, and what is predicted of them."""
    return table([{"observable": o, "predicted": predicted[o], "std": predicted["std"][o],
                   "chance that": OBSERVABLE_MEANINGS[o]} for o in OBSERVABLES], columns, title)


def _laws_data(laws: Sequence[Requirement]) -> list[dict[str, object]]:
    return [{"name": law.name, "size": law.size, "asks": law.value, "has": law.has} for law in laws]


def _laws_table(laws: Sequence[Requirement], title: str) -> Table:
    """What the leading laws require, beside what the setting has."""
    rows = []
    for law in laws:
        value = number(law.value) if law.value < 10 else count(law.value)
        row = {"cause": law.cause, "leading law": law.law, "here": law.has, "": "met" if law.met else "not met",
               "it requires": f"{law.size} {'<=' if law.size == 'V' else '>='} {value}"}
        rows.append(row if law.in_regime else row | {"it requires": OUTSIDE, "": ""})
    return table(rows, "cause, leading law, it requires, here, ", title)


@command("solve --for N --V 1024 --L 64 --d 256 --target 0.9",
         "solve --for V --d 128 --L 16 --ratio 64 --observable recall",
         "solve --for L --V 64 --d 128 --N 65536 --target 0.9 --eta 1e-6 --gamma 1e12",
         params=[option("for", required=True), *setting_options(()), "ratio",
                 option("target", help="what the observable has to reach"), "observable"])
def solve_command(output: Output, target: float, observable: str, ratio: float | None, **values: Any) -> Answer:
    """The largest V or L, or the least N, d or m, at which the predicted accuracy reaches the target, the other
    sizes being given."""
    unknown: str = values.pop("for")
    from ..theory.noise_budget import requirements
    from ..theory.predict import predict
    from ..theory.solve import samples, solve_for

    interval = solve_for(unknown, target, observable, ratio=ratio, **values)
    given = {name: value for name, value in values.items() if value is not None}
    known = sizes(values, SIZES) + ("" if ratio is None else f", N/V = {exact(ratio)}")
    question = Heading(f"The {SOUGHT[unknown]} {unknown} at which {observable} reaches {exact(target)}, given {known}")
    data = {"for": unknown, "target": target, "observable": observable, "ratio": ratio, "given": given, "answer": None,
            "interval": None, "predicted": None, "checked": None, "remarks": []}
    if interval is None:
        return Answer({**data, "laws": []}, [data], [
            question, f"None: no {unknown} in the range that was searched reaches {exact(target)}."])

    is_largest = unknown in ("V", "L")
    there = {**given, unknown: interval.high if is_largest else interval.low}
    if ratio is not None:
        there["N"] = int(samples(there["V"], ratio))
    setting = Setting(**there)
    prediction, laws = predict(setting), requirements(setting)
    predicted = prediction.to_dict()["predicted"]
    data |= {"answer": there[unknown], "predicted": predicted, "checked": prediction.checked,
             "remarks": list(prediction.remarks),
             "interval": {"low": interval.low, "high": interval.high, "bounded": interval.bounded}}
    end = count(interval.high) if interval.bounded else "the end of the search"
    return Answer({**data, "laws": _laws_data(laws)}, [data], [
        question,
        f"{unknown} = {count(there[unknown])}; the target is reached from {count(interval.low)} to {end}.",
        _observables(predicted, "observable, predicted, std", "There"),
        _laws_table([law for law in laws if law.size == unknown], "The leading laws beside it, one cause alone each"),
        *prediction.remarks,
    ])
