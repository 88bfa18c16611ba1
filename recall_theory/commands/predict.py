"""`recall-theory predict`: one setting in closed form, with its noise budget and the leading laws beside it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..errors import SettingError
from ..numerics.formatting import NOTHING, count, deviation, number, percent, probability
from ..settings import OBSERVABLE_MEANINGS, OBSERVABLES, PARAMETERS, Setting
from .command import Answer, Command, Output
from .options import setting_options
from .text_layout import Block, Heading, Remark, Table, words

if TYPE_CHECKING:
    from ..theory.leading_requirements import Requirement
    from ..theory.predict import Prediction

OUTSIDE = "outside its regime"  # said in place of a law's value that means nothing
Change = tuple[str, int, dict[str, float] | None]  # a size, its new value, the observables there if it is allowed


def run(output: Output, **values: Any) -> Answer:
    setting = Setting(**values)
    from ..theory.leading_requirements import requirements
    from ..theory.predict import predict

    prediction = predict(setting)
    changes, laws = _factors_of_two(setting), requirements(setting)
    data = prediction.to_dict()
    predicted = data["predicted"]
    record = {**data["setting"], **{o: predicted[o] for o in OBSERVABLES}, "std": predicted["std"],
              "terms": data["terms"]}
    data["factors_of_two"] = [{"size": name, "value": value, **(there or dict.fromkeys(OBSERVABLES))}
                              for name, value, there in changes]
    data["laws"] = laws_data(laws)
    return Answer(data, [record], _blocks(prediction, changes, laws))


def laws_data(laws: Sequence[Requirement]) -> list[dict[str, object]]:
    """What the leading laws require, for --json."""
    return [{"name": law.name, "size": law.size, "asks": law.value, "has": law.has} for law in laws]


def required(law: Requirement) -> str:
    """The size that a law requires, as people see it."""
    if not law.in_regime:
        return OUTSIDE
    return number(law.value) if law.value < 10 else count(law.value)


def _factors_of_two(setting: Setting) -> list[Change]:
    """The observables with each size doubled and halved; None where that is outside the domain."""
    from ..theory.predict import predict_many

    sizes = ("N", "d", "V", "L") if setting.m is None else ("N", "d", "V", "L", "m")
    wanted = [(name, value) for name in sizes for value in (2 * getattr(setting, name), getattr(setting, name) // 2)]
    inside = [(name, value) for name, value in wanted if _allowed(setting, name, value)]
    known: dict[tuple[str, int], dict[str, float]] = {}
    if inside:
        columns = {size: [value if name == size else getattr(setting, size) for name, value in inside]
                   for size in sizes}
        many = predict_many(**columns, embedding=setting.embedding, trigger_in_value=setting.trigger_in_value,
                            activation=setting.activation)
        for i, change in enumerate(inside):
            known[change] = {o: float(getattr(many, o)[i]) for o in OBSERVABLES}
    return [(*change, known.get(change)) for change in wanted]


def _allowed(setting: Setting, name: str, value: int) -> bool:
    try:
        PARAMETERS[name].check(value)
        setting.replace(**{name: value})
    except SettingError:
        return False
    return True


def _blocks(prediction: Prediction, changes: Sequence[Change], laws: Sequence[Requirement]) -> list[Block]:
    from ..theory.capacity import limiting_term

    blocks: list[Block] = [
        Heading(f"What an attention layer remembers at {prediction.setting.describe()}"),
        Table({"observable": words, "predicted": probability, "std over seeds": deviation, "chance that": words},
              [(o, getattr(prediction, o), prediction.std[o], OBSERVABLE_MEANINGS[o]) for o in OBSERVABLES]),
        f"What limits it most: {limiting_term(prediction)}.",
    ]
    for step in ("attention", "recall"):
        if prediction.terms.get(step):
            blocks.append(_budget(step, prediction.terms[step]))
    blocks.append(_doubling(prediction, changes))
    remark = ("Std is that of one seed observed on 4,096 fresh sequences. In a budget, (noise/signal)^2 is one cause's "
              "variance over the squared signal; the shares add up to the whole.")
    if laws:
        blocks.append(laws_table(laws, "The leading laws beside it"))
        remark += (" Each law is one cause alone, to leading order in large sizes; where it is not met by far, the "
                   "exact prediction above decides.")
    return [*blocks, Remark(remark), *prediction.remarks]


def _budget(step: str, terms: dict[str, float]) -> Table:
    total = sum(terms.values())
    ordered = sorted(terms.items(), key=lambda item: -item[1])
    rows = [(name, value, percent(value / total) if total > 0 else NOTHING) for name, value in ordered]
    title = f"Noise budget of {step}" + ("" if step == "attention" else ", once the right token is attended")
    return Table({"cause": words, "(noise/signal)^2": number, "share": str}, [*rows, ("all together", total, "")],
                 title, marked=frozenset([0]))


def _doubling(prediction: Prediction, changes: Sequence[Change]) -> Table:
    rows: list[Sequence[object]] = [("as it is", *(getattr(prediction, o) for o in OBSERVABLES))]
    for i, (name, value, there) in enumerate(changes):
        label = f"{'twice' if i % 2 == 0 else 'half'} the {name}: {count(value)}"
        if there is None:
            rows.append((label + " (not possible)", *[None] * len(OBSERVABLES)))
        else:
            rows.append((label, *(there[o] for o in OBSERVABLES)))
    return Table({"a factor of two": words, **dict.fromkeys(OBSERVABLES, probability)}, rows,
                 "What a factor of two would do")


def laws_table(laws: Sequence[Requirement], title: str) -> Table:
    """What the leading laws require, beside what the setting has."""
    rows = []
    for law in laws:
        sign, met = "<=" if law.size == "V" else ">=", "met" if law.met else "not met"
        requires = f"{law.size} {sign} {required(law)}" if law.in_regime else OUTSIDE
        rows.append((law.cause, law.law, requires, law.has, met if law.in_regime else ""))
    return Table({"cause": words, "leading law": words, "it requires": str, "here": count, "": words}, rows, title)


command = Command(
    "predict", run, params=setting_options(),
    help="Attention, recall and accuracy of one setting, in closed form: with the noise budget, what a "
         "factor of two would do, and the leading laws beside it.",
    examples=["predict --V 1024 --L 64 --d 256 --N 65536",
              "predict --V 1e6 --L 32 --d 4096 --N 2^28 --embedding sphere --json"],
)
