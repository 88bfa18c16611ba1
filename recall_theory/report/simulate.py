"""What a simulation showed, beside the prediction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .answer import Answer, Block, Column, Prose, Table
from .numbers import NOTHING, count, deviation, number, plural, probability, signed
from .predict import OBSERVABLES, describe

if TYPE_CHECKING:
    from ..simulate.observation import Observable, Observation
    from ..theory.predict import Prediction

CONFIDENCE = 95  # percent, of the interval over seeds


def answer(seen: Observation, prediction: Prediction | None, wanted: int, exit_code: int = 0) -> Answer:
    """The observation in its three forms; `wanted` is the number of seeds asked for."""
    intervals = {o: interval(getattr(seen, o)) for o in OBSERVABLES}
    effects = {o: getattr(seen, o).design_effect(_samples(seen, o)) for o in OBSERVABLES}
    data = seen.to_dict()
    for o in OBSERVABLES:
        data["observed"][o] |= {"std": getattr(seen, o).std, "interval": intervals[o],
                                "design_effect": effects[o]}
    if prediction is not None:
        data["predicted"] = prediction.to_dict()["predicted"]
    if seen.seeds < wanted:
        data["interrupted"] = True
    columns = [getattr(seen, o).values.tolist() for o in OBSERVABLES]
    records = [{**seen.setting.to_dict(), "seed": seen.seed, "index": i,
                **dict(zip(OBSERVABLES, triple, strict=True))}
               for i, triple in enumerate(zip(*columns, strict=True))]
    return Answer(data, records, _blocks(seen, prediction, intervals, effects, wanted), exit_code)


def interval(observable: Observable) -> list[float | None]:
    """The 95 % interval of the mean over seeds, within [0, 1]; none for a single seed."""
    from ..verification.statistics import student_interval

    if len(observable.values) < 2:
        return [None, None]
    low, high = student_interval(observable.values, CONFIDENCE / 100)
    return [max(0.0, low), min(1.0, high)]


def _samples(seen: Observation, observable: str) -> int:
    """What one seed counts: all V facts, or its fresh sequences."""
    return seen.setting.V if observable == "recall" or seen.n_test is None else seen.n_test


def _blocks(seen: Observation, prediction: Prediction | None, intervals: dict[str, list[float | None]],
            effects: dict[str, float], wanted: int) -> list[Block]:
    columns = [Column("observable", words=True), Column("observed"), Column("95 % interval"), Column("std"),
               Column("design effect")]
    if prediction is not None:
        columns[1:1] = [Column("predicted")]
        columns += [Column("difference"), Column("predicted std")]
    rows: list[Sequence[str]] = []
    for o in OBSERVABLES:
        x: Observable = getattr(seen, o)
        low, high = intervals[o]
        between = NOTHING if low is None else f"{probability(low)} to {probability(high)}"
        row = [o, probability(x.mean), between, deviation(x.std), number(effects[o], 2)]
        if prediction is not None:
            row[1:1] = [probability(getattr(prediction, o))]
            row += [signed(x.mean - getattr(prediction, o)), deviation(prediction.std[o])]
        rows.append(row)
    done = plural(seen.seeds, "seed") + ("" if seen.seeds == wanted else f" of {wanted:,}, interrupted")
    tests = "all sequences" if seen.n_test is None else f"{count(seen.n_test)} fresh sequences a seed"
    blocks: list[Block] = [
        Prose(f"What an attention layer remembers at {describe(seen.setting)}: simulated", heading=True),
        Prose(f"{done}, --seed {seen.seed}, {tests}."),
        Table(columns, rows),
    ]
    if seen.embeddings is not None:
        blocks += _own(seen.embeddings)
    blocks.append(Prose(
        "Std is from seed to seed. The design effect says how many times it exceeds, in variance, that of "
        "independently sampled facts or sequences: facts of one seed share much, so the interval counts seeds."
        + ("" if prediction is not None else " No prediction is shown: there is none for this setting yet."),
        remark=True))
    return blocks


LABELS = {
    "norm": "mean norm of a row", "norm_cv": "its coefficient of variation",
    "coherence_rms": "cosine of a pair, root mean square", "coherence_max": "cosine of a pair, largest",
    "rank": "effective rank", "top": "largest eigenvalue's share", "mean": "squared norm of the mean row",
}


def _own(report: dict[str, Any]) -> list[Block]:
    """How far a user's own embeddings are from the random ones that predictions assume."""
    rows = [(name, LABELS.get(measure, measure), number(x["value"]), number(x["random"]))
            for name, measures in report.items() for measure, x in measures.items()]
    return [Table([Column("matrix", words=True), Column("measure", words=True), Column("yours"),
                   Column("random")], rows, groups=2, title="Your embeddings beside random ones"),
            Prose("The prediction assumes random embeddings; where yours differ it need not hold.", remark=True)]
