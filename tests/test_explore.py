"""`recall-theory explore`: a page for this machine alone, from the first line it prints to Ctrl-C."""

from __future__ import annotations

import contextlib
import http.client
import os
import queue
import re
import signal
import socket
import subprocess
import sys
import threading
import webbrowser

import click
import pytest

from recall_theory.cli import main
from recall_theory.pages import calculator
from recall_theory.pages.calculator.serve import Server

PAGE = "<!doctype html><title>été</title>"


@pytest.fixture(scope="module")
def server():
    """A server of a small page, running."""
    with Server(0, lambda: PAGE) as running:
        thread = threading.Thread(target=running.serve_forever, args=(0.01,))
        thread.start()
        yield running
        running.shutdown()
        thread.join()


def ask(server, method="GET", path="/", **headers):
    """Status, headers and body of one request; `Host` None leaves that header out."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
    given = {"Host": f"127.0.0.1:{server.port}", **headers}
    for name, text in given.items():
        if text is not None:
            connection.putheader(name.replace("_", "-"), text)
    connection.endheaders()
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer.status, answer.headers, body


def test_the_page_is_served(server):
    status, headers, body = ask(server)
    assert (status, body.decode()) == (200, PAGE)
    assert headers["Content-Type"] == "text/html; charset=utf-8"
    assert int(headers["Content-Length"]) == len(body)
    assert "Python" not in headers["Server"]
    assert ask(server, path="/?from=here")[0] == 200


def test_head_has_no_body(server):
    status, headers, body = ask(server, "HEAD")
    assert (status, body, int(headers["Content-Length"])) == (200, b"", len(PAGE.encode()))


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:80", "127.0.0.1", "[::1]", "[::1]:8080"])
def test_names_of_this_machine_are_answered(server, host):
    assert ask(server, Host=host)[0] == 200


@pytest.mark.parametrize("host", [
    None, "", "evil.example", "127.0.0.1.evil.example", "localhost.evil.example:80", "127.0.0.2",
    "evil.example:127.0.0.1", "[::1].evil.example", "localhost:", "localhost:x", "@localhost",
])
def test_names_from_elsewhere_are_not(server, host):
    status, _, body = ask(server, Host=host)
    assert status == 421 and PAGE.encode() not in body


@pytest.mark.parametrize("path", ["/index.html", "/..", "/../../etc/passwd", "/%2e%2e/", "http://127.0.0.1/", "*"])
def test_there_is_one_page(server, path):
    assert ask(server, path=path)[0] == 404


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "CONNECT", "BREW"])
def test_other_methods_are_refused(server, method):
    status, headers, body = ask(server, method)
    assert status == (501 if method == "BREW" else 405)
    assert PAGE.encode() not in body
    assert method == "BREW" or headers["Allow"] == "GET, HEAD"


def test_a_broken_request_harms_nobody(server):
    for text in (b"\r\n\r\n", b"GET\r\n\r\n", b"\x16\x03\x01\x02\x00", b"GET / HTTP/9.9\r\n\r\n", b"G" * 70_000):
        connection = socket.create_connection(("127.0.0.1", server.port), timeout=60)
        with connection, contextlib.suppress(OSError):  # the server may hang up before all is sent
            connection.sendall(text)
    assert ask(server)[0] == 200


def test_no_other_interface_is_listened_on(server):
    assert server.server_address[0] == "127.0.0.1"
    with pytest.raises(OSError):  # every 127.x is this machine; a server of all interfaces would answer here
        socket.create_connection(("127.0.0.2", server.port), timeout=5)


# The command


@pytest.fixture
def quick(monkeypatch):
    """The command around a small page, ended as soon as it serves; what it opened in a browser."""
    opened = queue.SimpleQueue()

    def ended(server):
        raise click.exceptions.Exit(0)

    monkeypatch.setattr(calculator, "page", lambda: PAGE)
    monkeypatch.setattr(Server, "serve_forever", ended)
    monkeypatch.setattr(webbrowser, "open", opened.put)
    return opened


def test_the_browser_is_opened_unless_it_is_not_wanted(quick, capsys):
    assert main(["explore"]) == 0
    address = capsys.readouterr().out.splitlines()[0]
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/", address) and quick.get(timeout=120) == address
    assert main(["explore", "--no-browser", "-q"]) == 0
    assert quick.empty() and capsys.readouterr().out.count("\n") == 1


def test_the_page_is_written(quick, tmp_path, capsys):
    path = tmp_path / "calculator.html"
    assert main(["explore", "--output", str(path)]) == 0
    assert path.read_text(encoding="utf-8").strip() == PAGE
    assert capsys.readouterr() == ("", "") and quick.empty()


@pytest.mark.parametrize(("argv", "words"), [
    (["--port", "0"], ["--port", "'0'", "from 1 to 65535"]),
    (["--port", "65536"], ["--port", "'65536'"]),
    (["--port", "http"], ["--port", "'http'"]),
    (["--output", "/"], ["--output", "directory"]),
    (["--output", "page.html", "--json"], ["--output", "--json"]),
    (["--output", "page.html", "--port", "8000"], ["--port"]),
])
def test_bad_input_is_one_line(quick, argv, words, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["explore", *argv]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1 and all(word in err for word in words)
    assert os.listdir(tmp_path) == []


def test_a_port_in_use_is_one_line(quick, server, capsys):
    assert main(["explore", "--port", str(server.port)]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1
    assert f"--port {server.port}" in err and "in use" in err


def test_ctrl_c_ends_it():
    running = subprocess.Popen([sys.executable, "-m", "recall_theory", "explore", "--no-browser", "--json"], text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
                               preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))  # noqa: PLW1509
    try:
        lines = [running.stdout.readline() for _ in range(5)]  # at once: the page comes after it
        port = int(re.search(r'"port": (\d+)', "".join(lines)).group(1))
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        connection.request("GET", "/")
        body = connection.getresponse().read()
        connection.close()
        os.killpg(running.pid, signal.SIGINT)
        out, err = running.communicate(timeout=120)
    finally:
        running.kill()
    assert b"</html>" in body
    assert (running.returncode, out) == (130, "")
    assert err == "recall-theory explore: interrupted\n"
