"""The results of a sweep: an array of cells by seeds by observables, its summaries, its tables and its files."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..numerics.formatting import SCHEMA_VERSION, as_csv
from ..settings import OBSERVABLES, SettingError
from ..theory.domain import remarks
from ..theory.predict import LAW
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

    The last axis is attention, recall, accuracy. `planned` has the seeds wanted of each cell (None: all that there is
    room for), and `simulated` is how many of all were simulated now.
    """

    problems: tuple[SweepProblem, ...]
    values: NDArray[np.float64]
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
        return self.values.shape[0] * self.values.shape[1] if self.planned is None else sum(self.planned)

    def missing(self) -> list[tuple[int, int]]:
        """(cell, seed) of all that wasn't run, in order."""
        missing = np.argwhere(np.isnan(self.values[:, :, 0])).tolist()
        return [(c, i) for c, i in missing if self.planned is None or i < self.planned[c]]

    def finished(self, cell: int) -> NDArray[np.float64]:
        """The observables of the seeds of a cell that were run, (seeds, 3)."""
        values = self.values[cell]
        return values[~np.isnan(values[:, 0])]

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
        mean, se, cells = self.mean.tolist(), self.se.tolist(), []
        for c, problem in enumerate(self.problems):
            values = self.finished(c)
            observed = {o: {"mean": mean[c][k], "se": se[c][k], "values": values[:, k].tolist()}
                        for k, o in enumerate(OBSERVABLES)}
            why = remarks(problem.setting)
            cells.append({"setting": problem.setting.to_dict(), "checked": not why, "remarks": list(why),
                          "seed": problem.cell_seed, "seeds": len(values), "n_test": problem.n_test,
                          "observed": observed})
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
            is_text = not pandas.api.types.is_numeric_dtype(column)
            coordinates[name] = ("cell", column.fillna("").to_numpy(dtype=str) if is_text else column.to_numpy())
        return xarray.Dataset({o: (("cell", "index"), self.values[:, :, k]) for k, o in enumerate(OBSERVABLES)},
                              coords=coordinates)


def gathered(store: Store, problems: Sequence[SweepProblem], plan: Sequence[int] | None = None,
             simulated: int = 0) -> Results:
    """What the store holds of the problems: as many seeds as planned of each, or all where `plan` is None."""
    known = [store.known(problem, None if plan is None else plan[c]) for c, problem in enumerate(problems)]
    planned = plan or [1 + max(numbers, default=-1) for numbers in known]
    values = np.full((len(problems), max(planned, default=0), len(OBSERVABLES)), np.nan)
    for cell, numbers in enumerate(known):
        for number, triple in numbers.items():
            values[cell, number] = triple
    return Results(tuple(problems), values, tuple(planned), simulated)


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
    aside = Path(f"{path}.{os.urandom(6).hex()}.part")
    try:
        if ending == ".csv":
            aside.write_text(as_csv(results.records()), encoding="utf-8", newline="")
        elif ending == ".parquet":
            results.to_pandas().to_parquet(aside, engine="pyarrow", index=False)
        else:
            data = results.to_xarray()
            # netCDF 3 has integers of 32 bits; a float holds all of ours (below 2^53) exactly.
            whole = {name: x.astype(float) for name, x in data.coords.items() if x.dtype.kind == "i"}
            data.assign_coords(whole).to_netcdf(aside, engine="scipy")
        aside.replace(path)
    except OSError as error:
        raise SettingError("export", f"export={path!r} can't be written: {error.strerror or error}") from None
    finally:
        with contextlib.suppress(OSError):
            aside.unlink()
