"""The memories side by side."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .answer import Answer, Block, Column, Prose, Table
from .numbers import count, number, plural, probability, signed

if TYPE_CHECKING:
    from ..simulate.observation import Observable
    from ..theory.memories.memory_table import Comparison, Memory
    from ..theory.memories.zipf_facts import Zipf

Seen = Mapping[tuple[str, str], "Observable"]


def answer(found: Comparison, law: Zipf | None, seen: Seen | None, seeds: int | None, seed: int | None) -> Answer:
    """The comparison in its three forms."""
    rows = [r.to_dict() | _observed(r, seen) for r in found.memories]
    data: dict[str, Any] = {"schema_version": 1, "d": found.d, "facts": found.facts, "target": found.target,
                            "memories": rows}
    if seen is not None:
        data |= {"seed": seed, "seeds": seeds}
    if law is not None:
        data["zipf"] = _zipf_data(law)
    return Answer(data, rows, _blocks(found, law, seen, seeds, seed))


def _observed(row: Memory, seen: Seen | None) -> dict[str, Any]:
    """What the simulation saw at the row's size, beside what the law says there; nothing where it wasn't run."""
    observable = None if seen is None else seen.get((row.name, row.criterion))
    if observable is None:
        return {}
    return {"predicted": predicted(row), "observed": {"mean": observable.mean, "se": observable.se}}


def predicted(row: Memory) -> float:
    """Recall at the facts and dimension of a Hebbian row."""
    from ..theory.memories import hebbian_recall

    assert row.facts is not None and row.d is not None and row.embedding is not None
    return float(hebbian_recall(row.facts, row.d, row.embedding, row.rank))


def _blocks(found: Comparison, law: Zipf | None, seen: Seen | None, seeds: int | None,
            seed: int | None) -> list[Block]:
    by_size = found.d is not None
    heading = (f"How many facts do memories hold at d = {count(found.d)}?" if by_size else
               f"What do memories need for {count(found.facts)} facts?")
    columns = [Column("memory", words=True), Column("right", words=True), Column("facts" if by_size else "d"),
               Column("facts per parameter"), Column("leading law", words=True), Column("it alone gives"),
               Column("provenance", words=True)]
    rows = [(r.name, r.criterion, count(r.facts if by_size else r.d), number(r.facts_per_parameter), r.law,
             count(r.leading), r.provenance) for r in found.memories]
    blocks: list[Block] = [Prose(heading, heading=True), Table(columns, rows)]
    if seen is not None:
        blocks += _simulated(found, seen, seeds, seed)
    if law is not None:
        blocks += _zipf(law)
    share = probability(found.target)
    blocks.append(Prose(
        f"Almost all: a share {share} of the facts is right in the mean. All: every one is, with probability {share} "
        "or more. Hebbian rows and the attention layer's are laws for finite size, derived and checked by simulation; "
        "that of the best linear memory is for large d; fits were read off a paper's figures by eye. Provenance: "
        "derived here, or kin, from a related paper. `recall-theory formulas memory` has the sources.", remark=True))
    return blocks


def _simulated(found: Comparison, seen: Seen, seeds: int | None, seed: int | None) -> list[Block]:
    rows = []
    for r in found.memories:
        observable = seen.get((r.name, r.criterion))
        if observable is not None:
            expected = predicted(r)
            rows.append((r.name, count(r.facts), count(r.d), probability(expected), probability(observable.mean),
                         number(observable.se, 2), signed(observable.mean - expected)))
    title = f"Simulated: {plural(seeds or 0, 'memory').replace('memorys', 'memories')} each, --seed {seed}"
    return [Table([Column("memory", words=True), Column("facts"), Column("d"), Column("predicted recall"),
                   Column("observed"), Column("standard error"), Column("difference")], rows, title=title)]


def _zipf_data(law: Zipf) -> dict[str, Any]:
    import dataclasses

    return dataclasses.asdict(law)


def _zipf(law: Zipf) -> list[Block]:
    own, shared = law.own, law.shared
    rows = [("an output a fact", count(own.stored), number(own.error), number(own.left_out))]
    if shared is not None:
        rows.append((f"{count(law.classes)} outputs, shared", count(shared.stored), number(shared.error),
                     number(shared.left_out)))
    blocks: list[Block] = [
        Table([Column("outputs", words=True), Column("stored"), Column("error"), Column("of it left out")], rows,
              title=f"Facts of frequency x^-{law.alpha:g}: the best memory that stores the most frequent alone"),
        Table([Column("memory", words=True), Column("error falls as", words=True)],
              [(name, f"d^-{exponent:.4g}") for name, exponent in law.exponents.items()],
              title="How the error falls, up to logarithms"),
    ]
    if law.unseen is not None:
        blocks.append(Prose(f"{count(law.samples)} samples leave facts of frequency {number(law.unseen)} unseen; "
                            f"it falls as T^-{1 - 1 / law.alpha:.4g}. What is unseen adds to the errors above."))
    return blocks
