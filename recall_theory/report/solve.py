"""The size that reaches a target, with the prediction there and the leading laws beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..settings import PARAMETERS, Setting
from .answer import Answer, Block, Column, Prose, Table
from .laws import Asked, asked
from .numbers import count, deviation, probability
from .predict import OBSERVABLES

if TYPE_CHECKING:
    from ..numerics.thresholds import Interval
    from ..theory.predict import Prediction

WANTED = {"V": "largest", "L": "longest", "d": "least", "N": "least", "m": "least"}


def answer(unknown: str, target: float, observable: str, ratio: float | None, known: dict[str, Any],
           found: Interval | None) -> Answer:
    """The solution in its three forms; `known` holds the parameters that were given."""
    from ..theory.predict import predict

    at: Prediction | None = None
    laws: list[Asked] = []
    best: int | None = None
    if found is not None:
        best = found.high if unknown in ("V", "L") else found.low
        sizes = {**known, unknown: best}
        if ratio is not None:
            sizes["N"] = int(min(max(1, round(ratio * sizes["V"])), PARAMETERS["N"].high))
        setting = Setting(**sizes)
        at, laws = predict(setting), asked(setting)
    data = {
        "schema_version": 1, "for": unknown, "target": target, "observable": observable, "ratio": ratio,
        "given": known, "answer": best,
        "interval": None if found is None else
        {"low": found.low, "high": found.high, "bounded": found.bounded},
        "predicted": None if at is None else at.to_dict()["predicted"],
        "laws": [{"name": a.name, "size": a.size, "asks": a.value, "has": a.has} for a in laws],
    }
    record = {k: v for k, v in data.items() if k not in ("schema_version", "laws")}
    return Answer(data, [record], _blocks(unknown, target, observable, ratio, known, found, best, at, laws))


def _blocks(unknown: str, target: float, observable: str, ratio: float | None, known: dict[str, Any],
            found: Interval | None, best: int | None, at: Prediction | None,
            laws: list[Asked]) -> list[Block]:
    given = [f"{name} = {count(known[name])}" for name in ("V", "L", "d", "N", "m") if name in known]
    if ratio is not None:
        given.append(f"N/V = {ratio:g}")
    question = (f"The {WANTED[unknown]} {unknown} at which {observable} reaches {target:g}, given "
                f"{', '.join(given)}")
    if found is None or at is None or best is None:
        return [Prose(question, heading=True),
                Prose(f"None: no {unknown} in the range that was searched reaches {target:g}.")]
    blocks: list[Block] = [Prose(question, heading=True), Prose(f"{unknown} = {count(best)}{_more(unknown, found)}"),
                           Table([Column("observable", words=True), Column("predicted"),
                                  Column("std over seeds")],
                                 [(o, probability(getattr(at, o)), deviation(at.std[o])) for o in OBSERVABLES],
                                 title="There")]
    beside = [a for a in laws if a.size == unknown]
    if beside:
        blocks.append(Table([Column("cause", words=True), Column("leading law", words=True),
                             Column(f"its {unknown}")],
                            [(a.cause, a.law, a.shown) for a in beside],
                            title="The leading laws beside it, one cause alone each"))
    return blocks


def _more(unknown: str, found: Interval) -> str:
    if unknown in ("V", "L"):
        if not found.bounded:
            return " or more: the search ended there with the target still reached"
        return "" if found.low <= PARAMETERS[unknown].low else f" (the target is reached from {count(found.low)} up)"
    return "" if not found.bounded else f" (beyond {count(found.high)} the target is missed again)"
