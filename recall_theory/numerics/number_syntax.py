"""Numbers as people type them: 65536, 1e6, 2^16, 1_000 and 65,536 are all integers."""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation

LONGEST = 60  # characters; a longer number is beyond every range
MOST_DIGITS = 40  # beyond every range, and still quick to compute
BEYOND = 10**MOST_DIGITS  # stands for any integer that is too large to write out

_POWER = re.compile(r"([+-]?\d+)(?:\^|\*\*)(\d+)", re.ASCII)
_THOUSANDS = re.compile(r"[+-]?\d{1,3}(,\d{3})+", re.ASCII)
_DECIMAL = re.compile(r"[+-]?(\d+(_\d+)*\.?(\d+(_\d+)*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def parse_integer(text: str) -> int | None:
    """The integer that the text stands for, exactly; None where it stands for none.

    >>> parse_integer("1e6"), parse_integer("2^16"), parse_integer("65,536"), parse_integer("1.5")
    (1000000, 65536, 65536, None)
    """
    text = text.strip()
    if len(text) > LONGEST:
        return None
    if power := _POWER.fullmatch(text):
        base, exponent = int(power[1]), int(power[2])
        if abs(base) > 1 and exponent * abs(base).bit_length() > 4 * MOST_DIGITS:
            return BEYOND if base > 0 or exponent % 2 == 0 else -BEYOND
        return int(base**exponent)
    if _THOUSANDS.fullmatch(text):
        return int(text.replace(",", ""))
    if not _DECIMAL.fullmatch(text):
        return None

    try:
        value = Decimal(text.replace("_", ""))
    except InvalidOperation:
        return None
    if value and value.adjusted() > MOST_DIGITS:
        return BEYOND if value > 0 else -BEYOND
    if value and value.adjusted() < -MOST_DIGITS:
        return None
    return int(value) if value == value.to_integral_value() else None


def parse_real(text: str) -> float | None:
    """The number that the text stands for (inf and nan too: the range decides); None for none."""
    text = text.strip()
    if len(text) > LONGEST or not text.isascii():
        return None
    whole = parse_integer(text) if _POWER.fullmatch(text) or _THOUSANDS.fullmatch(text) else None
    try:
        return float(text) if whole is None else float(whole)
    except ValueError:
        return None
