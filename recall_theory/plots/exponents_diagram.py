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

CELLS = 32  # a unit of an exponent
LARGEST_NU = 2


def exponents_figure(found: Exponents) -> Figure:
    """The plane of delta and nu: where recall succeeds, with lines there of the c from which on attention fails, m = V;
    and what any learner and any model of so many numbers needs."""
    from matplotlib.lines import Line2D

    figure, (panel,) = panel_grid(1, "double", height=0.7, legend_rows=2)
    least, largest = found.along_edge()[0].start, LARGEST_DELTA[found.activation]
    across = [Fraction(k, CELLS) for k in range(int(CELLS * least), int(CELLS * largest) + 1)]
    up = [Fraction(k, CELLS) for k in range(CELLS, CELLS * LARGEST_NU + 1)]
    longest = np.array([[float(found.longest(nu, delta)[0]) if found.recalls(nu, delta) else np.nan
                         for delta in across] for nu in up])
    x, y = ([float(value) for value in axis] for axis in (across, up))
    edge = [float(found.edge(delta)) for delta in across]
    panel.fill_between(x, edge, y[-1], color=COLOURS["ink"], alpha=0.08, linewidth=0)
    lines = panel.contour(x, y, longest, levels=np.arange(1, 17) / 8, colors=COLOURS["muted"], linewidths=0.8)
    panel.clabel(lines, fmt=lambda c: f"c = {Fraction(c).limit_denominator(8)}", fontsize=6.5)
    panel.plot([x[0], *x], [y[-1], *edge], color=COLOURS["ink"], lw=1.6)
    for name, place in _needed(found).items():
        (panel.axvline if name == "delta" else panel.axhline)(place, color=COLOURS["ink"], lw=0.9, ls=":")
    panel.set(xlabel="delta: d = V^delta", ylabel="nu: N = V^nu", xlim=(x[0] - 1 / 8, x[-1]), ylim=(7 / 8, y[-1]))
    value = "in the values" if found.trigger_in_value else "in keys only"
    panel.set_title(f"Where recall succeeds (shaded), and up to which L = V^c attention does; trigger {value}")
    figure_legend(figure, [Line2D([], [], color=COLOURS["ink"], lw=1.6, label="edge of recall"),
                           Line2D([], [], color=COLOURS["muted"], lw=0.8, label="attention fails from L = V^c on"),
                           Line2D([], [], color=COLOURS["ink"], lw=0.9, ls=":", label="any learner, any model")],
                  columns=3)
    return figure


def _needed(found: Exponents) -> dict[str, float]:
    """The least nu and the least delta, at m = V, of the bounds that hold for any learner and any model."""
    coverage, bits, _ = (x.margin for x in found.bounds)
    return {"nu": float(-coverage[0] / coverage[3]), "delta": float(-(bits[0] + bits[4]) / bits[2])}
