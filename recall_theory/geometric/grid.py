"""The shipped grid of geometric settings, and grids read from a file."""

from __future__ import annotations

from ..verification.grids import read
from .setting import PARAMETERS, GeometricSetting

__all__ = ["load"]


def load(name: str) -> list[GeometricSetting]:
    """The settings of the shipped grid ("default") or of a TOML file with one table [[cell]] a setting.

    Raises `SettingError` with one line that names the file and what is wrong.
    """
    return read(name, {"default": ("geometric.toml",)}, GeometricSetting, PARAMETERS, ("N", "R"))
