"""`scaling`: the critical value of one size along values of another, simulated and predicted, and its exponent."""

from __future__ import annotations

import dataclasses
import math
import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..settings import PARAMETERS, Setting, SettingError
from ..simulate.observables import OBSERVABLES
from ..simulate.run import check_affordable, check_seed, check_seeds
from .predicted_scaling import predicted_crossing
from .run import sweep
from .scaling_fit import Z95, FloatArray, Line, straight_line
from .scaling_search import DOUBLINGS, Ask, Found, Search, find
from .store import Store

SIZES = {"V": False, "L": False, "d": True, "N": True, "m": True}  # whether more of it helps
SEEDS = 64
MOST_WORK = 1e10  # a seed, in tokens, of which a core takes some 2e7 a second
MOST_UNFORESEEN = 3e7  # the same where theory has no crossing: a pilot that climbs in vain must not climb for hours
MOST_VALUES = 100


@dataclasses.dataclass(frozen=True)
class Critical:
    """The critical size at one value: observed, with its 95 % interval (NaN with a `reason`), predicted (NaN for none),
    and the number of simulated seeds."""

    value: int
    observed: float
    interval: tuple[float, float]
    predicted: float
    simulated: int
    reason: str = ""

    @property
    def se_log(self) -> float:
        """The standard error of the logarithm: the interval's width in errors."""
        low, high = self.interval
        return math.log(high / low) / (2 * Z95) if 0 < low <= high < math.inf else math.nan


