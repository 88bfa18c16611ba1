"""The arrays that the pages' code computes with, in V8, against NumPy: the same bits wherever no order of summation and
no library of elementary functions is involved, else to 1e-13."""

import itertools
import json
import re
import types
from pathlib import Path

import mpmath
import numpy as np
import pytest

import recall_theory
from recall_theory.pages import runtime

KINDS = {"f": float, "i": np.int64, "b": bool}
SPECIAL = [np.nan, np.inf, -np.inf, 0.0, -0.0, 5e-324, -1.5, 2.5, 0.5, -0.5, 1.0, -1.0, 1e300, -1e-300, 2.0**52 + 1]
SHAPES = [(), (0,), (1,), (7,), (300,), (3, 4), (2, 0, 3), (1, 1), (2, 3, 4), (2, 1, 3, 2)]
PAIRS = [((), ()), ((5,), ()), ((), (2, 3)), ((4,), (4,)), ((2, 3), (3,)), ((2, 3), (2, 1)), ((2, 1), (1, 3)),
         ((0,), (1,)), ((2, 0), (2, 1)), ((3, 1, 2, 1), (4, 1, 5)), ((2, 3, 4), (3, 1)), ((2, 1, 4), (3, 1)),
         ((1,), (1, 1)), ((2, 1, 2, 1, 2), (1, 3, 1, 3, 1))]


class Engine:
    """The runtime in V8, called with Python's values."""

    def __init__(self):
        from py_mini_racer import MiniRacer

        self.context = MiniRacer()
        self.context.eval(runtime.source())
        self.context.eval("""const plain = (x) => Object.is(x, -0) ? "-0" : String(x);
            const encoded = (x) => x instanceof nd.Array ? {shape: x.shape, kind: x.kind, data: [...x.data].map(plain)}
                : Array.isArray(x) ? x.map(encoded) : typeof x === "number" ? plain(x) : x ?? null;
            const attempt = (f) => { try { return JSON.stringify(encoded(f())); }
                                     catch (error) { return JSON.stringify({error: error.message}); } };""")

    def eval(self, expression):
        return decoded(json.loads(self.context.eval(f"attempt(() => ({expression}))")))

    def call(self, name, *values, **keywords):
        named = ", ".join(f"{key}: {literal(value)}" for key, value in keywords.items())
        return self.eval(f"nd.call(nd.{name}, [{', '.join(map(literal, values))}], {{{named}}})")


def literal(x):
    """A Python value as JavaScript."""
    if isinstance(x, np.ndarray):
        kind = {"f": "f", "i": "i", "b": "b"}[x.dtype.kind]
        data = ", ".join(number(v) for v in x.ravel().tolist())
        return f"new nd.Array(Float64Array.of({data}), {list(x.shape)}, '{kind}')"
    if isinstance(x, (list, tuple)):
        return f"[{', '.join(map(literal, x))}]"
    if isinstance(x, slice):
        return f"nd.slice({literal(x.start)}, {literal(x.stop)}, {literal(x.step)})"
    if x is Ellipsis:
        return "nd.ellipsis"
    if isinstance(x, (bool, np.bool_, str, types.NoneType)):
        return json.dumps(bool(x) if isinstance(x, np.bool_) else x)
    return number(x)


def number(x):
    return repr(float(x)).replace("inf", "Infinity").replace("nan", "NaN")


def decoded(x):
    """What `encoded` gave, as arrays, lists, floats and booleans; `JSError` for what threw."""
    if isinstance(x, dict) and "error" in x:
        raise JSError(x["error"])
    if isinstance(x, dict):
        return np.array([float(v) for v in x["data"]]).astype(KINDS[x["kind"]]).reshape(x["shape"])
    if isinstance(x, list):
        return [decoded(v) for v in x]
    try:
        return float(x) if isinstance(x, str) else x
    except ValueError:
        return x


class JSError(Exception):
    pass


@pytest.fixture(scope="module")
def js():
    engine = Engine()
    yield engine
    engine.context.close()  # left open, it may keep the interpreter from ending


@pytest.fixture
def rng():
    return np.random.default_rng(20)


def assert_same(found, expected, rtol=0.0, what="", zeros=True):
    """The same shape, kind and numbers; bit for bit (save NaN's) where rtol is 0, and else sqrt(tiny) for nought."""
    if isinstance(expected, (list, tuple)):
        assert len(found) == len(expected), what
        for one, other in zip(found, expected, strict=True):
            assert_same(one, other, rtol, what, zeros)
        return
    expected = np.asarray(expected)
    if expected.ndim:
        assert isinstance(found, np.ndarray), what
        assert found.dtype.kind == expected.dtype.kind, f"{what}: kind {found.dtype.kind}, not {expected.dtype.kind}"
    else:
        assert not isinstance(found, np.ndarray), what
        assert isinstance(found, bool) == (expected.dtype.kind == "b"), what
    found = np.asarray(found)
    assert found.shape == expected.shape, f"{what}: shape {found.shape}, not {expected.shape}"
    if rtol:
        np.testing.assert_allclose(found, expected, rtol=rtol, atol=1e-290, err_msg=what)
    else:
        np.testing.assert_array_equal(found, expected, err_msg=what)
        if zeros and expected.dtype.kind == "f":
            both = ~np.isnan(expected)
            np.testing.assert_array_equal(np.signbit(found[both]), np.signbit(expected[both]), err_msg=what)


