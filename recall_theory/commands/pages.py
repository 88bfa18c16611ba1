"""`recall-theory report` and `recall-theory explore`: a page about a store, and a page on which sizes are moved."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..numerics.formatting import plural, signed
from ..plots.style import FORMATS, WIDTHS, check_drawable, picture
from ..settings import OBSERVABLES
from .command import Answer, Command, Output, map_with_progress
from .options import file_option, option
from .scaling import blocks as scaling_blocks
from .streams import BadInput, shown
from .text_layout import Block, Heading, Remark, Table, words

if TYPE_CHECKING:
    from ..sweep.store_analysis import StoreSummary
    from ..web.explore_server import Server

PAGES = ("html", "htm")
FIGURES = ("agreement", "residuals", "phase", "scaling")


def run_report(output: Output, store: str | None, *, at: float, jobs: int, figure: str | None, width: str | None,
               observable: tuple[str, ...]) -> Answer:
    ending = Path(output.file or "").suffix.lstrip(".").lower()
    wants_page = figure is None and output.document and ending in PAGES
    wants_figure = figure is not None and not (output.json or output.csv)
    _check_file(figure, wants_figure, output.file, ending)
    if figure is None and (width or observable):
        raise BadInput("--width and --observable are for --figure: give that too, or leave them out")
    if wants_page or wants_figure:
        check_drawable("output")
    phases = figure == "phase" if figure is not None else wants_page or output.json
    summary = _summary(output, store, at, jobs, phases)
    if output.csv and not summary.analysis.cells:
        raise BadInput("--csv has nothing to list: the theory describes none of the store's cells")

    answer = Answer(summary.to_dict(), summary.analysis.records(), _tally(summary, str(store)))
    if figure is not None:
        return _figure(answer, summary, figure, tuple(dict.fromkeys(observable)) or OBSERVABLES,
                       (width or "double", ending) if wants_figure else None)
    if wants_page:
        from ..web.report_page import page

        return dataclasses.replace(answer, document=page(summary).encode())
    return answer


def _check_file(figure: str | None, wants_figure: bool, file: str | None, ending: str) -> None:
    """Refuse a file whose ending doesn't go with what is wanted, before any work."""
    if figure is None and ending in FORMATS:
        raise BadInput(f"--figure is missing for --output {shown(file)}: one of {', '.join(FIGURES)}")
    if wants_figure and ending not in FORMATS:
        named = "is missing: a file" if file is None else f"{shown(file)} is not a file"
        raise BadInput(f"--output {named} that ends in {', '.join('.' + kind for kind in FORMATS)}")


def _summary(output: Output, store: str | None, at: float, jobs: int, phases: bool) -> StoreSummary:
    """What the store shows; `phases` is whether phase diagrams are wanted, which take seconds."""
    if store is None:
        raise BadInput("--store is missing: the file of a sweep or a scaling")
    from ..sweep.slices import DIAGRAM_CELLS
    from ..sweep.store import Store
    from ..sweep.store_analysis import summarise_store
    from ..sweep.sweep_results import gathered

    with Store(store, must_exist=True) as kept:
        unused = kept.unused()
        results = gathered(kept, kept.current())
    if not results.found:
        raise BadInput(f"--store {shown(store)}: {unused or 'it holds no result: nothing to report'}")
    if unused:
        output.note(f"{output.command}: {store}: {unused}")
    with output.bar("predictions") as bar:
        return summarise_store(results, at, diagram_cells=DIAGRAM_CELLS if phases else None,
                               mapped=map_with_progress(jobs, bar.update))


def _figure(answer: Answer, summary: StoreSummary, name: str, observables: Sequence[str],
            drawn: tuple[str, str] | None) -> Answer:
    """The figure in words and, where `drawn` says its width and its format, as a picture."""
    from ..plots.store_figures import store_figure

    figure = store_figure(summary, name, observables)
    descriptions = [figure.describe(item) for item in figure.items.values()]
    document = None if drawn is None else picture(partial(figure.whole, drawn[0]), drawn[1])
    return dataclasses.replace(answer, data={**answer.data, "words": descriptions}, blocks=descriptions,
                               document=document)


