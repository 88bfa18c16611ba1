"""The special functions that the calculator page computes with, in V8: against their definitions at 50 digits, and
against scipy.special, whose names and conventions they have."""

import dataclasses
import json
import math

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp, mpf
from scipy import special as scipy_special

from recall_theory.pages import runtime
from recall_theory.pages.runtime import tables

INF, NAN = math.inf, math.nan
ONE = ("ndtr", "log_ndtr", "ndtri", "erf", "erfc", "erfcx", "gammaln", "lambertw", "expit")
TWO = ("pdtr", "pdtrc", "pdtrik", "xlogy", "xlog1py")
SPECIAL = (INF, -INF, NAN, 0.0, -0.0, 5e-324, 1e-300, 1e-8, 0.2, 0.3, 0.5, 0.7, 0.8, 1.0, 2.0, 2.7, 3.0, 9.0, 26.0,
           37.0, 1e7, 1e17, 1e300, -5e-324, -1e-8, -0.5, -1.0, -2.0, -5.5, -26.0, -37.0, -1e7, -1e300)


class Engine:
    """The runtime in V8; `change` is a line run before special.js reads its tables."""

    def __init__(self, change=""):
        from py_mini_racer import MiniRacer

        self.context = MiniRacer()
        self.context.eval(runtime.source().replace("const special = ", f"{change}\nconst special = ", 1))
        self.context.eval("const told = (x) => JSON.stringify(Array.from(nd.asarray(x).data, String));")

    def values(self, expression):
        found = json.loads(self.context.eval(f"told({expression})"))
        return np.array([float(x.replace("Infinity", "inf")) for x in found])

    def __call__(self, name, *arguments):
        lists = ("[" + ", ".join(repr(float(x)) for x in values) + "]" for values in arguments)
        written = ", ".join(lists).replace("inf", "Infinity").replace("nan", "NaN")
        return self.values(f"special.{name}({written})")


@pytest.fixture(scope="module")
def engine():
    found = Engine()
    yield found
    found.context.close()  # left open, it may keep the interpreter from ending


# --- against the definitions at 50 digits -----------------------------------------------------------

def below(x):
    return mpmath.erfc(-x / mpmath.sqrt(2)) / 2


def log_below(x):
    return mpmath.log(below(x)) if x < 0 else mpmath.log1p(-below(-x))


def quantile(p):
    """By Newton's method on the logarithm of the smaller tail."""
    if p > 0.5:
        return -quantile(1 - p)
    if p > 0.4:
        return mpmath.sqrt(2) * mpmath.erfinv(2 * p - 1)
    return mpmath.findroot(lambda x: mpmath.log(below(x) / p), scipy_special.ndtri(float(p)))


def poisson_above(k, m):
    """P(count > k), by its terms: all positive, each from the one before."""
    n = mpf(math.floor(k)) + 1
    term = mpmath.exp(n * mpmath.log(m) - m - mpmath.loggamma(n + 1))
    total = mpf(0)
    while term > total * mpf(10) ** -40 or n < m:
        total += term
        n += 1
        term *= m / n
    return total


def poisson_upto(k, m):
    n = mpf(math.floor(k))
    term = mpmath.exp(n * mpmath.log(m) - m - mpmath.loggamma(n + 1))
    total = mpf(0)
    while n >= 0 and (term > total * mpf(10) ** -40 or n > m):
        total += term
        term *= n / m
        n -= 1
    return total


DEFINITIONS = {
    "ndtr": below,
    "log_ndtr": log_below,
    "ndtri": quantile,
    "erf": mpmath.erf,
    "erfc": mpmath.erfc,
    "erfcx": lambda x: mpmath.exp(x * x) * mpmath.erfc(x),
    "gammaln": mpmath.loggamma,
    "lambertw": lambda x: mpmath.lambertw(x).real,
    "expit": lambda x: 1 / (1 + mpmath.exp(-x)),
    "xlogy": lambda x, y: x * mpmath.log(y),
    "xlog1py": lambda x, y: x * mpmath.log1p(y),
    "pdtr": poisson_upto,
    "pdtrc": poisson_above,
}

rng = np.random.default_rng(20)


def even(low, high, n=150):
    """A grid with both ends, and as many points strewn between."""
    return np.concatenate([np.linspace(low, high, n), rng.uniform(low, high, n)])


