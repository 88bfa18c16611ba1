"""The gradient bound, and the recall of decoders beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..verification.decoders import Tightness, bound
from .style import COLOURS, log_ticks, panel_grid

if TYPE_CHECKING:
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
