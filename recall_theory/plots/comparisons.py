"""Figures of alternatives: decoders beside the gradient bound, random beside orthogonal embeddings."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..numerics.formatting import plural
from ..settings import sizes_and_trigger
from ..verification.simulated_alternatives import BeyondOrthogonal, Tightness, bound
from .style import COLOURS, figure_legend, log_ticks, panel_grid, size_label

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TOP = 1.03  # of an axis of shares

# Name, colour (of Okabe and Ito), marker and, where there is a prediction, its line.
DECODERS = {
    "gradient": ("argmax of the gradient", "#0072B2", "o", "--"),
    "noisy gradient": ("argmax, in noise", "#56B4E9", "s", "-"),
    "matched filter": ("assignment by matched filter, in noise", "#CC79A7", "v", ""),
    "best assignment": ("best assignment, in noise", "#009E73", "^", ""),
    "three steps": ("three steps", "#D55E00", "D", "-."),
}
RANDOM, ORTHOGONAL = "#0072B2", "#D55E00"  # colours of Okabe and Ito


def decoder_figure(result: Tightness) -> Figure:
    """Bound, predictions and simulations, with bars of two standard errors, over x = N d^2/(V^2 L ln V)."""
    figure, (panel,) = panel_grid(1, "double", height=1.0)
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
    figure_legend(figure, panel.get_legend_handles_labels()[0])
    return figure


def embedding_figure(result: BeyondOrthogonal) -> Figure:
    """Left, facts over d with samples without end; right, the least samples over the number of facts."""
    figure, (left, right) = panel_grid(2, "double", height=0.95)
    share = 2 * (1 + int(result.setting["trigger_in_value"]))
    dimensions = [x.d for x in result.dimensions]
    stored = [(x.d, x.random) for x in result.dimensions if x.random is not None]
    left.plot(*zip(*stored, strict=True), color=RANDOM, marker="o", ms=4.5, lw=1.6, label="random")
    left.plot(dimensions, [x.law for x in result.dimensions], color=RANDOM, ls=":",
              label=f"leading law d² = {share} V ln V")
    left.plot(dimensions, dimensions, color=ORTHOGONAL, marker="s", ms=4.5, lw=1.6, label="orthogonal, V = d")
    log_ticks(left, "x", min(dimensions), max(dimensions))
    left.set(yscale="log", xlabel=size_label("d"), ylabel="facts stored V",
             title="How many facts, with samples without end")
    left.legend()

    for kind, label, colour, marker, offset in (("gaussian", "random", RANDOM, "o", (-4, 5)),
                                                ("orthogonal", "orthogonal", ORTHOGONAL, "s", (4, -9))):
        needs = [(f.V, need.N, need.observed) for f in result.facts
                 if (need := f.needs.get(kind)) is not None and need.N is not None]
        right.plot([V for V, _, _ in needs], [N for _, N, _ in needs], color=colour, lw=1.6, label=label)
        for V, N, observed in needs:
            if observed is not None:
                right.plot(V, N, color=colour, marker=marker, ms=5, mfc=COLOURS["paper"])
                right.annotate(f"{observed:.2f}", (V, N), xytext=offset, fontsize=6.5, textcoords="offset points",
                               ha="left" if offset[0] > 0 else "right")
    d = result.setting["d"]
    right.axvline(d, color=ORTHOGONAL, lw=1, ls="--", label="V = d")
    most = dict(stored).get(d)
    if most is not None:
        right.axvline(most, color=RANDOM, lw=1, ls="--", label=f"random: V = {most} at most")
    facts = [f.V for f in result.facts]
    log_ticks(right, "x", min(facts), max(facts))
    marks = f"\n(marks: the accuracy simulated there, {plural(result.seeds, 'seed')})" if result.seeds else ""
    right.set(yscale="log", xlabel="facts V", ylabel=f"least N for accuracy {result.target:g}",
              title=f"What they pay in samples, at d = {d}{marks}")
    right.margins(x=0.12, y=0.09)
    right.legend(loc="upper left", frameon=True, framealpha=1, facecolor=COLOURS["paper"], edgecolor="none")
    return figure
