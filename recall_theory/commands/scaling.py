"""`recall-theory scaling`: the exponent of a critical size, simulated and predicted."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Any

import click

from ..errors import SettingError
from ..numerics.formatting import NOTHING, count, number
from ..settings import PARAMETERS
from .command import Answer, Command, Output
from .options import file_option, option, setting_options
from .streams import BadInput, shown
from .text_layout import Block, Heading, Remark, Table, legend, marked, table, words

if TYPE_CHECKING:
    from ..sweep.scaling_experiment import CriticalSize, Scaling

# What isn't given: sizes at which any pair of them has a crossing at one half, and values that are quick to run.
SIZES = {"V": 96, "L": 4, "d": 128, "N": 16384}
VALUES = {"V": "64,91,128,181,256", "L": "4:64:x2", "d": "64,91,128,181,256", "N": "2^12:2^16:x2", "m": "64:1024:x2"}
FOUR_DIGITS = functools.partial(number, digits=4)
REMARK = ("The predicted exponent is the same line through the predicted critical values. Pilots only say where to "
          "look; their seeds are not used again.")
TOO_FEW = "An exponent needs two critical values whose intervals have both ends."


def run(output: Output, of: str | None, along: str | None, values: str | None, *, at: float, seed: int | None,
        store: str | None, ratio: float | None, **given: Any) -> Answer:
    for name, size in (("of", of), ("in", along)):
        if size not in VALUES:
            wrong = "is missing" if size is None else f"{shown(size)} is not a size"
            raise BadInput(f"--{name} {wrong}: one of {', '.join(VALUES)}")
    assert of is not None and along is not None
    from ..sweep.scaling_experiment import scaling

    scanned = _values(along, values)
    fixed = {name: value for name, value in given.items() if value is not None}
    for name, usual in SIZES.items():
        if name not in (of, along) and not (name == "N" and ratio is not None):
            fixed.setdefault(name, usual)
    used = output.seed(seed)
    where = f"goes on from what {store} holds" if store else "and --store FILE could be gone on with"
    return output.measure(
        "seeds",
        lambda progress: scaling(of, along, scanned, at, seed=used, store=store, ratio=ratio, progress=progress,
                                 **fixed),
        lambda result: Answer(result.to_dict(), result.records(),
                              [*blocks(result), f"--seed {result.seed}.", Remark(REMARK)]),
        again=f"the same with --seed {used} {where}")


def _values(along: str, text: str | None) -> list[Any]:
    """The values of the size along which another scales."""
    from ..sweep.sweep_grid import scan_values

    try:
        scanned = scan_values(along, text or VALUES[along])
    except SettingError as error:
        raise BadInput(f"--values {shown(text)}: {error}") from None
    if None in scanned:
        raise BadInput(f"--values {shown(text)}: none is not a value to scale along")
    return scanned


def blocks(result: Scaling) -> list[Block]:
    """The critical sizes, and the exponent where there is one; `report` shows them too."""
    from ..sweep.store_summary import described

    fixed = described(result.fixed)
    ratios = dict.fromkeys(("predicted", "observed", "observed / predicted"), FOUR_DIGITS)
    points = [{result.along: p.value, "predicted": marked(FOUR_DIGITS(p.predicted), p.remarks),
               "observed": p.observed, "95 % interval": _interval(p),
               "observed / predicted": p.observed / p.predicted, "simulated seeds": p.simulated}
              for p in result.points]
    out: list[Block] = [
        Heading(f"The {result.of} at which {result.observable} is {result.at:g}, along {result.along}"
                + (f" ({fixed})" if fixed else "")),
        table(points, formats=ratios | {"95 % interval": words}),
        *legend(p.remarks for p in result.points),
    ]
    if result.line is not None:
        out.append(_exponents(result))
    left_out = [count(p.value) for p in result.points if not math.isnan(p.observed) and not p.se_log > 0]
    if left_out:
        out.append(f"Not in the line: {result.along} = {', '.join(left_out)}, whose interval lacks an end; more "
                   "--seeds narrow it.")
    if result.line is None:
        return [*out, TOO_FEW]

    chance = result.line.p_value
    if not math.isnan(chance):
        bent = ": it bends, and the exponent is that of this range" if chance < 1 / 100 else ""
        out.append("Points as far from a straight line as these, by their errors alone, have probability "
                   f"{number(chance, 2)}{bent}.")
    return out


def _exponents(result: Scaling) -> Table:
    assert result.line is not None
    slope, predicted, (low, high) = result.line.slope, result.predicted_exponent, result.interval
    between = NOTHING if math.isnan(predicted) else f"{low - predicted:+.3f} to {high - predicted:+.3f}"
    rows = [("observed", slope, f"{low:.3f} to {high:.3f}", result.line.se),
            ("predicted", predicted, NOTHING, None),
            ("observed - predicted", NOTHING if math.isnan(predicted) else f"{slope - predicted:+.3f}", between, None)]
    return table([dict(zip(("exponent", "value", "95 % interval", "se"), row, strict=True)) for row in rows],
                 f"{result.of} ~ {result.along}^exponent", formats={"value": _three_decimals})


def _interval(point: CriticalSize) -> str:
    """The interval of a critical size, or why none was observed."""
    low, high = point.interval
    if math.isnan(point.observed):
        return point.reason
    return f"{FOUR_DIGITS(low)} to {FOUR_DIGITS(high) if high < math.inf else 'no end'}"


def _three_decimals(value: float) -> str:
    return NOTHING if math.isnan(value) else f"{value:.3f}"


command = Command(
    "scaling", run,
    params=[
        file_option("of", "the size whose critical value is sought: V, L, d, N or m  [required]", metavar="SIZE"),
        click.Option(["--in", "along"], metavar="SIZE", help="the size along which it scales  [required]"),
        file_option("values", "values of --in: 64,128,256 or 64:256:x2; where absent "
                    + "; ".join(f"{name} {text}" for name, text in VALUES.items()), metavar="VALUES"),
        option("at", help="what the mean observable has at the critical value"),
        option("observable", help="what is held against --at"),
        *[option(name, help=f"{PARAMETERS[name].meaning}; {usual} where it is neither given nor scaled")
          for name, usual in SIZES.items()],
        *setting_options((), leave_out=(*SIZES, "eta", "gamma")), "ratio",
        option("seeds", default=64, help="seeds of each of the five points around a crossing"), "seed", "jobs",
        file_option("store", "keep every simulation in FILE, as sweep does: with the same --seed nothing is run twice"),
    ],
    help="Find by simulation the value of one size at which an observable crosses --at, for several values of "
         "another; fit the exponent, with its interval, and set it beside the predicted one.",
    examples=["scaling --of N --in V --at 0.5",
              "scaling --of d --in V --values 64:512:x2 --observable recall --L 2 --ratio 500 --seed 1 --jobs 2"],
)
