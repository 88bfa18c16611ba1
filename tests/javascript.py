"""JavaScript in V8 and in Chromium, for tests of what the pages compute."""

from __future__ import annotations

import contextlib
import json
import math
import shutil
from collections.abc import Iterator
from typing import Any


class Script:
    """A context in which `source` has run. Numbers come back to the last bit; NaN and infinity as themselves."""

    def __init__(self, source: str):
        from py_mini_racer import MiniRacer

        self._engine = MiniRacer()
        self._engine.eval(source)
        self._engine.eval("""const told = (value) => JSON.stringify(value, (key, x) =>
            typeof x === "number" && !Number.isFinite(x) ? {number: String(x)} : x);""")

    def value(self, expression: str) -> Any:
        """What an expression comes to."""
        return json.loads(self._engine.eval(f"told({expression})"), object_hook=_number)

    def __enter__(self) -> Script:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """An open context may keep the interpreter from ending."""
        self._engine.close()

    def run(self, statements: str) -> None:
        self._engine.eval(statements)


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


class PageScript:
    """The same as `Script` on an empty page of a browser."""

    def __init__(self, browser: Any, source: str):
        self._page = browser.new_page()
        self._page.add_script_tag(content=source)

    def value(self, expression: str) -> Any:
        """What an expression comes to."""
        return self._page.evaluate(expression)


def _number(found: dict[str, Any]) -> Any:
    return float(found["number"].replace("Infinity", "inf")) if set(found) == {"number"} else found


def difference(a: Any, b: Any) -> float:
    """The largest difference of two numbers in two trees of dicts and lists, absolute up to 1 and relative beyond;
    infinite where the trees differ in anything else."""
    if isinstance(a, dict) and isinstance(b, dict) and a.keys() == b.keys():
        return max((difference(a[k], b[k]) for k in a), default=0.0)
    if isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        return max((difference(x, y) for x, y in zip(a, b, strict=True)), default=0.0)
    numbers = all(isinstance(x, int | float) and not isinstance(x, bool) for x in (a, b))
    if a == b or (numbers and math.isnan(a) and math.isnan(b)):
        return 0.0
    return abs(a - b) / max(1.0, abs(a), abs(b)) if numbers and math.isfinite(a - b) else math.inf
