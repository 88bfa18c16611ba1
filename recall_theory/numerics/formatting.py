"""Numbers as text: how they are read from what people type, and shown to them; and plain data as JSON and as CSV.

65536, 1e6, 2^16, 1_000 and 65,536 are all integers. What is shown is whole, and never rounded to a certainty that it
doesn't have.
"""

from __future__ import annotations

import contextlib
import csv
import functools
import io
import json
import math
import os
import re
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

from ..errors import SettingError

NOTHING = "-"
LONGEST_NUMBER = 60  # characters; a longer number is beyond every range
MOST_DECIMALS = 5  # of a mean beside its error
BEYOND_EVERY_RANGE = 10**40  # stands for every greater integer: beyond every range, and still quick to compute

_POWER = re.compile(r"([+-]?\d+)(?:\^|\*\*)(\d+)", re.ASCII)
_THOUSANDS = re.compile(r"[+-]?\d{1,3}(,\d{3})+", re.ASCII)
_DECIMAL = re.compile(r"[+-]?(\d+(_\d+)*\.?(\d+(_\d+)*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def parse_integer(text: str) -> int | None:
    """The integer that the text stands for, exactly up to `BEYOND_EVERY_RANGE`; None where it stands for none.

    >>> parse_integer("1e6"), parse_integer("2^16"), parse_integer("65,536"), parse_integer("1.5")
    (1000000, 65536, 65536, None)
    """
    text = text.strip()
    if len(text) > LONGEST_NUMBER:
        return None
    if power := _POWER.fullmatch(text):
        exponent = int(power[2])
        value = Decimal(int(power[1]) ** min(exponent, 140 + exponent % 2))  # 2^140 is beyond already
    elif _THOUSANDS.fullmatch(text) or _DECIMAL.fullmatch(text):
        try:
            value = Decimal(text.replace(",", "").replace("_", ""))
        except InvalidOperation:  # an exponent of twenty digits
            return None
    else:
        return None
    value = max(min(value, Decimal(BEYOND_EVERY_RANGE)), Decimal(-BEYOND_EVERY_RANGE))
    return int(value) if value == value.to_integral_value() else None


def parse_real(text: str) -> float | None:
    """The number that the text stands for (inf and nan too: the range decides); None for none."""
    text = text.strip()
    if len(text) > LONGEST_NUMBER or not text.isascii():
        return None
    try:
        return float(text)
    except ValueError:
        whole = parse_integer(text)
        return None if whole is None else float(whole)


def _or_nothing(write: Callable[[float], str]) -> Callable[[float | None], str]:
    """What writes a number made to write `NOTHING` for a missing one."""

    @functools.wraps(write)
    def written(value: float | None) -> str:
        return NOTHING if value is None or math.isnan(value) else write(value)

    return written


def three_digits(value: float) -> str:
    """A number to three significant digits, also an integer that no float holds.

    >>> three_digits(65536), three_digits(9 * 10**400)
    ('6.55e+04', '9.00e+400')
    """
    try:
        return f"{float(value):.3g}"
    except OverflowError:
        return f"{Decimal(value):.2e}"


@_or_nothing
def count(value: float) -> str:
    """A count with thousands apart: 65536 -> "65,536"; beyond 10^15 as a power of ten.

    >>> count(65536), count(None), count(2.5e20)
    ('65,536', '-', '2.5e+20')
    """
    return f"{round(value):,}" if abs(value) <= 10**15 else three_digits(value)


def number(value: float | None, digits: int = 3) -> str:
    """A real number to `digits` significant digits; large ones with thousands apart.

    >>> number(0.012345), number(123456.7), number(2.0)
    ('0.0123', '123,457', '2')
    """
    if value is not None and 10**digits <= abs(value) <= 10**15:
        return count(value)
    return NOTHING if value is None or math.isnan(value) else f"{value:.{digits}g}"


two_digits = functools.partial(number, digits=2)


def exact(value: float) -> str:
    """A number that the user gave, with all its digits: 0.9999999999999999 is not 1.

    >>> exact(0.99), exact(1 - 1e-16), exact(64.0)
    ('0.99', '0.9999999999999999', '64')
    """
    return repr(int(value)) if value == int(value) and abs(value) <= 10**15 else repr(float(value))


@_or_nothing
def probability(value: float) -> str:
    """A probability to four decimals, with more where it would round to 0 or 1.

    >>> probability(0.98765), probability(0.999987), probability(1 - 1e-12), probability(1.0)
    ('0.9877', '0.999987', '>0.999999999', '1')
    """
    if value in (0, 1):
        return str(int(value))
    if value < 1e-4:
        return f"{value:.2g}"
    missing = 1 - value
    if missing < 1e-9:
        return ">0.999999999"
    digits = 4 if missing >= 1e-4 else 1 - math.floor(math.log10(missing))
    return f"{value:.{digits}f}"


def brief(p: float, decimals: int = 3) -> str:
    """A probability in few characters: to three decimals, to two digits where these are more, to one below 0.001.

    >>> brief(0.85342), brief(0.00714), brief(1.0), brief(3.21e-6), brief(0.0)
    ('.853', '.0071', '1.00', '3e-6', '0')
    """
    if p == 0:
        return "0"
    if p < 10**-decimals:
        digit, exponent = f"{p:.0e}".split("e")
        return f"{digit}e{int(exponent)}"
    text = f"{p:.{max(decimals, 1 - math.floor(math.log10(p)))}f}"
    return text[1:] if text.startswith("0") else text[:4]


def with_error(mean: float | None, error: float | None) -> str:
    """A mean probability with its standard error, to two significant digits of the error; none where it is missing.

    >>> with_error(0.7361, 0.0539), with_error(0.0009766, 0.0003121), with_error(0.5, math.nan), with_error(1.0, 0.0)
    ('.736 ± .054', '.00098 ± .00031', '.500', '1.00 ± 0')
    """
    if mean is None or math.isnan(mean):
        return NOTHING
    if error is None or math.isnan(error):
        return brief(mean)
    decimals = max(3, min(MOST_DECIMALS, 1 - math.floor(math.log10(error)))) if error else 3
    return f"{brief(mean, decimals)} ± {brief(error, decimals)}"


@_or_nothing
def deviation(value: float) -> str:
    """A standard deviation or error, to two significant digits."""
    return f"{value:.2g}" if abs(value) < 1e-3 else f"{value:.4f}"


@_or_nothing
def signed(value: float) -> str:
    """A difference, with its sign; to two significant digits where it is small.

    >>> signed(0.00345), signed(-0.5), signed(0.00002)
    ('+0.0034', '-0.5000', '+2e-05')
    """
    if not math.isfinite(value):
        return NOTHING
    return f"{value:+.2g}" if 0 < abs(value) < 1e-4 else f"{value:+.4f}"


@_or_nothing
def percent(share: float) -> str:
    """A share of one as a percentage.

    >>> percent(0.421), percent(0.0001)
    ('42 %', '<1 %')
    """
    return "<1 %" if 0 < share < 1 / 100 else f"{100 * share:.0f} %"


def sizes(values: Mapping[str, Any], names: Iterable[str]) -> str:
    """The sizes that are given, in words.

    >>> sizes({"V": 1024, "L": 64, "N": None}, "VLN")
    'V = 1,024, L = 64'
    """
    return ", ".join(f"{name} = {count(values[name])}" for name in names if values[name] is not None)


def plural(n: int, noun: str, nouns: str | None = None) -> str:
    """"1 seed", "2 seeds", "1,000 cells"; `nouns` is an irregular plural."""
    return f"{n:,} {noun if n == 1 else nouns or noun + 's'}"


# --- dictionaries and lists of numbers and text, as JSON and as CSV ------------------------------------

SCHEMA_VERSION = 2  # of every command's JSON: raised once a key is renamed


def as_json(data: object) -> str:
    """One JSON value on indented lines, lists of numbers on one; NaN and infinities are null."""
    return _indented(cleaned(data), "") + "\n"


def cleaned(value: Any) -> Any:
    """What JSON can hold: plain lists and numbers, None for NaN and infinities."""
    if isinstance(value, Mapping):
        return {str(k): cleaned(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [cleaned(v) for v in value]
    if hasattr(value, "tolist"):  # a numpy number or array
        return cleaned(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _indented(value: object, margin: str) -> str:
    inner = margin + "  "
    if isinstance(value, dict) and value:
        lines = [f"{inner}{json.dumps(k)}: {_indented(v, inner)}" for k, v in value.items()]
        return "{\n" + ",\n".join(lines) + "\n" + margin + "}"
    if isinstance(value, list) and any(isinstance(v, dict | list) for v in value):
        return "[\n" + ",\n".join(inner + _indented(v, inner) for v in value) + "\n" + margin + "]"
    return json.dumps(value, allow_nan=False)


def as_csv(records: Sequence[Mapping[str, object]]) -> str:
    """A header and one line a record; nested names are joined by dots, missing values are empty."""
    flat = [_flat(record) for record in records]
    names = list(dict.fromkeys(name for record in flat for name in record))
    text = io.StringIO()
    writer = csv.DictWriter(text, names, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(flat)
    return text.getvalue()


def write_whole(path: str, data: bytes) -> None:
    """Replace the file by the data in one step: a reader sees the old file or the new, never a half."""
    path = os.path.realpath(path)
    aside = os.path.join(os.path.dirname(path), f".recall-theory-{os.urandom(6).hex()}.part")
    # Opened as any new file is, so that the user's umask decides who may read it.
    handle = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        with open(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if os.path.exists(path):
            shutil.copymode(path, aside)
        os.replace(aside, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(aside)
        raise


def write_named(name: str, path: str, data: bytes) -> None:
    """`write_whole` of the file that a parameter names; `SettingError` for that parameter where it can't be written."""
    try:
        write_whole(path, data)
    except OSError as error:
        raise SettingError(name, f"{name}={path!r} can't be written: {error.strerror or error}") from None


def _flat(record: Mapping[str, object]) -> dict[str, object]:
    flat: dict[str, object] = {}
    for name, value in record.items():
        plain = cleaned(value)
        flat |= {f"{name}.{k}": v for k, v in _flat(plain).items()} if isinstance(plain, dict) else {name: plain}
    return flat
