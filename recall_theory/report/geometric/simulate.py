"""What a simulation of geometric recall showed, beside the prediction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...commands.simulate import _interval as interval  # until this page moves to commands
from ..answer import Answer, Block, Column, Prose, Table
from ..numbers import NOTHING, deviation, plural, probability, signed
from .predict import describe

if TYPE_CHECKING:
    from ...geometric import GeometricSetting
    from ...geometric.geometric_prediction import GeometricPrediction
    from ...geometric.geometric_simulation import GeometricObservation


def answer(seen: GeometricObservation[GeometricSetting], prediction: GeometricPrediction, wanted: int,
           exit_code: int = 0) -> Answer:
    """The observation in its three forms; `wanted` is the number of seeds asked for."""
    bounds = interval(seen.recall)
    data = seen.to_dict()
    data["observed"]["recall"] |= {"std": seen.recall.std, "interval": bounds}
    data["predicted"] = prediction.to_dict()["predicted"]
    if seen.seeds < wanted:
        data["interrupted"] = True
    records = [{**seen.setting.to_dict(), "seed": seen.seed, "index": i, "recall": value}
               for i, value in enumerate(seen.recall.values.tolist())]
    return Answer(data, records, _blocks(seen, prediction, bounds, wanted), exit_code)


def _blocks(seen: GeometricObservation[GeometricSetting], prediction: GeometricPrediction,
            bounds: Sequence[float | None], wanted: int) -> list[Block]:
    low, high = bounds
    span = NOTHING if low is None or high is None else f"{low:.4f} .. {high:.4f}"
    done = plural(seen.seeds, "seed") + ("" if seen.seeds == wanted else f" of {wanted:,}, interrupted")
    return [
        Prose(f"What embeddings recalled at {describe(seen.setting)}", heading=True),
        Prose(f"{done}, --seed {seen.seed}."),
        Table([Column("observable", words=True), Column("predicted"), Column("observed"), Column("95 % interval"),
               Column("difference"), Column("std"), Column("predicted std")],
              [("recall", probability(prediction.recall), probability(seen.recall.mean), span,
                signed(seen.recall.mean - prediction.recall), deviation(seen.recall.std), deviation(prediction.std))]),
    ]
