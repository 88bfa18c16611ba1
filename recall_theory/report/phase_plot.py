"""The phase diagram as a picture: readable in print, in grey and by the colour-blind.

Regions are told apart by colour (the Okabe-Ito palette, lightened), by hatching where attention rather than
recall falls short, and by their names written into them. matplotlib is the extra "plot".
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..theory.phase import FAMILIES, PhaseDiagram, Point
from .picture import check_file, save

__all__ = ["Look", "check_file", "draw", "edges", "paint", "regions"]

# Okabe-Ito, an order in which neighbours in FAMILIES differ in lightness too
COLOURS = {
    "mean bias": "#E69F00",
    "gradient noise": "#56B4E9",
    "MLP noise": "#CC79A7",
    "interference": "#009E73",
    "attention overlap": "#F0E442",
    "token overlap": "#D55E00",
    "facts never seen": "#BBBBBB",
}
OTHER = "#DDDDDD"
LIGHTEN = 0.45  # of the way to white: black text and lines stay readable on every region
LEVELS = (0.1, 0.5, 0.9)  # accuracies drawn as thin lines beside the target
_MEANING = {"V": "vocabulary V", "N": "training samples N", "d": "embedding dimension d",
            "L": "sequence length L", "m": "MLP width m", "m*d": "m d"}


def lightened(family: str) -> Any:
    """The colour of a family's regions."""
    from matplotlib.colors import to_rgb

    colour = np.array(to_rgb(COLOURS.get(family, OTHER)))
    return colour + (1 - colour) * LIGHTEN


@dataclasses.dataclass(frozen=True)
class Look:
    """How a diagram is painted: `fill` is the colour of a family's regions; names are written into them, and lines of
    equal accuracy are labelled, where there is room for words."""

    fill: Callable[[str], Any] = lightened
    ink: str = "black"
    hatch: str = "#666666"
    line: float = 2.4
    words: bool = True


def draw(diagram: PhaseDiagram, path: str) -> None:
    """Draw the diagram into a .svg, .png or .pdf file."""
    save(lambda plt: _figure(plt, diagram), path, {"hatch.linewidth": 0.6})


def edges(values: np.ndarray) -> np.ndarray:
    """Borders of cells around values, halfway in the logarithm."""
    x = np.log(values)
    if len(x) == 1:  # of an interrupted run
        return np.exp(np.array([x[0] - 1 / 2, x[0] + 1 / 2]))
    middle = (x[1:] + x[:-1]) / 2
    return np.exp(np.concatenate([[2 * x[0] - middle[0]], middle, [2 * x[-1] - middle[-1]]]))


def _figure(plt: Any, diagram: PhaseDiagram) -> Any:
    figure, axes = plt.subplots(figsize=(6.8, 5.2), layout="constrained")
    paint(axes, diagram)
    for point in diagram.points:
        _point(axes, point, diagram.target)
    axes.set_title(_title(diagram), fontsize=10)
    _legend(axes, diagram)
    return figure


def paint(axes: Any, diagram: PhaseDiagram, look: Look | None = None) -> None:
    """The regions with their names, lines of equal accuracy, and axes; points, title and legend are the caller's."""
    from matplotlib.colors import ListedColormap

    look = look or Look()
    names = regions(diagram)
    number = np.array([[names.index(name) for name in row] for row in diagram.binding])
    x, y = diagram.x_values, diagram.y_values
    mesh = axes.pcolormesh(edges(x), edges(y), number, vmin=-0.5, vmax=len(names) - 0.5, rasterized=False,
                           cmap=ListedColormap([look.fill(name.split(": ")[1]) for name in names]), edgecolors="none",
                           lw=0)
    mesh.set_gid("regions")
    for i, name in enumerate(names):
        if name.startswith("attention"):
            _hatch(axes, x, y, number == i, look)
        if look.words:
            _name_region(axes, diagram, number == i, name)
    _lines(axes, diagram, look)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log", base=2)
    for axis, values in ((axes.xaxis, x), (axes.yaxis, y)):
        _ticks(axis, values)
    axes.set_xlim(edges(x)[[0, -1]])
    axes.set_ylim(edges(y)[[0, -1]])
    axes.set_xlabel(_MEANING[diagram.x])
    axes.set_ylabel(_MEANING[diagram.y])


def regions(diagram: PhaseDiagram) -> list[str]:
    """What binds somewhere in the diagram, in the order of legends."""
    return sorted({name for row in diagram.binding for name in row}, key=_order)


def _order(name: str) -> tuple[int, str]:
    kind = name.split(": ")[1]
    return (FAMILIES.index(kind) if kind in FAMILIES else len(FAMILIES), name)


def _hatch(axes: Any, x: np.ndarray, y: np.ndarray, inside: np.ndarray, look: Look) -> None:
    """Stripes over the cells in which attention falls short."""
    ex, ey = edges(x), edges(y)
    for j in range(len(y)):
        row = np.flatnonzero(inside[j])
        for run in np.split(row, np.flatnonzero(np.diff(row) > 1) + 1):
            if run.size:
                axes.fill_between([ex[run[0]], ex[run[-1] + 1]], ey[j], ey[j + 1], facecolor="none",
                                  edgecolor=look.hatch, hatch="///", linewidth=0)


