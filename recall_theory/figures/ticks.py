"""Where a logarithmic axis of sizes has its ticks, and what stands at them."""

from __future__ import annotations

import math
from typing import Any

FEWEST, MOST = 3, 7


def plain_ticks(axis: Any, values: Any) -> None:
    """Ticks of a logarithmic axis at round numbers, 1 2 5 or powers of ten or two, written out where they are short."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    low, high = float(min(values)), float(max(values))
    axis.set_major_locator(FixedLocator(round_numbers(low, high)))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda v, _: label(v, high)))


def round_numbers(low: float, high: float) -> list[float]:
    """Three to seven round numbers in the range: powers of ten over many decades, powers of two where there are
    enough, else 1, 2 and 5, else even steps.

    >>> round_numbers(14, 80), round_numbers(300, 5e6), round_numbers(33, 249)
    ([16.0, 32.0, 64.0], [1000.0, 10000.0, 100000.0, 1000000.0], [50.0, 100.0, 200.0])
    >>> round_numbers(33, 85)
    [40.0, 50.0, 60.0, 70.0, 80.0]
    """
    if high / low > 2000:
        return _thinned([10.0**k for k in _powers(low, high, 10)])
    twos = [2.0**k for k in _powers(low, high, 2)]
    if len(twos) >= FEWEST:
        return _thinned(twos)
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    found = [x for k in decades for lead in (1.0, 2.0, 5.0) if low <= (x := lead * 10.0**k) <= high]
    if len(found) >= FEWEST or high <= low:
        return found or [low]
    rough = (high - low) / FEWEST
    if high - low >= 2:  # sizes are whole numbers
        rough = max(rough, 1)
    step = max(lead * 10.0**k for k in range(-12, 16) for lead in (1, 2, 5) if lead * 10.0**k <= rough)
    return [round(n * step, 12) for n in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)]


def _powers(low: float, high: float, base: int) -> range:
    return range(math.ceil(math.log(low, base) - 1e-9), math.floor(math.log(high, base) + 1e-9) + 1)


def _thinned(values: list[float]) -> list[float]:
    return values[::max(1, math.ceil(len(values) / MOST))]


def label(value: float, high: float) -> str:
    """A tick in plain digits where all are short, else as a power.

    >>> label(64, 512), label(65536, 1e6), label(1000, 1e6), label(97.5, 98)
    ('64', '$2^{16}$', '$10^{3}$', '97.5')
    """
    if high < 20_000:
        return f"{value:.4g}"
    for base in (10, 2):
        power = math.log(value, base)
        if abs(power - round(power)) < 1e-9:
            return f"${base}^{{{round(power)}}}$"
    return f"{value:,.0f}"
