"""Drawing what was found into the files that --plot names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from .errors import BadInput, shown

Found = TypeVar("Found")


def draw_all(draw: Callable[[Found, str], object], found: Found, paths: Sequence[str]) -> None:
    """`draw(found, path)` for each path; one that can't be written is bad input."""
    for path in paths:
        try:
            draw(found, path)
        except OSError as error:
            raise BadInput(f"--plot {shown(path)} can't be written: {error.strerror or error}") from None
