"""The sliders: one for each size that is declared, and what the page must know of the declarations."""

from __future__ import annotations

from html import escape
from typing import Any

from ...activation import NAMED
from ...report.predict import MEANING
from ...settings import EMBEDDINGS, PARAMETERS, Setting

__all__ = ["declared", "sizes"]

# Where each slider ends, as a power of two; the box beside it takes every value of the domain.
ENDS = {"V": 20, "L": 14, "d": 14, "N": 32, "m": 18}
START = Setting(V=1024, L=64, d=256, N=65536)
WIDTH = 1024  # of the MLP, when it is switched on


def declared() -> dict[str, Any]:
    """Domains, choices and the setting that the page opens with."""
    start = START.to_dict()
    return {
        "sizes": {name: {"low": int(PARAMETERS[name].low), "high": int(PARAMETERS[name].high), "end": 2**end,
                         "domain": PARAMETERS[name].domain.removesuffix(", or none")}
                  for name, end in ENDS.items()},
        "activations": list(NAMED),
        "embeddings": list(EMBEDDINGS),
        "meaning": MEANING,
        "start": {**{name: start[name] for name in ("V", "L", "d", "N")}, "m": WIDTH, "activation": "relu",
                  "embedding": START.embedding, "trigger_in_value": START.trigger_in_value},
    }


def sizes() -> dict[str, str]:
    """The control of each size, as HTML."""
    return {name: _size(name) for name in ENDS}


def _size(name: str) -> str:
    meaning = PARAMETERS[name].meaning.partition(";")[0]
    return f"""<div class="size" id="size-{name}">
  <label for="{name}"><i>{name}</i> <span>{escape(meaning)}</span></label>
  <input class="box" id="{name}" inputmode="text" autocomplete="off" spellcheck="false"
         aria-describedby="{name}-problem">
  <input type="range" id="{name}-slider" min="0" step="1" aria-label="{name}, in steps of a quarter of a doubling">
  <p class="problem" id="{name}-problem" aria-live="polite"></p>
</div>"""
