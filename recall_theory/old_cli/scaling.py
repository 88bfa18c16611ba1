"""`recall-theory scaling`: the exponent of a critical size, simulated and predicted."""

from __future__ import annotations

from typing import Any

import click

from ..report.answer import Answer
from .command import Command, Output
from .errors import BadInput, shown
from .numbers import real
from .options import option, setting_options
from .progress import Progress
from .simulate import drawn_seed

# What isn't given: sizes at which any pair of them has a crossing at one half, and values that are quick to run.
SIZES = {"V": 96, "L": 4, "d": 128, "N": 16384}
VALUES = {"V": "64,91,128,181,256", "L": "4:64:x2", "d": "64,91,128,181,256", "N": "2^12:2^16:x2", "m": "64:1024:x2"}


def run(output: Output, of: str | None, along: str | None, values: str | None, at: str, observable: str,
        seeds: int, seed: int | None, jobs: int, store: str | None, ratio: float | None, **sizes: Any) -> Answer:
    for name, size in (("of", of), ("in", along)):
        if size not in VALUES:
            given = "is missing" if size is None else f"{shown(size)} is not a size"
            raise BadInput(f"--{name} {given}: one of {', '.join(VALUES)}")
    assert of is not None and along is not None
    share = real(at)
    if share is None or not 0 < share < 1:
        raise BadInput(f"--at {shown(at)} is not a number above 0 and below 1")
    from ..report.scaling import answer
    from ..settings import SettingError
    from ..sweep.scaling import scaling
    from ..sweep.sweep_grid import scan_values as parsed

    try:
        ladder = parsed(along, values or VALUES[along])
    except SettingError as error:
        raise BadInput(f"--values {shown(values)}: {error}") from None
    if None in ladder:
        raise BadInput(f"--values {shown(values)}: none is not a value to scale along")
    fixed = {name: size for name, size in sizes.items() if size is not None}
    for name, usual in SIZES.items():
        if name not in (of, along) and not (name == "N" and ratio is not None):
            fixed.setdefault(name, usual)
    if seed is None:
        seed = drawn_seed(output)
    try:
        with Progress(output.progress, "seeds") as progress:
            found = scaling(of, along, ladder, share, observable=observable, seeds=seeds, seed=seed, jobs=jobs,
                            store=store, ratio=ratio, progress=progress.update, **fixed)
    except KeyboardInterrupt:
        output.note(f"recall-theory scaling: the same with --seed {seed} "
                    + (f"goes on from what {store} holds" if store else "and --store FILE could be gone on with"))
        raise
    return answer(found)


def _params() -> list[click.Parameter]:
    ladders = "; ".join(f"{name} {text}" for name, text in VALUES.items())
    sizes = {name: option(name, help=f"{meaning}; {SIZES[name]} where it is neither given nor scaled")
             for name, meaning in (("V", "vocabulary size"), ("L", "sequence length"), ("d", "embedding dimension"),
                                   ("N", "training samples"))}
    return [
        click.Option(["--of", "of"], metavar="SIZE", help="the size whose critical value is sought: V, L, d, N or m  "
                     "[required]"),
        click.Option(["--in", "along"], metavar="SIZE", help="the size along which it scales  [required]"),
        click.Option(["--values", "values"], metavar="VALUES",
                     help=f"values of --in: 64,128,256 or 64:256:x2; where absent {ladders}"),
        click.Option(["--at", "at"], default="0.5", metavar="NUMBER",
                     help="what the mean observable has at the critical value; above 0 and below 1  [default: 0.5]"),
        option("observable", help="what is held against --at"),
        *sizes.values(),
        *setting_options((), leave_out=(*SIZES, "eta", "gamma")),
        option("ratio", help="training samples a fact, N/V, instead of --N"),
        option("seeds", default=64, help="seeds of each of the five points around a crossing"),
        option("seed"),
        option("jobs", default=1, help="processes that share the work; the answer doesn't depend on it"),
        click.Option(["--store", "store"], metavar="FILE", help="keep every simulation in FILE, as sweep does: with "
                     "the same --seed nothing is run twice"),
    ]


command = Command(
    "scaling", run, params=_params(),
    help="Find by simulation the value of one size at which an observable crosses --at, for several values of "
         "another; fit the exponent, with its interval, and set it beside the predicted one.",
    examples=["scaling --of N --in V --at 0.5",
              "scaling --of d --in V --values 64:512:x2 --observable recall --L 2 --ratio 500 --seed 1 --jobs 2"],
)
