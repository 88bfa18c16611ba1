"""The phase diagram: over a plane of two sizes, which noise binds and where the target is reached.

Every cell is a full prediction. The capacity boundary is where predicted accuracy crosses the target,
interpolated between cells in the logarithms of the sizes.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from ..errors import interrupted_with
from ..numerics.arrays import FloatArray
from ..numerics.formatting import SCHEMA_VERSION, cleaned
from ..settings import OBSERVABLES, PARAMETERS, Setting, SettingError, check_proportion
from .capacity import limiting_term
from .predict import Prediction, predict_each

OrderedMap = Callable[[Callable[[Any], Any], Sequence[Any]], Iterable[Any]]  # `map`, or a parallel one

AXES = ("V", "N", "d", "L", "m", "m*d")
CELLS = (17, 13)  # along x and along y
MOST_CELLS = 10_000

# The families of noise terms, in the order of legends, and the terms whose name does not begin with one.
FAMILIES = ("mean bias", "gradient noise", "MLP noise", "interference", "attention overlap", "token overlap",
            "facts never seen", "finite rates")
_FAMILY_OF = {
    "trigger overlap": "attention overlap",
    "mean embedding": "mean bias",
    "trigger echo": "mean bias",
    "noise tokens": "gradient noise",
    "informative tokens": "gradient noise",
    "sequence sampling": "gradient noise",
    "class covariance": "interference",
}


@dataclasses.dataclass(frozen=True)
class Point:
    """A setting that was simulated: its place, and the accuracy seen with its standard error."""

    x: float
    y: float
    accuracy: float
    se: float | None
    predicted: float


@dataclasses.dataclass(frozen=True)
class PhaseDiagram:
    """Predictions over the plane of `x` and `y`. Arrays are (len(y_values), len(x_values)).

    `binding` names the step and the family of the largest noise term ("recall: mean bias"). `boundary` holds
    the points (x, y) where accuracy crosses the target along a row or a column of cells. `remarks` say of each cell why
    it lies outside the domain that was checked, and which error to expect.
    """

    x: str
    y: str
    x_values: FloatArray
    y_values: FloatArray
    fixed: dict[str, Any]
    target: float
    attention: FloatArray
    recall: FloatArray
    accuracy: FloatArray
    binding: tuple[tuple[str, ...], ...]
    boundary: tuple[tuple[float, float], ...]
    remarks: tuple[tuple[tuple[str, ...], ...], ...]
    points: tuple[Point, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The JSON contract of `recall-theory phase`."""
        fields = {**dataclasses.asdict(self), "boundary": [{"x": x, "y": y} for x, y in self.boundary]}
        last = {name: fields.pop(name) for name in ("remarks", "boundary", "points")}
        return cleaned({"schema_version": SCHEMA_VERSION, **fields, "checked": self.checked, **last})

    @property
    def checked(self) -> NDArray[np.bool_]:
        """Whether each cell lies in the domain that was checked."""
        return np.array([[not each for each in row] for row in self.remarks], dtype=bool).reshape(self.accuracy.shape)

    def cells(self) -> list[dict[str, Any]]:
        """One record a cell, as the CSV output has them."""
        return [{self.x: float(x), self.y: float(y), **{o: float(getattr(self, o)[j, i]) for o in OBSERVABLES},
                 "binding": self.binding[j][i], "checked": not self.remarks[j][i]}
                for j, y in enumerate(self.y_values) for i, x in enumerate(self.x_values)]


def family(term: str) -> str:
    """The family of a noise term, by its name.

    >>> family("mean bias: phi(0)"), family("noise tokens")
    ('mean bias', 'gradient noise')
    """
    head = term.split(":")[0]
    return head if head in FAMILIES else _FAMILY_OF.get(term, _FAMILY_OF.get(head, head))


def binding(prediction: Prediction) -> str:
    """The step that falls shorter and the family of terms that is largest in it; "attention: finite rates" where the
    limit of the same sizes misses less than half as much.

    >>> from recall_theory import predict
    >>> binding(predict(Setting(V=1024, L=64, d=256, N=65536)))
    'recall: mean bias'
    >>> binding(predict(Setting(V=128, L=16, d=128, N=16384, eta=1e-8, gamma=3e12)))
    'attention: finite rates'
    """
    return limiting_term(prediction, family)


def _row(settings: Sequence[Setting]) -> list[tuple[Prediction, str]]:
    """What the cells of a row hold: their predictions, and what binds there."""
    return [(prediction, binding(prediction)) for prediction in predict_each(settings)]


def place(x: str, y: str, a: float, b: float, fixed: dict[str, Any], ratio: float | None = None) -> Setting:
    """The setting at x = a, y = b: m*d sets m, or d where m is the other axis; `ratio` sets N = ratio V."""
    sizes = {**fixed, x: a, y: b}
    product = sizes.pop("m*d", None)
    if product is not None:
        other, given = ("d", "m") if "m" in (x, y) else ("m", "d")
        sizes[other] = max(1, round(product / sizes[given]))
    if ratio is not None:
        sizes["N"] = max(1, round(ratio * sizes["V"]))
    return Setting(**sizes)


