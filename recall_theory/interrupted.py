"""What Ctrl-C leaves of a run."""

from __future__ import annotations

from typing import Any


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during a run. `partial` is what was finished before it, so that nothing is lost."""

    def __init__(self, partial: Any):
        super().__init__("interrupted")
        self.partial = partial
