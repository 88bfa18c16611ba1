"""The report of a store: one page that needs no network, made from the store alone."""

from __future__ import annotations

from string import Template
from typing import Any

from ... import __version__
from ...report.answer import cleaned
from ...sweep.store_summary import Findings
from ...web.document import embedded, hashed
from ..document import text
from ..palette import style
from . import cells, figures, formulas, laws, opening
from .regimes import form, regimes

__all__ = ["page"]


def page(found: Findings) -> str:
    """What a store shows (`recall_theory.sweep.store_summary`) as one HTML document that loads nothing.

    Raises `SettingError` where matplotlib, which draws its figures, isn't installed.

    >>> from recall_theory.evidence import findings
    >>> from recall_theory.sweep import product, sweep
    >>> found = findings(sweep(product({"d": [16, 32]}, V=16, L=2, N=128), seeds=3, seed=1))
    >>> page(found).count("<figure")            # predicted and observed thrice, residuals against d
    4
    """
    script = text(__name__, "page.js")
    parts = [s for s in (opening.verdict(found), *figures.sections(found), *laws.sections(found),
                            cells.section(found), opening.repeat(found), formulas.section(found)) if s is not None]
    return Template(text(__name__, "page.html")).substitute(
        version=__version__, title=opening.title(found), lead=opening.lead(found),
        style=style() + text(__name__, "page.css"),
        contents="\n".join(f'<li><a href="#{s.id}">{s.short}</a></li>' for s in parts),
        verdict=parts[0].html(), regimes=form(found.evidence.cells),
        sections="\n".join(s.html() for s in parts[1:]),
        data=embedded(_data(found)), script=script, digest=hashed(script))


def _data(found: Findings) -> Any:
    """The numbers of the page, as `report --json` has them, and the regime of each cell."""
    data = found.to_dict()
    for cell, regime in zip(data["cells"], map(regimes, found.evidence.cells), strict=True):
        cell["regime"] = regime
    return cleaned(data)
