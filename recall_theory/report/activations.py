"""The activations of one setting, side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .answer import Answer, Block, Column, Prose, Table
from .numbers import count, deviation, percent, probability

if TYPE_CHECKING:
    from ..settings import Setting
    from ..theory.activation_choice import Choice, Parts

NO_MLP = "none (Attention-only)"


def answer(setting: Setting, choices: tuple[Choice, ...]) -> Answer:
    """The comparison in its three forms."""
    known = setting.to_dict()
    known.pop("activation")
    data = {"schema_version": 1, "setting": known, "activations": [c.to_dict() for c in choices]}
    records = [{**known, "activation": c.name, "attention": c.attention, "recall": c.recall,
                "accuracy": c.accuracy, "accuracy_std": c.std["accuracy"], "limited_by": c.limited_by,
                **{f"{where}_{part}": getattr(p, part) for where, p in
                   (("value", c.parts), ("average", c.parts_of_average))
                   for part in ("s", "mean", "linear", "quadratic", "higher")}} for c in choices]
    return Answer(data, records, _blocks(setting, choices))


def _blocks(setting: Setting, choices: tuple[Choice, ...]) -> list[Block]:
    s = setting
    assert s.m is not None
    best = choices[0]
    return [
        Prose(f"Which activation remembers best at V = {count(s.V)}, L = {count(s.L)}, d = {count(s.d)}, "
              f"N = {count(s.N)}, m = {count(s.m)}?", heading=True),
        Table([Column("activation", words=True), Column("accuracy"), Column("std"), Column("attention"),
               Column("recall"), Column("limited by", words=True)],
              [(c.name or NO_MLP, probability(c.accuracy), deviation(c.std["accuracy"]),
                probability(c.attention), probability(c.recall), c.limited_by) for c in choices],
              marked=frozenset({0})),
        Table([Column("activation", words=True), Column("mean"), Column("linear"), Column("quadratic"),
               Column("higher")], [_parts(c.name, c.parts) for c in choices],
              title=f"Shares of E phi^2 where facts are stored (values of norm^2 {choices[0].parts.s:.3g})"),
        Table([Column("activation", words=True), Column("mean"), Column("linear"), Column("quadratic"),
               Column("higher")], [_parts(c.name, c.parts_of_average) for c in choices],
              title="The same where attention is learned (averaged sequences of norm^2 "
                    f"{choices[0].parts_of_average.s:.3g})"),
        Prose(f"Best: {best.name or NO_MLP}. The mean stores nothing and carries label-frequency noise (mean "
              "bias). The linear part is the Attention-only model's. The higher parts tell values apart beyond "
              "d dimensions, and need a width m that resolves them (MLP noise). In attention, a small linear "
              "part at the small norm of an averaged sequence means a small lead.", remark=True),
    ]


def _parts(name: str | None, p: Parts) -> tuple[str, ...]:
    return (name or NO_MLP, percent(p.mean), percent(p.linear), percent(p.quadratic), percent(p.higher))
