"""How figures look: sizes of a printed column, one palette, the same bytes at every run."""

from __future__ import annotations

import importlib.util
import io
from collections.abc import Callable
from typing import Any

from ..pages.palette import light
from ..settings import SettingError

WIDTHS = {"single": 3.4, "double": 7.0}  # inches: a column of print, and two
FORMATS = ("svg", "pdf", "png")
DPI = 300


def check_drawable() -> None:
    """`SettingError` where matplotlib isn't installed: told before the work, not after it."""
    if importlib.util.find_spec("matplotlib") is None:
        raise SettingError("output", "figures need matplotlib: pip install 'recall-theory[plot]'")


def rendered(make: Callable[[Any], Any], kind: str) -> bytes:
    """What `make(pyplot)` draws, as a file of a kind: svg, pdf or png.

    Text stays text in SVG, fonts are embedded whole in PDF. Raises `SettingError` where matplotlib isn't installed.

    >>> rendered(lambda plt: plt.figure(), "pdf")[:5]
    b'%PDF-'
    """
    check_drawable()
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    dates: dict[str, Any] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}
    with plt.rc_context(_rc()):
        figure = make(plt)
        file = io.BytesIO()
        try:
            figure.savefig(file, format=kind, dpi=DPI, metadata=dates.get(kind))
        finally:
            plt.close(figure)
    return file.getvalue()


def _rc() -> Any:
    c = light()
    return {
        "svg.fonttype": "none", "svg.hashsalt": "recall-theory", "pdf.fonttype": 42,
        "font.family": "sans-serif", "font.sans-serif": ["DejaVu Sans"], "font.size": 7.5, "axes.labelsize": 7.5,
        "axes.titlesize": 7.5, "legend.fontsize": 7, "xtick.labelsize": 7, "ytick.labelsize": 7,
        "text.color": c["ink"], "axes.labelcolor": c["ink"], "axes.edgecolor": c["muted"], "axes.facecolor": "none",
        "figure.facecolor": c["paper"], "xtick.color": c["muted"], "ytick.color": c["muted"],
        "xtick.labelcolor": c["ink"], "ytick.labelcolor": c["ink"], "grid.color": c["grid"], "grid.linewidth": 0.6,
        "axes.grid": True, "axes.axisbelow": True, "axes.linewidth": 0.6, "axes.spines.top": False,
        "axes.spines.right": False, "xtick.major.width": 0.6, "ytick.major.width": 0.6, "xtick.major.size": 2.5,
        "ytick.major.size": 2.5, "xtick.minor.size": 0, "ytick.minor.size": 0, "hatch.linewidth": 0.5,
        "lines.linewidth": 1.1,
    }