@dataclasses.dataclass(frozen=True)
class Scaling:
    """The critical value of `of` along `along`: where the mean of `observable` is `at`.

    `line` is the straight line through the observed logarithms (None below two points), `predicted_exponent` the
    slope of the predicted ones at the same values with the same weights (NaN where one of them is missing).
    """

    of: str
    along: str
    at: float
    observable: str
    fixed: dict[str, Any]
    seed: int
    points: tuple[Critical, ...]
    line: Line | None
    predicted_exponent: float

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval of the exponent."""
        if self.line is None:
            return math.nan, math.nan
        return self.line.slope - Z95 * self.line.se, self.line.slope + Z95 * self.line.se

    def to_dict(self) -> dict[str, Any]:
        """The JSON contract of `recall-theory scaling`."""
        line = self.line
        points = [{"value": p.value, "critical": p.observed, "interval": list(p.interval), "se_log": p.se_log,
                   "predicted": p.predicted, "simulated": p.simulated, "reason": p.reason or None}
                  for p in self.points]
        exponent = {"observed": math.nan if line is None else line.slope, "se": math.nan if line is None else line.se,
                    "interval": list(self.interval), "predicted": self.predicted_exponent,
                    "straight": math.nan if line is None else line.p_value}
        return {"schema_version": 1, "of": self.of, "in": self.along, "at": self.at, "observable": self.observable,
                "fixed": self.fixed, "seed": self.seed, "points": points, "exponent": exponent}


def scaling(of: str, along: str, values: Sequence[int], at: float = 0.5, *, observable: str = "accuracy",
            seeds: int = SEEDS, seed: int | None = None, jobs: int = 1,
            store: str | os.PathLike[str] | Store | None = None, ratio: float | None = None,
            progress: Callable[[int, int], None] | None = None, **fixed: Any) -> Scaling:
    """Find by simulation where the mean of `observable` crosses `at`, as a value of `of`, for each of `values` of
    `along`; fit the exponent and set it beside the predicted one.

    `of` and `along` are two of V, L, d, N and m; `fixed` gives the other parameters of `Setting`, or `ratio` gives
    N = ratio V. `seeds` are those of each of the five points around a crossing; a pilot of a few dozen comes
    before. `store` keeps every simulation, as `sweep` does. Raises `SettingError` for values out of range.

    >>> found = scaling("N", "V", [12, 24], 0.5, seeds=8, seed=1, L=2, d=32)
    >>> [point.observed > 0 for point in found.points]
    [True, True]
    """
    _check(of, along, values, at, observable, ratio, fixed)
    check_seeds(seeds)
    seed = check_seed(seed)
    rising, column = SIZES[of], OBSERVABLES.index(observable)
    makers = [_maker(of, {**fixed, along: value}, ratio) for value in values]
    typical = PARAMETERS[of].typical
    usual = round(math.sqrt(typical[0] * typical[1]))
    allowed = [_allowed(make, usual, int(PARAMETERS[of].low), int(PARAMETERS[of].high)) for make in makers]
    predicted = [predicted_crossing(at, start, low, high, rising, make, observable)
                 for make, (start, low, high) in zip(makers, allowed, strict=True)]
    most = [MOST_UNFORESEEN if u is None else MOST_WORK for u in predicted]
    searches: dict[int, Search] = {
        i: find(at, start if u is None else max(low, round(math.exp(u))), low, high, rising, seeds)
        for i, ((start, low, high), u) in enumerate(zip(allowed, predicted, strict=True))}
    kept = store if isinstance(store, Store) else Store(store)
    counts = [0] * len(makers)
    done = wanted = 0  # of the rounds so far: how many there will be, the outcomes decide

    def simulated(asks: dict[int, Ask]) -> dict[int, FloatArray | None]:
        nonlocal done, wanted
        answers: dict[int, FloatArray | None] = {}
        groups: dict[tuple[int, int], list[int]] = {}
        for i, ask in asks.items():
            if all(_can_run(makers[i], x, most[i]) for x in ask.sizes):
                groups.setdefault((ask.stage, ask.seeds), []).append(i)
                wanted += len(ask.sizes) * ask.seeds
            else:
                answers[i] = None
        for (stage, n), members in groups.items():
            cells = [makers[i](x) for i in members for x in asks[i].sizes]
            results = sweep(cells, n, stage_seed(seed, stage), jobs=jobs, store=kept)
            done += len(cells) * n
            if progress is not None:
                progress(done, wanted)
            row = 0
            for i in members:
                size = len(asks[i].sizes)
                answers[i] = results.values[row:row + size, :, column]
                row += size
                counts[i] += size * n
        return answers

    try:
        found = _together(searches, simulated)
    finally:
        if kept is not store:
            kept.close()
    points = tuple(
        Critical(int(value), math.exp(f.log_size), (math.exp(f.low), math.exp(f.high)),
                 math.nan if u is None else math.exp(u), n, f.reason)
        for value, f, u, n in zip(values, found, predicted, counts, strict=True))
    line, exponent = lines(points)
    shown = {**fixed, **({} if ratio is None else {"ratio": ratio})}
    return Scaling(of, along, at, observable, shown, seed, points, line, exponent)


def stage_seed(seed: int, stage: int) -> int:
    """The seed of a stage: the pilot must share no draw with what the estimate rests on."""
    return int(np.random.SeedSequence((seed, stage)).generate_state(1, np.uint64)[0]) >> 11


def _together(searches: dict[int, Search], evaluate: Callable[[dict[int, Ask]], dict[int, FloatArray | None]]
              ) -> list[Found]:
    """Run the searches in step, so that each round is one sweep over all of them."""
    found: dict[int, Found] = {}
    asks: dict[int, Ask] = {i: next(search) for i, search in searches.items()}
    while asks:
        following: dict[int, Ask] = {}
        for i, values in evaluate(asks).items():
            try:
                following[i] = searches[i].send(values)
            except StopIteration as stop:
                found[i] = stop.value
        asks = following
    return [found[i] for i in range(len(searches))]


def lines(points: Sequence[Critical]) -> tuple[Line | None, float]:
    """The line through the observed logarithms, and the slope of the predicted ones with the same weights."""
    usable = [p for p in points if p.se_log > 0]
    if len(usable) < 2:
        return None, math.nan
    z, se = np.log([p.value for p in usable]), np.array([p.se_log for p in usable])
    line = straight_line(z, np.log([p.observed for p in usable]), se)
    predicted = np.log([p.predicted for p in usable])
    exponent = straight_line(z, predicted, se).slope if np.isfinite(predicted).all() else math.nan
    return line, exponent


def _maker(of: str, sizes: dict[str, Any], ratio: float | None) -> Callable[[int], Setting]:
    def make(x: int) -> Setting:
        given = {**sizes, of: x}
        if ratio is not None:
            given["N"] = max(1, round(ratio * given["V"]))
        return Setting(**given)

    return make


def _allowed(make: Callable[[int], Setting], usual: int, low: int, high: int) -> tuple[int, int, int]:
    """The size to start from and the ends of what is allowed around it: orthogonal embeddings ask for V <= d.

    Starts at the usual size, else at the first allowed one that halving or doubling comes upon; raises `SettingError`
    for the usual one where there is none: a bad value is told before the work.
    """
    def valid(x: int) -> bool:
        try:
            make(x)
        except SettingError:
            return False
        return True

    def furthest(inside: int, outside: int) -> int:
        if valid(outside):
            return outside
        while abs(outside - inside) > 1:
            middle = (inside + outside) // 2
            inside, outside = (middle, outside) if valid(middle) else (inside, middle)
        return inside

    ladder = (max(low, min(high, x)) for k in range(DOUBLINGS + 1) for x in (usual >> k, usual << k))
    start = next(filter(valid, ladder), None)
    if start is None:
        make(usual)
        raise AssertionError("a size that is not valid is valid")
    return start, furthest(start, low), furthest(start, high)


def _can_run(make: Callable[[int], Setting], x: int, most: float) -> bool:
    try:
        setting = make(x)
        check_affordable(setting)
    except SettingError:
        return False
    return _work(setting) <= most


def _work(s: Setting) -> float:
    """About what a seed costs, in tokens: the samples, the embeddings and the attention's d by d matrix, and V^2 d
    multiplications at a hundred to a token."""
    return float(s.N) * s.L + float(s.d) * (s.d + s.V + s.L + (s.m or 0)) + float(s.V) ** 2 * s.d / 100


def _check(of: str, along: str, values: Sequence[int], at: float, observable: str, ratio: float | None,
           fixed: dict[str, Any]) -> None:
    for name, size in (("of", of), ("in", along)):
        if size not in SIZES:
            raise SettingError(name, f"{name}={size!r} is not one of {', '.join(SIZES)}")
        if size in fixed:
            raise SettingError(size, f"{size} is what --{name} names: leave it out")
    if of == along:
        raise SettingError("in", f"in={along!r}: the two sizes must differ")
    if not 0 < at < 1:
        raise SettingError("at", f"at={at!r} is not a number above 0 and below 1")
    if observable not in OBSERVABLES:
        raise SettingError("observable", f"observable={observable!r} is not one of {', '.join(OBSERVABLES)}")
    if ratio is not None and "N" in (of, along, *fixed):
        raise SettingError("ratio", "ratio gives N = ratio V: leave N out")
    if ratio is not None and not 0 < ratio <= 1e9:
        raise SettingError("ratio", f"ratio={ratio!r} is not a number above 0 and at most 1e+09")
    if not 1 <= len(values) <= MOST_VALUES or len(set(values)) < len(values):
        raise SettingError("values", f"values must be 1 to {MOST_VALUES} different values of {along}")
    for name in fixed:
        if name not in PARAMETERS:
            raise SettingError(name, f"{name!r} is no parameter; there are {', '.join(PARAMETERS)}")
    missing = [n for n in ("V", "L", "d", "N") if n not in (of, along, *fixed) and not (n == "N" and ratio is not None)]
    if missing:
        p = PARAMETERS[missing[0]]
        raise SettingError(missing[0], f"{missing[0]} is missing: {p.domain} ({p.meaning})")
    if fixed.get("eta") is not None or fixed.get("gamma") is not None:
        raise SettingError("eta", "eta and gamma: a scaling is of the limit only")
