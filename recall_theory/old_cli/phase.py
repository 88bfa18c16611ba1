"""`recall-theory phase`: what binds over a plane of two sizes, and where the target is reached."""

from __future__ import annotations

import re
from functools import partial
from typing import Any

import click

from ..errors import Interrupted
from ..report.answer import Answer
from ..settings import SettingError
from . import numbers
from .command import Command, Output
from .errors import INTERRUPTED, BadInput, shown
from .options import option, setting_options
from .progress import Progress
from .workers import mapped


def run(output: Output, x: str | None, y: str | None, cells: str, points: int, seeds: int, seed: int | None,
        jobs: int, plot: tuple[str, ...], target: float, ratio: float | None, **values: Any) -> Answer:
    (x_name, *x_range), (y_name, *y_range) = _axis("--x", x), _axis("--y", y)
    fixed = {name: value for name, value in values.items() if value is not None}
    size = re.fullmatch(r"([0-9]{1,4})x([0-9]{1,4})", cells)
    if size is None:
        raise BadInput(f"--cells {shown(cells)} is not COLUMNSxROWS, such as 17x13")
    if "activation" in fixed and "m" not in (*fixed, x_name, y_name) and "m*d" not in (x_name, y_name):
        raise BadInput("--activation needs an MLP: give --m, or an axis m or m*d")
    from ..plots.phase_diagram import phase_figure
    from ..plots.style import check_pictures, save_pictures
    from ..report.phase import answer
    from ..theory.phase import phase
    from .simulate import drawn_seed

    check_pictures(plot)
    exit_code = 0
    try:
        with Progress(output.progress, "cells") as progress:
            diagram = phase(x_name, y_name, (x_range[0], x_range[1]), (y_range[0], y_range[1]),
                            cells=(int(size[1]), int(size[2])), target=target, ratio=ratio,
                            mapped=mapped(jobs, progress), **fixed)
        if points:
            from ..verification.simulated_phase import with_points

            if seed is None:
                seed = drawn_seed(output)
            with Progress(output.progress, "seeds") as progress:
                diagram = with_points(diagram, points, seeds, seed, jobs=jobs, progress=progress.update)
    except Interrupted as stop:
        diagram, exit_code = stop.partial, INTERRUPTED
        output.note(f"recall-theory phase: interrupted after {len(diagram.y_values)} of {size[2]} rows of cells and "
                    f"{len(diagram.points)} of {points} points")
    save_pictures(partial(phase_figure, diagram), plot)
    return answer(diagram, plot, exit_code)


def _axis(name: str, text: str | None) -> tuple[str, float, float]:
    """The size and the ends of NAME=LOW..HIGH."""
    if text is None:
        raise BadInput(f"{name} is missing: an axis such as N=2^10..2^18")
    parts = re.fullmatch(r"\s*([A-Za-z*]+)\s*=\s*(.+?)\s*\.\.\s*(.+?)\s*", text)
    ends = [numbers.integer(end) for end in parts.groups()[1:]] if parts else [None]
    if parts is None or None in ends:
        raise BadInput(f"{name} {shown(text)} is not NAME=LOW..HIGH, such as N=2^10..2^18 or m*d=1000..1e6")
    try:
        low, high = (float(end) for end in ends if end is not None)
    except OverflowError:
        raise SettingError(parts[1], f"{parts[1]} does not go that far") from None
    return parts[1], low, high


def _params() -> list[click.Parameter]:
    names = "two of V, N, d, L, m and m*d"
    return [
        click.Option(["--x", "x"], metavar="NAME=LOW..HIGH", help=f"axis across; {names}  [required]"),
        click.Option(["--y", "y"], metavar="NAME=LOW..HIGH", help="axis up  [required]"),
        *setting_options((), leave_out=("eta", "gamma")),
        option("ratio", help="training samples a fact, N/V, instead of --N"),
        option("target"),
        click.Option(["--cells", "cells"], default="17x13", metavar="COLUMNSxROWS",
                     help="cells of the plane  [default: 17x13]"),
        click.Option(["--plot", "plot"], multiple=True, metavar="FILE",
                     help="draw it into FILE.svg, FILE.png or FILE.pdf; may be repeated"),
        click.Option(["--points", "points"], default=0, type=click.IntRange(0, 1000), metavar="INTEGER",
                     help="settings to simulate, spread evenly over the plane  [default: 0]"),
        option("seeds", default=8),
        option("seed"),
        option("jobs", default=1, help="processes that share the work"),
    ]


command = Command(
    "phase", run, params=_params(),
    help="The phase diagram over a plane of two sizes: which noise term binds in each cell, and the capacity "
         "boundary at the target. --plot draws it; --points simulates settings to lay on top.",
    examples=["phase --x N=2^12..2^20 --y m*d=2^12..2^20 --V 256 --L 32 --d 64 --plot phase.svg",
              "phase --x d=16..512 --y V=64..2048 --ratio 64 --L 16 --target 0.9 --json"],
)
