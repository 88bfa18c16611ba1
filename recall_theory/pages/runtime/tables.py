"""The numbers behind special.js: each special function is an elementary factor times a smooth rest, and the
rest is a polynomial on each of a few pieces of an interval.

    python -m recall_theory.pages.runtime.tables

writes special_tables.js. Nothing there is copied from a book: the rests are evaluated to 40 digits from their
definitions, and fitted in Chebyshev's nodes with as many terms as keep the relative error below `ERROR`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from mpmath import cos, e, erf, erfc, exp, findroot, lambertw, loggamma, lu_solve, matrix, mp, mpf, pi, polyval, sqrt
from mpmath import log as ln

__all__ = ["ERROR", "TABLES", "Table", "piece", "source"]

DIGITS = 40
ERROR = 2.0**-58  # a thirtieth of a float's rounding
MAP = 4  # x in [0, inf) becomes MAP / (MAP + x) in (0, 1]
SMALLEST = 5e-324  # the least positive float


@dataclasses.dataclass(frozen=True)
class Table:
    """`rest`, smooth and without zeros on [low, high], by polynomials on `pieces` equal parts.

    Each polynomial has `terms` coefficients, an even number. `rest` takes mpmath numbers inside the interval, not its
    ends.
    """

    name: str
    rest: Callable[[Any], Any]
    low: Any
    high: Any
    pieces: int
    terms: int


def _mills(t: Any) -> Any:
    """e^(x^2/2) P(normal > x) / t at t = MAP / (MAP + x)."""
    x = MAP / t - MAP
    return exp(x * x / 2) * erfc(x / sqrt(mpf(2))) / 2 / t


def _error(square: Any) -> Any:
    """erf(x) / x."""
    return erf(sqrt(square)) / sqrt(square)


def _quantile_middle(square: Any) -> Any:
    """x / q where P(normal < x) = 1/2 + q, of q^2."""
    q = sqrt(square)
    return findroot(lambda x: erf(x / sqrt(mpf(2))) / 2 - q, q * sqrt(2 * pi)) / q


def _quantile_tail(t: Any) -> Any:
    """t x where P(normal > x) = e^(-r^2/2) at t = MAP / (MAP + r)."""
    r = MAP / t - MAP
    start = r - ln(2 * pi * r * r) / (2 * r) if r > 2 else r - 1
    return t * findroot(lambda x: ln(erfc(x / sqrt(mpf(2))) / 2) + r * r / 2, start)


def _gamma(x: Any) -> Any:
    """ln Gamma(x) without its zeros at 1 and 2."""
    return loggamma(x) / ((x - 1) * (x - 2))


def _stirling(t: Any) -> Any:
    """x (ln Gamma(x) - Stirling's formula) at x = 1/t."""
    x = 1 / t
    return x * (loggamma(x) - (x - mpf(1) / 2) * ln(x) + x - ln(2 * pi) / 2)


def _deviance(u: Any) -> Any:
    """(u - ln(1 + u)) / u^2."""
    return (u - ln(1 + u)) / u**2


def _lambert(p: Any) -> Any:
    """W(x) / x where p = sqrt(2 (e x + 1))."""
    x = (p * p / 2 - 1) / e
    return (lambertw(x) / x).real


def _tables() -> Iterator[Table]:
    most = sqrt(-2 * ln(mpf(SMALLEST)))
    yield Table("mills", _mills, mpf(0), mpf(1), 16, 10)
    yield Table("error", _error, mpf(0), mpf(1) / 4, 2, 8)
    yield Table("quantileMiddle", _quantile_middle, mpf(0), mpf(9) / 100, 8, 10)
    yield Table("quantileTail", _quantile_tail, MAP / (MAP + most), MAP / (MAP + mpf("1.79")), 32, 10)
    yield Table("gamma", _gamma, mpf(1) / 2, mpf(3), 20, 14)  # 1 and 2 between two pieces
    yield Table("stirling", _stirling, mpf(0), mpf(1), 16, 10)
    yield Table("deviance", _deviance, -mpf(1) / 2, mpf(1), 24, 12)  # 0 between two pieces
    yield Table("lambert", _lambert, mpf(0), mpf(3), 16, 14)


with mp.workdps(DIGITS):
    TABLES = tuple(_tables())


def piece(table: Table, index: int) -> list[float]:
    """Coefficients of one piece, highest power first, in u from -1/2 to 1/2 along it.

    Raises ArithmeticError where the polynomial misses the rest by more than `ERROR` of itself.
    """
    with mp.workdps(DIGITS):
        n = table.terms
        width = (table.high - table.low) / table.pieces
        middle = table.low + width * (index + mpf(1) / 2)

        def rest(u: Any) -> Any:
            return table.rest(middle + width * u)

        nodes = [cos(pi * (k + mpf(1) / 2) / n) / 2 for k in range(n)]
        powers = matrix([[u ** (n - 1 - k) for k in range(n)] for u in nodes])
        found = list(lu_solve(powers, matrix([rest(u) for u in nodes])))
        for k in range(n):  # between the nodes, near the ends
            u = cos(pi * (k + mpf(1) / 8) / n) / 2
            if not abs(polyval(found, u) / rest(u) - 1) < ERROR:
                raise ArithmeticError(f"{table.name}: {n} terms are too few for piece {index}")
        return [float(c) for c in found]


def source() -> str:
    """The text of special_tables.js."""
    lines = ["// Written by recall_theory/pages/runtime/tables.py; special.js tells what each table is.",
             "const specialTables = {"]
    for table in TABLES:
        with mp.workdps(DIGITS):
            low, scale = float(table.low), float(table.pieces / (table.high - table.low))
        numbers = [c for index in range(table.pieces) for c in piece(table, index)]
        lines += [f"  {table.name}: {{low: {low!r}, scale: {scale!r}, pieces: {table.pieces}, terms: {table.terms},",
                  "    numbers: ["]
        lines += ["      " + ", ".join(map(repr, numbers[start:start + 4])) + ","
                  for start in range(0, len(numbers), 4)]
        lines += ["    ]},"]
    with mp.workdps(DIGITS):
        head = float(1 / e)
        lines += [f"  inverseE: [{head!r}, {float(1 / e - head)!r}], // 1/e as a float and what it misses"]
    return "\n".join([*lines, "};", ""])


if __name__ == "__main__":
    Path(__file__).with_name("special_tables.js").write_text(source(), encoding="utf-8")
