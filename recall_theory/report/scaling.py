"""A scaling experiment: critical values and the exponent, observed beside predicted."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ..settings import PARAMETERS
from .answer import Answer, Block, Column, Prose, Table
from .numbers import NOTHING, count, deviation, number

if TYPE_CHECKING:
    from ..sweep.scaling import Scaling


def answer(found: Scaling) -> Answer:
    """The experiment in its three forms."""
    return Answer(found.to_dict(), found.records(), _blocks(found))


def _blocks(found: Scaling) -> list[Block]:
    known = ", ".join(f"{'N/V' if n == 'ratio' else n} = {v if isinstance(v, str) else number(v)}"
                      for n, v in found.fixed.items()
                      if not isinstance(v, bool) and v is not None and v != _default(n))
    rows = []
    for p in found.points:
        low, high = p.interval
        seen = not math.isnan(p.observed)
        rows.append([count(p.value), number(p.predicted, 4), number(p.observed, 4),
                     f"{number(low, 4)} to {number(high, 4) if high < math.inf else 'no end'}" if seen else p.reason,
                     number(p.observed / p.predicted, 4) if seen and not math.isnan(p.predicted) else NOTHING,
                     count(p.simulated)])
    blocks: list[Block] = [
        Prose(f"The {found.of} at which {found.observable} is {found.at:g}, along {found.along}"
              + (f" ({known})" if known else ""), heading=True),
        Table([Column(found.along), Column("predicted"), Column("observed"), Column("95 % interval", words=True),
               Column("observed / predicted"), Column("simulated seeds")], rows),
    ]
    left_out = [count(p.value) for p in found.points if not math.isnan(p.observed) and not p.se_log > 0]
    if found.line is None:
        return [*blocks, Prose("An exponent needs two critical values whose intervals have both ends; more --seeds "
                               "narrow them."), Prose(f"--seed {found.seed}.")]
    low, high = found.interval
    predicted = found.predicted_exponent
    blocks.append(Table(
        [Column("exponent", words=True), Column("value"), Column("95 % interval"), Column("se")],
        [["observed", f"{found.line.slope:.3f}", f"{low:.3f} to {high:.3f}", deviation(found.line.se)],
         ["predicted", NOTHING if math.isnan(predicted) else f"{predicted:.3f}", NOTHING, NOTHING],
         ["observed - predicted", *([NOTHING] * 2 if math.isnan(predicted) else
                                    [f"{found.line.slope - predicted:+.3f}",
                                     f"{low - predicted:+.3f} to {high - predicted:+.3f}"]), NOTHING]],
        title=f"{found.of} ~ {found.along}^exponent"))
    if left_out:
        blocks.append(Prose(f"Not in the line: {found.along} = {', '.join(left_out)}, whose interval lacks an end; "
                            "more --seeds narrow it."))
    chance = found.line.p_value
    if not math.isnan(chance):
        bent = ": it bends, and the exponent is that of this range" if chance < 1 / 100 else ""
        blocks.append(Prose("Points as far from a straight line as these, by their errors alone, have probability "
                            f"{number(chance, 2)}{bent}."))
    blocks += [Prose(f"--seed {found.seed}."),
               Prose("The predicted exponent is the same line through the predicted critical values. Pilots only say "
                     "where to look; their seeds are not used again.", remark=True)]
    return blocks


def _default(name: str) -> object:
    return PARAMETERS[name].default if name in PARAMETERS else None
