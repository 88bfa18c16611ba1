"""Phase diagrams and critical sizes."""

from __future__ import annotations

from ...evidence import Findings
from .section import Section


def sections(found: Findings) -> list[Section]:
    return []
