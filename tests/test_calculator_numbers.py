"""Numbers on the calculator page are read as on the command line and written as in its tables."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from py_mini_racer import MiniRacer

from recall_theory.cli.numbers import integer
from recall_theory.pages import document
from recall_theory.report import numbers


@pytest.fixture(scope="module")
def script():
    """Evaluates an expression with the functions of numbers.js."""
    with MiniRacer() as engine:  # left open, it may keep the interpreter from ending
        engine.eval(document.text("recall_theory.pages.calculator", "numbers.js"))
        yield lambda expression: json.loads(engine.eval(f"JSON.stringify({expression})"))


def assert_read_alike(script, text):
    expected, found = integer(text), script(f"(x => x === null ? null : String(x))(parseInteger({json.dumps(text)}))")
    if expected is None or found is None:
        assert (found, expected) == (None, None), text
    elif abs(expected) <= 2**53:
        assert float(found) == expected, text
    else:  # beyond every domain
        assert abs(float(found)) > 2**53 and (float(found) > 0) == (expected > 0), text


@pytest.mark.parametrize("text", [
    "1e6", "2^16", "2**16", "1_000", "65,536", " 7 ", "1.5e3", "0x10", "1.5", "1__0", "12,34", "1e-400", "-2^2", "",
    "e5", "1" * 61, "0^0", "1^99999999999", "-1^3", "2^500", "-3^501", ".5e1", "5.", "00e9", "+3", "1e99999999999",
    "0.0e-5", "100e-2", "2^0", "1e", "٣", "½", "2^2^2", "--1", "999999999999999", "1e15", "3^31", "nan", "inf",
    "1.0000000000000000001",
])
def test_integers_are_read_as_on_the_command_line(script, text):
    assert_read_alike(script, text)


@given(text=st.text("0123456789eE+-_.,^* ", max_size=14))
def test_any_text_is_read_as_on_the_command_line(script, text):
    assert_read_alike(script, text)


FINITE = st.floats(1e-300, 1e300) | st.floats(0, 1) | st.integers(0, 2**20).map(lambda k: k / 2**10)


@given(x=FINITE)
def test_numbers_are_written_as_in_the_tables(script, x):
    share = x % 1
    shown = script(f"[number({x!r}), deviation({share!r}), probability({share!r}), percent({share!r})]")
    assert shown == [numbers.number(x), numbers.deviation(share), numbers.probability(share), numbers.percent(share)]
    assert script(f"count(Math.floor({x!r}))") == numbers.count(math.floor(x))


@given(digits=st.integers(3, 16), x=st.floats(0, 1))
def test_probabilities_near_one_keep_their_digits(script, digits, x):
    p = 1 - (x + 0.01) * 10.0**-digits
    assert script(f"probability({p!r})") == numbers.probability(p)
