"""Pictures in files: one that can be read in print, the same at every run. matplotlib is the extra "plot"."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..settings import SettingError

FORMATS = ("svg", "png", "pdf")


def check_file(path: str) -> str:
    """The format that a file's name asks for; `SettingError` where it is none of them."""
    kind = Path(path).suffix.lstrip(".").lower()
    if kind not in FORMATS:
        raise SettingError("plot", f"plot={path!r} must end in one of {', '.join('.' + f for f in FORMATS)}")
    return kind


def save(figure: Callable[[Any], Any], path: str, style: dict[str, Any] | None = None) -> None:
    """Save what `figure(pyplot)` returns into a .svg, .png or .pdf file, in a style of its own."""
    kind = check_file(path)
    try:
        import matplotlib
    except ImportError:
        raise SettingError("plot", "plot needs matplotlib: pip install 'recall-theory[plot]'") from None
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    # text stays text in SVG; the picture is the same at every run
    context: Any = {"svg.fonttype": "none", "svg.hashsalt": "recall-theory", "font.size": 10, **(style or {})}
    with plt.rc_context(context):
        made = figure(plt)
        made.savefig(path, dpi=200, metadata={"Date": None} if kind == "svg" else None)
        plt.close(made)
