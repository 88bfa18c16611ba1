"""`recall-theory explore`: the calculator page, served to this machine alone or written to a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ..report.answer import Answer, Prose, Verbatim
from .command import Command, Output
from .errors import BadInput
from .options import option

if TYPE_CHECKING:
    from ..pages.calculator.serve import Server


def run(output: Output, port: int | None, browser: bool) -> Answer:
    from ..pages import calculator

    if output.file is not None:
        if output.json or output.csv:
            raise BadInput("--output writes the page: leave --json and --csv out")
        if port is not None:
            raise BadInput("--output writes the page and serves nothing: leave --port out")
        return Answer({}, [], [Verbatim(calculator.page())])
    with _server(port) as server:
        record = {"address": server.address, "port": server.port}
        output.deliver(Answer({"schema_version": 1, **record}, [record], [
            Prose(server.address),
            Prose("The calculator is there, for this machine alone, until Ctrl-C.", remark=True),
        ]))
        calculator.page()  # made before anybody waits for it
        if browser:
            _open(server.address)
        server.serve_forever()
    raise KeyboardInterrupt  # what else ends a server that never ends by itself


def _server(port: int | None) -> Server:
    from ..pages import calculator
    from ..pages.calculator.serve import Server

    try:
        return Server(port or 0, calculator.page)
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
    help="The calculator: a page with a slider for each size that shows attention, recall, accuracy, the noise budget "
         "and the bounds as they move. It is served to this machine alone until Ctrl-C, or written to a file that "
         "needs no server and no network (--output).",
    examples=["explore", "explore --output calculator.html"],
)
