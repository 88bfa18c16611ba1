"""What one picture of geometric recall shows: recall against d, capacity against hops, and where training succeeds."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import SettingError
from ..numerics.arrays import Observable
from ..numerics.thresholds import last_reaching
from ..settings import check_seed, check_seeds
from ..simulate.workers import collect
from ..theory.formulas.registry import formulas
from .geometric_capacity import MOST_R, TARGET
from .geometric_setting import Construction, GeometricSetting
from .geometric_simulation import check_affordable, one_seed
from .hop_depth import BITS_ROUNDING, hops_bits
from .superposition import COARSE, superposition_dimension, superposition_recall

CURVE_POINTS = 16  # of a predicted curve
SIMULATED = (1 / 10, 3 / 10, 1 / 2, 7 / 10, 9 / 10, 99 / 100)  # one simulates where the prediction reaches these
CODE = 2  # code length of random superposition, times ceil(log2 N)
HELD = 512  # coordinates of an embedding in the plane of capacity and hops
WAYS = {"embedding": "by the embedding", "layers": "a layer a hop, lookup tables", "middle": "meeting in the middle",
        "chain": "chain of thought", "two-layers": "the middle, two MLP layers", "wide": "wide MLP, N R^h units"}
BOUND = "bound, embeddings alone"
# What is drawn -> the formula of the registry that it follows.
SOURCES = {
    "random superposition": "geometric.superposition.interference", "exact construction": "geometric.exact.dimension",
    BOUND: "geometric.bound.hops", WAYS["embedding"]: "geometric.exact.dimension",
    WAYS["layers"]: "geometric.exact.dimension", WAYS["middle"]: "geometric.middle.dimension",
    WAYS["two-layers"]: "geometric.middle.dimension",
    WAYS["chain"]: "geometric.chain.dimension", "R log2 N": "paper.geometric.dimension.order",
}


@dataclasses.dataclass(frozen=True)
class RecallCurve:
    """Recall of N R facts against d: `predicted` pairs (d, recall) of random superposition with codes of length k,
    `simulated` observations at some d, `reaches` the least d for recall 0.99, `exact` that of the exact construction,
    and `bound` the least number of one-bit coordinates where facts are in subject embeddings alone."""

    N: int
    R: int
    k: int
    predicted: tuple[tuple[int, float], ...]
    simulated: tuple[tuple[int, Observable], ...]
    reaches: int | None
    exact: int
    bound: int


@dataclasses.dataclass(frozen=True)
class GeometricReport:
    """Recall curves; `frontiers`, for each way to answer the most relations that 512 coordinates of one bit hold at
    1, 2, .. hops (None where there are none, or no bound is known) and N = `frontier_N`; `training`, rows of a study's
    least dimensions; `sources` of all that is drawn."""

    seed: int
    seeds: int
    curves: tuple[RecallCurve, ...]
    frontier_N: int
    frontiers: dict[str, tuple[int | None, ...]]
    training: tuple[dict[str, Any], ...]

    @property
    def sources(self) -> list[dict[str, str]]:
        """What is drawn, its provenance and its reference."""
        rows: list[tuple[str, str, str]] = [(what, formulas[name].provenance, f"{formulas[name].reference}: {name}")
                                            for what, name in SOURCES.items()]
        rows += [(WAYS["wide"], "derived", "docs/derivations/geometric.md"),
                 ("marks with bars", "simulated",
                  f"{self.seeds} seeds, --seed {self.seed}; bars of two standard errors")]
        if self.training:
            rows.append(("trained, frozen", "measured",
                         "validation/geometric_training.py: 95 % of facts recalled, mean over seeds"))
        return [{"what": what, "source": source, "reference": reference} for what, source, reference in rows]

    def to_dict(self) -> dict[str, Any]:
        """The JSON contract of `recall-theory geometric report`."""
        curves = [{**dataclasses.asdict(curve), "simulated": [
            {"d": d, **observed.to_dict()} for d, observed in curve.simulated]} for curve in self.curves]
        return {"seed": self.seed, "seeds": self.seeds, "curves": curves, "held": HELD, "frontier_N": self.frontier_N,
                "frontiers": self.frontiers, "training": self.training, "sources": self.sources}


def gather_report(N: Sequence[int] = (32, 256), R: Sequence[int] = (4, 16), most_hops: int = 4, *, seeds: int = 8,
                     seed: int | None = None, jobs: int = 1, training: str | None = None,
                     progress: Callable[[int, int], None] | None = None) -> GeometricReport:
    """Predict and simulate recall for every pair of N and R, and find the frontiers of 1 to `most_hops` hops at the
    largest N.

    seeds, seed, jobs, progress: as of `simulate`, over all its points. training: a file of rows of
    validation/geometric_training.py. Raises `SettingError` where a number is out of range or the file is no such file,
    and `Interrupted` with what is simulated by then where Ctrl-C stops it.

    >>> report = gather_report([16], [2], 2, seeds=2, seed=1)
    >>> report.frontiers["meeting in the middle"], report.frontiers["chain of thought"]
    ((102, 85), (101, 101))
    """
    check_seeds(seeds)
    used = check_seed(seed)
    rows = () if training is None else read_thresholds(training)
    settings = {(n, r): _simulated_settings(n, r) for r in R for n in N}
    everything = [s for some in settings.values() for s in some]
    for s in everything:
        check_affordable(s)

    def made(values: list[float]) -> GeometricReport:
        finished = np.reshape(values[:len(values) // seeds * seeds], (-1, seeds))
        seen = dict(zip(everything, map(Observable, finished), strict=False))
        curves = tuple(_curve(n, r, [(s.width, seen[s]) for s in some if s in seen])
                       for (n, r), some in settings.items())
        return GeometricReport(used, seeds, curves, max(N), frontiers(max(N), most_hops), rows)

    tasks = [(s, used, i) for s in everything for i in range(seeds)]
    return made(collect(one_seed, tasks, jobs=jobs, progress=progress, partial=made))


def _simulated_settings(N: int, R: int) -> list[GeometricSetting]:
    """One for each dimension at which the prediction reaches one of the recalls that are simulated."""
    k = CODE * (N - 1).bit_length()
    found = {superposition_dimension(N, R, k, recall, COARSE) for recall in SIMULATED}
    return [GeometricSetting(N=N, R=R, d=d, code_length=k) for d in sorted(d for d in found if d is not None)]


def _curve(N: int, R: int, simulated: list[tuple[int, Observable]]) -> RecallCurve:
    k, exact = CODE * (N - 1).bit_length(), Construction(N=N, R=R).d
    reaches = superposition_dimension(N, R, k, TARGET)
    along = {round(float(d)) for d in np.geomspace(k, 2 * max(reaches or k, exact), CURVE_POINTS)}
    predicted = tuple((d, superposition_recall(N, R, k, d)) for d in sorted(along | {d for d, _ in simulated}))
    return RecallCurve(N, R, k, predicted, tuple(simulated), reaches, exact,
                       math.ceil(R * math.log2(N) - BITS_ROUNDING))


def frontiers(N: int, most_hops: int) -> dict[str, tuple[int | None, ...]]:
    """For each way to answer queries the most relations that an embedding of 512 one-bit coordinates holds, at 1, 2, ..
    hops; and the bound on it for facts in subject embeddings alone, None where none is known."""

    def takes(way: str, R: int, h: int) -> float:
        """Coordinates that so many relations take; infinity beyond the range of the bound."""
        if way == BOUND:
            bits = hops_bits(N, R, h)
            return math.inf if bits is None else bits
        hops, route = (1, "embedding") if way == "layers" else (h, way)
        return Construction(N=N, R=R, hops=hops, route=route).d

    def most(way: str, h: int) -> int | None:
        R = last_reaching(lambda R: takes(way, R, h) <= HELD, 1, 1, MOST_R, guess=1)
        return R if R is None or takes(way, R + 1, h) < math.inf else None

    return {name: tuple(most(way, h) for h in range(1, most_hops + 1))
            for way, name in {**WAYS, BOUND: BOUND}.items()}


def read_thresholds(path: str) -> tuple[dict[str, Any], ...]:
    """N, R, and the mean over seeds of the least d, trained and with frozen embeddings (None where a seed has none), of
    each size in a file of the training study. Raises `SettingError` where the file can't be read as one."""
    found: dict[tuple[int, int], dict[str, Any]] = {}
    try:
        for line in Path(path).read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            if row["part"] in ("least", "frozen"):
                values, N, R = row["measures"]["least_d"], int(row["setting"]["N"]), int(row["setting"]["R"])
                at = found.setdefault((N, R), {"N": N, "R": R, "least": None, "frozen": None})
                at[row["part"]] = None if None in values else float(np.mean(values))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise SettingError("training", f"training={path!r} can't be read as a study of training: {error}") from None
    return tuple(found[size] for size in sorted(found))
