"""Figures of comparisons: predicted against observed, what is left by size, decoders and embeddings beside bounds.

Shape and colour of a mark say which observable it is, the filling says which verdict. Marks of one observable and
verdict form a group whose id ends in "marks:OBSERVABLE:CELL,CELL,...", their intervals one that ends in
"intervals:OBSERVABLE:CELL,CELL,...", in the order of the cells: a page can tell which is which.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from statistics import mean
from typing import TYPE_CHECKING, Any

import numpy as np

from ..settings import sizes_and_trigger
from ..verification.results import Cell
from ..verification.simulated_alternatives import BeyondOrthogonal, Tightness, bound
from .style import COLOURS, log_ticks, panel_grid

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


SHAPES = {"attention": "^", "recall": "o", "accuracy": "s"}
VERDICTS = ("agree", "inconclusive", "disagree")  # the last is drawn on top
SIZE_WORDS = {"V": "vocabulary", "L": "sequence length", "d": "embedding dimension", "N": "training samples",
         "m": "MLP width", "N/V": "samples a fact"}
DOTTED = (0, (1, 2))
OBSERVABLES_APART = 0.012  # of the axis: the observables of a cell stand side by side


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
    observables = [o for o in SHAPES if any(m.observable == o for m in marks)]
    handles: list[Artist] = [
        key(prefix + o, ls="", marker=SHAPES[o], ms=4, color=COLOURS[o]) for o in observables]
    for verdict in VERDICTS:
        if any(m.verdict == verdict for m in marks):
            face, edge = _colours("muted", verdict)
            shape = SHAPES[observables[0]] if len(observables) == 1 else "o"
            handles.append(key(verdict, ls="", marker=shape, ms=4, mfc=face, mec=edge))
    figure_legend(figure, [*handles, *more], columns)


def key(label: str, **style: Any) -> Artist:
    """An entry of a legend: a line or a mark in the style of `Axes.plot`."""
    from matplotlib.lines import Line2D

    return Line2D([], [], label=label, **style)


def figure_legend(figure: Figure, handles: Sequence[Artist], columns: int) -> None:
    """A legend below the panels that is read row by row."""
    if not handles:
        return
    columns = min(columns, len(handles))
    by_column = [handle for first in range(columns) for handle in handles[first::columns]]
    figure.legend(handles=by_column, loc="outside lower center", ncols=columns, handlelength=1.5, handletextpad=0.4,
                  columnspacing=1.0)


# Predicted against observed


def agreement_figure(cells: Mapping[int, Cell], observables: Sequence[str], width: str) -> Figure:
    """One square panel for each observable, with a mark for each of the numbered cells."""
    figure, panels = panel_grid(len(observables), width, height=1, columns=3, legend_rows=2)
    muted = COLOURS["muted"]
    margin = max(cell.margin for cell in cells.values())
    marks = {o: [_mark(i, o, cell) for i, cell in cells.items()] for o in observables}
    for panel, (observable, of_panel) in zip(panels, marks.items(), strict=True):
        panel.axline((0, 0), slope=1, color=muted, lw=0.8)
        for offset in (margin, -margin):
            panel.axline((0, offset), slope=1, color=muted, lw=0.6, ls=DOTTED)
        draw_marks(panel, of_panel)
        panel.set(xlim=(-0.03, 1.03), ylim=(-0.03, 1.03), aspect="equal", xlabel=f"{observable}, predicted",
                  ylabel="observed")
    band = key("margin", color=muted, lw=0.8, ls=DOTTED)
    mark_legend(figure, [m for group in marks.values() for m in group], columns=7 if width == "double" else 4,
                more=[band])
    return figure


def _mark(number: int, observable: str, cell: Cell) -> Mark:
    c = cell.comparisons[observable]
    single = len(c.observed.values) < 2
    ends = (None, None) if single else (max(0.0, c.predicted + c.low), min(1.0, c.predicted + c.high))
    return Mark(number, observable, c.verdict, c.predicted, c.observed.mean, *ends)


def describe_agreement(cells: Mapping[int, Cell], observable: str) -> str:
    """What the panel of an observable shows, in words and numbers."""
    comparisons = [cell.comparisons[observable] for cell in cells.values()]
    predicted = [c.predicted for c in comparisons]
    observed = [c.observed.mean for c in comparisons]
    differences = [c.difference for c in comparisons]
    verdicts = [c.verdict for c in comparisons]
    tally = ", ".join(f"{verdicts.count(v)} {v}" for v in VERDICTS if v in verdicts)
    return (f"Predicted against observed {observable} of {len(cells)} cells. Predicted from {min(predicted):.3f} to "
            f"{max(predicted):.3f}, observed from {min(observed):.3f} to {max(observed):.3f}. Observed - predicted "
            f"lies between {min(differences):+.4f} and {max(differences):+.4f}. Verdicts: {tally}.")


# Residuals


def _having(cells: Mapping[int, Cell], size: str) -> dict[int, float]:
    """The value of a size, or of N/V, at the cells that have one."""
    values = {i: cell.setting.ratio if size == "N/V" else getattr(cell.setting, size) for i, cell in cells.items()}
    return {i: float(value) for i, value in values.items() if value is not None}


def varied_sizes(cells: Mapping[int, Cell]) -> list[str]:
    """The sizes that differ among the cells: of V, L, d, N, m and N/V."""
    return [size for size in SIZE_WORDS if len(set(_having(cells, size).values())) > 1]


def residual_figure(cells: Mapping[int, Cell], observables: Sequence[str], sizes: Sequence[str],
                    width: str) -> Figure:
    """Two panels for each size: differences with bars of one standard error, and differences in standard errors."""
    figure, panels = panel_grid(2 * len(sizes), width, height=0.6, legend_rows=2)
    margin = max(cell.margin for cell in cells.values())
    drawn: list[Mark] = []
    for size, left, right in zip(sizes, panels[::2], panels[1::2], strict=True):
        marks = _marks(cells, size, observables)
        drawn += marks
        standardised = [dataclasses.replace(m, y=m.y / (m.high - m.y), low=None, high=None)
                        for m in marks if m.high is not None]
        ends = [abs(end) for m in marks for end in (m.y, m.low, m.high) if end is not None]
        reach = max(1.5 * margin, 1.1 * max(ends))
        left.set_ylim(-reach, reach)
        for level in (margin, -margin):
            left.axhline(level, color=COLOURS["muted"], lw=0.6, ls=DOTTED)
        values = _having(cells, size).values()
        for panel, of_panel, label in ((left, marks, "observed − predicted"),
                                       (right, standardised, "in standard errors")):
            panel.axhline(0, color=COLOURS["muted"], lw=0.8, zorder=1)
            log_ticks(panel, "x", min(values), max(values))
            draw_marks(panel, of_panel, size=3.4)
            panel.margins(x=0.06)
            panel.set(ylabel=label, xlabel=size if size == "N/V" else f"{SIZE_WORDS[size]} {size}")
    mark_legend(figure, drawn, columns=6 if width == "double" else 3)
    return figure


def _marks(cells: Mapping[int, Cell], size: str, observables: Sequence[str]) -> list[Mark]:
    """One mark a comparison, those of a cell a little apart, with ends one standard error away."""
    having = _having(cells, size)
    step = math.log(max(having.values()) / min(having.values())) * OBSERVABLES_APART
    marks = []
    for i, value in having.items():
        for k, observable in enumerate(observables):
            c = cells[i].comparisons[observable]
            x, se = value * math.exp(step * (k - (len(observables) - 1) / 2)), c.observed.se
            ends = (c.difference - se, c.difference + se) if se > 0 else (None, None)
            marks.append(Mark(i, observable, c.verdict, x, c.difference, *ends))
    return marks


def describe_residuals(cells: Mapping[int, Cell], observables: Sequence[str], size: str) -> str:
    """What the panels of a size show, in words and numbers."""
    having = _having(cells, size)
    low, high = min(having.values()), max(having.values())
    middle = math.sqrt(low * high)
    parts = []
    for o in observables:
        of_size = [(value, cells[i].comparisons[o]) for i, value in having.items()]
        below = mean([c.difference for value, c in of_size if value <= middle])
        above = mean([c.difference for value, c in of_size if value > middle])
        most = max((abs(c.difference / c.observed.se) for _, c in of_size if c.observed.se > 0), default=math.nan)
        errors = "no standard error is known" if math.isnan(most) else f"at most {most:.1f} standard errors"
        parts.append(f"{o}: {below:+.4f} on average up to {size} = {middle:.3g}, {above:+.4f} beyond; {errors}")
    return f"Observed - predicted against {size} from {low:g} to {high:g}. {'. '.join(parts)}."


# Name, colour (of Okabe and Ito), marker and, where there is a prediction, its line.
DECODERS = {
    "gradient": ("argmax of the gradient", "#0072B2", "o", "--"),
    "noisy gradient": ("argmax, in noise", "#56B4E9", "s", "-"),
    "matched filter": ("assignment by matched filter, in noise", "#CC79A7", "v", ""),
    "best assignment": ("best assignment, in noise", "#009E73", "^", ""),
    "three steps": ("three steps", "#D55E00", "D", "-."),
}
TOP = 1.03
# Name, colour (of Okabe and Ito), marker.
EMBEDDINGS = {"gaussian": ("random", "#0072B2", "o"), "orthogonal": ("orthogonal", "#D55E00", "s")}


def decoder_figure(result: Tightness) -> Figure:
    """Bound, predictions and simulations, with bars of two standard errors, over x = N d^2/(V^2 L ln V)."""
    figure, (panel,) = panel_grid(1, "double", height=1.0, legend_rows=5)
    V, L, d = (result.setting[name] for name in ("V", "L", "d"))
    x = np.array([p.x for p in result.points])
    fine = np.geomspace(x[0], x[-1], 200)
    most = bound(V, L, d, fine * V**2 * L * np.log(V) / d**2)
    panel.fill_between(fine, most, TOP, color=COLOURS["grid"], lw=0)
    panel.plot(fine, most, color=COLOURS["ink"], lw=1.8, label="bound for readers in noise")
    for name, (label, colour, marker, line) in DECODERS.items():
        if line:
            panel.plot(x, [p.predicted[name] for p in result.points], color=colour, ls=line, lw=1.3,
                       label=f"{label}, predicted")
        panel.errorbar(x, [p.observed[name] for p in result.points], [2 * (p.se[name] or 0) for p in result.points],
                       color=colour, marker=marker, ls="", ms=4.5, mfc=COLOURS["paper"], capsize=2,
                       label=f"{label}, simulated")
    log_ticks(panel, "x", x[0], x[-1])
    panel.set(ylim=(0, TOP), xlabel="N d² / (V² L ln V)", ylabel="share of the facts answered right",
              title=f"One reading of the first gradient, and three steps\n{sizes_and_trigger(result.setting, 'VLd')}")
    figure.legend(loc="outside lower center", ncols=2)
    return figure


def embedding_figure(result: BeyondOrthogonal) -> Figure:
    """Left, facts over d with samples without end; right, the least samples over the number of facts."""
    figure, (left, right) = panel_grid(2, "double", height=0.95)
    random, orthogonal = (colour for _, colour, _ in EMBEDDINGS.values())
    share = 2 * (1 + int(result.setting["trigger_in_value"]))
    dimensions = [x.d for x in result.dimensions]
    stored = [(x.d, x.random) for x in result.dimensions if x.random is not None]
    log_ticks(left, "x", min(dimensions), max(dimensions))
    left.set(yscale="log", xlabel="embedding dimension d", ylabel="facts stored V",
             title="How many facts, with samples without end")
    left.plot([x for x, _ in stored], [y for _, y in stored], color=random, marker="o", ms=4.5, lw=1.6, label="random")
    left.plot(dimensions, [x.law for x in result.dimensions], color=random, ls=":",
              label=f"leading law d² = {share} V ln V")
    left.plot(dimensions, dimensions, color=orthogonal, marker="s", ms=4.5, lw=1.6, label="orthogonal, V = d")
    left.legend()

    V = [f.V for f in result.facts]
    log_ticks(right, "x", min(V), max(V))
    for key, (label, colour, marker) in EMBEDDINGS.items():
        needs = [(f.V, N, f.needs[key].observed) for f in result.facts
                 if key in f.needs and (N := f.needs[key].N) is not None]
        right.plot([v for v, _, _ in needs], [n for _, n, _ in needs], color=colour, lw=1.6, label=label)
        below = key == "orthogonal"
        for v, n, observed in needs:
            if observed is not None:
                right.plot(v, n, color=colour, marker=marker, ms=5, mfc=COLOURS["paper"])
                right.annotate(f"{observed:.2f}", (v, n), xytext=(4, -9) if below else (-4, 5), fontsize=6.5,
                               textcoords="offset points", ha="left" if below else "right")
    d = result.setting["d"]
    most = next(x.random for x in result.dimensions if x.d == d)
    right.axvline(d, color=orthogonal, lw=1, ls="--", label="V = d")
    if most is not None:
        right.axvline(most, color=random, lw=1, ls="--", label=f"random: V = {most} at most")
    plural = "seed" if result.seeds == 1 else "seeds"
    marks = f"\n(marks: the accuracy simulated there, {result.seeds} {plural})" if result.seeds else ""
    right.set(yscale="log", xlabel="facts V", ylabel=f"least N for accuracy {result.target:g}",
              title=f"What they pay in samples, at d = {d}{marks}")
    right.margins(x=0.12, y=0.09)
    right.legend(loc="upper left", frameon=True, framealpha=1, facecolor=COLOURS["paper"], edgecolor="none")
    return figure
