"""`recall-theory report`, `geometric report` and `explore`: pages about a store, the second paper, and moved sizes."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from ..geometric.geometric_setting import GeometricSetting
from ..numerics.formatting import NOTHING, count, number, plural
from ..plots.style import FORMATS, WIDTHS, check_drawable, picture
from ..settings import OBSERVABLES
from .answers import Answer, Output, command, map_with_progress
from .options import choice, file_option, flag, option
from .streams import BadInput, shown
from .sweep import scaling_blocks
from .text_layout import Block, Heading, Remark, table
from .verify import bias_in_words

if TYPE_CHECKING:
    from ..sweep.store_summary import StoreSummary


PAGES = ("html", "htm")
WIDTH = choice("width", tuple(WIDTHS), "width of the figure: a column of print (3.4 in) or two (7 in)",
               metavar="single|double", default="double", show_default=True)
FIGURES = ("agreement", "residuals", "phase", "scaling")


@command("report --store sweep.db --output report.html",
         "report --store sweep.db --figure agreement --output agreement.pdf",
         "report --store sweep.db --at 0.9 --json --output report.json",
         params=[file_option("store", "the store of a sweep or a scaling", required=True),
                 choice("figure", FIGURES, "one figure for print, written by --output FILE.pdf, FILE.svg or FILE.png: "
                        "agreement (predicted against observed), residuals (what is left, against each size), phase "
                        "(predicted regions with simulated cells on them) or scaling (critical sizes)",
                        metavar="FIGURE"), WIDTH,
                 choice("observable", OBSERVABLES, "attention, recall or accuracy; may be repeated; all where absent",
                        metavar="OBSERVABLE", multiple=True),
                 option("at", help="the level whose crossing is critical, and the boundary in phase diagrams"), "jobs"],
         goes_with={"width": "figure", "observable": "figure"})
def report_command(output: Output, *, store: str, at: float, jobs: int, figure: str | None, width: str,
                   observable: Sequence[str]) -> Answer:
    """Lay what a store holds beside the theory, by the rules of verify. With --output FILE.html: one page with the
    verdict, every comparison, figures, phase diagrams, critical sizes, formulas and the command that repeats it. It
    needs no network. With --figure: one figure for print; the same store gives the same bytes."""
    wants_page = figure is None and output.form in PAGES
    wants_figure = figure is not None and not (output.json or output.csv)
    if figure is None and output.form in FORMATS:
        raise BadInput(f"--figure is missing for --output {shown(output.file)}: one of {', '.join(FIGURES)}")
    if wants_figure and output.form not in FORMATS:
        named = "is missing: a file" if output.file is None else f"{shown(output.file)} is not a file"
        raise BadInput(f"--output {named} that ends in {', '.join('.' + kind for kind in FORMATS)}")
    if wants_page or wants_figure:
        check_drawable("output")
    wants_phases = figure == "phase" or wants_page or (figure is None and output.json)
    summary = _summary(output, store, at, jobs, wants_phases)
    if output.csv and not summary.analysis.cells:
        raise BadInput("--csv has nothing to list: the theory describes none of the store's cells")

    answer = Answer(summary.to_dict(), summary.analysis.records(), _tally(summary, store))
    if wants_page:
        from ..web.report_page import page

        return dataclasses.replace(answer, document=page(summary).encode())
    if figure is None:
        return answer
    from ..plots.store_figures import store_figure

    drawn = store_figure(summary, figure, tuple(dict.fromkeys(observable)) or OBSERVABLES)
    words = [panel.words for panel in drawn.panels]
    document = picture(partial(drawn.draw, width), output.form) if wants_figure else None
    return dataclasses.replace(answer, data={**answer.data, "words": words}, blocks=words, document=document)


def _summary(output: Output, store: str, at: float, jobs: int, wants_phases: bool) -> StoreSummary:
    """What the store shows, with phase diagrams where they are wanted: these take seconds."""
    from ..sweep.store import Store, gathered
    from ..sweep.store_summary import DIAGRAM_CELLS, summarise_store

    with Store(store, must_exist=True) as kept:
        unused = kept.unused()
        results = gathered(kept, kept.current())
    if not results.found:
        raise BadInput(f"--store {shown(store)}: {unused or 'it holds no result: nothing to report'}")
    if unused:
        output.say(f"{store}: {unused}")
    with output.bar("parts") as progress:
        return summarise_store(results, at, diagram_cells=DIAGRAM_CELLS if wants_phases else None,
                               mapped=map_with_progress(jobs, progress))


def _tally(summary: StoreSummary, store: str) -> list[Block]:
    """The verdicts counted, what has no prediction, critical sizes; the page has each comparison."""
    analysis = summary.analysis
    verdict = f"Verdict: {analysis.verdict}. " if analysis.cells else ""
    blocks: list[Block] = [
        Heading(f"Does the theory agree with the simulations in {store}?"),
        f"{verdict}{plural(len(analysis.all_problems), 'cell')}, {plural(sum(analysis.seed_counts), 'seed')} in all."
        f"{bias_in_words(analysis)}",
    ]
    if analysis.cells:
        blocks.append(table({"observable": o or "all", **analysis.tally(o)} for o in (*OBSERVABLES, None)))
    if analysis.refused:
        blocks.append(f"Without a prediction: {plural(len(analysis.refused), 'cell')}; {analysis.refused[0].reason}.")
    for scaling in (scaling for each in summary.slices for scaling in each.scalings):
        blocks += scaling_blocks(scaling)
    return [*blocks, Remark("--output report.html writes the page, with every comparison.")]


@command("explore",
         "explore --port 8000 --no-browser",
         params=[option("port", help="port of 127.0.0.1 to serve on; a free one where absent"),
                 flag("browser", "open the page in the browser, or only print its address", switch=True, default=True,
                      show_default=True)])
def explore_command(output: Output, *, port: int | None, browser: bool) -> Answer:
    """A page with a slider for each size that shows attention, recall, accuracy, the noise budget and the bounds as
    they move. It is served to this machine alone until Ctrl-C."""
    if output.file is not None:
        raise BadInput("--output: this page needs the running program, so none is written (report writes pages)")
    import threading
    import webbrowser

    from ..simulate.workers import one_thread
    from ..web.explore_page import answers, page
    from ..web.explore_server import Server

    try:
        listening = Server(port or 0, page, answers)
    except OSError as error:
        raise BadInput(f"--port {port or 0} cannot be listened on: {error.strerror or error}") from None
    with listening as server:
        record = {"address": server.address, "port": server.port}
        output.deliver(Answer(record, [record], [
            server.address, Remark("The page is there, for this machine alone, until Ctrl-C.")]))
        if browser:  # a browser may keep the call until it is closed, and it needs the page meanwhile
            threading.Thread(target=webbrowser.open, args=(server.address,), daemon=True).start()
        server.warm_up()
        with one_thread():  # the matrices are small: threads would only wait for one another
            server.serve_forever()
    raise KeyboardInterrupt  # what else ends a server that never ends by itself


HEADING = "Facts in geometry: recall against d, relations against hops, and what training finds"
CAPTION = ("Recall against embedding dimension, predicted (lines) and simulated (marks), with the exact construction "
           "(stars) and the bound (dotted); the most relations against hops for each construction; and, where a study "
           "is given, the least dimension at which gradient descent recalls 95 % of the facts. The tables have the "
           "numbers.")
GEOMETRIC = GeometricSetting.parameters


@command("geometric report --N 32 --R 2 --seeds 4 --seed 1",
         "geometric report --seed 1 --output geometric.html",
         params=[*(option(name, among=GEOMETRIC, multiple=True,
                          help=f"{GEOMETRIC[name].meaning}; may be repeated, {default} where absent")
                   for name, default in (("N", "32 and 256"), ("R", "4 and 16"))),
                 option("hops", among=GEOMETRIC, default=4, help="hops up to which relations are counted"),
                 option("seeds", default=8), "seed", "jobs",
                 file_option("training", "rows of validation/geometric_training.py, for a panel of training "
                             "thresholds"), WIDTH])
def geometric_report_command(output: Output, *, N: Sequence[int], R: Sequence[int], hops: int, seeds: int,
                             seed: int | None, jobs: int, training: str | None, width: str) -> Answer:
    """One picture of geometric recall: recall against d with its prediction, its bound and simulated points; the
    relations that each construction holds at 1, 2, .. hops; thresholds of training; and where all of it comes from.
    --output FILE.svg, FILE.pdf or FILE.png writes the figure, FILE.html a page with its numbers."""
    from ..geometric.geometric_report import HELD, gather_report

    wanted = output.form if output.form in (*FORMATS, *PAGES) else None
    if wanted:
        check_drawable("output")
    used = output.seed(seed)
    sizes = {name: tuple(dict.fromkeys(given)) for name, given in (("N", N), ("R", R)) if given}
    report = output.measure(
        "simulations", lambda progress: gather_report(**sizes, most_hops=hops, seeds=seeds, seed=used, jobs=jobs,
                                                      training=training, progress=progress),
        lambda found: f"{sum(len(curve.simulated) for curve in found.curves)} points; --seed {used} repeats them")

    records: list[dict[str, object]] = [
        {"N": curve.N, "R": curve.R, "k": curve.k, "d": d, "predicted": dict(curve.predicted)[d], "observed": seen.mean,
         "se": None if math.isnan(seen.se) else seen.se}
        for curve in report.curves for d, seen in curve.simulated]
    most = [{"way": way, **{f"h = {h}": R for h, R in enumerate(values, start=1)}}
            for way, values in report.frontiers.items()]
    trained = [{**row, "order": number(row["R"] * math.log2(row["N"]))} for row in report.training]
    tables = [
        table(records, title="Recall of random superposition"),
        table(report.curves, "N, R, bound one bit=bound, exact construction=exact, random superposition 0.99=reaches",
              "The least d for all facts"),
        table(most, title=f"The most relations at d = {HELD} coordinates of one bit, N = {count(report.frontier_N)}"),
        table(trained, "N, R, R log2 N=order, trained=least, frozen" if trained else "",
              "The least d at which gradient descent recalls 95 % of the facts"),
        table(report.sources, title="Sources", whole=("what",)),
    ]
    remark = Remark(f"{NOTHING} is where there is none, or no bound is known. The bound is for facts in subject "
                    "embeddings alone, one bit a coordinate. Frozen: entities' embeddings at random.")
    answer = Answer(report.to_dict(), records, [Heading(HEADING), *tables, remark])
    if wanted is None:
        return answer
    from ..plots.diagrams import geometric_figure

    is_page = wanted in PAGES
    document = picture(partial(geometric_figure, report, width), "svg" if is_page else wanted, transparent=is_page)
    if is_page:
        from ..web.document import asset, render

        drawn = document.decode()
        document = render(
            "answer.html.jinja", style=asset("report.css"), script="", style_attributes=True, heading=HEADING,
            svg=drawn[drawn.index("<svg"):], caption=CAPTION, remarks=[remark],
            tables=[(each.headings, each.rows, each.title) for each in tables]).encode()
    return dataclasses.replace(answer, document=document)
