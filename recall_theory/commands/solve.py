"""`recall-theory solve`: the inverse of `predict` for any one size."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..numerics.formatting import count, deviation, exact, probability
from ..settings import OBSERVABLES, PARAMETERS, Setting
from .command import Answer, Command, Output
from .options import option, setting_options
from .predict import laws_data, required
from .streams import BadInput
from .text_layout import Block, Heading, Table, words

if TYPE_CHECKING:
    from ..numerics.thresholds import Interval
    from ..theory.leading_requirements import Requirement
    from ..theory.predict import Prediction

SIZES = ("V", "L", "d", "N", "m")
SOUGHT = {"V": "largest", "L": "longest", "d": "least", "N": "least", "m": "least"}


def run(output: Output, target: float, observable: str, ratio: float | None, **values: Any) -> Answer:
    unknown: str = values.pop("for")
    sizes = {name: values.pop(name) for name in SIZES}
    _check_given(unknown, sizes, ratio)
    from ..theory.leading_requirements import requirements
    from ..theory.predict import predict
    from ..theory.solve import solve_for

    known = {name: size for name, size in sizes.items() if size is not None}
    interval = solve_for(unknown, target, observable, ratio=ratio, **values, **known)
    if values["activation"] is None:
        values.pop("activation")
    given = {**values, **known}

    solution: int | None = None
    prediction: Prediction | None = None
    laws: list[Requirement] = []
    if interval is not None:
        solution = interval.high if unknown in ("V", "L") else interval.low
        there = {**given, unknown: solution}
        if ratio is not None:
            there["N"] = int(min(max(1, round(ratio * there["V"])), PARAMETERS["N"].high))
        setting = Setting(**there)
        prediction, laws = predict(setting), requirements(setting)
    data = {
        "schema_version": 1, "for": unknown, "target": target, "observable": observable, "ratio": ratio,
        "given": given, "answer": solution,
        "interval": None if interval is None else
        {"low": interval.low, "high": interval.high, "bounded": interval.bounded},
        "predicted": None if prediction is None else prediction.to_dict()["predicted"],
        "laws": laws_data(laws),
    }
    record = {name: value for name, value in data.items() if name not in ("schema_version", "laws")}
    question = _question(data)
    if interval is None or prediction is None:
        none = f"None: no {unknown} in the range that was searched reaches {exact(target)}."
        return Answer(data, [record], [question, none])
    return Answer(data, [record], [question, f"{unknown} = {count(solution)}{_ends(unknown, interval)}",
                                   *_beside(unknown, prediction, laws)])


def _check_given(unknown: str, sizes: Mapping[str, int | None], ratio: float | None) -> None:
    if sizes[unknown] is not None:
        raise BadInput(f"--{unknown} is what --for {unknown} solves for: leave it out")
    if ratio is not None and (sizes["N"] is not None or unknown == "N"):
        raise BadInput("--ratio gives N as a multiple of V: leave --N and --for N out beside it")
    for name in SIZES:
        needed = name not in (unknown, "m") and not (name == "N" and ratio is not None)
        if needed and sizes[name] is None:
            p = PARAMETERS[name]
            raise BadInput(f"--{name} is missing: {p.domain} ({p.meaning})")


def _question(data: Mapping[str, Any]) -> Heading:
    given = [f"{name} = {count(data['given'][name])}" for name in SIZES if name in data["given"]]
    if data["ratio"] is not None:
        given.append(f"N/V = {exact(data['ratio'])}")
    unknown = data["for"]
    return Heading(f"The {SOUGHT[unknown]} {unknown} at which {data['observable']} reaches {exact(data['target'])}, "
                   f"given {', '.join(given)}")


def _ends(unknown: str, interval: Interval) -> str:
    """What there is to say about the other end of the interval."""
    if unknown not in ("V", "L"):
        return "" if not interval.bounded else f" (beyond {count(interval.high)} the target is missed again)"
    if not interval.bounded:
        return " or more: the search ended there with the target still reached"
    whole = interval.low <= PARAMETERS[unknown].low
    return "" if whole else f" (the target is reached from {count(interval.low)} up)"


def _beside(unknown: str, prediction: Prediction, laws: list[Requirement]) -> list[Block]:
    blocks: list[Block] = [
        Table({"observable": words, "predicted": probability, "std over seeds": deviation},
              [(o, getattr(prediction, o), prediction.std[o]) for o in OBSERVABLES], "There")]
    beside = [law for law in laws if law.size == unknown]
    if beside:
        blocks.append(Table({"cause": words, "leading law": words, f"its {unknown}": str},
                            [(law.cause, law.law, required(law)) for law in beside],
                            "The leading laws beside it, one cause alone each"))
    return blocks


command = Command(
    "solve", run,
    params=[option("for", required=True, help="the size to solve for: V, L, d, N or m"),
            *setting_options((), leave_out=("eta", "gamma")),
            option("ratio", help="training samples a fact, N/V, instead of --N"),
            option("target", help="what the observable has to reach"),
            option("observable", help="attention, recall or accuracy")],
    help="The largest V or L, or the least N, d or m, at which the predicted accuracy reaches the target, the other "
         "sizes being given.",
    examples=["solve --for N --V 1024 --L 64 --d 256 --target 0.9",
              "solve --for V --d 128 --L 16 --ratio 64 --observable recall",
              "solve --for m --V 256 --L 16 --d 64 --ratio 256 --target 0.5 --activation tanh"],
)
