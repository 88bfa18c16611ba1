"""Geometric recall in one figure: recall against d, relations against hops, and the thresholds of training."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ..geometric.geometric_report import BOUND, HELD, GeometricReport, RecallCurve
from .comparisons import DOTTED, figure_legend, key
from .style import COLOURS, log_ticks, panel_grid

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MARKS = ("o", "s", "^", "D", "v", ">", "<", "p")
SHADES = tuple(COLOURS[name] for name in ("attention", "recall", "accuracy", "agree", "disagree", "inconclusive"))
INK = COLOURS["ink"]
LEGEND_ROOM = 0.4  # of the height of the lines, below them


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
    """Relations against hops, with room for the legend below the lines."""
    drawn: list[int] = []
    for number, (way, values) in enumerate(report.frontiers.items()):
        points = [(h, R) for h, R in enumerate(values, start=1) if R is not None]
        if not points:
            continue
        drawn += [R for _, R in points]
        colour, line, mark = (INK, DOTTED, ".") if way == BOUND else (SHADES[number], "-", MARKS[number])
        panel.plot(*zip(*points, strict=True), color=colour, ls=line, marker=mark, ms=3.5, label=way)
    log_ticks(panel, "y", min(drawn), max(drawn))
    panel.set_ylim(bottom=min(drawn) * (min(drawn) / max(drawn)) ** LEGEND_ROOM)
    panel.set(xlabel="hops h of a query", ylabel="most relations R", xticks=range(1, len(values) + 1),
              yticks=[R for R in panel.get_yticks() if min(drawn) / 2 <= R <= 2 * max(drawn)],
              title=f"d = {HELD} one-bit coordinates, N = {report.frontier_N:,}")
    panel.legend(loc="lower left", ncols=2, fontsize=6, columnspacing=1.0, handlelength=1.5)


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
