"""How numbers are shown to people: whole, and never rounded to a certainty that they don't have."""

from __future__ import annotations

import math

NOTHING = "-"


def count(value: float | None) -> str:
    """A count with thousands apart: 65536 -> "65,536"; beyond 10^15 as a power of ten.

    >>> count(65536), count(None), count(2.5e20)
    ('65,536', '-', '2.5e+20')
    """
    if value is None or math.isnan(value):
        return NOTHING
    if math.isinf(value) or abs(value) > 10**15:
        return f"{float(value):.3g}"
    return f"{round(value):,}"


def number(value: float | None, digits: int = 3) -> str:
    """A real number to `digits` significant digits; large ones with thousands apart.

    >>> number(0.012345), number(123456.7), number(2.0)
    ('0.0123', '123,457', '2')
    """
    if value is None or math.isnan(value):
        return NOTHING
    if 10**digits <= abs(value) <= 10**15:
        return f"{round(value):,}"
    return f"{value:.{digits}g}"


def two_digits(value: float | None) -> str:
    """A real number to two significant digits."""
    return number(value, 2)


def exact(value: float) -> str:
    """A number that the user gave, with all its digits: 0.9999999999999999 is not 1.

    >>> exact(0.99), exact(1 - 1e-16), exact(64.0)
    ('0.99', '0.9999999999999999', '64')
    """
    return repr(int(value)) if value == int(value) and abs(value) <= 10**15 else repr(float(value))


def probability(value: float | None) -> str:
    """A probability to four decimals, with more where it would round to 0 or 1.

    >>> probability(0.98765), probability(0.999987), probability(1 - 1e-12), probability(1.0)
    ('0.9877', '0.999987', '>0.999999999', '1')
    """
    if value is None or math.isnan(value):
        return NOTHING
    if value in (0, 1):
        return str(int(value))
    if value < 1e-4:
        return f"{value:.2g}"
    missing = 1 - value
    if missing >= 1e-4:
        return f"{value:.4f}"
    if missing >= 1e-9:
        return f"{value:.{1 - math.floor(math.log10(missing))}f}"
    return ">0.999999999"


def deviation(value: float | None) -> str:
    """A standard deviation or error, to two significant digits."""
    if value is None or math.isnan(value):
        return NOTHING
    return f"{value:.2g}" if abs(value) < 1e-3 else f"{value:.4f}"


def signed(value: float | None) -> str:
    """A difference, with its sign.

    >>> signed(0.00345), signed(-0.5)
    ('+0.0034', '-0.5000')
    """
    return NOTHING if value is None or not math.isfinite(value) else f"{value:+.4f}"


def percent(share: float) -> str:
    """A share of one as a percentage.

    >>> percent(0.421), percent(0.0001)
    ('42 %', '<1 %')
    """
    if math.isnan(share):
        return NOTHING
    return "<1 %" if 0 < share < 1 / 100 else f"{100 * share:.0f} %"


def ratio(value: float | None) -> str:
    """N/V of a budget; None is the limit N -> infinity."""
    return "limit" if value is None else f"{value:g}"


def plural(n: int, noun: str, nouns: str | None = None) -> str:
    """"1 seed", "2 seeds", "1,000 cells"; `nouns` is an irregular plural."""
    return f"{n:,} {noun if n == 1 else nouns or noun + 's'}"
