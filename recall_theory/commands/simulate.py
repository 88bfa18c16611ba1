"""`recall-theory simulate`, `train` and `ladder`: models trained by three steps, by one rung of the ladder, by all."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import SettingError
from ..numerics.formatting import count, number, percent, plural, probability
from ..settings import OBSERVABLES, Setting
from ..training import RUNG_NAMES
from .answers import Answer, Output, command
from .options import QUANTISED, choice, file_option, option, setting_options
from .predict import prediction_if_any
from .streams import BadInput, shown
from .sweep import planned_cells, scan_options, scheduler_option
from .text_layout import Block, Heading, Remark, table

if TYPE_CHECKING:
    from ..numerics.arrays import Measured, Observable

CONFIDENCE = 0.95  # of the interval over seeds
MEASURED_COLUMNS = "=measure, predicted, observed, 95 % interval=interval, std, predicted std"
MATRIX_MEASURES = {  # of a user's embeddings, beside random ones
    "norm": "mean norm of a row", "norm_cv": "its coefficient of variation",
    "coherence_rms": "cosine of a pair, root mean square", "coherence_max": "cosine of a pair, largest",
    "rank": "effective rank", "top": "largest eigenvalue's share", "mean": "squared norm of the mean row",
}
MEANINGS = {"loss": "training loss, nats", "training_accuracy": "training accuracy",
            "attention_weight": "mean attention weight"}
SMALL_SEEDS, SMALL_STEPS = 4, 600  # of a training of `ladder`
MEASURED = ("Recall of rungs 6 and 7: the share of facts answered right in most of 8 fresh sequences. A model that met "
            "the rule has training accuracy 1 and a loss under 0.01.")


def finished_seeds(observed: Measured[Any], wanted: int) -> str:
    """How many seeds there are, that an interrupt left some out, and the seed that repeats them."""
    done = plural(observed.seeds, "seed") + ("" if observed.seeds == wanted else f" of {wanted:,}, interrupted")
    return f"{done}, --seed {observed.seed}"


def partial_seeds(observed: Measured[Any], wanted: int) -> str:
    """What was finished of the seeds, and how to repeat them."""
    return f"{observed.seeds} of {wanted} seeds; --seed {observed.seed} repeats them"


def measured_rows(measures: Mapping[str, Observable], predicted: Mapping[str, float],
                  spread: Mapping[str, float]) -> list[dict[str, Any]]:
    """A row a measure, of `MEASURED_COLUMNS`; `spread` is the predicted standard deviation over seeds."""
    return [{"measure": name, "predicted": predicted.get(name), "observed": x.mean, "interval": interval(x),
             "std": x.std, "predicted std": spread.get(name)} for name, x in measures.items()]


def interval(observable: Observable) -> list[float | None]:
    """The 95 % interval of the mean over seeds, within what a share can be; none for a single seed.

    A measure with negative values, such as a share of variance that a control explains, may have a negative end.
    """
    from ..verification.intervals import student_interval

    if len(observable.values) < 2:
        return [None, None]
    low, high = map(float, student_interval(observable.values, CONFIDENCE))
    return [low if observable.values.min() < 0 else max(0.0, low), min(1.0, high)]


@command("simulate --V 256 --L 16 --d 64 --N 16384 --seeds 64 --seed 1",
         "simulate --V 128 --L 8 --d 64 --N 8192 --eta 1e-3 --gamma 1e6 --csv --output seeds.csv",
         params=[*setting_options(), "seeds", "seed", "jobs", "n_test", option("bits", among=QUANTISED),
                 file_option("embeddings", "your own embeddings in place of random ones: FILE.npy of shape (2, V, d), "
                             "or (V, d) for both matrices, or FILE.npz with z_in, z_out and perhaps z_trig"),
                 option("normalise", default=None)],
         goes_with={"normalise": "embeddings"})
def simulate_command(output: Output, *, seeds: int, seed: int | None, jobs: int, n_test: int, embeddings: str | None,
                     normalise: str | None, bits: int | None, **values: Any) -> Answer:
    """Train the model for real, in three gradient steps, on independently drawn seeds, and print what was observed
    beside the prediction."""
    setting = Setting(**values)
    from ..simulate.run import check_affordable, simulate

    check_affordable(setting, jobs)
    matrices = None if embeddings is None else _loaded(embeddings)
    used = output.seed(seed)
    observed = output.measure(
        "seeds", lambda progress: simulate(setting, seeds, used, n_test=n_test, jobs=jobs, embeddings=matrices,
                                           normalise=normalise or "none", bits=bits, progress=progress),
        lambda observed: partial_seeds(observed, seeds))

    data, predicted = observed.to_dict(), prediction_if_any(setting, bits=bits)
    data |= ({"predicted": predicted} if predicted else {}) | ({} if bits is None else {"bits": bits})
    measures = {o: observed.measures[o] for o in OBSERVABLES}
    rows = measured_rows(measures, predicted, predicted.get("std", {}))
    for row, (o, x) in zip(rows, measures.items(), strict=True):
        # What one seed counts: all V facts, or its fresh sequences.
        row["design effect"] = x.design_effect(setting.V if o == "recall" else n_test)
        data["observed"][o] |= {"std": x.std, "interval": row["interval"], "design_effect": row["design effect"]}
    quantised = "" if bits is None else f"Val quantised to {plural(bits, 'bit')} an entry, "
    blocks: list[Block] = [
        Heading(f"What an attention layer remembers at {setting.describe()}: simulated"),
        f"{finished_seeds(observed, seeds)}, {quantised}{count(n_test)} fresh sequences a seed.",
    ]
    if observed.attention_weight is not None:
        expected = f" (predicted {probability(predicted['attention_weight'])})" if predicted else ""
        blocks.append(f"Mean attention weight of the right token at eta*gamma = {number(setting.beta)}: "
                      f"{probability(observed.attention_weight.mean)}{expected}.")
    blocks.append(table(rows, f"{MEASURED_COLUMNS}, design effect"))
    if observed.embeddings is not None:
        beside = [{"matrix": name, "measure": MATRIX_MEASURES.get(measure, measure), **x}
                  for name, of_matrix in observed.embeddings.items() for measure, x in of_matrix.items()]
        blocks.append(table(beside, "matrix, measure, yours=value, random", "Your embeddings beside random ones, which "
                            "the prediction assumes", labels=2))
    absent = "" if predicted else " There is no prediction for this setting."
    blocks.append(Remark("Std is from seed to seed. The design effect is its variance in units of that of "
                         f"independently sampled facts or sequences.{absent}"))
    return Answer(data, dataclasses.replace(observed, measures=measures).records(), blocks)


def _loaded(path: str) -> Any:
    """The user's matrices; any file that isn't one of matrices is bad input, whatever reading it raises."""
    from ..simulate.data import load_embeddings

    try:
        return load_embeddings(path)
    except SettingError:
        raise
    except Exception as error:
        raise BadInput(f"--embeddings {shown(path)} can't be read as .npy or .npz: {error}") from None


@command("train --rung 4 --V 128 --L 8 --d 32 --N 4096 --seeds 8",
         "train --rung 1 --V 32 --L 4 --d 16 --N 512 --seeds 4 --seed 1 --json",
         params=[choice("rung", RUNG_NAMES, "which model: 1 and 2 three gradient steps (limit, finite rates), 3 "
                        "full-batch gradient descent, 4 minibatches and AdamW, 5 embeddings trained too, 6 two "
                        "transformer blocks with the trigger as a token (6-vector and 6-token: one block), 7 the same "
                        "with Zipf facts", metavar="NAME", default="4", show_default=True),
                 *setting_options(leave_out=("m", "activation")), option("seeds", default=8), "seed", "n_test", "steps",
                 "rate", file_option("resume", "keep the training in FILE, and go on from it")])
def train_command(output: Output, *, rung: str, seeds: int, seed: int | None, n_test: int, steps: int, rate: float,
                  resume: str | None, **values: Any) -> Answer:
    """Train one rung of the ladder between the paper's three gradient steps and a transformer, all seeds at once, until
    training accuracy is 1 and the loss under 0.01; the law of three steps stands beside it. It needs jax and optax:
    pip install 'recall-theory[train]'."""
    setting = Setting(**values)
    from ..training.rungs import RUNGS, check_trainable, train_rung

    chosen = RUNGS[rung]
    check_trainable(chosen, setting, seeds)
    used = output.seed(seed)
    again = f", with --resume {resume} it goes on" if resume else ""
    found = output.measure(
        "steps", lambda progress: train_rung(chosen, setting, seeds, used, plan=chosen.plan(setting, steps, rate),
                                             n_test=n_test, resume=resume, progress=progress),
        lambda found: f"{int(found.steps.max())} steps of {partial_seeds(found, seeds)}{again}")

    data, predicted = found.to_dict(), prediction_if_any(setting, eta=None, gamma=None)
    data |= {"predicted": predicted} if predicted else {}
    rows = measured_rows(found.measures, {o: predicted[o] for o in OBSERVABLES if predicted}, {})
    for row in rows:
        name = row["measure"]
        if name == "loss":  # not a share
            row |= {"interval": [None, None], "observed": number(row["observed"])}
        data["observed"][name]["interval"] = row["interval"]
        row["measure"] = MEANINGS.get(name, name)
    rule = "" if chosen.steps else (f" {int((found.steps < steps).sum())} of {found.seeds} models met the stopping "
                                    f"rule before {count(steps)} steps.")
    taken = " to ".join(dict.fromkeys(map(count, (found.steps.min(), found.steps.max()))))
    return Answer(data, found.records(), [
        Heading(f"Rung {chosen.name}, {chosen.change}: {setting.describe()}"),
        f"{finished_seeds(found, seeds)}, steps: {taken}, {plural(found.parameters, 'parameter')}.{rule}",
        table(rows, "=measure, mean=observed, 95 % interval=interval, law of three steps=predicted"),
        f"Facts per parameter {number(data['facts_per_parameter'])}, bits per parameter "
        f"{number(data['bits_per_parameter'])}.",
        Remark(MEASURED),
    ])


@command("ladder --seed 1",
         "ladder --grid study --seeds 8 --steps 1000 --seed 1 --store ladder.jsonl --scheduler tcp://host:8786",
         "ladder --rung 3 --rung 4 --scan d=8,16 --V 32 --L 8 --ratio 32 --seed 1 --store ladder.jsonl --json",
         params=[choice("rung", RUNG_NAMES, "this rung alone; may be repeated", metavar="NAME", multiple=True),
                 *scan_options("small (four settings), study (the 42 of docs/ladder.md), or a TOML file as of sweep",
                               leave_out=("m", "activation", "eta", "gamma")),
                 option("seeds", default=None,
                        help=f"independently drawn models a training; {SMALL_SEEDS} where absent"),
                 "seed", option("steps", default=SMALL_STEPS),
                 file_option("store", "append each finished training to FILE, a line of JSON, and train only what it "
                             "lacks"), scheduler_option()])
def ladder_command(output: Output, *, rung: Sequence[str], scan: Sequence[str], grid: str | None, ratio: float | None,
                   seeds: int | None, seed: int | None, steps: int, store: str | None, scheduler: str | None,
                   **values: Any) -> Answer:
    """All rungs of the ladder at four small settings, a few minutes of work, or over any grid, kept in a store and
    shared by many machines: what each learns, beside the law of three steps. It needs jax and optax: pip install
    'recall-theory[train]'."""
    from ..training.trainer import check_installed

    check_installed()
    from ..simulate.workers import unordered_map
    from ..sweep.run_sweep import cluster_map
    from ..training.rungs import RUNGS
    from ..verification import ladder_study

    plan = planned_cells(scan, grid, {**values, "ratio": ratio}, ladder_study.GRIDS)
    places = ladder_study.places_of(plan.cells or ladder_study.GRIDS["small"], rung or RUNG_NAMES,
                                    seeds or plan.seeds or SMALL_SEEDS, steps)
    used = output.seed(plan.seed if seed is None else seed)
    mapped = unordered_map
    if scheduler is not None:
        mapped = functools.partial(cluster_map, address=scheduler, say=output.say, chunk_size=1)
    rows = output.measure(
        "trainings", lambda progress: ladder_study.run_ladder(places, used, store, progress, mapped),
        again=f"--store {store} --seed {used} goes on" if store else "with --store FILE it would go on from there")

    rungs = ladder_study.compare_rungs(rows)
    beside = [{**x, "change": RUNGS[x["rung"]].change, "met": None if RUNGS[x["rung"]].steps else percent(x["stopped"])}
              for x in rungs]
    return Answer({"rungs": rungs, "rows": rows}, rungs, [
        Heading("What carries over from three gradient steps to a trained transformer"),
        f"Means over {plural(rungs[0]['settings'], 'setting')}, {plural(rows[0]['seeds'], 'seed')} each, --seed "
        f"{used}, at most {count(steps)} steps; steps are the median, facts and bits per parameter the "
        "most over settings.",
        table(beside, "rung, change, attention, recall, accuracy, training_accuracy, accuracy less law=against_law, "
              "steps, met the rule=met, facts_per_parameter, bits_per_parameter"),
        Remark(MEASURED + " The law is that of three steps in the limit at the same setting; docs/ladder.md has the "
               "large study."),
    ])
