"""What is raised where input lies outside its domain."""

from __future__ import annotations

__all__ = ["SettingError"]


class SettingError(ValueError):
    """A parameter outside its domain. `name` is the parameter, the message says what is allowed."""

    def __init__(self, name: str, message: str):
        super().__init__(message)
        self.name = name
