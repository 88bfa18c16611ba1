"""The formulas of the library: closed forms that need no simulation and draw no random number.

Names are looked up on first use, so that one formula's topic doesn't import them all.
"""

from __future__ import annotations

from ..lazy import lazily

_HOME = {
    "Formula": "formula",
    "formulas": "formula",
    "forced_choice": "forced_choice",
    "forced_choice_complement": "forced_choice",
    "forced_choice_inverse": "forced_choice",
    "forced_choice_log": "forced_choice",
}

__all__ = list(_HOME)

__getattr__, __dir__ = lazily(__name__, _HOME)
