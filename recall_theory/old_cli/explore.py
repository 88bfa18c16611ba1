"""`recall-theory explore`: a page on which sizes are moved, served to this machine alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ..report.answer import Answer, Prose
from .command import Command, Output
from .errors import BadInput
from .options import option

if TYPE_CHECKING:
    from ..web.explore_server import Server


def run(output: Output, port: int | None, browser: bool) -> Answer:
    from threadpoolctl import threadpool_limits

    if output.file is not None:
        raise BadInput("--output: this page needs the running program, so none is written (report writes pages)")
    with _server(port) as server:
        record = {"address": server.address, "port": server.port}
        output.deliver(Answer({"schema_version": 1, **record}, [record], [
            Prose(server.address),
            Prose("The page is there, for this machine alone, until Ctrl-C.", remark=True),
        ]))
        if browser:
            _open(server.address)
        server.warm_up()
        with threadpool_limits(1):  # the matrices are small: threads would only wait for one another
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


command = Command(
    "explore", run,
    params=[
        option("port", help="port of 127.0.0.1 to serve on; a free one where absent"),
        click.Option(["--browser/--no-browser", "browser"], default=True,
                     help="open the page in the browser, or only print its address  [default: browser]"),
    ],
    help="A page with a slider for each size that shows attention, recall, accuracy, the noise budget and the bounds "
         "as they move. It is served to this machine alone until Ctrl-C.",
    examples=["explore", "explore --port 8000 --no-browser"],
)
