"""What all figures share: how they are saved, their colours, their sizes and the ticks of their logarithmic axes."""

from __future__ import annotations

import importlib.util
import io
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import SettingError
from ..numerics.formatting import write_named
from ..settings import SIZES

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

WIDTHS = {"single": 3.4, "double": 7.0}  # inches: one column of print, and two
HIGHEST_PANEL, LEGEND_ROW = 4.0, 0.17  # inches
CHARACTERS_AN_INCH = 20  # of a legend
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
FAMILY_COLOURS = {"mean bias": "#b07500", "gradient noise": "#2b87c4", "MLP noise": "#b3568a",
                  "interference": "#008a66", "attention overlap": "#8c8200", "token overlap": "#c75000",
                  "facts never seen": "#747a85", "finite rates": "#6a5acd"}
TINT = 0.45  # share of a family's colour in the regions that it fills: text and marks stay readable on them

MOST_TICKS = 7
MANY_DECADES = 2000  # the ratio of an axis' ends from which its ticks are powers of ten
LONG_NUMBER = 20_000  # from here on ticks are written as powers

DOTTED = (0, (1, 2))
SIZE_WORDS = {"V": "vocabulary", "L": "sequence length", "d": "embedding dimension", "N": "training samples",
              "m": "MLP width", "N/V": "samples a fact"}

STYLE: Any = {
    "svg.fonttype": "none", "svg.hashsalt": "recall-theory", "pdf.fonttype": 42,
    "font.family": "sans-serif", "font.sans-serif": ["DejaVu Sans"], "font.size": 7.5,
    **dict.fromkeys(("axes.labelsize", "axes.titlesize"), 7.5),
    **dict.fromkeys(("legend.fontsize", "xtick.labelsize", "ytick.labelsize"), 7),
    **dict.fromkeys(("text.color", "axes.labelcolor", "xtick.labelcolor", "ytick.labelcolor"), COLOURS["ink"]),
    **dict.fromkeys(("axes.edgecolor", "xtick.color", "ytick.color", "hatch.color"), COLOURS["muted"]),
    **dict.fromkeys(("grid.linewidth", "axes.linewidth", "xtick.major.width", "ytick.major.width"), 0.6),
    **dict.fromkeys(("xtick.major.size", "ytick.major.size"), 2.5),
    **dict.fromkeys(("xtick.minor.size", "ytick.minor.size"), 0), "lines.linewidth": 1.1, "hatch.linewidth": 0.5,
    "figure.facecolor": COLOURS["paper"], "axes.facecolor": "none", "grid.color": COLOURS["grid"], "axes.grid": True,
    "axes.axisbelow": True, "axes.spines.top": False, "axes.spines.right": False, "legend.frameon": False,
}


def tint(family: str) -> str:
    """The colour of a region in which a family of noise terms binds.

    >>> tint("mean bias")
    '#dbc18c'
    """
    colour = FAMILY_COLOURS.get(family, "#747a85")
    channels = (int(colour[i:i + 2], 16) for i in (1, 3, 5))
    return "#" + "".join(f"{round(255 - TINT * (255 - channel)):02x}" for channel in channels)


def check_pictures(paths: Iterable[str]) -> None:
    """Raise `SettingError` for "plot" where a path doesn't end in .svg, .pdf or .png, or matplotlib is missing.

    Commands call it before they compute anything.
    """
    for path in paths:
        if _ending(path) not in FORMATS:
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

    metadata = {"svg": dict.fromkeys(("Date", "Creator", "Format", "Type")), "pdf": {"CreationDate": None}}.get(kind)
    file = io.BytesIO()
    with matplotlib.rc_context(STYLE):
        figure = draw()
        FigureCanvasAgg(figure)
        figure.draw_without_rendering()  # makes all ticks
        for number, artist in enumerate(figure.findobj()):
            artist.set_gid(f"{name}:{number}:{artist.get_gid() or ''}")
        figure.savefig(file, format=kind, dpi=DPI, metadata=metadata, transparent=transparent)
    return file.getvalue()


def save_pictures(draw: Callable[[], Figure], paths: Iterable[str]) -> None:
    """Write the figure that `draw()` returns into each file, in the format of its ending.

    Raises `SettingError` for "plot" where a file can't be written.
    """
    for path in paths:
        write_named("plot", path, picture(draw, _ending(path)))


def _ending(path: str) -> str:
    return Path(path).suffix.lower().lstrip(".")


def panel_grid(count: int, width: str, *, height: float, columns: int = 2) -> tuple[Figure, list[Axes]]:
    """A figure of `count` panels: one below the other in a "single" column, `columns` side by side in a "double" one.

    `height` is that of a panel in units of its width.
    """
    from matplotlib.figure import Figure

    across = 1 if width == "single" else min(columns, count)
    down = -(-count // across)
    inches = WIDTHS[width]
    panel = min(inches / across, HIGHEST_PANEL) * height
    figure = Figure(figsize=(inches, panel * down), layout="constrained")
    axes = figure.subplots(down, across, squeeze=False).ravel().tolist()
    for unused in axes[count:]:
        unused.set_axis_off()
    return figure, axes[:count]


def size_label(size: str) -> str:
    """The label of an axis: "training samples N"."""
    return f"{SIZE_WORDS[size]} {size}" if size in SIZES else size


def key(label: str, **style: Any) -> Artist:
    """An entry of a legend: a line or a mark in the style of `Axes.plot`."""
    from matplotlib.lines import Line2D

    return Line2D([], [], label=label, **style)


def figure_legend(figure: Figure, handles: Sequence[Artist]) -> None:
    """A legend below the panels, for which the figure grows, that is read row by row; none without handles."""
    longest = 5 + max((len(str(handle.get_label())) for handle in handles), default=0)  # with its line or mark
    columns = min(max(1, int(figure.get_figwidth() * CHARACTERS_AN_INCH / longest)), len(handles))
    by_column = [handle for first in range(columns) for handle in handles[first::columns]]
    if by_column:
        figure.set_figheight(figure.get_figheight() + LEGEND_ROW * -(-len(handles) // columns))
        figure.legend(handles=by_column, loc="outside lower center", ncols=columns, handlelength=1.5, handletextpad=0.4,
                      columnspacing=1.0)


def log_ticks(axes: Axes, name: str, low: float, high: float) -> None:
    """Make the axis "x" or "y" logarithmic, for values from `low` to `high`.

    Ticks are at powers of ten or two or, over less than two octaves, at round numbers.
    """
    from matplotlib.ticker import LogFormatterMathtext, LogLocator, MaxNLocator, NullLocator, StrMethodFormatter

    axes.set(**{f"{name}scale": "log"})
    axis: Axis = getattr(axes, f"{name}axis")
    axis.set_minor_locator(NullLocator())
    if high < 4 * low:
        axis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))
        axis.set_major_formatter(StrMethodFormatter("{x:,.5g}" if high < LONG_NUMBER else "{x:,.0f}"))
    else:
        base = 10 if high > MANY_DECADES * low else 2
        axis.set_major_locator(LogLocator(base, numticks=MOST_TICKS))
        axis.set_major_formatter(StrMethodFormatter("{x:g}") if high < LONG_NUMBER else LogFormatterMathtext(base))
