"""Docstrings here are plain text with `code` and doctests: escape what reStructuredText would take for markup."""

from __future__ import annotations

import re
from typing import Any

from sphinx.application import Sphinx

_CODE = re.compile(r"`+([^`]+)`+")
_MARKUP = re.compile(r"([\\*|]|_(?=\W|$))")


def escape(line: str) -> str:
    """One line of prose as reStructuredText: `code` becomes literal, all else is taken as it stands."""
    parts = _CODE.split(line)  # prose and code, by turns
    return "".join(f"``{part}``" if i % 2 else _MARKUP.sub(r"\\\1", part) for i, part in enumerate(parts))


def process(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Rewrite the docstring in place: doctests stay, other indented or listed lines keep their breaks."""
    in_doctest = False
    done = []
    for line in lines:
        if line.startswith(">>> "):
            in_doctest = True
        elif not line.strip():
            in_doctest = False
        if in_doctest or not line.strip():
            done.append(line)
        elif line.startswith(" ") or re.match(r"\w[\w, ]*: ", line):
            done.append("| " + escape(line.strip()))  # a line block: one line of text, one line on the page
        else:
            done.append(escape(line))
    spaced: list[str] = []
    for line in done:  # a line block needs an empty line around it
        if spaced and spaced[-1].strip() and line.strip() and (
                line.startswith("| ") != spaced[-1].startswith("| ")):
            spaced.append("")
        spaced.append(line)
    lines[:] = spaced


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("autodoc-process-docstring", process)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
