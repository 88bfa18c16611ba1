"""How close to the gradient bound decoders come: a table and a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .answer import Answer, Block, Column, Prose, Table
from .numbers import count, deviation, number, plural, probability

if TYPE_CHECKING:
    from ..verification.decoders import Point, Tightness


def answer(found: Tightness, pictures: tuple[str, ...] = (), exit_code: int = 0) -> Answer:
    """The points in their three forms."""
    records = [{**found.setting, "x": p.x, "N": p.N, "bound": p.bound,
                **{f"predicted.{k}": v for k, v in p.predicted.items()},
                **{f"observed.{k}": v for k, v in p.observed.items()},
                **{f"se.{k}": v for k, v in p.se.items()}} for p in found.points]
    return Answer(found.to_dict(), records, _blocks(found, pictures), exit_code)


def _blocks(found: Tightness, pictures: tuple[str, ...]) -> list[Block]:
    s = found.setting
    blocks: list[Block] = [
        Prose(f"How close to the gradient bound decoders come, at V = {count(s['V'])}, L = {count(s['L'])}, "
              f"d = {count(s['d'])}" + ("" if s["trigger_in_value"] else ", trigger left out of the values"),
              heading=True),
        Prose("x = N d^2/(V^2 L ln V). The bound binds learners that see the first gradient in noise of its own "
              "sampling covariance. It does not bind the gradient without added noise, nor three steps.", remark=True),
        Table([Column("x"), Column("N"), Column("bound"), Column("argmax, in noise"), Column("argmax"),
               Column("three steps")],
              [(number(p.x), count(p.N), probability(p.bound), probability(p.predicted["noisy gradient"]),
                probability(p.predicted["gradient"]), probability(p.predicted["three steps"])) for p in found.points],
              title="Predicted: recall, and accuracy after three steps", groups=2),
    ]
    if found.points:
        blocks.append(Table(
            [Column("x"), Column("best assignment"), Column("matched filter"), Column("argmax, in noise"),
             Column("argmax"), Column("three steps")],
            [(number(p.x), *(_seen(p, name) for name in
                             ("best assignment", "matched filter", "noisy gradient", "gradient", "three steps")))
             for p in found.points],
            title=f"Simulated on {plural(found.seeds, 'seed')} a point (--seed {found.seed}), ± standard error"))
        over = [p for p in found.points if _beats(p, "three steps")]
        if over:
            blocks.append(Prose(f"From N = {count(over[0].N)} on, three steps answer more than the bound allows one "
                                "reading of the gradient: they look at the samples again."))
    blocks += [Prose(f"Picture: {path}") for path in pictures]
    return blocks


def _beats(p: Point, name: str) -> bool:
    """Whether what was seen is above the bound by more than three standard errors."""
    return p.observed[name] > p.bound + 3 * (p.se[name] or 0)


def _seen(p: Point, name: str) -> str:
    se = p.se[name]
    return probability(p.observed[name]) + ("" if se is None else f" ± {deviation(se)}")
