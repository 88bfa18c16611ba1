"""What a simulation returns: every observable with its values, one a seed."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from ..numerics.plain_data import SCHEMA_VERSION
from ..settings import OBSERVABLES, Setting
from .data import FloatArray


@dataclasses.dataclass(frozen=True)
class Observable:
    """One observable over seeds: `values` (one a seed), their `mean`, its standard error `se` (NaN for a
    single seed) and their standard deviation `std`."""

    values: FloatArray

    @property
    def mean(self) -> float:
        """The mean over seeds."""
        return float(self.values.mean())

    @property
    def std(self) -> float:
        """The standard deviation from seed to seed."""
        return float(self.values.std(ddof=1)) if len(self.values) > 1 else float("nan")

    @property
    def se(self) -> float:
        """The standard error of the mean: facts of one seed are one sample, not V."""
        return self.std / float(np.sqrt(len(self.values)))

    def design_effect(self, samples: int) -> float:
        """How many times the variance exceeds that of `samples` independent draws a seed."""
        independent = self.mean * (1 - self.mean) / samples
        return self.std**2 / independent if independent > 0 else float("nan")

    def to_dict(self) -> dict[str, Any]:
        """Mean, standard error and values, as the JSON output has them; NaN (one seed has no error) becomes null."""
        return {"mean": self.mean, "se": None if np.isnan(self.se) else self.se, "values": self.values.tolist()}


@dataclasses.dataclass(frozen=True)
class Observation:
    """Attention, recall and accuracy of `seeds` trained models of one setting.

    `n_test` is the number of fresh sequences a seed, or None where all sequences were summed over. `attention` is how
    often the greatest attention is on the informative position; `attention_weight`, None in the limit, where the two
    are one, is the mean weight that it has under the softmax of finite rates.
    """

    setting: Setting
    seed: int
    seeds: int
    n_test: int | None
    attention: Observable
    recall: Observable
    accuracy: Observable
    embeddings: dict[str, dict[str, dict[str, float]]] | None = None
    attention_weight: Observable | None = None

    def to_dict(self) -> dict[str, Any]:
        """The JSON contract of `recall-theory simulate`."""
        observed = {name: getattr(self, name).to_dict() for name in OBSERVABLES}
        if self.attention_weight is not None:
            observed["attention_weight"] = self.attention_weight.to_dict()
        result = {"schema_version": SCHEMA_VERSION, "setting": self.setting.to_dict(), "seed": self.seed,
                  "seeds": self.seeds, "n_test": self.n_test, "observed": observed}
        return result if self.embeddings is None else {**result, "embeddings": self.embeddings}