def powers(low, high, n=150):
    return 10.0 ** even(low, high, n)


def counts(low, high, n=60):
    """Means between powers of ten, and counts within eight standard deviations of them."""
    m = powers(low, high, n)
    return np.maximum(np.round(m + rng.uniform(-8, 8, len(m)) * np.sqrt(m)), 0), m


REGIONS = [  # function, arguments, relative error allowed: more than twice what was found anywhere
    ("ndtr", (even(-37.5, 9),), 2e-15),
    ("ndtr", (powers(-300, -1),), 1e-15),
    ("log_ndtr", (even(-40, 9),), 2e-15),
    ("log_ndtr", (even(9, 37.4),), 2e-15),
    ("log_ndtr", (-powers(1.5, 6),), 1e-15),
    ("ndtri", (powers(-300, -1),), 2e-15),
    ("ndtri", (even(0.001, 0.999),), 5e-15),
    ("ndtri", (1 - powers(-16, -1),), 5e-15),
    ("ndtri", (0.5 + powers(-16, -1),), 1e-15),
    ("ndtri", (0.5 - powers(-16, -1),), 1e-15),
    ("erf", (even(-6, 6),), 1e-15),
    ("erf", (powers(-300, 0),), 1e-15),
    ("erfc", (even(-6, 26.5),), 2e-15),
    ("erfcx", (even(-26, 10),), 2e-15),
    ("erfcx", (powers(0, 6),), 1e-15),
    ("gammaln", (powers(-10, 15),), 2e-15),
    ("gammaln", (even(0.9, 2.1),), 1e-15),
    ("lambertw", (powers(-15, -0.5) - np.exp(-1),), 1e-15),
    ("lambertw", (powers(-300, 300),), 1e-15),
    ("lambertw", (-powers(-300, -0.5),), 1e-15),
    ("expit", (even(-700, 40),), 1e-15),
    ("xlogy", (powers(-5, 15), powers(-300, 300)), 1e-15),
    ("xlog1py", (powers(-5, 15), -powers(-20, -0.001)), 1e-15),
    # The logarithm of a probability is right to a float's last digit; eight deviations out it is some -40.
    ("pdtr", counts(-3, 1), 3e-14),
    ("pdtr", counts(1, 4), 3e-14),
    ("pdtrc", counts(-3, 1), 3e-14),
    ("pdtrc", counts(1, 4), 3e-14),
]


def errors(engine, name, arguments):
    found = engine(name, *arguments)
    with mp.workdps(50):
        exact = [DEFINITIONS[name](*map(mpf, row)) for row in zip(*(a.tolist() for a in arguments), strict=True)]
        return np.array([float(abs(mpf(float(x)) / y - 1)) for x, y in zip(found, exact, strict=True)])


@pytest.mark.parametrize("region", range(len(REGIONS)), ids=[f"{name}-{i}" for i, (name, *_) in enumerate(REGIONS)])
def test_each_function_is_what_it_is_defined_to_be(engine, region):
    name, arguments, allowed = REGIONS[region]
    found = errors(engine, name, arguments)
    worst = int(np.argmax(found))
    assert found[worst] < allowed, f"{name}{tuple(float(a[worst]) for a in arguments)} is off by {found[worst]:.1e}"


def test_a_count_is_where_the_poisson_law_reaches_the_chance(engine):
    p = np.concatenate([powers(-200, -0.3), 1 - powers(-15, -0.3)])
    m = rng.permutation(np.concatenate([powers(-9, 3.5)] * 2))
    found = engine("pdtrik", p, m)
    first = engine("pdtr", np.zeros_like(m), m)
    assert (found[p < first] == 0).all() and (found[p > first] > 0).all()
    with mp.workdps(30):
        for k, chance, mean in zip(found[::7].tolist(), p[::7].tolist(), m[::7].tolist(), strict=True):
            ends = [mpmath.gammainc(mpf(k) * (1 + side * mpf(10) ** -11) + 1, mean, mpmath.inf, regularized=True)
                    for side in (-1, 1)]
            assert k == 0 or ends[0] <= chance <= ends[1], (chance, mean)


# --- against scipy ----------------------------------------------------------------------------------

