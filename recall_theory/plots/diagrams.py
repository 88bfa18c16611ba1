"""Diagrams of the theory: phase diagrams with what was simulated, exponents, and geometric recall."""

from __future__ import annotations

import math
import string
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..sweep.store_summary import Slice2D
from ..theory.length_exponents import LARGEST_DELTA, Exponents
from ..theory.phase import PhaseDiagram
from ..verification.results import Cell
from .comparisons import DOTTED, SIZE_WORDS, Mark, draw_marks, figure_legend, key, mark_legend
from .style import COLOURS, log_ticks, panel_grid, tint

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.contour import ContourSet
    from matplotlib.figure import Figure

    from ..geometric.geometric_report import GeometricReport, RecallCurve

    Place = tuple[float, float]

OTHER_LEVELS = (0.1, 0.5, 0.9)  # accuracies that have a thin line beside that of the target
NUMBER = (0.09, 0.06)  # of a panel: the room that a number beside a mark takes
LABEL = 0.06  # of a panel: half the room that a line's label takes
CELLS_A_UNIT = 32  # a unit of an exponent
LARGEST_NU = 2


def phase_figure(diagram: PhaseDiagram) -> Figure:
    """One diagram with its simulated points, filled where they reach the target."""
    figure, (panel,) = panel_grid(1, "double", height=1.1, legend_rows=3)
    letters = _letters([diagram])
    values = {(p.x, p.y): p.accuracy for p in diagram.points}
    _draw_plane(panel, diagram, letters, values)
    _draw_other_levels(panel, diagram)
    handles = _region_handles([diagram], letters)
    for reached, face, label in ((True, "ink", "simulated, reaches it"), (False, "paper", "simulated, does not")):
        places = [place for place, accuracy in values.items() if (accuracy >= diagram.target) == reached]
        style: dict[str, Any] = {"ls": "", "marker": "o", "ms": 5, "mec": COLOURS["ink"], "mfc": COLOURS[face]}
        if places:
            panel.plot(*zip(*places, strict=True), zorder=6, **style)
            handles.append(key(label, **style))
    figure_legend(figure, handles, columns=3)
    fixed = Slice2D(diagram.x, diagram.y, diagram.fixed, ()).title()
    panel.set_title(f"What binds, and where accuracy reaches {diagram.target:g}\n{fixed}")
    return figure


def slice_figure(cells: Mapping[int, Cell], slices: Sequence[tuple[Slice2D, PhaseDiagram]], width: str) -> Figure:
    """One panel for each slice through the cells of a store; the filling of a mark is the verdict on accuracy."""
    figure, panels = panel_grid(len(slices), width, height=0.85, legend_rows=4)
    diagrams = [diagram for _, diagram in slices]
    letters, drawn = _letters(diagrams), []
    for panel, (plane, diagram) in zip(panels, slices, strict=True):
        accuracies = {i: cells[i].comparisons["accuracy"] for i in plane.cells if i in cells}
        marks = [Mark(i, "accuracy", c.verdict, float(getattr(cells[i].setting, plane.x)),
                      float(getattr(cells[i].setting, plane.y))) for i, c in accuracies.items()]
        _draw_plane(panel, diagram, letters, {(m.x, m.y): accuracies[m.cell].observed.mean for m in marks})
        draw_marks(panel, marks)
        panel.set_title(plane.title())
        drawn += marks
    mark_legend(figure, drawn, columns=2 if width == "single" else 4, more=_region_handles(diagrams, letters),
                prefix="simulated ")
    return figure


def regions(diagram: PhaseDiagram) -> list[str]:
    """What binds somewhere in the diagram, in the order of the alphabet."""
    return sorted({name for row in diagram.binding for name in row})


def _letters(diagrams: Iterable[PhaseDiagram]) -> dict[str, str]:
    """A letter for each region of the diagrams."""
    return dict(zip(sorted({n for d in diagrams for n in regions(d)}), string.ascii_uppercase, strict=False))


