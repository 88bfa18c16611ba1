"""`recall-theory bounds` and `phase`: what no learner can beat, and what binds over a plane of two sizes."""

from __future__ import annotations

import re
import string
from functools import partial
from typing import TYPE_CHECKING, Any

from ..errors import SettingError
from ..numerics.formatting import count, exact, number, parse_integer, plural, probability, sizes, with_error
from ..settings import SIZES, Parameter, sizes_and_trigger
from .answers import Answer, Output, Progress, command, map_with_progress
from .options import bad_setting, file_option, flag, option, plot_option, setting_options
from .streams import BadInput, shown
from .text_layout import Block, Heading, Remark, Verbatim, legend, marked, table

if TYPE_CHECKING:
    from ..theory.bounds import Bounds
    from ..theory.phase import PhaseDiagram
    from ..verification.simulated_alternatives import Tightness

PAPER = ("The paper proves a lower bound of its own; its text was not available, and its constant, its noise and "
         "its learners may differ from these.")
PREDICTED = ("noisy gradient", "gradient", "three steps")  # of the decoders, those with a closed form
SIMULATED = Parameter("points", "settings to simulate, spread evenly over the plane", "integer", 0, 1000, default=0)


@command("bounds --V 1024 --L 64 --d 256 --N 65536",
         "bounds --V 1e12 --L 64 --d 1e6 --bits 8 --json",
         "bounds --decoders --V 128 --L 32 --d 64 --seed 1 --plot decoders.svg",
         params=[*setting_options(("L", "d"), leave_out=("embedding", "trigger_in_value", "eta", "gamma")),
                 "bits", option("target", help="recall to be reached on average"),
                 flag("decoders", "simulate decoders of the first gradient beside its bound, from x = 1/4 to 16"),
                 "trigger_in_value", option("points", default=7), option("seeds", default=16), "seed", "jobs",
                 plot_option()],
         goes_with=dict.fromkeys(("trigger_in_value", "points", "seeds", "seed", "jobs", "plot"), "decoders"),
         apart=[("decoders", name) for name in ("N", "m", "activation", "target", "bits")],
         details="What the permutation takes, and whom each bound binds.")
def bounds_command(output: Output, *, decoders: bool, points: int, seeds: int, seed: int | None, jobs: int,
                   trigger_in_value: bool, **values: Any) -> Answer:
    """What no learner can beat: coverage (the samples), bits (the size of the model) and access to one noisy gradient.
    With V and N: the most recall that each allows. Without N, or without V: the least N, or the largest V, at which it
    allows the target. With --decoders: the bound on one reading of the first gradient, beside the predicted and the
    simulated recall of its decoders and of three steps, over N d^2/(V^2 L ln V)."""
    if not decoders:
        from ..theory.bounds import bounds_at

        return _bounds(bounds_at(**values))
    if values["V"] is None:
        raise BadInput("--V is missing: --decoders needs --V, --L and --d")
    from ..verification.simulated_alternatives import tightness

    used, (V, L, d) = output.seed(seed), (values[name] for name in "VLd")
    return _decoders(output.measure(
        "seeds", lambda progress: tightness(V, L, d, trigger_in_value=trigger_in_value, points=points, seeds=seeds,
                                            seed=used, jobs=jobs, progress=progress),
        lambda result: f"{len(result.points)} of {points} points"), points)


def _bounds(bounds: Bounds) -> Answer:
    s, reading, beside = bounds.setting, None, []
    if s["m"] is None and s["V"] is not None and s["N"] is not None:
        from ..theory.one_step_memory import one_step_recall, remarks

        reading = float(one_step_recall(s["V"], s["L"], s["d"], s["N"])[0])
        beside = ["Beside the gradient bound: reading the first gradient of these samples directly, with no noise "
                  f"added, recalls {probability(reading)} (predicted)."]
        beside += map(Remark, remarks(s["V"]))
    data = bounds.to_dict() | {"one_step_recall": reading, "paper": PAPER}
    records = [{**data["setting"], "target": bounds.target, "bits": bounds.bits, **b,
                "formulas": " ".join(b["formulas"])} for b in data["bounds"]]
    words = {None: None, True: "allowed", False: "out of reach"}
    allowed = [{**vars(b), "target": words[b.allows], "least N": bounds.least_samples(b)} for b in bounds.bounds]
    limits = {"recall at most=recall, target": "VN", "least N": "V", "largest_V": "N"}  # by the sizes that they need
    known = [column for column, needed in limits.items() if all(s[name] is not None for name in needed)]
    takes = [{"bound": b.name, "wrong answers": b.details.get("errors"), "unit": unit, "there is": b.details[unit],
              "it takes": b.details["takes"]}
             for b in bounds.bounds for unit in ("bits", "nats") if "takes" in b.details and unit in b.details]
    return Answer(data, records, [
        Heading(f"What no learner can beat at {sizes(s, 'VLdNm')}"),
        table(allowed, ", ".join(("bound=name, sees=access, strength", *known, "factor"))),
        Remark(f"Recall is that of a uniformly random permutation, on average; its target is {exact(bounds.target)}. "
               f"- is no limit. P = {count(bounds.parameters)} parameters of b = {number(bounds.bits)} bits. Factor: "
               "how far the best decoder with a closed form is from the bound, in V or N; --decoders has nearer ones."),
        *beside,
        Remark("The gradient bound is about reading one gradient: three steps, which use the samples again, need fewer "
               f"of them where L > d. {PAPER}"),
    ], lambda: [table(takes, title="What the permutation takes"),
                table(data["bounds"], "bound=name, sees=access, says=statement, binds, broken_by", "Whom they bind")])


