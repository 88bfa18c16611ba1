"""The trade-off of capacity against depth: what h hops take in one pass, layer by layer, and with chain of thought."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

from ..errors import SettingError
from ..numerics.plain_data import SCHEMA_VERSION
from ..theory.relation_counting import MOST_TABLES, count_answers, hops_bits, tables_bits
from .construction_setting import Construction
from .geometric_setting import MOST_CODED, GeometricSetting

QUICK_TABLES = MOST_TABLES // 10  # tables that are gone through without asking


@dataclasses.dataclass(frozen=True)
class HopCosts:
    """One way to answer: a route of the constructions, or `depth` layers of which each re-embeds its answer. d and
    mlp_width are those of one-bit codes, None where their words are more than any construction takes.

    `facts_in` are the weights that depend on the facts. `lookup` counts the numbers of the table by which layers
    re-embed an answer. `bound_bits` are the bits that an embedding must hold: where facts are in subject embeddings
    alone, those of its subject's answers (None outside the bound's range); in the middle, where an unembedding shares
    them, R log2 N! over 2 N. Elsewhere only all weights together are bounded. `bound_d` is the same in coordinates.
    """

    route: str
    facts_in: str
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
    """Every depth at which h hops can be answered and every route, with the sizes of one-bit codes.

    bits: what a coordinate holds, for the bound. Raises SettingError where a number is out of range.

    >>> [(way.route, way.d) for way in hops(1024, 4, 2).ways]
    [('embedding', 168), ('layers', 44), ('middle', 48), ('wide', 18), ('chain', 49)]
    """
    one_by_one = GeometricSetting(N=N, R=R, hops=h, chain_of_thought=True, construction="exact", bits=bits)
    ways = [_costs(one_by_one, depth) for depth in range(1, h + 1)]
    if h > 1:
        half = tables_bits(N, R) / (2 * N)
        ways += [_route(one_by_one, "middle", "subject embeddings, unembedding", half),
                 _route(one_by_one, "wide", "MLP", None),
                 _route(one_by_one, "chain", "subject embeddings", hops_bits(N, R, 1))]
    few = R * math.lgamma(N + 1) <= math.log(QUICK_TABLES) and R**h <= QUICK_TABLES
    return HopDepths(N, R, h, bits, tuple(ways), count_answers(N, R, h) if few else None, tables_bits(N, R))


def _route(problem: GeometricSetting, route: str, facts_in: str, bound: float | None) -> HopCosts:
    c = Construction(N=problem.N, R=problem.R, hops=problem.hops, route=route)
    fits = c.coded <= MOST_CODED
    return HopCosts(route, facts_in, route == "chain", 1, c.hops if route == "chain" else 1, c.R**c.ahead,
                    c.d if fits else None, c.width if fits else None, 0, bound, _coordinates(bound, problem.bits))


def _costs(problem: GeometricSetting, depth: int) -> HopCosts:
    N, R, h = problem.N, problem.R, problem.hops
    passes = math.ceil(h / math.ceil(h / depth))
    facts_in = "subject embeddings" if passes == 1 else "subject embeddings, lookup tables"
    bound = hops_bits(N, R, h) if depth == 1 else None
    least, route = _coordinates(bound, problem.bits), "embedding" if depth == 1 else "layers"
    try:
        s = problem.replace(depth=depth, chain_of_thought=False)
    except SettingError:
        return HopCosts(route, facts_in, False, depth, passes, None, None, None, 0, bound, least)
    lookup = 0 if passes == 1 else N * (s.k + s.words * s.k)
    return HopCosts(route, facts_in, False, depth, passes, s.words, s.exact_width, s.mlp_width, lookup, bound, least)


def _coordinates(bits: float | None, each: float) -> int | None:
    """The least number of coordinates of `each` bits that hold so many."""
    return None if bits is None else math.ceil(bits / each - 1e-9)
