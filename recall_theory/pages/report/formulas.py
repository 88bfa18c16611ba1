"""The formulas behind the predictions."""

from __future__ import annotations

from ...evidence import Findings
from .section import Section


def section(found: Findings) -> Section | None:
    return None
