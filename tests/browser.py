"""A headless Chromium, for the tests of pages and the pictures of them in the documentation."""

from __future__ import annotations

import contextlib
import shutil
import threading
from collections.abc import Iterator
from typing import Any

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
PATIENCE = 120_000  # ms to wait for a browser or a page: far more than it takes, but machines may be busy
ARGUMENTS = ("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
             "--disable-component-update", "--disable-sync")


def browser_path() -> str | None:
    """Where a Chromium is, if one is installed."""
    return next((path for name in BROWSERS if (path := shutil.which(name))), None)


@contextlib.contextmanager
def headless_chromium() -> Iterator[Any]:
    """A headless Chromium (playwright's `Browser`); playwright and a browser must be there."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=browser_path(), args=ARGUMENTS, timeout=PATIENCE)
        yield browser
        browser.close()


@contextlib.contextmanager
def serving(server: Any) -> Iterator[Any]:
    """The server, answering in a thread."""
    with server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
