"""What was measured on trained networks: `geometric train` and `geometric transfer` in their three forms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..answer import Answer, Block, Column, Prose, Table
from ..numbers import NOTHING, count, deviation, plural, probability

if TYPE_CHECKING:
    from ...geometric import GeometricObservation, TrainingSetting
    from ...simulate.observation import Observable

# Table -> measure -> what is counted.
TRAIN = {
    "Facts recalled": {
        "recall": "as trained",
        "recall_under_noise": "with the noise of training on the embeddings",
    },
    "Facts in the geometry": {
        "linear_probe": "facts that linear probes read from subjects they haven't seen",
        "superposition_share": "variance of unseen embeddings that superposed codes explain",
        "fact_edited": "a fact rewritten in the embedding: new answer given",
        "fact_edited_others": "a fact rewritten in the embedding: other relations' answers kept",
    },
    "The gate: facts recalled": {
        "relation_swapped": "another relation's input put in: its attribute is the answer",
        "gates_averaged": "the inputs of all relations averaged",
        "units_off": "a relation's hidden units silenced: under it",
        "units_off_others": "a relation's hidden units silenced: under the others",
    },
    "Controls, embeddings random and frozen: facts recalled": {
        "frozen_same_layer": "the same layer",
        "frozen_same_numbers": "the MLP widened to as many trained numbers",
    },
}
TRANSFER = {
    "The facts of the training": {
        "recall": "recalled",
    },
    "New facts recalled, the MLP unchanged": {
        "linear_map": "embeddings by the linear map of codes that the trained ones follow",
        "embeddings_trained": "embeddings trained, nothing else",
    },
    "Controls, the MLP's numbers shuffled: new facts recalled": {
        "linear_map_shuffled": "embeddings by the linear map",
        "embeddings_trained_shuffled": "embeddings trained, nothing else",
    },
}
REMARKS = {
    "train": "The probes must name attributes that they never saw, so chance is 1/N. Silencing units and editing facts "
             "would be perfect (1/N and 1) in the exact construction, whose size this network has.",
    "transfer": "The MLP and the unembedding are bitwise the same before and after, in every seed: the run would have "
                "failed otherwise. An MLP of random numbers can be served by trained embeddings too where d is large.",
}


def answer(kind: str, found: GeometricObservation[TrainingSetting], wanted: int, exit_code: int = 0) -> Answer:
    """The findings of "train" or "transfer"; `wanted` is the number of seeds asked for."""
    tables = TRAIN if kind == "train" else TRANSFER
    names = [name for table in tables.values() for name in table]
    data = found.to_dict()
    for name in names:
        data["observed"][name]["interval"] = _interval(found.measures[name])
    if found.seeds < wanted:
        data["interrupted"] = True
    values = {name: found.measures[name].values.tolist() for name in names}
    records = [{**found.setting.to_dict(), "seed": found.seed, "index": i, **{n: v[i] for n, v in values.items()}}
               for i in range(found.seeds)]
    return Answer(data, records, _blocks(kind, tables, found, wanted), exit_code)


def _interval(seen: Observable) -> list[float | None]:
    """The 95 % interval of the mean over seeds, no further than a fraction can go; none where the seeds show no
    spread: a single one, or all alike."""
    from ...verification.intervals import student_interval

    if not seen.std > 0:  # it is NaN for a single seed
        return [None, None]
    low, high = student_interval(seen.values, 95 / 100)
    return [low if seen.values.min() < 0 else max(0.0, low), min(1.0, high)]


def _blocks(kind: str, tables: dict[str, dict[str, str]], found: GeometricObservation[TrainingSetting],
            wanted: int) -> list[Block]:
    s = found.setting
    heading = {"train": "What gradient descent finds", "transfer": "New facts for a trained MLP"}[kind]
    done = plural(found.seeds, "seed") + ("" if found.seeds == wanted else f" of {wanted:,}, interrupted")
    return [
        Prose(f"{heading} at {describe(s)}", heading=True),
        Prose(f"{done}, --seed {found.seed}, {plural(s.steps, 'step')} with noise {s.noise:g}. Trained numbers: "
              f"{count(s.numbers - s.mlp_numbers)} of embeddings, {count(s.mlp_numbers)} of an MLP of "
              f"{count(s.mlp_width)} units."),
        *(Table([Column("", words=True), Column("mean"), Column("95 % interval"), Column("std")],
                [_row(words, found.measures[name]) for name, words in rows.items()], title=title)
          for title, rows in tables.items()),
        Prose(REMARKS[kind], remark=True),
    ]


def describe(setting: TrainingSetting) -> str:
    """One line that says what is trained."""
    codes = "bits" if setting.code_length is None else "random coordinates"
    return f"N = {count(setting.N)}, R = {count(setting.R)}, d = {count(setting.width)}, codes of {setting.k} {codes}"


def _row(words: str, seen: Observable) -> list[Any]:
    low, high = _interval(seen)
    between = NOTHING if low is None else f"{probability(low)} to {probability(high)}"
    return [words, probability(seen.mean), between, deviation(seen.std)]
