"""What facts ask of an embedding, side by side for each way to hold them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..answer import Answer, Block, Column, Prose, Table
from ..numbers import NOTHING, count, number, plural, probability

if TYPE_CHECKING:
    from ...geometric.geometric_capacity import CapacityRow, GeometricCapacity

WORDS = {"d": "the least embedding dimension", "N": "the most subjects", "R": "the most relations"}


def answer(found: GeometricCapacity) -> Answer:
    """The capacity in its three forms."""
    data = found.to_dict()
    return Answer(data, data["rows"], _blocks(found))


def _blocks(found: GeometricCapacity) -> list[Block]:
    given = found.given
    sizes = ", ".join(f"{name} = {count(given[name])}" for name in ("N", "R", "d") if given[name] is not None)
    how = "" if given["hops"] == 1 else f", {plural(given['hops'], 'hop')} " + (
        "with chain of thought" if given["chain_of_thought"] else f"through {plural(given['depth'], 'layer')}")
    columns = [Column("memory", words=True), Column(found.asked), Column("code length k"), Column("MLP width"),
               Column("recall"), Column("numbers that hold facts"), Column("facts per number"),
               Column("all parameters"), Column("source", words=True)]
    blocks: list[Block] = [
        Prose(f"Geometric recall: {WORDS[found.asked]} at {sizes}{how}", heading=True),
        Table(columns, [_row(row, found.asked) for row in found.rows]),
    ]
    crossed = _crossing(found)
    if crossed:
        blocks.append(Prose(crossed))
    blocks.append(Prose(
        f"Random superposition is to recall {given['target']:g} of the facts. In the first three rows the facts are "
        "in the subjects' embeddings, N d numbers; in the last two they are in a d x d matrix that maps pairs of a "
        f"subject and a relation to attributes. In the lower bounds a number has b = {given['bits']:g} bits; the exact "
        "construction uses one. The best linear memory is a leading law from related papers.", remark=True))
    return blocks


def _row(row: CapacityRow, asked: str) -> tuple[str, ...]:
    value = getattr(row, asked)
    return (row.name, NOTHING if value is None else count(value), count(row.code_length), count(row.mlp_width),
            probability(row.recall), count(row.fact_parameters), number(row.facts_per_parameter), count(row.parameters),
            row.provenance)


def _crossing(found: GeometricCapacity) -> str:
    from_N, to_R = found.crossover["from_N"], found.crossover["to_R"]
    parts = []
    if from_N is not None:
        parts.append(f"from N = {count(from_N)} on at R = {count(found.given['R'])}")
    if to_R is not None:
        parts.append(f"up to R = {count(to_R)} at N = {count(found.given['N'])}")
    return "" if not parts else ("One hop of the exact construction takes no larger d than the best linear memory of "
                                 f"the same facts {' and '.join(parts)}.")
