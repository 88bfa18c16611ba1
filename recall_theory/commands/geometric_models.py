"""The commands of `recall-theory geometric` that make models: written down weight by weight, drawn, or trained."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import SettingError
from ..geometric.geometric_setting import GEOMETRIC_PARAMETERS, TRAINING_PARAMETERS, GeometricSetting, TrainingSetting
from ..numerics.formatting import NOTHING, count, plural, probability
from .command import Answer, Command, Output
from .geometric import describe, geometric_options
from .options import file_option, flag, option, setting_options
from .simulate import finished_seeds, interval, partial_seeds, seed_records
from .streams import BadInput, shown
from .text_layout import Heading, Remark, Verbatim, table

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ..geometric.geometric_simulation import GeometricObservation
    from ..geometric.geometric_transformer import GeometricTransformer
    from ..simulate.observation import Observable

    Weights = Mapping[str, NDArray[np.float64]]

SUBJECTS = "subject embeddings"
MOST_SHOWN = 20_000  # numbers on a screen
Part = tuple[str, tuple[int, ...], str]  # name, shape, what it is; the first alone depends on the facts

# Table -> measure -> what is counted.
MEASURES = {
    "Queries answered": {
        "recall": "as trained",
        "frozen": "control: entities' embeddings frozen at random",
    },
    "Facts in the geometry": {
        "linear_probe": "facts that linear probes read from subjects they haven't seen",
        "linear_probe_shuffled": "control: facts of other subjects",
        "superposition_share": "variance of unseen embeddings that superposed codes explain",
        "superposition_share_shuffled": "control: facts of other subjects",
        "fact_edited": "a fact rewritten in the embedding: new answer given",
        "fact_edited_others": "a fact rewritten in the embedding: other relations' answers kept",
    },
    "The gate": {
        "gate_selectivity": "largest share of one relation in a unit's activity",
        "gate_selectivity_untrained": "control: before training",
        "units_off": "a relation's hidden units silenced: facts recalled under it",
        "units_off_others": "a relation's hidden units silenced: under the others",
    },
}
TRANSFER_MEASURES = {
    "New facts for entities' embeddings alone": {
        "recall": "first facts, all trained",
        "new_facts": "new facts, all else as it was",
        "new_facts_shuffled": "control: the MLP's numbers shuffled",
    },
}
REMARK = ("Codes are the attributes' learned unembeddings. The probes must name attributes that they never saw, so "
          "chance is 1/N; the gate, the probes and the edits are measured for one hop.")
TRANSFER_REMARK = "Only the entities' embeddings are trained on the new facts; nothing else changes."


def run_construct(output: Output, *, seed: int | None, weights: str | None, show: bool, **values: Any) -> Answer:
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
        except SettingError:
            raise
        except (OSError, ValueError) as error:
            raise BadInput(f"--weights {shown(weights)} can't be written: {error}") from None

    recall, parts = recall_of(model, rng), _parts(model)
    listed = [{"name": name, "shape": list(shape), "depends_on_facts": name == SUBJECTS} for name, shape, _ in parts]
    data: dict[str, object] = {"setting": setting.to_dict(), "seed": used, "recall": recall, "parts": listed,
                               "file": weights}
    if arrays:
        data["weights"] = {name: array.tolist() for name, array in arrays.items()}
    records = [{"part": name, "shape": " x ".join(map(str, shape)), "depends_on_facts": name == SUBJECTS}
               for name, shape, _ in parts]
    written = [] if weights is None else [f"Weights written to {weights}."]
    return Answer(data, records, [
        Heading(f"A layer that holds {describe(setting)}"),
        table({"part": name, "shape": " x ".join(map(count, shape)),
               "depends on facts": "yes" if name == SUBJECTS else "no", "what it is": what}
              for name, shape, what in parts),
        f"Run on its facts (--seed {used}), it recalls {probability(recall)}.",
        *written,
        *(Verbatim(f"{name}, {' x '.join(map(str, array.shape)) or 'a number'}\n{_matrix(array)}")
          for name, array in arrays.items()),
    ])


def _parts(model: GeometricTransformer) -> list[Part]:
    R, stream = model.setting.R, model.stream
    parts: list[Part] = [
        (SUBJECTS, model.subjects.shape, "codes of the subject's attributes, superposed"),
        ("relation embeddings", (model.slots, R, stream), "one-hot, a slot a relation asked"),
        ("attention", (stream, stream), "key-query zero; values the identity times the tokens' number"),
    ]
    for length, layer in sorted(model.layers.items()):
        answered = plural(length, "relation")
        parts += [(f"MLP in, {answered}", layer.inward.shape, "reads each word's code, gated"),
                  (f"MLP bias, {answered}", layer.bias.shape, "a gate opens if all slots agree"),
                  (f"MLP out, {answered}", layer.outward.shape, "the code of the answer")]
    return [*parts, ("unembedding", model.codes.shape, "the codes of all attributes")]


def _matrix(array: NDArray[np.float64]) -> str:
    """A matrix, a row a line, at four digits; a stack of matrices one after the other."""
    if array.ndim < 2:
        return " ".join(f"{x:g}" for x in array.ravel())
    if array.ndim == 3:
        return "\n\n".join(_matrix(part) for part in array)
    cells = [[f"{x:.4g}" for x in row] for row in array]
    width = max((len(cell) for row in cells for cell in row), default=1)
    return "\n".join(" ".join(cell.rjust(width) for cell in row) for row in cells)


def run_simulate(output: Output, *, seeds: int, seed: int | None, jobs: int, **values: Any) -> Answer:
    setting = GeometricSetting(**values)
    from ..geometric.geometric_simulation import check_affordable, simulate

    check_affordable(setting)
    used = output.seed(seed)
    return output.measure(
        "seeds",
        lambda progress: simulate(setting, seeds, used, jobs=jobs, progress=progress),
        lambda observed: _observed(observed, seeds),
        lambda observed: partial_seeds(observed, seeds))


def _observed(observed: GeometricObservation[GeometricSetting], wanted: int) -> Answer:
    from ..geometric import predict

    prediction, recall, ends = predict(observed.setting), observed.recall, interval(observed.recall)
    data = observed.to_dict()
    data["observed"]["recall"] |= {"std": recall.std, "interval": ends}
    data["predicted"] = prediction.to_dict()["predicted"]
    row = {"observable": "recall", "predicted": prediction.recall, "observed": recall.mean,
           "95 % interval": _between(ends), "difference": recall.mean - prediction.recall, "std": recall.std,
           "predicted std": prediction.std}
    return Answer(data, seed_records(observed, {"recall": recall}), [
        Heading(f"What embeddings recalled at {describe(observed.setting)}"),
        f"{finished_seeds(observed, wanted)}.",
        table([row]),
    ])


def run_train(output: Output, *, transfer: bool, seeds: int, seed: int | None, **values: Any) -> Answer:
    setting = TrainingSetting(**values)
    from ..geometric import geometric_training
    from ..training.trainer import check_installed

    check_installed("N")
    observe = geometric_training.transfer if transfer else geometric_training.train
    used = output.seed(seed)
    return output.measure("steps", lambda progress: observe(setting, seeds, used, progress=progress),
                          lambda observed: _trained(observed, seeds, transfer))


def _trained(observed: GeometricObservation[TrainingSetting], wanted: int, transfer: bool) -> Answer:
    tables = TRANSFER_MEASURES if transfer else MEASURES
    measures = observed.measures
    intervals = {name: _interval(measure) for name, measure in measures.items()}
    data = observed.to_dict()
    for name, ends in intervals.items():
        data["observed"][name]["interval"] = ends

    s = observed.setting
    asked = plural(s.hops, "hop") + (" with chain of thought" if s.chain_of_thought else "")
    what = "New facts for a trained transformer" if transfer else "What gradient descent learns"
    return Answer(data, seed_records(observed, measures), [
        Heading(f"{what} at N = {count(s.N)}, R = {count(s.R)}, d = {count(s.d)}, {asked}"),
        f"{finished_seeds(observed, wanted)}, at most {plural(s.steps, 'step')}; {count(s.queries)} queries, "
        f"{count(s.numbers)} trained numbers.",
        *(table([{"": meaning, "mean": measures[name].mean, "95 % interval": _between(intervals[name]),
                  "std": measures[name].std} for name, meaning in rows.items() if name in measures], title)
          for title, rows in tables.items() if set(rows) & set(measures)),
        Remark(TRANSFER_REMARK if transfer else REMARK),
    ])


def _between(ends: Sequence[float | None]) -> str:
    return NOTHING if ends[0] is None else " to ".join(map(probability, ends))


def _interval(observed: Observable) -> list[float | None]:
    """The 95 % interval of a mean that may be negative; none where the seeds show no spread."""
    if not observed.std > 0:  # it is NaN for a single seed
        return [None, None]
    return interval(observed, lowest=-math.inf if observed.values.min() < 0 else 0.0)


construct_command = Command(
    "construct", run_construct,
    params=[*geometric_options(("bits", "construction")),
            option("construction", among=GEOMETRIC_PARAMETERS, default="exact"), "seed",
            file_option("weights", "write every weight to FILE.npz or FILE.json"),
            flag("show", "Print every weight (a small model).")],
    help="Write down a transformer layer that holds random facts in its subject embeddings: attention, ReLU MLP, "
         "unembedding. It is then run on its facts, on all of them or at most 2^16. The exact construction "
         "recalls every one.",
    examples=["geometric construct --N 5 --R 2 --seed 1 --show",
              "geometric construct --N 100 --R 3 --hops 2 --seed 1 --weights layer.npz --json"],
)

simulate_command = Command(
    "simulate", run_simulate, params=[*geometric_options(), "seeds", "seed", "jobs"],
    help="Draw bijections, codes and maps on independent seeds, ask every query (2^16 chains of passes where there are "
         "more), and print the recall beside the prediction.",
    examples=["geometric simulate --N 256 --R 4 --code-length 32 --d 128 --seeds 64 --seed 1",
              "geometric simulate --N 100 --R 2 --code-length 16 --d 48 --hops 3 --chain-of-thought --csv"],
)

train_command = Command(
    "train", run_train,
    params=[flag("transfer", "in place of that: new bijections, for which the entities' embeddings alone are trained"),
            *setting_options((), among=TRAINING_PARAMETERS),
            option("seeds", default=4, help="networks, each trained on its own facts"), "seed"],
    help="What gradient descent learns: a transformer of one attention layer and a ReLU MLP, all of it trained on "
         "random bijections, one hop or more, with and without chain of thought; linear probes, the gate by "
         "relation, edits of single facts, and controls. It needs jax and optax: pip install 'recall-theory[train]'.",
    examples=["geometric train", "geometric train --N 64 --R 3 --hops 2 --chain-of-thought --seed 1",
              "geometric train --transfer --N 64 --R 2 --seeds 8 --seed 1 --csv --output transfer.csv"],
)
