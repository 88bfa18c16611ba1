"""`predict`: the recall of one geometric setting."""

from __future__ import annotations

import dataclasses
from typing import Any

from ..setting import GeometricSetting
from .superposition import recall

__all__ = ["GeometricPrediction", "predict"]


@dataclasses.dataclass(frozen=True)
class GeometricPrediction:
    """What a setting recalls: `recall` of a whole query, and `passes`, that of each of its passes alone."""

    setting: GeometricSetting
    recall: float
    passes: tuple[float, ...]

    def to_dict(self) -> dict[str, Any]:
        """The JSON contract of `recall-theory geometric predict`."""
        return {"schema_version": 1, "setting": self.setting.to_dict(),
                "predicted": {"recall": self.recall, "passes": list(self.passes)}}


def predict(setting: GeometricSetting) -> GeometricPrediction:
    """The expected recall over random bijections, codes and maps; 1 for the exact construction.

    A query of several passes goes on from what the last one answered. A wrong answer is put right by a
    later pass only by chance, one in N - 1.

    >>> predict(GeometricSetting(N=100, R=4, d=64, code_length=16)).recall
    0.915449
    """
    if setting.construction == "exact":
        passes = (1.0,) * len(setting.word_lengths)
    else:
        one = recall(setting.N, setting.words, setting.k, setting.width)
        passes = (one,) * len(setting.word_lengths)
    right = 1.0
    for p in passes:
        right = right * p + (1 - right) * (1 - p) / (setting.N - 1)
    return GeometricPrediction(setting, right, passes)
