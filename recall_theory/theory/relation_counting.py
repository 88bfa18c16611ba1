"""How many answers there are to tell apart: exact counts by enumeration, and the bound that holds beyond them.

A table is one choice of R bijections of N subjects. A word of h relations, asked of a subject, leads to one
answer.
"""

from __future__ import annotations

import itertools
import math

from ..errors import SettingError

MOST_TABLES = 10**6  # tables of R bijections that an enumeration goes through

Table = tuple[tuple[int, ...], ...]


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
