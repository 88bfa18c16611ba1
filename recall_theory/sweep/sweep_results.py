"""What a sweep simulates, a problem a cell, and its results: cells by seeds by observables, judged beside predictions.

A result is filed under a hash of all that it is of, so that no two different problems can ever share a place. The
random streams of a problem depend on its seed and its setting, not on its place in a grid: a grid may grow later.
"""

from __future__ import annotations

import dataclasses
import hashlib
import importlib
import json
import os
from collections.abc import Mapping, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..numerics.arrays import FloatArray, Observable
from ..numerics.formatting import SCHEMA_VERSION, as_csv, cleaned, write_named
from ..settings import OBSERVABLES, PARAMETERS, Setting, SettingError
from ..theory.domain import remarks
from ..theory.phase import OrderedMap, binding
from ..theory.predict import LAW, Prediction, predict
from ..verification.problem import THREE_STEP_RECALL, predict_or_reason
from ..verification.results import Cell, JudgedCells, PooledTest, compare, pooled_groups, pooled_tests
from ..verification.verdicts import family_confidence

if TYPE_CHECKING:
    import pandas
    import xarray

# The version of the simulated model: raised by every change after which a seed no longer gives the observables that
# it gave before (a test holds known ones against it). Results of another version are left where they are, unused.
SIMULATION_VERSION = 1

SEED_BITS = 53  # a cell's seed can be given to `recall-theory simulate --seed`
EXPORTS = {".csv": (), ".parquet": ("pandas", "pyarrow"), ".nc": ("xarray", "scipy")}  # ending -> libraries it needs
SURE_ATTENTION = 0.9  # predicted attention from which attention counts as sure
STAGES = 2  # of a sweep that plans its seeds: each has half of the error
UNJUDGED_SEEDS = 32  # of a cell that the theory doesn't describe: there is no verdict to plan for


@dataclasses.dataclass(frozen=True)
class SweepProblem:
    """One cell of a sweep. `n_test` is None where observables are summed over all sequences, `model` is the version of
    the simulated model.

    >>> problem = SweepProblem(Setting(V=32, L=4, d=64, N=1024), seed=1)
    >>> problem == SweepProblem.from_json(problem.to_json())
    True
    """

    setting: Setting
    seed: int
    n_test: int | None = None
    model: int = SIMULATION_VERSION

    def to_json(self) -> str:
        """All that identifies the problem, in one canonical line."""
        return f"[{self.model},{self.seed},{json.dumps(self.n_test)},{self._canonical}]"

    @classmethod
    def from_json(cls, text: str) -> SweepProblem:
        """The problem of a line of `to_json`; ValueError (`SettingError`) or TypeError for any other text."""
        model, seed, n_test, values = json.loads(text)
        return cls(Setting(**values), seed, n_test, model)

    @cached_property
    def key(self) -> str:
        """The hash under which results are filed, in hexadecimal."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()

    @cached_property
    def cell_seed(self) -> int:
        """The seed of this cell's own streams: `simulate` with it gives the same values."""
        digest = hashlib.sha256(f"stream {self.seed} {self._canonical}".encode()).digest()
        return int.from_bytes(digest[:8], "big") >> (64 - SEED_BITS)

    @cached_property
    def _canonical(self) -> str:
        # Defaults are left out, so that a parameter added later (with a default that changes nothing) leaves the
        # hash of every setting as it was.
        return json.dumps(beside_defaults(self.setting.to_dict()), separators=(",", ":"), sort_keys=True)


