"""`recall-theory geometric report`: recall against d, capacity against hops and training thresholds, in one picture."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..geometric.geometric_setting import GEOMETRIC_PARAMETERS
from ..numerics.formatting import NOTHING, count
from ..plots.style import FORMATS, WIDTHS, check_drawable, picture
from .command import Answer, Command, Output
from .options import choice, file_option, option
from .pages import PAGES
from .text_layout import Block, Heading, Remark, Table, label, table

if TYPE_CHECKING:
    from ..geometric.geometric_report import GeometricReport

HEADING = "Facts in geometry: recall against d, relations against hops, and what training finds"
CAPTION = ("Recall against embedding dimension, predicted (lines) and simulated (marks), with the exact construction "
           "(stars) and the bound (dotted); the most relations against hops for each construction; and, where a study "
           "is given, the least dimension at which gradient descent recalls 95 % of the facts. The tables have the "
           "numbers.")


def run_report(output: Output, *, N: Sequence[int], R: Sequence[int], hops: int, seeds: int, seed: int | None,
               jobs: int, training: str | None, width: str) -> Answer:
    from ..geometric.geometric_report import gather_report

    ending = Path(output.file or "").suffix.lstrip(".").lower()
    wanted = ending if output.document and ending in (*FORMATS, *PAGES) else None
    if wanted:
        check_drawable("output")
    used = output.seed(seed)
    sizes = {name: tuple(dict.fromkeys(given)) for name, given in (("N", N), ("R", R)) if given}
    return output.measure(
        "simulations",
        lambda progress: gather_report(**sizes, most_hops=hops, seeds=seeds, seed=used, jobs=jobs,
                                       training=training, progress=progress),
        lambda report: _answer(report, wanted, width),
        lambda report: f"{sum(len(curve.simulated) for curve in report.curves)} points; --seed {used} repeats them")


def _answer(report: GeometricReport, wanted: str | None, width: str) -> Answer:
    records = [{"N": curve.N, "R": curve.R, "k": curve.k, "d": d, "predicted": dict(curve.predicted)[d],
                "observed": seen.mean, "se": seen.to_dict()["se"]}
               for curve in report.curves for d, seen in curve.simulated]
    blocks = _blocks(report, records)
    answer = Answer(report.to_dict(), records, blocks)
    if wanted is None:
        return answer
    from ..plots.geometric_diagram import geometric_figure

    drawn = picture(partial(geometric_figure, report, width), "svg" if wanted in PAGES else wanted,
                    transparent=wanted in PAGES)
    return dataclasses.replace(answer, document=_page(blocks, drawn.decode()) if wanted in PAGES else drawn)


def _blocks(report: GeometricReport, records: Sequence[Mapping[str, object]]) -> list[Block]:
    from ..geometric.geometric_report import HELD

    least = [{"N": curve.N, "R": curve.R, "bound, one bit": curve.bound, "exact construction": curve.exact,
              "random superposition, 0.99": curve.reaches} for curve in report.curves]
    most = [{"way": way, **{f"h = {h}": R for h, R in enumerate(values, start=1)}}
            for way, values in report.frontiers.items()]
    blocks: list[Block] = [
        Heading(HEADING),
        table(records, "Recall of random superposition"),
        table(least, "The least d for all facts", formats=dict.fromkeys(list(least[0])[2:], count)),
        table(most, f"The most relations at d = {HELD} coordinates of one bit, N = {count(report.frontier_N)}",
              formats=dict.fromkeys(list(most[0])[1:], count)),
    ]
    if report.training:
        blocks.append(table([{"N": row["N"], "R": row["R"], "R log2 N": row["R"] * math.log2(row["N"]),
                              "trained": row["least"], "frozen": row["frozen"]} for row in report.training],
                            "The least d at which gradient descent recalls 95 % of the facts"))
    return [*blocks, table(report.sources, "Sources", formats={"what": label}),
            Remark(f"h hops are answered in one pass, but in layers and by chain of thought; {NOTHING} is where there "
                   "is none, or no bound is known. The bound is for facts in subject embeddings alone, one bit a "
                   "coordinate. Frozen: entities' embeddings at random.")]


def _page(blocks: Sequence[Block], drawn: str) -> bytes:
    """The same answer as one HTML page that loads nothing."""
    from ..web.document import asset, render

    tables = [(tuple(block.columns), [[write(value) for write, value in zip(block.columns.values(), row, strict=True)]
                                      for row in block.rows], block.title)
              for block in blocks if isinstance(block, Table)]
    remarks = [block for block in blocks if isinstance(block, Remark)]
    return render("answer.html.jinja", style=asset("report.css"), script="", style_attributes=True, heading=HEADING,
                  svg=drawn[drawn.index("<svg"):], caption=CAPTION, tables=tables, remarks=remarks).encode()



def _several(name: str, default: str) -> click.Option:
    return option(name, among=GEOMETRIC_PARAMETERS, multiple=True, help=(
        f"{GEOMETRIC_PARAMETERS[name].meaning}; may be repeated, {default} where absent"))


report_command = Command(
    "report", run_report,
    params=[
        _several("N", "32 and 256"), _several("R", "4 and 16"),
        option("hops", among=GEOMETRIC_PARAMETERS, default=4, help="hops up to which relations are counted"),
        option("seeds", default=8), "seed", "jobs",
        file_option("training", "rows of validation/geometric_training.py, for a panel of training thresholds"),
        choice("width", tuple(WIDTHS), "width of the figure: a column of print (3.4 in) or two (7 in)",
               metavar="single|double", default="double", show_default=True),
    ],
    help="One picture of geometric recall: recall against d with its prediction, its bound and simulated points; the "
         "relations that each construction holds at 1, 2, .. hops; thresholds of training; and where all of it comes "
         "from. --output FILE.svg, FILE.pdf or FILE.png writes the figure, FILE.html a page with its numbers.",
    examples=["geometric report --N 32 --R 2 --seeds 4 --seed 1",
              "geometric report --seed 1 --output geometric.html"],
)
