"""How close to the gradient bound decoders come: bound, prediction and observation over one range of samples."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..settings import PARAMETERS, Setting, SettingError
from ..simulate.gradient_readers import READERS, read_gradient
from ..simulate.observation import Interrupted
from ..simulate.run import check_affordable, check_seed, check_seeds, map_tasks, one_seed
from ..theory.formulas.lower_bounds import gradient_information_sampled, most_right
from ..theory.one_step_memory import one_step_recall
from ..theory.predict import predict_many

__all__ = ["OBSERVED", "Point", "Tightness", "bound", "tightness"]

LEAST_X, MOST_X = 1 / 4, 16  # of x = N d^2/(V^2 L ln V)
MOST_POINTS = 64
OBSERVED = (*READERS, "three steps")


@dataclasses.dataclass(frozen=True)
class Point:
    """One number of samples. `bound` is the most recall that a reader of the noisy gradient can have, `predicted`
    that of the readers with a closed form and the accuracy after three steps; `observed` and `se` are means and
    standard errors over seeds (None for a single one)."""

    x: float
    N: int
    bound: float
    predicted: dict[str, float]
    observed: dict[str, float]
    se: dict[str, float | None]


@dataclasses.dataclass(frozen=True)
class Tightness:
    """Points over x = N d^2/(V^2 L ln V) at fixed V, L and d."""

    setting: dict[str, Any]
    seed: int
    seeds: int
    points: tuple[Point, ...]

    def to_dict(self) -> dict[str, Any]:
        """The JSON contract of `recall-theory tightness`."""
        return {"schema_version": 1, **dataclasses.asdict(self)}


def tightness(V: int, L: int, d: int, *, points: int = 7, seeds: int = 16, seed: int | None = None,
              trigger_in_value: bool = True, jobs: int = 1,
              progress: Callable[[int, int], None] | None = None) -> Tightness:
    """Bound, predictions and simulations at `points` numbers of samples, even in the logarithm of
    x = N d^2/(V^2 L ln V) from 1/4 to 16.

    Raises `SettingError` for a value outside its domain or a setting too large to simulate, and `Interrupted` with
    the points finished by then where Ctrl-C stops it.

    >>> found = tightness(32, 8, 16, points=3, seeds=2, seed=1)
    >>> [p.N for p in found.points]
    [28, 222, 1774]
    """
    check_seeds(seeds)
    seed = check_seed(seed)
    if not (isinstance(points, int) and 2 <= points <= MOST_POINTS):
        raise SettingError("points", f"points={points!r} is not an integer from 2 to {MOST_POINTS}")
    V, L, d = (PARAMETERS[name].check(value) for name, value in (("V", V), ("L", L), ("d", d)))
    if L < 2:
        raise SettingError("L", f"L={L} leaves no noise tokens; the gradient bound needs L of at least 2")
    x = np.geomspace(LEAST_X, MOST_X, points)
    N = np.clip(np.rint(x * V**2 * L * np.log(V) / d**2), 1, PARAMETERS["N"].high)
    settings = [Setting(V=V, L=L, d=d, N=int(n), trigger_in_value=trigger_in_value) for n in N]
    known = _predictions(settings)
    for s in settings:
        check_affordable(s)
    values = np.full((points, seeds, len(OBSERVED)), np.nan)

    def found(done: int) -> Tightness:
        given = {"V": V, "L": L, "d": d, "trigger_in_value": trigger_in_value}
        return Tightness(given, seed, seeds, tuple(
            Point(float(s.N * d**2 / (V**2 * L * np.log(V))), s.N, *known[i], *_means(values[i]))
            for i, s in enumerate(settings[:done])))

    count = 0
    try:
        tasks = ((s, seed, i * seeds + j) for i, s in enumerate(settings) for j in range(seeds))
        for seen in map_tasks(observe, tasks, jobs):
            values[divmod(count, seeds)] = seen
            count += 1
            if progress is not None:
                progress(count, points * seeds)
    except KeyboardInterrupt:
        if count < seeds:
            raise
        raise Interrupted(found(count // seeds)) from None
    return found(points)


def observe(setting: Setting, seed: int, index: int) -> tuple[float, ...]:
    """What each of `OBSERVED` answers right, of one seed."""
    return (*read_gradient(setting, seed, index), one_seed(setting, seed, index)[2])


def bound(V: int, L: int, d: int, N: ArrayLike) -> NDArray[np.float64]:
    """The most recall that a reader of the first gradient of N samples (B,) can have, noise added."""
    n = np.asarray(N, dtype=float)
    nats = gradient_information_sampled(V=float(V), L=float(L), d=float(d), N=n)
    return np.minimum(1, most_right(nats=nats) / V)


def _predictions(settings: list[Setting]) -> list[tuple[float, dict[str, float]]]:
    """Bound and predictions of each setting."""
    s = settings[0]
    N = np.array([float(t.N) for t in settings])
    how: dict[str, Any] = {"V": s.V, "L": s.L, "d": s.d, "N": N, "trigger_in_value": s.trigger_in_value}
    predicted = zip(bound(s.V, s.L, s.d, N).tolist(), one_step_recall(**how).tolist(),
                    one_step_recall(**how, noise=1).tolist(), predict_many(**how).accuracy.tolist(), strict=True)
    return [(most, {"gradient": plain, "noisy gradient": noisy, "three steps": trained})
            for most, plain, noisy, trained in predicted]


def _means(values: NDArray[np.float64]) -> tuple[dict[str, float], dict[str, float | None]]:
    """Means and standard errors over seeds (seeds, observed)."""
    means = {name: float(v) for name, v in zip(OBSERVED, values.mean(axis=0), strict=True)}
    if len(values) == 1:
        return means, dict.fromkeys(OBSERVED)
    spread = values.std(axis=0, ddof=1) / np.sqrt(len(values))
    return means, {name: float(v) for name, v in zip(OBSERVED, spread, strict=True)}