def _region_handles(diagrams: Sequence[PhaseDiagram], letters: Mapping[str, str]) -> list[Artist]:
    from matplotlib.patches import Patch

    handles: list[Artist] = [Patch(facecolor=tint(name.split(": ")[1]), label=f"{letter}  {name}")
                             for name, letter in letters.items()]
    if any(d.boundary for d in diagrams):
        handles.append(key(f"accuracy {diagrams[0].target:g}", color=COLOURS["ink"], lw=1.6))
    if any(name.startswith("attention") for name in letters):
        handles.append(Patch(facecolor="none", edgecolor=COLOURS["muted"], hatch="///", label="attention falls short"))
    return handles


def _draw_plane(axes: Axes, diagram: PhaseDiagram, letters: Mapping[str, str], values: Mapping[Place, float]) -> None:
    """Regions with their letters, the line of the target, and numbers beside the places of simulated `values`."""
    from matplotlib.collections import LineCollection, PatchCollection
    from matplotlib.colors import ListedColormap
    from matplotlib.patches import Rectangle

    names = list(letters)
    number = np.array([[names.index(name) for name in row] for row in diagram.binding])
    x, y = _edges(diagram.x_values), _edges(diagram.y_values)
    for which, ends in (("x", diagram.x_values), ("y", diagram.y_values)):
        log_ticks(axes, which, ends[0], ends[-1])
    axes.grid(False)
    axes.pcolormesh(x, y, number, cmap=ListedColormap([tint(name.split(": ")[1]) for name in names]),
                    vmin=-0.5, vmax=len(names) - 0.5, edgecolors="face", lw=0.5)
    striped = [Rectangle((float(x[i]), float(y[j])), x[i + 1] - x[i], y[j + 1] - y[j])
               for j, i in np.ndindex(*number.shape) if names[number[j, i]].startswith("attention")]
    axes.add_collection(PatchCollection(striped, facecolor="none", edgecolor=COLOURS["muted"], hatch="///", lw=0))
    borders = [((x[i + 1], y[j]), (x[i + 1], y[j + 1])) for j, i in np.argwhere(np.diff(number, axis=1))]
    borders += [((x[i], y[j + 1]), (x[i + 1], y[j + 1])) for j, i in np.argwhere(np.diff(number, axis=0))]
    axes.add_collection(LineCollection(borders, colors=COLOURS["muted"], linewidths=0.5, zorder=2))
    if diagram.boundary and len(y) > 2:
        axes.contour(diagram.x_values, diagram.y_values, _logit(diagram.accuracy), levels=[_logit(diagram.target)],
                     colors=COLOURS["ink"], linewidths=1.6)
    axes.set(xlim=x[[0, -1]], ylim=y[[0, -1]], xlabel=_axis_label(diagram.x), ylabel=_axis_label(diagram.y))
    for name in regions(diagram):
        axes.text(*_roomiest(diagram, list(values), name), letters[name], fontsize=8, fontweight="bold", ha="center",
                  va="center", zorder=4)
    for place in _with_room(diagram, list(values)):
        box = {"boxstyle": "round,pad=0.08", "facecolor": COLOURS["paper"], "alpha": 0.75, "edgecolor": "none"}
        axes.annotate(f"{values[place]:.2f}", place, xytext=(4, 3), textcoords="offset points", fontsize=5.5, zorder=5,
                      bbox=box)


def _draw_other_levels(axes: Axes, diagram: PhaseDiagram) -> None:
    """Thin labelled lines of equal accuracy, where they are clear of that of the target."""
    low, high = diagram.accuracy.min(), diagram.accuracy.max()
    levels = {float(_logit(p)): f"{p:g}" for p in OTHER_LEVELS
              if low < p < high and abs(_logit(p) - _logit(diagram.target)) > 1}
    if levels and len(diagram.y_values) > 1:
        lines = axes.contour(diagram.x_values, diagram.y_values, _logit(diagram.accuracy), levels=list(levels),
                             colors=COLOURS["ink"], linewidths=0.7, linestyles="dashed")
        axes.clabel(lines, fmt=levels, fontsize=6.5, manual=_label_places(axes, lines))


