"""One prediction: the observables, the noise budget, what a factor of two would do, the leading laws."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..settings import PARAMETERS, Setting, SettingError
from .answer import Answer, Block, Column, Prose, Table
from .laws import Asked, asked
from .numbers import NOTHING, count, deviation, number, percent, probability

if TYPE_CHECKING:
    from ..theory.predict import Prediction

OBSERVABLES = ("attention", "recall", "accuracy")
MEANING = {
    "attention": "the informative token is attended",
    "recall": "a fact is answered right, once attended",
    "accuracy": "a fresh sequence is answered right",
}
SIZES = ("N", "d", "V", "L")


def answer(prediction: Prediction) -> Answer:
    """The prediction in its three forms."""
    changes = factors_of_two(prediction.setting)
    laws = asked(prediction.setting)
    data = prediction.to_dict()
    record = {**data["setting"], **{o: data["predicted"][o] for o in OBSERVABLES},
              "std": data["predicted"]["std"], "terms": data["terms"]}
    data["factors_of_two"] = [{"size": name, "value": value, **(found or dict.fromkeys(OBSERVABLES))}
                              for name, value, found in changes]
    data["laws"] = [{"name": a.name, "size": a.size, "asks": a.value, "has": a.has} for a in laws]
    return Answer(data, [record], _blocks(prediction, changes, laws))


def factors_of_two(setting: Setting) -> list[tuple[str, int, dict[str, float] | None]]:
    """(size, its value doubled or halved, the observables there; None outside the domain)."""
    from ..theory.predict import predict_many

    sizes = SIZES if setting.m is None else (*SIZES, "m")
    tried = [(name, value) for name in sizes
             for value in (2 * getattr(setting, name), getattr(setting, name) // 2)]
    inside = [(name, value) for name, value in tried if _allowed(setting, name, value)]
    columns = {size: [value if name == size else getattr(setting, size) for name, value in inside]
               for size in sizes}
    found: dict[tuple[str, int], dict[str, float]] = {}
    if inside:
        many = predict_many(**columns, embedding=setting.embedding, trigger_in_value=setting.trigger_in_value,
                            activation=setting.activation)
        for i, key in enumerate(inside):
            found[key] = {o: float(getattr(many, o)[i]) for o in OBSERVABLES}
    return [(*key, found.get(key)) for key in tried]


def _allowed(setting: Setting, name: str, value: int) -> bool:
    try:
        PARAMETERS[name].check(value)
        setting.replace(**{name: value})
    except SettingError:
        return False
    return True


def describe(setting: Setting) -> str:
    """One line that says what is studied."""
    sizes = ", ".join(f"{name} = {count(getattr(setting, name))}" for name in ("V", "L", "d", "N"))
    more = "" if setting.embedding == "gaussian" else f", {setting.embedding} embeddings"
    if setting.m is not None:
        more += f", m = {count(setting.m)} ({setting.activation})"
    more += "" if setting.trigger_in_value else ", trigger left out of the values"
    if not setting.is_limit:
        more += f", eta = {number(setting.eta)}, gamma = {number(setting.gamma)}"
    return sizes + more


def _blocks(prediction: Prediction, changes: Sequence[tuple[str, int, dict[str, float] | None]],
            laws: Sequence[Asked]) -> list[Block]:
    s = prediction.setting
    blocks: list[Block] = [
        Prose(f"What an attention layer remembers at {describe(s)}", heading=True),
        Table([Column("observable", words=True), Column("predicted"), Column("std over seeds"),
               Column("chance that", words=True)],
              [(o, probability(getattr(prediction, o)), deviation(prediction.std[o]), MEANING[o])
               for o in OBSERVABLES]),
    ]
    limited = limiting(prediction)
    if limited:
        blocks.append(Prose(f"What limits it most: {limited}."))
    for step in ("attention", "recall"):
        if prediction.terms.get(step):
            blocks.append(_budget(step, prediction.terms[step]))
    blocks.append(_doubling(prediction, changes))
    remark = ("Std is that of one seed seen on 4,096 fresh sequences. In a budget, (noise/signal)^2 is one "
              "cause's variance over the squared signal; the shares add up to the whole.")
    if laws:
        blocks.append(_laws(laws))
        remark += (" Each law is one cause alone, to leading order in large sizes; where it is not met by far, "
                   "the exact prediction above decides.")
    blocks.append(Prose(remark, remark=True))
    blocks += [Prose(text) for text in prediction.remarks]
    return blocks


def limiting(prediction: Prediction) -> str:
    """The largest noise term of the step that falls shorter."""
    from ..theory.capacity import limiting_term

    return limiting_term(prediction)


def _budget(step: str, terms: dict[str, float]) -> Table:
    total = sum(terms.values())
    largest = max(terms, key=lambda name: terms[name])
    rows = []
    ordered = sorted(terms.items(), key=lambda item: -item[1])
    for name, value in ordered:
        share = percent(value / total) if total > 0 else NOTHING
        rows.append((name, number(value), share, "largest" if name == largest and value > 0 else ""))
    rows.append(("all together", number(total), "", ""))
    return Table([Column("cause", words=True), Column("(noise/signal)^2"), Column("share"),
                  Column("", words=True)], rows, marked=frozenset([0]),
                 title=f"Noise budget of {step}" + (
                     "" if step == "attention" else ", once the right token is attended"))


def _doubling(prediction: Prediction,
              changes: Sequence[tuple[str, int, dict[str, float] | None]]) -> Table:
    rows: list[Sequence[str]] = [
        ("as it is", *(probability(getattr(prediction, o)) for o in OBSERVABLES))]
    for i, (name, value, found) in enumerate(changes):
        change = f"{'twice' if i % 2 == 0 else 'half'} the {name}: {count(value)}"
        if found is None:
            rows.append((change + " (not possible)", *[NOTHING] * len(OBSERVABLES)))
        else:
            rows.append((change, *(probability(found[o]) for o in OBSERVABLES)))
    return Table([Column("a factor of two", words=True), *map(Column, OBSERVABLES)], rows,
                 title="What a factor of two would do")


def _laws(laws: Sequence[Asked]) -> Table:
    return Table(
        [Column("cause", words=True), Column("leading law", words=True), Column("it asks"), Column("here"),
         Column("", words=True)],
        [(a.cause, a.law, f"{a.size} {'<=' if a.size == 'V' else '>='} {a.shown}", count(a.has),
          "met" if a.met else "not met") for a in laws],
        title="The leading laws beside it")
