"""`recall-theory explore`: its server, what it answers, and the command, from the first line it prints to Ctrl-C."""

from __future__ import annotations

import contextlib
import html
import http.client
import itertools
import json
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
from browser import serving
from command_line import refused

from recall_theory import Setting, bounds_at, predict
from recall_theory.cli import main
from recall_theory.web.explore_page import answers, page
from recall_theory.web.explore_server import Server

WAIT = 60  # seconds until a test is taken to hang
PAGE = "<!doctype html><title>été</title>"


class Steps:
    """Answers of three records; each is computed once the test allows it to the request of that name."""

    def __init__(self):
        self.allowed = {name: threading.Semaphore(0) for name in ("one", "older", "newer", "other", "late")}
        self.computed = []

    def allow(self, name, steps=1):
        self.allowed[name].release(steps)

    def __call__(self, form):
        for step in range(3):
            assert self.allowed[form["name"]].acquire(timeout=WAIT)
            self.computed.append((form["name"], step))
            yield {"step": step}


@pytest.fixture(scope="module")
def server():
    """A server of a small page that answers with what it was asked."""
    with serving(Server(0, lambda form, token: PAGE, lambda form: iter([{"asked": dict(form)}]))) as running:
        yield running


@pytest.fixture
def stepwise():
    """A server whose answers are computed as the test allows, and they."""
    steps = Steps()
    with serving(Server(0, lambda form, token: PAGE, steps)) as running:
        yield running, steps


