"""Settings observed on as many seeds each: of a phase diagram, and of alternatives beside their predictions."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..numerics.arrays import Observable
from ..numerics.formatting import SCHEMA_VERSION
from ..settings import PARAMETERS, Setting, SettingError, check_integer, check_proportion, check_seed, check_seeds
from ..simulate.memories import READERS, read_gradient
from ..simulate.run import check_affordable, one_seed
from ..simulate.workers import collect
from ..theory.formulas.leading_laws import recall_interference
from ..theory.formulas.lower_bounds import gradient_information_sampled, most_right
from ..theory.one_step_memory import one_step_recall
from ..theory.phase import PhaseDiagram, place
from ..theory.phase import Point as SimulatedPoint
from ..theory.predict import predict_many
from ..theory.solve import solve_for
from .problem import observe_exactly

Values = tuple[float, ...]
Estimate = tuple[float, float | None]  # a mean over seeds and its standard error, None for a single seed
R = TypeVar("R")


def observe_settings(settings: Sequence[Setting], seeds: int, seed: int, result: Callable[[list[list[Estimate]]], R], *,
                     observe: Callable[[Setting, int, int], Values] = observe_exactly, jobs: int = 1,
                     progress: Callable[[int, int], None] | None = None) -> R:
    """The `result` of the estimates of every observable, setting by setting.

    Each setting has `seeds` seeds of its own: settings that shared their embeddings would err together. `observe` gives
    the observables of one seed. On Ctrl-C `Interrupted` carries the `result` of the first settings, those whose seeds
    are all there.
    """
    for setting in settings:
        check_affordable(setting, jobs)

    def of_whole_settings(rows: list[Values]) -> R:
        blocks = [np.array(rows[i:i + seeds]) for i in range(0, len(rows) - seeds + 1, seeds)]
        observables = [[Observable(column) for column in block.T] for block in blocks]
        return result([[(o.mean, None if math.isnan(o.se) else o.se) for o in row] for row in observables])

    tasks = [(s, seed, i * seeds + j) for i, s in enumerate(settings) for j in range(seeds)]
    return of_whole_settings(collect(observe, tasks, jobs=jobs, progress=progress, partial=of_whole_settings))


# --- a phase diagram ---------------------------------------------------------------------------------------

MOST_SIMULATED = 1000  # on a phase diagram
PLASTIC = 1.32471795724474602596  # the real root of x^3 = x + 1


def chosen_cells(diagram: PhaseDiagram, points: int) -> list[tuple[int, int]]:
    """The (row, column) of `points` cells spread evenly over the plane: the R2 sequence, snapped to cells."""
    rows, columns = diagram.accuracy.shape
    check_integer("points", points, 1, min(MOST_SIMULATED, rows * columns))
    sequence = ((int((1 / 2 + k / PLASTIC**2) % 1 * rows), int((1 / 2 + k / PLASTIC) % 1 * columns))
                for k in itertools.count(1))
    chosen: dict[tuple[int, int], None] = {}
    while len(chosen) < points:
        chosen[next(sequence)] = None
    return list(chosen)


def with_points(diagram: PhaseDiagram, points: int = 12, seeds: int = 8, seed: int | None = None, *,
                jobs: int = 1, progress: Callable[[int, int], None] | None = None) -> PhaseDiagram:
    """The diagram with `points` of its settings simulated on `seeds` seeds each.

    Raises `SettingError` where a number is out of range, or a setting too large to simulate, and `Interrupted` (a
    KeyboardInterrupt) with the points whose seeds were finished by then where Ctrl-C stops it.
    """
    check_seeds(seeds)
    seed = check_seed(seed)
    cells = chosen_cells(diagram, points)
    at = [(float(diagram.x_values[i]), float(diagram.y_values[j])) for j, i in cells]
    fixed = dict(diagram.fixed)
    ratio = fixed.pop("ratio", None)

    def with_observed(observed: list[list[Estimate]]) -> PhaseDiagram:
        marks = [SimulatedPoint(x, y, *accuracy, float(diagram.accuracy[cell]))
                 for (x, y), cell, (_, _, accuracy) in zip(at, cells, observed, strict=False)]
        return dataclasses.replace(diagram, points=tuple(marks))

    return observe_settings([place(diagram.x, diagram.y, x, y, fixed, ratio) for x, y in at], seeds, seed,
                            with_observed, jobs=jobs, progress=progress)


# --- decoders of the first gradient ------------------------------------------------------------------------

LEAST_X, MOST_X = 1 / 4, 16  # of x = N d^2/(V^2 L ln V)
MOST_POINTS = 64
OBSERVED = (*READERS, "three steps")


@dataclasses.dataclass(frozen=True)
class Point:
    """One number of samples. `bound` is the most recall that a reader of the noisy gradient can have; `predicted`,
    `observed` and `se` (None for a single seed) are by reader, and of the accuracy after three steps."""

    x: float
    N: int
    bound: float
    predicted: dict[str, float]
    observed: dict[str, float]
    se: dict[str, float | None]


@dataclasses.dataclass(frozen=True)
class Tightness:
    """Points over x = N d^2/(V^2 L ln V) at fixed V, L and d."""

    setting: dict[str, int | bool]
    seed: int
    seeds: int
    points: tuple[Point, ...]

    def to_dict(self) -> dict[str, object]:
        """The JSON contract of `recall-theory bounds --decoders`."""
        return {"schema_version": SCHEMA_VERSION, **dataclasses.asdict(self)}


def tightness(V: int, L: int, d: int, *, points: int = 7, seeds: int = 16, seed: int | None = None,
              trigger_in_value: bool = True, jobs: int = 1,
              progress: Callable[[int, int], None] | None = None) -> Tightness:
    """Bound, predictions and simulations at `points` numbers of samples, even in the logarithm of
    x = N d^2/(V^2 L ln V) from 1/4 to 16.

    Raises `SettingError` for a value outside its domain or a setting too large to simulate, and `Interrupted` with
    the points finished by then where Ctrl-C stops it.

    >>> [point.N for point in tightness(32, 8, 16, points=3, seeds=2, seed=1).points]
    [28, 222, 1774]
    """
    check_seeds(seeds)
    used = check_seed(seed)
    check_integer("points", points, 2, MOST_POINTS)
    V, L, d = (PARAMETERS[name].check(value) for name, value in (("V", V), ("L", L), ("d", d)))
    if L < 2:
        raise SettingError("L", f"L={L} leaves no noise tokens; the gradient bound needs L of at least 2")
    scale = V**2 * L * np.log(V) / d**2
    N = np.clip(np.rint(np.geomspace(LEAST_X, MOST_X, points) * scale), 1, PARAMETERS["N"].high)

    sizes: dict[str, Any] = {"V": V, "L": L, "d": d, "trigger_in_value": trigger_in_value}
    most = bound(V, L, d, N)
    predicted = {"gradient": one_step_recall(**sizes, N=N), "noisy gradient": one_step_recall(**sizes, N=N, noise=1),
                 "three steps": predict_many(**sizes, N=N).accuracy}

    def beside(observed: list[list[Estimate]]) -> Tightness:
        finished = []
        for i, estimates in enumerate(observed):
            claims = {name: float(values[i]) for name, values in predicted.items()}
            means, errors = zip(*estimates, strict=True)
            finished.append(Point(float(N[i] / scale), int(N[i]), float(most[i]), claims,
                                  dict(zip(OBSERVED, means, strict=True)), dict(zip(OBSERVED, errors, strict=True))))
        return Tightness(sizes, used, seeds, tuple(finished))

    return observe_settings([Setting(**sizes, N=int(n)) for n in N], seeds, used, beside, observe=observe, jobs=jobs,
                            progress=progress)


def observe(setting: Setting, seed: int, index: int) -> tuple[float, ...]:
    """What each of `OBSERVED` answers right, of one seed."""
    return (*read_gradient(setting, seed, index), one_seed(setting, seed, index)[2])


def bound(V: int, L: int, d: int, N: ArrayLike) -> NDArray[np.float64]:
    """The most recall that a reader of the first gradient of N samples (B,) can have, noise added."""
    n = np.asarray(N, dtype=float)
    nats = gradient_information_sampled(V=float(V), L=float(L), d=float(d), N=n)
    return np.minimum(1, most_right(nats=nats) / V)


# --- random against orthogonal embeddings ------------------------------------------------------------------

EMBEDDINGS = ("gaussian", "orthogonal")  # the latter for V of at most d
AROUND = (1 / 4, 1 / 2, 1, 2)  # dimensions that are looked at, in units of the one given
FEWEST_FACTS = 1 / 4  # of d, from which on samples are counted
NEAR_LIMIT = 9 / 10  # of the largest V, where they are counted last
TARGET = 9 / 10


@dataclasses.dataclass(frozen=True)
class Dimension:
    """The facts that embeddings of dimension d store at the target, however many the samples: `random` by the exact
    prediction (None where none do), `law` the leading one, `orthogonal` all that are possible."""

    d: int
    random: int | None
    law: float
    orthogonal: int


@dataclasses.dataclass(frozen=True)
class Need:
    """The least N at which V facts are predicted to reach the target (None: no N does), and the accuracy observed
    there: its mean over seeds and standard error, None where nothing was simulated."""

    N: int | None
    observed: float | None = None
    se: float | None = None


@dataclasses.dataclass(frozen=True)
class FactsStored:
    """V facts and what they need, by embedding; orthogonal ones are there up to V = d."""

    V: int
    needs: dict[str, Need]


@dataclasses.dataclass(frozen=True)
class BeyondOrthogonal:
    """The comparison at one dimension and around it. `seed` is None where nothing was simulated."""

    setting: dict[str, int | bool]
    target: float
    seed: int | None
    seeds: int
    dimensions: tuple[Dimension, ...]
    facts: tuple[FactsStored, ...]

    def to_dict(self) -> dict[str, object]:
        """The JSON contract of `recall-theory compare embeddings`."""
        return {"schema_version": SCHEMA_VERSION, **dataclasses.asdict(self)}


def beyond_orthogonal(*, L: int, d: int, trigger_in_value: bool = True, target: float = TARGET, points: int = 6,
                      seeds: int = 0, seed: int | None = None, jobs: int = 1,
                      progress: Callable[[int, int], None] | None = None) -> BeyondOrthogonal:
    """Facts and samples of Gaussian and of orthogonal embeddings, at the accuracy `target`.

    Facts: at d/4, d/2, d and 2d. Samples: at dimension d, for `points` values of V from d/4 to near the largest, V =
    d among them. Each predicted least N is simulated on `seeds` seeds (0: on none). Raises `SettingError` for a value
    outside its domain or a setting too large to simulate, `Interrupted` with what was observed where Ctrl-C stops it.

    >>> found = beyond_orthogonal(L=4, d=64, points=2, trigger_in_value=False)
    >>> found.facts[-1].V > 64
    True
    """
    d, L = PARAMETERS["d"].check(d), PARAMETERS["L"].check(L)
    check_proportion("target", target)
    check_integer("points", points, 2, MOST_POINTS)
    if d < PARAMETERS["V"].low:
        raise SettingError("d", f"d={d} is too small: orthogonal embeddings need d of at least V, and V is at least "
                           f"{PARAMETERS['V'].low:g}")
    if seeds:
        check_seeds(seeds)
    used = check_seed(seed)
    sizes: dict[str, Any] = {"d": d, "L": L, "trigger_in_value": trigger_in_value}
    dimensions = []
    for near_d in sorted({min(max(2, round(c * d)), int(PARAMETERS["d"].high)) for c in AROUND}):
        most = solve_for("V", target, ratio=math.inf, **{**sizes, "d": near_d})
        law = recall_interference(d=float(near_d), e=int(trigger_in_value), tau=1)
        dimensions.append(Dimension(near_d, None if most is None else most.high, float(law), near_d))
    least: dict[tuple[int, str], int | None] = {}
    for V in _values(d, next(x.random for x in dimensions if x.d == d), points):
        for embedding in EMBEDDINGS if V <= d else EMBEDDINGS[:1]:
            samples = solve_for("N", target, V=V, embedding=embedding, **sizes)
            least[V, embedding] = None if samples is None else samples.low

    def answer(observed: list[list[Estimate]]) -> BeyondOrthogonal:
        accuracies = (accuracy for _, _, accuracy in observed)
        needs: dict[int, dict[str, Need]] = {}
        for (V, embedding), N in least.items():
            needs.setdefault(V, {})[embedding] = Need(N, *(() if N is None else next(accuracies, ())))
        facts = tuple(FactsStored(V, by_embedding) for V, by_embedding in needs.items())
        return BeyondOrthogonal(sizes, target, used if seeds else None, seeds, tuple(dimensions), facts)

    if not seeds:
        return answer([])
    settings = [Setting(V=V, N=N, embedding=embedding, **sizes) for (V, embedding), N in least.items() if N is not None]
    return observe_settings(settings, seeds, used, answer, jobs=jobs, progress=progress)


def _values(d: int, most: int | None, points: int) -> list[int]:
    """V from d/4 to near the largest, even in the logarithm on either side of d, the most of orthogonal embeddings."""
    high = d if most is None else max(d, NEAR_LIMIT * most)
    beyond = points // 2 if high > d else 0
    below = np.geomspace(max(2, FEWEST_FACTS * d), d, points - beyond)
    return sorted({round(v) for v in (*below, *np.geomspace(d, high, beyond + 1))})