def same(found, expected, tolerance):
    with np.errstate(invalid="ignore"):
        close = abs(found - expected) <= tolerance * abs(expected)
    return close | (found == expected) | (np.isnan(found) & np.isnan(expected))


@pytest.mark.parametrize("name", ONE)
def test_numbers_at_the_edges_are_scipy_s(engine, name):
    x = np.array([x for x in SPECIAL if not (
        (name == "gammaln" and abs(x) == 5e-324)  # infinite in scipy, 744 in truth
        or (name == "lambertw" and x < -0.4))])  # complex in scipy
    with np.errstate(all="ignore"):
        expected = np.real(getattr(scipy_special, name)(x))
    agree = same(engine(name, x), expected, 1e-12)
    assert agree.all(), (x[~agree], engine(name, x)[~agree], expected[~agree])


@pytest.mark.parametrize("name", ["pdtr", "pdtrc", "xlogy", "xlog1py"])
def test_pairs_at_the_edges_are_scipy_s(engine, name):
    values = [x for x in SPECIAL if math.isinf(x) or (abs(x) < 1e8 and abs(x) != 5e-324)]  # pdtrc(0, m) is m, not 0
    x, y = (a.ravel() for a in np.meshgrid(values, values))
    with np.errstate(all="ignore"):
        expected = getattr(scipy_special, name)(x, y)
    agree = same(engine(name, x, y), expected, 1e-9)
    assert agree.all(), (x[~agree], y[~agree], engine(name, x, y)[~agree], expected[~agree])


@pytest.mark.parametrize("name", TWO)
def test_what_is_no_number_stays_none(engine, name):
    assert np.isnan(engine(name, [NAN, NAN, 0.5, 0.0], [1.0, NAN, NAN, NAN])).all()


def test_chances_and_means_at_their_ends(engine):
    assert engine("pdtrik", [0, 0.5, 0.3, 0.04], [3, 0, 1e-9, 3]).tolist() == [0, 0, 0, 0]
    assert np.isnan(engine("pdtrik", [1, -0.1, 1.1, 0.5, 0.5], [3, 3, 3, -1, INF])).all()


@pytest.mark.parametrize("name, arguments", [
    ("ndtr", (rng.normal(size=4000) * 9,)), ("log_ndtr", (rng.normal(size=4000) * 5,)),
    ("ndtri", (rng.uniform(size=4000),)), ("erfc", (rng.normal(size=4000) * 7,)),
    ("gammaln", (rng.exponential(100, size=4000) + 3,)), ("expit", (rng.normal(size=4000) * 20,)),
    ("pdtr", (rng.integers(0, 300, 4000), rng.uniform(0, 300, 4000))),
    ("pdtrik", (rng.uniform(size=4000), 10 ** rng.uniform(-3, 3, 4000))),
])
def test_arrays_are_scipy_s(engine, name, arguments):
    """scipy itself is off by up to 3e-13 in the far tails."""
    expected = getattr(scipy_special, name)(*arguments)
    agree = same(engine(name, *arguments), expected, 1e-8 if name == "pdtrik" else 1e-11)
    assert agree.all(), [a[~agree][:5] for a in arguments]


def test_below_the_branch_point_there_is_no_real_branch(engine):
    assert np.isnan(engine("lambertw", [-0.4, -1, -INF])).all()
    assert engine("lambertw", [-0.36787944117144228])[0] == pytest.approx(-1, abs=1e-7)


def test_counts_too_large_to_sum_are_refused(engine):
    from py_mini_racer import JSEvalException

    assert engine("pdtr", [3], [1e300])[0] == 0 and engine("pdtrc", [1e300], [3])[0] == 0
    with pytest.raises(JSEvalException, match="counts beyond 100000000 are not supported"):
        engine("pdtr", [1e9], [1e9])


# --- among each other ------------------------------------------------------------------------------------------------

SOME = st.lists(st.floats(-37, 37), min_size=1, max_size=40).map(np.array)


@given(x=SOME)
def test_the_two_sides_of_the_normal_law_fit(engine, x):
    low, high, log = engine("ndtr", x), engine("ndtr", -x), engine("log_ndtr", x)
    assert abs(low + high - 1).max() <= 2**-51
    assert np.exp(log) == pytest.approx(low, rel=1e-12)  # the exponent is up to 690
    assert engine("erfc", -x / math.sqrt(2)) / 2 == pytest.approx(low, rel=1e-12)  # its argument is rounded
    assert engine("erf", x) + engine("erfc", x) == pytest.approx(1, rel=1e-15)
    assert engine("ndtri", np.minimum(low, high)) == pytest.approx(-abs(x), rel=1e-14, abs=1e-15)


