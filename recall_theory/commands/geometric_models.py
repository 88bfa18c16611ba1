"""The commands of `recall-theory geometric` that make models: written down weight by weight, drawn, or trained."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from ..errors import SettingError
from ..geometric.geometric_setting import GEOMETRIC_PARAMETERS, TRAINING_PARAMETERS, GeometricSetting, TrainingSetting
from ..numerics.formatting import NOTHING, count, deviation, plural, probability, signed
from .command import Answer, Command, Output, Progress
from .geometric import describe, geometric_options
from .options import file_option, option, setting_options
from .simulate import finished_seeds, interval
from .streams import BadInput, shown
from .text_layout import Block, Format, Heading, Remark, Table, Verbatim, words

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ..geometric.geometric_simulation import GeometricObservation
    from ..geometric.geometric_transformer import GeometricTransformer
    from ..simulate.observation import Observable

    Weights = Mapping[str, NDArray[np.float64]]

MOST_SHOWN = 20_000  # numbers on a screen
Part = tuple[str, tuple[int, ...], bool, str]  # name, shape, whether it depends on the facts, what it is

# Table -> measure -> what is counted.
MEASURES = {
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
TRANSFER_MEASURES = {
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
REMARK = ("The probes must name attributes that they never saw, so chance is 1/N. Silencing units and editing facts "
          "would be perfect (1/N and 1) in the exact construction, whose size this network has.")
TRANSFER_REMARK = ("The MLP and the unembedding are bitwise the same before and after, in every seed: the run would "
                   "have failed otherwise. An MLP of random numbers can be served by trained embeddings too where d is "
                   "large.")


def run_construct(output: Output, seed: int | None, weights: str | None, show: bool, **values: Any) -> Answer:
    setting = GeometricSetting(**values)
    import numpy as np

    from ..geometric import build
    from ..geometric.geometric_simulation import recall_of
    from ..geometric.geometric_transformer import check_weights_file

    if weights is not None:
        check_weights_file(weights)
    used = output.seed(seed)
    rng = np.random.default_rng(used)
    model = build(setting, rng)
    arrays = model.weights() if show else {}
    if (numbers := sum(array.size for array in arrays.values())) > MOST_SHOWN:
        raise SettingError("show", f"{numbers} weights are too many to show (at most {MOST_SHOWN}); --weights FILE "
                           "writes them to a file")
    if weights is not None:
        try:
            model.save(weights)
        except (OSError, ValueError) as error:
            if isinstance(error, SettingError):
                raise
            raise BadInput(f"--weights {shown(weights)} can't be written: {error}") from None
    return _construction(model, used, recall_of(model, rng), arrays, weights)


def _construction(model: GeometricTransformer, seed: int, recall: float, arrays: Weights, file: str | None) -> Answer:
    parts = _parts(model)
    data: dict[str, object] = {
        "schema_version": 1, "setting": model.setting.to_dict(), "seed": seed, "recall": recall,
        "parts": [{"name": name, "shape": list(shape), "depends_on_facts": of_facts}
                  for name, shape, of_facts, _ in parts],
        "file": file}
    if arrays:
        data["weights"] = {name: array.tolist() for name, array in arrays.items()}
    records = [{"part": name, "shape": " x ".join(map(str, shape)), "depends_on_facts": of_facts}
               for name, shape, of_facts, _ in parts]

    blocks: list[Block] = [
        Heading(f"A layer that holds {describe(model.setting)}"),
        Table({"part": words, "shape": str, "depends on facts": words, "what it is": words},
              [(name, " x ".join(map(count, shape)), "yes" if of_facts else "no", what)
               for name, shape, of_facts, what in parts]),
        f"Run on its facts (--seed {seed}), it recalls {probability(recall)}.",
    ]
    if file is not None:
        blocks.append(f"Weights written to {file}.")
    blocks += [Verbatim(f"{name}, {' x '.join(map(str, array.shape)) or 'a number'}\n{_matrix(array)}")
               for name, array in arrays.items()]
    return Answer(data, records, blocks)


def _parts(model: GeometricTransformer) -> list[Part]:
    R, stream = model.setting.R, model.stream
    parts: list[Part] = [
        ("subject embeddings", model.subjects.shape, True, "codes of the subject's attributes, superposed"),
        ("relation embeddings", (model.slots, R, stream), False, "one-hot, a slot a relation asked"),
        ("attention", (stream, stream), False, "key-query zero; values the identity times the tokens' number"),
    ]
    for length, layer in sorted(model.layers.items()):
        answered = plural(length, "relation")
        parts += [(f"MLP in, {answered}", layer.inward.shape, False, "reads each word's code, gated"),
                  (f"MLP bias, {answered}", layer.bias.shape, False, "a gate opens if all slots agree"),
                  (f"MLP out, {answered}", layer.outward.shape, False, "the code of the answer")]
    return [*parts, ("unembedding", model.codes.shape, False, "the codes of all attributes")]


def _matrix(array: NDArray[np.float64]) -> str:
    """A matrix, a row a line, at four digits; a stack of matrices one after the other."""
    if array.ndim < 2:
        return " ".join(f"{x:g}" for x in array.ravel())
    if array.ndim == 3:
        return "\n\n".join(_matrix(part) for part in array)
    cells = [[f"{x:.4g}" for x in row] for row in array]
    width = max((len(cell) for row in cells for cell in row), default=1)
    return "\n".join(" ".join(cell.rjust(width) for cell in row) for row in cells)


def run_simulate(output: Output, seeds: int, seed: int | None, jobs: int, **values: Any) -> Answer:
    setting = GeometricSetting(**values)
    from ..geometric.geometric_simulation import check_affordable, simulate

    check_affordable(setting)
    used = output.seed(seed)
    return output.measure(
        "seeds",
        lambda progress: simulate(setting, seeds, used, jobs=jobs, progress=progress),
        lambda observed: _observed(observed, seeds),
        lambda observed: f"{observed.seeds} of {seeds} seeds; --seed {used} repeats them",
    )


def _observed(observed: GeometricObservation[GeometricSetting], wanted: int) -> Answer:
    from ..geometric import predict

    prediction, recall, ends = predict(observed.setting), observed.recall, interval(observed.recall)
    data = observed.to_dict()
    data["observed"]["recall"] |= {"std": recall.std, "interval": ends}
    data["predicted"] = prediction.to_dict()["predicted"]
    records = [{**observed.setting.to_dict(), "seed": observed.seed, "index": i, "recall": value}
               for i, value in enumerate(recall.values.tolist())]

    columns: dict[str, Format] = {
        "observable": words, "predicted": probability, "observed": probability, "95 % interval": _between,
        "difference": signed, "std": deviation, "predicted std": deviation}
    return Answer(data, records, [
        Heading(f"What embeddings recalled at {describe(observed.setting)}"),
        f"{finished_seeds(observed.seeds, wanted)}, --seed {observed.seed}.",
        Table(columns, [("recall", prediction.recall, recall.mean, ends, recall.mean - prediction.recall,
                         recall.std, prediction.std)]),
    ])


def run_train(output: Output, transfer: bool, seeds: int, seed: int | None, jobs: int, **values: Any) -> Answer:
    setting = TrainingSetting(**values)
    from ..geometric import geometric_training

    observe = geometric_training.transfer if transfer else geometric_training.train
    used = output.seed(seed)

    def work(progress: Progress) -> GeometricObservation[TrainingSetting]:
        progress(0, seeds)  # the first network takes a while
        return observe(setting, seeds, used, jobs=jobs, progress=progress)

    return output.measure(
        "networks", work,
        lambda observed: _trained(observed, seeds, transfer),
        lambda observed: f"{observed.seeds} of {seeds} seeds; --seed {used} repeats them",
    )


def _trained(observed: GeometricObservation[TrainingSetting], wanted: int, transfer: bool) -> Answer:
    tables = TRANSFER_MEASURES if transfer else MEASURES
    names = [name for table in tables.values() for name in table]
    data = observed.to_dict()
    for name in names:
        data["observed"][name]["interval"] = _interval(observed.measures[name])
    columns = [observed.measures[name].values.tolist() for name in names]
    records = [{**observed.setting.to_dict(), "seed": observed.seed, "index": i, **dict(zip(names, row, strict=True))}
               for i, row in enumerate(zip(*columns, strict=True))]

    s = observed.setting
    codes = "bits" if s.code_length is None else "random coordinates"
    blocks: list[Block] = [
        Heading(f"{'New facts for a trained MLP' if transfer else 'What gradient descent learns'} at N = {count(s.N)}, "
                f"R = {count(s.R)}, d = {count(s.width)}, codes of {s.k} {codes}"),
        f"{finished_seeds(observed.seeds, wanted)}, --seed {observed.seed}, {plural(s.steps, 'step')} with noise "
        f"{s.noise:g}. Trained numbers: "
        f"{count(s.numbers - s.mlp_numbers)} of embeddings, {count(s.mlp_numbers)} of an MLP of "
        f"{count(s.mlp_width)} units.",
        *(_measures(title, rows, observed.measures) for title, rows in tables.items()),
        Remark(TRANSFER_REMARK if transfer else REMARK),
    ]
    return Answer(data, records, blocks)


def _measures(title: str, rows: Mapping[str, str], measures: Mapping[str, Observable]) -> Table:
    return Table({"": words, "mean": probability, "95 % interval": _between, "std": deviation},
                 [(what, measures[name].mean, _interval(measures[name]), measures[name].std)
                  for name, what in rows.items()], title)


def _between(ends: Sequence[float | None]) -> str:
    return NOTHING if ends[0] is None else " to ".join(map(probability, ends))


def _interval(observed: Observable) -> list[float | None]:
    """The 95 % interval of the mean over seeds, within what a share can be; none where the seeds show no spread."""
    from ..verification.intervals import student_interval

    if not observed.std > 0:  # it is NaN for a single seed
        return [None, None]
    low, high = map(float, student_interval(observed.values, 95 / 100))
    return [low if observed.values.min() < 0 else max(0.0, low), min(1.0, high)]


construct_command = Command(
    "construct", run_construct,
    params=[*geometric_options(("bits", "construction")),
            option("construction", among=GEOMETRIC_PARAMETERS, default="exact"), option("seed"),
            file_option("weights", "write every weight to FILE.npz or FILE.json"),
            click.Option(["--show", "show"], is_flag=True, help="Print every weight (a small model).")],
    help="Write down a transformer layer that holds random facts in its subject embeddings: attention, ReLU MLP, "
         "unembedding. It is then run on its facts, on all of them or at most 2^16. The exact construction "
         "recalls every one.",
    examples=["geometric construct --N 5 --R 2 --seed 1 --show",
              "geometric construct --N 100 --R 3 --hops 2 --seed 1 --weights layer.npz --json"],
)

simulate_command = Command(
    "simulate", run_simulate, params=[*geometric_options(), option("seeds"), option("seed"), option("jobs")],
    help="Draw bijections, codes and maps on independent seeds, ask every query (2^16 chains of passes where there are "
         "more), and print the recall beside the prediction.",
    examples=["geometric simulate --N 256 --R 4 --code-length 32 --d 128 --seeds 64 --seed 1",
              "geometric simulate --N 100 --R 2 --code-length 16 --d 48 --hops 3 --chain-of-thought --csv"],
)

train_command = Command(
    "train", run_train,
    params=[click.Option(["--transfer", "transfer"], is_flag=True,
                         help="in place of that: what new facts the trained MLP recalls, unchanged, through new "
                              "embeddings alone"),
            *setting_options((), among=TRAINING_PARAMETERS),
            option("seeds", default=4, help="networks, each trained on its own facts"), option("seed"), option("jobs")],
    help="What gradient descent learns: subject embeddings and a ReLU MLP of 2 R k units trained on random bijections; "
         "linear probes, interventions on gates and on single facts, and controls with frozen embeddings. With "
         "--transfer: new facts for the trained MLP, which stays bitwise unchanged, by the linear map of codes that "
         "the trained embeddings follow, or by embeddings trained alone; an MLP of shuffled numbers is the control.",
    examples=["geometric train",
              "geometric train --transfer --N 512 --R 4 --seeds 8 --seed 1 --csv --output transfer.csv"],
)
