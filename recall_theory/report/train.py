"""What further training brings, stage by stage."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .answer import Answer, Block, Column, Prose, Table
from .numbers import NOTHING, count, number, plural, probability
from .predict import describe

if TYPE_CHECKING:
    from ..simulate.full_training import FullTraining, Stage
    from ..theory.predict import Prediction

MEASURES = ("loss", "attention", "recall", "accuracy")


def answer(found: FullTraining, prediction: Prediction | None, best: int, seeds: int, steps: int,
           exit_code: int = 0) -> Answer:
    """The stages in their three forms; `best` is the number of facts of the best linear memory, by its law."""
    setting = found.setting
    parameters = setting.d**2 + setting.d
    rows = [_stage(stage, setting.V, parameters) for stage in found.stages]
    linear = {"recall": found.linear.mean, "se": found.linear.se, "facts": found.linear.mean * setting.V,
              "facts_per_parameter": found.linear.mean * setting.V / parameters}
    data: dict[str, Any] = {
        "schema_version": 1, "setting": setting.to_dict(), "seed": found.seed, "seeds": found.seeds, "steps": steps,
        "parameters": parameters, "stages": rows, "best_linear_memory": linear,
        "best_linear_law": {"facts": best, "facts_per_parameter": best / setting.d**2},
    }
    if prediction is not None:
        data["predicted"] = prediction.to_dict()["predicted"]
    if exit_code:
        data["interrupted"] = True
    return Answer(data, rows, _blocks(found, prediction, best, seeds, parameters), exit_code)


def _stage(stage: Stage, V: int, parameters: int) -> dict[str, Any]:
    out: dict[str, Any] = {"stage": _name(stage), "further_steps": stage.steps}
    for name in MEASURES:
        out[name] = getattr(stage, name).mean
        out[name + "_se"] = getattr(stage, name).se
    facts = stage.recall.mean * V
    return out | {"facts": facts, "facts_per_parameter": facts / parameters}


def _name(stage: Stage) -> str:
    if stage.steps is None:
        return "three steps"
    return "three steps, at their best scale" if stage.steps == 0 else f"{plural(stage.steps, 'step')} more"


def _blocks(found: FullTraining, prediction: Prediction | None, best: int, seeds: int, parameters: int) -> list[Block]:
    setting = found.setting
    rows = []
    for stage in found.stages:
        facts = stage.recall.mean * setting.V
        rows.append((_name(stage), number(stage.loss.mean), probability(stage.attention.mean),
                     probability(stage.recall.mean), probability(stage.accuracy.mean), number(facts),
                     number(facts / parameters)))
    linear = found.linear.mean
    rows.append(("best linear memory, same embeddings", NOTHING, NOTHING, probability(linear), NOTHING,
                 number(linear * setting.V), number(linear * setting.V / parameters)))
    done = plural(found.seeds, "seed") + ("" if found.seeds == seeds else f" of {seeds:,}, interrupted")
    blocks: list[Block] = [
        Prose(f"Beyond three steps at {describe(setting)}", heading=True),
        Prose(f"{done}, --seed {found.seed}; {count(parameters)} parameters."),
        Table([Column("after", words=True), Column("loss"), Column("attention"), Column("recall"), Column("accuracy"),
               Column("facts"), Column("facts per parameter")], rows, marked=frozenset({0, len(rows) - 1})),
    ]
    if prediction is not None:
        blocks.append(Prose(f"Predicted after three steps: recall {probability(prediction.recall)}, accuracy "
                            f"{probability(prediction.accuracy)}."))
    blocks += [
        Prose(f"By its law for large d, the best linear memory of {count(setting.d)} x {count(setting.d)} numbers "
              f"holds {count(best)} facts, {number(best / setting.d**2)} per parameter."
              + ("" if best < setting.V else " All facts fit here: a larger V would show its limit.")),
        Prose("The loss is the cross-entropy of the training samples in nats; chance is ln V = "
              f"{_log(setting.V)}. Three steps in the limit have no scale and no loss; the best scale is that of "
              "least loss. The best linear memory reads each fact without noise tokens: training minimises a convex "
              "loss until all facts are right, or as many as that loss gets right.", remark=True),
    ]
    return blocks


def _log(V: int) -> str:
    import math

    return number(math.log(V))
