"""The page of `recall-theory explore`: its controls, one for each size that is declared, and its formulas."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping

from ..activations import NAMED
from ..settings import EMBEDDINGS, PARAMETERS
from .document import asset, fragment, render
from .explore_curve import SIZES

__all__ = ["page"]

ENDS = {"V": 20, "L": 14, "d": 14, "N": 32, "m": 18}  # of the sliders, as powers of two; texts may go beyond
START = {"V": "1024", "L": "64", "d": "256", "N": "65536", "m": "1024", "activation": "relu", "embedding": "gaussian",
         "trigger_in_value": "yes", "hold": "", "along": "N"}


def page(form: Mapping[str, str], token: str) -> str:
    """The page, whose form holds the given texts (by default a setting to start from) and which asks with `token`.

    >>> "<title>How much can a transformer remember?</title>" in page({}, "secret")
    True
    """
    sizes = {name: {"low": int(4 * math.log2(PARAMETERS[name].low)), "high": 4 * ENDS[name],
                    "meaning": PARAMETERS[name].meaning.partition(";")[0]} for name in SIZES}
    return render("explore.html.jinja", style=asset("explore.css"), script=asset("explore.js"), connect="'self'",
                  form={**START, **form}, given=form, token=token, formulas=_formulas(), sizes=sizes,
                  activations=list(NAMED), embeddings=EMBEDDINGS)


@functools.cache
def _formulas() -> str:
    """The formulas of all models; the page shows those of the model at hand."""
    from .formula_groups import GROUPS

    return fragment("parts.html.jinja", "formula_groups", GROUPS.values())