def _decoders(result: Tightness, points: int) -> Answer:
    from ..plots.comparisons import decoder_figure
    from ..theory.one_step_memory import remarks

    s, found = result.setting, result.points
    predicted = [{**vars(p), **{name: p.predicted[name] for name in PREDICTED}} for p in found]
    simulated = [{"x": p.x, **{name: with_error(mean, p.se[name]) for name, mean in p.observed.items()}} for p in found]
    return Answer(result.to_dict(), [{**s, **vars(p)} for p in found], [
        Heading(f"How close to the gradient bound decoders come, at {sizes_and_trigger(s, 'VLd')}"),
        Remark("x = N d^2/(V^2 L ln V). The bound binds readers of the first gradient in noise of its own sampling "
               "covariance: not of the gradient alone, nor three steps. Those take the largest entry of each row."),
        table(predicted, f"x, N, bound, {', '.join(PREDICTED)}", "Predicted: recall, and accuracy after three steps",
              labels=2),
        table(simulated, title=f"Simulated on {plural(result.seeds, 'seed')} a point (--seed {result.seed}), "
              "± standard error"),
        *map(Remark, remarks(s["V"])),
    ], figure=partial(decoder_figure, result) if len(found) == points else None)


@command("phase --x N=2^12..2^20 --y m*d=2^12..2^20 --V 256 --L 32 --d 64 --plot phase.svg",
         "phase --x d=16..512 --y V=64..2048 --ratio 64 --L 16 --target 0.9 --json",
         "phase --exponents",
         params=[file_option("x", "axis across, such as N=2^10..2^18; two of V, N, d, L, m and m*d",
                             metavar="NAME=LOW..HIGH"),
                 file_option("y", "axis up", metavar="NAME=LOW..HIGH"),
                 flag("exponents", "Sizes as powers of V: from which length on it matters, exactly; no axes and no "
                      "sizes."),
                 *setting_options(()), "ratio", "target",
                 file_option("cells", "cells of the plane", metavar="COLUMNSxROWS", default="17x13", show_default=True),
                 plot_option(), option("points", among={"points": SIMULATED}), option("seeds", default=8), "seed",
                 "jobs"])
def phase_command(output: Output, *, x: str | None, y: str | None, cells: str, points: int, seeds: int,
                  seed: int | None, jobs: int, exponents: bool, **values: Any) -> Answer:
    """The phase diagram over a plane of two sizes: which noise term binds in each cell, and the capacity boundary at
    the target. --plot draws it; --points simulates settings to lay on top."""
    if exponents:
        return _exponents(**values)
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
            axes = {"axis": "--x and --y", x_name: "--x", y_name: "--y"}
            raise (BadInput(f"{axes[error.name]}: {error}") if error.name in axes else bad_setting(error)) from None
        return with_points(diagram, points, seeds, used, jobs=jobs, progress=progress) if points else diagram

    diagram = output.measure(
        "rows" if not points else "rows, then seeds", work,
        lambda found: f"{len(found.y_values)} of {rows} rows of cells and {len(found.points)} of {points} points")
    return Answer(diagram.to_dict(), diagram.cells(), _blocks(diagram), figure=partial(phase_figure, diagram))


