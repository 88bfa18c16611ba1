"""The commands of `recall-theory geometric` that make models: written down weight by weight, drawn, or trained."""

from __future__ import annotations

import dataclasses
import io
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..errors import SettingError
from ..geometric.construction_setting import CONSTRUCTION_PARAMETERS, Construction
from ..geometric.geometric_setting import TRAINING_PARAMETERS, GeometricSetting, TrainingSetting
from ..numerics.formatting import NOTHING, count, plural, probability
from .command import Answer, Command, Output, Progress
from .geometric import describe, geometric_options
from .options import flag, option, setting_options
from .simulate import finished_seeds, interval, partial_seeds, seed_records
from .streams import BadInput, shown
from .text_layout import Heading, Remark, table

if TYPE_CHECKING:
    from ..geometric.geometric_simulation import GeometricObservation
    from ..simulate.observation import Observable

ROUTES = {
    "embedding": "all hops in one pass, by the embedding",
    "wide": "all hops in one pass, by a wide MLP",
    "middle": "all hops in one pass, meeting in the middle",
    "chain": "chain of thought",
}

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


def run_construct(output: Output, *, seed: int | None, **values: Any) -> Answer:
    construction = Construction(**values)
    c, weights = construction, output.file is not None and output.file.endswith(".npz")
    if weights and not output.document:
        raise BadInput(f"--output {shown(output.file or '')} takes the weights; leave out --json and --csv, or name "
                       "another file")
    sizes = {"k": c.k, "d": c.d, "width": c.width}
    data: dict[str, object] = {"setting": c.to_dict(), **sizes, "margin_predicted": c.margin, "recall": None,
                               "queries": None, "margin": None, "not_run": c.refused}
    document = None
    if c.refused is None:
        import numpy as np

        from ..geometric.construction import construct, run_queries
        from ..geometric.geometric_draws import draw_bijections

        used = output.seed(seed)
        rng = np.random.default_rng(used)
        facts = draw_bijections(c.N, c.R, rng)
        model = construct(c, facts)
        if weights:
            file = io.BytesIO()
            np.savez_compressed(file, **{"facts": facts, **model.weights()})  # type: ignore[arg-type]
            document = file.getvalue()
        else:
            data |= {"seed": used, **dataclasses.asdict(run_queries(c, model, facts, rng))}
    elif weights:
        raise SettingError("N", f"N={c.N}: too large to run, and to write: {c.refused}")
    row = {name: value for name, value in data.items() if name not in ("setting", "not_run", "seed")}
    told = {**sizes, "recall": data["recall"], "queries": data["queries"], "margin": data["margin"],
            "predicted margin": c.margin}
    return Answer(data, [{**c.to_dict(), **row}], [
        Heading(f"A transformer for {plural(c.hops, 'hop')} at N = {count(c.N)}, R = {count(c.R)}: {ROUTES[c.route]}"),
        table([told], formats=dict.fromkeys((*sizes, "queries"), count)),
        Remark(f"Sizes only: {c.refused}." if c.refused is not None else "d coordinates a token, width hidden units; "
               f"--seed {data.get('seed')}. The margin is the least lead of the right logit over all others."),
    ], document=document)


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


def run_train(output: Output, *, transfer: bool, seeds: int, seed: int | None, jobs: int, **values: Any) -> Answer:
    setting = TrainingSetting(**values)
    from ..geometric import geometric_training

    observe = geometric_training.transfer if transfer else geometric_training.train
    used = output.seed(seed)

    def work(progress: Progress) -> GeometricObservation[TrainingSetting]:
        progress(0, seeds)  # the first network takes a while
        return observe(setting, seeds, used, jobs=jobs, progress=progress)

    return output.measure("networks", work, lambda observed: _trained(observed, seeds, transfer),
                          lambda observed: partial_seeds(observed, seeds))


def _trained(observed: GeometricObservation[TrainingSetting], wanted: int, transfer: bool) -> Answer:
    tables = TRANSFER_MEASURES if transfer else MEASURES
    measures = {name: observed.measures[name] for rows in tables.values() for name in rows}
    intervals = {name: _interval(measure) for name, measure in measures.items()}
    data = observed.to_dict()
    for name, ends in intervals.items():
        data["observed"][name]["interval"] = ends

    s = observed.setting
    codes = "bits" if s.code_length is None else "random coordinates"
    what = "New facts for a trained MLP" if transfer else "What gradient descent learns"
    return Answer(data, seed_records(observed, measures), [
        Heading(f"{what} at N = {count(s.N)}, R = {count(s.R)}, d = {count(s.width)}, codes of {s.k} {codes}"),
        f"{finished_seeds(observed, wanted)}, {plural(s.steps, 'step')} with noise "
        f"{s.noise:g}. Trained numbers: {count(s.numbers - s.mlp_numbers)} of embeddings, {count(s.mlp_numbers)} of an "
        f"MLP of {count(s.mlp_width)} units.",
        *(table([{"": meaning, "mean": measures[name].mean, "95 % interval": _between(intervals[name]),
                  "std": measures[name].std} for name, meaning in rows.items()], title)
          for title, rows in tables.items()),
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
    params=[*setting_options(("N", "R"), among=CONSTRUCTION_PARAMETERS), "seed"],
    help="Write down a whole transformer that recalls random facts (tokens, positions, attention, ReLU MLP, "
         "unembedding), and ask it every query, or 20,000 drawn ones. Where width x d is 10^9 or more its sizes alone "
         "are printed. --output FILE.npz writes its weights instead.",
    examples=["geometric construct --N 256 --R 8 --hops 2 --route middle --seed 1",
              "geometric construct --N 100 --R 4 --hops 5 --route chain --bits 2 --seed 1 --json"],
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
    params=[flag("transfer", "in place of that: what new facts the trained MLP recalls, unchanged, through new "
                 "embeddings alone"),
            *setting_options((), among=TRAINING_PARAMETERS),
            option("seeds", default=4, help="networks, each trained on its own facts"), "seed", "jobs"],
    help="What gradient descent learns: subject embeddings and a ReLU MLP of 2 R k units trained on random bijections; "
         "linear probes, interventions on gates and on single facts, and controls with frozen embeddings. With "
         "--transfer: new facts for the trained MLP, which stays bitwise unchanged, by the linear map of codes that "
         "the trained embeddings follow, or by embeddings trained alone; an MLP of shuffled numbers is the control.",
    examples=["geometric train",
              "geometric train --transfer --N 512 --R 4 --seeds 8 --seed 1 --csv --output transfer.csv"],
)
