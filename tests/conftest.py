"""Settings that all tests share, and the browser in which pages are tested."""

import contextlib
import functools
import os
import signal
import tempfile

import pytest
from browser import BROWSERS, PATIENCE, browser_path, headless_chromium
from hypothesis import settings

from recall_theory.commands.answers import Command

# The same examples on every run: a failure that nobody can repeat helps nobody. No deadline: the first call
# of a function pays for its imports.
settings.register_profile("repeatable", derandomize=True, deadline=None, print_blob=False)
settings.load_profile("repeatable")

# A suite that runs in the background or under nohup begins with some signals ignored, which every process that it
# starts would inherit: a Ctrl-C that a test sends would do nothing.
for number, handler in ((signal.SIGINT, signal.default_int_handler), (signal.SIGTERM, signal.SIG_DFL),
                        (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, handler)


LONGEST = 600  # seconds of a test; those that wait for other processes could wait for ever


@pytest.fixture(autouse=True)
def _ends():
    """A test that doesn't end fails, with the place where it waited."""

    def late(*_):
        raise AssertionError(f"the test did not end within {LONGEST} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(LONGEST)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


# Trainings here are short: each function of jax is compiled once a process, and quickly.
COMPILED = tempfile.TemporaryDirectory(prefix="jax-", ignore_cleanup_errors=True)
os.environ |= {"JAX_COMPILATION_CACHE_DIR": COMPILED.name, "JAX_DISABLE_MOST_OPTIMIZATIONS": "1",
               "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0", "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1"}


@pytest.fixture
def computed_once(monkeypatch):
    """Each command computes its answer once in a test, in however many forms it is then printed.

    For tests that look at the forms of an answer; no file that it depends on may change in between.
    """
    answers, whole = {}, Command.invoke

    def invoke(command, ctx):
        def once(compute, output, **values):
            asked = ctx.command_path, repr(values)
            if asked not in answers:
                answers[asked] = compute(output, **values)
            return answers[asked]

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(command, "callback", functools.partial(once, command.callback))
            return whole(command, ctx)

    monkeypatch.setattr(Command, "invoke", invoke)


PHONE = {"viewport": {"width": 375, "height": 812}, "is_mobile": True, "has_touch": True}


@pytest.fixture(scope="session")
def chromium():
    """A headless Chromium (playwright's `Browser`), started once."""
    if browser_path() is None:
        pytest.skip(f"no browser is installed: none of {', '.join(BROWSERS)}")
    pytest.importorskip("playwright.sync_api", reason="playwright isn't installed")
    with headless_chromium() as browser:
        yield browser


@pytest.fixture(scope="session")
def opened(chromium):
    """Opens a page, given playwright's options, all the time it needs and `phone` for a small display.

    As the context ends, it must have complained of nothing and asked nobody but its own address for anything.
    """

    @contextlib.contextmanager
    def open_page(address, phone=False, **options):
        size = PHONE if phone else {"viewport": {"width": 1280, "height": 800}}
        context = chromium.new_context(**{**size, **options})
        context.set_default_timeout(PATIENCE)
        tab, complaints, asked = context.new_page(), [], []
        tab.on("console", lambda message: complaints.append(message.text))
        tab.on("pageerror", lambda error: complaints.append(str(error)))
        tab.on("request", lambda request: asked.append(request.url))
        tab.goto(address)
        yield tab
        context.close()
        assert [text for text in complaints if "403 (Forbidden)" not in text] == []
        own = address.partition("?")[0]
        assert [url for url in asked if not url.startswith((own, "data:"))] == []

    return open_page
