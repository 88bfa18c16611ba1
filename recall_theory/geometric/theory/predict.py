"""`predict`: the recall of one geometric setting, and how much it scatters."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

from ...theory.formulas.geometric_laws import chain, chain_shared
from ..setting import GeometricSetting
from .spread import variance
from .superposition import recall

__all__ = ["GeometricPrediction", "predict"]


@dataclasses.dataclass(frozen=True)
class GeometricPrediction:
    """What a setting recalls.

    `recall` of a whole query; `one_pass`, that of each of its passes alone; `std`, the deviation of recall from seed
    to seed; `causes`, the variance of one pass by cause.
    """

    setting: GeometricSetting
    recall: float
    one_pass: float
    std: float
    causes: dict[str, float]

    @property
    def passes(self) -> int:
        """Passes of a query."""
        return len(self.setting.word_lengths)

    def to_dict(self) -> dict[str, Any]:
        """The JSON contract of `recall-theory geometric predict`."""
        return {"schema_version": 1, "setting": self.setting.to_dict(),
                "predicted": {"recall": self.recall, "one_pass": self.one_pass, "std": {"recall": self.std}},
                "passes": self.passes, "variance": self.causes}


def predict(setting: GeometricSetting) -> GeometricPrediction:
    """The expected recall over random bijections, codes and maps; 1 for the exact construction.

    A query of several passes goes on from what the last one answered: `laws.chain`, and `laws.chain_shared` for the
    passes of one seed being right together. Provenance: derived. Exact for one pass.

    >>> found = predict(GeometricSetting(N=100, R=4, d=64, code_length=16))
    >>> round(found.recall, 4), round(found.std, 4)
    (0.9154, 0.0153)
    """
    s = setting
    if s.construction == "exact":
        return GeometricPrediction(s, 1.0, 1.0, 0.0, {})
    one_pass = recall(s.N, s.words, s.k, s.width)
    causes = variance(s.N, s.words, s.k, s.width)
    passes = len(s.word_lengths)
    spread = max(sum(causes.values()), 0.0)
    # Two passes ask two random facts of one seed: their average covariance is the variance of the seed's mean.
    whole = float(chain(one_pass, passes, s.N) + chain_shared(one_pass, passes, s.N, spread))
    # To first order each fact is used by the same number of chains, once in each of their passes.
    std = passes * one_pass ** (passes - 1) * math.sqrt(spread)
    return GeometricPrediction(s, min(max(whole, 0.0), 1.0), one_pass, std, causes)
