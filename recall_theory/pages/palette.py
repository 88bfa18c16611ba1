"""The colours of style.css for those who draw: figures on pages and in print use one palette."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping

from .document import text

__all__ = ["TINT", "light", "style", "tint", "variable"]

TINT = 0.45  # of a family's colour, where it fills a region: text and marks stay readable on it


@functools.cache
def style() -> str:
    """The style sheet that all pages share."""
    return text(__package__, "style.css")


@functools.cache
def light() -> Mapping[str, str]:
    """The colours of light pages by name, as #rrggbb.

    >>> light()["paper"]
    '#ffffff'
    """
    root = style().split(":root {", 1)[1].split("}", 1)[0]
    return dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", root))


def variable(name: str) -> str:
    """The name in style.css of what a family of noise terms, or anything else, is called in words.

    >>> variable("mean bias"), variable("a family without a colour")
    ('mean-bias', 'other')
    """
    found = name.lower().replace(" ", "-")
    return found if found in light() else "other"


def tint(family: str) -> str:
    """The colour of a region that a family of noise terms fills, on a light page.

    >>> tint("mean bias")
    '#dbc18c'
    """
    colour = light()[variable(family)]
    return "#" + "".join(f"{round(255 - TINT * (255 - int(colour[i:i + 2], 16))):02x}" for i in (1, 3, 5))
