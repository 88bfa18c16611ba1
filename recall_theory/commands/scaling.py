"""`recall-theory scaling`: the exponent of a critical size, simulated and predicted."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Any

import click

from ..errors import SettingError
from ..numerics.formatting import NOTHING, count, deviation, number
from .command import Answer, Command, Output
from .options import file_option, option, setting_options
from .streams import BadInput, shown
from .text_layout import Block, Format, Heading, Remark, Table, words

if TYPE_CHECKING:
    from ..sweep.scaling_experiment import CriticalSize, Scaling

# What isn't given: sizes at which any pair of them has a crossing at one half, and values that are quick to run.
SIZES = {"V": 96, "L": 4, "d": 128, "N": 16384}
VALUES = {"V": "64,91,128,181,256", "L": "4:64:x2", "d": "64,91,128,181,256", "N": "2^12:2^16:x2", "m": "64:1024:x2"}
FOUR_DIGITS = functools.partial(number, digits=4)
REMARK = ("The predicted exponent is the same line through the predicted critical values. Pilots only say where to "
          "look; their seeds are not used again.")


def run(output: Output, of: str | None, along: str | None, values: str | None, *, at: float, observable: str,
        seeds: int, seed: int | None, jobs: int, store: str | None, ratio: float | None, **sizes: Any) -> Answer:
    for name, size in (("of", of), ("in", along)):
        if size not in VALUES:
            given = "is missing" if size is None else f"{shown(size)} is not a size"
            raise BadInput(f"--{name} {given}: one of {', '.join(VALUES)}")
    assert of is not None and along is not None
    from ..sweep.scaling_experiment import scaling

    scanned = _values(along, values)
    fixed = {name: size for name, size in sizes.items() if size is not None}
    for name, usual in SIZES.items():
        if name not in (of, along) and not (name == "N" and ratio is not None):
            fixed.setdefault(name, usual)
    used = output.seed(seed)
    where = f"goes on from what {store} holds" if store else "and --store FILE could be gone on with"
    return output.measure(
        "seeds",
        lambda progress: scaling(of, along, scanned, at, observable=observable, seeds=seeds, seed=used, jobs=jobs,
                                 store=store, ratio=ratio, progress=progress, **fixed),
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
    from ..sweep.slices import described

    fixed = described(result.fixed)
    columns: dict[str, Format] = {
        result.along: count, "predicted": FOUR_DIGITS, "observed": FOUR_DIGITS, "95 % interval": words,
        "observed / predicted": FOUR_DIGITS, "simulated seeds": count}
    out: list[Block] = [
        Heading(f"The {result.of} at which {result.observable} is {result.at:g}, along {result.along}"
                + (f" ({fixed})" if fixed else "")),
        Table(columns, [(p.value, p.predicted, p.observed, _interval(p), p.observed / p.predicted, p.simulated)
                        for p in result.points]),
    ]
    if result.line is None:
        return [*out, "An exponent needs two critical values whose intervals have both ends; more --seeds narrow them."]

    out.append(_exponents(result))
    left_out = [count(p.value) for p in result.points if not math.isnan(p.observed) and not p.se_log > 0]
    if left_out:
        out.append(f"Not in the line: {result.along} = {', '.join(left_out)}, whose interval lacks an end; more "
                   "--seeds narrow it.")
    chance = result.line.p_value
    if not math.isnan(chance):
        bent = ": it bends, and the exponent is that of this range" if chance < 1 / 100 else ""
        out.append("Points as far from a straight line as these, by their errors alone, have probability "
                   f"{number(chance, 2)}{bent}.")
    return out


def _exponents(result: Scaling) -> Table:
    assert result.line is not None
    slope, predicted, (low, high) = result.line.slope, result.predicted_exponent, result.interval
    rows: list[tuple[str, float | None, str, float | None]] = [
        ("observed", slope, f"{low:.3f} to {high:.3f}", result.line.se),
        ("predicted", predicted, NOTHING, None),
        ("observed - predicted", slope - predicted,
         NOTHING if math.isnan(predicted) else f"{low - predicted:+.3f} to {high - predicted:+.3f}", None)]
    return Table({"exponent": words, "value": _three_decimals, "95 % interval": str, "se": deviation}, rows,
                 f"{result.of} ~ {result.along}^exponent")


def _interval(point: CriticalSize) -> str:
    """The interval of a critical size, or why none was observed."""
    low, high = point.interval
    if math.isnan(point.observed):
        return point.reason
    return f"{FOUR_DIGITS(low)} to {FOUR_DIGITS(high) if high < math.inf else 'no end'}"


def _three_decimals(value: float) -> str:
    return NOTHING if math.isnan(value) else f"{value:.3f}"


def _size_options() -> list[click.Parameter]:
    meanings = {"V": "vocabulary size", "L": "sequence length", "d": "embedding dimension", "N": "training samples"}
    return [option(name, help=f"{meaning}; {SIZES[name]} where it is neither given nor scaled")
            for name, meaning in meanings.items()]


command = Command(
    "scaling", run,
    params=[
        file_option("of", "the size whose critical value is sought: V, L, d, N or m  [required]", metavar="SIZE"),
        click.Option(["--in", "along"], metavar="SIZE", help="the size along which it scales  [required]"),
        file_option("values", "values of --in: 64,128,256 or 64:256:x2; where absent "
                    + "; ".join(f"{name} {text}" for name, text in VALUES.items()), metavar="VALUES"),
        option("at", help="what the mean observable has at the critical value"),
        option("observable", help="what is held against --at"),
        *_size_options(),
        *setting_options((), leave_out=(*SIZES, "eta", "gamma")),
        option("ratio", help="training samples a fact, N/V, instead of --N"),
        option("seeds", default=64, help="seeds of each of the five points around a crossing"),
        option("seed"),
        option("jobs"),
        file_option("store", "keep every simulation in FILE, as sweep does: with the same --seed nothing is run twice"),
    ],
    help="Find by simulation the value of one size at which an observable crosses --at, for several values of "
         "another; fit the exponent, with its interval, and set it beside the predicted one.",
    examples=["scaling --of N --in V --at 0.5",
              "scaling --of d --in V --values 64:512:x2 --observable recall --L 2 --ratio 500 --seed 1 --jobs 2"],
)
