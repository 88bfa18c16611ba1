"""What every page is put together from: files beside the code, and what may stand inside its <script> elements."""

from __future__ import annotations

import base64
import hashlib
import json
from importlib import resources

__all__ = ["digest", "embedded", "text"]


def text(package: str, name: str) -> str:
    """The text of a file that lies beside a package's code."""
    return resources.files(package).joinpath(name).read_text(encoding="utf-8")


def embedded(value: object) -> str:
    r"""A value as JSON in which no "<" can end the element around it.

    >>> embedded({"end": "</script>"})
    '{"end":"\\u003c/script>"}'
    """
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")


def digest(inline: str) -> str:
    """The hash by which a content security policy knows an inline element of this text.

    >>> digest("")
    'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='
    """
    return "sha256-" + base64.b64encode(hashlib.sha256(inline.encode()).digest()).decode()