def beside_defaults(values: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters that differ from their defaults."""
    return {name: value for name, value in values.items()
            if name not in PARAMETERS or value != PARAMETERS[name].default}


@dataclasses.dataclass(frozen=True)
class Results:
    """What is known of each cell: `values` has shape (cells, seeds, 3), NaN where a seed wasn't run.

    The last axis is attention, recall, accuracy. `planned` has the seeds wanted of each cell (None: all that there is
    room for), and `simulated` is how many of all were simulated now.
    """

    problems: tuple[SweepProblem, ...]
    values: FloatArray
    planned: tuple[int, ...] | None = None
    simulated: int = 0

    @property
    def counts(self) -> NDArray[np.int64]:
        """Seeds done, a cell."""
        return (~np.isnan(self.values[:, :, 0])).sum(axis=1)

    @property
    def found(self) -> int:
        """Seeds done, in all."""
        return int(self.counts.sum())

    @property
    def wanted(self) -> int:
        """Seeds of all cells."""
        return self.found + len(self.missing())

    def missing(self) -> list[tuple[int, int]]:
        """(cell, seed) of all that wasn't run, in order."""
        missing = np.argwhere(np.isnan(self.values[:, :, 0])).tolist()
        return [(c, i) for c, i in missing if self.planned is None or i < self.planned[c]]

    def finished(self, cell: int) -> FloatArray:
        """The observables of the seeds of a cell that were run, (seeds, 3)."""
        values = self.values[cell]
        return values[~np.isnan(values[:, 0])]

    def observed(self, cell: int) -> dict[str, Observable]:
        """Each observable over the seeds of a cell that were run."""
        return dict(zip(OBSERVABLES, map(Observable, self.finished(cell).T), strict=True))

    def to_dict(self) -> dict[str, object]:
        """The JSON contract of `recall-theory sweep`."""
        cells = []
        for c, problem in enumerate(self.problems):
            why = remarks(problem.setting)
            cells.append({"setting": problem.setting.to_dict(), "checked": not why, "remarks": list(why),
                          "seed": problem.cell_seed, "seeds": int(self.counts[c]), "n_test": problem.n_test,
                          "observed": {o: x.to_dict() for o, x in self.observed(c).items()}})
        return {"schema_version": SCHEMA_VERSION, "law": LAW, "model": SIMULATION_VERSION, "found": self.found,
                "wanted": self.wanted, "cells": cells}

    def records(self) -> list[dict[str, object]]:
        """One flat record a finished seed: the setting, the cell's seed, the seed's number, the observables."""
        common = [{**p.setting.to_dict(), "n_test": p.n_test, "seed": p.cell_seed} for p in self.problems]
        return [{**common[c], "index": i, **dict(zip(OBSERVABLES, self.values[c, i].tolist(), strict=True))}
                for c, i in np.argwhere(~np.isnan(self.values[:, :, 0])).tolist()]

    def to_pandas(self) -> pandas.DataFrame:
        """The records as a data frame (needs pandas)."""
        import pandas

        return pandas.DataFrame.from_records(self.records())

    def to_xarray(self) -> xarray.Dataset:
        """The observables over (cell, index), with the parameters as coordinates of a cell (needs xarray)."""
        import pandas
        import xarray

        cells = pandas.DataFrame([{**p.setting.to_dict(), "seed": p.cell_seed} for p in self.problems])
        coordinates = {}
        for name, column in cells.dropna(axis=1, how="all").items():
            is_number = pandas.api.types.is_numeric_dtype(column)
            coordinates[name] = ("cell", column.to_numpy() if is_number else column.fillna("").to_numpy(dtype=str))
        return xarray.Dataset({o: (("cell", "index"), self.values[:, :, k]) for k, o in enumerate(OBSERVABLES)},
                              coords=coordinates)


def check_export(path: str) -> str:
    """The ending of an export file; `SettingError` where it is unknown, or its libraries are missing."""
    ending = os.path.splitext(path)[1]
    if ending not in EXPORTS:
        raise SettingError("export", f"export={path!r} must end in {', '.join(EXPORTS)}")
    if "\0" in path or not os.path.isdir(os.path.dirname(os.path.abspath(path))):
        raise SettingError("export", f"export={path!r} can't be written: its directory doesn't exist")
    for library in EXPORTS[ending]:
        try:
            importlib.import_module(library)
        except ImportError:
            raise SettingError("export", f"export={path!r} needs {library}, which is not installed: "
                               "pip install 'recall-theory[export]'") from None
    return ending


def export_results(results: Results, path: str) -> None:
    """Write the results to a file whose ending says how: a table of finished seeds, or (.nc) a dataset.

    The file is replaced in one step. Raises `SettingError` where it can't be written, or there is no result.
    """
    ending = check_export(path)
    if not results.problems:  # a netCDF file without a cell can't be read again
        raise SettingError("export", f"export={path!r}: there is no result to write")
    if ending == ".csv":
        content = as_csv(results.records()).encode()
    elif ending == ".parquet":
        content = results.to_pandas().to_parquet(engine="pyarrow", index=False)
    else:
        data = results.to_xarray()
        # netCDF 3 has integers of 32 bits; a float holds all of ours (below 2^53) exactly.
        whole = {name: x.astype(float) for name, x in data.coords.items() if x.dtype.kind == "i"}
        content = bytes(data.assign_coords(whole).to_netcdf(engine="scipy"))
    write_named("export", path, content)


class RefusedCell(NamedTuple):
    """A cell that the theory doesn't describe, its number of seeds, and why."""

    problem: SweepProblem
    seeds: int
    reason: str


@dataclasses.dataclass(frozen=True)
class StoreAnalysis(JudgedCells):
    """The judged cells of a store, the tests of groups of them, and the refused cells.

    `all_problems` are what was simulated, those of `cells` first, and `seed_counts` the seeds of each. `confidence` is
    that of each interval, so that all together hold at 99.8 % after each of two stages. `planned` is whether every cell
    has the seeds of the first stage that `sweep` plans.
    """

    all_problems: tuple[SweepProblem, ...]
    seed_counts: tuple[int, ...]
    cells: tuple[Cell, ...]
    refused: tuple[RefusedCell, ...]
    confidence: float
    planned: bool
    pooled: tuple[PooledTest, ...]

    def to_dict(self) -> dict[str, object]:
        """The part of `recall-theory report --json` that is about cells."""
        cells = [{**cell.to_dict(), "seed": p.cell_seed, "n_test": p.n_test, "binding": limited_by(cell),
                  "attention_sure": attention_sure(cell)}
                 for p, cell in zip(self.all_problems, self.cells, strict=False)]
        refused = [{"setting": p.setting.to_dict(), "seed": p.cell_seed, "seeds": seeds, "n_test": p.n_test,
                    "reason": reason} for p, seeds, reason in self.refused]
        return {"schema_version": SCHEMA_VERSION, "model": SIMULATION_VERSION, "confidence": self.confidence,
                "cells": cells, "pooled": [cleaned(test.to_dict()) for test in self.pooled], "refused": refused,
                "verdict": self.verdict if self.cells else None}

    def records(self) -> list[dict[str, object]]:
        """One flat record a comparison, as the CSV output of `recall-theory report` has them."""
        return [{**cell.setting.to_dict(), "seed": p.cell_seed, "n_test": p.n_test, "seeds": cell.seeds,
                 "margin": c.margin, "observable": observable, **c.record()}
                for p, cell in zip(self.all_problems, self.cells, strict=False)
                for observable, c in cell.comparisons.items()]


def analyse_cells(results: Results, *, mapped: OrderedMap = map) -> StoreAnalysis:
    """Judge the cells of a sweep, and groups of them, by the rules and declared margins of `verify`, as one family.

    `mapped` may be a parallel map, which predicts.

    >>> from recall_theory.sweep import product, sweep
    >>> analysis = analyse_cells(sweep(product({"d": [16, 32]}, V=16, L=2, N=128), seeds=3, seed=1))
    >>> len(analysis.cells), analysis.verdict
    (2, 'inconclusive')
    """
    settings = [p.setting for p in results.problems]
    predictions = list(mapped(partial(predict_or_reason, predict), settings))
    judged = {c: prediction for c, prediction in enumerate(predictions) if not isinstance(prediction, str)}
    reasons = {c: reason for c, reason in enumerate(predictions) if isinstance(reason, str)}
    groups = pooled_groups(THREE_STEP_RECALL, [settings[c] for c in judged], [OBSERVABLES] * len(judged))
    confidence = family_confidence(STAGES * (len(OBSERVABLES) * len(judged) + len(groups)))
    cells = []
    for c, prediction in judged.items():
        claimed = {o: getattr(prediction, o) for o in OBSERVABLES}
        cells.append(compare(THREE_STEP_RECALL, settings[c], claimed, results.finished(c), prediction,
                             margins=THREE_STEP_RECALL.margins(settings[c], claimed), confidence=confidence))
    order, counts = [*judged, *reasons], results.counts.tolist()
    return StoreAnalysis(
        all_problems=tuple(results.problems[c] for c in order),
        seed_counts=tuple(counts[c] for c in order),
        cells=tuple(cells),
        refused=tuple(RefusedCell(results.problems[c], counts[c], reason) for c, reason in reasons.items()),
        confidence=confidence,
        planned=all(results.counts >= planned_for_verdicts(settings, predictions)),
        pooled=pooled_tests(THREE_STEP_RECALL, cells, confidence))


def planned_for_verdicts(settings: Sequence[Setting], predictions: Sequence[Prediction | str]) -> list[int]:
    """The seeds of each cell for a verdict, by the predicted spread, as `verify` plans its first stage."""
    return [UNJUDGED_SEEDS if isinstance(p, str) else THREE_STEP_RECALL.planned_seeds(setting, p)
            for setting, p in zip(settings, predictions, strict=True)]


def limited_by(cell: Cell) -> str:
    """The step that falls shorter and the family of its largest noise term: "recall: mean bias"."""
    assert cell.theory is not None
    return binding(cell.theory)


def attention_sure(cell: Cell) -> bool:
    """Whether attention is predicted to find the informative token, nine times in ten at least."""
    return cell.comparisons["attention"].predicted >= SURE_ATTENTION
