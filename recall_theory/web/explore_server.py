"""A server for this machine alone: one page, and a stream of answers to what the page asks."""

from __future__ import annotations

import hmac
import itertools
import json
import os
import secrets
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler
from socketserver import ThreadingTCPServer
from urllib.parse import parse_qsl

from ..numerics.formatting import cleaned

HOST = "127.0.0.1"
NAMES = ("127.0.0.1", "localhost", "[::1]")  # by which a browser on this machine asks for it
PATIENCE = 0.4  # seconds that a request waits for the step that another one is computing
SAFE_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "frame-ancestors 'none'",  # the rest of the policy is in the page
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}

Form = Mapping[str, str]
Answers = Callable[[Form], Iterator[Mapping[str, object]]]


class Handler(BaseHTTPRequestHandler):
    """Answers GET and HEAD: / with the page, /answers with a stream of JSON objects, one a line."""

    server: Server
    server_version, sys_version = "recall-theory", ""
    error_message_format, error_content_type = "%(explain)s\n", "text/plain; charset=utf-8"
    timeout = 30  # seconds that a silent connection is kept

    def do_GET(self) -> None:
        host = self.headers.get("Host", "").strip().lower()
        path, _, query = self.path.partition("?")
        form = dict(parse_qsl(query, keep_blank_values=True, errors="replace"))
        # A site may point a name of its own at this address (DNS rebinding): its pages would ask by that name.
        name, _, port = host.rpartition(":")
        if (name if port.isdigit() else host) not in NAMES:
            self.send_error(421, explain="this server answers to 127.0.0.1 and localhost alone")
        elif path == "/":
            self._send("text/html; charset=utf-8", iter([self.server.page(form)]))
        elif path != "/answers":
            self.send_error(404, explain="there is one page here: /")
        elif self.headers.get("Origin", f"http://{host}").lower() != f"http://{host}":
            self.send_error(403, explain="requests of other sites are refused")
        elif not hmac.compare_digest(self.headers.get("X-Token", "").encode(), self.server.token.encode()):
            self.send_error(403, explain="the token of this page is missing or an older one: reload the page")
        else:
            self._send("application/x-ndjson", (json.dumps(cleaned(record), allow_nan=False) + "\n"
                                                for record in self.server.newest_answers(form)))

    do_HEAD = do_GET

    def _send(self, content: str, texts: Iterator[str]) -> None:
        self.send_response(200)
        self.send_header("Content-Type", content)
        self.end_headers()
        for text in texts if self.command != "HEAD" else ():
            self.wfile.write(text.encode())

    def end_headers(self) -> None:
        for name, value in SAFE_HEADERS.items():
            self.send_header(name, value)
        super().end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Nothing is logged: standard error is for errors."""


class Server(ThreadingTCPServer):
    """Serves a page and its answers at `address`, http://127.0.0.1:port/.

    `port` is what to listen on, 0 takes a free one; `page` makes the text of the page from its form and the token with
    which it has to ask, `answers` the answers to a form (`recall_theory.web.explore_page`). Raises `OSError` where the
    port cannot be listened on.
    """

    daemon_threads = True  # an open connection doesn't keep the program alive
    allow_reuse_address = os.name == "posix"  # elsewhere it would share the port with another program

    def __init__(self, port: int, page: Callable[[Form, str], str], answers: Answers):
        self.token = secrets.token_urlsafe(32)
        self.page: Callable[[Form], str] = lambda form: page(form, self.token)
        self._answers = answers
        self._newest: dict[str, int] = {}  # the number of the newest request of each page
        self._computing = threading.Lock()
        super().__init__((HOST, port), Handler)
        self.port = int(self.server_address[1])
        self.address = f"http://{HOST}:{self.port}/"

    def warm_up(self) -> None:
        """Load what the first request would wait for: the page, and what computes its prediction."""
        self.page({})
        for _ in itertools.islice(self._answers({"V": "64", "L": "8", "d": "32", "N": "4096"}), 3):
            pass

    def newest_answers(self, form: dict[str, str]) -> Iterator[Mapping[str, object]]:
        """The answers to a form, each as it is asked for, until a newer request of the same page comes.

        "page" and "number" in the form say whose request it is, and the how manieth. The step that is being computed
        when a newer one comes runs to its end in its thread, and its result is thrown away.
        """
        page, digits = form.pop("page", ""), form.pop("number", "")
        number = int(digits) if digits.isdecimal() and len(digits) < 16 else 0
        self._newest[page] = max(number, self._newest.get(page, 0))
        answers = self._answers(form)
        while True:
            # One step at a time, so that the newest request has the processor; a step of seconds isn't waited for.
            alone = self._computing.acquire(timeout=PATIENCE)
            try:
                answer = next(answers, None) if self._newest[page] <= number else None
            finally:
                if alone:
                    self._computing.release()
            if answer is None or self._newest[page] > number:
                return
            yield answer

    def handle_error(self, request: object, client_address: object) -> None:
        if not isinstance(sys.exception(), OSError):  # a browser may close its connection at any time
            super().handle_error(request, client_address)  # type: ignore[arg-type]
