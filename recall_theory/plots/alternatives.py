"""What could be had instead: decoders beside the gradient bound, and orthogonal embeddings beside random ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..verification.simulated_alternatives import BeyondOrthogonal, Tightness, bound
from .style import COLOURS, log_ticks, panel_grid

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

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
    value = "" if result.setting["trigger_in_value"] else ", trigger left out of the values"
    panel.set(ylim=(0, TOP), xlabel="N d² / (V² L ln V)", ylabel="share of the facts answered right",
              title=f"One reading of the first gradient, and three steps\nV = {V}, L = {L}, d = {d}{value}")
    figure.legend(loc="outside lower center", ncols=2)
    return figure



def embedding_figure(result: BeyondOrthogonal) -> Figure:
    """Left, facts over d with samples without end; right, the least samples over the number of facts."""
    figure, (left, right) = panel_grid(2, "double", height=0.95)
    _draw_facts(left, result)
    _draw_samples(right, result)
    return figure


def _draw_facts(panel: Axes, result: BeyondOrthogonal) -> None:
    random, orthogonal = (colour for _, colour, _ in EMBEDDINGS.values())
    share = 2 * (1 + int(result.setting["trigger_in_value"]))
    d = [x.d for x in result.dimensions]
    stored = [(x.d, x.random) for x in result.dimensions if x.random is not None]
    log_ticks(panel, "x", min(d), max(d))
    panel.set(yscale="log", xlabel="embedding dimension d", ylabel="facts stored V",
              title="How many facts, with samples without end")
    panel.plot([x for x, _ in stored], [y for _, y in stored], color=random, marker="o", ms=4.5, lw=1.6, label="random")
    panel.plot(d, [x.law for x in result.dimensions], color=random, ls=":", label=f"leading law d² = {share} V ln V")
    panel.plot(d, d, color=orthogonal, marker="s", ms=4.5, lw=1.6, label="orthogonal, V = d")
    panel.legend()


def _draw_samples(panel: Axes, result: BeyondOrthogonal) -> None:
    V = [f.V for f in result.facts]
    log_ticks(panel, "x", min(V), max(V))
    for key, (label, colour, marker) in EMBEDDINGS.items():
        needs = [(f.V, N, f.needs[key].observed) for f in result.facts
                 if key in f.needs and (N := f.needs[key].N) is not None]
        panel.plot([v for v, _, _ in needs], [n for _, n, _ in needs], color=colour, lw=1.6, label=label)
        below = key == "orthogonal"
        for v, n, observed in needs:
            if observed is not None:
                panel.plot(v, n, color=colour, marker=marker, ms=5, mfc=COLOURS["paper"])
                panel.annotate(f"{observed:.2f}", (v, n), xytext=(4, -9) if below else (-4, 5), fontsize=6.5,
                               textcoords="offset points", ha="left" if below else "right")
    d = result.setting["d"]
    most = next(x.random for x in result.dimensions if x.d == d)
    (_, random, _), (_, orthogonal, _) = EMBEDDINGS.values()
    panel.axvline(d, color=orthogonal, lw=1, ls="--", label="V = d")
    if most is not None:
        panel.axvline(most, color=random, lw=1, ls="--", label=f"random: V = {most} at most")
    plural = "seed" if result.seeds == 1 else "seeds"
    marks = f"\n(marks: the accuracy simulated there, {result.seeds} {plural})" if result.seeds else ""
    panel.set(yscale="log", xlabel="facts V", ylabel=f"least N for accuracy {result.target:g}",
              title=f"What they pay in samples, at d = {d}{marks}")
    panel.margins(x=0.12, y=0.09)
    panel.legend(loc="upper left", frameon=True, framealpha=1, facecolor=COLOURS["paper"], edgecolor="none")
