"""HTML documents from Jinja2 templates: each is one file that loads nothing and runs no script but its own."""

from __future__ import annotations

import base64
import functools
import hashlib
from importlib import resources
from typing import TYPE_CHECKING

from ..plots.style import PALETTE

if TYPE_CHECKING:
    from jinja2 import Environment


def render(template: str, *, style: str, script: str, connect: str = "'none'", style_attributes: bool = False,
           **values: object) -> str:
    """A page from a template of this package that extends frame.html.jinja.

    Parameters
    ----------
    template : file name of the template
    style, script : CSS that follows style.css, and JavaScript that follows reading.js, both put inline
    connect : source to which the script may send requests, as the policy `connect-src` writes it
    style_attributes : whether elements may have `style` attributes, as those of matplotlib's SVG do
    values : what the template refers to

    Returns
    -------
    The text of the page. Its content security policy admits the given style and script by their hashes and
    nothing else: no `eval`, no other file, no other host.
    """
    from markupsafe import Markup

    from .. import __version__

    sheet = _colours() + asset("style.css") + style
    script = asset("reading.js") + script
    styles = "unsafe-inline" if style_attributes else hashed(sheet)
    policy = (f"default-src 'none'; script-src '{hashed(script)}'; style-src '{styles}'; img-src data:; "
              f"connect-src {connect}; base-uri 'none'; form-action 'none'")
    return environment().get_template(template).render(
        policy=policy, style=Markup(sheet), script=Markup(script), version=__version__, **values)


def _colours() -> str:
    """The palette of the figures as custom properties, each the --colour of the class of its name too."""
    shades = [f"--{name}: light-dark({light}, {dark});" for name, (light, dark) in PALETTE.items()]
    classes = [f".{name} {{ --colour: var(--{name}); }}" for name in PALETTE]
    return "\n".join([":root {", *shades, "}", *classes, ""])


def fragment(template: str, macro: str, *values: object) -> str:
    """What a macro of a template of this package makes of values: safe HTML, a part of a page."""
    return getattr(environment().get_template(template).module, macro)(*values)


def text(plain: str) -> str:
    """A text as HTML."""
    from markupsafe import escape

    return str(escape(plain))


@functools.cache
def environment() -> Environment:
    """The templates of this package, with HTML escaped; filters write numbers as tables do."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    from ..numerics import formatting as numbers

    templates = Environment(loader=PackageLoader("recall_theory", "web"), autoescape=True, undefined=StrictUndefined,
                            trim_blocks=True, lstrip_blocks=True)
    for write in (numbers.count, numbers.number, numbers.probability, numbers.deviation, numbers.percent,
                  numbers.signed, numbers.plural):
        templates.filters[write.__name__] = write
    return templates


@functools.cache
def asset(name: str) -> str:
    """The text of a file of this package."""
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


def hashed(inline: str) -> str:
    """The hash by which a content security policy admits an inline script or style of this text.

    >>> hashed("")
    'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='
    """
    return "sha256-" + base64.b64encode(hashlib.sha256(inline.encode()).digest()).decode()
