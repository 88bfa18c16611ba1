"""`recall-theory report` and `recall-theory explore`: a page about a store, and a page on which sizes are moved."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ..numerics.formatting import plural, signed
from ..plots.style import FORMATS, WIDTHS, check_drawable, picture
from ..settings import OBSERVABLES
from .command import Answer, Command, Output, map_with_progress
from .options import choice, file_option, flag, option
from .scaling import blocks as scaling_blocks
from .streams import BadInput, shown
from .text_layout import Block, Heading, Remark, table
from .verify import bias_in_words

if TYPE_CHECKING:
    from ..sweep.store_summary import StoreSummary

PAGES = ("html", "htm")
FIGURES = ("agreement", "residuals", "phase", "scaling")


def run_report(output: Output, *, store: str, at: float, jobs: int, figure: str | None, width: str,
               observable: Sequence[str]) -> Answer:
    ending = Path(output.file or "").suffix.lstrip(".").lower()
    is_text = output.json or output.csv
    wants_page = figure is None and output.document and ending in PAGES
    wants_figure = figure is not None and not is_text
    if figure is None and ending in FORMATS:
        raise BadInput(f"--figure is missing for --output {shown(output.file)}: one of {', '.join(FIGURES)}")
    if wants_figure and ending not in FORMATS:
        named = "is missing: a file" if output.file is None else f"{shown(output.file)} is not a file"
        raise BadInput(f"--output {named} that ends in {', '.join('.' + kind for kind in FORMATS)}")
    if wants_page or wants_figure:
        check_drawable("output")
    summary = _summary(output, store, at, jobs, figure == "phase" or wants_page or (figure is None and output.json))
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
    words = [drawn.describe(item) for item in drawn.items.values()]
    document = picture(partial(drawn.whole, width), ending) if wants_figure else None
    return dataclasses.replace(answer, data={**answer.data, "words": words}, blocks=words, document=document)


def _summary(output: Output, store: str, at: float, jobs: int, phases: bool) -> StoreSummary:
    """What the store shows; `phases` is whether phase diagrams are wanted, which take seconds."""
    from ..sweep.store import Store, gathered
    from ..sweep.store_summary import DIAGRAM_CELLS, summarise_store

    with Store(store, must_exist=True) as kept:
        unused = kept.unused()
        results = gathered(kept, kept.current())
    if not results.found:
        raise BadInput(f"--store {shown(store)}: {unused or 'it holds no result: nothing to report'}")
    if unused:
        output.note(f"{output.command}: {store}: {unused}")
    with output.bar("predictions") as progress:
        return summarise_store(results, at, diagram_cells=DIAGRAM_CELLS if phases else None,
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
        cell, name, worst = analysis.largest
        blocks += [table({"observable": o or "all", **analysis.tally(o)} for o in (*OBSERVABLES, None)),
                   f"Largest difference: {signed(worst.difference)}, {name} at {cell.setting.describe()}."]
    if analysis.refused:
        blocks.append(f"Without a prediction: {plural(len(analysis.refused), 'cell')}; {analysis.refused[0].reason}.")
    for scaling in (scaling for s in summary.slices for scaling in s.scalings):
        blocks += scaling_blocks(scaling)
    return [*blocks, Remark("--output report.html writes the page: every comparison, figures, phase diagrams and "
                            "formulas.")]


def run_explore(output: Output, *, port: int | None, browser: bool) -> Answer:
    if output.file is not None:
        raise BadInput("--output: this page needs the running program, so none is written (report writes pages)")
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
        if browser:
            _open(server.address)
        server.warm_up()
        with one_thread():  # the matrices are small: threads would only wait for one another
            server.serve_forever()
    raise KeyboardInterrupt  # what else ends a server that never ends by itself


def _open(address: str) -> None:
    """Show the page in the user's browser; where there is none, the address that was printed serves."""
    import threading
    import webbrowser

    # A browser may keep the call until it is closed, and it needs the page meanwhile.
    threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()


report_command = Command(
    "report", run_report,
    params=[
        file_option("store", "the store of a sweep or a scaling", required=True),
        choice("figure", FIGURES, "one figure for print, written by --output FILE.pdf, FILE.svg or FILE.png: agreement "
               "(predicted against observed), residuals (what is left, against each size), phase (predicted regions "
               "with simulated cells on them) or scaling (critical sizes)", metavar="FIGURE"),
        choice("width", tuple(WIDTHS), "width of the figure: a column of print (3.4 in) or two (7 in)",
               metavar="single|double", default="double", show_default=True),
        choice("observable", OBSERVABLES, "attention, recall or accuracy in the figure; may be repeated; all where "
               "absent", metavar="OBSERVABLE", multiple=True),
        option("at", help="the level whose crossing is critical, and the boundary in phase diagrams"),
        "jobs",
    ],
    goes_with={"width": "figure", "observable": "figure"},
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
        flag("browser", "open the page in the browser, or only print its address", switch=True, default=True,
             show_default=True),
    ],
    help="A page with a slider for each size that shows attention, recall, accuracy, the noise budget and the bounds "
         "as they move. It is served to this machine alone until Ctrl-C.",
    examples=["explore", "explore --port 8000 --no-browser"],
)
