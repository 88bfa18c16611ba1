"""`recall-theory bounds` and `phase`: what no learner can beat, and what binds over a plane of two sizes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from ..errors import SettingError
from ..numerics.formatting import count, exact, number, parse_integer, plural, probability, sizes, with_error
from ..settings import Parameter, sizes_and_trigger
from .command import Answer, Command, Output, Progress, map_with_progress
from .options import bad_setting, file_option, flag, option, plot_option, setting_options
from .streams import BadInput, shown
from .text_layout import Block, Heading, Remark, Verbatim, legend, marked, table

if TYPE_CHECKING:
    from ..theory.bounds import Bound, Bounds
    from ..theory.phase import PhaseDiagram
    from ..verification.simulated_alternatives import Tightness

PAPER = ("The paper proves a lower bound of its own; its text was not available, and its constant, its noise and "
         "its learners may differ from these.")
DECODERS = {  # as `Point.observed` names them, and the heading of each
    "best assignment": "best assignment", "matched filter": "matched filter", "noisy gradient": "argmax, in noise",
    "gradient": "argmax", "three steps": "three steps",
}


def run_bounds(output: Output, *, V: int | None, N: int | None, m: int | None, activation: str | None, target: float,
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


bounds_command = Command(
    "bounds", run_bounds,
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

# --- what binds over a plane ------------------------------------------------------------------------------

SIMULATED = Parameter("points", "settings to simulate, spread evenly over the plane", "integer", 0, 1000, default=0)
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def run_phase(output: Output, *, x: str | None, y: str | None, cells: str, points: int, seeds: int, seed: int | None,
        jobs: int, exponents: bool, **values: Any) -> Answer:
    if exponents:
        return _exponents(values)
    if x is None or y is None:
        name = "--x" if x is None else "--y"
        raise BadInput(f"{name} is missing: give an axis, such as N=2^10..2^18, or --exponents")
    (x_name, x_range), (y_name, y_range) = _axis("--x", x), _axis("--y", y)
    given = {name: value for name, value in values.items() if value is not None}
    size = re.fullmatch(r"([0-9]{1,4})x([0-9]{1,4})", cells)
    if size is None:
        raise BadInput(f"--cells {shown(cells)} is not COLUMNSxROWS, such as 17x13")
    if "activation" in given and not {"m", "m*d"} & {*given, x_name, y_name}:
        raise BadInput("--activation needs an MLP: give --m, or an axis m or m*d")
    from ..plots.diagrams import phase_figure
    from ..theory.phase import phase
    from ..verification.simulated_alternatives import with_points

    columns, rows = int(size[1]), int(size[2])
    used = output.seed(seed) if points else None

    def work(progress: Progress) -> PhaseDiagram:
        try:
            diagram = phase(x_name, y_name, x_range, y_range, cells=(columns, rows),
                            mapped=map_with_progress(jobs, progress), **given)
        except SettingError as error:
            option = {"axis": "--x and --y", x_name: "--x", y_name: "--y"}.get(error.name)
            raise (bad_setting(error) if option is None else BadInput(f"{option}: {error}")) from None
        if not points:
            return diagram
        return with_points(diagram, points, seeds, used, jobs=jobs, progress=progress)

    def answer(diagram: PhaseDiagram) -> Answer:
        return Answer(diagram.to_dict(), diagram.cells(), _blocks(diagram), figure=lambda: phase_figure(diagram))

    return output.measure(
        "cells" if not points else "cells, then seeds", work, answer,
        lambda diagram: f"{len(diagram.y_values)} of {rows} rows of cells and {len(diagram.points)} of {points} points")


def _exponents(values: Mapping[str, Any]) -> Answer:
    """The conditions in exponents, of the model alone."""
    from ..plots.diagrams import exponents_figure
    from ..theory.length_exponents import exponents

    sizes = [name for name in ("V", "L", "d", "N", "m", "ratio") if values.get(name) is not None]
    if sizes:
        raise BadInput(f"--{sizes[0]} says nothing with --exponents: sizes are powers of V; leave it out")
    try:
        found = exponents(values.get("activation"), bool(values.get("trigger_in_value", True)))
    except SettingError as error:
        raise bad_setting(error) from None
    data = found.to_dict()
    of_steps = [("recall", found.recall), ("attention", found.conditions()), ("bound", found.bounds)]
    rows = [{"step": step, "cause": x.cause, "condition": str(x)} for step, each in of_steps for x in each]
    first = found.along_edge()[0]
    start, nu = first.at(first.start), found.edge(first.start)
    mlp = "" if found.activation is None else f", MLP ({found.activation}, m = V^mu)"
    value = "in the values" if found.trigger_in_value else "in keys only"
    edge = table([{"delta": f"{x.start} to {x.end}", "nu": _ends(found.edge(x.start), found.edge(x.end)),
                   "length binds at c": str(x), "that is": _ends(x.at(x.start), x.at(x.end)), "by": x.cause}
                  for x in found.along_edge()], "Along the edge of recall, the least samples at each dimension"
                 + ("" if found.activation is None else "; m = V"))
    return Answer(data, rows, [
        Heading(f"Where length matters: N = V^nu, d = V^delta, L = V^c{mlp}, trigger {value}"),
        f"At the least dimension that stores V facts, delta = {first.start}, and the least samples there, nu = {nu}, "
        f"the length costs nothing up to c = {start}; from there on it is paid for in samples or in dimension.",
        edge,
        table(rows, "What must hold as V grows, up to logarithms and constants"),
        Remark("Exact, from the formulas of the lead and the noise. Conditions of attention are those that bind where "
               "recall succeeds. The last bound is of learners that see the first gradient in noise of their own, for "
               "d <= V; three-step training is not one of them."),
    ], figure=lambda: exponents_figure(found))


def _ends(start: object, end: object) -> str:
    """Of an interval."""
    return str(start) if start == end else f"{start} to {end}"


def _axis(name: str, text: str) -> tuple[str, tuple[float, float]]:
    """The size and the ends of NAME=LOW..HIGH."""
    parts = re.fullmatch(r"\s*([A-Za-z*]+)\s*=\s*(.+?)\s*\.\.\s*(.+?)\s*", text)
    low, high = (parse_integer(parts[2]), parse_integer(parts[3])) if parts else (None, None)
    if parts is None or low is None or high is None:
        raise BadInput(f"{name} {shown(text)} is not NAME=LOW..HIGH, such as N=2^10..2^18 or m*d=1000..1e6")
    return parts[1], (float(low), float(high))


def _blocks(diagram: PhaseDiagram) -> list[Block]:
    names = sorted({name for row in diagram.binding for name in row})
    letters = dict(zip(names, LETTERS, strict=False))
    fixed = ", ".join(f"{'N/V' if name == 'ratio' else name} = {v if isinstance(v, str) else number(float(v))}"
                      for name, v in diagram.fixed.items() if not isinstance(v, bool))
    blocks: list[Block] = [
        Heading(f"What binds over {diagram.x} and {diagram.y}, and where accuracy reaches {exact(diagram.target)}"
                + (f" ({fixed})" if fixed else "")),
        Remark("Each letter is the largest noise term of the step that falls shorter; a capital letter means that the "
               "target is reached."),
        Verbatim(_map(diagram, letters)),
        table({"letter": letters.get(name, "?"), "binding": name, **_shares(diagram, name)} for name in names),
        _boundary(diagram),
        *legend(remarks for row in diagram.remarks for remarks in row),
    ]
    if diagram.points:
        blocks.append(table([{diagram.x: p.x, diagram.y: p.y, "predicted": p.predicted, "simulated": p.accuracy,
                              "se": p.se} for p in diagram.points], "Accuracy of the simulated settings",
                            formats={"m*d": count}, labels=2))
    return blocks


def _shares(diagram: PhaseDiagram, name: str) -> dict[str, float]:
    """Of all cells those in which a term binds, and of these those that reach the target."""
    binding = [(j, i) for j, row in enumerate(diagram.binding) for i, n in enumerate(row) if n == name]
    reached = sum(diagram.accuracy[j, i] >= diagram.target for j, i in binding)
    return {"cells": len(binding) / diagram.accuracy.size, "reached": reached / len(binding)}


def _map(diagram: PhaseDiagram, letters: Mapping[str, str]) -> str:
    """One letter a cell with its mark, the largest y on top."""
    ends = [count(y) for y in diagram.y_values]
    width = max(map(len, ends))
    lines = []
    marks = not diagram.checked.all()
    for j, end in reversed(list(enumerate(ends))):
        row = ""
        for name, accuracy, remarks in zip(diagram.binding[j], diagram.accuracy[j], diagram.remarks[j], strict=True):
            letter = letters.get(name, "?")
            row += marked(letter.upper() if accuracy >= diagram.target else letter, remarks)
            row += " " if marks and not remarks else ""
        lines.append(f"{end:>{width}} | {row}".rstrip())
    first, last = count(diagram.x_values[0]), count(diagram.x_values[-1])
    return "\n".join([f"{diagram.y}", *lines, f"{'':{width}}   {diagram.x} from {first} to {last}"])


def _boundary(diagram: PhaseDiagram) -> Block:
    if not diagram.boundary:
        where = "everywhere" if diagram.accuracy.min() >= diagram.target else "nowhere"
        return (f"The target is reached {where} in this plane; the best accuracy is "
                f"{probability(float(diagram.accuracy.max()))}.")
    names = (diagram.x, diagram.y)
    return table([dict(zip(names, point, strict=True)) for point in diagram.boundary],
                 f"Capacity boundary: accuracy = {exact(diagram.target)}", formats=dict.fromkeys(names, number))


phase_command = Command(
    "phase", run_phase,
    params=[
        file_option("x", "axis across, such as N=2^10..2^18; two of V, N, d, L, m and m*d",
                    metavar="NAME=LOW..HIGH"),
        file_option("y", "axis up", metavar="NAME=LOW..HIGH"),
        flag("exponents", "Sizes as powers of V: from which length on it matters, exactly; no axes and no sizes."),
        *setting_options(()), "ratio", "target",
        file_option("cells", "cells of the plane", metavar="COLUMNSxROWS", default="17x13", show_default=True),
        plot_option(),
        option("points", among={"points": SIMULATED}), option("seeds", default=8), "seed", "jobs",
    ],
    help="The phase diagram over a plane of two sizes: which noise term binds in each cell, and the capacity boundary "
         "at the target. --plot draws it; --points simulates settings to lay on top.",
    examples=["phase --x N=2^12..2^20 --y m*d=2^12..2^20 --V 256 --L 32 --d 64 --plot phase.svg",
              "phase --x d=16..512 --y V=64..2048 --ratio 64 --L 16 --target 0.9 --json",
              "phase --x L=2..256 --y V=64..1024 --ratio 64 --d 128 --target 0.9 --eta 1e-6 --gamma 1e12 --cells 5x5",
              "phase --exponents"],
)
