"""`recall-theory bounds`: what no learner can beat and, with --decoders, how close simulated decoders come."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from ..numerics.formatting import NOTHING, count, exact, number, plural, probability
from .command import Answer, Command, Output
from .options import option, option_of, plot_option, setting_options
from .streams import BadInput
from .text_layout import Block, Format, Heading, Remark, Table, words

if TYPE_CHECKING:
    from ..theory.bounds import Bound, Bounds
    from ..verification.decoders import Point, Tightness

PAPER = ("The paper proves a lower bound of its own; its text was not available, and its constant, its noise and "
         "its learners may differ from these.")
DEFAULTS = {"target": 0.99, "bits": 16.0}
DECODER_DEFAULTS = {"points": 7, "seeds": 16, "jobs": 1, "trigger_in_value": True}
DECODERS = {  # as `Point.observed` names them, and the heading of each
    "best assignment": "best assignment", "matched filter": "matched filter", "noisy gradient": "argmax, in noise",
    "gradient": "argmax", "three steps": "three steps",
}


def run(output: Output, decoders: bool, V: int | None, N: int | None, plot: tuple[str, ...], **values: Any) -> Answer:
    given = {name: value for name, value in values.items() if value is not None}
    if decoders:
        for name in ("N", "m", "activation", *DEFAULTS):
            if name in given or (name == "N" and N is not None):
                raise BadInput(f"{option_of(name)} doesn't go with --decoders, which draws its own N: leave it out")
        if V is None:
            raise BadInput("--V is missing: --decoders needs --V, --L and --d")
        return _decoders(output, plot, V=V, **{**DECODER_DEFAULTS, **given})

    for name in (*DECODER_DEFAULTS, "seed"):
        if name in given:
            raise BadInput(f"{option_of(name)} goes with --decoders: give that too, or leave it out")
    if plot:
        raise BadInput("--plot goes with --decoders: give that too, or leave it out")
    if V is None and N is None:
        raise BadInput("--V and --N are both missing: give one of them, or both")
    from ..theory.bounds import bounds_at

    return _bounds(bounds_at(V=V, N=N, **{**DEFAULTS, **given}))


def _bounds(bounds: Bounds) -> Answer:
    reading = _one_step(bounds)
    data = bounds.to_dict() | {"one_step_recall": reading, "paper": PAPER}
    records = [{**data["setting"], "target": bounds.target, "bits": bounds.bits, **b,
                "formulas": " ".join(b["formulas"])} for b in data["bounds"]]
    s = bounds.setting
    sizes = ", ".join(f"{name} = {count(s[name])}" for name in ("V", "L", "d", "N", "m") if s[name] is not None)
    blocks: list[Block] = [
        Heading(f"What no learner can beat at {sizes}"),
        _allowed(bounds),
        Remark(f"Recall is that of a uniformly random permutation, on average: one that happens to suit a learner "
               f"proves nothing. Its target is {exact(bounds.target)}. - is no limit. P = {count(bounds.parameters)} "
               f"parameters of b = {number(bounds.bits)} bits."),
    ]
    if reading is not None:
        blocks.append(f"Beside the gradient bound: reading the first gradient of these samples directly, with no noise "
                      f"added, recalls {probability(reading)} (predicted).")
    blocks.append(Remark("The gradient bound is about reading one gradient. It says nothing of three steps, which use "
                         f"the samples again and need fewer of them where L > d. {PAPER}"))

    return Answer(data, records, blocks, lambda: _details(bounds))


def _details(bounds: Bounds) -> list[Block]:
    whom = Table(dict.fromkeys(("bound", "says", "binds", "broken by"), words), _statements(bounds), "Whom they bind")
    takes = [row for b in bounds.bounds if (row := _takes(b)) is not None]
    if not takes:
        return [whom]
    return [Table({"bound": words, "there is": str, "it takes": str, "unit": words}, takes,
                  "What the permutation takes"), whom]


def _one_step(bounds: Bounds) -> float | None:
    """Predicted recall of the one-step reading; None behind an MLP, or where V or N is open."""
    s = bounds.setting
    if s["m"] is not None or s["V"] is None or s["N"] is None:
        return None
    from ..theory.one_step_memory import one_step_recall

    return float(one_step_recall(s["V"], s["L"], s["d"], s["N"])[0])


def _allowed(bounds: Bounds) -> Table:
    s = bounds.setting
    has_V, has_N = s["V"] is not None, s["N"] is not None
    columns: dict[str, Format] = {"bound": words, "strength": words}
    if has_V and has_N:
        columns |= {"recall at most": probability, "target": words}
    if has_V:
        columns["least N"] = str
    if has_N:
        columns["largest V"] = count
    rows: list[Sequence[object]] = []
    for b in bounds.bounds:
        row: list[object] = [b.name, b.strength]
        if has_V and has_N:
            row += [b.recall, "allowed" if b.allows else "out of reach"]
        if has_V:
            row.append(_least_N(b, s["L"]))
        if has_N:
            row.append(b.largest_V)
        rows.append(row)
    return Table(columns, rows)


def _least_N(b: Bound, L: int) -> str:
    """The least N; a bound that no N changes either allows the target or does not."""
    if b.least_N is not None:
        return count(b.least_N)
    if b.name == "gradient access":
        return NOTHING if L == 1 else "over 10^15"
    return "no N" if b.allows is False else "any"


def _takes(b: Bound) -> Sequence[str] | None:
    if "takes" not in b.details:
        return None
    if "nats" in b.details:
        return (b.name, number(b.details["nats"], 4), number(b.details["takes"], 4), "nats")
    wrong = b.details.get("errors")
    name = b.name if wrong is None else f"{b.name} (e = {count(wrong)})"
    return (name, number(b.details["bits"], 4), number(b.details["takes"], 4), "bits")


def _statements(bounds: Bounds) -> list[Sequence[str]]:
    """What each bound says; those of one kind bind the same learners, which is said once."""
    rows: list[Sequence[str]] = []
    for b in bounds.bounds:
        kind = b.name.partition(":")[0]
        if rows and rows[-1][0] == kind:
            rows[-1] = (kind, f"{rows[-1][1]}; {b.statement}", *rows[-1][2:])
        else:
            rows.append((kind, b.statement, b.binds, b.broken_by))
    return rows


def _decoders(output: Output, plot: tuple[str, ...], *, points: int, seed: int | None = None, **values: Any) -> Answer:
    from ..plots.decoder_recall import decoder_figure
    from ..plots.style import check_pictures, save_pictures
    from ..verification.decoders import tightness

    check_pictures(plot)
    used = output.seed(seed)

    def answer(result: Tightness) -> Answer:
        if len(result.points) == points:
            save_pictures(lambda: decoder_figure(result), plot)
        return _decoder_answer(result, plot)

    return output.measure("seeds",
                          lambda progress: tightness(points=points, seed=used, progress=progress, **values),
                          answer, lambda result: f"{len(result.points)} of {points} points")


def _decoder_answer(result: Tightness, plot: tuple[str, ...]) -> Answer:
    s = result.setting
    records = [{**s, "x": p.x, "N": p.N, "bound": p.bound,
                **{f"predicted.{name}": value for name, value in p.predicted.items()},
                **{f"observed.{name}": value for name, value in p.observed.items()},
                **{f"se.{name}": value for name, value in p.se.items()}} for p in result.points]
    value = "" if s["trigger_in_value"] else ", trigger left out of the values"
    blocks: list[Block] = [
        Heading(f"How close to the gradient bound decoders come, at V = {count(s['V'])}, L = {count(s['L'])}, "
                f"d = {count(s['d'])}{value}"),
        Remark("x = N d^2/(V^2 L ln V). The bound binds learners that see the first gradient in noise of its own "
               "sampling covariance. It does not bind the gradient without added noise, nor three steps."),
        Table({"x": number, "N": count, "bound": probability, "argmax, in noise": probability, "argmax": probability,
               "three steps": probability},
              [(p.x, p.N, p.bound, *(p.predicted[name] for name in ("noisy gradient", "gradient", "three steps")))
               for p in result.points],
              "Predicted: recall, and accuracy after three steps", labels=2),
        Table({"x": number, **dict.fromkeys(DECODERS.values(), str)},
              [(p.x, *(with_error(p.observed[name], p.se[name]) for name in DECODERS)) for p in result.points],
              f"Simulated on {plural(result.seeds, 'seed')} a point (--seed {result.seed}), ± standard error"),
    ]
    beyond = [p for p in result.points if _beats_bound(p, "three steps")]
    if beyond:
        blocks.append(f"From N = {count(beyond[0].N)} on, three steps answer more than the bound allows one reading of "
                      "the gradient: they use the samples again.")
    return Answer(result.to_dict(), records, [*blocks, *drawn(plot)])


def with_error(mean: float | None, error: float | None) -> str:
    """A mean over seeds with its standard error, short enough for a table of several."""
    if mean is None:
        return NOTHING
    return probability(mean) if error is None else f"{mean:.3f} ± {error:.3f}"


def drawn(plot: Sequence[str]) -> list[Block]:
    """What is said of the pictures that were written."""
    return [f"Picture: {path}" for path in plot]


def _beats_bound(p: Point, name: str) -> bool:
    """Whether what was observed is above the bound by more than three standard errors."""
    return p.observed[name] > p.bound + 3 * (p.se[name] or 0)


_SETTING_OPTIONS = setting_options(("L", "d"), leave_out=("embedding", "trigger_in_value", "eta", "gamma"))

command = Command(
    "bounds", run,
    params=[*_SETTING_OPTIONS, option("bits", default=None, help="bits that a parameter holds; 16 where absent"),
            option("target", default=None, help="recall to be reached on average; 0.99 where absent"),
            click.Option(["--decoders", "decoders"], is_flag=True,
                         help="simulate decoders of the first gradient beside its bound, from x = 1/4 to 16"),
            option("trigger_in_value", default=None),
            option("points", default=None, help="with --decoders: numbers of samples; 7 where absent"),
            option("seeds", default=None, help="with --decoders: simulated seeds a point; 16 where absent"),
            option("seed", help="with --decoders: fixes everything random"),
            option("jobs", default=None, help="with --decoders: processes that share the seeds"),
            plot_option()],
    details="What the permutation takes, and whom each bound binds.",
    help="What no learner can beat: coverage (the samples), bits (the size of the model) and access to one noisy "
         "gradient. With V and N: the most recall that each allows. Without N, or without V: the least N, or the "
         "largest V, at which it allows the target. With --decoders: the bound on one reading of the first gradient, "
         "beside the predicted and the simulated recall of its decoders and of three steps, over N d^2/(V^2 L ln V).",
    examples=["bounds --V 1024 --L 64 --d 256 --N 65536", "bounds --V 1e12 --L 64 --d 1e6 --bits 8 --json",
              "bounds --decoders --V 128 --L 32 --d 64 --seed 1 --plot decoders.svg"],
)
