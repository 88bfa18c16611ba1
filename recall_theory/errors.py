"""What is raised where input lies outside its domain, and where a run is interrupted."""

from __future__ import annotations

from typing import Any

__all__ = ["Interrupted", "SettingError"]


class SettingError(ValueError):
    """A parameter outside its domain. `name` is the parameter, the message says what is allowed."""

    def __init__(self, name: str, message: str):
        super().__init__(message)
        self.name = name


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during a run. `partial` is what was finished before it, so that nothing is lost."""

    def __init__(self, partial: Any):
        super().__init__("interrupted")
        self.partial = partial
