"""Diagrams of the theory: phase diagrams with what was simulated, exponents, and geometric recall."""

from __future__ import annotations

import math
import string
from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..numerics.arrays import FloatArray
from ..sweep.store_summary import described
from ..theory.length_exponents import LARGEST_DELTA, Exponents
from ..theory.phase import PhaseDiagram
from .style import COLOURS, DOTTED, figure_legend, key, log_ticks, panel_grid, size_label, tint

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.contour import ContourSet
    from matplotlib.figure import Figure

    from ..geometric.geometric_report import GeometricReport, RecallCurve

Place = tuple[float, float]

OTHER_LEVELS = (0.1, 0.5, 0.9)  # accuracies that have a thin line beside that of the target
MOST_NUMBERS = 40  # beside marks: more would cover one another
LABEL = 0.06  # of a panel: half the room that a line's label takes
CELLS_A_UNIT = 32  # a unit of an exponent
LARGEST_NU = 2

# Of geometric recall.
MARKS = ("o", "s", "^", "D", "v", ">", "<", "p")
SHADES = tuple(COLOURS[name] for name in ("attention", "recall", "accuracy", "agree", "disagree", "inconclusive"))
WITHOUT_GAPS = 3  # lines of the first ways to answer; those of later ways may lie on them
INK = COLOURS["ink"]


def phase_figure(diagram: PhaseDiagram) -> Figure:
    """One diagram with its simulated points, filled where they reach the target, and thin lines of other accuracies."""
    figure, (panel,) = panel_grid(1, "double", height=1.1)
    values = {(p.x, p.y): p.accuracy for p in diagram.points}
    handles = draw_plane(panel, diagram, values, regions(diagram))
    low, high = diagram.accuracy.min(), diagram.accuracy.max()
    levels = {float(_logit(p)): f"{p:g}" for p in OTHER_LEVELS
              if low < p < high and abs(_logit(p) - _logit(diagram.target)) > 1}
    if levels and len(diagram.y_values) > 1:
        lines = panel.contour(diagram.x_values, diagram.y_values, _logit(diagram.accuracy), levels=list(levels),
                              colors=INK, linewidths=0.7, linestyles="dashed")
        panel.clabel(lines, fmt=levels, fontsize=6.5, manual=_label_places(panel, lines))
    for reached, face, label in ((True, "ink", "simulated, reaches it"), (False, "paper", "simulated, does not")):
        places = [place for place, accuracy in values.items() if (accuracy >= diagram.target) == reached]
        style: dict[str, Any] = {"ls": "", "marker": "o", "ms": 5, "mec": INK, "mfc": COLOURS[face]}
        if places:
            panel.plot(*zip(*places, strict=True), zorder=6, **style)
            handles.append(key(label, **style))
    figure_legend(figure, handles)
    panel.set_title(f"What binds, and where accuracy reaches {diagram.target:g}\n{described(diagram.fixed)}")
    return figure


def regions(diagram: PhaseDiagram) -> list[str]:
    """What binds somewhere in the diagram, in the order of the alphabet."""
    return sorted({name for row in diagram.binding for name in row})


def draw_plane(axes: Axes, diagram: PhaseDiagram, values: Mapping[Place, float],
               every: Collection[str]) -> list[Artist]:
    """Regions with letters, the line of the target, and numbers beside the places of simulated `values`.

    `every` region of the figure has a letter of its own. Returns what the legend has to explain.
    """
    from matplotlib.patches import Patch

    letters = dict(zip(sorted(every), string.ascii_uppercase, strict=False))
    binding = np.array(diagram.binding)
    for which, ends in (("x", diagram.x_values), ("y", diagram.y_values)):
        log_ticks(axes, which, ends[0], ends[-1])
    axes.grid(False)
    falls_short = _fill_regions(axes, diagram, binding, list(letters))
    if diagram.boundary and len(diagram.y_values) > 1:
        axes.contour(diagram.x_values, diagram.y_values, _logit(diagram.accuracy), levels=[_logit(diagram.target)],
                     colors=INK, linewidths=1.6, linestyles="solid")
    x, y = _edges(diagram.x_values), _edges(diagram.y_values)
    axes.set(xlim=(x[0], x[-1]), ylim=(y[0], y[-1]), xlabel=size_label(diagram.x), ylabel=size_label(diagram.y))
    for name, place in _letter_places(diagram, binding, values).items():
        axes.text(*place, letters[name], fontsize=8, fontweight="bold", ha="center", va="center", zorder=4)
    box = {"boxstyle": "round,pad=0.08", "facecolor": COLOURS["paper"], "alpha": 0.75, "edgecolor": "none"}
    for place, value in values.items() if len(values) <= MOST_NUMBERS else ():
        axes.annotate(f"{value:.2f}", place, xytext=(4, 3), textcoords="offset points", fontsize=5.5, zorder=5,
                      bbox=box)

    handles: list[Artist] = [Patch(facecolor=_tint(name), label=f"{letters[name]}  {name}")
                             for name in regions(diagram)]
    if diagram.boundary:
        handles.append(key(f"accuracy {diagram.target:g}", color=INK, lw=1.6))
    if falls_short:
        handles.append(Patch(facecolor="none", edgecolor=COLOURS["muted"], hatch="///", label="attention falls short"))
    return handles


