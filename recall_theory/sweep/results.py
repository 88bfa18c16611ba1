"""The results of a sweep: an array of cells by seeds by observables, with its summaries and tables."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..settings import PARAMETERS, Setting
from ..simulate.observables import OBSERVABLES
from .problem import MODEL, Problem
from .store import Store

if TYPE_CHECKING:
    import pandas
    import xarray


@dataclasses.dataclass(frozen=True)
class Results:
    """What is known of each cell: `values` has shape (cells, seeds, 3), NaN where a seed wasn't run.

    The last axis is attention, recall, accuracy.
    """

    problems: tuple[Problem, ...]
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

    def to_dict(self) -> dict[str, Any]:
        """The JSON contract of `recall-theory sweep`."""
        cells = []
        for problem, mean, se, values in zip(self.problems, self.mean, self.se, self.values, strict=True):
            done = values[~np.isnan(values[:, 0])]
            cells.append({
                "setting": parameters(problem.setting), "seed": problem.cell_seed, "seeds": len(done),
                "n_test": problem.n_test,
                "observed": {o: {"mean": m, "se": s, "values": column} for o, m, s, column in zip(
                    OBSERVABLES, mean.tolist(), se.tolist(), done.T.tolist(), strict=True)}})
        return {"schema_version": 1, "model": MODEL, "found": self.found, "wanted": self.wanted,
                "cells": cells}

    def records(self) -> list[dict[str, Any]]:
        """One flat record a finished seed: the setting, the cell's seed, the seed's number, the observables."""
        rows = []
        for problem, values in zip(self.problems, self.values, strict=True):
            common = {**parameters(problem.setting), "n_test": problem.n_test, "seed": problem.cell_seed}
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

        settings = [{**parameters(p.setting), "seed": p.cell_seed} for p in self.problems]
        names = [n for n in settings[0] if any(s[n] is not None for s in settings)]
        coordinates = {n: ("cell", np.array([np.nan if s[n] is None else s[n] for s in settings]
                                            if not any(isinstance(s[n], str) for s in settings)
                                            else [s[n] or "" for s in settings])) for n in names}
        return xarray.Dataset({o: (("cell", "index"), self.values[:, :, k]) for k, o in enumerate(OBSERVABLES)},
                              coords=coordinates)


def parameters(setting: Setting) -> dict[str, Any]:
    """`Setting.to_dict` without its deep copies: there may be a million."""
    return {name: getattr(setting, name) for name in PARAMETERS}


def gathered(store: Store, problems: Sequence[Problem], seeds: int | None = None) -> Results:
    """What the store holds of the problems; all their seeds where `seeds` is None."""
    known = list(store.results(problems, seeds))
    if seeds is None:
        seeds = 1 + max((max(numbers) for numbers in known if numbers), default=-1)
    values = np.full((len(problems), seeds, len(OBSERVABLES)), np.nan)
    for cell, numbers in enumerate(known):
        for number, triple in numbers.items():
            values[cell, number] = triple
    return Results(tuple(problems), values)
