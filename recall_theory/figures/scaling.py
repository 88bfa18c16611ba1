"""Critical sizes along another size: observed with the fitted line, predicted beside it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..pages.palette import light
from ..sweep.scaling import Critical, Scaling
from .marks import SHAPES
from .residuals import SIZES
from .style import WIDTHS
from .ticks import plain_ticks

SPARE = 1.1  # beyond the outermost marks
ARROW = 1.25  # the factor that an arrow spans


def figure(plt: Any, scalings: Sequence[Scaling], width: str = "double") -> Any:
    """One panel for each scaling: two side by side over two columns."""
    across = 1 if width == "single" else min(2, len(scalings))
    down = -(-len(scalings) // across)
    inches = WIDTHS[width]
    made, panels = plt.subplots(down, across, figsize=(inches, min(inches / across, 3.6) * 0.8 * down),
                                squeeze=False, layout="constrained")
    for panel in panels.flat[len(scalings):]:
        panel.set_axis_off()
    for panel, scaling in zip(panels.flat, scalings, strict=False):
        _panel(panel, scaling)
    return made


def _seen(scaling: Scaling) -> list[Critical]:
    return [p for p in scaling.points if not math.isnan(p.observed)]


def _panel(panel: Any, scaling: Scaling) -> None:
    colours = light()
    colour = colours[scaling.observable]
    panel.set_xscale("log")
    panel.set_yscale("log")
    expected = [p for p in scaling.points if not math.isnan(p.predicted)]
    if expected:
        panel.plot([p.value for p in expected], [p.predicted for p in expected], color=colours["ink"], lw=1.0,
                   ls=(0, (4, 2)), marker="_", ms=7, mew=1.2, label="predicted", zorder=3)
    found = _seen(scaling)
    observed = np.array([p.observed for p in found])
    ends = np.array([p.interval for p in found]).T
    below, above = ~(ends[0] > 0), ~np.isfinite(ends[1])  # intervals without an end, drawn as arrows
    reach = np.array([np.where(below, observed * (1 - 1 / ARROW), observed - ends[0]),
                      np.where(above, observed * (ARROW - 1), ends[1] - observed)])
    panel.errorbar([p.value for p in found], observed, yerr=reach, uplims=below, lolims=above, color=colour, ls="",
                   ms=4.5, elinewidth=0.9,
                   marker=SHAPES[scaling.observable], label="observed, 95 % interval", zorder=5)
    if scaling.line is not None:
        x = np.geomspace(min(p.value for p in found), max(p.value for p in found), 50)
        panel.plot(x, np.exp(scaling.line.intercept) * x**scaling.line.slope, color=colour, lw=1.1, zorder=4,
                   label=f"fit: exponent {scaling.line.slope:.2f} ± {scaling.interval[1] - scaling.line.slope:.2f}")
    panel.set(xlabel=f"{SIZES[scaling.along]} {scaling.along}",
              ylabel=f"{scaling.of} at which {scaling.observable} is {scaling.at:g}")
    low, high = _limits([*(observed - reach[0]), *(observed + reach[1]), *(p.predicted for p in expected)])
    panel.set_ylim(low, high)
    panel.margins(x=0.08)
    plain_ticks(panel.xaxis, [p.value for p in scaling.points])
    plain_ticks(panel.yaxis, [low, high])
    panel.legend(frameon=False, fontsize=6.5, loc="lower left", bbox_to_anchor=(0, 1.01), borderaxespad=0,
                 handlelength=2.2)


def _limits(values: Sequence[float]) -> tuple[float, float]:
    """The ends of the axis: a factor of two at least, so that noise doesn't look like a law."""
    low, high = min(values) / SPARE, max(values) * SPARE
    short = max(1.0, math.sqrt(2 * low / high))
    return low / short, high * short


def words(scaling: Scaling) -> str:
    """What the panel shows, for those who don't see it."""
    points = "; ".join(
        f"at {scaling.along} = {p.value:,} observed " + (p.reason if math.isnan(p.observed) else
                                                         f"{p.observed:.4g} ({p.interval[0]:.4g} to "
                                                         f"{p.interval[1]:.4g})")
        + (", predicted none" if math.isnan(p.predicted) else f", predicted {p.predicted:.4g}")
        for p in scaling.points)
    line = scaling.line
    fit = "" if line is None else (f". Fitted exponent {line.slope:.3f} ({scaling.interval[0]:.3f} to "
                                   f"{scaling.interval[1]:.3f}), predicted "
                                   + ("none" if math.isnan(scaling.predicted_exponent) else
                                      f"{scaling.predicted_exponent:.3f}"))
    return f"The {scaling.of} at which {scaling.observable} is {scaling.at:g}: {points}{fit}."