def _name_region(axes: Any, diagram: PhaseDiagram, inside: np.ndarray, name: str) -> None:
    """Write a region's name where it is wide enough for words, clear of the boundary and of points."""
    x, y = diagram.x_values, diagram.y_values
    best: tuple[float, int, float] | None = None
    crossed = [(np.interp(math.log(a), np.log(x), np.arange(len(x))), np.interp(math.log(b), np.log(y),
                np.arange(len(y)))) for a, b in (*diagram.boundary, *((p.x, p.y) for p in diagram.points))]
    for j in range(len(y)):
        row = np.flatnonzero(inside[j])
        for run in np.split(row, np.flatnonzero(np.diff(row) > 1) + 1):
            if len(run) < 0.2 * len(x):
                continue
            near = [k for k in (j - 1, j + 1) if 0 <= k < len(y) and inside[k, run].all()]
            for centre in run[len(run) // 4:len(run) - len(run) // 4]:
                room = min(centre - run[0], run[-1] - centre)
                clear = all(abs(i - centre) > 0.14 * len(x) or abs(k - j) > 0.09 * len(y) for i, k in crossed)
                score = (100 if clear else 0) + room + len(run) * len(near)
                if best is None or score > best[0]:
                    best = (score, j, float(x[centre]))
    if best is None:
        return
    _, j, at = best
    step, kind = name.split(": ")
    axes.text(at, y[j], f"{kind}\n({step})", ha="center", va="center", fontsize=9, linespacing=1.1, zorder=4,
              bbox={"boxstyle": "round,pad=0.15", "facecolor": "white", "alpha": 0.75, "edgecolor": "none"})


def _lines(axes: Any, diagram: PhaseDiagram, look: Look) -> None:
    """Lines of equal accuracy: thick at the target, thin and labelled beside it."""
    if len(diagram.y_values) == 1:
        return
    tiny = 1e-12
    logit = np.log(np.clip(diagram.accuracy, tiny, 1) / np.clip(1 - diagram.accuracy, tiny, 1))

    def at(p: float) -> float:
        return math.log(p / (1 - p))

    thin = [p for p in LEVELS if abs(at(p) - at(diagram.target)) > 1
            and diagram.accuracy.min() < p < diagram.accuracy.max()]
    if thin and look.words:
        lines = axes.contour(diagram.x_values, diagram.y_values, logit, levels=[at(p) for p in thin],
                             colors="black", linewidths=0.8, linestyles="dashed")
        for text in axes.clabel(lines, fmt={at(p): f"{p:g}" for p in thin}, fontsize=8, inline=False):
            text.set_bbox({"boxstyle": "round,pad=0.1", "facecolor": "white", "alpha": 0.8, "edgecolor": "none"})
    if diagram.accuracy.min() < diagram.target < diagram.accuracy.max():
        axes.contour(diagram.x_values, diagram.y_values, logit, levels=[at(diagram.target)], colors=look.ink,
                     linewidths=look.line)


def _point(axes: Any, point: Point, target: float) -> None:
    """A simulated setting: filled where it reached the target, open where not, its accuracy beside it."""
    reached = point.accuracy >= target
    axes.plot(point.x, point.y, "o", ms=6, mec="black", mfc="black" if reached else "white", mew=1.1, zorder=5)
    axes.annotate(f"{point.accuracy:.2f}", (point.x, point.y), xytext=(5, 4), textcoords="offset points",
                  fontsize=7.5, zorder=6,
                  bbox={"boxstyle": "round,pad=0.1", "facecolor": "white", "alpha": 0.75, "edgecolor": "none"})


def _ticks(axis: Any, values: np.ndarray) -> None:
    """Ticks at powers of two, in plain numbers where they are short."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter

    low, high = math.ceil(math.log2(values[0]) - 0.01), math.floor(math.log2(values[-1]) + 0.01)
    every = max(1, math.ceil((high - low) / 8))
    axis.set_major_locator(FixedLocator([2.0**k for k in range(low, high + 1, every)]))

    def label(v: float, _: int) -> str:
        return f"{v:.0f}" if values[-1] < 2e4 else f"$2^{{{round(math.log2(v))}}}$"

    axis.set_major_formatter(FuncFormatter(label))
    axis.set_minor_formatter(NullFormatter())


def _title(diagram: PhaseDiagram) -> str:
    known = dict(diagram.fixed)
    activation = known.pop("activation", None)
    parts = [f"{name} = {value:g}" for name, value in known.items()
             if isinstance(value, int | float) and not isinstance(value, bool)]
    parts = [p.replace("ratio", "N/V") for p in parts]
    if activation or "m" in diagram.x + diagram.y or "m" in known:
        parts.append(f"{activation or 'relu'}")
    return "What binds, and where accuracy reaches " + f"{diagram.target:g}" + (
        "\n" + ", ".join(parts) if parts else "")


def _legend(axes: Any, diagram: PhaseDiagram) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles: list[Any] = []
    if diagram.accuracy.min() < diagram.target < diagram.accuracy.max():
        handles.append(Line2D([], [], color="black", lw=2.4, label=f"accuracy {diagram.target:g}"))
    if any(name.startswith("attention") for name in regions(diagram)):
        handles.append(Patch(facecolor="white", edgecolor="#666666", hatch="///", label="attention falls short"))
    if diagram.points:
        handles.append(Line2D([], [], marker="o", ls="", mfc="black", mec="black", label="simulated, reaches it"))
        handles.append(Line2D([], [], marker="o", ls="", mfc="white", mec="black", label="simulated, does not"))
    if handles:
        axes.figure.legend(handles=handles, loc="outside lower center", ncols=len(handles), fontsize=8.5,
                           frameon=False, handletextpad=0.5, columnspacing=1.2)
