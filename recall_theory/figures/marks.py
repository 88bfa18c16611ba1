"""Marks of comparisons: shape and colour say which observable, the filling says which verdict.

A group of marks has the id "marks:OBSERVABLE:CELL,CELL,...", its intervals "intervals:...": one mark a cell, in order.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from ..pages.palette import light

SHAPES = {"attention": "^", "recall": "o", "accuracy": "s"}
VERDICTS = ("agree", "inconclusive", "disagree")


@dataclasses.dataclass(frozen=True)
class Mark:
    """One comparison in a figure: its place, and the ends of its interval along y (None for none)."""

    cell: int
    observable: str
    verdict: str
    x: float
    y: float
    low: float | None = None
    high: float | None = None


def draw(axes: Any, marks: Sequence[Mark], size: float = 4.0) -> None:
    """Draw marks with their intervals; disagreement lies on top, in a ring."""
    colours = light()
    for observable, shape in SHAPES.items():
        for level, verdict in enumerate(VERDICTS):
            group = [m for m in marks if m.observable == observable and m.verdict == verdict]
            if not group:
                continue
            colour = colours[observable]
            with_ends = [m for m in group if m.low is not None and m.high is not None]
            if with_ends:
                axes.vlines([m.x for m in with_ends], [m.low for m in with_ends], [m.high for m in with_ends],
                            colors=colour, lw=0.6, zorder=3 + level, gid=_id("intervals", observable, with_ends))
            axes.scatter([m.x for m in group], [m.y for m in group], s=size**2, marker=shape, zorder=6 + level,
                         facecolors=colours["paper"] if verdict == "inconclusive" else
                         colours["disagree"] if verdict == "disagree" else colour,
                         edgecolors=colours["ink"] if verdict == "disagree" else colour,
                         linewidths=1.0 if verdict == "disagree" else 0.9, gid=_id("marks", observable, group))


def _id(kind: str, observable: str, marks: Sequence[Mark]) -> str:
    return f"{kind}:{observable}:{','.join(str(m.cell) for m in marks)}"


def legend(figure: Any, marks: Sequence[Mark], columns: int, more: Sequence[Any] = (), what: str = "") -> None:
    """What shapes and fillings mean, below the figure: those that occur. `what` goes before names of observables."""
    from matplotlib.lines import Line2D

    colours, handles = light(), []
    seen = [o for o in SHAPES if any(m.observable == o for m in marks)]
    for o in seen:
        handles.append(Line2D([], [], ls="", marker=SHAPES[o], ms=4, color=colours[o], label=what + o))
    shape = SHAPES[seen[0]] if len(seen) == 1 else "o"
    for verdict, face, edge in (("agree", "muted", "muted"), ("inconclusive", "paper", "muted"),
                                ("disagree", "disagree", "ink")):
        if any(m.verdict == verdict for m in marks):
            handles.append(Line2D([], [], ls="", marker=shape, ms=4, mfc=colours[face], mec=colours[edge],
                                  label=verdict))
    handles += more
    rows = -(-len(handles) // columns)
    # matplotlib fills columns first; people read rows
    by_row = [handles[i] for k in range(columns) for i in range(k, len(handles), columns)] if rows > 1 else handles
    figure.legend(handles=by_row, loc="outside lower center", ncols=columns, frameon=False, handlelength=1.5,
                  handletextpad=0.4, columnspacing=1.0)
