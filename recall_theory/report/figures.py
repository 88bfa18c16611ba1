"""A figure for print: what it shows in words, and the file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import findings
from .answer import Answer, Prose

if TYPE_CHECKING:
    from ..figures.printed import Picture
    from ..sweep.store_summary import Findings


def answer(found: Findings, picture: Picture, kind: str) -> Answer:
    """The figure as a file of a kind ("" where no file is wanted); its words and numbers otherwise."""
    from ..figures.style import rendered

    told = findings.answer(found, "")
    return Answer({**told.data, "words": list(picture.words)}, told.records, [Prose(w) for w in picture.words],
                  document=rendered(picture.make, kind) if kind else None)
