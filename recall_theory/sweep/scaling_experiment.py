"""`scaling`: the critical value of one size along values of another, simulated and predicted, and its exponent."""

from __future__ import annotations

import dataclasses
import functools
import math
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..numerics.arrays import FloatArray
from ..numerics.formatting import SCHEMA_VERSION, number
from ..numerics.thresholds import bisect
from ..settings import OBSERVABLES, PARAMETERS, Setting, SettingError, check_proportion, check_seed, check_seeds
from ..simulate.run import check_affordable
from ..theory.domain import remarks
from ..theory.predict import predict
from ..verification.problem import cell_seed
from . import scaling_search as search
from .run_sweep import sweep, tokens_of_seed
from .store import Store, opened
from .sweep_grid import check_names, setting_of

RISES = {"V": False, "L": False, "d": True, "N": True, "m": True}  # size -> whether observables rise in it
MOST_WORK = 1e10  # a seed, in tokens, of which a core takes some 2e7 a second
MOST_UNFORESEEN_WORK = 3e7  # where theory has no crossing: a pilot that climbs in vain must not climb for hours
MOST_VALUES = 100


@dataclasses.dataclass(frozen=True)
class CriticalSize:
    """The critical size at one `value` of the other size.

    `observed` has a 95 % interval (all NaN with a `reason`), `predicted` is NaN where there is none, and `simulated` is
    the number of simulated seeds. `remarks` say why the predicted size lies outside the domain that was checked.
    """

    value: int
    observed: float
    interval: tuple[float, float]
    predicted: float
    simulated: int
    reason: str = ""
    remarks: tuple[str, ...] = ()

    @classmethod
    def from_crossings(cls, value: int, observed: search.Crossing, predicted: float, simulated: int,
                       setting: Callable[[int], Setting]) -> CriticalSize:
        """From the crossings, the predicted one a logarithm of the size, or NaN; `setting` is that of a size."""
        size = math.exp(predicted)
        why = () if math.isnan(size) else remarks(setting(round(size)))
        return cls(int(value), math.exp(observed.log_size), (math.exp(observed.low), math.exp(observed.high)), size,
                   simulated, observed.reason, why)

    @property
    def se_log(self) -> float:
        """The standard error of the logarithm, as wide as the interval makes it; NaN where that lacks an end."""
        low, high = self.interval
        return math.log(high / low) / (2 * search.Z95) if 0 < low <= high < math.inf else math.nan

    @property
    def interval_in_words(self) -> str:
        """The ends of the interval, or why nothing was observed."""
        low, high = (f"{number(end, 4)}" if end < math.inf else "no end" for end in self.interval)
        return self.reason or f"{low} to {high}"

    def to_dict(self) -> dict[str, object]:
        """The point as the JSON contract has it."""
        return {"value": self.value, "critical": self.observed, "interval": list(self.interval), "se_log": self.se_log,
                "predicted": self.predicted, "simulated": self.simulated, "reason": self.reason or None,
                "checked": not self.remarks, "remarks": list(self.remarks)}


