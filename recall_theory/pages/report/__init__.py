"""The report of a store: one page that needs no network, made from the store alone."""

from __future__ import annotations

import base64
import hashlib
import json
from importlib import resources

from ... import __version__
from ...evidence import Findings
from ...report.answer import cleaned
from ..palette import style
from . import cells, figures, formulas, laws, opening
from .regimes import form, regimes

__all__ = ["page"]


def page(found: Findings) -> str:
    """The HTML document. Raises `SettingError` where matplotlib, which draws its figures, isn't installed."""
    script = _file("page.js").replace("</", "<\\/")
    parts = [s for s in (opening.verdict(found), *figures.sections(found), *laws.sections(found),
                            cells.section(found), opening.repeat(found), formulas.section(found)) if s is not None]
    values = {
        "version": __version__,
        "title": opening.title(found),
        "lead": opening.lead(found),
        "style": style() + _file("page.css"),
        "contents": "\n".join(f'<li><a href="#{s.id}">{s.short}</a></li>' for s in parts),
        "verdict": parts[0].html(),
        "regimes": form(found.evidence.cells),
        "sections": "\n".join(s.html() for s in parts[1:]),
        "data": _data(found),
        "script": script,
        "script hash": "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    }
    text = _file("page.html")
    for name, value in values.items():
        text = text.replace("{{" + name + "}}", value)
    return text


def _file(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text("utf-8")


def _data(found: Findings) -> str:
    """The numbers of the page, as `report --json` has them, and the regime of each cell."""
    data = found.to_dict()
    for cell, regime in zip(data["cells"], map(regimes, found.evidence.cells), strict=True):
        cell["regime"] = regime
    return json.dumps(cleaned(data), separators=(",", ":"), allow_nan=False).replace("</", "<\\/")