def _label_places(axes: Axes, lines: ContourSet) -> list[Place]:
    """Where the labels of lines stand, of each line that has room: as near to its middle as is clear of the panel's
    ends and of its letters and numbers."""
    to_share = axes.transData + axes.transAxes.inverted()
    taken = to_share.transform([getattr(text, "xy", text.get_position()) for text in axes.texts] or np.empty((0, 2)))
    places = []
    for segments in lines.allsegs:
        points = max(segments, key=len, default=np.empty((0, 2)))
        share = to_share.transform(points)
        clear = ((share > LABEL) & (share < 1 - LABEL)).all(axis=1)
        clear &= (abs(share[:, None] - taken) > LABEL).any(axis=2).all(axis=1)
        found = np.flatnonzero(clear)
        if found.size and np.ptp(share, axis=0).max() > 2 * LABEL:
            places.append(tuple(points[found[abs(found - len(points) / 2).argmin()]]))
    return places


def _edges(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Borders of cells around values, halfway in the logarithm."""
    u = np.log(values)
    if len(u) == 1:  # of an interrupted run
        return np.exp(u[0] + np.array([-0.5, 0.5]))
    middle = (u[1:] + u[:-1]) / 2
    return np.exp([2 * u[0] - middle[0], *middle, 2 * u[-1] - middle[-1]])


def _logit(p: float | NDArray[np.float64]) -> NDArray[np.float64]:
    clipped = np.clip(p, 1e-12, 1 - 1e-12)
    return np.asarray(np.log(clipped / (1 - clipped)))


def _with_room(diagram: PhaseDiagram, places: Sequence[Place]) -> list[Place]:
    """The places beside which a number covers no other place."""
    low, high = np.log([[v[0], v[-1]] for v in (diagram.x_values, diagram.y_values)]).T
    scaled = (np.log(np.reshape(places, (-1, 2))) - low) / np.where(high > low, high - low, 1.0)
    right, above = (scaled - scaled[:, None]).transpose(2, 0, 1)
    covered = ((right > 0) & (right < NUMBER[0]) & (abs(above) < NUMBER[1])).any(axis=1)
    return [place for place, taken in zip(places, covered, strict=True) if not taken]


def _roomiest(diagram: PhaseDiagram, places: Sequence[Place], name: str) -> Place:
    """Where a region's letter stands: the cell farthest from the region's ends, the target's line and the places."""
    from scipy import ndimage

    x, y = np.log(diagram.x_values), np.log(diagram.y_values)
    inside = np.array(diagram.binding) == name
    reached = diagram.accuracy >= diagram.target
    taken = np.zeros_like(inside)
    for place_x, place_y in np.log(np.reshape(places, (-1, 2))):
        taken[np.abs(y - place_y).argmin(), np.abs(x - place_x).argmin()] = True
    sides = [inside & side & ~taken for side in (reached, ~reached)]
    depth = np.maximum(*(ndimage.distance_transform_edt(np.pad(side, 1))[1:-1, 1:-1] for side in sides))
    j, i = np.unravel_index(np.argmax(depth + inside / 2), inside.shape)  # a region of taken cells has a letter too
    return float(diagram.x_values[i]), float(diagram.y_values[j])


def _axis_label(size: str) -> str:
    return f"{SIZE_WORDS[size]} {size}" if size in SIZE_WORDS else "m d"


def describe_slice(cells: Mapping[int, Cell], of: tuple[Slice2D, PhaseDiagram]) -> str:
    """What the diagram of a slice shows, in words and numbers."""
    plane, diagram = of
    names = [name for row in diagram.binding for name in row]
    binds = ", ".join(f"{name} in {100 * names.count(name) / len(names):.0f} %" for name in regions(diagram))
    accuracies = [cells[i].comparisons["accuracy"] for i in plane.cells if i in cells]
    same = sum((c.observed.mean >= diagram.target) == (c.predicted >= diagram.target) for c in accuracies)
    x, y = diagram.x_values, diagram.y_values
    low, high = diagram.accuracy.min(), diagram.accuracy.max()
    return (f"Phase diagram over {diagram.x} from {x[0]:,g} to {x[-1]:,g} and {diagram.y} from {y[0]:,g} to "
            f"{y[-1]:,g} ({plane.title()}). What binds: {binds} of the plane. Predicted accuracy from {low:.3f} to "
            f"{high:.3f}. Of {len(accuracies)} simulated cells {same} lie on the predicted side of accuracy "
            f"{diagram.target:g}.")


def exponents_figure(found: Exponents) -> Figure:
    """The plane of delta and nu: where recall succeeds, with lines there of the c from which on attention fails, m = V;
    and what any learner and any model of so many numbers needs."""
    figure, (panel,) = panel_grid(1, "double", height=0.7, legend_rows=2)
    least, largest = found.along_edge()[0].start, LARGEST_DELTA[found.activation]
    across = [Fraction(k, CELLS_A_UNIT) for k in range(int(CELLS_A_UNIT * least), int(CELLS_A_UNIT * largest) + 1)]
    up = [Fraction(k, CELLS_A_UNIT) for k in range(CELLS_A_UNIT, CELLS_A_UNIT * LARGEST_NU + 1)]
    longest = np.array([[float(found.longest(nu, delta)[0]) if found.recalls(nu, delta) else np.nan
                         for delta in across] for nu in up])
    x, y = ([float(value) for value in axis] for axis in (across, up))
    edge = [float(found.edge(delta)) for delta in across]
    panel.fill_between(x, edge, y[-1], color=COLOURS["ink"], alpha=0.08, linewidth=0)
    lines = panel.contour(x, y, longest, levels=np.arange(1, 17) / 8, colors=COLOURS["muted"], linewidths=0.8)
    panel.plot([x[0], *x], [y[-1], *edge], color=COLOURS["ink"], lw=1.6)
    for name, place in _needed(found).items():
        (panel.axvline if name == "delta" else panel.axhline)(place, color=COLOURS["ink"], lw=0.9, ls=":")
    panel.set(xlabel="delta: d = V^delta", ylabel="nu: N = V^nu", xlim=(x[0] - 1 / 8, x[-1]), ylim=(7 / 8, y[-1]))
    panel.clabel(lines, fmt=lambda c: f"c = {Fraction(c).limit_denominator(8)}", fontsize=6.5,
                 manual=_label_places(panel, lines))
    value = "in the values" if found.trigger_in_value else "in keys only"
    panel.set_title(f"Where recall succeeds (shaded), and up to which L = V^c attention does; trigger {value}")
    figure_legend(figure, [key("edge of recall", color=COLOURS["ink"], lw=1.6),
                           key("attention fails from L = V^c on", color=COLOURS["muted"], lw=0.8),
                           key("any learner, any model", color=COLOURS["ink"], lw=0.9, ls=":")], columns=3)
    return figure


def _needed(found: Exponents) -> dict[str, float]:
    """The least nu and the least delta, at m = V, of the bounds that hold for any learner and any model."""
    coverage, bits, _ = (x.margin for x in found.bounds)
    return {"nu": float(-coverage[0] / coverage[3]), "delta": float(-(bits[0] + bits[4]) / bits[2])}


# Geometric recall

MARKS = ("o", "s", "^", "D", "v", ">", "<", "p")
SHADES = tuple(COLOURS[name] for name in ("attention", "recall", "accuracy", "agree", "disagree", "inconclusive"))
INK = COLOURS["ink"]
LEGEND_ROOM = 0.4  # of the height of the lines, below them
HIDES = 0.1  # of the logarithm of a value: a line that is nowhere farther from another hides it


def geometric_figure(report: GeometricReport, width: str = "double") -> Figure:
    """A panel for each R with recall against d, one of relations against hops, and one of thresholds where the report
    has any. In the first a dotted line is the bound, a triangle above the exact construction."""
    relations = list(dict.fromkeys(curve.R for curve in report.curves))
    figure, panels = panel_grid(len(relations) + 1 + bool(report.training), width, height=0.75, legend_rows=2)
    for panel, R in zip(panels, relations, strict=False):
        _recall(panel, [curve for curve in report.curves if curve.R == R])
    _frontiers(panels[len(relations)], report)
    if report.training:
        _thresholds(panels[-1], report)
    figure_legend(figure, [key("random superposition, predicted", color=INK),
                           key("simulated", color=INK, ls="", marker="o", ms=3.5),
                           key("exact construction", color=INK, ls="", marker="*", ms=6),
                           key("bound, one-bit coordinates", color=INK, ls=DOTTED)], columns=4)
    return figure


def _recall(panel: Axes, curves: list[RecallCurve]) -> None:
    for number, curve in enumerate(curves):
        colour, mark = SHADES[number % len(SHADES)], MARKS[number % len(MARKS)]
        panel.plot(*zip(*curve.predicted, strict=True), color=colour, label=f"N = {curve.N:,}, k = {curve.k}")
        for d, seen in curve.simulated:
            error = 0.0 if math.isnan(seen.se) else 2 * seen.se
            panel.errorbar(d, seen.mean, yerr=error, fmt=mark, ms=3.5, lw=0.7, color=colour)
        panel.plot(curve.exact, 1, "*", ms=7, color=colour, mec=INK, mew=0.4, zorder=5)
        panel.axvline(curve.bound, color=colour, ls=DOTTED)
    log_ticks(panel, "x", min(curve.bound for curve in curves), max(curve.predicted[-1][0] for curve in curves))
    panel.set(ylim=(-0.03, 1.06), xlabel="embedding dimension d", ylabel="recall", title=f"R = {curves[0].R} relations")
    panel.legend(loc="lower right")


def _frontiers(panel: Axes, report: GeometricReport) -> None:
    """Relations against hops, with room for the legend below the lines; dashed and open where a line would hide another
    one."""
    from ..geometric.geometric_report import BOUND, HELD

    drawn: list[int] = []
    lines: list[list[tuple[int, int]]] = []
    for number, (way, values) in enumerate(report.frontiers.items()):
        points = [(h, R) for h, R in enumerate(values, start=1) if R is not None]
        if not points:
            continue
        drawn += [R for _, R in points]
        colour, line, mark = (INK, DOTTED, ".") if way == BOUND else (SHADES[number], "-", MARKS[number])
        size, face = 3.5, colour
        if any(_hides(points, other) for other in lines):
            line, size, face = (0, (3, 3)), 6, "none"
        panel.plot(*zip(*points, strict=True), color=colour, ls=line, marker=mark, ms=size, mfc=face, label=way)
        lines.append(points)
    log_ticks(panel, "y", min(drawn), max(drawn))
    panel.set_ylim(bottom=min(drawn) * (min(drawn) / max(drawn)) ** LEGEND_ROOM)
    panel.set(xlabel="hops h of a query", ylabel="most relations R", xticks=range(1, len(values) + 1),
              yticks=[R for R in panel.get_yticks() if min(drawn) / 2 <= R <= 2 * max(drawn)],
              title=f"d = {HELD} one-bit coordinates, N = {report.frontier_N:,}")
    panel.legend(loc="lower left", ncols=2, fontsize=6, columnspacing=1.0, handlelength=1.5)


def _hides(line: list[tuple[int, int]], other: list[tuple[int, int]]) -> bool:
    """Whether a line lies on another one of the same places, on a logarithmic axis."""
    return [x for x, _ in line] == [x for x, _ in other] and all(
        abs(math.log(y / under)) < HIDES for (_, y), (_, under) in zip(line, other, strict=True))


def _thresholds(panel: Axes, report: GeometricReport) -> None:
    """Least d of training against N; open marks have embeddings frozen at random."""
    for number, R in enumerate(sorted({row["R"] for row in report.training})):
        rows, colour = [row for row in report.training if row["R"] == R], SHADES[number % len(SHADES)]
        N = [row["N"] for row in rows]
        panel.plot(N, [R * math.log2(n) for n in N], color=colour, ls="--", lw=0.8)
        for name, face, line in (("least", colour, "-"), ("frozen", COLOURS["paper"], ":")):
            panel.plot(N, [row[name] or math.nan for row in rows], marker=MARKS[number], ms=4, lw=0.7, color=colour,
                       mfc=face, ls=line, label=f"R = {R}" if name == "least" else None)
    sizes = [row["N"] for row in report.training]
    log_ticks(panel, "x", min(sizes), max(sizes))
    log_ticks(panel, "y", 2, 64)
    panel.set_ylim(top=2 * max(row["R"] * math.log2(row["N"]) for row in report.training))  # room for the legend
    panel.set(xlabel="subjects N", ylabel="least d for 95 % recall",
              title="Gradient descent (open: frozen); dashed: R log2 N")
    panel.legend(loc="upper left", ncols=3)
