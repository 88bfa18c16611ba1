"""`recall-theory predict` and `solve`: one setting, and the size at which a target is reached."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import SettingError
from ..numerics.formatting import count, exact, number, probability, sizes
from ..settings import OBSERVABLE_MEANINGS, OBSERVABLES, PARAMETERS, SIZES, Setting
from .command import Answer, Command, Output
from .options import option, setting_options
from .text_layout import Heading, Remark, Table, table

if TYPE_CHECKING:
    from ..numerics.thresholds import Interval
    from ..theory.noise_budget import Requirement
    from ..theory.predict import Prediction

OUTSIDE = "outside its regime"  # said in place of a law's value that means nothing
SOUGHT = {"V": "largest", "L": "longest", "d": "least", "N": "least", "m": "least"}


def run(output: Output, **values: Any) -> Answer:
    setting = Setting(**values)
    from ..theory.capacity import limiting_term
    from ..theory.noise_budget import requirements
    from ..theory.predict import predict
    from ..theory.solve import WITHIN, rates_of_limit

    prediction, laws = predict(setting), requirements(setting)
    data = prediction.to_dict()
    record = {**data["setting"], **data["predicted"], "terms": data["terms"], "checked": data["checked"]}
    data |= {"factors_of_two": _factors_of_two(setting), "laws": _laws_data(laws)}
    rates = ""
    if setting.is_limit:
        least = rates_of_limit(prediction)
        data["limit_holds"] = {"eta_gamma": least, "within": WITHIN}
        if least is not None:
            where = f"from an eta*gamma of about {number(least, 2)} on" if least else "at any eta*gamma"
            rates = f" The limit of large eta*gamma holds within {WITHIN} {where}."
    else:
        rates = (f" At eta*gamma = {number(setting.beta)} the mean attention weight of the right token is "
                 f"{probability(prediction.attention_weight)}.")
    return Answer(data, [record], [
        Heading(f"What an attention layer remembers at {setting.describe()}"),
        _observables(prediction, OBSERVABLE_MEANINGS),
        f"What limits it most: {limiting_term(prediction)}.{rates}",
        *(_budget(step, terms) for step, terms in prediction.terms.items() if terms),
        table([{"size": "as it is", "value": "", **data["predicted"]}, *data["factors_of_two"]],
              ", ".join(("size", "value", *OBSERVABLES)), "What a factor of two would do"),
        laws_table(laws, "The leading laws beside it"),
        Remark("Std is that of one seed observed on 4,096 fresh sequences. In a budget, (noise/signal)^2 is one "
               "cause's variance over the squared signal. Each law is one cause alone, to leading order in large "
               "sizes; where it is not met by far, the full prediction decides."),
        *prediction.remarks,
    ])


def _laws_data(laws: Sequence[Requirement]) -> list[dict[str, object]]:
    """What the leading laws require, for --json."""
    return [{"name": law.name, "size": law.size, "asks": law.value, "has": law.has} for law in laws]


def _factors_of_two(setting: Setting) -> list[dict[str, Any]]:
    """Each size doubled and halved, with the observables there; these are None where it is outside the domain."""
    from ..theory.predict import predict

    rows = []
    for name in (name for name in ("N", "d", "V", "L", "m") if getattr(setting, name) is not None):
        for value in (2 * getattr(setting, name), getattr(setting, name) // 2):
            try:
                there = predict(setting.replace(**{name: value}))
            except SettingError:
                there = None
            rows.append({"size": name, "value": value, **{o: there and getattr(there, o) for o in OBSERVABLES}})
    return rows


def _observables(prediction: Prediction, meaning: Mapping[str, str] | None = None, title: str = "") -> Table:
    """The predicted observables; the `meaning` of each is the chance that it is."""
    rows = [{"observable": o, "predicted": getattr(prediction, o), "std": prediction.std[o]} for o in OBSERVABLES]
    return table([{**row, "chance that": meaning[row["observable"]]} for row in rows] if meaning else rows, title=title)


def _budget(step: str, terms: Mapping[str, float]) -> Table:
    total = sum(terms.values())
    rows = [{"cause": name, "(noise/signal)^2": value, "share": value / total if total > 0 else None}
            for name, value in sorted(terms.items(), key=lambda item: -item[1])]
    once = "" if step == "attention" else ", once the right token is attended"
    return table(rows, title=f"Noise budget of {step}{once}: (noise/signal)^2 = {number(total)} in all", marked=[0])


def laws_table(laws: Sequence[Requirement], title: str) -> Table:
    """What the leading laws require, beside what the setting has."""
    rows = []
    for law in laws:
        requires, met = OUTSIDE, ""
        if law.in_regime:
            requires = f"{law.size} {'<=' if law.size == 'V' else '>='} {_required(law)}"
            met = "met" if law.met else "not met"
        rows.append({"cause": law.cause, "leading law": law.law, "it requires": requires, "here": law.has, "": met})
    return table(rows, title=title)


def _required(law: Requirement) -> str:
    """The size that a law requires, as people see it."""
    if not law.in_regime:
        return OUTSIDE
    return number(law.value) if law.value < 10 else count(law.value)


def run_solve(output: Output, target: float, observable: str, ratio: float | None, **values: Any) -> Answer:
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

    solution = interval.high if unknown in ("V", "L") else interval.low
    there = {**given, unknown: solution}
    if ratio is not None:
        there["N"] = int(samples(there["V"], ratio))
    setting = Setting(**there)
    prediction, laws = predict(setting), requirements(setting)
    data |= {"answer": solution, "predicted": prediction.to_dict()["predicted"],
             "checked": prediction.checked, "remarks": list(prediction.remarks),
             "interval": {"low": interval.low, "high": interval.high, "bounded": interval.bounded}}
    return Answer({**data, "laws": _laws_data(laws)}, [data], [
        question,
        f"{unknown} = {count(solution)}{_ends(unknown, interval)}",
        _observables(prediction, title="There"),
        table([{"cause": law.cause, "leading law": law.law, f"its {unknown}": _required(law)}
               for law in laws if law.size == unknown], title="The leading laws beside it, one cause alone each"),
        *prediction.remarks,
    ])


def _ends(unknown: str, interval: Interval) -> str:
    """What there is to say about the other end of the interval."""
    if unknown not in ("V", "L"):
        return f" (beyond {count(interval.high)} the target is missed again)" if interval.bounded else ""
    if not interval.bounded:
        return " or more: the search ended there with the target still reached"
    is_whole = interval.low <= PARAMETERS[unknown].low
    return "" if is_whole else f" (the target is reached from {count(interval.low)} up)"


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
