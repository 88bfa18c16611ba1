"""The regimes by which a reader selects cells."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from ...simulate.observables import OBSERVABLES
from ...sweep.analysis import attention_sure, limited_by
from ...verification.results import Cell

NAMES = {"limited": "limited by", "attention": "attention", "model": "model", "embedding": "embeddings"}


def regimes(cell: Cell) -> dict[str, str]:
    """The regimes of a cell, by name."""
    return {"limited": limited_by(cell), "attention": "sure" if attention_sure(cell) else "not sure",
            "model": "attention only" if cell.setting.m is None else "with an MLP", "embedding": cell.setting.embedding}


def form(cells: Sequence[Cell]) -> str:
    """The controls; a regime that all cells share offers nothing to select."""
    if not cells:
        return ""
    of_cells = [regimes(cell) for cell in cells]
    choices = {label: (name, sorted({r[name] for r in of_cells})) for name, label in NAMES.items()}
    choices["observable"] = ("observable", list(OBSERVABLES))
    choices["verdict"] = ("verdict", sorted({c.verdict for cell in cells for c in cell.comparisons.values()}))
    boxes = "".join(
        f'<label>{label}<select name="{name}"><option value="">all</option>'
        + "".join(f'<option value="{escape(value)}">{escape(value)}</option>' for value in values) + "</select></label>"
        for label, (name, values) in choices.items() if len(values) > 1)
    return ('<form id="regimes" class="regimes on-screen" aria-label="Select a regime" hidden>' + boxes
            + '<button type="button">Show all</button><output aria-live="polite"></output></form>')
