"""The formulas of the library: closed forms that need no simulation and draw no random number.

Names are looked up on first use, so that one formula's topic doesn't import them all.
"""

from __future__ import annotations

from ..lazy import lazily

_HOME = {
    "Formula": "formulas.registry",
    "formulas": "formulas.registry",
    "forced_choice": ".numerics.forced_choice",
    "forced_choice_complement": ".numerics.forced_choice",
    "forced_choice_inverse": ".numerics.forced_choice",
    "forced_choice_log": ".numerics.forced_choice",
}

__all__ = list(_HOME)

__getattr__, __dir__ = lazily(__name__, _HOME)
