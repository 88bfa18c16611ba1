"""`recall-theory train` and `ladder`: one rung between three gradient steps and a transformer, or all side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..numerics.formatting import NOTHING, count, number, plural, probability
from ..settings import OBSERVABLES, Setting
from ..training import RUNG_NAMES
from .command import Answer, Command, Output
from .options import choice, file_option, option, setting_options
from .simulate import finished_seeds, interval, partial_seeds, prediction_of, seed_records
from .text_layout import Heading, Remark, table

if TYPE_CHECKING:
    from ..training.rungs import RungObservation
    from ..verification.ladder_study import Row

MEANINGS = {"loss": "training loss, nats", "training_accuracy": "training accuracy",
            "attention_weight": "mean attention weight"}
SMALL_STEPS = 600  # of a training of `ladder`
MEASURED = ("Recall of rungs 6 and 7: the share of facts answered right in most of 8 fresh sequences. A model that met "
            "the rule has training accuracy 1 and a loss under 0.01.")


def run_train(output: Output, *, rung: str, seeds: int, seed: int | None, n_test: int, steps: int, rate: float,
              resume: str | None, **values: Any) -> Answer:
    setting = Setting(**values)
    from ..training.rungs import RUNGS, check_trainable, train_rung

    chosen = RUNGS[rung]
    check_trainable(chosen, setting, seeds)
    used = output.seed(seed)
    return output.measure(
        "steps",
        lambda progress: train_rung(chosen, setting, seeds, used, plan=chosen.plan(setting, steps, rate),
                                    n_test=n_test, resume=resume, progress=progress),
        lambda found: _trained(found, steps, seeds),
        lambda found: f"{int(found.steps.max())} steps of {partial_seeds(found, seeds)}")


def _trained(found: RungObservation, most: int, wanted: int) -> Answer:
    from ..simulate.observables import Observable
    from ..verification.ladder_study import observation_data

    measures = {name: Observable(values) for name, values in found.measures.items()}
    data, prediction = observation_data(found), prediction_of(found.setting.replace(eta=None, gamma=None))
    rows = []
    for name, measure in measures.items():
        ends = interval(measure) if name != "loss" else [None, None]
        data["observed"][name]["interval"] = ends
        law = getattr(prediction, name) if prediction is not None and name in OBSERVABLES else None
        rows.append({"": MEANINGS.get(name, name), "mean": number(measure.mean) if name == "loss" else measure.mean,
                     "95 % interval": NOTHING if ends[0] is None else " to ".join(map(probability, ends)),
                     "law of three steps": NOTHING if law is None else probability(law)})
    if prediction is not None:
        data["predicted"] = prediction.to_dict()["predicted"]
    rule = [] if found.rung.steps else [f"{int((found.steps < most).sum())} of {found.seeds} models met the stopping "
                                        f"rule before {count(most)} steps."]
    return Answer(data, seed_records(found, measures), [
        Heading(f"Rung {found.rung.name}, {found.rung.change}: {found.setting.describe()}"),
        f"{finished_seeds(found, wanted)}, {_span(found.steps.tolist())}, {plural(found.parameters, 'parameter')}.",
        *rule,
        table(rows),
        f"Facts per parameter {number(data['facts_per_parameter'])}, bits per parameter "
        f"{number(data['bits_per_parameter'])}.",
        Remark(MEASURED),
    ])


def _span(steps: Sequence[int]) -> str:
    """How many steps were taken, over seeds."""
    low, high = min(steps), max(steps)
    return plural(low, "step") if low == high else f"{count(low)} to {plural(high, 'step')}"


def run_ladder_command(output: Output, *, seeds: int, seed: int | None, resume: str | None) -> Answer:
    from ..training.trainer import check_installed

    check_installed("ladder")
    from ..verification.ladder_study import compare_rungs, run_ladder, small_ladder

    used = output.seed(seed)
    places = small_ladder(seeds, SMALL_STEPS)
    return output.measure(
        "trainings", lambda progress: run_ladder(places, used, resume, progress),
        lambda rows: _compared(rows, compare_rungs(rows)),
        again=f"--resume {resume} --seed {used} goes on" if resume else "with --resume FILE it would go on from there")


def _compared(rows: Sequence[Row], rungs: Sequence[Row]) -> Answer:
    from ..training.rungs import RUNGS

    shown = [{"rung": x["rung"], "change": RUNGS[x["rung"]].change, **{o: x[o] for o in OBSERVABLES},
              "training accuracy": probability(x["training_accuracy"]), "accuracy less law": x["against_law"],
              "steps": x["steps"], "bits per parameter": x["bits_per_parameter"]} for x in rungs]
    return Answer({"rungs": rungs, "rows": rows}, rungs, [
        Heading("What carries over from three gradient steps to a trained transformer"),
        f"Means over {plural(rungs[0]['settings'], 'setting')}, {plural(rows[0]['seeds'], 'seed')} each, --seed "
        f"{rows[0]['seed']}; steps are the median, bits per parameter the most over settings.",
        table(shown),
        Remark(MEASURED + " The law is that of three steps in the limit at the same setting; rung 7 has facts of other "
               "frequencies. The large study is docs/ladder.md."),
    ])


train_command = Command(
    "train", run_train,
    params=[choice("rung", RUNG_NAMES, "which model: 1 and 2 three gradient steps (limit, finite rates), 3 full-batch "
                   "gradient descent, 4 minibatches and AdamW, 5 embeddings trained too, 6 two transformer blocks with "
                   "the trigger as a token (6-vector and 6-token: one block), 7 the same with Zipf facts",
                   metavar="NAME", default="4", show_default=True),
            *setting_options(leave_out=("m", "activation")), option("seeds", default=8), "seed", "n_test", "steps",
            "rate", file_option("resume", "keep the training in FILE, and go on from it")],
    help="Train one rung of the ladder between the paper's three gradient steps and a transformer, all seeds at once, "
         "until training accuracy is 1 and the loss under 0.01; the law of three steps stands beside it. It needs "
         "jax and optax: pip install 'recall-theory[train]'.",
    examples=["train --rung 4 --V 128 --L 8 --d 32 --N 4096 --seeds 8",
              "train --rung 1 --V 32 --L 4 --d 16 --N 512 --seeds 4 --seed 1 --json"],
)

command = Command(
    "ladder", run_ladder_command,
    params=[option("seeds", default=4), "seed",
            file_option("resume", "append each finished training to FILE, and train only what it lacks")],
    help="All rungs of the ladder at four small settings, a few minutes of work: what each learns, beside the law of "
         "three steps. It needs jax and optax: pip install 'recall-theory[train]'.",
    examples=["ladder --seed 1", "ladder --seeds 8 --seed 1 --resume ladder.jsonl --json"],
)