def draw(rng, shape, kind="f"):
    """Random numbers with special ones among them."""
    if kind == "b":
        return rng.random(shape) < 0.5
    if kind == "i":
        return rng.integers(-6, 7, shape)
    x = rng.normal(size=shape) * 10.0 ** rng.integers(-3, 4, shape)
    return np.where(rng.random(shape) < 0.2, rng.choice(SPECIAL, shape), x)


# --- elementwise ----------------------------------------------------------------------------------------

EXACT = ["negative", "abs", "sign", "floor", "ceil", "rint", "sqrt", "isfinite", "logical_not"]
LIBM = ["cbrt", "exp", "exp2", "expm1", "log", "log2", "log1p", "sin", "cos", "arcsin"]
RATIONAL = ["add", "subtract", "multiply", "divide", "floor_divide", "remainder", "copysign"]
CHOICES = ["maximum", "minimum", "fmax", "fmin", "less", "less_equal", "greater", "greater_equal", "equal", "not_equal"]


@pytest.mark.parametrize("name", EXACT + LIBM)
def test_functions_of_one_array(js, rng, name):
    rtol = 0.0 if name in EXACT else 1e-13
    for shape in SHAPES:
        x = draw(rng, shape)
        if name in ("sin", "cos"):
            x = np.where(np.abs(x) > 1e6, 1.0, x)
        with np.errstate(all="ignore"):
            assert_same(js.call(name, x), getattr(np, name)(x), rtol, f"{name} of {shape}")
    if name not in ("arcsin", "log", "log2", "log1p"):
        whole = draw(rng, 9, "i")
        with np.errstate(all="ignore"):
            assert_same(js.call(name, whole), getattr(np, name)(whole), rtol, f"{name} of integers", zeros=False)


@pytest.mark.parametrize("name", RATIONAL + CHOICES + ["power"])
def test_functions_of_two_arrays(js, rng, name):
    rtol = 1e-13 if name == "power" else 0.0
    for a, b in PAIRS:
        for kinds in (("f", "f"), ("i", "i"), ("f", "i"), ("f", "b")):
            x, y = draw(rng, a, kinds[0]), draw(rng, b, kinds[1])
            if kinds == ("i", "i") and name in ("floor_divide", "remainder"):
                y = np.where(y == 0, 5, y)
            if kinds == ("i", "i") and name == "power":
                y = np.abs(y)
            with np.errstate(all="ignore"):
                expected = getattr(np, name)(x, y)
            assert_same(js.call(name, x, y), expected, rtol, f"{name} of {kinds} {a} {b}",
                        zeros=name in RATIONAL and kinds[0] == kinds[1])


def test_operators_of_booleans(js, rng):
    for a, b in PAIRS:
        x, y = draw(rng, a, "b"), draw(rng, b, "b")
        for name in ("bitwise_and", "bitwise_or", "less", "equal", "maximum", "add", "multiply"):
            assert_same(js.call(name, x, y), getattr(np, name)(x, y), what=name)
        assert_same(js.call("invert", x), ~x)
        assert_same(js.call("multiply", x, 3), x * 3)


def test_powers_without_logarithm(js, rng):
    for exponent in (0, 1, 2, 3, 4, 0.5, -1, -2, 1.5, 7):
        x = draw(rng, (3, 5))
        with np.errstate(all="ignore"):
            expected = x**exponent
        assert_same(js.call("power", x, exponent), expected, 1e-13, f"power {exponent}")
    assert js.call("power", 3, 2) == 9 and js.call("power", 2, np.array([1.0, 3.0])).tolist() == [2, 8]


def test_numbers_beside_arrays(js, rng):
    x = draw(rng, (2, 3))
    assert_same(js.call("add", x, 1.5), x + 1.5)
    assert_same(js.call("subtract", 2, np.arange(3)), 2 - np.arange(3))
    assert_same(js.call("subtract", 0.5, np.arange(3)), 0.5 - np.arange(3))
    assert js.call("less", 2, 3) is True and js.call("sqrt", 9) == 3 and js.call("divide", 1, 4) == 0.25
    assert js.call("add", [1, 2], [[1], [2]]).tolist() == [[2, 3], [3, 4]]


def test_results_are_written_where_asked(js):
    assert js.eval("(() => { const a = nd.ones([2, 2]), b = nd.reshape(a, 4); nd.add(a, [1, 2], a); return b; })()"
                   ).tolist() == [2, 3, 2, 3]
    with pytest.raises(JSError, match="shape"):
        js.eval("nd.add(nd.ones(2), nd.ones([2, 2]), nd.ones(2))")
    with pytest.raises(JSError, match="does not fit"):
        js.eval("nd.divide(nd.ones(2), 2, nd.zeros(2, 'int'))")


def test_results_written_onto_shared_memory(js):
    """Where `out` is an operand in another shape, it is read before it is written."""
    js.context.eval("var x = nd.arange(1, 5), y = nd.reshape(x, 2, 2);")
    assert js.eval("nd.add(y, nd.get(y, [0]), y)").tolist() == [[2, 4], [4, 6]]
    js.context.eval("var p = nd.arange(1, 4), row = nd.reshape(p, 1, 3), column = nd.reshape(p, 3, 1);")
    assert js.eval("nd.subtract(row, nd.get(column, [nd.slice(null, 1)]), row)").tolist() == [[0, 1, 2]]
    js.context.eval("var one = nd.arange(1, 2), grid = nd.reshape(one, 1, 1);")
    assert js.eval("nd.add(grid, one, grid)").tolist() == [[2]]


