"""What all figures share: how they are saved, their colours, their sizes and the ticks of their logarithmic axes."""

from __future__ import annotations

import importlib.util
import io
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import SettingError
from ..numerics.formatting import write_whole

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

WIDTHS = {"single": 3.4, "double": 7.0}  # inches: one column of print, and two
HIGHEST_PANEL = 4.0  # inches
FORMATS = ("svg", "pdf", "png")
DPI = 300

# On light displays and paper, and on dark ones. Contrast with "paper" is 4.5 at least for text and 3 for marks. Nothing
# is told apart by colour alone.
PALETTE = {
    "paper": ("#ffffff", "#15171b"),
    "panel": ("#f4f5f7", "#1e2127"),
    "ink": ("#1b1d21", "#e7e9ed"),
    "muted": ("#565c67", "#a6adb9"),
    "rule": ("#d5d9df", "#3a3f49"),
    "grid": ("#e6e8ec", "#2a2e36"),
    "accent": ("#0b5aa5", "#82b9f3"),
    "agree": ("#00705a", "#4fc3a5"),
    "disagree": ("#b3350b", "#ff9067"),
    "inconclusive": ("#6d6236", "#cfc08a"),
    "attention": ("#0b66b0", "#6fb3ee"),
    "recall": ("#a04d00", "#f0a35e"),
    "accuracy": ("#7d3c98", "#cf9ae6"),
}
COLOURS = {name: light for name, (light, _) in PALETTE.items()}
# In the order of theory.phase.FAMILIES, which isn't imported here: commands read this module before they compute.
FAMILY_COLOURS = ("#b07500", "#2b87c4", "#b3568a", "#008a66", "#8c8200", "#c75000", "#747a85", "#6a5acd")
OTHER_FAMILY = "#747a85"
TINT = 0.45  # share of a family's colour in the regions that it fills: text and marks stay readable on them

MOST_TICKS = 7
MANY_DECADES = 2000  # the ratio of an axis' ends from which its ticks are powers of ten
LONG_NUMBER = 20_000  # from here on ticks are written as powers


def tint(family: str) -> str:
    """The colour of a region in which a family of noise terms binds.

    >>> tint("mean bias")
    '#dbc18c'
    """
    from ..theory.phase import FAMILIES

    colour = dict(zip(FAMILIES, FAMILY_COLOURS, strict=True)).get(family, OTHER_FAMILY)
    channels = (int(colour[i:i + 2], 16) for i in (1, 3, 5))
    return "#" + "".join(f"{round(255 - TINT * (255 - channel)):02x}" for channel in channels)


def check_pictures(paths: Iterable[str]) -> None:
    """Raise `SettingError` for "plot" where a path doesn't end in .svg, .pdf or .png, or matplotlib is missing.

    Commands call it before they compute anything.
    """
    for path in paths:
        if Path(path).suffix.lower().lstrip(".") not in FORMATS:
            raise SettingError("plot", f"plot={path!r} must end in one of {', '.join('.' + kind for kind in FORMATS)}")
        check_drawable()


def check_drawable(parameter: str = "plot") -> None:
    """Raise `SettingError` for `parameter` where matplotlib isn't installed."""
    if importlib.util.find_spec("matplotlib") is None:
        raise SettingError(parameter, "needs matplotlib: pip install 'recall-theory[plot]'")


def picture(draw: Callable[[], Figure], kind: str, name: str = "figure", transparent: bool = False) -> bytes:
    """The figure that `draw()` returns, as the bytes of a file: the same figure gives the same bytes.

    `kind` is "svg", "pdf" or "png". Text stays text in SVG and PDF. Every group of an SVG has an id that begins with
    `name`, so that several fit on one page; `transparent` leaves out the paper behind the figure. Raises
    `SettingError` where matplotlib isn't installed.

    >>> from matplotlib.figure import Figure
    >>> picture(Figure, "pdf")[:5]
    b'%PDF-'
    """
    check_drawable()
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    metadata: dict[str, dict[str, None]] = {"svg": nothing, "pdf": {"CreationDate": None}}
    file = io.BytesIO()
    with matplotlib.rc_context(_rc_parameters()):
        figure = draw()
        FigureCanvasAgg(figure)
        figure.draw_without_rendering()  # makes all ticks
        for number, artist in enumerate(figure.findobj()):
            artist.set_gid(f"{name}:{number}:{artist.get_gid() or ''}")
        figure.savefig(file, format=kind, dpi=DPI, metadata=metadata.get(kind), transparent=transparent)
    return file.getvalue()


