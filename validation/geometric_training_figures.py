"""From the rows of geometric_training.json to the tables and the picture of docs/geometric-training.md.

    python -m validation.geometric_training_figures       # draws docs/pictures/geometric-training.svg
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from recall_theory.geometric import TrainingSetting
from recall_theory.geometric.geometric_training import counting_dimension
from recall_theory.plots.style import COLOURS, panel_grid, save_pictures
from recall_theory.theory.relation_counting import tables_bits
from recall_theory.verification.intervals import student_interval

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HERE = Path(__file__).parent
NOISES = {0.0: "no noise", 0.3: "noise 0.3"}


def load() -> list[tuple[str, TrainingSetting, dict[str, Any]]]:
    """Part, setting and what was measured, of every row."""
    rows = json.loads((HERE / "geometric_training.json").read_text())
    return [(row["part"], TrainingSetting(**row["setting"]), row) for row in rows]


def thresholds() -> dict[TrainingSetting, np.ndarray]:
    """The least d of each seed, by setting."""
    return {s: np.array(row["least_d"], dtype=float) for part, s, row in load() if part != "structure"}


def scan(along: str, noise: float) -> tuple[list[TrainingSetting], np.ndarray]:
    """The settings of the scan along "R" or "N", in order, and the least d, shape (seeds, settings)."""
    fixed = TrainingSetting(noise=noise).to_dict()
    found = {s: d for s, d in thresholds().items() if {**s.to_dict(), along: fixed[along]} == fixed}
    order = sorted(found, key=lambda s: getattr(s, along))
    return order, np.stack([found[s] for s in order], axis=1)


def position(along: str, settings: Sequence[TrainingSetting]) -> np.ndarray:
    """Where the settings of a scan lie: at R, or at log2 N."""
    return np.array([s.R if along == "R" else np.log2(s.N) for s in settings], dtype=float)


def estimate(weights: np.ndarray, values: np.ndarray, rounding: np.ndarray) -> tuple[float, float, float]:
    """weights . values, values (seeds, points), with a 95 % interval: a t interval over seeds, widened by what the
    values lack where they are rounded to multiples of `rounding` (a standard deviation of 1/sqrt(12) of it, taken as
    common to all seeds)."""
    low, high = student_interval(values @ weights, 0.95)
    lost = 1.96 * np.sqrt(np.sum((weights * rounding) ** 2) / 12)
    half = np.hypot((high - low) / 2, lost)
    centre = (low + high) / 2
    return float(centre), float(centre - half), float(centre + half)


def slope_weights(x: np.ndarray) -> np.ndarray:
    """The weights of the values at x in the slope of their least-squares line."""
    centred = x - x.mean()
    return centred / (centred @ centred)


def slopes(along: str, noise: float) -> dict[str, tuple[float, float, float]]:
    """Slopes with 95 % intervals: of all values, of the lower and of the upper half, what the halves differ by, and the
    exponent (the slope of ln d in ln R or ln log N)."""
    settings, d = scan(along, noise)
    x = position(along, settings)
    half = (len(x) + 1) // 2
    lower, upper = np.zeros((2, len(x)))
    lower[:half], upper[-half:] = slope_weights(x[:half]), slope_weights(x[-half:])
    ones = np.ones(len(x))
    return {"all": estimate(slope_weights(x), d, ones), "lower": estimate(lower, d, ones),
            "upper": estimate(upper, d, ones), "upper - lower": estimate(upper - lower, d, ones),
            "exponent": estimate(slope_weights(np.log(x)), np.log(d), 1 / d.mean(axis=0))}


def bits_a_number(setting: TrainingSetting, d: float) -> float:
    """Bits of the facts for each trained number, at that d."""
    return tables_bits(setting.N, setting.R) / (setting.N * d + setting.mlp_width * (d + setting.R + setting.k))


def draw() -> Figure:
    """Least d against R and against log2 N: every seed, their mean, the exact construction and the counting bound."""
    figure, panels = panel_grid(2, "double", height=0.9)
    labels = {"R": "relations R, at N = 256", "N": "subjects N (logarithmic), at R = 3"}
    for panel, (along, label) in zip(panels, labels.items(), strict=True):
        for noise, colour in zip(NOISES, ("#1f6fb4", "#c4572e"), strict=True):
            settings, d = scan(along, noise)
            x = position(along, settings)
            panel.plot(x, d.mean(axis=0), color=colour, label=f"gradient descent, {NOISES[noise]}")
            panel.plot(np.tile(x, len(d)), d.ravel(), ".", color=colour, alpha=0.5)
        panel.plot(x, [s.R * s.k for s in settings], "--", color=COLOURS["muted"],
                   label="exact construction, R log2 N")
        panel.plot(x, [counting_dimension(s, 2) for s in settings], ":", color=COLOURS["ink"],
                   label="2 bits a trained number")
        panel.set_xlabel(label)
        panel.set_xticks(x, [f"{getattr(s, along)}" for s in settings])
        panel.set_ylim(0)
    panels[0].set_ylabel("least d that recalls 99 %")
    panels[0].legend()
    return figure


if __name__ == "__main__":
    save_pictures(draw, [str(HERE.parent / "docs" / "pictures" / "geometric-training.svg")])