def test_where_clip_and_nan_to_num(js, rng):
    for a, b in PAIRS:
        c, x, y = draw(rng, b, "b"), draw(rng, a), draw(rng, b)
        assert_same(js.call("where", c, x, y), np.where(c, x, y), what="where")
        assert_same(js.call("where", c, draw(rng, a, "i") * 0, 1), np.where(c, np.zeros(a, dtype=int), 1), what="where")
        assert_same(js.call("clip", x, y, 1.5), np.clip(x, y, 1.5), what="clip", zeros=False)
        assert_same(js.call("clip", x, None, y), np.clip(x, None, y), what="clip", zeros=False)
        assert_same(js.call("clip", x, -1, None), np.clip(x, -1, None), what="clip", zeros=False)
        assert_same(js.call("nan_to_num", x), np.nan_to_num(x), what="nan_to_num")
        assert_same(js.call("nan_to_num", x, nan=1.0, neginf=-3), np.nan_to_num(x, nan=1.0, neginf=-3))
        assert_same(js.call("round", np.nan_to_num(y, posinf=0, neginf=0) % 100, 2),
                    np.round(np.nan_to_num(y, posinf=0, neginf=0) % 100, 2), what="round")


# --- making arrays ----------------------------------------------------------------------------------------

def test_new_arrays(js):
    for shape in ([], 3, [2, 3], [0, 2], np.array([2, 2])):
        for name in ("zeros", "ones"):
            assert_same(js.eval(f"nd.broadcast_to(nd.{name}({literal(shape)}), {literal(shape)})").ravel(),
                        getattr(np, name)(shape).ravel())
    assert js.call("full", [2, 2], [1, 2.5]).tolist() == [[1, 2.5], [1, 2.5]]
    assert_same(js.call("full", 2, 7), np.full(2, 7))
    assert_same(js.call("eye", 3), np.eye(3))
    assert_same(js.call("zeros_like", np.array([True, False])), np.zeros(2, dtype=bool))
    assert_same(js.call("ones_like", np.array([2.5, 1.5])), np.ones(2))
    assert_same(js.call("array", [[1, 2], [3, 4]], dtype="float"), np.array([[1.0, 2], [3, 4]]))
    assert_same(js.call("asarray", [[True], [False]]), np.array([[True], [False]]))
    assert_same(js.call("asarray", [np.array([1.5]), [2]]), np.array([[1.5], [2]]))
    assert js.call("empty", [2, 0]).shape == (2, 0)
    info = np.finfo(float)
    for name in ("tiny", "eps", "epsneg", "max", "min"):
        assert js.eval(f"nd.finfo('float').{name}") == getattr(info, name)


@pytest.mark.parametrize("given", [(5,), (0,), (2, 7), (7, 2), (1, 8, 3), (-6, 6.125, 0.25), (0.1, 1.0, 0.1),
                                   (5, 0, -2), (3.0, 812.7, 7)])
def test_arange(js, given):
    assert_same(js.call("arange", *given), np.arange(*given))


@pytest.mark.parametrize("given", [(0, 1, 11), (-3.7, 12.1, 500), (2, 2, 3), (1, 0, 2), (5, 6, 1), (0, 1, 0)])
def test_linspace(js, given):
    assert_same(js.call("linspace", *given), np.linspace(*given))


def test_conversions(js):
    x = np.array([2.7, -2.7, 0.0, np.nan, np.inf, -np.inf, 1e300, -0.5])
    with np.errstate(invalid="ignore"):
        assert_same(js.call("astype", x, "int"), x.astype(np.int64))
    assert_same(js.call("astype", x, "bool"), x.astype(bool))
    assert_same(js.call("astype", np.arange(3), "float"), np.arange(3.0))
    assert js.call("tolist", np.array([[1, 2], [3, 4]])) == [[1, 2], [3, 4]]
    assert js.call("tolist", np.array([True])) == [True] and js.call("tolist", np.zeros((0, 2))) == []
    assert js.call("flat", np.array([[1.5, 2]])) == [1.5, 2] and js.call("item", np.array([[4]])) == 4
    assert js.eval("[nd.shape_of(5), nd.ndim_of([[1]]), nd.size_of(nd.zeros([2, 3]))]") == [[], 2, 6]
    assert js.eval("[...nd.array([1, 2])]") == [1, 2]


# --- reading and writing parts ------------------------------------------------------------------------------

