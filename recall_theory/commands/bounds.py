"""`recall-theory bounds`: what no learner can beat and, with --decoders, how close simulated decoders come."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from ..numerics.formatting import count, exact, number, plural, probability, sizes, with_error
from ..settings import sizes_and_trigger
from .command import Answer, Command, Output
from .options import flag, option, plot_option, setting_options
from .streams import BadInput
from .text_layout import Block, Heading, Remark, table

if TYPE_CHECKING:
    from ..theory.bounds import Bound, Bounds
    from ..verification.simulated_alternatives import Tightness

PAPER = ("The paper proves a lower bound of its own; its text was not available, and its constant, its noise and "
         "its learners may differ from these.")
DECODERS = {  # as `Point.observed` names them, and the heading of each
    "best assignment": "best assignment", "matched filter": "matched filter", "noisy gradient": "argmax, in noise",
    "gradient": "argmax", "three steps": "three steps",
}


def run(output: Output, *, V: int | None, N: int | None, m: int | None, activation: str | None, target: float,
        bits: float, decoders: bool, points: int, seed: int | None, **values: Any) -> Answer:
    if decoders:
        if V is None:
            raise BadInput("--V is missing: --decoders needs --V, --L and --d")
        from ..verification.simulated_alternatives import tightness

        used = output.seed(seed)
        return output.measure("seeds",
                              lambda progress: tightness(V, points=points, seed=used, progress=progress, **values),
                              lambda result: _decoders(result, points),
                              lambda result: f"{len(result.points)} of {points} points")
    from ..theory.bounds import bounds_at

    sizes = {name: values[name] for name in "Ld"}
    return _bounds(bounds_at(V=V, N=N, m=m, activation=activation, target=target, bits=bits, **sizes))


def _bounds(bounds: Bounds) -> Answer:
    s, reading = bounds.setting, None
    if s["m"] is None and s["V"] is not None and s["N"] is not None:
        from ..theory.one_step_memory import one_step_recall

        reading = float(one_step_recall(s["V"], s["L"], s["d"], s["N"])[0])
    data = bounds.to_dict() | {"one_step_recall": reading, "paper": PAPER}
    records = [{**data["setting"], "target": bounds.target, "bits": bounds.bits, **b,
                "formulas": " ".join(b["formulas"])} for b in data["bounds"]]
    blocks: list[Block] = [
        Heading(f"What no learner can beat at {sizes(s, 'VLdNm')}"),
        table(_allowed(bounds, b) for b in bounds.bounds),
        Remark(f"Recall is that of a uniformly random permutation, on average: one that happens to suit a learner "
               f"proves nothing. Its target is {exact(bounds.target)}. - is no limit. P = {count(bounds.parameters)} "
               f"parameters of b = {number(bounds.bits)} bits. Factor: how far the best decoder with a closed form is "
               "from the bound, in V or N: 1 is attained; of the gradient in noise it is argmax's N, and assignment "
               "decoders (--decoders) come nearer."),
    ]
    if reading is not None:
        blocks.append(f"Beside the gradient bound: reading the first gradient of these samples directly, with no noise "
                      f"added, recalls {probability(reading)} (predicted).")
    blocks.append(Remark("The gradient bound is about reading one gradient. It says nothing of three steps, which use "
                         f"the samples again and need fewer of them where L > d. {PAPER}"))
    return Answer(data, records, blocks, lambda: _details(bounds))


def _allowed(bounds: Bounds, b: Bound) -> dict[str, object]:
    """What a bound allows at the sizes that are given."""
    s = bounds.setting
    row: dict[str, object] = {"bound": b.name, "sees": b.access, "strength": b.strength}
    if s["V"] is not None and s["N"] is not None:
        row |= {"recall at most": b.recall, "target": "allowed" if b.allows else "out of reach"}
    if s["V"] is not None:
        row["least N"] = bounds.least_samples(b)
    if s["N"] is not None:
        row["largest V"] = b.largest_V
    row["factor"] = b.factor
    return row


def _details(bounds: Bounds) -> list[Block]:
    """What the permutation takes, and whom each bound binds."""
    takes = [_takes(b) for b in bounds.bounds if "takes" in b.details]
    kinds: dict[str, dict[str, object]] = {}  # bounds of one kind bind the same learners, which is said once
    for b in bounds.bounds:
        kind = b.name.partition(":")[0]
        says = f"{kinds[kind]['says']}; {b.statement}" if kind in kinds else b.statement
        kinds[kind] = {"bound": kind, "sees": b.access, "says": says, "binds": b.binds,
                       "broken by": b.broken_by}
    return [table(takes, "What the permutation takes"), table(kinds.values(), "Whom they bind")]


def _takes(b: Bound) -> dict[str, object]:
    unit = "nats" if "nats" in b.details else "bits"
    wrong = b.details.get("errors") if unit == "bits" else None
    name = b.name if wrong is None else f"{b.name} (e = {count(wrong)})"
    return {"bound": name, "there is": number(b.details[unit], 4), "it takes": number(b.details["takes"], 4),
            "unit": unit}


def _decoders(result: Tightness, points: int) -> Answer:
    from ..plots.comparisons import decoder_figure

    s = result.setting
    records = [{**s, "x": p.x, "N": p.N, "bound": p.bound, "predicted": p.predicted, "observed": p.observed,
                "se": p.se} for p in result.points]
    predicted = [{"x": p.x, "N": p.N, "bound": p.bound,
                  **{DECODERS[name]: p.predicted[name] for name in ("noisy gradient", "gradient", "three steps")}}
                 for p in result.points]
    simulated = [{"x": p.x, **{heading: with_error(p.observed[name], p.se[name])
                               for name, heading in DECODERS.items()}} for p in result.points]
    blocks: list[Block] = [
        Heading(f"How close to the gradient bound decoders come, at {sizes_and_trigger(s, 'VLd')}"),
        Remark("x = N d^2/(V^2 L ln V). The bound binds learners that see the first gradient in noise of its own "
               "sampling covariance. It does not bind the gradient without added noise, nor three steps."),
        table(predicted, "Predicted: recall, and accuracy after three steps",
              formats={"bound": probability}, labels=2),
        table(simulated, f"Simulated on {plural(result.seeds, 'seed')} a point (--seed {result.seed}), "
              "± standard error"),
    ]
    used_again = "three steps"  # beyond the bound by more than three standard errors
    beyond = [p for p in result.points if p.observed[used_again] > p.bound + 3 * (p.se[used_again] or 0)]
    if beyond:
        blocks.append(f"From N = {count(beyond[0].N)} on, three steps answer more than the bound allows one reading of "
                      "the gradient: they use the samples again.")
    whole = len(result.points) == points
    return Answer(result.to_dict(), records, blocks, figure=partial(decoder_figure, result) if whole else None)


command = Command(
    "bounds", run,
    params=[*setting_options(("L", "d"), leave_out=("embedding", "trigger_in_value", "eta", "gamma")),
            "bits", option("target", help="recall to be reached on average"),
            flag("decoders", "simulate decoders of the first gradient beside its bound, from x = 1/4 to 16"),
            "trigger_in_value",
            option("points", default=7, help="with --decoders: numbers of samples"),
            option("seeds", default=16, help="with --decoders: simulated seeds a point"),
            option("seed", help="with --decoders: fixes everything random"),
            option("jobs", help="with --decoders: processes that share the seeds"),
            plot_option()],
    goes_with=dict.fromkeys(("trigger_in_value", "points", "seeds", "seed", "jobs", "plot"), "decoders"),
    apart=[("decoders", name) for name in ("N", "m", "activation", "target", "bits")],
    details="What the permutation takes, and whom each bound binds.",
    help="What no learner can beat: coverage (the samples), bits (the size of the model) and access to one noisy "
         "gradient. With V and N: the most recall that each allows. Without N, or without V: the least N, or the "
         "largest V, at which it allows the target. With --decoders: the bound on one reading of the first gradient, "
         "beside the predicted and the simulated recall of its decoders and of three steps, over N d^2/(V^2 L ln V).",
    examples=["bounds --V 1024 --L 64 --d 256 --N 65536", "bounds --V 1e12 --L 64 --d 1e6 --bits 8 --json",
              "bounds --decoders --V 128 --L 32 --d 64 --seed 1 --plot decoders.svg"],
)