@given(x=st.lists(st.floats(1e-300, 1e15), min_size=1, max_size=40).map(np.array))
def test_log_gamma_grows_by_the_logarithm(engine, x):
    here, next_ = engine("gammaln", x), engine("gammaln", x + 1)
    assert (abs(next_ - here - np.log(x)) <= 2e-15 * (1 + abs(here) + abs(next_))).all()
    w = engine("lambertw", x)
    assert w + np.log(w) == pytest.approx(np.log(x), rel=1e-14, abs=1e-14)


@given(m=st.lists(st.floats(0, 5000), min_size=1, max_size=20).map(np.array), share=st.floats(0, 2))
def test_the_two_sides_of_the_poisson_law_fit(engine, m, share):
    k = np.floor(m * share)
    below, above = engine("pdtr", k, m), engine("pdtrc", k, m)
    assert abs(below + above - 1).max() <= 1e-15
    assert (engine("pdtr", k + 1, m) >= below).all()
    back = (below > engine("pdtr", 0 * k, m)) & (below < 1 - 1e-9)
    if back.any():
        assert engine("pdtrik", below[back], m[back]) == pytest.approx(k[back], rel=1e-8)


# --- as functions of arrays -------------------------------------------------------------------------

def test_arrays_broadcast_and_numbers_stay_numbers(engine):
    found = "special.pdtr(nd.reshape(nd.arange(6), 3, 2), nd.array([1.5, 2.5]))"
    assert engine.context.eval(f"{found}.shape.join()") == "3,2"
    assert engine.context.eval("special.ndtr(0)") == 0.5
    found = engine.values(found).reshape(3, 2)
    assert found == pytest.approx(scipy_special.pdtr(np.arange(6).reshape(3, 2), [1.5, 2.5]), rel=1e-13)


@pytest.mark.parametrize("name, parameters", [("ndtr", "x"), ("ndtri", "y"), ("pdtr", "k m"), ("pdtrik", "p m")])
def test_arguments_have_scipy_s_names(engine, name, parameters):
    values = [0.75, 2.0][:len(parameters.split())]
    keywords = ", ".join(f"{key}: {value}" for key, value in zip(parameters.split(), values, strict=True))
    assert engine.context.eval(f"nd.call(special.{name}, [], {{{keywords}}})") == pytest.approx(
        getattr(scipy_special, name)(*values), rel=1e-13)


# --- the tables -------------------------------------------------------------------------------------

@pytest.mark.parametrize("table", tables.TABLES, ids=lambda table: table.name)
def test_tables_are_what_their_definitions_give(engine, table):
    kept = json.loads(engine.context.eval(f"JSON.stringify(specialTables.{table.name})"))
    assert (kept["pieces"], kept["terms"]) == (table.pieces, table.terms)
    assert len(kept["numbers"]) == table.pieces * table.terms
    for index in (0, table.pieces // 3, table.pieces - 1):
        assert kept["numbers"][index * table.terms:][:table.terms] == tables.piece(table, index)


def test_too_few_terms_are_noticed():
    with pytest.raises(ArithmeticError, match="mills: 8 terms are too few"):
        tables.piece(dataclasses.replace(tables.TABLES[0], terms=8), 3)


@pytest.mark.parametrize("name, table, x", [
    ("ndtr", "mills", -3.0), ("erf", "error", 0.3), ("ndtri", "quantileMiddle", 0.3), ("ndtri", "quantileTail", 1e-9),
    ("gammaln", "gamma", 1.3), ("lambertw", "lambert", 0.5),
])
def test_a_wrong_digit_is_noticed(name, table, x):
    """The comparison with the definitions tells a table whose leading numbers are wrong in the thirteenth digit."""
    wrong = Engine(f"{{ const t = specialTables.{table};"
                   " for (let k = t.terms - 1; k < t.numbers.length; k += t.terms) t.numbers[k] *= 1 + 1e-13; }")
    error = errors(wrong, name, (np.array([x]),))[0]
    wrong.context.close()
    assert error > 2e-14
