"""The trade-off of capacity against depth: what h hops take in one pass, layer by layer, and with chain of thought.

Beside it what there is to tell apart: a table is one choice of R bijections of N subjects, and a word of h relations,
asked of a subject, leads to one answer. Answers are counted exactly by enumeration, and bounded beyond it.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from typing import Any

from ..errors import SettingError
from ..numerics.formatting import SCHEMA_VERSION
from .geometric_setting import MOST_CODED, Construction, GeometricSetting

MOST_TABLES = 10**6  # tables of R bijections that an enumeration goes through
QUICK_TABLES = MOST_TABLES // 10  # tables that are gone through without asking

Table = tuple[tuple[int, ...], ...]


@dataclasses.dataclass(frozen=True)
class HopCosts:
    """One way to answer: a route of the constructions, or `depth` layers of which each re-embeds its answer. d and
    mlp_width are those of one-bit codes, None where their words are more than any construction takes.

    `facts_in` are the weights that depend on the facts. `lookup` counts the numbers of the table by which layers
    re-embed an answer. `bound_bits` are the bits that an embedding must hold: where facts are in subject embeddings
    alone, those of its subject's answers (None outside the bound's range); in the middle (one MLP layer or
    two), where an unembedding shares them, R log2 N! over 2 N. Elsewhere only all weights together are bounded.
    `bound_d` is the same in coordinates.
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
    [('embedding', 168), ('layers', 44), ('middle', 48), ('two-layers', 48), ('wide', 18), ('chain', 49)]
    """
    one_by_one = GeometricSetting(N=N, R=R, hops=h, chain_of_thought=True, construction="exact", bits=bits)
    ways = [_costs(one_by_one, depth) for depth in range(1, h + 1)]
    if h > 1:
        half = tables_bits(N, R) / (2 * N)
        ways += [_route(one_by_one, "middle", "subject embeddings, unembedding", half),
                 _route(one_by_one, "two-layers", "subject embeddings, unembedding", half),
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


# --- the answers that there are to tell apart ----------------------------------------------------------

def hops_bits(N: int, R: int, h: int) -> float | None:
    """Bits that an embedding must hold for all words of h relations, one pass and any depth: a lower bound on
    log2 of `count_answers`. None outside its range, 1 + R + ... + R^(h-1) <= N.

    R log2[(N - T_{h-2})! / (N - T_{h-1})!], T_j = 1 + R + ... + R^j: the formula `geometric.bound.hops`, also for
    R = 1 and without cancellation at large N.

    >>> hops_bits(16, 1, 1), hops_bits(4, 2, 3)
    (4.0, None)
    """
    inner = sum(R**j for j in range(h - 1))
    outer = inner + R ** (h - 1)
    if outer > N:
        return None
    return R * _log2_falling(N - inner, outer - inner)


def tables_bits(N: int, R: int) -> float:
    """log2 of the number of tables, R log2 N!: no count can exceed it."""
    return R * math.lgamma(N + 1) / math.log(2)


def count_answers(N: int, R: int, h: int) -> int:
    """How many different lists of answers to the R^h words of h relations subject 0 can have, over all tables.

    Raises SettingError where there are more than 10^6 tables.

    >>> count_answers(3, 2, 1), count_answers(3, 2, 2)
    (9, 25)
    """
    return len({_answers(table, 0, h) for table in _tables(N, R)})


def _tables(N: int, R: int) -> itertools.product[Table]:
    if R * math.lgamma(N + 1) > math.log(MOST_TABLES) + 1e-9:
        raise SettingError("N", f"N={N}: {R} bijections of {N} subjects make (N!)^R tables, and {MOST_TABLES} is the "
                           "most that is enumerated")
    return itertools.product(itertools.permutations(range(N)), repeat=R)


def _answers(table: Table, subject: int, h: int) -> tuple[int, ...]:
    """Where every word of h relations leads from a subject."""
    reached: tuple[int, ...] = (subject,)
    for _ in range(h):
        reached = tuple(f[x] for x in reached for f in table)
    return reached


def _log2_falling(n: int, m: int) -> float:
    """log2 of n (n - 1) ... (n - m + 1), without the cancellation of two large factorials."""
    if m <= 1000:
        return math.fsum(math.log2(n - i) for i in range(m))
    return (math.lgamma(n + 1) - math.lgamma(n - m + 1)) / math.log(2)
