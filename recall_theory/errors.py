"""What is raised where input lies outside its domain, and where a run is interrupted."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

__all__ = ["Interrupted", "NoWorkers", "SettingError", "interrupted_with", "interrupts_deferred"]


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
    """On Ctrl-C in the block, raise `Interrupted(partial())`; where partial() is None the KeyboardInterrupt passes."""
    try:
        yield
    except KeyboardInterrupt:
        kept = partial()
        if kept is None:
            raise
        raise Interrupted(kept) from None


@contextlib.contextmanager
def signals_handled(names: Sequence[str], handler: Callable[[int, Any], None],
                    where: Callable[[Any], bool]) -> Iterator[dict[int, Any]]:
    """In the block a handler stands in for those of some signals that `where` is true of; yields these by number.

    Nothing changes outside the main thread, which alone may set handlers, or for signals that a system doesn't have.
    """
    numbers = [getattr(signal, name) for name in names if hasattr(signal, name)]
    in_main_thread = threading.current_thread() is threading.main_thread()
    before = {n: signal.getsignal(n) for n in numbers if in_main_thread and where(signal.getsignal(n))}
    try:
        for number in before:
            signal.signal(number, handler)
        yield before
    finally:
        for number, earlier in before.items():
            signal.signal(number, earlier)


@contextlib.contextmanager
def interrupts_deferred() -> Iterator[None]:
    """Ctrl-C and its like wait until the end of the block; a second one does not. For calls into compiled code that
    must not be left half way: a process that ends while jax computes may end with a segmentation fault.
    """
    held: list[tuple[int, Any]] = []

    def hold(number: int, frame: Any) -> None:
        held.append((number, frame))
        if len(held) > 1:
            raise KeyboardInterrupt

    with signals_handled(("SIGINT", "SIGTERM", "SIGHUP"), hold, where=callable) as before:
        yield
    for number, frame in held[:1]:
        before[number](number, frame)


def brief_repr(value: object) -> str:
    """A value as a message shows it, on one line of 80 characters at most."""
    try:
        text = "a huge integer" if isinstance(value, int) and abs(value) >= 10**30 else " ".join(repr(value).split())
    except ValueError:  # Python refuses to write integers of thousands of digits, of sympy's too
        text = "a huge integer"
    return text if len(text) <= 80 else text[:77] + "..."
