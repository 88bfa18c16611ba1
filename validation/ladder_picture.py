"""The ladder in one figure: accuracy of every rung against the load of facts, and against samples a fact.

`python -m validation.ladder_picture` draws docs/pictures/ladder.svg from validation/ladder.jsonl.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from recall_theory.plots.style import COLOURS, figure_legend, log_ticks, panel_grid, save_pictures
from recall_theory.verification.ladder_study import RATIO, Row, finished, law_of, read_rows, setting_of_row
from validation.ladder import LONG_STEPS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HERE = Path(__file__).parent
# Rung -> its mark and colour; told apart by shape too.
MARKS = {"1": ("o", "recall"), "3": ("s", "attention"), "4": ("D", "muted"), "5": ("^", "agree"),
         "6": ("v", "accuracy"), "6-vector": (">", "inconclusive"), "6-token": ("x", "disagree")}
SAMPLED = (64, 32)  # V and d of the second panel


def ladder_figure(rows: Sequence[Row]) -> Figure:
    """Left: accuracy against V ln V/d^2 at L = 8, N = 32 V. Right: against N/V at V = 64, d = 32, L = 8. Trainings
    are at their end, or after 20,000 steps.

    Intervals are twice the standard error over seeds; the law (rung 0) is drawn as crosses without intervals.
    """
    figure, panels = panel_grid(2, "double", height=0.8)
    V, d = SAMPLED
    for panel, along in zip(panels, ("load", "samples"), strict=True):
        chosen = []
        for row in finished(rows, LONG_STEPS):
            s = setting_of_row(row)
            if s.L != 8 or row["part"] not in ("width", "fewer", "between", "samples", "narrow", "least samples"):
                continue
            if along == "load" and s.N == RATIO * s.V:
                chosen.append((s.V * math.log(s.V) / s.d**2, row))
            elif along == "samples" and (s.V, s.d) == (V, d):
                chosen.append((s.N / s.V, row))
        x = [place for place, _ in chosen]
        for rung, (mark, colour) in MARKS.items():
            mine = sorted((place, row["observed"]["accuracy"]["mean"], 2 * row["observed"]["accuracy"]["se"])
                          for place, row in chosen if row["rung"] == rung)
            if mine:
                across, mean, error = zip(*mine, strict=True)
                panel.errorbar(across, mean, yerr=error, fmt=mark, ms=3.5, lw=0.7, color=COLOURS[colour],
                               label=f"rung {rung}")
        laws = sorted({(place, law_of(setting_of_row(row))["accuracy"]) for place, row in chosen if row["rung"] == "1"})
        panel.plot(*zip(*laws, strict=True), "+", color=COLOURS["ink"], ms=5, label="law (rung 0)")
        log_ticks(panel, "x", min(x), max(x))
        panel.set(ylim=(-0.03, 1.03), ylabel="accuracy on fresh sequences",
                  xlabel="V ln V / d²" if along == "load" else "samples a fact, N/V")
    panels[0].set_title(f"L = 8, N = {RATIO} V")
    panels[1].set_title(f"V = {V}, d = {d}, L = 8")
    figure_legend(figure, panels[0].get_legend_handles_labels()[0])
    return figure


if __name__ == "__main__":
    rows = read_rows(HERE / "ladder.jsonl")
    save_pictures(lambda: ladder_figure(rows), [str(HERE.parent / "docs" / "pictures" / "ladder.svg")])