def _tally(summary: StoreSummary, store: str) -> list[Block]:
    """The verdicts counted, what has no prediction, critical sizes; the page has each comparison."""
    analysis = summary.analysis
    blocks: list[Block] = [
        Heading(f"Does the theory agree with the simulations in {store}?"),
        f"{plural(len(analysis.all_problems), 'cell')}, {plural(sum(analysis.seed_counts), 'seed')} in all.",
    ]
    if analysis.cells:
        rows = [(o or "all", *analysis.tally(o).values()) for o in (*OBSERVABLES, None)]
        cell, name, worst = analysis.largest
        blocks += [Table({"observable": words, **dict.fromkeys(analysis.tally(), "{:,}".format)}, rows),
                   f"Largest difference: {signed(worst.difference)}, {name} at {cell.setting.describe()}.\n"
                   f"Verdict: {analysis.verdict}."]
    if analysis.refused:
        blocks.append(f"Without a prediction: {plural(len(analysis.refused), 'cell')}; {analysis.refused[0].reason}.")
    for s in summary.slices:
        for scaling in s.scalings:
            blocks += scaling_blocks(scaling)
    return [*blocks, Remark("--output report.html writes the page: every comparison, figures, phase diagrams and "
                            "formulas.")]


def run_explore(output: Output, port: int | None, browser: bool) -> Answer:
    if output.file is not None:
        raise BadInput("--output: this page needs the running program, so none is written (report writes pages)")
    from ..simulate.workers import one_thread

    with _server(port) as server:
        record = {"address": server.address, "port": server.port}
        output.deliver(Answer({"schema_version": 1, **record}, [record], [
            server.address, Remark("The page is there, for this machine alone, until Ctrl-C.")]))
        if browser:
            _open(server.address)
        server.warm_up()
        with one_thread():  # the matrices are small: threads would only wait for one another
            server.serve_forever()
    raise KeyboardInterrupt  # what else ends a server that never ends by itself


def _server(port: int | None) -> Server:
    from ..web.explore_answers import answers
    from ..web.explore_page import page
    from ..web.explore_server import Server

    try:
        return Server(port or 0, page, answers)
    except OSError as error:
        raise BadInput(f"--port {port or 0} cannot be listened on: {error.strerror or error}") from None


def _open(address: str) -> None:
    """Show the page in the user's browser; where there is none, the address that was printed serves."""
    import threading
    import webbrowser

    # A browser may keep the call until it is closed, and it needs the page meanwhile.
    threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()


report_command = Command(
    "report", run_report,
    params=[
        file_option("store", "the store of a sweep or a scaling  [required]"),
        click.Option(["--figure", "figure"], type=click.Choice(FIGURES), metavar="FIGURE",
                     help="one figure for print, written by --output FILE.pdf, FILE.svg or FILE.png: agreement "
                          "(predicted against observed), residuals (what is left, against each size), phase "
                          "(predicted regions with simulated cells on them) or scaling (critical sizes)"),
        click.Option(["--width", "width"], type=click.Choice(list(WIDTHS)), metavar="single|double",
                     help="width of the figure: a column of print (3.4 in) or two (7 in)  [default: double]"),
        click.Option(["--observable", "observable"], type=click.Choice(OBSERVABLES), multiple=True,
                     metavar="OBSERVABLE", help="attention, recall or accuracy in the figure; may be repeated; all "
                                                "where absent"),
        option("at", help="the level whose crossing is critical, and the boundary in phase diagrams"),
        option("jobs"),
    ],
    help="Lay what a store holds beside the theory, by the rules of verify. With --output FILE.html: one page with "
         "the verdict, every comparison, figures, phase diagrams, critical sizes, formulas and the command that "
         "repeats it. It needs no network. With --figure: one figure for print; the same store gives the same bytes.",
    examples=["report --store sweep.db --output report.html",
              "report --store sweep.db --figure agreement --output agreement.pdf",
              "report --store sweep.db --at 0.9 --json --output report.json"],
)

explore_command = Command(
    "explore", run_explore,
    params=[
        option("port", help="port of 127.0.0.1 to serve on; a free one where absent"),
        click.Option(["--browser/--no-browser", "browser"], default=True,
                     help="open the page in the browser, or only print its address  [default: browser]"),
    ],
    help="A page with a slider for each size that shows attention, recall, accuracy, the noise budget and the bounds "
         "as they move. It is served to this machine alone until Ctrl-C.",
    examples=["explore", "explore --port 8000 --no-browser"],
)