def _axis(name: str, text: str) -> tuple[str, tuple[float, float]]:
    """The size and the ends of NAME=LOW..HIGH."""
    parts = re.fullmatch(r"\s*([A-Za-z*]+)\s*=\s*(.+?)\s*\.\.\s*(.+?)\s*", text)
    low, high = (parse_integer(parts[2]), parse_integer(parts[3])) if parts else (None, None)
    if parts is None or low is None or high is None:
        raise BadInput(f"{name} {shown(text)} is not NAME=LOW..HIGH, such as N=2^10..2^18 or m*d=1000..1e6")
    return parts[1], (float(low), float(high))


def _exponents(activation: str | None, trigger_in_value: bool, **values: Any) -> Answer:
    from ..plots.diagrams import exponents_figure
    from ..theory.length_exponents import exponents

    for name in (*SIZES, "ratio"):
        if values.get(name) is not None:
            raise BadInput(f"--{name} says nothing with --exponents: sizes are powers of V; leave it out")
    found = exponents(activation, trigger_in_value)
    data = found.to_dict()
    rows = [{"step": step.removesuffix("s"), "cause": x["cause"], "condition": x["condition"]}
            for step in ("recall", "attention", "bounds") for x in data[step]]
    (delta, _), (nu, _), (c, _) = (data["edge"][0][name] for name in ("delta", "nu", "c_at"))
    mlp = "" if found.activation is None else f", MLP ({found.activation}, m = V^mu; mu = 1 along the edge)"
    value = "in the values" if found.trigger_in_value else "in keys only"
    return Answer(data, rows, [
        Heading(f"Where length matters: N = V^nu, d = V^delta, L = V^c{mlp}, trigger {value}"),
        f"At the least dimension that stores V facts, delta = {delta}, and the least samples there, nu = {nu}, "
        f"the length costs nothing up to c = {c}; from there on it is paid for in samples or in dimension.",
        table(data["edge"], "delta, nu, length binds at c=c, that is=c_at, by=cause",
              "Along the edge of recall, the least samples at each dimension"),
        table(rows, title="What must hold as V grows, up to logarithms and constants"),
        Remark("Exact, from the formulas of the lead and the noise. Conditions of attention are those that bind where "
               "recall succeeds. The last bound is that of reading one noisy gradient, for d <= V."),
    ], figure=partial(exponents_figure, found))


def _blocks(diagram: PhaseDiagram) -> list[Block]:
    import numpy as np

    binding, is_reached = np.array(diagram.binding), diagram.accuracy >= diagram.target
    letters = dict(zip(np.unique(binding).tolist(), string.ascii_lowercase, strict=False))
    fixed = ", ".join(f"{name.replace('ratio', 'N/V')} = {value if isinstance(value, str) else number(value)}"
                      for name, value in diagram.fixed.items() if not isinstance(value, bool))
    target, axes = exact(diagram.target), (diagram.x, diagram.y)
    at = fixed and f" ({fixed})"

    ends = [count(y) for y in diagram.y_values]
    lines = [f"{'':{max(map(len, ends))}}   {diagram.x} from {count(diagram.x_values[0])} to "
             f"{count(diagram.x_values[-1])}"]
    for end, names, reached, remarks in zip(ends, diagram.binding, is_reached, diagram.remarks, strict=True):
        cells = [marked(letters[name].upper() if there else letters[name], remark)
                 for name, there, remark in zip(names, reached, remarks, strict=True)]
        row = "".join(cell.ljust(2 - diagram.checked.all()) for cell in cells).rstrip()
        lines.append(f"{end:>{max(map(len, ends))}} | {row}")

    blocks: list[Block] = [
        Heading(f"What binds over {diagram.x} and {diagram.y}, and where accuracy reaches {target}{at}"),
        Remark("A letter is the largest noise term of the step that falls shorter; a capital is where the target is "
               "reached."),
        Verbatim("\n".join([diagram.y, *reversed(lines)])),
        table({"letter": letter, "binding": name, "cells": (binding == name).mean(),
               "reached": is_reached[binding == name].mean()} for name, letter in letters.items()),
    ]
    if diagram.boundary:
        blocks.append(table((dict(zip(axes, point, strict=True)) for point in diagram.boundary),
                            title=f"Capacity boundary: accuracy = {target}", labels=2))
    else:
        blocks.append(f"The target is reached {'everywhere' if is_reached.all() else 'nowhere'} in this plane; the "
                      f"best accuracy is {probability(float(diagram.accuracy.max()))}.")
    return [*blocks, *legend(remarks for row in diagram.remarks for remarks in row),
            table(diagram.points, f"{diagram.x}=x, {diagram.y}=y, predicted, simulated=accuracy, se",
                  "Accuracy of the simulated settings", labels=2)]
