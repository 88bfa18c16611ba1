"""Where a logarithmic axis of sizes has its ticks."""

from __future__ import annotations

import math

MOST = 7


def round_numbers(low: float, high: float) -> list[float]:
    """At most seven round numbers in the range, evenly spaced in the logarithm: powers of two, four, ... or of ten.

    >>> round_numbers(14, 80), round_numbers(100, 5e6)
    ([16.0, 32.0, 64.0], [100.0, 1000.0, 10000.0, 100000.0, 1000000.0])
    """
    if high / low > 2000:
        first, last = math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9)
        return [10.0**k for k in range(first, last + 1, max(1, math.ceil((last - first + 1) / MOST)))]
    first, last = math.ceil(math.log2(low) - 1e-9), math.floor(math.log2(high) + 1e-9)
    if last - first < 1:  # less than two powers of two: the ends, and what is between
        return sorted({float(round(low)), float(round(math.sqrt(low * high))), float(round(high))})
    return [2.0**k for k in range(first, last + 1, max(1, math.ceil((last - first + 1) / MOST)))]


def label(value: float, high: float) -> str:
    """A tick in plain digits where all are short, else as a power.

    >>> label(64, 512), label(65536, 1e6), label(1000, 1e6)
    ('64', '$2^{16}$', '$10^{3}$')
    """
    if high < 20_000:
        return f"{value:.0f}"
    for base in (10, 2):
        power = math.log(value, base)
        if abs(power - round(power)) < 1e-9:
            return f"${base}^{{{round(power)}}}$"
    return f"{value:.3g}"
