"""Progress with the time that is left, on stderr and for a person only."""

from __future__ import annotations

from types import TracebackType
from typing import Any


class Progress:
    """A bar while the work lasts; nothing at all where `wanted` is False."""

    def __init__(self, wanted: bool, noun: str):
        self.wanted, self.noun = wanted, noun
        self._bar: Any = None
        self._task: Any = None

    def __enter__(self) -> Progress:
        if self.wanted:
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
            from rich.progress import Progress as Bar

            self._bar = Bar(BarColumn(bar_width=20), MofNCompleteColumn(), TextColumn(self.noun),
                            TimeRemainingColumn(compact=True), TextColumn("left"),
                            console=Console(stderr=True), transient=True, refresh_per_second=4)
            self._bar.start()
        return self

    def update(self, done: int, total: int) -> None:
        """So much of the total is done."""
        if self._bar is not None:
            if self._task is None:
                self._task = self._bar.add_task("", total=total)
            self._bar.update(self._task, completed=done)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        if self._bar is not None:
            self._bar.stop()
