"""The command line: `main` is the console entry.

This file imports next to nothing, so that Ctrl-C is answered in one way from the first moment on.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]

INTERRUPTED = 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; `argv` is `sys.argv[1:]` where None.

    0: done, or theory and simulation agree. 1: they disagree. 2: bad input. 3: inconclusive. 70: an
    internal error. 130: interrupted.
    """
    try:
        from .app import run

        return run(sys.argv[1:] if argv is None else list(argv))
    except KeyboardInterrupt:
        return INTERRUPTED
