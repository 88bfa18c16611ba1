"""`recall-theory simulate`: the model trained, and what was observed beside the prediction."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..errors import SettingError
from ..numerics.formatting import count, deviation, number, plural, probability, signed
from ..settings import OBSERVABLES, Setting
from .command import Answer, Command, Output
from .options import file_option, option, setting_options
from .streams import BadInput, shown
from .text_layout import Block, Heading, Remark, Table, words

if TYPE_CHECKING:
    from ..simulate.observation import Observable, Observation
    from ..theory.predict import Prediction

CONFIDENCE = 95  # percent, of the interval over seeds
MEASURES = {  # of a user's embeddings, beside random ones
    "norm": "mean norm of a row", "norm_cv": "its coefficient of variation",
    "coherence_rms": "cosine of a pair, root mean square", "coherence_max": "cosine of a pair, largest",
    "rank": "effective rank", "top": "largest eigenvalue's share", "mean": "squared norm of the mean row",
}


def run(output: Output, seeds: int, seed: int | None, jobs: int, n_test: int, embeddings: str | None,
        normalise: str | None, **values: Any) -> Answer:
    setting = Setting(**values)
    if normalise is not None and embeddings is None:
        raise BadInput("--normalise is for --embeddings FILE: give that too, or leave it out")
    from ..simulate.run import check_affordable, simulate

    check_affordable(setting)
    matrices = None if embeddings is None else _loaded(embeddings)
    used = output.seed(seed)
    return output.measure(
        "seeds",
        lambda progress: simulate(setting, seeds, used, n_test=n_test, jobs=jobs, embeddings=matrices,
                                  normalise=normalise or "none", progress=progress),
        lambda observed: _answer(observed, prediction_of(setting), seeds),
        lambda observed: f"{observed.seeds} of {seeds} seeds; --seed {used} repeats them",
    )


def prediction_of(setting: Setting) -> Prediction | None:
    """The prediction to lay beside what was observed; None where `predict` doesn't describe the setting."""
    from ..theory.predict import predict

    try:
        return predict(setting)
    except SettingError:
        return None


def _loaded(path: str) -> Any:
    """The user's matrices; any file that isn't one of matrices is bad input, whatever reading it raises."""
    from ..simulate.user_embeddings import load_embeddings

    try:
        return load_embeddings(path)
    except SettingError:
        raise
    except Exception as error:
        raise BadInput(f"--embeddings {shown(path)} can't be read as .npy or .npz: {error}") from None


def _answer(observed: Observation, prediction: Prediction | None, wanted: int) -> Answer:
    by_name: dict[str, Observable] = {o: getattr(observed, o) for o in OBSERVABLES}
    intervals = {o: interval(x) for o, x in by_name.items()}
    # What one seed counts: all V facts, or its fresh sequences.
    counted = {o: observed.setting.V if o == "recall" or observed.n_test is None else observed.n_test
               for o in OBSERVABLES}
    effects = {o: x.design_effect(counted[o]) for o, x in by_name.items()}

    data = observed.to_dict()
    data["observed"] = {o: {**x.to_dict(), "std": x.std, "interval": intervals[o], "design_effect": effects[o]}
                        for o, x in by_name.items()}
    if prediction is not None:
        data["predicted"] = prediction.to_dict()["predicted"]
    seeds = zip(*(x.values.tolist() for x in by_name.values()), strict=True)
    records = [{**observed.setting.to_dict(), "seed": observed.seed, "index": i,
                **dict(zip(OBSERVABLES, values, strict=True))} for i, values in enumerate(seeds)]

    done = finished_seeds(observed.seeds, wanted)
    tests = "all sequences" if observed.n_test is None else f"{count(observed.n_test)} fresh sequences a seed"
    remark = ("Std is from seed to seed. The design effect says how many times it exceeds, in variance, that of "
              "independently sampled facts or sequences: facts of one seed share much, so the interval counts seeds.")
    if prediction is None:
        remark += " No prediction is shown: there is none for this setting yet."
    blocks: list[Block] = [
        Heading(f"What an attention layer remembers at {observed.setting.describe()}: simulated"),
        f"{done}, --seed {observed.seed}, {tests}.",
        _table(by_name, prediction, intervals, effects),
    ]
    if observed.embeddings is not None:
        blocks += _beside_random(observed.embeddings)
    return Answer(data, records, [*blocks, Remark(remark)])


def finished_seeds(finished: int, wanted: int) -> str:
    """How many seeds there are, and that an interrupt left some out."""
    return plural(finished, "seed") + ("" if finished == wanted else f" of {wanted:,}, interrupted")


def interval(observable: Observable) -> list[float | None]:
    """The 95 % interval of the mean over seeds, within [0, 1]; none for a single seed."""
    from ..verification.intervals import student_interval

    if len(observable.values) < 2:
        return [None, None]
    low, high = map(float, student_interval(observable.values, CONFIDENCE / 100))
    return [max(0.0, low), min(1.0, high)]


def _table(by_name: Mapping[str, Observable], prediction: Prediction | None,
           intervals: Mapping[str, list[float | None]], effects: Mapping[str, float]) -> Table:
    """A column an observable, which fits a narrow terminal."""
    lows, highs = ([intervals[o][end] for o in by_name] for end in (0, 1))
    expected = {} if prediction is None else {o: getattr(prediction, o) for o in by_name}
    rows: dict[str, list[str]] = {}
    if prediction is not None:
        rows["predicted"] = [probability(expected[o]) for o in by_name]
    rows["observed"] = [probability(x.mean) for x in by_name.values()]
    rows[f"{CONFIDENCE} % interval from"] = [probability(low) for low in lows]
    rows["to"] = [probability(high) for high in highs]
    if prediction is not None:
        rows["difference"] = [signed(x.mean - expected[o]) for o, x in by_name.items()]
        rows["predicted std"] = [deviation(prediction.std[o]) for o in by_name]
    rows["std"] = [deviation(x.std) for x in by_name.values()]
    rows["design effect"] = [number(effects[o], 2) for o in by_name]
    return Table({"": words, **dict.fromkeys(by_name, str)}, [(name, *cells) for name, cells in rows.items()])


def _beside_random(report: Mapping[str, Mapping[str, Mapping[str, float]]]) -> list[Block]:
    """How far a user's own embeddings are from the random ones that predictions assume."""
    rows = [(name, MEASURES.get(measure, measure), x["value"], x["random"])
            for name, measures in report.items() for measure, x in measures.items()]
    return [Table({"matrix": words, "measure": words, "yours": number, "random": number}, rows,
                  "Your embeddings beside random ones", labels=2),
            Remark("The prediction assumes random embeddings; where yours differ it need not hold.")]


command = Command(
    "simulate", run,
    params=[*setting_options(), option("seeds"), option("seed"), option("jobs"), option("n_test"),
            file_option("embeddings", "your own embeddings in place of random ones: FILE.npy of shape (2, V, d), or "
                        "(V, d) for both matrices, or FILE.npz with z_in, z_out and perhaps z_trig"),
            option("normalise", default=None, help="what is done to --embeddings first: nothing, one factor a matrix, "
                   "or every row to norm 1 [default: none]")],
    help="Train the model for real, in three gradient steps, on independently drawn seeds, and print what was "
         "observed beside the prediction.",
    examples=["simulate --V 256 --L 16 --d 64 --N 16384 --seeds 64 --seed 1",
              "simulate --V 128 --L 8 --d 64 --N 8192 --eta 1e-3 --gamma 1e6 --csv --output seeds.csv"],
)
