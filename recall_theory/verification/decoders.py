"""How close to the gradient bound decoders come: bound, prediction and observation over one range of samples."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..numerics.formatting import SCHEMA_VERSION
from ..settings import PARAMETERS, Setting, SettingError, check_integer, check_seed, check_seeds
from ..simulate.gradient_readers import READERS, read_gradient
from ..simulate.run import one_seed
from ..theory.formulas.lower_bounds import gradient_information_sampled, most_right
from ..theory.one_step_memory import one_step_recall
from ..theory.predict import predict_many
from .sampling import Estimate, observe_settings

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
