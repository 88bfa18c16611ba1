"""Why a formula fails, for people: regimes, exponents, and terms that have the shape of what is missing."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from .answer import Block, Column, Prose, Table
from .numbers import count, number, percent, plural, signed

if TYPE_CHECKING:
    from ..verification.residual_analysis import Explanation, Missing

MOST_TERMS = 4


def blocks(found: Explanation) -> list[Block]:
    """The explanation of a verification whose formula is not the library's own."""
    columns = [Column("regime", words=True), Column("observable", words=True), Column("cells"), Column("disagree"),
               Column("mean difference"), Column("largest")]
    rows = [[r.name, r.observable, count(r.cells), count(r.disagree), signed(r.mean_difference), signed(r.largest)]
            for r in found.regimes]
    parts: list[Block] = [Table(columns, rows, title="Where it fails: by what limits the model", groups=2)]
    for m in found.missing:
        parts += _about(m)
    if not found.missing:
        parts.append(Prose("No cell shows a difference beyond doubt whose noise could be told."))
    return parts


def _about(m: Missing) -> list[Block]:
    what = "lacks noise" if m.sign > 0 else "has too much noise"
    title = f"What is off in {m.observable}: it {what}, in {plural(m.cells, 'cell')} beyond doubt"
    if not m.exponents:
        parts: list[Block] = [Prose(title + "; too few for exponents.")]
    else:
        rows = [[e.size, f"{e.value:+.2f}", f"{e.low:+.2f} to {e.high:+.2f}"] for e in m.exponents]
        parts = [Table([Column("size", words=True), Column("exponent"), Column("95 % interval")], rows, title=title)]
    if m.terms:
        rows = [[t.term, number(t.ratio, 2), number(t.scatter, 2), number(t.share, 2)] for t in m.terms[:MOST_TERMS]]
        parts.append(Table([Column("term", words=True), Column("ratio"), Column("scatter"), Column("share")], rows,
                           title="Terms of the theory most like it"))
        fit = "" if math.isnan(m.misfit) else f" Shares: the sum of terms that comes nearest ({percent(m.misfit)} off)."
        parts.append(Prose("Noise is (noise/signal)^2. Ratio is what is off over the term, scatter the standard "
                           "deviation of its logarithm over cells: a term left out has a small scatter and a ratio "
                           f"near 1.{fit}", remark=True))
    return parts