INDICES = [
    (), (0,), (-1,), (1, 2), (slice(None), -1), (Ellipsis, 0), (Ellipsis,), (slice(None, None, -1), slice(1, 3)),
    (slice(5, None, -2), Ellipsis, slice(None, None, 2)), (None, 0, None), (Ellipsis, None), (slice(2, 1),),
    (slice(-100, 100), slice(None, -1, 2)), (slice(None), None, 1), (slice(10, -10, -3),),
    ([0, 2, -1],), (np.array([[0, 1], [2, 0]]),), (slice(None), [0, 3]), ([0, 1], [2, 3]), ([[0], [1]], [0, 3]),
    ([0, 1], slice(None), [1, 2]), (0, slice(None), [1, 0]), (slice(None), 1, [1, 0]), (slice(None), [1, 0], 1),
    (Ellipsis, [1, 2, 0], [0, 1, 1]), ([0, 1], None, [1, 2]), (slice(None, None, 2), [3, 0], slice(None, None, -1)),
    (None, [1, 1]), (Ellipsis, [], ), (np.array([], dtype=int),), (1, [0], Ellipsis),
    (slice(None), slice(1, 3), [2, 0]), (np.array(1),), (slice(None), np.array(2), [1, 0]),
]


@pytest.mark.parametrize("items", INDICES, ids=str)
def test_parts_by_numbers_slices_and_places(js, rng, items):
    x = rng.normal(size=(3, 4, 5))
    given = tuple(np.asarray(i, dtype=int) if isinstance(i, list) else i for i in items)
    expected = x[given]
    assert_same(js.call("get", x, list(items)), expected, what=str(items))
    for value in (7.25, rng.normal(size=np.shape(expected)), rng.normal(size=np.shape(expected)[-1:])):
        copy = x.copy()
        copy[given] = value
        assert_same(js.call("set", x, list(items), value), copy, what=f"setting {items}")


def test_parts_by_masks(js, rng):
    x = rng.normal(size=(3, 4, 5))
    for mask, items in ((rng.random((3, 4, 5)) < 0.4, ()), (rng.random(3) < 0.6, ()), (rng.random((3, 4)) < 0.4, ()),
                        (np.zeros(3, dtype=bool), ()), (rng.random(3) < 0.6, (slice(1, 3),))):
        given = (mask, *items)
        assert_same(js.call("get", x, list(given)), x[given])
        copy = x.copy()
        copy[given] = -1
        assert_same(js.call("set", x, list(given), -1), copy)
    mask = np.array([True, False, True, True])
    assert_same(js.call("get", x, [slice(None), mask]), x[:, mask])
    assert_same(js.call("get", x, [Ellipsis, mask, slice(None, 2)]), x[..., mask, :2])
    assert_same(js.call("flatnonzero", mask), np.flatnonzero(mask))


def test_kinds_of_parts(js):
    assert js.call("get", np.array([True, False]), [0]) is True
    assert_same(js.call("get", np.arange(4), [slice(1, 3)]), np.arange(1, 3))
    assert js.call("set", np.array([True, False]), [1], 5).tolist() == [True, True]
    assert js.call("get", 5, [Ellipsis, None]).tolist() == [5]
    assert js.call("get", np.array(5), []) == 5
    shifted = js.eval("((a) => nd.set(a, [nd.slice(1)], nd.get(a, [nd.slice(null, -1)])))(nd.arange(4))")
    assert shifted.tolist() == [0, 0, 1, 2]
    through = js.eval("((a) => (nd.set(nd.reshape(a, 2, 2), [0], 7), a))(nd.arange(4))")
    assert through.tolist() == [7, 7, 2, 3]


def test_take(js, rng):
    x = rng.normal(size=(3, 4, 5))
    for places in (2, [0, 2], np.array([[1, 0], [2, 2]])):
        assert_same(js.call("take", x, places), x.take(places))
        for axis in (0, 1, -1):
            assert_same(js.call("take", x, places, axis=axis), x.take(places, axis=axis))
    for axis, shape in ((-1, (3, 4, 2)), (1, (3, 6, 5)), (0, (1, 4, 5)), (2, (3, 1, 3))):
        places = rng.integers(-3, 3, shape)
        assert_same(js.call("take_along_axis", x, places, axis), np.take_along_axis(x, places, axis))


# --- shapes ------------------------------------------------------------------------------------------------

def test_reshaping(js, rng):
    x = rng.normal(size=(2, 3, 4))
    for shape in ((6, 4), (-1,), (2, -1, 2), (1, 24), (4, 3, 2)):
        assert_same(js.call("reshape", x, *shape), x.reshape(*shape))
        assert_same(js.call("reshape", x, list(shape)), x.reshape(shape))
    assert js.call("reshape", np.zeros((0, 3)), 0, 5).shape == (0, 5)
    for name in ("ravel", "flatten", "T", "transpose", "squeeze", "copy", "atleast_1d", "ascontiguousarray"):
        expected = {"T": x.T, "flatten": x.ravel()}.get(name)
        assert_same(js.call(name, x), getattr(np, name)(x) if expected is None else expected, what=name)
    assert_same(js.call("transpose", x, 2, 0, 1), x.transpose(2, 0, 1))
    assert_same(js.call("transpose", x, [1, 0, -1]), x.transpose(1, 0, 2))
    assert_same(js.call("swapaxes", x, 0, -1), x.swapaxes(0, 2))
    for source, destination in itertools.product((-1, 0, 1), (0, 1, -1)):
        assert_same(js.call("moveaxis", x, source, destination), np.moveaxis(x, source, destination))
    for axis in (0, -1, 2, [0, 2], [1, -1]):
        assert_same(js.call("expand_dims", x, axis), np.expand_dims(x, tuple(axis) if isinstance(axis, list) else axis))
    assert_same(js.call("squeeze", x[:1, :, :1]), x[0, :, 0])
    assert_same(js.call("squeeze", x[:1, :, :1], -1), x[:1, :, 0])
    assert_same(js.call("atleast_1d", 3.5), np.array([3.5]))
    assert_same(js.call("T", np.zeros((2, 0, 3))), np.zeros((3, 0, 2)))


