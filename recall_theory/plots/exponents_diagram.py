"""Where length matters, in exponents: how long sequences may be at each number of samples and each dimension."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from ..theory.length_exponents import LARGEST_DELTA, Exponents
from .comparisons import figure_legend
from .style import COLOURS, panel_grid

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CELLS = 16  # a unit of an exponent
LARGEST_NU = 2


def exponents_figure(found: Exponents) -> Figure:
    """The plane of delta and nu: where recall succeeds, with lines of the c from which on attention fails, m = V."""
    from matplotlib.lines import Line2D

    figure, (panel,) = panel_grid(1, "double", height=0.7, legend_rows=2)
    across = [Fraction(k, CELLS) for k in range(CELLS // 4, int(CELLS * LARGEST_DELTA[found.activation]) + 1)]
    up = [Fraction(k, CELLS) for k in range(CELLS // 2, CELLS * LARGEST_NU + 1)]
    longest = np.array([[float(found.longest(nu, delta)[0]) for delta in across] for nu in up])
    recalls = np.array([[found.recalls(nu, delta) for delta in across] for nu in up])
    x, y = ([float(value) for value in axis] for axis in (across, up))
    panel.contourf(x, y, recalls, levels=[0.5, 1.5], colors=[COLOURS["ink"]], alpha=0.08)
    lines = panel.contour(x, y, longest, levels=np.arange(1, 17) / 8, colors=COLOURS["muted"], linewidths=0.8)
    panel.clabel(lines, fmt=lambda c: f"c = {Fraction(c).limit_denominator(8)}", fontsize=6.5)
    edge = [delta for delta in across if delta >= found.along_edge()[0].start]
    panel.plot([float(delta) for delta in edge], [float(found.edge(delta)) for delta in edge], color=COLOURS["ink"],
               lw=1.6)
    panel.set(xlabel="delta: d = V^delta", ylabel="nu: N = V^nu", xlim=(x[0], x[-1]), ylim=(y[0], y[-1]))
    value = "in the values" if found.trigger_in_value else "in keys only"
    panel.set_title(f"Where recall succeeds (shaded), and up to which L = V^c attention does; trigger {value}")
    figure_legend(figure, [Line2D([], [], color=COLOURS["ink"], lw=1.6, label="edge of recall"),
                           Line2D([], [], color=COLOURS["muted"], lw=0.8, label="attention fails from L = V^c on")],
                  columns=2)
    return figure
