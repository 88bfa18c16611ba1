"""The bounds at a setting: what each allows, whom it binds, and who breaks it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .answer import Answer, Block, Column, Prose, Table
from .numbers import NOTHING, count, number, probability

if TYPE_CHECKING:
    from ..theory.bounds import Bound, Bounds

PAPER = ("The paper proves a lower bound of its own; its text was not available, and its constant, its noise and "
         "its learners may differ from these.")


def answer(bounds: Bounds) -> Answer:
    """The bounds in their three forms."""
    reading = one_step(bounds)
    data = bounds.to_dict() | {"one_step_recall": reading, "paper": PAPER}
    records = [{**data["setting"], "target": bounds.target, "bits": bounds.bits, **b,
                "formulas": " ".join(b["formulas"])} for b in data["bounds"]]
    return Answer(data, records, _blocks(bounds, reading))


def one_step(bounds: Bounds) -> float | None:
    """Predicted recall of the one-step reading; None behind an MLP, or where V or N is open."""
    s = bounds.setting
    if s["m"] is not None or s["V"] is None or s["N"] is None:
        return None
    from ..theory.one_step_memory import one_step_recall

    return float(one_step_recall(s["V"], s["L"], s["d"], s["N"])[0])


def _blocks(bounds: Bounds, reading: float | None) -> list[Block]:
    s = bounds.setting
    sizes = ", ".join(f"{name} = {count(s[name])}" for name in ("V", "L", "d", "N", "m") if s[name] is not None)
    blocks: list[Block] = [
        Prose(f"What no learner can beat at {sizes}", heading=True),
        _allowed(bounds),
        Prose(f"Recall is that of a uniformly random permutation, on average: one that happens to suit a learner "
              f"proves nothing. Its target is {bounds.target:g}. - is no limit. P = {count(bounds.parameters)} "
              f"parameters of b = {number(bounds.bits)} bits.", remark=True),
    ]
    takes = [row for b in bounds.bounds if (row := _takes(b))]
    if takes:
        blocks.append(Table([Column("bound", words=True), Column("there is"), Column("it takes"),
                             Column("unit", words=True)], takes, title="What the permutation takes"))
    if reading is not None:
        blocks.append(Prose(f"Beside the gradient bound: reading the first gradient of these samples directly, with no "
                            f"noise added, recalls {probability(reading)} (predicted)."))
    blocks += [
        Table([Column("bound", words=True), Column("says", words=True), Column("binds", words=True),
               Column("broken by", words=True)], _words(bounds), title="Whom they bind"),
        Prose("The gradient bound is about reading one gradient. It says nothing of three steps, which look at the "
              f"samples again and need fewer of them where L > d. {PAPER}", remark=True),
    ]
    return blocks


def _allowed(bounds: Bounds) -> Table:
    s = bounds.setting
    columns = [Column("bound", words=True), Column("strength", words=True)]
    both = s["V"] is not None and s["N"] is not None
    if both:
        columns += [Column("recall at most"), Column("target", words=True)]
    if s["V"] is not None:
        columns.append(Column("least N"))
    if s["N"] is not None:
        columns.append(Column("largest V"))
    rows: list[Sequence[str]] = []
    for b in bounds.bounds:
        row = [b.name, b.strength]
        if both:
            row += [probability(b.recall), "allowed" if b.allows else "out of reach"]
        if s["V"] is not None:
            row.append(_least(b, s))
        if s["N"] is not None:
            row.append(count(b.largest_V))
        rows.append(row)
    return Table(columns, rows)


def _words(bounds: Bounds) -> list[Sequence[str]]:
    """What each bound says; those of one kind bind the same learners, which is said once."""
    rows: list[Sequence[str]] = []
    for b in bounds.bounds:
        kind = b.name.partition(":")[0]
        if rows and rows[-1][0] == kind:
            rows[-1] = (kind, f"{rows[-1][1]}; {b.statement}", *rows[-1][2:])
        else:
            rows.append((kind, b.statement, b.binds, b.broken_by))
    return rows


def _least(b: Bound, s: dict[str, Any]) -> str:
    """The least N; a bound that no N changes either allows the target or does not."""
    if b.least_N is not None:
        return count(b.least_N)
    if b.name == "gradient access":
        return NOTHING if s["L"] == 1 else "over 10^15"
    return "no N" if b.allows is False else "any"


def _takes(b: Bound) -> Sequence[str] | None:
    if "takes" not in b.details:
        return None
    if "nats" in b.details:
        return (b.name, number(b.details["nats"], 4), number(b.details["takes"], 4), "nats")
    wrong = b.details.get("errors")
    name = b.name if wrong is None else f"{b.name} (e = {count(wrong)})"
    return (name, number(b.details["bits"], 4), number(b.details["takes"], 4), "bits")