def connected(server, path="/", method="GET", **headers):
    """A connection on which a request was sent; a header of None is left out."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=WAIT)
    connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
    for name, text in {"Host": f"127.0.0.1:{server.port}", "X_Token": server.token, **headers}.items():
        if text is not None:
            connection.putheader(name.replace("_", "-"), text)
    connection.endheaders()
    return connection


def ask(server, path="/", method="GET", **headers):
    """Status, headers and body of one request."""
    connection = connected(server, path, method, **headers)
    answer = connection.getresponse()
    body = answer.read().decode()
    connection.close()
    return answer.status, answer.headers, body


# The server


def test_the_page_and_answers_are_served(server):
    status, headers, body = ask(server, "/?V=7")
    assert (status, body, headers["Content-Type"]) == (200, PAGE, "text/html; charset=utf-8")
    assert "Python" not in headers["Server"] and headers["Cross-Origin-Resource-Policy"] == "same-origin"
    assert ask(server, method="HEAD")[::2] == (200, "")
    status, headers, body = ask(server, "/answers?V=1%2C024&page=a&number=1", Origin=f"http://127.0.0.1:{server.port}")
    assert (status, json.loads(body)) == (200, {"asked": {"V": "1,024"}})
    assert "Access-Control-Allow-Origin" not in headers


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:80", "127.0.0.1", "[::1]", "[::1]:8080"])
def test_names_of_this_machine_are_answered(server, host):
    assert ask(server, Host=host)[0] == 200


FOREIGN = [None, "", "evil.example", "127.0.0.1.evil.example", "localhost.evil.example:80", "127.0.0.2",
           "evil.example:127.0.0.1", "[::1].evil.example", "localhost:", "localhost:x", "@localhost"]


@pytest.mark.parametrize("status, path, method, headers", [
    *((421, path, "GET", {"Host": host}) for host in FOREIGN for path in ("/", "/answers?V=7")),
    *((403, "/answers?V=7", "GET", {"X_Token": token}) for token in (None, "", "é", "x" * 43)),
    *((403, "/answers?V=7", "GET", {"Origin": origin})
      for origin in ("http://evil.example", "null", "https://127.0.0.1", "http://127.0.0.1:1")),
    *((404, path, "GET", {})
      for path in ("/index.html", "/..", "/../../etc/passwd", "/%2e%2e/", "http://127.0.0.1/", "*")),
    *((501, "/answers", method, {}) for method in ("POST", "PUT", "OPTIONS", "BREW")),
])
def test_what_is_not_for_the_page_alone_is_refused(server, status, path, method, headers):
    found, _, body = ask(server, path, method, **headers)
    assert found == status and PAGE not in body and "asked" not in body and body.count("\n") == 1


def test_a_broken_request_harms_nobody(server):
    for text in (b"\r\n\r\n", b"GET\r\n\r\n", b"\x16\x03\x01\x02\x00", b"GET / HTTP/9.9\r\n\r\n", b"G" * 70_000):
        connection = socket.create_connection(("127.0.0.1", server.port), timeout=WAIT)
        with connection, contextlib.suppress(OSError):  # the server may hang up before all is sent
            connection.sendall(text)
    for query in ("number=", "number=-1", "number=x", "number=%D9%A3", f"number={'9' * 5000}", "page=%00%ff&&=&=7"):
        assert ask(server, f"/answers?{query}")[0] == 200
    assert ask(server)[0] == 200


def test_no_other_interface_is_listened_on(server):
    assert server.server_address[0] == "127.0.0.1"
    with pytest.raises(OSError):  # every 127.x is this machine; a server of all interfaces would answer here
        socket.create_connection(("127.0.0.2", server.port), timeout=5)


def test_each_record_is_sent_as_it_is_computed(stepwise):
    server, steps = stepwise
    answer = connected(server, "/answers?name=one").getresponse()
    for step in range(3):
        steps.allow("one")
        assert json.loads(answer.readline()) == {"step": step}  # before another is computed
    assert answer.read() == b""


def test_a_newer_request_of_the_page_drops_the_one_before(stepwise):
    server, steps = stepwise
    older = connected(server, "/answers?name=older&page=a&number=1").getresponse()
    other = connected(server, "/answers?name=other&page=b&number=1").getresponse()
    steps.allow("older")
    assert older.readline()
    newer = connected(server, "/answers?name=newer&page=a&number=2").getresponse()
    steps.allow("newer", 3)
    assert newer.read().count(b"\n") == 3  # beside the step that the older one is at
    steps.allow("older", 2)
    steps.allow("other", 3)
    assert older.read() == b"" and other.read().count(b"\n") == 3  # what that step gave is thrown away
    steps.allow("late", 3)
    assert connected(server, "/answers?name=late&page=a&number=1").getresponse().read() == b""
    assert ("older", 2) not in steps.computed and ("late", 0) not in steps.computed


def test_nothing_is_computed_for_long_for_a_page_that_has_gone():
    ended = threading.Event()

    def endless(form):
        try:
            yield from itertools.repeat({"record": "x" * 1000})
        finally:
            ended.set()

    with serving(Server(0, lambda form, token: PAGE, endless)) as server:
        connection = connected(server, "/answers")
        answer = connection.getresponse()
        answer.readline()
        answer.close()
        connection.close()
        assert ended.wait(WAIT)


# The answers


SIZES = {"V": "64", "L": "4", "d": "32", "N": "1000"}


@pytest.mark.parametrize("form, setting", [
    ({"V": "2^6", "N": "1e3", "d": "0_032"}, Setting(64, 4, 32, 1000)),
    ({"m": "16", "activation": "tanh", "embedding": "sphere"}, Setting(64, 4, 32, 1000, 16, "tanh", "sphere")),
    ({"m": "16", "activation": "x**3 - x"}, Setting(64, 4, 32, 1000, 16, "x**3 - x")),
    ({"d": "64", "embedding": "orthogonal", "trigger_in_value": "no"},
     Setting(64, 4, 64, 1000, embedding="orthogonal", trigger_in_value=False)),
    ({"V": "100", "hold": "2.5"}, Setting(100, 4, 32, 250)),
    ({"V": "100", "hold": "2.5", "moved": "N"}, Setting(100, 4, 32, 1000)),
    ({"V": "100", "hold": "nan"}, Setting(100, 4, 32, 1000)),
])
def test_answers_are_the_librarys(form, setting):
    described, predicted, bounds = itertools.islice(answers({**SIZES, **form}), 3)
    prediction = predict(setting)
    assert described["setting"] == setting.to_dict()
    assert {name: predicted[name] for name in prediction.to_dict()} == prediction.to_dict()
    expected = bounds_at(V=setting.V, L=setting.L, d=setting.d, N=setting.N, m=setting.m, activation=setting.activation)
    assert {name: bounds[name] for name in expected.to_dict()} == expected.to_dict()
    namespace = {"print": lambda made: namespace.update(made=made)}
    exec(html.unescape(described["html"]["python"]), namespace)
    assert namespace["made"] == prediction


@pytest.mark.parametrize("form, name, words", [
    ({"N": "abc"}, "N", "N='abc' is not an integer from 1 to 1e+15"), ({"V": "1.5"}, "V", "V='1.5'"),
    ({"N": "0"}, "N", "N=0"), ({"d": ""}, "d", "d=''"), ({"L": "9" * 500}, "L", "..."),
    ({"m": "x"}, "m", "m='x' is not an integer from 1 to 1e+09"), ({"embedding": "cube"}, "embedding", "gaussian"),
    ({"m": "4", "activation": "__import__('os')"}, "activation", "activation"),
    ({"embedding": "orthogonal"}, "d", "too small"), ({"V": "1e15", "hold": "1e300"}, "N", "N="),
    ({"m": "4", "d": "64", "embedding": "orthogonal"}, "embedding", "MLP"),
])
def test_what_is_wrong_is_said_of_the_control(form, name, words):
    *_, last = answers({**SIZES, **form})
    assert last["kind"] == "problems" and list(last["problems"]) == [name]
    assert words in last["problems"][name] and "\n" not in last["problems"][name]


def test_the_curve_spans_the_range_and_is_closer_where_it_is_steep():
    *points, last = list(answers({"V": "1024", "L": "64", "d": "256", "N": "65536", "along": "V", "hold": "64"}))[3:]
    assert [points[i]["value"] for i in range(3)] == [1024, 16, 65536] and last["along"] == "V"
    assert not last["provisional"] and all(point["provisional"] for point in points)
    for point in points[:4]:
        there = predict(Setting(point["value"], 64, 256, 64 * point["value"]))
        assert point["predicted"] == {name: getattr(there, name) for name in ("attention", "recall", "accuracy")}
    recall = [point["predicted"]["recall"] for point in sorted(points, key=lambda point: point["value"])]
    assert 25 < len(points) <= 48 and max(abs(b - a) for a, b in itertools.pairwise(recall)) <= 0.05
    *_, omitted = answers({**SIZES, "d": "64", "embedding": "orthogonal", "along": "m"})
    assert omitted["along"] == "N"
    *_, omitted = answers({**SIZES, "d": "64", "embedding": "orthogonal", "along": "d"})
    assert "left out: d=" in omitted["html"]["along-note"]


def test_texts_cannot_become_markup():
    text = "\"'><script>alert(1)</script>"
    assert text not in page(dict.fromkeys(["V", "activation", "embedding", "hold", "m"], text), "token")


def test_the_policy_admits_the_page_alone():
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page({}, "token")).group(1)
    assert re.fullmatch(r"default-src &#39;none&#39;; script-src &#39;sha256-[^;]+&#39;; style-src &#39;sha256-[^;]+"
                        r"&#39;; img-src data:; connect-src &#39;self&#39;; base-uri &#39;none&#39;; form-action "
                        "&#39;none&#39;", policy)
    assert "unsafe" not in policy


# The command


@pytest.fixture
def opened(monkeypatch):
    """What the command opens in a browser; it ends as soon as it serves."""

    def ended(server):
        raise click.exceptions.Exit(0)

    addresses = queue.SimpleQueue()
    monkeypatch.setattr(Server, "serve_forever", ended)
    monkeypatch.setattr(webbrowser, "open", addresses.put)
    return addresses


def test_the_browser_is_opened_unless_it_is_not_wanted(opened, capsys):
    assert main(["explore"]) == 0
    address = capsys.readouterr().out.splitlines()[0]
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/", address) and opened.get(timeout=WAIT) == address
    assert main(["explore", "--no-browser", "-q"]) == 0
    assert opened.empty() and capsys.readouterr().out.count("\n") == 1


@pytest.mark.parametrize("argv, words", [
    (["--port", "0"], ["--port", "'0'", "from 1 to 65535"]), (["--port", "65536"], ["--port", "'65536'"]),
    (["--port", "http"], ["--port", "'http'"]), (["--port", "{used}"], ["--port {used}", "in use"]),
    (["--output", "page.html"], ["--output", "report"]),
    (["--output", "page.json", "--json"], ["--output", "report"]),
])
def test_bad_input_is_one_line(opened, server, argv, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    line = refused("explore", *(text.format(used=server.port) for text in argv))
    assert all(word.format(used=server.port) in line for word in words)
    assert os.listdir(tmp_path) == []


def test_ctrl_c_ends_it():
    running = subprocess.Popen([sys.executable, "-m", "recall_theory", "explore", "--no-browser", "--json"], text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
                               preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))  # noqa: PLW1509
    try:
        port = int(re.search(r'"port": (\d+)', "".join(running.stdout.readline() for _ in range(5))).group(1))
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=WAIT)
        connection.request("GET", "/?V=777")
        body = connection.getresponse().read()
        connection.close()
        os.killpg(running.pid, signal.SIGINT)
        out, err = running.communicate(timeout=WAIT)
    finally:
        running.kill()
    assert b'value="777"' in body and b"</html>" in body
    assert (running.returncode, out, err) == (130, "", "recall-theory explore: interrupted\n")