@dataclasses.dataclass(frozen=True)
class Scaling:
    """The critical value of `of` along `along`: where the mean of `observable` is `at`."""

    of: str
    along: str
    at: float
    observable: str
    fixed: Mapping[str, object]
    seed: int
    points: tuple[CriticalSize, ...]

    @property
    def usable(self) -> list[CriticalSize]:
        """The points with a known error, through which lines go."""
        return [p for p in self.points if p.se_log > 0]

    @functools.cached_property
    def line(self) -> search.Line | None:
        """The straight line through the observed logarithms; None below two points whose intervals have both ends."""
        return self._line_through([p.observed for p in self.usable])

    @functools.cached_property
    def predicted_exponent(self) -> float:
        """The slope of the predicted logarithms at the same values with the same weights, NaN where one is missing."""
        line = self._line_through([p.predicted for p in self.usable])
        return math.nan if line is None else line.slope

    def _line_through(self, sizes: list[float]) -> search.Line | None:
        if len(sizes) < 2 or not np.isfinite(sizes).all():
            return None
        errors = np.array([p.se_log for p in self.usable])
        return search.straight_line(np.log([p.value for p in self.usable]), np.log(sizes), errors)

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval of the exponent."""
        if self.line is None:
            return math.nan, math.nan
        return self.line.slope - search.Z95 * self.line.se, self.line.slope + search.Z95 * self.line.se

    def to_dict(self) -> dict[str, object]:
        """The JSON contract of `recall-theory scaling`."""
        line = self.line or search.Line(math.nan, math.nan, math.nan, math.nan)
        exponent = {"observed": line.slope, "se": line.se, "interval": list(self.interval),
                    "predicted": self.predicted_exponent, "straight": line.p_value}
        return {"schema_version": SCHEMA_VERSION, "of": self.of, "in": self.along, "at": self.at,
                "observable": self.observable, "fixed": self.fixed, "seed": self.seed,
                "points": [p.to_dict() for p in self.points], "exponent": exponent}

    def records(self) -> list[dict[str, object]]:
        """One flat record a critical size, as the CSV output has them."""
        common = {"of": self.of, "in": self.along, "at": self.at, "observable": self.observable, **self.fixed,
                  "seed": self.seed}
        rows = [{**common, **p.to_dict(), "low": p.interval[0], "high": p.interval[1]} for p in self.points]
        return [{name: value for name, value in row.items() if name not in ("interval", "remarks")} for row in rows]


def scaling(of: str, along: str, values: Sequence[int], at: float = 0.5, *, observable: str = "accuracy",
            seeds: int = 64, seed: int | None = None, jobs: int = 1,
            store: str | os.PathLike[str] | Store | None = None, ratio: float | None = None,
            progress: Callable[[int, int], None] | None = None, **fixed: Any) -> Scaling:
    """Find by simulation where the mean of `observable` crosses `at`, as a value of `of`, for each of `values` of
    `along`; fit the exponent and set it beside the predicted one.

    `of` and `along` are two of V, L, d, N and m; `fixed` gives the other parameters of `Setting`, or `ratio` gives
    N = ratio V. `seeds` are those of each of the five points around a crossing; a pilot of a few dozen comes before.
    `store` keeps every simulation, as `sweep` does: after an interrupt the same call with the same `seed` goes on from
    there. `progress` is called with (seeds done, seeds asked for so far).

    Returns the critical sizes, the line through their logarithms and the predicted exponent. Raises `SettingError` for
    values out of range, before anything is simulated.

    >>> result = scaling("N", "V", [12, 24], 0.5, seeds=8, seed=1, L=2, d=32)
    >>> [point.observed > 0 for point in result.points]
    [True, True]
    """
    given = {**fixed, **({} if ratio is None else {"ratio": ratio})}
    for name, size in (("of", of), ("in", along)):
        if size not in RISES:
            raise SettingError(name, f"{name}={size!r} is not one of {', '.join(RISES)}")
        if size in given:
            raise SettingError(size, f"{size} is what --{name} names: leave it out")
    if of == along:
        raise SettingError("in", f"in={along!r}: the two sizes must differ")
    check_names([of, along, *given])
    if not 1 <= len(values) <= MOST_VALUES or len(set(values)) < len(values):
        raise SettingError("values", f"values must be 1 to {MOST_VALUES} different values of {along}")
    if given.get("eta") is not None or given.get("gamma") is not None:
        raise SettingError("eta", "eta and gamma: a scaling is of the limit only")
    check_proportion("at", at)
    if observable not in OBSERVABLES:
        raise SettingError("observable", f"observable={observable!r} is not one of {', '.join(OBSERVABLES)}")
    check_seeds(seeds)
    seed = check_seed(seed)
    families = [_Family(of, {**given, along: value}) for value in values]
    ranges = [family.sizes() for family in families]
    done = 0

    def critical(value: int, family: _Family, sizes: search.SizeRange) -> CriticalSize:
        before, most_work = done, MOST_UNFORESEEN_WORK
        predicted = search.predicted_crossing(
            lambda size: getattr(predict(family.setting(size)), observable), at, sizes)
        if not math.isnan(predicted):
            most_work = MOST_WORK
            sizes = sizes._replace(start=min(max(round(math.exp(predicted)), sizes.low), sizes.high))

        def simulate(stage: int, points: tuple[int, ...], n: int) -> FloatArray | None:
            nonlocal done
            if not all(family.affords(size, most_work) for size in points):
                return None
            settings = [family.setting(size) for size in points]
            results = sweep(settings, n, cell_seed(seed, stage) >> 11, jobs=jobs, store=kept)
            done += len(points) * n
            if progress is not None:
                progress(done, done)
            return results.values[:, :, OBSERVABLES.index(observable)]

        crossing = search.search_crossing(simulate, at, sizes, seeds)
        return CriticalSize.from_crossings(value, crossing, predicted, done - before, family.setting)

    with opened(store) as kept:
        points = tuple(map(critical, values, families, ranges))
    return Scaling(of, along, at, observable, given, seed, points)


@dataclasses.dataclass(frozen=True)
class _Family:
    """The settings that differ in the size `of` only, all else `given`."""

    of: str
    given: dict[str, Any]

    def setting(self, size: int) -> Setting:
        return setting_of({**self.given, self.of: size})

    def affords(self, size: int, most_work: float = math.inf) -> bool:
        """Whether the size is allowed and a seed takes no more than `most_work`, in tokens, and the memory there is."""
        try:
            s = self.setting(size)
            if most_work < math.inf:
                check_affordable(s)
        except SettingError:
            return False
        return tokens_of_seed(s) <= most_work

    def sizes(self) -> search.SizeRange:
        """The allowed sizes around a start (orthogonal embeddings need V <= d): the usual size, else the first allowed
        one that halving or doubling comes upon. Raises the usual one's `SettingError` where there is none."""
        parameter = PARAMETERS[self.of]
        low, high = int(parameter.low), int(parameter.high)
        usual = round(math.sqrt(math.prod(parameter.typical)))
        ladder = [max(low, min(high, x)) for k in range(search.PILOT_DOUBLINGS + 1) for x in (usual >> k, usual << k)]
        start = next(filter(self.affords, ladder), usual)
        self.setting(start)  # raises where none is allowed
        low, high = (end if self.affords(end) else bisect(self.affords, start, end) for end in (low, high))
        return search.SizeRange(start, low, high, RISES[self.of])
