"""A predicted phase diagram with the simulated cells on it."""

from __future__ import annotations

import string
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ..pages.palette import light, tint
from ..report.phase_plot import Look, edges, paint, regions
from ..sweep.slices import Plane
from ..theory.phase import PhaseDiagram
from ..verification.results import Cell
from .marks import Mark, draw, legend
from .style import WIDTHS
from .ticks import plain_ticks

NUMBER = (0.09, 0.06)  # of a panel: the room that a number beside a mark takes


def marks(cells: Mapping[int, Cell], plane: Plane) -> list[Mark]:
    """One mark a cell of the plane; its filling is the verdict on accuracy."""
    return [Mark(i, "accuracy", cells[i].comparisons["accuracy"].verdict, float(getattr(cells[i].setting, plane.x)),
                 float(getattr(cells[i].setting, plane.y))) for i in plane.cells if i in cells]


def figure(plt: Any, cells: Mapping[int, Cell], planes: Sequence[tuple[Plane, PhaseDiagram]],
           width: str = "double") -> Any:
    """One panel for each plane that has a diagram: two side by side over two columns."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    across = 1 if width == "single" else min(2, len(planes))
    down = -(-len(planes) // across)
    inches = WIDTHS[width]
    made, panels = plt.subplots(down, across, figsize=(inches, min(inches / across, 4) * 0.85 * down + 0.4),
                                squeeze=False, layout="constrained")
    colours = light()
    look = Look(tint, colours["ink"], colours["muted"], line=1.6, words=False)
    letters = dict(zip(sorted({n for _, d in planes for n in regions(d)}), string.ascii_uppercase, strict=False))
    for panel in panels.flat[len(planes):]:
        panel.set_axis_off()
    for panel, (plane, diagram) in zip(panels.flat, planes, strict=False):
        panel.grid(False)
        paint(panel, diagram, look)
        _borders(panel, diagram)
        for axis, values in ((panel.xaxis, diagram.x_values), (panel.yaxis, diagram.y_values)):
            plain_ticks(axis, values)
        found = marks(cells, plane)
        draw(panel, found)
        for m in _roomy(found, diagram):
            panel.annotate(f"{cells[m.cell].comparisons['accuracy'].observed.mean:.2f}", (m.x, m.y), xytext=(4, 3),
                           textcoords="offset points", fontsize=5.5, zorder=5, bbox={
                               "boxstyle": "round,pad=0.08", "facecolor": colours["paper"], "alpha": 0.75,
                               "edgecolor": "none"})
        for name in regions(diagram):
            panel.text(*_roomiest(diagram, found, name), letters[name], fontsize=8, fontweight="bold", ha="center",
                       va="center", zorder=4)
        panel.set_title(plane.title(), fontsize=7)
    diagrams = [d for _, d in planes]
    more: list[Any] = [Patch(facecolor=tint(name.split(": ")[1]), label=f"{letter}  {name}")
                       for name, letter in letters.items()]
    if any(d.boundary for d in diagrams):
        more.append(Line2D([], [], color=colours["ink"], lw=1.6, label=f"predicted accuracy {diagrams[0].target:g}"))
    if any(name.startswith("attention") for d in diagrams for name in regions(d)):
        more.append(Patch(facecolor=colours["paper"], edgecolor=colours["muted"], hatch="///",
                          label="attention falls short"))
    legend(made, [m for plane, _ in planes for m in marks(cells, plane)], columns=2 if width == "single" else 4,
           more=more, what="simulated ")
    return made


def _borders(panel: Any, diagram: PhaseDiagram) -> None:
    """Lines between regions, which are thus told apart in grey too."""
    from matplotlib.collections import LineCollection

    x, y = edges(diagram.x_values), edges(diagram.y_values)
    number = np.unique(np.array(diagram.binding), return_inverse=True)[1].reshape(diagram.accuracy.shape)
    upright = [((x[i + 1], y[j]), (x[i + 1], y[j + 1])) for j, i in np.argwhere(np.diff(number, axis=1))]
    level = [((x[i], y[j + 1]), (x[i + 1], y[j + 1])) for j, i in np.argwhere(np.diff(number, axis=0))]
    panel.add_collection(LineCollection([*upright, *level], colors=light()["muted"], linewidths=0.5, zorder=2))


def _scaled(diagram: PhaseDiagram, points: Iterable[tuple[float, float]]) -> np.ndarray:
    """Places in the panel, (n, 2), from 0 to 1."""
    corners = np.log([[v[0], v[-1]] for v in (diagram.x_values, diagram.y_values)])
    places = np.log(np.array(list(points), dtype=float).reshape(-1, 2))
    scaled: np.ndarray = (places - corners[:, 0]) / (corners[:, 1] - corners[:, 0])
    return scaled


def _roomy(found: Sequence[Mark], diagram: PhaseDiagram) -> list[Mark]:
    """The marks beside which a number covers no other mark."""
    places = _scaled(diagram, ((m.x, m.y) for m in found))
    right, above = (places - places[:, None]).transpose(2, 0, 1)
    covered = (right > 0) & (right < NUMBER[0]) & (abs(above) < NUMBER[1])
    return [m for m, taken in zip(found, covered.any(axis=1), strict=True) if not taken]


def _roomiest(diagram: PhaseDiagram, found: Sequence[Mark], name: str) -> tuple[float, float]:
    """Where a region's letter stands: the cell of the diagram that is farthest from marks, lines and other regions."""
    grid = [(a, b, inside == name) for b, row in zip(diagram.y_values, diagram.binding, strict=True)
            for a, inside in zip(diagram.x_values, row, strict=True)]
    own, others = ([(a, b) for a, b, inside in grid if inside == wanted] for wanted in (True, False))
    marks_ = _scaled(diagram, ((m.x, m.y) for m in found))
    obstacles = np.concatenate([marks_, marks_ + np.array(NUMBER) / 2, _scaled(diagram, [*diagram.boundary, *others])])
    places = _scaled(diagram, own)
    room = [np.inf if len(obstacles) == 0 else np.hypot(*(obstacles - p).T).min() for p in places]
    rim = [min(*p, *(1 - p)) + 0.05 for p in places]  # the rim of the panel is an obstacle too, a lesser one
    return own[int(np.argmax(np.minimum(room, rim)))]


def words(cells: Mapping[int, Cell], plane: Plane, diagram: PhaseDiagram) -> str:
    """What the diagram shows, for those who don't see it."""
    whole = diagram.accuracy.size
    share = {name: sum(row.count(name) for row in diagram.binding) / whole for name in regions(diagram)}
    seen = [cells[i].comparisons["accuracy"] for i in plane.cells if i in cells]
    same = sum((c.observed.mean >= diagram.target) == (c.predicted >= diagram.target) for c in seen)
    binds = ", ".join(f"{name} in {100 * s:.0f} %" for name, s in share.items())
    return (f"Phase diagram over {diagram.x} from {diagram.x_values[0]:,g} to {diagram.x_values[-1]:,g} and "
            f"{diagram.y} from {diagram.y_values[0]:,g} to {diagram.y_values[-1]:,g} ({plane.title()}). What binds: "
            f"{binds} of the plane. Predicted accuracy from {diagram.accuracy.min():.3f} to "
            f"{diagram.accuracy.max():.3f}. Of {len(seen)} simulated cells {same} lie on the predicted side of "
            f"accuracy {diagram.target:g}.")
