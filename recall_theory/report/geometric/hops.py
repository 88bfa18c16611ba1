"""Capacity against depth, way by way."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ..answer import Answer, Block, Column, Prose, Table
from ..numbers import NOTHING, count, number, plural

if TYPE_CHECKING:
    from ...geometric.hop_depth import HopCosts, HopDepths


def answer(found: HopDepths) -> Answer:
    """The trade-off in its three forms."""
    data = found.to_dict()
    return Answer(data, data["ways"], _blocks(found))


def _blocks(found: HopDepths) -> list[Block]:
    columns = [Column("way", words=True), Column("passes"), Column("codes an embedding"), Column("d"),
               Column("MLP width"), Column("re-embedding table"), Column("bound, bits"), Column("bound on d")]
    blocks: list[Block] = [
        Prose(f"{plural(found.hops, 'hop')} at N = {count(found.N)}, R = {count(found.R)}: the exact construction",
              heading=True),
        Table(columns, [_row(way) for way in found.ways]),
    ]
    if found.enumerated_lists is not None:
        blocks.append(Prose(
            f"Enumerated over all tables of facts: the words of {plural(found.hops, 'relation')} have "
            f"{found.enumerated_lists:,} different lists of answers for one subject, "
            f"{math.log2(found.enumerated_lists):.2f} bits."))
    blocks.append(Prose(
        "Where subject embeddings alone hold the facts, depth does not help: the bound on one pass holds at any depth. "
        "More layers do with fewer codes only if they re-embed each answer by a table of fact-dependent numbers. Then "
        f"no bound on d is left, only that on all numbers together: {number(found.tables_bits)} bits, R log2 N!. A "
        f"bound is in bits an embedding, and on d with b = {found.bits:g} bits a coordinate; '{NOTHING}' is outside "
        "its range, or where the words are more than any construction takes.", remark=True))
    return blocks


def _row(way: HopCosts) -> tuple[str, ...]:
    name = "chain of thought" if way.chain_of_thought else plural(way.depth, "layer")
    bits = NOTHING if way.bound_bits is None else f"{way.bound_bits:,.2f}"
    return (name, count(way.passes), count(way.words), count(way.d), count(way.mlp_width),
            count(way.lookup) if way.lookup else NOTHING, bits, count(way.bound_d))
