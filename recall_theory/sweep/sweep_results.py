"""The results of a sweep: an array of cells by seeds by observables, its summaries, its tables and its files."""

from __future__ import annotations

import dataclasses
import importlib
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..numerics.plain_data import as_csv
from ..settings import OBSERVABLES, SettingError
from .store import Store
from .sweep_problem import SIMULATION_VERSION, SweepProblem

if TYPE_CHECKING:
    import pandas
    import xarray

# ending of an export -> the libraries that write it
EXPORTS: dict[str, tuple[str, ...]] = {".csv": (), ".parquet": ("pandas", "pyarrow"), ".nc": ("xarray", "scipy")}


@dataclasses.dataclass(frozen=True)
class Results:
    """What is known of each cell: `values` has shape (cells, seeds, 3), NaN where a seed wasn't run.

    The last axis is attention, recall, accuracy.
    """

    problems: tuple[SweepProblem, ...]
    values: NDArray[np.float64]

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
        return self.values.shape[0] * self.values.shape[1]

    def missing(self) -> list[tuple[int, int]]:
        """(cell, seed) of all that wasn't run, in order."""
        return [(c, i) for c, i in np.argwhere(np.isnan(self.values[:, :, 0])).tolist()]

    @property
    def mean(self) -> NDArray[np.float64]:
        """Means over seeds, (cells, 3); NaN where a cell has none."""
        n = self.counts[:, None]
        return np.where(n > 0, np.nansum(self.values, axis=1) / np.maximum(n, 1), np.nan)

    @property
    def se(self) -> NDArray[np.float64]:
        """Standard errors of the means, (cells, 3); NaN below two seeds."""
        n = self.counts[:, None]
        squares = np.nansum((self.values - self.mean[:, None, :]) ** 2, axis=1)
        return np.where(n > 1, np.sqrt(squares / np.maximum(n - 1, 1) / np.maximum(n, 1)), np.nan)

    def to_dict(self) -> dict[str, object]:
        """The JSON contract of `recall-theory sweep`."""
        cells = []
        for problem, mean, se, values in zip(self.problems, self.mean, self.se, self.values, strict=True):
            done = values[~np.isnan(values[:, 0])]
            cells.append({
                "setting": problem.setting.to_dict(), "seed": problem.cell_seed, "seeds": len(done),
                "n_test": problem.n_test,
                "observed": {o: {"mean": m, "se": s, "values": column} for o, m, s, column in zip(
                    OBSERVABLES, mean.tolist(), se.tolist(), done.T.tolist(), strict=True)}})
        return {"schema_version": 1, "model": SIMULATION_VERSION, "found": self.found, "wanted": self.wanted,
                "cells": cells}

    def records(self) -> list[dict[str, object]]:
        """One flat record a finished seed: the setting, the cell's seed, the seed's number, the observables."""
        rows = []
        for problem, values in zip(self.problems, self.values, strict=True):
            common = {**problem.setting.to_dict(), "n_test": problem.n_test, "seed": problem.cell_seed}
            for i, triple in enumerate(values.tolist()):
                if triple[0] == triple[0]:
                    rows.append({**common, "index": i, **dict(zip(OBSERVABLES, triple, strict=True))})
        return rows

    def to_pandas(self) -> pandas.DataFrame:
        """The records as a data frame (needs pandas)."""
        import pandas

        return pandas.DataFrame.from_records(self.records())

    def to_xarray(self) -> xarray.Dataset:
        """The observables over (cell, index), with the parameters as coordinates of a cell (needs xarray)."""
        import xarray

        settings = [{**p.setting.to_dict(), "seed": p.cell_seed} for p in self.problems]
        columns = {name: [s[name] for s in settings] for name in settings[0]}
        coordinates = {}
        for name, column in columns.items():
            if any(value is not None for value in column):
                absent = "" if any(isinstance(value, str) for value in column) else np.nan
                coordinates[name] = ("cell", np.array([absent if value is None else value for value in column]))
        return xarray.Dataset({o: (("cell", "index"), self.values[:, :, k]) for k, o in enumerate(OBSERVABLES)},
                              coords=coordinates)


def gathered(store: Store, problems: Sequence[SweepProblem], seeds: int | None = None) -> Results:
    """What the store holds of the problems; all their seeds where `seeds` is None."""
    known = list(store.results(problems, seeds))
    if seeds is None:
        seeds = 1 + max((max(numbers) for numbers in known if numbers), default=-1)
    values = np.full((len(problems), seeds, len(OBSERVABLES)), np.nan)
    for cell, numbers in enumerate(known):
        for number, triple in numbers.items():
            values[cell, number] = triple
    return Results(tuple(problems), values)


def check_export(path: str) -> str:
    """The ending of an export file; `SettingError` where it is unknown, or its libraries are missing."""
    ending = os.path.splitext(path)[1]
    if ending not in EXPORTS:
        raise SettingError("export", f"export={path!r} must end in {', '.join(EXPORTS)}")
    folder = os.path.dirname(os.path.abspath(path))
    if "\0" in path or not os.path.isdir(folder):
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
    aside = f"{path}.{os.urandom(6).hex()}.part"
    try:
        try:
            if ending == ".csv":
                with open(aside, "w", encoding="utf-8", newline="") as file:
                    file.write(as_csv(results.records()))
            elif ending == ".parquet":
                results.to_pandas().to_parquet(aside, engine="pyarrow", index=False)
            else:
                data = results.to_xarray()
                # netCDF 3 has integers of 32 bits; a float holds all of ours (below 2^53) exactly.
                whole = {name: x.astype(float) for name, x in data.coords.items() if x.dtype.kind == "i"}
                data.assign_coords(whole).to_netcdf(aside, engine="scipy")
            os.replace(aside, path)
        finally:
            if os.path.exists(aside):
                os.unlink(aside)
    except OSError as error:
        raise SettingError("export", f"export={path!r} can't be written: {error.strerror or error}") from None
