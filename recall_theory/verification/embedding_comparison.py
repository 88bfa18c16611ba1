"""Random against orthogonal embeddings of one dimension: how many facts each stores, and what it pays in samples."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..numerics.formatting import SCHEMA_VERSION
from ..settings import PARAMETERS, Setting, SettingError, check_integer, check_proportion, check_seed, check_seeds
from ..theory.formulas.leading_laws import recall_interference
from ..theory.solve import solve_for
from .sampling import Estimate, observe_settings

EMBEDDINGS = ("gaussian", "orthogonal")  # the latter for V of at most d
AROUND = (1 / 4, 1 / 2, 1, 2)  # dimensions that are looked at, in units of the one given
FEWEST_FACTS = 1 / 4  # of d, from which on samples are counted
NEAR_LIMIT = 9 / 10  # of the largest V, where they are counted last
MOST_POINTS = 64
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
    simulated = {place: N for place, N in least.items() if N is not None}

    def answer(observed: list[list[Estimate]]) -> BeyondOrthogonal:
        accuracies = {place: accuracy for place, (_, _, accuracy) in zip(simulated, observed, strict=False)}
        needs: dict[int, dict[str, Need]] = {}
        for (V, embedding), N in least.items():
            needs.setdefault(V, {})[embedding] = Need(N, *accuracies.get((V, embedding), ()))
        facts = tuple(FactsStored(V, by_embedding) for V, by_embedding in needs.items())
        return BeyondOrthogonal(sizes, target, used if seeds else None, seeds, tuple(dimensions), facts)

    if not seeds:
        return answer([])
    settings = [Setting(V=V, N=N, embedding=embedding, **sizes) for (V, embedding), N in simulated.items()]
    return observe_settings(settings, seeds, used, answer, jobs=jobs, progress=progress)


def _values(d: int, most: int | None, points: int) -> list[int]:
    """V from d/4 to near the largest, even in the logarithm on either side of d, the most of orthogonal embeddings."""
    high = d if most is None else max(d, NEAR_LIMIT * most)
    beyond = points // 2 if high > d else 0
    below = np.geomspace(max(2, FEWEST_FACTS * d), d, points - beyond)
    return sorted({round(v) for v in (*below, *np.geomspace(d, high, beyond + 1))})