def test_broadcasting(js, rng):
    for a, b in PAIRS:
        x, y = draw(rng, a), draw(rng, b)
        shape = np.broadcast_shapes(a, b)
        assert js.call("broadcast_shapes", list(a), list(b)) == list(shape)
        expected = np.broadcast_arrays(x, y)
        for found, one in zip(js.call("broadcast_arrays", x, y), expected, strict=True):
            assert np.array_equal(found, one, equal_nan=True) and np.shape(found) == one.shape
        if shape:
            assert_same(js.call("broadcast_to", x, list(shape)), np.broadcast_to(x, shape))
    for found, one in zip(js.call("meshgrid", [1, 2, 3], [4.5, 5], [6], indexing="ij"),
                          np.meshgrid([1, 2, 3], [4.5, 5], [6], indexing="ij"), strict=True):
        assert_same(found, one)


def test_joining_and_cutting(js, rng):
    x, y = rng.normal(size=(2, 3, 4)), rng.normal(size=(2, 3, 4))
    for axis in (0, 1, 2, -1):
        assert_same(js.call("concatenate", [x, y], axis), np.concatenate([x, y], axis))
        assert_same(js.call("stack", [x, y], axis=axis), np.stack([x, y], axis=axis))
        for part, one in zip(js.call("split", x, [1, 1, 2], axis), np.split(x, [1, 1, 2], axis), strict=True):
            assert_same(part, one)
    assert_same(js.call("concatenate", [[0], [1.5, 2]]), np.concatenate([[0], [1.5, 2]]))
    assert_same(js.call("concatenate", [np.zeros((0, 2)), np.ones((3, 2))]), np.ones((3, 2)))
    assert_same(js.call("append", np.arange(3) / 2, 1), np.append(np.arange(3) / 2, 1))
    assert_same(js.call("append", x, y, axis=1), np.append(x, y, axis=1))


def test_repeating(js, rng):
    x = rng.normal(size=(2, 3))
    for repeats in (2, 0, np.array([1, 3]), [2, 0]):
        assert_same(js.call("repeat", x, repeats, axis=0), np.repeat(x, repeats, axis=0))
    assert_same(js.call("repeat", x, 2), np.repeat(x, 2))
    assert_same(js.call("repeat", 1.5, 3), np.repeat(1.5, 3))
    assert_same(js.call("repeat", x, [1, 2, 0], axis=-1), np.repeat(x, [1, 2, 0], axis=-1))
    for reps in (2, [2], [3, 1], [2, 1, 2], 0):
        assert_same(js.call("tile", x, reps), np.tile(x, reps))
    for width in (1, ((0, 0), (2, 1)), ((1, 0), (0, 3))):
        for mode in ("edge", "constant"):
            assert_same(js.call("pad", x, width, mode=mode), np.pad(x, width, mode=mode))


# --- reductions ----------------------------------------------------------------------------------------------

AXES = [None, 0, 1, -1, (0, 1), (1, 2), (0, 2), (-2, -1), (0, 1, 2)]


@pytest.mark.parametrize("name", ["sum", "mean", "prod", "max", "min", "any", "all"])
def test_reductions(js, rng, name):
    for shape, kind in (((3, 4, 5), "f"), ((2, 3, 17), "f"), ((2, 1, 300), "f"), ((9, 3, 1), "i"), ((3, 2, 9), "b")):
        x = draw(rng, shape, kind) if name not in ("sum", "mean", "prod") or kind != "f" else rng.normal(size=shape)
        for axis in AXES:
            for keepdims in (False, True):
                given = list(axis) if isinstance(axis, tuple) else axis
                rtol = 1e-13 if name in ("sum", "mean", "prod") and kind == "f" else 0
                expected = getattr(np, name)(x, axis, keepdims=keepdims)
                assert_same(js.call(name, x, given, keepdims=keepdims), expected, rtol,
                            f"{name} of {kind} {shape} along {axis}", zeros=False)


def test_sums_along_the_last_axis_are_numpys_to_the_bit(js, rng):
    for n in (0, 1, 7, 8, 9, 100, 128, 129, 1000, 4099):
        x = rng.normal(size=(3, n)) * 10.0 ** rng.integers(-8, 8, (3, n))
        assert_same(js.call("sum", x, axis=-1), x.sum(axis=-1), what=str(n))
        assert_same(js.call("sum", x), x.sum(), what=str(n))
        assert_same(js.call("sum", x, axis=0), x.sum(axis=0), what=str(n))


def test_reductions_of_nothing_and_of_numbers(js):
    for name, expected in (("sum", 0), ("prod", 1), ("any", False), ("all", True)):
        assert js.call(name, np.zeros(0)) == expected
        assert js.call(name, np.zeros((0, 2)), axis=0).tolist() == [expected] * 2
        assert js.call(name, 1.0) == 1
    assert js.call("max", np.zeros((0, 2)), axis=0, initial=0.0).tolist() == [0, 0]
    assert js.call("max", np.array([-5.0]), initial=0.0) == 0 and js.call("max", 5.0) == 5
    assert js.call("sum", np.zeros((2, 0)), axis=1).tolist() == [0, 0]
    for name in ("max", "min"):
        with pytest.raises(JSError, match="no elements"):
            js.call(name, np.zeros((2, 0)), axis=1)


