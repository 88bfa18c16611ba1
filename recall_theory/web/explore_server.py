"""A server for this machine alone: one page, and a stream of answers to what the page asks."""

from __future__ import annotations

import contextlib
import hmac
import itertools
import json
import os
import secrets
import select
import socket
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler
from socketserver import ThreadingTCPServer
from types import FrameType
from typing import Any
from urllib.parse import parse_qsl

from ..numerics.plain_data import cleaned

__all__ = ["HOST", "Server"]

HOST = "127.0.0.1"
NAMES = ("127.0.0.1", "localhost", "[::1]")  # by which a browser on this machine asks for it
PAGES = 256  # open pages whose newest request is remembered
PATIENCE = 0.4  # seconds that a request waits for the step that another one is computing
PAGE_HEADERS = {
    "Content-Type": "text/html; charset=utf-8",
    "Content-Security-Policy": "frame-ancestors 'none'",  # the rest of the policy is in the page
}
SAFE_HEADERS = {
    "Cache-Control": "no-store",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}

Form = Mapping[str, str]
Record = Mapping[str, object]
Answers = Callable[[Form], Iterator[Record]]


class Handler(BaseHTTPRequestHandler):
    """Answers GET and HEAD: / with the page, /answers with a stream of JSON objects, one a line."""

    server: Server
    server_version, sys_version = "recall-theory", ""
    protocol_version = "HTTP/1.1"
    timeout = 30  # seconds that a silent connection is kept

    def do_GET(self) -> None:
        host = self.headers.get("Host", "").strip().lower()
        path, _, query = self.path.partition("?")
        form = dict(parse_qsl(query, keep_blank_values=True, errors="replace"))
        # A site may point a name of its own at this address (DNS rebinding): its pages would ask by that name.
        if _name(host) not in NAMES:
            self._send_line(421, "this server answers to 127.0.0.1 and localhost alone")
        elif path == "/":
            self._send(200, PAGE_HEADERS, self.server.page(form))
        elif path != "/answers":
            self._send_line(404, "there is one page here: /")
        elif self.headers.get("Origin", f"http://{host}").lower() != f"http://{host}":
            self._send_line(403, "requests of other sites are refused")
        elif not hmac.compare_digest(self.headers.get("X-Token", "").encode(), self.server.token.encode()):
            self._send_line(403, "the token of this page is missing or an older one: reload the page")
        else:
            self._stream(form)

    do_HEAD = do_GET

    def _stream(self, form: dict[str, str]) -> None:
        """Send each record as soon as it is computed, and compute no more once nobody waits for it."""
        page, number = form.pop("page", ""), form.pop("number", "")
        self._begin(200, {"Content-Type": "application/x-ndjson", "Connection": "close"})
        if self.command == "HEAD":
            return
        order = int(number) if number.isdecimal() and len(number) < 16 else 0
        is_newest = self.server.newest(page, order)
        records = self.server.answers(form)
        while is_newest() and not self._hung_up():
            with self.server.computing():
                record = next_while(is_newest, records)
            if record is None:
                return
            self.wfile.write(json.dumps(cleaned(record), allow_nan=False).encode() + b"\n")

    def _hung_up(self) -> bool:
        """Whether the browser has closed the connection."""
        try:
            readable, _, _ = select.select([self.connection], [], [], 0)
            return bool(readable) and self.connection.recv(1, socket.MSG_PEEK) == b""
        except OSError:
            return True

    def _refuse(self) -> None:
        self._send_line(405, "GET and HEAD are answered, nothing else", {"Allow": "GET, HEAD"})

    do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = do_TRACE = do_CONNECT = _refuse

    def _send_line(self, status: int, words: str, headers: Mapping[str, str] | None = None) -> None:
        # Closed: a body that came along is not read.
        self._send(status, {"Content-Type": "text/plain; charset=utf-8", "Connection": "close", **(headers or {})},
                   f"{words}\n")

    def _send(self, status: int, headers: Mapping[str, str], text: str) -> None:
        body = text.encode()
        self._begin(status, {**headers, "Content-Length": str(len(body))})
        if self.command != "HEAD":
            self.wfile.write(body)

    def _begin(self, status: int, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        for name, value in {**SAFE_HEADERS, **headers}.items():
            self.send_header(name, value)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Nothing is logged: standard error is for errors."""


class Dropped(BaseException):
    """Raised in a computation that is not wanted any more."""


def next_while(wanted: Callable[[], bool], records: Iterator[Record]) -> Record | None:
    """The next record; None at the end, or once it is not wanted: every call of a Python function asks again."""

    def check(frame: FrameType, event: str, argument: object) -> None:
        if not wanted():
            raise Dropped

    before = sys.gettrace()
    try:
        sys.settrace(check)  # of this thread alone
        return next(records, None)
    except Dropped:
        return None
    finally:
        sys.settrace(before)


class Server(ThreadingTCPServer):
    """Serves a page and its answers at http://127.0.0.1:port/.

    Parameters
    ----------
    port : port to listen on; 0 takes a free one
    page : the text of the page, given its form and the token with which it has to ask
    answers : the answers to a form, as `recall_theory.web.explore_answers.answers`

    Raises `OSError` where the port cannot be listened on.
    """

    daemon_threads = True  # an open connection doesn't keep the program alive
    allow_reuse_address = os.name == "posix"  # elsewhere it would share the port with another program

    def __init__(self, port: int, page: Callable[[Form, str], str], answers: Answers):
        self.token = secrets.token_urlsafe(32)
        self.answers = answers
        self._page = page
        self._newest: dict[str, int] = {}
        self._pages_lock = threading.Lock()
        self._computing = threading.Lock()
        super().__init__((HOST, port), Handler)

    @property
    def port(self) -> int:
        """The port that was taken."""
        return int(self.server_address[1])

    @property
    def address(self) -> str:
        """Where a browser finds the page."""
        return f"http://{HOST}:{self.port}/"

    def warm_up(self) -> None:
        """Load what the first request would wait for: the page, and what computes its prediction."""
        self.page({})
        for _ in itertools.islice(self.answers({"V": "64", "L": "8", "d": "32", "N": "4096"}), 3):
            pass

    def page(self, form: Form) -> str:
        """The page with the given texts in its form."""
        return self._page(form, self.token)

    def newest(self, page: str, number: int) -> Callable[[], bool]:
        """Note a request of a page; the function returned says whether no newer one of that page has come."""
        with self._pages_lock:
            number = max(number, 0)
            newest = max(number, self._newest.pop(page, 0))
            self._newest[page] = newest  # at the end: the page that asked last
            if len(self._newest) > PAGES:
                del self._newest[next(iter(self._newest))]
        return lambda: self._newest.get(page, 0) <= number

    @contextlib.contextmanager
    def computing(self) -> Iterator[None]:
        """One step at a time, so that the newest request has the processor; a step of seconds is not waited for."""
        alone = self._computing.acquire(timeout=PATIENCE)
        try:
            yield
        finally:
            if alone:
                self._computing.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), OSError):  # a browser may close its connection at any time
            super().handle_error(request, client_address)


def _name(host: str) -> str:
    """The name in a Host header, without its port."""
    name, colon, port = host.rpartition(":")
    return name if colon and port.isdigit() else host
