"""What reports that are not converted yet take from here."""

from __future__ import annotations

from ..settings import OBSERVABLES, Setting  # noqa: F401


def describe(setting: Setting) -> str:
    return setting.describe()
