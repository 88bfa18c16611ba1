"""Critical sizes of the ladder: where a rung's accuracy crosses a level, and with which exponents, beside the law's."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import numpy as np
from scipy.special import logit
from scipy.stats import t

from recall_theory.numerics.arrays import FloatArray
from recall_theory.sweep.scaling_experiment import CriticalSize
from recall_theory.sweep.scaling_search import Z95, Crossing
from recall_theory.verification.ladder_study import RATIO, Row, law_of, setting_of_row

WIDEST_INTERVAL = 0.3  # of an exponent; a wider one is not determined
RESAMPLED = 2000  # times that the seeds are drawn again
LEAST_SHARE = 1e-3  # accuracies nearer to 0 and 1 are taken for this
LAWS = {"0": "1", "0 at rung 2's rates": "2"}  # rung 0 -> the rung at whose settings and rates the law is taken
PARTS = ("width", "fewer", "between", "length", "samples", "narrow", "least samples")
MANY_SEEDS = {("V", "L"): "many seeds, V", ("N", "d"): "many seeds, N"}  # parts for rungs 1 and 2


@dataclasses.dataclass(frozen=True)
class LadderScaling:
    """Critical sizes along another size, and the `exponent` of the straight line through the logarithms of those that
    are known, by least squares; its 95 % `interval` is from seeds drawn again. `scatter` is the largest distance of a
    size from the line, relative. All are NaN where there are not three sizes, the interval for the law."""

    points: tuple[CriticalSize, ...]
    exponent: float = math.nan
    interval: tuple[float, float] = (math.nan, math.nan)
    scatter: float = math.nan


def ladder_scaling(rows: Sequence[Row], rung: str, of: str, along: str, at: float,
                   parts: Sequence[str] = PARTS) -> LadderScaling:
    """Where the accuracy of a rung crosses `at` as a function of `of`, for each value of `along`.

    `of` is V or N, `along` is d or L, `parts` are those of the study whose rows count. Rungs 1 and 2 have the trainings
    with the most seeds, `three steps` or those of `MANY_SEEDS`, the names of `LAWS` the law at the same settings. Rows
    at other sizes than the study's are left out: L = 8 along d, N = 32 V, and d = 16 along L, or d = 64 for rungs 0 to
    2; for N, V = 64 and d = 32 along L, or V = 32 and d = 48 for rungs 0 to 2.
    """
    source = LAWS.get(rung, rung)
    few = source in ("1", "2")
    if few:
        parts = (MANY_SEEDS.get((of, along), "three steps"),)
    fixed_V, fixed_d = (32, 48 if of == "N" else 64) if few else (64, 32 if of == "N" else 16)
    chosen: dict[int, dict[int, Row]] = {}
    for row in rows:
        if row["rung"] != source or row["part"] not in parts:
            continue
        s = setting_of_row(row)
        usual = s.N == RATIO * s.V if of == "V" else s.V == fixed_V
        shape = s.L == 8 if along == "d" else s.d == fixed_d
        if usual and shape:
            chosen.setdefault(getattr(s, along), {})[getattr(s, of)] = row

    found = []
    for value, of_size in sorted(chosen.items()):
        if len(of_size) > 2:
            accuracies = (until_crossed(of_size, source, of, at) if rung in LAWS else
                          {size: np.array(row["observed"]["accuracy"]["values"]) for size, row in of_size.items()})
            found.append(critical_size(value, of, accuracies, at))
    points = tuple(point for point, _ in found)
    usable = [(point, logs) for point, logs in found if point.se_log >= 0]
    if len(usable) < 3:
        return LadderScaling(points)
    x, y = np.log([(point.value, point.observed) for point, _ in usable]).T
    weight = (x - x.mean()) / ((x - x.mean()) ** 2).sum()
    exponent = float(weight @ y)
    scatter = math.expm1(np.abs(y - y.mean() - exponent * (x - x.mean())).max())
    if rung in LAWS:
        return LadderScaling(points, exponent, scatter=scatter)
    # Drawings without a crossing, at most 2.5 % to a side, count at the largest finite distance.
    logs = np.array([logs for _, logs in usable])
    finite = np.where(np.isfinite(logs), logs, y[:, None])
    drawn = weight @ np.clip(logs, finite.min(axis=1)[:, None], finite.max(axis=1)[:, None])
    return LadderScaling(points, exponent, interval_of(exponent, drawn, usable[0][0].simulated), scatter)


def until_crossed(rows: dict[int, Row], rung: str, of: str, at: float) -> dict[int, FloatArray]:
    """The law's accuracies at a rung's rates, from the sizes of greatest accuracy on to the first below `at`."""
    kept = {}
    for size in sorted(rows, reverse=of == "N"):
        kept[size] = np.array([law_of(setting_of_row(rows[size]), rung)["accuracy"]])
        if kept[size] < at:
            break
    return kept


def critical_size(value: int, of: str, accuracies: dict[int, FloatArray], at: float) -> tuple[CriticalSize, FloatArray]:
    """The first crossing of a level, from small sizes on, and its logarithm for each drawing of the seeds (RESAMPLED,):
    infinite where there is no crossing within the sizes.

    `accuracies` holds one value a seed for each size of `of`; they fall in V and rise in N. Between two neighbouring
    sizes the crossing is half way between those of two straight lines in the logarithm of the size: of the accuracy,
    and of its logit. Each drawing has the seeds drawn again, the same ones at all settings, since settings of the same
    V and d share their embeddings, and lies at random between the two lines' crossings.
    """
    sizes = np.array(sorted(accuracies))
    values = np.array([accuracies[size] for size in sizes])
    seeds = values.shape[1]
    rng = np.random.default_rng(0)
    drawn = rng.integers(seeds, size=(RESAMPLED, seeds))
    between = np.r_[0.5, np.random.default_rng((0, value)).random(RESAMPLED)]
    means = np.clip(np.vstack([values.mean(axis=1), values[:, drawn].mean(axis=2).T]), LEAST_SHARE, 1 - LEAST_SHARE)
    beyond = means < at if of == "V" else means >= at
    first, line = beyond.argmax(axis=1), np.arange(len(means))

    def share(height: FloatArray) -> FloatArray:
        before, after = height[line, first - 1], height[line, first]
        return before / np.where(first > 0, before - after, 1)

    along = (1 - between) * share(means - at) + between * share(logit(means) - logit(at))
    logs = np.log(sizes[first - 1]) + along * (np.log(sizes[first]) - np.log(sizes[first - 1]))
    logs = np.where(first > 0, logs, np.where(beyond[:, 0], -np.inf, np.inf))

    if np.isfinite(logs[0]):
        crossing = Crossing(logs[0], *interval_of(float(logs[0]), logs[1:], seeds))
    elif beyond[0, 0]:
        crossing = Crossing(reason=f"below {of} = {sizes[0]}" if beyond[0].all() else f"not monotone in {of}")
    else:
        crossing = Crossing(reason=f"above {of} = {sizes[-1]}")
    return CriticalSize(value, math.exp(crossing.log_size), (math.exp(crossing.low), math.exp(crossing.high)),
                        math.nan, seeds, crossing.reason), logs[1:]


def interval_of(value: float, drawn: FloatArray, seeds: int) -> tuple[float, float]:
    """The 95 % interval of a value from `drawn`, the same for each drawing of the seeds: its 2.5 and 97.5 % points,
    moved away from the value by what Student's t and the variance of few seeds ask for."""
    if seeds == 1:
        return value, value
    factor = t.ppf(0.975, seeds - 1) / Z95 * math.sqrt(seeds / (seeds - 1))
    low, high = np.quantile(drawn, [0.025, 0.975], method="nearest")
    return float(value + factor * (low - value)), float(value + factor * (high - value))


def exponent_in_words(scaling: LadderScaling) -> str:
    """The exponent with its 95 % interval and how far the sizes lie from the line at most; "not determined" where the
    interval is wider than 0.3 or there are not three sizes."""
    low, high = scaling.interval
    if math.isnan(scaling.exponent):
        return "not determined"
    if high - low > WIDEST_INTERVAL:
        return f"not determined [{low:.2f}, {high:.2f}]"
    interval = "" if math.isnan(low) else f" [{low:.2f}, {high:.2f}]"
    return f"{scaling.exponent:.2f}{interval}, within {scaling.scatter:.0%}"


def size_in_words(point: CriticalSize) -> str:
    """A critical size to three digits, or where it lies outside what was measured."""
    return point.reason or f"{float(f'{point.observed:.3g}'):,g}"
