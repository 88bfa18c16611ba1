"""Puts the calculator page beside the built pages, as calculator-page.html."""

from __future__ import annotations

from pathlib import Path

from sphinx.application import Sphinx

from recall_theory.pages import calculator


def write(app: Sphinx) -> None:
    """Write the page: before autodoc, which leaves marks in the signatures that the engine is made from."""
    if app.builder.format == "html":
        folder = Path(app.outdir)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "calculator-page.html").write_text(calculator.page(), encoding="utf-8")


def setup(app: Sphinx) -> dict[str, object]:
    """Sphinx's hook."""
    app.connect("builder-inited", write)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