def axis(name: str, low: float, high: float, cells: int) -> FloatArray:
    """Whole numbers from low to high, evenly spaced in the logarithm.

    >>> axis("V", 64, 1024, 5)
    array([  64.,  128.,  256.,  512., 1024.])
    """
    domain = PARAMETERS["m" if name == "m*d" else name]
    top = domain.high**2 if name == "m*d" else domain.high
    for end in (low, high):
        if not (math.isfinite(end) and domain.low <= end <= top):
            raise SettingError(name, f"{name}={end:g} is not an end for that axis: {domain.domain}")
    if not low < high:
        raise SettingError(name, f"{name} runs from {low:g} to {high:g}: the first must be smaller")
    if not (isinstance(cells, int) and 2 <= cells <= MOST_CELLS):
        raise SettingError("cells", f"cells={cells!r} is not an integer from 2 to {MOST_CELLS}")
    return np.unique(np.rint(np.geomspace(low, high, cells)))


def phase(x: str, y: str, x_range: tuple[float, float], y_range: tuple[float, float], *,
          cells: tuple[int, int] = CELLS, target: float = 0.99, ratio: float | None = None,
          mapped: OrderedMap = map,
          **fixed: Any) -> PhaseDiagram:
    """The phase diagram over x and y, two of V, N, d, L, m and m*d; `fixed` gives the other parameters of
    `Setting`, or `ratio` gives N as N/V.

    `mapped`, which is given rows of cells, may be a parallel map. Raises `SettingError` for a name or a value outside
    its domain, and `Interrupted` (a KeyboardInterrupt) with the rows finished by then where Ctrl-C stops it.

    >>> diagram = phase("N", "d", (2**12, 2**16), (32, 128), cells=(3, 3), V=256, L=16)
    >>> diagram.accuracy.shape
    (3, 3)
    """
    check_proportion("target", target)
    for name in (x, y):
        if name not in AXES:
            raise SettingError("axis", f"{name!r} is not an axis; there are {', '.join(AXES)}")
        if name in fixed:
            raise SettingError(name, f"{name} is an axis: it can't be fixed too")
    if x == y:
        raise SettingError("axis", f"both axes are {x}: they must differ")
    if "m*d" in (x, y) and "m" in fixed:
        raise SettingError("m", "m follows from m*d and d: leave it out")
    if ratio is not None and "N" in (x, y, *fixed):
        raise SettingError("ratio", "ratio gives N = ratio V: leave N out")
    if cells[0] * cells[1] > MOST_CELLS:
        raise SettingError("cells", f"{cells[0]} x {cells[1]} cells are more than {MOST_CELLS}")
    known = {x, y, *fixed} | ({"N"} if ratio is not None else set()) | ({"d"} if {x, y} == {"m", "m*d"} else set())
    if missing := sorted({"V", "L", "d", "N"} - known):
        raise SettingError(missing[0], f"{' and '.join(missing)} must be given: neither is an axis")
    across, up = axis(x, *x_range, cells[0]), axis(y, *y_range, cells[1])
    settings = [[place(x, y, a, b, fixed, ratio) for a in across.tolist()] for b in up.tolist()]
    rows: list[list[tuple[Prediction, str]]] = []

    def diagram() -> PhaseDiagram | None:
        """Of the rows so far; None without any."""
        seen: dict[str, Any] = {o: np.array([[getattr(p, o) for p, _ in row] for row in rows]) for o in OBSERVABLES}
        return PhaseDiagram(
            x, y, across, up[:len(rows)], fixed | ({} if ratio is None else {"ratio": ratio}), target, **seen,
            binding=tuple(tuple(cause for _, cause in row) for row in rows),
            boundary=_crossings(across, up[:len(rows)], seen["accuracy"], target),
            remarks=tuple(tuple(p.remarks for p, _ in row) for row in rows)) if rows else None

    with interrupted_with(diagram):
        for row in mapped(_row, settings):
            rows.append(row)
    return cast("PhaseDiagram", diagram())


def _crossings(across: FloatArray, up: FloatArray, accuracy: FloatArray,
               target: float) -> tuple[tuple[float, float], ...]:
    """Where accuracy crosses the target between neighbouring cells, in order along x."""
    tiny = np.finfo(float).eps
    p = np.clip(accuracy, tiny, 1 - tiny)
    height = np.log(p / (1 - p)) - math.log(target / (1 - target))  # a logit is nearly straight there
    found = []
    for (j, i), (dj, di) in itertools.product(np.ndindex(*height.shape), ((0, 1), (1, 0))):
        if j + dj < len(up) and i + di < len(across):
            h0, h1 = height[j, i], height[j + dj, i + di]
            if (h0 < 0) != (h1 < 0):
                t = h0 / (h0 - h1)
                found.append((float(across[i] * (across[i + di] / across[i]) ** t),
                              float(up[j] * (up[j + dj] / up[j]) ** t)))
    return tuple(sorted(found))