def _tint(name: str) -> str:
    """The colour of a region by its name, "recall: mean bias"."""
    return tint(name.split(": ")[1])


def _fill_regions(axes: Axes, diagram: PhaseDiagram, binding: NDArray[np.str_], names: list[str]) -> bool:
    """Cells in the colours of what binds, borders between regions, and stripes where attention falls short; whether it
    does anywhere."""
    from matplotlib.collections import LineCollection
    from matplotlib.colors import ListedColormap

    x, y = _edges(diagram.x_values), _edges(diagram.y_values)
    number = np.searchsorted(names, binding)
    axes.pcolormesh(x, y, number, cmap=ListedColormap(list(map(_tint, names))), vmin=-0.5, vmax=len(names) - 0.5,
                    edgecolors="face", lw=0.5)
    striped = np.char.startswith(binding, "attention")
    axes.pcolor(x, y, np.ma.masked_array(number, ~striped), cmap=ListedColormap(["none"]), hatch="///",
                edgecolors=COLOURS["muted"], lw=0)
    borders = [((x[i + 1], y[j]), (x[i + 1], y[j + 1])) for j, i in np.argwhere(np.diff(number, axis=1))]
    borders += [((x[i], y[j + 1]), (x[i + 1], y[j + 1])) for j, i in np.argwhere(np.diff(number, axis=0))]
    axes.add_collection(LineCollection(borders, colors=COLOURS["muted"], linewidths=0.5, zorder=2))
    return bool(striped.any())


def _letter_places(diagram: PhaseDiagram, binding: NDArray[np.str_], places: Collection[Place]) -> dict[str, Place]:
    """The cell of each region that is farthest from the region's ends, the target's line and the places."""
    from scipy import ndimage

    taken, reached = np.zeros(binding.shape, bool), diagram.accuracy >= diagram.target
    for across, up in places:
        taken[abs(np.log(diagram.y_values / up)).argmin(), abs(np.log(diagram.x_values / across)).argmin()] = True
    found = {}
    for name in regions(diagram):
        inside = binding == name
        depth = np.maximum(*(ndimage.distance_transform_edt(np.pad(inside & side & ~taken, 1))[1:-1, 1:-1]
                             for side in (reached, ~reached)))
        j, i = np.unravel_index(np.argmax(depth + inside / 2), inside.shape)  # also where all of its cells are taken
        found[name] = float(diagram.x_values[i]), float(diagram.y_values[j])
    return found


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


def _edges(values: FloatArray) -> list[float]:
    """Borders of cells around values, halfway in the logarithm; a single value is that of an interrupted run."""
    u = np.log(values)
    half = np.diff(u) / 2 if len(u) > 1 else np.array([0.5])
    return np.exp([u[0] - half[0], *(u[:-1] + half[:len(u) - 1]), u[-1] + half[-1]]).tolist()


def _logit(p: float | FloatArray) -> FloatArray:
    clipped = np.clip(p, 1e-12, 1 - 1e-12)
    return np.asarray(np.log(clipped / (1 - clipped)))


