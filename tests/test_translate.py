"""The translation to JavaScript: every construct that it knows, against Python; what it does not know is refused."""

from __future__ import annotations

import dataclasses
import functools
import math

import numpy as np
import pytest
from javascript import Script, difference

from recall_theory.pages import runtime
from recall_theory.pages.translate import Linker
from recall_theory.pages.translate.linker import Untranslatable
from recall_theory.theory import formulas
from recall_theory.theory.formulas.registry import SYMBOLS

# --- what is translated below: ordinary Python, one construct after another ---------------------------------

SCALE = np.array([1.0, 2.0, 4.0])
PAIRS = [(3, 1), (1, 2), (3, 1)]
NAMES = {"low": (1, 2), "high": (3, 4)}


@dataclasses.dataclass(frozen=True)
class Pair:
    left: float
    right: float = 2.0
    more: dict[str, float] = dataclasses.field(default_factory=dict)

    @property
    def total(self) -> float:
        return self.left + self.right

    def times(self, factor: float, and_more: float = 0.0) -> float:
        return self.total * factor + and_more


class Table:
    def __init__(self, start: float, n: int = 3):
        self.values = start + np.arange(n)

    def __call__(self, i: int) -> float:
        return self.values[i]


def operators(x, y):
    return [x + y, x - y, x * y, x / y, x // y, x % y, x**y, -x, +x, [1] + [2, 3], (0, 1) * 2, "a" + "b"]


def comparisons(x, y):
    return [x < y, x <= y, x > y, x >= y, x == y, x != y, x < y < 10, x is None, y is not None, x in (1, 2),
            "b" in "abc", not x, x and y, x or y, "yes" if x < y else "no"]


def loops(n):
    total, seen = 0.0, []
    for i, (a, b) in enumerate(zip(range(n), reversed(range(n)), strict=True)):
        if i == 1:
            continue
        total += a * b
        seen.append((i, a - b))
    while total > 3:
        total /= 2
        if total < 4:
            break
    return [total, seen]


def comprehensions(n):
    squares = {k: k * k for k in range(n) if k % 2}
    return [[a * b for a in range(n) for b in range(a)], list(squares.items()), sum(x for x in range(n)),
            [x for x, _ in sorted(set(PAIRS))], any(x > 2 for x in range(n)),
            all(x > 2 for x in range(n))]


def arrays(n):
    x = np.linspace(0, 1, n)[:, None] * SCALE
    x[0] = 7
    x[1:, -1] += 1
    y = x[:, [0, 2]] @ np.ones((2, 1))
    return [x.tolist(), y.ravel().tolist(), x.shape, x.sum(), x.sum(axis=0).tolist(), x.max(-1, keepdims=True).tolist(),
            np.where(x > 1, x, 0).tolist(), x[x > 2].tolist(), len(x), x.ndim, np.concatenate([x, x]).shape]


def objects(x):
    pair, table = Pair(x, more={"y": 1}), Table(x)
    other = dataclasses.replace(pair, left=10.0)
    first, *rest = dataclasses.astuple(Pair(1.0))
    return [pair.total, pair.times(2), pair.times(2, and_more=1), other.total, pair.left, table(1), first, len(rest),
            {**pair.more, "z": 3}["z"], NAMES["high"][1], [f.name for f in dataclasses.fields(Pair(1.0))]]


@functools.cache
def remembered(n):
    return np.arange(n) + 0.5


def nested(x, factor=3):
    def inner(y, extra=1):
        return y * factor + extra + x

    def many(*values):
        return sum(values)

    chosen = (lambda z: z + 1)(x)
    return [inner(1), inner(1, extra=2), many(1, 2, 3), many(*[4, 5]), chosen, remembered(3)[1], remembered(3)[2]]


def reserved(new, default):
    function = new + default
    return function


CALLS = [(operators, (7, 2)), (operators, (-7.5, 2)), (comparisons, (1, 2)), (comparisons, (2, 1)),
         (comparisons, (0, 0)), (loops, (6,)), (comprehensions, (5,)), (arrays, (4,)), (objects, (1.5,)),
         (nested, (2,)), (reserved, (1, 2))]


@pytest.fixture(scope="module")
def translated():
    linker = Linker()
    names = {f: linker.reference(f) for f, _ in CALLS}
    with Script(runtime.source() + linker.source()) as script:
        yield script, names


def as_json(value):
    if isinstance(value, list | tuple):
        return [as_json(v) for v in value]
    return value.item() if isinstance(value, np.generic) else value


@pytest.mark.parametrize("function, arguments", CALLS, ids=[f"{f.__name__}{a}" for f, a in CALLS])
def test_every_construct_gives_what_python_gives(translated, function, arguments):
    script, names = translated
    found = script.value(f"{names[function]}({', '.join(map(repr, arguments))})")
    assert difference(found, as_json(function(*arguments))) <= 1e-14, (found, function(*arguments))


def with_a_set():
    return {1, 2}


def with_a_try():
    try:
        return 1
    except ValueError:
        return 2


def with_an_unknown_name():
    return nowhere  # noqa: F821


def with_a_module():
    return math


@pytest.mark.parametrize("function", [with_a_set, with_a_try, with_an_unknown_name, with_a_module])
def test_what_is_not_known_is_refused(function):
    linker = Linker()
    linker.reference(function)
    with pytest.raises(Untranslatable):
        linker.source()


# --- the formulas ---------------------------------------------------------------------------------------------

def test_every_formula_translated_is_its_sympy_expression():
    """The page's code of each registered formula against the sympy expression at 50 digits, at random sizes."""
    rng = np.random.default_rng(3)
    linker = Linker()
    known = {name: f for name, f in formulas.items() if f.expr is not None}
    code = {name: linker.reference(f.function) for name, f in known.items()}
    script = Script(runtime.source() + linker.source())
    untried = []
    for name, formula in known.items():
        seen = 0
        for _ in range(8):
            values = {a: _drawn(a, rng) for a in formula.arguments}
            try:
                exact = float(formula.evaluate(**values))
            except (ValueError, TypeError):  # a pole, or a root of a negative number: outside the formula's domain
                continue
            found = script.value(f"{code[name]}({', '.join(map(repr, values.values()))})")
            assert abs(found - exact) <= 1e-9 * max(1.0, abs(exact)), (name, values)
            seen += 1
        if not seen:
            untried.append(name)
    assert len(untried) <= 2, untried


def _drawn(argument, rng):
    """A value well inside the domain, so that every formula is real and finite."""
    whole = {"V": (64, 4096), "L": (4, 128), "d": (8, 512), "N": (10_000, 10**7), "m": (64, 4096), "errors": (0, 9)}
    if argument in ("e", "kappa"):
        return int(rng.integers(2))
    if argument in whole:
        return int(rng.integers(*whole[argument]))
    if SYMBOLS[argument].integer:
        return int(rng.integers(2, 30))
    return float(rng.uniform(1.1, 2))
