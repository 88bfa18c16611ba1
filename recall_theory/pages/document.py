"""Files that lie beside the code of the pages."""

from __future__ import annotations

from importlib import resources

__all__ = ["text"]


def text(package: str, name: str) -> str:
    """The text of a file that lies beside a package's code."""
    return resources.files(package).joinpath(name).read_text(encoding="utf-8")
