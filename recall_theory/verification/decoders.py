"""How close to the gradient bound decoders come: bound, prediction and observation over one range of samples."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..settings import PARAMETERS, Setting, SettingError, check_integer, check_seed, check_seeds
from ..simulate.gradient_readers import READERS, read_gradient
from ..simulate.run import check_affordable, one_seed
from ..theory.formulas.lower_bounds import gradient_information_sampled, most_right
from ..theory.one_step_memory import one_step_recall
from ..theory.predict import predict_many
from .sampling import mean_and_error, observe_settings

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

    setting: dict[str, int | bool]
    seed: int
    seeds: int
    points: tuple[Point, ...]

    def to_dict(self) -> dict[str, object]:
        """The JSON contract of `recall-theory bounds --decoders`."""
        return {"schema_version": 1, **dataclasses.asdict(self)}


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
    seed = check_seed(seed)
    check_integer("points", points, 2, MOST_POINTS)
    V, L, d = (PARAMETERS[name].check(value) for name, value in (("V", V), ("L", L), ("d", d)))
    if L < 2:
        raise SettingError("L", f"L={L} leaves no noise tokens; the gradient bound needs L of at least 2")
    N = np.clip(np.rint(np.geomspace(LEAST_X, MOST_X, points) * V**2 * L * np.log(V) / d**2), 1, PARAMETERS["N"].high)
    settings = [Setting(V=V, L=L, d=d, N=int(n), trigger_in_value=trigger_in_value) for n in N]
    predictions = _predictions(settings)
    for s in settings:
        check_affordable(s)

    def of_finished(values: list[NDArray[np.float64]]) -> Tightness:
        finished = [Point(float(s.N * d**2 / (V**2 * L * np.log(V))), s.N, *known, *_means(observed))
                    for s, known, observed in zip(settings, predictions, values, strict=False)]
        sizes = {"V": V, "L": L, "d": d, "trigger_in_value": trigger_in_value}
        return Tightness(sizes, seed, seeds, tuple(finished))

    return of_finished(observe_settings(observe, settings, seeds, seed, jobs=jobs, progress=progress,
                                        partial=lambda values: of_finished(values) if values else None))


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
    s, N = settings[0], np.array([float(setting.N) for setting in settings])
    sizes: dict[str, Any] = {"V": s.V, "L": s.L, "d": s.d, "N": N, "trigger_in_value": s.trigger_in_value}
    recalls = zip(one_step_recall(**sizes).tolist(), one_step_recall(**sizes, noise=1).tolist(),
                  predict_many(**sizes).accuracy.tolist(), strict=True)
    return [(most, dict(zip(("gradient", "noisy gradient", "three steps"), each, strict=True)))
            for most, each in zip(bound(s.V, s.L, s.d, N).tolist(), recalls, strict=True)]


def _means(values: NDArray[np.float64]) -> tuple[dict[str, float], dict[str, float | None]]:
    """Means and standard errors over seeds (seeds, observed)."""
    each = {name: mean_and_error(column) for name, column in zip(OBSERVED, values.T, strict=True)}
    return {name: mean for name, (mean, _) in each.items()}, {name: error for name, (_, error) in each.items()}
