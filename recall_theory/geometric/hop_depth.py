"""The trade-off of capacity against depth: what h hops take in one pass, layer by layer, and with chain of thought.

Beside it what there is to tell apart: a table is one choice of R bijections of N subjects, and a word of h relations,
asked of a subject, leads to one answer. Answers are counted exactly by enumeration, and bounded beyond it.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Sequence
from typing import Any

from ..errors import SettingError
from ..numerics.formatting import SCHEMA_VERSION
from .geometric_setting import MOST_CODED, Construction, GeometricSetting

MOST_TABLES = 10**6  # tables of R bijections that an enumeration goes through
QUICK_TABLES = MOST_TABLES // 10  # tables that are gone through without asking
BITS_ROUNDING = 1e-9  # of a bound in bits, so that R log2 N for a power of two is not rounded up
MOST_FACTORS = 1000  # of a product that is computed as an integer
EMBEDDINGS = "subject embeddings"


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
    lookup: int = 0
    bound_bits: float | None = None
    bound_d: int | None = None


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
    s = GeometricSetting(N=N, R=R, hops=h, chain_of_thought=True, construction="exact", bits=bits)

    def bound(least: float | None) -> tuple[float | None, int | None]:
        """So many bits, and in coordinates."""
        return least, None if least is None else math.ceil(least / s.bits - BITS_ROUNDING)

    ways = []
    for depth in range(1, h + 1):
        way, passes = s.changed(depth=depth, chain_of_thought=False), math.ceil(h / math.ceil(h / depth))
        words, d, width = (None, None, None) if way is None else (way.words, way.exact_width, way.mlp_width)
        lookup = 0 if way is None or depth == 1 else N * s.k * (1 + way.words)
        route, facts_in = ("embedding", EMBEDDINGS) if depth == 1 else ("layers", f"{EMBEDDINGS}, lookup tables")
        of_answers = bound(hops_bits(N, R, h) if depth == 1 else None)
        ways.append(HopCosts(route, facts_in, False, depth, passes, words, d, width, lookup, *of_answers))
    half = tables_bits(N, R) / (2 * N)
    routes = {"middle": (f"{EMBEDDINGS}, unembedding", half), "two-layers": (f"{EMBEDDINGS}, unembedding", half),
              "wide": ("MLP", None), "chain": (EMBEDDINGS, hops_bits(N, R, 1))}
    for route, (facts_in, least) in routes.items() if h > 1 else ():
        c = Construction(N=N, R=R, hops=h, route=route)
        d, width = (c.d, c.width) if c.coded <= MOST_CODED else (None, None)
        passes = h if route == "chain" else 1
        ways.append(HopCosts(route, facts_in, route == "chain", 1, passes, R**c.ahead, d, width, 0, *bound(least)))
    few = R * math.lgamma(N + 1) <= math.log(QUICK_TABLES) and R**h <= QUICK_TABLES
    return HopDepths(N, R, h, bits, tuple(ways), count_answers(N, R, h) if few else None, tables_bits(N, R))


# The answers that there are to tell apart


def hops_bits(N: int, R: int, h: int) -> float | None:
    """Bits that an embedding must hold for all words of h relations, one pass and any depth: a lower bound on
    log2 of `count_answers`. None outside its range, 1 + R + ... + R^(h-1) <= N.

    R log2[(N - T_{h-2})! / (N - T_{h-1})!], T_j = 1 + R + ... + R^j: the formula `geometric.bound.hops`, also for
    R = 1 and without cancellation at large N.

    >>> hops_bits(16, 1, 1), hops_bits(4, 2, 3)
    (4.0, None)
    """
    n, factors = N - sum(R**j for j in range(h - 1)), R ** (h - 1)
    if factors > n:
        return None
    if factors <= MOST_FACTORS:
        return R * math.log2(math.perm(n, factors))
    return R * (math.lgamma(n + 1) - math.lgamma(n - factors + 1)) / math.log(2)


def tables_bits(N: int, R: int) -> float:
    """log2 of the number of tables, R log2 N!: no count can exceed it."""
    return R * math.lgamma(N + 1) / math.log(2)


def count_answers(N: int, R: int, h: int) -> int:
    """How many different lists of answers to the R^h words of h relations subject 0 can have, over all tables.

    Raises SettingError where there are more than 10^6 tables.

    >>> count_answers(3, 2, 1), count_answers(3, 2, 2)
    (9, 25)
    """
    if R * math.lgamma(N + 1) > math.log(MOST_TABLES) + BITS_ROUNDING:
        raise SettingError("N", f"N={N}: {R} bijections of {N} subjects make (N!)^R tables, and {MOST_TABLES} is the "
                           "most that is enumerated")
    return len({answers_of(table, 0, h) for table in itertools.product(itertools.permutations(range(N)), repeat=R)})


def answers_of(table: Sequence[Sequence[int]], subject: int, h: int) -> tuple[int, ...]:
    """Where every word of h relations leads from a subject."""
    reached: tuple[int, ...] = (subject,)
    for _ in range(h):
        reached = tuple(f[x] for x in reached for f in table)
    return reached
