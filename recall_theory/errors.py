"""What is raised where input lies outside its domain, and where a run is interrupted."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

__all__ = ["Interrupted", "NoWorkers", "SettingError", "interrupted_with"]


class SettingError(ValueError):
    """A parameter outside its domain. `name` is the parameter, the message says what is allowed."""

    def __init__(self, name: str, message: str):
        super().__init__(message)
        self.name = name

    def __reduce__(self) -> tuple[type[SettingError], tuple[str, str]]:
        return type(self), (self.name, str(self))  # how it comes back from a worker


class NoWorkers(SettingError):
    """A cluster that has had no worker for too long; what was finished is kept."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during a run. `partial` is what was finished before it, so that nothing is lost."""

    def __init__(self, partial: Any):
        super().__init__("interrupted")
        self.partial = partial


@contextlib.contextmanager
def interrupted_with(partial: Callable[[], object]) -> Iterator[None]:
    """On Ctrl-C in the block, raise `Interrupted(partial())`; where partial() is None the KeyboardInterrupt passes.

    >>> try:
    ...     with interrupted_with(lambda: [1, 2]):
    ...         raise KeyboardInterrupt
    ... except Interrupted as stop:
    ...     print(stop.partial)
    [1, 2]
    """
    try:
        yield
    except KeyboardInterrupt:
        kept = partial()
        if kept is None:
            raise
        raise Interrupted(kept) from None
