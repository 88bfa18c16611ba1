"""`recall-theory train`: gradient descent beyond the three steps, stage by stage."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ..numerics.formatting import count, number, plural, probability
from ..settings import Setting
from .command import Answer, Command, Output
from .options import option, setting_options
from .simulate import finished_seeds, prediction_of
from .text_layout import Block, Format, Heading, Remark, Table, words

if TYPE_CHECKING:
    from ..simulate.further_training import FullTraining, Stage

MEASURES = ("loss", "attention", "recall", "accuracy")


def run(output: Output, steps: int, seeds: int, seed: int | None, n_test: int, **values: Any) -> Answer:
    setting = Setting(**values)
    from ..simulate.further_training import check_work, full_training

    check_work(setting, steps, seeds)
    used = output.seed(seed)
    return output.measure(
        "steps",
        lambda progress: full_training(setting, steps, seeds, used, n_test=n_test, progress=progress),
        lambda training: _answer(training, seeds, steps),
        lambda training: f"{len(training.stages)} stages of {training.seeds} of {seeds} seeds; --seed {used} "
                         "repeats them",
    )


def _answer(training: FullTraining, wanted: int, steps: int) -> Answer:
    from ..theory.memories import linear_capacity

    setting, recall = training.setting, training.linear
    best, prediction = linear_capacity(setting.d), prediction_of(setting)
    parameters = setting.d**2 + setting.d
    stages = [{**_named(stage), **_facts(stage.recall.mean, setting.V, parameters)} for stage in training.stages]
    linear = {"recall": recall.mean, "se": recall.se, **_facts(recall.mean, setting.V, parameters)}
    data: dict[str, object] = {
        "schema_version": 1, "setting": setting.to_dict(), "seed": training.seed, "seeds": training.seeds,
        "steps": steps, "parameters": parameters, "stages": stages, "best_linear_memory": linear,
        "best_linear_law": {"facts": best, "facts_per_parameter": best / setting.d**2},
    }
    if prediction is not None:
        data["predicted"] = prediction.to_dict()["predicted"]

    columns: dict[str, Format] = {
        "stage": words, "loss": number, **dict.fromkeys(MEASURES[1:], probability), "facts": number,
        "facts_per_parameter": number}
    rows = [[row.get(name) for name in columns]
            for row in (*stages, {"stage": "best linear memory, same embeddings", **linear})]
    headings = [name.replace("_", " ").replace("stage", "after") for name in columns]
    blocks: list[Block] = [
        Heading(f"Beyond three steps at {setting.describe()}"),
        f"{finished_seeds(training.seeds, wanted)}, --seed {training.seed}; {count(parameters)} parameters.",
        Table(dict(zip(headings, columns.values(), strict=True)), rows, marked=frozenset({0, len(rows) - 1})),
    ]
    if prediction is not None:
        blocks.append(f"Predicted after three steps: recall {probability(prediction.recall)}, accuracy "
                      f"{probability(prediction.accuracy)}.")
    blocks += [
        f"By its law for large d, the best linear memory of {count(setting.d)} x {count(setting.d)} numbers "
        f"holds {count(best)} facts, {number(best / setting.d**2)} per parameter."
        + ("" if best < setting.V else " All facts fit here: a larger V would show its limit."),
        Remark("The loss is the cross-entropy of the training samples in nats; chance is ln V = "
               f"{number(math.log(setting.V))}. Three steps in the limit have no scale and no loss; the best scale is "
               "that of least loss. The best linear memory reads each fact without noise tokens: training minimises a "
               "convex loss until all facts are right, or as many as that loss gets right."),
    ]
    return Answer(data, stages, blocks)


def _named(stage: Stage) -> dict[str, object]:
    """The stage's name, its steps, and the mean and standard error of each measure."""
    name = "three steps" if stage.steps is None else f"{plural(stage.steps, 'step')} more"
    known: dict[str, object] = {"stage": "three steps, at their best scale" if stage.steps == 0 else name,
                                "further_steps": stage.steps}
    for measure in MEASURES:
        observed = getattr(stage, measure)
        known |= {measure: observed.mean, f"{measure}_se": observed.se}
    return known


def _facts(recall: float, V: int, parameters: int) -> dict[str, object]:
    return {"facts": recall * V, "facts_per_parameter": recall * V / parameters}


command = Command(
    "train", run,
    params=[*setting_options(leave_out=("m", "activation")), option("steps"), option("seeds", default=4),
            option("seed"), option("n_test")],
    help="Train the Attention-only model by three gradient steps, as `simulate` does, and then go on: full gradient "
         "descent of both matrices, with a step length that sets itself. One table shows what the three steps leave on "
         "the table: facts recalled, and facts per parameter, after three steps, on the way, and at the best linear "
         "memory.",
    examples=["train --V 128 --L 4 --d 32 --N 2048 --steps 100 --seeds 2 --seed 1",
              "train --V 64 --L 8 --d 32 --N 2048 --steps 20 --json --output train.json"],
)
