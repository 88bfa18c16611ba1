"""What commands that are not converted yet take from here."""

from __future__ import annotations

from ..commands.command import Output
from ..commands.simulate import prediction_of  # noqa: F401


def drawn_seed(output: Output) -> int:
    return output.seed(None)
