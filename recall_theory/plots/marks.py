"""Marks of comparisons: shape and colour say which observable, the filling says which verdict.

Marks of one observable and verdict form a group whose id ends in "marks:OBSERVABLE:CELL,CELL,...", their intervals one
that ends in "intervals:OBSERVABLE:CELL,CELL,...", in the order of the cells: a page can tell which is which.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

from .style import COLOURS

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SHAPES = {"attention": "^", "recall": "o", "accuracy": "s"}
VERDICTS = ("agree", "inconclusive", "disagree")  # the last is drawn on top


@dataclasses.dataclass(frozen=True)
class Mark:
    """One comparison in a figure: its cell's number, its place, and the ends of its interval in y (None: no interval).
    """

    cell: int
    observable: str
    verdict: str
    x: float
    y: float
    low: float | None = None
    high: float | None = None


def _colours(observable: str, verdict: str) -> tuple[str, str]:
    """Face and edge of a mark."""
    colour = COLOURS[observable]
    if verdict == "disagree":
        return COLOURS["disagree"], COLOURS["ink"]
    return (COLOURS["paper"] if verdict == "inconclusive" else colour), colour


def draw_marks(axes: Axes, marks: Sequence[Mark], size: float = 4.0) -> None:
    """Draw marks of `size` points with their intervals."""
    for observable, shape in SHAPES.items():
        for level, verdict in enumerate(VERDICTS):
            group = [m for m in marks if m.observable == observable and m.verdict == verdict]
            face, edge = _colours(observable, verdict)
            ends = [(m.cell, m.x, m.low, m.high) for m in group if m.low is not None and m.high is not None]
            if ends:
                cells, x, low, high = zip(*ends, strict=True)
                axes.vlines(x, low, high, colors=COLOURS[observable], lw=0.6, zorder=3 + level,
                            gid=_group_id("intervals", observable, cells))
            if group:
                axes.scatter([m.x for m in group], [m.y for m in group], s=size**2, marker=shape, zorder=6 + level,
                             facecolors=face, edgecolors=edge, linewidths=0.9,
                             gid=_group_id("marks", observable, [m.cell for m in group]))


def _group_id(kind: str, observable: str, cells: Sequence[int]) -> str:
    return f"{kind}:{observable}:{','.join(map(str, cells))}"


def mark_legend(figure: Figure, marks: Sequence[Mark], columns: int, *, more: Sequence[Artist] = (),
                prefix: str = "") -> None:
    """Say below the figure what the shapes and fillings that occur mean; `prefix` stands before observables' names."""
    from matplotlib.lines import Line2D

    observables = [o for o in SHAPES if any(m.observable == o for m in marks)]
    handles: list[Artist] = [
        Line2D([], [], ls="", marker=SHAPES[o], ms=4, color=COLOURS[o], label=prefix + o) for o in observables]
    for verdict in VERDICTS:
        if any(m.verdict == verdict for m in marks):
            face, edge = _colours("muted", verdict)
            shape = SHAPES[observables[0]] if len(observables) == 1 else "o"
            handles.append(Line2D([], [], ls="", marker=shape, ms=4, mfc=face, mec=edge, label=verdict))
    figure_legend(figure, [*handles, *more], columns)


def figure_legend(figure: Figure, handles: Sequence[Artist], columns: int) -> None:
    """A legend below the panels that is read row by row."""
    if not handles:
        return
    columns = min(columns, len(handles))
    by_column = [handle for first in range(columns) for handle in handles[first::columns]]
    figure.legend(handles=by_column, loc="outside lower center", ncols=columns, handlelength=1.5, handletextpad=0.4,
                  columnspacing=1.0)
