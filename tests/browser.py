"""A headless Chromium, for the tests of pages and the pictures of them in the documentation, and what every page must
keep to, as scripts for a browser that list what doesn't."""

from __future__ import annotations

import contextlib
import itertools
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


UNNAMED = """() => [...document.querySelectorAll("input, select, button, summary, svg:not([aria-hidden]), table")]
  .filter((e) => !e.closest("[role=img][aria-label]") || e.tagName !== "svg")
  .filter((e) => !(e.labels?.length || e.getAttribute("aria-label") || e.textContent.trim())).map((e) => e.outerHTML)"""
REPEATED = """() => { const ids = [...document.querySelectorAll("[id]:not(.drawing *)")].map((e) => e.id);
  return ids.filter((id, i) => ids.indexOf(id) !== i); }"""
SMALL = """() => [...document.querySelectorAll("main :is(input, select, button, summary)")]
  .filter((e) => e.checkVisibility())
  .map((e) => [e.id, (e.closest("label, th") ?? e).getBoundingClientRect().height])
  .filter(([, height]) => height < 24)"""
# Contrast of every text with what is behind it (WCAG's formula), where it is under 4.5.
FAINT = """() => {
  const parse = (c) => c.match(/[\\d.]+/g).map(Number);
  const light = (c) => parse(c).slice(0, 3).map((v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = (e) => { for (; e; e = e.parentElement) {
    const c = getComputedStyle(e).backgroundColor; if ((parse(c)[3] ?? 1) > 0) return c; }
    return "rgb(255, 255, 255)"; };
  const faint = [];
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node; (node = walk.nextNode());) {
    const e = node.parentElement;
    const unseen = ["SCRIPT", "OPTION", "STYLE"].includes(e.tagName) || e.closest(".drawing, metadata");
    if (!node.textContent.trim() || !e.checkVisibility() || unseen) continue;
    const style = getComputedStyle(e), ink = e instanceof SVGElement ? style.fill : style.color;
    const [a, b] = [light(ink), light(behind(e))].sort((x, y) => y - x);
    if ((a + 0.05) / (b + 0.05) < 4.5) faint.push([node.textContent, ink, behind(e)]);
  }
  return faint;
}"""


def assert_for_everybody(tab, dark):
    """That text stands out, everything has a name, targets are large, and headings and landmarks are in order."""
    assert (tab.evaluate("getComputedStyle(document.body).backgroundColor") != "rgb(255, 255, 255)") == dark
    for script in (FAINT, UNNAMED, REPEATED, SMALL):
        assert tab.evaluate(script) == [], script
    levels = tab.locator("h1, h2, h3").evaluate_all("all => all.map((h) => Number(h.tagName[1]))")
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(after - before <= 1 for before, after in itertools.pairwise(levels))
    assert all(tab.locator(landmark).count() == 1 for landmark in ("html[lang=en]", "header", "main", "footer"))
    assert tab.locator("figure:not(:has(figcaption)), table:not(:has(caption))").count() == 0


def assert_no_sideways_scroll(tab, *widths):
    for width in widths:
        tab.set_viewport_size({"width": width, "height": 812})
        assert tab.evaluate("document.documentElement.scrollWidth") <= width