def test_running_totals(js, rng):
    x = rng.normal(size=(3, 4, 5))
    for axis in (0, 1, -1, None):
        assert_same(js.call("cumsum", x, axis), np.cumsum(x, axis))
        assert_same(js.call("cumprod", x, axis), np.cumprod(x, axis))
    for axis in (0, 1, -1):
        y = draw(rng, (3, 4, 5))
        assert_same(js.call("maximum.accumulate", y, axis=axis), np.maximum.accumulate(y, axis=axis), zeros=False)
        assert_same(js.call("diff", x, axis=axis), np.diff(x, axis=axis))
    assert_same(js.call("cumsum", np.array([True, True])), np.cumsum([True, True]))
    assert_same(js.call("diff", [1, 4, 9]), np.diff([1, 4, 9]))
    assert js.call("cumsum", np.zeros((0, 3)), axis=0).shape == (0, 3)


# --- order, counts and tables --------------------------------------------------------------------------------

def test_order(js, rng):
    x = np.round(draw(rng, (3, 4, 5)), 0)
    for axis in (0, 1, -1, None):
        assert_same(js.call("sort", x, axis), np.sort(x, axis), zeros=False)
        assert_same(js.call("argsort", x, axis, kind="stable"), np.argsort(x, axis, kind="stable"))
        for name in ("argmax", "argmin"):
            assert_same(js.call(name, x, axis), getattr(np, name)(x, axis))
    for n in (1, 2, 5, 8):
        y = rng.normal(size=n)
        assert js.call("median", y) == np.median(y)
    assert np.isnan(js.call("median", [1, np.nan]))


def test_searching(js, rng):
    edges = np.sort(np.round(rng.normal(size=20), 1))
    at = np.round(draw(rng, (3, 40)), 1)
    for side in ("left", "right"):
        assert_same(js.call("searchsorted", edges, at, side=side), np.searchsorted(edges, at, side=side))
    assert js.call("searchsorted", edges, 0.0) == np.searchsorted(edges, 0.0)
    x = rng.integers(0, 9, (4, 5))
    assert_same(js.call("unique", x), np.unique(x))
    assert_same(js.call("unique", x, return_inverse=True), np.unique(x, return_inverse=True))
    points = np.unique(edges)
    values = rng.normal(size=len(points))
    assert_same(js.call("interp", at, points, values), np.interp(at, points, values), 1e-13)


def test_bincount(js, rng):
    x, weights = rng.integers(0, 9, 50), rng.normal(size=50)
    assert_same(js.call("bincount", x), np.bincount(x))
    assert_same(js.call("bincount", x, weights, 20), np.bincount(x, weights, 20))
    assert_same(js.call("bincount", x, minlength=3, weights=weights), np.bincount(x, weights, 3))
    assert_same(js.call("bincount", np.array([], dtype=int), minlength=2), np.bincount([], minlength=2))


def test_gradient(js, rng):
    y, x = rng.normal(size=12), np.sort(rng.normal(size=12))
    assert_same(js.call("gradient", y), np.gradient(y))
    assert_same(js.call("gradient", y, 0.5), np.gradient(y, 0.5))
    assert_same(js.call("gradient", y, x), np.gradient(y, x), 1e-13)
    even = np.arange(12.0)
    assert_same(js.call("gradient", y, even), np.gradient(y, even))


# --- products, eigenvectors, polynomials ------------------------------------------------------------------------

@pytest.mark.parametrize("a, b", [((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 2)), ((5, 7), (7, 9)), ((4, 2, 3), (3, 5)),
                                  ((4, 1, 2, 3), (5, 3, 6)), ((0, 3), (3, 2)), ((2, 0), (0, 2)), ((1, 1), (1, 1)),
                                  ((2, 3, 4), (2, 4)[1:]), ((4,), (2, 4, 3)), ((2, 1, 3, 5), (1, 4, 5, 7))])
def test_matmul(js, rng, a, b):
    x, y = rng.normal(size=a), rng.normal(size=b)
    found = np.asarray(js.call("matmul", x, y))
    assert found.shape == (x @ y).shape
    assert np.all(np.abs(found - x @ y) <= 1e-14 * (np.abs(x) @ np.abs(y)))
    assert_same(js.call("matmul", np.arange(4), np.arange(4)), np.arange(4) @ np.arange(4))


def subscripts_in_use():
    found = set()
    for file in Path(recall_theory.__file__).parent.rglob("*.py"):
        found |= set(re.findall(r"np\.einsum\(\s*\"([^\"]+)\"", file.read_text()))
    return sorted(s for s in found if "->" in s)