def exponents_figure(found: Exponents) -> Figure:
    """The plane of delta and nu: where recall succeeds, with lines there of the c from which on attention fails, m = V;
    and what any learner and any model of so many numbers needs."""
    figure, (panel,) = panel_grid(1, "double", height=0.7)
    least, largest = found.along_edge()[0].start, LARGEST_DELTA[found.activation]
    across = [Fraction(k, CELLS_A_UNIT) for k in range(int(CELLS_A_UNIT * least), int(CELLS_A_UNIT * largest) + 1)]
    up = [Fraction(k, CELLS_A_UNIT) for k in range(CELLS_A_UNIT, CELLS_A_UNIT * LARGEST_NU + 1)]
    longest = np.array([[float(found.longest(nu, delta)[0]) if found.recalls(nu, delta) else np.nan
                         for delta in across] for nu in up])
    x, y, edge = ([float(value) for value in axis] for axis in (across, up, map(found.edge, across)))
    panel.fill_between(x, edge, y[-1], color=INK, alpha=0.08, linewidth=0)
    lines = panel.contour(x, y, longest, levels=np.arange(1, 17) / 8, colors=COLOURS["muted"], linewidths=0.8)
    panel.plot([x[0], *x], [y[-1], *edge], color=INK, lw=1.6)
    coverage, bits, _ = (condition.margin for condition in found.bounds)  # of any learner, and any model with m = V
    panel.axhline(float(-coverage[0] / coverage[3]), color=INK, lw=0.9, ls=":")
    panel.axvline(float(-(bits[0] + bits[4]) / bits[2]), color=INK, lw=0.9, ls=":")
    panel.set(xlabel="delta: d = V^delta", ylabel="nu: N = V^nu")
    panel.set(xlim=(x[0] - 1 / 8, x[-1]), ylim=(7 / 8, y[-1]))
    panel.clabel(lines, fmt=lambda c: f"c = {Fraction(c).limit_denominator(8)}", fontsize=6.5,
                 manual=_label_places(panel, lines))
    value = "in the values" if found.trigger_in_value else "in keys only"
    panel.set_title(f"Where recall succeeds (shaded), and up to which L = V^c attention does; trigger {value}")
    figure_legend(figure, [key("edge of recall", color=INK, lw=1.6),
                           key("attention fails from L = V^c on", color=COLOURS["muted"], lw=0.8),
                           key("any learner, any model", color=INK, lw=0.9, ls=":")])
    return figure


def geometric_figure(report: GeometricReport, width: str = "double") -> Figure:
    """A panel for each R with recall against d, one of relations against hops, and one of thresholds where the report
    has any. In the first a dotted line is the bound, a star the exact construction."""
    relations = list(dict.fromkeys(curve.R for curve in report.curves))
    figure, panels = panel_grid(len(relations) + 1 + bool(report.training), width, height=0.75)
    for panel, R in zip(panels, relations, strict=False):
        _draw_recall(panel, [curve for curve in report.curves if curve.R == R])
    _draw_frontiers(panels[len(relations)], report)
    if report.training:
        _draw_thresholds(panels[-1], report)
    figure_legend(figure, [key("random superposition, predicted", color=INK),
                           key("simulated", color=INK, ls="", marker="o", ms=3.5),
                           key("exact construction", color=INK, ls="", marker="*", ms=6),
                           key("bound, one-bit coordinates", color=INK, ls=DOTTED)])
    return figure


def _draw_recall(panel: Axes, curves: Sequence[RecallCurve]) -> None:
    for number, curve in enumerate(curves):
        colour, mark = SHADES[number % len(SHADES)], MARKS[number % len(MARKS)]
        panel.plot(*zip(*curve.predicted, strict=True), color=colour, label=f"N = {curve.N:,}, k = {curve.k}")
        for d, seen in curve.simulated:
            panel.errorbar(d, seen.mean, yerr=2 * np.nan_to_num(seen.se), fmt=mark, ms=3.5, lw=0.7, color=colour)
        panel.plot(curve.exact, 1, "*", ms=7, color=colour, mec=INK, mew=0.4, zorder=5)
        panel.axvline(curve.bound, color=colour, ls=DOTTED)
    log_ticks(panel, "x", min(curve.bound for curve in curves), max(curve.predicted[-1][0] for curve in curves))
    panel.set(xlabel="embedding dimension d", ylabel="recall", title=f"R = {curves[0].R} relations")
    panel.set_ylim(-0.03, 1.06)
    panel.legend(loc="lower right")


def _draw_frontiers(panel: Axes, report: GeometricReport) -> None:
    """Relations against hops. Lines of the later ways have gaps and smaller marks: they don't hide earlier ones."""
    from ..geometric.geometric_report import BOUND, HELD

    for number, (way, values) in enumerate(report.frontiers.items()):
        line = "-" if number < WITHOUT_GAPS else (0, (3, 3))
        colour, line, mark = (INK, DOTTED, ".") if way == BOUND else (SHADES[number], line, MARKS[number])
        relations = [math.nan if R is None else R for R in values]
        if not np.isnan(relations).all():
            panel.plot(range(1, len(values) + 1), relations, color=colour, ls=line, marker=mark, ms=7 - number,
                       mfc="none", label=way)
    every = [R for values in report.frontiers.values() for R in values if R is not None]
    log_ticks(panel, "y", min(every), max(every))
    panel.set(xlabel="hops h of a query", ylabel="most relations R", xticks=range(1, len(values) + 1),
              title=f"d = {HELD} one-bit coordinates, N = {report.frontier_N:,}")
    panel.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=2, fontsize=6, columnspacing=1.0,
                 handlelength=1.5)


def _draw_thresholds(panel: Axes, report: GeometricReport) -> None:
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
