"""A server of one page, for this machine alone."""

from __future__ import annotations

import os
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from socketserver import ThreadingTCPServer

__all__ = ["HOST", "Server"]

HOST = "127.0.0.1"
NAMES = ("127.0.0.1", "localhost", "[::1]")  # under which a browser on this machine asks for it
HEADERS = {
    "Content-Type": "text/html; charset=utf-8",
    "Cache-Control": "no-store",
    "Content-Security-Policy": "frame-ancestors 'none'",  # the rest of the policy is in the page
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


class Handler(BaseHTTPRequestHandler):
    """Answers GET and HEAD of / with the page, and nothing else."""

    server: Server
    server_version, sys_version = "recall-theory", ""
    protocol_version = "HTTP/1.1"
    timeout = 30  # seconds that a silent connection is kept

    def do_GET(self) -> None:
        self._answer(body=True)

    def do_HEAD(self) -> None:
        self._answer(body=False)

    def _answer(self, body: bool) -> None:
        # A page from elsewhere may point a name of its own at this address (DNS rebinding): it would ask by that name.
        if _name(self.headers.get("Host", "")) not in NAMES:
            self._say(421, "this server answers to 127.0.0.1 and localhost alone")
        elif self.path.partition("?")[0] != "/":
            self._say(404, "there is one page here: /")
        else:
            page = self.server.page()
            self.send_response(200)
            for name, value in HEADERS.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(page)))
            self.end_headers()
            if body:
                self.wfile.write(page)

    def _refuse(self) -> None:
        self._say(405, "GET and HEAD are answered, nothing else", allow="GET, HEAD")

    do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = do_TRACE = do_CONNECT = _refuse

    def _say(self, status: int, words: str, allow: str = "") -> None:
        text = f"{words}\n".encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/plain; charset=utf-8")
        self.send_header("Content-Length", str(len(text)))
        self.send_header("Connection", "close")  # a body that came along is not read
        if allow:
            self.send_header("Allow", allow)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(text)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing is logged: standard error is for what goes wrong."""


class Server(ThreadingTCPServer):
    """Serves what `page` returns at http://127.0.0.1:port/; port 0 takes a free one. `OSError` where it can't."""

    daemon_threads = True  # an open connection doesn't keep the program alive
    allow_reuse_address = os.name == "posix"  # elsewhere it would share the port with another program

    def __init__(self, port: int, page: Callable[[], str]):
        self._page = page
        super().__init__((HOST, port), Handler)

    @property
    def port(self) -> int:
        """The port that was taken."""
        return int(self.server_address[1])

    @property
    def address(self) -> str:
        """Where a browser finds the page."""
        return f"http://{HOST}:{self.port}/"

    def page(self) -> bytes:
        """The page as it is sent."""
        return self._page().encode()

    def handle_error(self, request: object, client_address: object) -> None:
        """A browser that hangs up is no news."""


def _name(host: str) -> str:
    """The name in a Host header, without its port."""
    name, colon, port = host.strip().lower().rpartition(":")
    return name if colon and port.isdigit() else host.strip().lower()