@pytest.mark.parametrize("subscripts", [*subscripts_in_use(), "ij->", "ij->ji", "i,j->ij", "abc,cd->dab"])
def test_einsum(js, rng, subscripts):
    lengths = {name: 2 + i for i, name in enumerate(sorted(set(re.sub("[^a-z]", "", subscripts))))}
    operands = [rng.normal(size=[lengths[name] for name in term]) for term in subscripts.split("->")[0].split(",")]
    size = np.asarray(np.einsum(subscripts, *map(np.abs, operands)))
    found, expected = js.call("einsum", subscripts, *operands, optimize=True), np.einsum(subscripts, *operands)
    assert np.shape(found) == np.shape(expected) and np.all(np.abs(found - expected) <= 1e-14 * size)


@pytest.mark.parametrize("n", [1, 2, 3, 9, 24, 60])
def test_eigenvectors_of_tridiagonal_matrices(js, rng, n):
    diagonal, beside = rng.normal(size=(4, n)), rng.normal(size=(4, n - 1)) * 3
    beside[1] = 0  # a diagonal matrix, out of order
    beside[2, n // 2:] = 0  # two blocks
    i = np.arange(n)
    matrix = np.zeros((4, n, n))
    matrix[:, i, i], matrix[:, i[1:], i[:-1]] = diagonal, beside
    values, vectors = js.call("linalg.eigh", matrix)
    np.testing.assert_allclose(values, np.linalg.eigvalsh(matrix), rtol=0, atol=1e-14 * (1 + n))
    whole = matrix + np.tril(matrix, -1).swapaxes(1, 2)
    np.testing.assert_allclose(whole @ vectors, vectors * values[:, None], rtol=0, atol=2e-14 * (1 + n))
    products = vectors.swapaxes(1, 2) @ vectors
    np.testing.assert_allclose(products, np.broadcast_to(np.eye(n), (4, n, n)), rtol=0, atol=1e-14 * (1 + n))
    if n > 1:
        assert_same(js.call("linalg.eigh", whole[0])[0], values[0])


def test_eigenvalues_of_scales_apart(js):
    """A Poisson law's Jacobi matrix of a tiny mean: the first eigenvalue is its own, next to ones of order 1."""
    mean, n = 1e-9, 6
    matrix = np.diag(mean + np.arange(n)) + np.diag(np.sqrt(mean * np.arange(1, n)), -1)
    values, vectors = js.call("linalg.eigh", matrix)
    expected = np.linalg.eigh(matrix)
    np.testing.assert_allclose(values, expected[0], rtol=0, atol=1e-15)
    np.testing.assert_allclose(vectors[0] ** 2, expected[1][0] ** 2, rtol=0, atol=1e-15)
    assert js.call("linalg.eigh", np.zeros((0, 3, 3)))[1].shape == (0, 3, 3)


@pytest.mark.parametrize("n", [1, 2, 3, 5, 16, 41, 64])
def test_gauss_rules(js, n):
    """Nodes and weights as exact as doubles allow, each by itself; numpy's own tiny weights are off by up to 1e-12."""
    for name in ("legendre.leggauss", "hermite_e.hermegauss"):
        module, function = name.split(".")
        x, w = js.call(f"polynomial.{name}", n)
        nodes, weights = getattr(getattr(np.polynomial, module), function)(n)
        np.testing.assert_allclose(x, nodes, rtol=1e-13, atol=1e-15)
        np.testing.assert_allclose(w, weights, rtol=1e-11)
        assert_same(x, -x[::-1], zeros=False)
        expected = [mpmath_weight(name, n, node) for node in x]
        np.testing.assert_allclose(w, expected, rtol=1e-13)


def mpmath_weight(name, n, x):
    """1/sum p_k(x)^2 over the orthonormal polynomials, at the root next to x, to 40 digits."""
    with mpmath.workdps(40):
        beside = (lambda k: k / mpmath.sqrt(4 * k * k - 1)) if "leg" in name else mpmath.sqrt
        b = [mpmath.mpf(0), *(beside(mpmath.mpf(k)) for k in range(1, n + 1))]

        def orthonormal(x):
            p = [mpmath.mpf(0), mpmath.mpf(1)]
            for k in range(n):
                p.append((x * p[-1] - b[k] * p[-2]) / b[k + 1])
            return p

        x = mpmath.mpf(x)
        for _ in range(2):
            x -= orthonormal(x)[-1] / mpmath.diff(lambda t: orthonormal(t)[-1], x)
        total = 2 if "leg" in name else mpmath.sqrt(2 * mpmath.pi)
        return float(total / sum(p**2 for p in orthonormal(x)[:-1]))


def test_chebyshev_series(js, rng):
    for shape in ((1,), (2,), (3,), (9,), (9, 4), (1, 2), (5, 2, 3)):
        c = rng.normal(size=shape)
        for places in ((), (6,), (2, 3)):
            x = rng.uniform(-1, 1, places)
            assert_same(js.call("polynomial.chebyshev.chebval", x, c), np.polynomial.chebyshev.chebval(x, c), 1e-13)


# --- what others build on -----------------------------------------------------------------------------------------

def test_lifted_functions(js):
    js.context.eval("var hypotenuse = nd.define('hypotenuse', ['x', 'y'], nd.lift((x, y) => Math.hypot(x, y), 2));")
    assert js.eval("hypotenuse(3, 4)") == 5
    assert js.eval("hypotenuse([3, 6], [[4], [8]])").shape == (2, 2)
    assert js.eval("nd.call(hypotenuse, [[3, 5]], {y: [4, 12]})").tolist() == [5, 13]
    assert js.eval("nd.lift((a, b, c) => a + b * c, 3)(1, [1, 2], 3)").tolist() == [4, 7]
    with pytest.raises(JSError, match="takes 2"):
        js.eval("hypotenuse(1)")


def test_keywords(js):
    x = np.arange(6.0).reshape(2, 3)
    assert_same(js.call("sum", x, keepdims=True, axis=1), x.sum(axis=1, keepdims=True))
    for expression, message in (("nd.call(nd.sum, [1], {axes: 1})", "sum has no keyword argument axes"),
                                ("nd.call(nd.sum, [1, 0], {axis: 0})", "sum got axis twice"),
                                ("nd.call((x) => x, [1], {axis: 0})", "takes no keyword")):
        with pytest.raises(JSError, match=message):
            js.eval(expression)


REFUSED = """
    nd.add([1, 2], [1, 2, 3]); nd.asarray([[1], [1, 2]]); nd.asarray('a'); nd.asarray(null); nd.add({}, 1);
    nd.asarray(1, 'float32'); nd.astype([1], 'complex'); nd.zeros(-1); nd.zeros(2.5); nd.subtract([true], [true]);
    nd.negative([true]); nd.invert([1]); nd.bitwise_and([1], [2]); nd.where([true]); nd.get([1, 2], [2]);
    nd.get([1, 2], [-3]); nd.get([1, 2], [0.5]); nd.get([1, 2], [[2]]); nd.get([1], [[0.5]]); nd.get([1], [0, 0]);
    nd.get([1], ['a']); nd.get([1, 2], [[true]]); nd.get([1], [nd.ellipsis, nd.ellipsis]);
    nd.get([1], [nd.slice(null, null, 0)]); nd.set([1], [0], 1); nd.set(nd.zeros(2), [nd.ellipsis], [1, 2, 3]);
    nd.set(nd.zeros(2, 'int'), [0], 0.5); nd.set(nd.zeros(2), [[0, 1]], [1, 2, 3]); nd.take([1], 3);
    nd.reshape([1, 2], 3); nd.reshape([1, 2], -1, -1); nd.transpose([[1]], 0, 0); nd.transpose([[1]], 0);
    nd.swapaxes([1], 0, 1); nd.expand_dims([1], [0, 0]); nd.squeeze([1, 2], 0); nd.broadcast_to([1, 2], [3]);
    nd.broadcast_to([[1]], [1]); nd.meshgrid([1], [2]); nd.concatenate([]); nd.concatenate([[1], [[2]]]);
    nd.concatenate([[[1]], [[1, 2]]], 0); nd.stack([[1], [1, 2]]); nd.split([1, 2], 2); nd.pad([1], 1, 'wrap');
    nd.pad(nd.zeros(0), 1, 'edge'); nd.sum([1], 1); nd.sum([[1]], [0, 0]); nd.sum([1], 0, 'float'); nd.max([]);
    nd.argmax([]); nd.diff([1], 2); nd.argsort([1], -1, 'heapsort'); nd.searchsorted([1], 1, 'up');
    nd.bincount([-1]); nd.bincount([0.5]); nd.bincount([1], [1, 2]); nd.unique([NaN]); nd.gradient([1]);
    nd.gradient([[1]]); nd.interp(1, [], []); nd.matmul(1, [1]); nd.matmul([1, 2], [1]);
    nd.matmul(nd.ones([2, 1, 1]), nd.ones([3, 1, 1])); nd.einsum('ii->i', [[1]]); nd.einsum('ij', [[1]]);
    nd.einsum('i->j', [1]); nd.einsum('i,i->i', [1], [1, 2]); nd.einsum('ij->i', [1]); nd.einsum('i->i', [1], [2]);
    nd.linalg.eigh([1]); nd.linalg.eigh([[1, 2]]); nd.linalg.eigh([[1, 0, 0], [0, 1, 0], [1, 0, 1]]);
    nd.linalg.eigh([[NaN]]); nd.polynomial.legendre.leggauss(0); nd.item([1, 2]); [...nd.asarray(1)];
    nd.polynomial.chebyshev.chebval(1, []); nd.finfo('int')
"""


@pytest.mark.parametrize("expression", re.split(r";\s+", REFUSED.strip()))
def test_what_is_not_supported_throws(js, expression):
    with pytest.raises(JSError, match=r"^nd: "):
        js.eval(expression)


DROPPED = {"errstate", "floating", "float32"}  # what a translation to doubles has no use for


def test_every_function_of_the_theory_is_there(js):
    """Names of NumPy in the modules that `predict` and the bounds reach."""
    package = Path(recall_theory.__file__).parent
    theory = ["attention", "recall", "mlp", "orthogonal", "bounds", "quadrature.py", "generic.py", "predict.py",
              "one_step.py"]
    paths = [package / "theory" / part for part in theory]
    names = set()
    for path in [*paths, package / "activation" / "gaussian.py", package / "activation" / "named.py"]:
        for file in [path] if path.is_file() else sorted(path.rglob("*.py")):
            names |= set(re.findall(r"\bnp\.([a-z_0-9]+(?:\.[a-z_0-9]+)*)", file.read_text(encoding="utf-8")))
    assert len(names) > 60
    missing = [name for name in sorted(names - DROPPED) if js.eval(f"nd.{name} === undefined")]
    assert not missing
