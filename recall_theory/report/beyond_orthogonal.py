"""Random against orthogonal embeddings: tables and a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .answer import Answer, Block, Column, Prose, Table
from .numbers import NOTHING, count, deviation, number, plural, probability

if TYPE_CHECKING:
    from ..verification.embedding_comparison import BeyondOrthogonal, Facts, Need


def answer(found: BeyondOrthogonal, pictures: tuple[str, ...] = (), exit_code: int = 0) -> Answer:
    """The comparison in its three forms."""
    records = [{**found.setting, "target": found.target, "V": f.V, "embedding": e, "N": need.N,
                "observed": need.observed, "se": need.se} for f in found.facts for e, need in f.needs.items()]
    return Answer(found.to_dict(), records, _blocks(found, pictures), exit_code)


def _blocks(found: BeyondOrthogonal, pictures: tuple[str, ...]) -> list[Block]:
    s = found.setting
    share = 2 * (1 + int(s["trigger_in_value"]))
    value = "" if s["trigger_in_value"] else ", trigger left out of the values"
    blocks: list[Block] = [
        Prose(f"Beyond orthogonal embeddings: d = {count(s['d'])}, L = {count(s['L'])}{value}", heading=True),
        Table([Column("d"), Column("random"), Column("leading law"), Column("orthogonal"), Column("ratio")],
              [(count(x.d), "none" if x.random is None else count(x.random), count(x.law), count(x.orthogonal),
                NOTHING if x.random is None else number(x.random / x.orthogonal)) for x in found.dimensions],
              title=f"Facts stored at an accuracy of {found.target:g}, with samples without end"),
        Prose(f"The leading law of random embeddings is d^2 = {share} V ln V; orthogonal ones are there up to V = d "
              "only.", remark=True),
        Table([Column("V"), Column("N, random"), Column("N/V"), Column("N, orthogonal"), Column("N/V"),
               Column("random pay")],
              [_row(f) for f in found.facts],
              title=f"The samples that they pay, at d = {count(s['d'])}: least N for {found.target:g}"),
    ]
    if found.seeds:
        blocks.append(Table([Column("V"), Column("random"), Column("orthogonal")],
                            [(count(f.V), _seen(f.needs.get("gaussian")), _seen(f.needs.get("orthogonal")))
                             for f in found.facts],
                            title=f"Accuracy seen at that N, {plural(found.seeds, 'seed')} each "
                                  f"(--seed {found.seed}), ± standard error"))
    blocks += [Prose(f"Picture: {path}") for path in pictures]
    return blocks


def _row(f: Facts) -> tuple[str, ...]:
    random, orthogonal = f.needs["gaussian"].N, f.needs["orthogonal"].N if "orthogonal" in f.needs else None
    impossible = "none" if "orthogonal" in f.needs else "V > d"
    pay = NOTHING if random is None or orthogonal is None else f"{number(random / orthogonal)} times"
    return (count(f.V), *_need(random, f.V, "none"), *_need(orthogonal, f.V, impossible), pay)


def _need(N: int | None, V: int, impossible: str) -> tuple[str, str]:
    return (impossible, NOTHING) if N is None else (count(N), number(N / V))


def _seen(need: Need | None) -> str:
    if need is None or need.observed is None:
        return NOTHING
    return probability(need.observed) + ("" if need.se is None else f" ± {deviation(need.se)}")
