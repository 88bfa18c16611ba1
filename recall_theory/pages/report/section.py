"""A part of the page under a heading of its own."""

from __future__ import annotations

import dataclasses

__all__ = ["Section", "verdict_word"]


@dataclasses.dataclass(frozen=True)
class Section:
    """`id` is its address, `short` its name in the list of contents, `body` HTML."""

    id: str
    short: str
    heading: str
    body: str

    def html(self) -> str:
        """The section as HTML."""
        return (f'<section aria-labelledby="{self.id}"><h2 id="{self.id}" tabindex="-1">{self.heading}</h2>\n'
                f"{self.body}\n</section>")


def verdict_word(verdict: str) -> str:
    """A verdict with the sign that goes with it."""
    return f'<span class="verdict {verdict}">{verdict}</span>'
