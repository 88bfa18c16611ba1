"""Puts the calculator page beside the built pages, as calculator-page.html."""

from __future__ import annotations

from pathlib import Path

from sphinx.application import Sphinx

from recall_theory.pages import calculator


def write(app: Sphinx, exception: Exception | None) -> None:
    """Write the page once all others are there."""
    if exception is None and app.builder.format == "html":
        Path(app.outdir, "calculator-page.html").write_text(calculator.page(), encoding="utf-8")


def setup(app: Sphinx) -> dict[str, object]:
    """Sphinx's hook."""
    app.connect("build-finished", write)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
