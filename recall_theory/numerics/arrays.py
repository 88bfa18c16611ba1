"""Arrays: their types, dataclasses of arrays that have rows in common, and what was measured once a seed."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any, Generic, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from .formatting import SCHEMA_VERSION

FloatArray = NDArray[np.float64]
Tuple = TypeVar("Tuple")
BoolArray = NDArray[np.bool_]
TINY = float(np.finfo(float).tiny)  # keeps logarithms and quotients of 0 finite


def zipf_frequencies(facts: int, alpha: float) -> FloatArray:
    """(facts,) x^-alpha for x = 1, 2, ..., normalised: how often each fact occurs, all alike at 0.

    >>> zipf_frequencies(2, 1.0).round(3)
    array([0.667, 0.333])
    """
    weights = np.arange(1, facts + 1) ** -float(alpha)
    return np.asarray(weights / weights.sum())


def copied(kind: Callable[..., Tuple], *fields: Any) -> Tuple:
    """A named tuple of arrays as compiled functions take them: in one order and writable, so that there is one machine
    code for all. Numbers are passed as they are."""
    return kind(*(np.array(f, dtype=float, order="C") if isinstance(f, np.ndarray) else f for f in fields))


@dataclasses.dataclass(frozen=True)
class Rows:
    """Base of a frozen dataclass whose arrays have a row each for the same things; other fields are all rows'."""

    def at(self, rows: slice | BoolArray | NDArray[np.intp]) -> Self:
        """Some of the rows."""
        values = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        return dataclasses.replace(self, **{name: value[rows] for name, value in values.items()
                                            if isinstance(value, np.ndarray)})

    def repeated(self, times: int, facts: int, *others: str) -> Self:
        """Each of so many facts, the second axis of all arrays that have them there but some others, so many times."""
        values = {f.name: getattr(self, f.name) for f in dataclasses.fields(self) if f.name not in others}
        return dataclasses.replace(self, **{
            name: np.repeat(value, times, axis=1) for name, value in values.items()
            if isinstance(value, np.ndarray) and value.shape[1:2] == (facts,)})


@dataclasses.dataclass(frozen=True)
class Observable:
    """One observable over seeds: `values` (one a seed), their `mean`, its standard error `se` (NaN for a
    single seed) and their standard deviation `std`."""

    values: FloatArray

    @property
    def mean(self) -> float:
        """The mean over seeds, NaN without any."""
        return float(self.values.mean()) if len(self.values) else float("nan")

    @property
    def std(self) -> float:
        """The standard deviation from seed to seed."""
        return float(self.values.std(ddof=1)) if len(self.values) > 1 else float("nan")

    @property
    def se(self) -> float:
        """The standard error of the mean: facts of one seed are one sample, not V."""
        return self.std / math.sqrt(max(1, len(self.values)))

    def design_effect(self, samples: int) -> float:
        """How many times the variance exceeds that of `samples` independent draws a seed."""
        independent = self.mean * (1 - self.mean) / samples
        return self.std**2 / independent if independent > 0 else float("nan")

    def to_dict(self) -> dict[str, Any]:
        """Mean, standard error and values, as the JSON output has them; NaN (one seed has no error) becomes null."""
        return {"mean": self.mean, "se": None if math.isnan(self.se) else self.se, "values": self.values.tolist()}


class _Setting(Protocol):
    def to_dict(self) -> dict[str, Any]: ...


S = TypeVar("S", bound=_Setting)


@dataclasses.dataclass(frozen=True)
class Measured(Generic[S]):
    """Base of what was measured on independent draws of one setting: `measures` by name, one value a seed."""

    setting: S
    seed: int
    measures: dict[str, Observable]

    @property
    def seeds(self) -> int:
        """How many draws were made."""
        return len(self.recall.values)

    @property
    def recall(self) -> Observable:
        """The fraction of facts, or of queries, that were answered right."""
        return self.measures["recall"]

    def to_dict(self) -> dict[str, Any]:
        """What is measured as JSON has it, after what was drawn."""
        observed = {name: observable.to_dict() for name, observable in self.measures.items()}
        return {"schema_version": SCHEMA_VERSION, "setting": self.setting.to_dict(), "seed": self.seed,
                "seeds": self.seeds, "observed": observed}

    def records(self) -> list[dict[str, object]]:
        """A flat record for each seed, as the CSV output has them."""
        return [{**self.setting.to_dict(), "seed": self.seed, "index": i,
                 **{name: float(measure.values[i]) for name, measure in self.measures.items()}}
                for i in range(self.seeds)]