def save_pictures(draw: Callable[[], Figure], paths: Iterable[str]) -> None:
    """Write the figure that `draw()` returns into each file, in the format of its ending.

    Raises `SettingError` for "plot" where a file can't be written.
    """
    for path in paths:
        content = picture(draw, Path(path).suffix.lower().lstrip("."))
        try:
            write_whole(path, content)
        except OSError as error:
            raise SettingError("plot", f"plot={path!r} can't be written: {error.strerror}") from None


def panel_grid(count: int, width: str, *, height: float, columns: int = 2,
               legend_rows: int = 0) -> tuple[Figure, list[Axes]]:
    """A figure of `count` panels: one below the other in a "single" column, `columns` side by side in a "double" one.

    `height` is that of a panel in units of its width; `legend_rows` reserves room below the panels.
    """
    from matplotlib.figure import Figure

    across = 1 if width == "single" else min(columns, count)
    down = -(-count // across)
    inches = WIDTHS[width]
    panel = min(inches / across, HIGHEST_PANEL) * height
    figure = Figure(figsize=(inches, panel * down + 0.17 * legend_rows), layout="constrained")
    axes = figure.subplots(down, across, squeeze=False).ravel().tolist()
    for unused in axes[count:]:
        unused.set_axis_off()
    return figure, axes[:count]


def log_ticks(axes: Axes, name: str, low: float, high: float) -> None:
    """Make the axis "x" or "y" logarithmic, for values from `low` to `high`.

    Ticks are at powers of ten or two or, over less than two octaves, at round numbers.
    """
    from matplotlib.ticker import LogFormatterMathtext, LogLocator, MaxNLocator, NullLocator, StrMethodFormatter

    base = 10 if high > MANY_DECADES * low else 2
    axes.set(**{f"{name}scale": "log"})
    axis: Axis = getattr(axes, f"{name}axis")
    axis.set_minor_locator(NullLocator())
    if high < 4 * low:
        axis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))
        axis.set_major_formatter(StrMethodFormatter("{x:,.5g}" if high < LONG_NUMBER else "{x:,.0f}"))
        return
    axis.set_major_locator(LogLocator(base, numticks=MOST_TICKS))
    axis.set_major_formatter(StrMethodFormatter("{x:g}") if high < LONG_NUMBER else LogFormatterMathtext(base))


def _rc_parameters() -> Any:
    ink, muted = COLOURS["ink"], COLOURS["muted"]
    return {
        "svg.fonttype": "none", "svg.hashsalt": "recall-theory", "pdf.fonttype": 42,
        "font.family": "sans-serif", "font.sans-serif": ["DejaVu Sans"], "font.size": 7.5,
        "axes.labelsize": 7.5, "axes.titlesize": 7.5, "legend.fontsize": 7, "legend.frameon": False,
        "xtick.labelsize": 7, "ytick.labelsize": 7, "lines.linewidth": 1.1, "hatch.linewidth": 0.5,
        "text.color": ink, "axes.labelcolor": ink, "xtick.labelcolor": ink, "ytick.labelcolor": ink,
        "axes.edgecolor": muted, "xtick.color": muted, "ytick.color": muted, "hatch.color": muted,
        "figure.facecolor": COLOURS["paper"], "axes.facecolor": "none", "grid.color": COLOURS["grid"],
        "axes.grid": True, "axes.axisbelow": True, "axes.spines.top": False, "axes.spines.right": False,
        "grid.linewidth": 0.6, "axes.linewidth": 0.6, "xtick.major.width": 0.6, "ytick.major.width": 0.6,
        "xtick.major.size": 2.5, "ytick.major.size": 2.5, "xtick.minor.size": 0, "ytick.minor.size": 0,
    }
