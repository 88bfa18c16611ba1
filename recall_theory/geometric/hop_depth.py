"""The trade-off of capacity against depth: what h hops take in one pass, layer by layer, and with chain of thought."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

from ..errors import SettingError
from ..numerics.plain_data import SCHEMA_VERSION
from ..theory.relation_counting import MOST_TABLES, count_answers, hops_bits, tables_bits
from .geometric_setting import GeometricSetting

QUICK_TABLES = MOST_TABLES // 10  # tables that are gone through without asking


@dataclasses.dataclass(frozen=True)
class HopCosts:
    """One way to answer: `depth` layers, or with chain of thought. d and mlp_width are those of the exact
    construction, None where its words are more than any construction takes.

    `lookup` counts the numbers of the table by which layers re-embed an answer; they depend on the facts. `bound` is
    the least d where subject embeddings alone hold the facts, None outside the bound's range; with a lookup it is no
    bound on d, and only all numbers together are bounded.
    """

    chain_of_thought: bool
    depth: int
    passes: int
    words: int | None
    d: int | None
    mlp_width: int | None
    lookup: int
    bound_bits: float | None
    bound_d: int | None


@dataclasses.dataclass(frozen=True)
class HopDepths:
    """All ways to answer `hops` relations, what enumeration counts where it can, and log2 of all tables."""

    N: int
    R: int
    hops: int
    bits: float
    ways: tuple[HopCosts, ...]
    enumerated_lists: int | None
    tables_bits: float

    def to_dict(self) -> dict[str, Any]:
        """The JSON contract of `recall-theory geometric hops`."""
        return {"schema_version": SCHEMA_VERSION, **dataclasses.asdict(self)}


def hops(N: int, R: int, h: int, bits: float = 16.0) -> HopDepths:
    """Every depth at which h hops can be answered, and chain of thought, with the exact construction's sizes.

    bits: what a coordinate holds, for the bound. Raises SettingError where a number is out of range.

    >>> [(way.depth, way.d) for way in hops(1024, 4, 3).ways if not way.chain_of_thought]
    [(1, 652), (2, 208), (3, 44)]
    """
    one_by_one = GeometricSetting(N=N, R=R, hops=h, chain_of_thought=True, construction="exact", bits=bits)
    ways = [_costs(one_by_one, depth, False) for depth in range(1, h + 1)]
    if h > 1:
        ways.append(_costs(one_by_one, 1, True))
    few = R * math.lgamma(N + 1) <= math.log(QUICK_TABLES) and R**h <= QUICK_TABLES
    return HopDepths(N, R, h, bits, tuple(ways), count_answers(N, R, h) if few else None, tables_bits(N, R))


def _costs(problem: GeometricSetting, depth: int, chain_of_thought: bool) -> HopCosts:
    N, R, h = problem.N, problem.R, problem.hops
    passes = h if chain_of_thought else math.ceil(h / math.ceil(h / depth))
    bound = None
    if chain_of_thought or depth == 1:
        bound = hops_bits(N, R, 1 if chain_of_thought else h)
    least = None if bound is None else math.ceil(bound / problem.bits - 1e-9)
    try:
        s = problem.replace(depth=depth, chain_of_thought=chain_of_thought)
    except SettingError:
        return HopCosts(chain_of_thought, depth, passes, None, None, None, 0, bound, least)
    lookup = 0 if chain_of_thought or passes == 1 else N * (s.k + s.words * s.k)
    return HopCosts(chain_of_thought, depth, passes, s.words, s.exact_width, s.mlp_width, lookup, bound, least)
